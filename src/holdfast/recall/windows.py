"""The turns around a turn: who stands beside whom, and keyword scores over whole windows.

For a window the documents of a session lie side by side in one long array, two empty places between
sessions. What a neighbour lends is then that array, shifted by one place or by two: no looking up
of neighbours, term by term, in stores of 100,000 turns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from holdfast.index.resident import View
from holdfast.recall.sources.bm25 import K1, B, rarity

Scores = NDArray[np.float32]
Postings = Sequence[tuple[NDArray[np.int32], NDArray[np.uint8]]]
T = TypeVar("T")

#: What a neighbour's words count in a window: one turn away, two turns away.
_NEAR, _FAR = np.float32(0.7), np.float32(0.49)
#: How far a window reaches on either side.
_REACH = 2
#: A term is rare if its windows are fewer than this part of all.
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
    if name not in view.kept:
        view.kept[name] = make()
    found: T = view.kept[name]
    return found


def turns(view: View) -> NDArray[np.bool_]:
    """What was said, not what was derived from it."""
    if "turns" not in view.kept:
        view.kept["turns"] = view.tiers == view.codes.get("session", -2)
    found: NDArray[np.bool_] = view.kept["turns"]
    return found


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
