"""Keyword scores: BM25 over the documents that the asker can see, and no others.

score(d) = sum over query terms t of idf(t) * tf * (k1 + 1) / (tf + k1 * (1 - b + b * |d| / avg))
idf(t)   = ln(1 + (N - df + 0.5) / (df + 0.5)), never negative.
N, df and avg are counted over the visible documents of this owner alone. The formula is that of
Robertson and Zaragoza, 2009.

Below: the turns around a turn, and BM25 over whole windows of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from holdfast.index.view import BESIDE_SHARES, K1, B, View
from holdfast.language.terms import term_id

Scores = NDArray[np.float32]
T = TypeVar("T")


class Rarity(NamedTuple):
    """Over what BM25 counts: how many documents there are, how long they are on average, and how
    many hold each term."""

    total: int
    average: float
    holders: Sequence[int]


def rarity_of(view: View, making: str, terms: Sequence[str]) -> Rarity | None:
    """As the store tells it of an owner of whom only some documents are here; None: it is counted
    over those that are."""
    if view.population is None:
        return None
    counted, holders = view.population.of(making, terms)
    return Rarity(counted.documents, max(counted.words / max(counted.documents, 1), 1.0), holders)


class Postings(NamedTuple):
    """The documents that hold each of some terms and how often, the terms one after another: what
    is made of all of them is made at once, not term by term."""

    docs: NDArray[np.int32]
    counts: NDArray[np.uint8]
    #: Those of term i stand from starts[i] to starts[i + 1], ascending.
    starts: list[int]

    def of(self, term: int) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
        """The documents that hold a term, by its number, and how often."""
        part = slice(self.starts[term], self.starts[term + 1])
        return self.docs[part], self.counts[part]

    def sizes(self) -> list[int]:
        """How many documents hold each term."""
        return [end - start for start, end in pairwise(self.starts)]

    def each(self, values: Sequence[float]) -> Scores:
        """A value for each term, beside every posting of it."""
        return np.repeat(np.array(values, dtype=np.float32), self.sizes())

    def among(self, wanted: NDArray[np.bool_]) -> Postings:
        """Those of the documents that are wanted."""
        keep = wanted[self.docs]
        before = np.zeros(len(keep) + 1, dtype=np.intp)
        np.cumsum(keep, out=before[1:])
        return Postings(self.docs[keep], self.counts[keep], before[self.starts].tolist())


def bm25(
    view: View, terms: Sequence[str], visible: NDArray[np.bool_] | None
) -> tuple[NDArray[np.float32], dict[str, NDArray[np.int32]]]:
    """(score of every document, the documents that hold each term). `visible` None means all."""
    found = postings(view, terms, visible)
    known = rarity_of(view, "documents", terms)
    lengths = length_norms(view.lengths, visible, known)
    return bm25_scores(found, lengths, known), holders(terms, found)


def holders(terms: Sequence[str], found: Postings) -> dict[str, NDArray[np.int32]]:
    """The documents that hold each term."""
    return {term: found.of(number)[0] for number, term in enumerate(terms)}


class LengthNorms(NamedTuple):
    """What a document's length does to its terms in BM25, and how many documents count."""

    norms: Scores
    total: int


def length_norms(
    lengths: Scores, visible: NDArray[np.bool_] | None, known: Rarity | None = None
) -> LengthNorms:
    """Of documents of any making: turns or whole sessions."""
    total = len(lengths) if visible is None else int(np.count_nonzero(visible))
    if not total:
        return LengthNorms(np.ones_like(lengths), 0)
    if known is None:
        average = max(float((lengths if visible is None else lengths[visible]).mean()), 1.0)
    else:
        total, average = known.total, known.average
    norms = np.float32(K1 * (1.0 - B)) + np.float32(K1 * B / average) * lengths
    return LengthNorms(norms, total)


def bm25_scores(found: Postings, lengths: LengthNorms, known: Rarity | None = None) -> Scores:
    """The formula over documents."""
    scores = np.zeros(len(lengths.norms), dtype=np.float32)
    if lengths.total and len(found.docs):
        holding = found.sizes() if known is None else known.holders
        weights = found.each([rarity(lengths.total, n) * (K1 + 1.0) for n in holding])
        tf = found.counts.astype(np.float32)
        np.add.at(scores, found.docs, weights * tf / (tf + lengths.norms[found.docs]))
    return scores


def rarity(count: int, holders: int) -> float:
    """idf: how much a term that `holders` of `count` documents hold tells."""
    return math.log(1.0 + max(count - holders + 0.5, 0.5) / (holders + 0.5))


def postings(view: View, terms: Sequence[str], visible: NDArray[np.bool_] | None) -> Postings:
    """For each term the visible documents that hold it, and how often."""
    ids = np.array([term_id(term) for term in terms], dtype=np.uint64)
    parts = [segment.find(ids) for segment in view.segments]
    of_terms = [part[term] for term in range(len(terms)) for part in parts]
    starts = [0, *accumulate(len(docs) for docs, _ in of_terms)][:: len(parts) or 1]
    if not of_terms:
        none = np.empty(0, dtype=np.int32)
        return Postings(none, none.astype(np.uint8), [0] * (len(terms) + 1))
    found = Postings(
        np.concatenate([docs for docs, _ in of_terms]),
        np.concatenate([counts for _, counts in of_terms]),
        starts,
    )
    return found if visible is None else found.among(visible)


# ----------------------------------------------------------------------
# The turns around a turn.
#
# For a window the documents of a session lie side by side in one long array, two empty places
# between sessions. What a neighbour lends is then that array, shifted by one place or by two: no
# looking up of neighbours, term by term, in stores of 100,000 turns.
# ----------------------------------------------------------------------

#: What a neighbour's words count in a window: one turn away, two turns away.
_NEAR, _FAR = map(np.float32, BESIDE_SHARES)
#: How far a window reaches on either side.
_REACH = 2
#: A term is rare if its windows are fewer than this part of all: for speed, it changes no score.
_SPARSE = 32
#: So many numbers are worked on at once; more would not stay near the processor.
_AT_ONCE = 1 << 14


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


def window_scores(
    view: View, found: Postings, visible: NDArray[np.bool_] | None, known: Rarity | None = None
) -> Scores:
    """BM25 over each document's window, for the postings of each term."""
    average = None if known is None else known.average
    row = cached_for(view, visible, "row", lambda: _row(view, visible, average))
    scores = np.zeros(len(row.norms), dtype=np.float32)
    if not row.seen:
        return scores[row.place]
    places = row.place.take(found.docs, mode="clip")
    terms = [term for term, size in enumerate(found.sizes()) if size]
    rare = {term for term in terms if _is_rare(found.sizes()[term], row)}
    gains = _many([term for term in terms if term not in rare], places, found, row, known)
    for term in terms:  # In their order: sums of floats depend on it.
        if term in rare:
            part = slice(found.starts[term], found.starts[term + 1])
            there, held = _few(places[part], found.counts[part], row)
            idf = None if known is None else rarity(known.total, known.holders[term])
            scores[there] += _gain(held, row.norms[there], row.seen, idf)
        else:
            scores += next(gains)
    return scores[row.place]


def _is_rare(holders: int, row: _TurnSequence) -> bool:
    return (2 * _REACH + 1) * holders < len(row.norms) // _SPARSE


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


def _row(
    view: View, visible: NDArray[np.bool_] | None, average: float | None = None
) -> _TurnSequence:
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
    if average is None:
        average = max(float(seen.mean()), 1.0) if len(seen) else 1.0
    norms = np.float32(K1 * (1.0 - B)) + np.float32(K1 * B / average) * lengths
    return _TurnSequence(place, taken, norms.astype(np.float32), len(seen))


def _windows(rows: Scores) -> Scores:
    """Each place of a row, or of each of some rows, with what its neighbours lend it."""
    sums = rows.copy()
    near, far = _NEAR * rows, _FAR * rows
    sums[..., 1:] += near[..., :-1]
    sums[..., :-1] += near[..., 1:]
    sums[..., 2:] += far[..., :-2]
    sums[..., :-2] += far[..., 2:]
    return sums


def _many(
    terms: Sequence[int],
    places: NDArray[np.intp],
    found: Postings,
    row: _TurnSequence,
    known: Rarity | None,
) -> Iterator[Scores]:
    """What each term gives to the window at every place; of few places some terms at once, since
    there a step costs more than its numbers."""
    at_once = max(1, _AT_ONCE // len(row.norms))
    for first in range(0, len(terms), at_once):
        some = terms[first : first + at_once]
        own = np.zeros((len(some), len(row.norms)), dtype=np.float32)
        for number, term in enumerate(some):
            part = slice(found.starts[term], found.starts[term + 1])
            own[number, places[part]] = found.counts[part]
        held = _windows(own)
        held *= row.taken
        counts = np.count_nonzero(held, axis=1).tolist()
        total = row.seen
        if known is not None:
            total, counts = known.total, [known.holders[term] for term in some]
        idfs = [rarity(total, count) * (K1 + 1.0) for count in counts]
        yield from np.array(idfs, dtype=np.float32)[:, None] * held / (held + row.norms)


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


def _gain(held: Scores, norms: Scores, count: int, idf: float | None = None) -> Scores:
    if idf is None:
        idf = rarity(count, int(np.count_nonzero(held)))
    gained: Scores = np.float32(idf * (K1 + 1.0)) * held / (held + norms)
    return gained
