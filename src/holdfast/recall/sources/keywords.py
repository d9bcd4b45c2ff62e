"""Keyword scores: BM25 over the documents that the asker can see, and no others.

score(d) = sum over query terms t of idf(t) * tf * (k1 + 1) / (tf + k1 * (1 - b + b * |d| / avg))
idf(t)   = ln(1 + (N - df + 0.5) / (df + 0.5)), never negative.
N, df and avg are counted over the visible documents of this owner alone. The formula is that of
Robertson and Zaragoza, 2009.

Below: the turns around a turn, and BM25 over whole windows of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from holdfast.index.resident import View
from holdfast.language.terms import term_id

Scores = NDArray[np.float32]
Postings = Sequence[tuple[NDArray[np.int32], NDArray[np.uint8]]]
T = TypeVar("T")

#: The usual values of the literature.
K1 = 1.2
B = 0.75


def bm25(
    view: View, terms: Sequence[str], visible: NDArray[np.bool_] | None
) -> tuple[NDArray[np.float32], dict[str, NDArray[np.int32]]]:
    """(score of every document, the documents that hold each term). `visible` None means all."""
    found = postings(view, terms, visible)
    holders = {term: docs for term, (docs, _) in zip(terms, found, strict=True)}
    return bm25_scores(found, view.lengths, visible, len(view)), holders


def bm25_scores(
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
    return [_join([part[i] for part in parts], visible) for i in range(len(terms))]


def _join(
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


# ----------------------------------------------------------------------
# The turns around a turn.
#
# For a window the documents of a session lie side by side in one long array, two empty places
# between sessions. What a neighbour lends is then that array, shifted by one place or by two: no
# looking up of neighbours, term by term, in stores of 100,000 turns.
# ----------------------------------------------------------------------

#: What a neighbour's words count in a window: one turn away, two turns away (docs/decisions/0006).
_NEAR, _FAR = np.float32(0.7), np.float32(0.49)
#: How far a window reaches on either side.
_REACH = 2
#: A term is rare if its windows are fewer than this part of all: for speed, it changes no score.
_SPARSE = 32


def cached_for(
    view: View, visible: NDArray[np.bool_] | None, name: str, make: Callable[[], T]
) -> T:
    """What many searches need, made once for a moment of the index: for all documents, and for
    those that are usually seen (search.visible)."""
    if visible is not None:
        if visible is not view.kept.get("seen"):
            return make()
        name += " of the seen"
    return view.once(name, make)


def turns(view: View) -> NDArray[np.bool_]:
    """What was said, not what was derived from it."""
    return view.once("turns", lambda: view.tiers == view.code("session"))


def neighbours(view: View, visible: NDArray[np.bool_] | None) -> NDArray[np.int32]:
    """(2, n): the turns before and after, in the same session, in order of arrival, of those that
    may be seen; n where there is none. Only turns have neighbours."""
    return cached_for(view, visible, "neighbours", lambda: _neighbours(view, visible))


def window_scores(view: View, found: Postings, visible: NDArray[np.bool_] | None) -> Scores:
    """BM25 over each document's window, for the postings of each term."""
    row = cached_for(view, visible, "row", lambda: _row(view, visible))
    scores = np.zeros(len(row.norms), dtype=np.float32)
    if not row.seen:
        return scores[row.place]
    for docs, counts in found:
        if not len(docs):
            continue
        places = row.place[docs]
        if (2 * _REACH + 1) * len(docs) < len(row.norms) // _SPARSE:
            there, held = _few(places, counts, row)
            gained = _gain(held, row.norms[there], row.seen)
            scores[there] += gained
        else:
            held = _many(places, counts, row)
            scores += _gain(held, row.norms, row.seen)
    return scores[row.place]


class _TurnSequence(NamedTuple):
    """All documents in a row: turns beside their neighbours, others alone."""

    #: Where each document stands.
    place: NDArray[np.intp]
    #: 1 where a document stands, 0 in between.
    taken: Scores
    #: What a window's length does to its terms in BM25.
    norms: Scores
    #: How many documents there are to be seen.
    seen: int


def _in_order(view: View, visible: NDArray[np.bool_] | None) -> NDArray[np.intp]:
    """The turns that may be seen, session by session."""
    docs = np.arange(len(view)) if visible is None else np.flatnonzero(visible)
    if view.has_derived:
        docs = docs[turns(view)[docs]]
    return docs[np.lexsort((view.order[docs], view.sessions[docs]))]


def _neighbours(view: View, visible: NDArray[np.bool_] | None) -> NDArray[np.int32]:
    docs = _in_order(view, visible)
    beside = np.full((2, len(view)), len(view), dtype=np.int32)
    same = view.sessions[docs[1:]] == view.sessions[docs[:-1]]
    beside[0, docs[1:][same]] = docs[:-1][same]
    beside[1, docs[:-1][same]] = docs[1:][same]
    return beside


def _row(view: View, visible: NDArray[np.bool_] | None) -> _TurnSequence:
    n = len(view)
    docs = _in_order(view, visible)
    new = np.ones(len(docs), dtype=np.intp)
    new[1:] += _REACH * (view.sessions[docs[1:]] != view.sessions[docs[:-1]])
    place = np.full(n, -1, dtype=np.intp)
    place[docs] = _REACH - 1 + np.cumsum(new)
    alone = np.flatnonzero(place < 0)
    first = int(place.max(initial=0)) + _REACH + 1
    place[alone] = first + (_REACH + 1) * np.arange(len(alone))
    size = first + (_REACH + 1) * len(alone) + _REACH
    taken = np.zeros(size, dtype=np.float32)
    taken[place] = 1.0
    words = np.zeros(size, dtype=np.float32)
    words[place] = view.lengths if visible is None else view.lengths * visible
    lengths = _windows(words)
    seen = lengths[place] if visible is None else lengths[place[visible]]
    average = max(float(seen.mean()), 1.0) if len(seen) else 1.0
    norms = np.float32(K1 * (1.0 - B)) + np.float32(K1 * B / average) * lengths
    return _TurnSequence(place, taken, norms.astype(np.float32), len(seen))


def _windows(row: Scores) -> Scores:
    """Each place with what its neighbours lend it."""
    sums = row.copy()
    near, far = _NEAR * row, _FAR * row
    sums[1:] += near[:-1]
    sums[:-1] += near[1:]
    sums[2:] += far[:-2]
    sums[:-2] += far[2:]
    return sums


def _many(places: NDArray[np.intp], counts: NDArray[np.uint8], row: _TurnSequence) -> Scores:
    """How much of a term is in the window at every place."""
    own = np.zeros(len(row.norms), dtype=np.float32)
    own[places] = counts
    held = _windows(own)
    held *= row.taken
    return held


def _few(
    places: NDArray[np.intp], counts: NDArray[np.uint8], row: _TurnSequence
) -> tuple[NDArray[np.intp], Scores]:
    """The same for a rare term, without a pass over all places: where, and how much."""
    weights = (1.0, _NEAR, _NEAR, _FAR, _FAR)
    steps = (0, 1, -1, 2, -2)
    where = np.concatenate([places + step for step in steps])
    much = np.concatenate([weight * counts for weight in weights])
    there, of = np.unique(where, return_inverse=True)
    held = np.bincount(of, much).astype(np.float32)
    real = row.taken[there] > 0
    return there[real], held[real]


def _gain(held: Scores, norms: Scores, count: int) -> Scores:
    idf = rarity(count, int(np.count_nonzero(held)))
    gained: Scores = np.float32(idf * (K1 + 1.0)) * held / (held + norms)
    return gained
