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

from recollect.index.resident import View
from recollect.text import term_id

K1 = 1.2
B = 0.75


def bm25(
    view: View, terms: Sequence[str], visible: NDArray[np.bool_] | None
) -> tuple[NDArray[np.float32], dict[str, NDArray[np.int32]]]:
    """(score of every document, the documents that hold each term). `visible` None means all."""
    scores = np.zeros(len(view), dtype=np.float32)
    holders: dict[str, NDArray[np.int32]] = {}
    total = len(view) if visible is None else int(np.count_nonzero(visible))
    if not total:
        return scores, holders
    lengths = view.lengths if visible is None else view.lengths[visible]
    average = max(float(lengths.mean()), 1.0)
    norms = np.float32(K1 * (1.0 - B)) + np.float32(K1 * B / average) * view.lengths
    for term, (docs, counts) in zip(terms, postings(view, terms, visible), strict=True):
        holders[term] = docs
        if not len(docs):
            continue
        idf = math.log(1.0 + (total - len(docs) + 0.5) / (len(docs) + 0.5))
        tf = counts.astype(np.float32)
        scores[docs] += np.float32(idf * (K1 + 1.0)) * tf / (tf + norms[docs])
    return scores, holders


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
