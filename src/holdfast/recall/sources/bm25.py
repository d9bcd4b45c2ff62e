"""Keyword scores: BM25 over the documents that the asker can see, and no others.

score(d) = sum over query terms t of idf(t) * tf * (k1 + 1) / (tf + k1 * (1 - b + b * |d| / avg))
idf(t)   = ln(1 + (N - df + 0.5) / (df + 0.5)), never negative.
N, df and avg are counted over the visible documents of this owner alone. The formula is that of
Robertson and Zaragoza, 2009.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from holdfast.index.resident import View
from holdfast.language.terms import term_id

K1 = 1.2
B = 0.75


def bm25(
    view: View, terms: Sequence[str], visible: NDArray[np.bool_] | None
) -> tuple[NDArray[np.float32], dict[str, NDArray[np.int32]]]:
    """(score of every document, the documents that hold each term). `visible` None means all."""
    found = postings(view, terms, visible)
    holders = {term: docs for term, (docs, _) in zip(terms, found, strict=True)}
    return weighed(found, view.lengths, visible, len(view)), holders


def weighed(
    found: Sequence[tuple[NDArray[np.integer], NDArray[np.number]]],
    lengths: NDArray[np.float32],
    visible: NDArray[np.bool_] | None,
    count: int,
) -> NDArray[np.float32]:
    """The formula over `count` documents of any making: turns, windows or whole sessions."""
    scores = np.zeros(count, dtype=np.float32)
    total = count if visible is None else int(np.count_nonzero(visible))
    if not total:
        return scores
    average = max(float((lengths if visible is None else lengths[visible]).mean()), 1.0)
    norms = np.float32(K1 * (1.0 - B)) + np.float32(K1 * B / average) * lengths
    for docs, counts in found:
        if len(docs):
            idf = rarity(total, len(docs))
            tf = counts.astype(np.float32)
            scores[docs] += np.float32(idf * (K1 + 1.0)) * tf / (tf + norms[docs])
    return scores


def rarity(count: int, holders: int) -> float:
    """idf: how much a term that `holders` of `count` documents hold tells."""
    return math.log(1.0 + max(count - holders + 0.5, 0.5) / (holders + 0.5))


def postings(
    view: View, terms: Sequence[str], visible: NDArray[np.bool_] | None
) -> list[tuple[NDArray[np.int32], NDArray[np.uint8]]]:
    """For each term the visible documents that hold it, ascending, and how often."""
    ids = np.array([term_id(term) for term in terms], dtype=np.uint64)
    parts = [segment.find(ids) for segment in view.segments]
    return [_joined([part[i] for part in parts], visible) for i in range(len(terms))]


def _joined(
    parts: Sequence[tuple[NDArray[np.int32], NDArray[np.uint8]]],
    visible: NDArray[np.bool_] | None,
) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    if not parts:
        return np.empty(0, dtype=np.int32), np.empty(0, dtype=np.uint8)
    docs, counts = parts[0]
    if len(parts) > 1:
        docs = np.concatenate([part[0] for part in parts])
        counts = np.concatenate([part[1] for part in parts])
    if visible is not None:
        keep = visible[docs]
        docs, counts = docs[keep], counts[keep]
    return docs, counts
