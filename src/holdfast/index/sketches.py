"""What is in memory of every document of a large owner: its words, the signs of its vectors, its
session; some two hundred bytes of a turn of twenty words.

By that the documents that may answer a question are chosen, in two steps: all of them by a rough
score, and some hundreds of the best by nearly the score that ranks them in the end (`Blend`, see
recall/sources/blend.py). Nothing here says who may see a document, or what became of it: what is
chosen is read from the store.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.index import pieces
from holdfast.index.view import (
    BESIDE_SHARES,
    K1,
    B,
    Segment,
    merge_segments,
    segment,
    sign_bits,
    sign_distances,
)
from holdfast.settings import Blend
from holdfast.store.values import DocumentRows, KeptIndex, SignRows, Space
from holdfast.types import Scope

Scores = NDArray[np.float32]
Places = NDArray[np.intp]
#: Documents and how often they hold a term.
Holding = tuple[NDArray[np.int32], NDArray[np.uint8]]
#: In how many signs something differs from the question.
Distances = NDArray[np.uint16]
#: By document, and the least of each session.
AllDistances = tuple[Distances, Distances]

#: Of so many documents the better score is told, of what was said and derived, and of the graph.
_LIKELY = 1_000
#: Who holds words that name something comes before all others (recall/stages/guaranteed.py): of so
#: many of those the better score is told, and so many may answer beside the best.
_LIKELY_NAMING = 400
_NAMING = 50
#: Of so many whose signs are the nearest likeness is told; so many are looked at because their
#: vectors are: the best of all must be among them, since scores are shares of the best.
_BY_SIGNS = 2_000
_NEAREST = 200
#: What counts in the rough score, and beyond how many words a longer turn is no better.
_COVER, _NEAR, _THEME, _ROLE = map(np.float32, (1.5, 1.0, 2.0, 0.7))
#: Of the rarest words of a question so many documents in all are looked at because they hold one.
_RARE = 50_000
#: Sessions so long are not gone through.
_ENDLESS = 256
_BLEND = Blend()
_LONG = 40
#: Turns so far away are read with a turn.
_BESIDE = 2
#: What a neighbour's cosine counts beside the turn's own.
_AROUND = np.float32(0.5)
_WINDOW: Scores = np.array([*BESIDE_SHARES[::-1], 1.0, *BESIDE_SHARES], dtype=np.float32)
#: Documents of which the postings are put together; more would be sorted again and again.
_MERGED = 1 << 17
#: Of how many values one is looked at to find a border.
_ONE_OF = 16
#: Another one: written by a version that sketched otherwise.
_FORMAT = 1001
#: What is written down as it is.
_WRITTEN = ("sessions", "lengths", "kinds", "names", "place_of", "of")
_POSTINGS = ("terms", "starts", "docs", "counts")
#: What a document is, as bits (`DocumentRows.kinds`).
TURN, MACHINE, GRAPH, QUIET = 1, 2, 4, 8


@dataclass(frozen=True, slots=True)
class Rarity:
    """Over documents of some making: how much each term of the question tells, and how many words
    they have on average."""

    weights: Sequence[float]
    average: float

    def norms(self, lengths: Scores) -> Scores:
        norms: Scores = np.float32(K1 * (1.0 - B)) + np.float32(K1 * B / self.average) * lengths
        return norms


@dataclass(frozen=True, slots=True)
class Sought:
    """A question as the documents are chosen by it."""

    #: Numbers of its terms.
    terms: NDArray[np.uint64]
    #: By making: "documents", "people", "windows", "sessions".
    rarities: Mapping[str, Rarity]
    #: Places of those of its terms that name something.
    naming: frozenset[int]
    vector: Scores | None
    #: How many may answer.
    most: int
    #: What it counts that a person speaks, and that a machine does.
    person: float = 0.0
    machine: float = 0.0
    #: Also what only quotes a turn.
    is_quiet: bool = False


class Sketches:
    """Those of one owner, at one moment. What was forgotten since may be among them; what was wiped
    is not: then the epoch of the owner is another."""

    def __init__(self, dim: int, epoch: int) -> None:
        self.epoch = epoch
        #: Up to which changes of the feed they stand.
        self.change = 0
        self.vector_change = 0
        self._dim = dim
        #: The documents session by session, each in order of arrival: its place is its number here.
        self._ids: NDArray[np.void] = np.empty(0, dtype="V16")
        self._sessions: NDArray[np.int32] = np.empty(0, dtype=np.int32)
        self._lengths: NDArray[np.uint16] = np.empty(0, dtype=np.uint16)
        self._kinds: NDArray[np.uint8] = np.empty(0, dtype=np.uint8)
        self._has_graph = False
        #: Where each session begins and ends, how many words it has, and a number made of its name.
        self._firsts: Places = np.empty(0, dtype=np.intp)
        self._ends: Places = np.empty(0, dtype=np.intp)
        self._words: Scores = np.empty(0, dtype=np.float32)
        self._names: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        #: Which documents hold which term, by the order in which they came, and where those are.
        self._segments: tuple[Segment, ...] = ()
        self._place_of: NDArray[np.int32] = np.empty(0, dtype=np.int32)
        #: Whether they lie as they came.
        self._is_in_order = True
        #: (words of 64 signs, vectors): all of a word lie side by side, for speed.
        self._bits: NDArray[np.uint64] = np.empty(((dim + 63) // 64, 0), dtype=np.uint64)
        #: The document of each vector; ascending.
        self._of: NDArray[np.int32] = np.empty(0, dtype=np.int32)
        #: Whether each document has one vector.
        self._is_single = True
        #: Vectors of documents that are not here yet.
        self._waiting = SignRows(b"", np.empty((0, (dim + 7) // 8), dtype=np.uint8))

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def size_bytes(self) -> int:
        arrays = (
            self._ids, self._sessions, self._lengths, self._kinds, self._firsts, self._words,
            self._names, self._place_of, self._bits, self._of,
        )  # fmt: skip
        return sum(each.nbytes for each in (*arrays,)) + sum(
            each.size_bytes for each in self._segments
        )

    # ------------------------------------------------------------------
    # Growing.
    # ------------------------------------------------------------------

    def extended(
        self,
        documents: Sequence[DocumentRows],
        signs: SignRows,
        *,
        change: int,
        vector_change: int,
    ) -> Sketches:
        """With more of them; who searches in these is not disturbed."""
        made = Sketches(self._dim, self.epoch)
        made.change, made.vector_change = change, vector_change
        known = np.sort(_keys(self._ids))
        new = [each for each in (_unknown(rows, known) for rows in documents) if len(each.kinds)]
        made._segments = self._with_terms(new)
        moved = made._place(self, new)
        made._take_signs(self, moved, signs)
        return made

    def _with_terms(self, new: Sequence[DocumentRows]) -> tuple[Segment, ...]:
        segments, first = list(self._segments), len(self)
        for rows in new:
            ends = [0, *accumulate(rows.sizes.tolist())]
            packed = [rows.terms[start:end] for start, end in pairwise(ends)]
            segments.append(segment(range(first, first + len(packed)), packed))
            first += len(packed)
            while len(segments) > 1 and sum(each.documents for each in segments[-2:]) <= _MERGED:
                segments[-2:] = [merge_segments(segments[-2:])]
        return tuple(segments)

    def _place(self, old: Sketches, new: Sequence[DocumentRows]) -> Places:
        """Put old and new documents in order; gives where the old ones are now."""
        arrivals = [np.zeros(len(old), dtype=np.int64), *(rows.arrivals for rows in new)]
        self._names, sessions = _numbered(old._names, [rows.sessions for rows in new])
        # What is new of a session came after all that is there.
        order = np.lexsort((np.concatenate(arrivals), np.concatenate([old._sessions, sessions])))
        ids = [np.frombuffer(rows.records, dtype="V16") for rows in new]
        lengths = [np.minimum(rows.lengths, 0xFFFF).astype(np.uint16) for rows in new]
        self._ids = np.concatenate([old._ids, *ids])[order]
        self._lengths = np.concatenate([old._lengths, *lengths])[order]
        self._kinds = np.concatenate([old._kinds, *(rows.kinds for rows in new)])[order]
        self._sessions = np.concatenate([old._sessions, sessions])[order]
        self._look_over()
        place = np.empty(len(order), dtype=np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        self._place_of = np.concatenate([place[old._place_of], place[len(old) :]])
        self._is_in_order = np.array_equal(self._place_of, np.arange(len(self)))
        moved: Places = place[: len(old)].astype(np.intp)
        return moved

    def _look_over(self) -> None:
        """What is told by the documents as they lie: of the graph, and of each session."""
        self._has_graph = bool((self._kinds & GRAPH).any())
        self._firsts = np.flatnonzero(np.diff(self._sessions, prepend=-1))
        self._ends = np.append(self._firsts[1:], len(self))
        said: Scores = self._lengths.astype(np.float32) * (self._kinds & TURN)
        self._words = np.add.reduceat(said, self._firsts) if len(self) else said

    def _take_signs(self, old: Sketches, moved: Places, signs: SignRows) -> None:
        waiting = old._waiting
        records = np.frombuffer(waiting.records + signs.records, dtype="V16")
        packed = np.concatenate([waiting.bits, signs.bits])
        by_key = np.argsort(keys := _keys(self._ids), kind="stable")
        sought = _keys(records)
        at = np.minimum(np.searchsorted(keys, sought, sorter=by_key), max(len(self) - 1, 0))
        of = by_key[at] if len(self) else at
        there = keys[of] == sought if len(self) else np.zeros(len(sought), dtype=np.bool_)
        self._waiting = SignRows(records[~there].tobytes(), packed[~there])
        padded = np.zeros((int(there.sum()), 8 * len(self._bits)), dtype=np.uint8)
        padded[:, : packed.shape[1]] = packed[there]
        every = np.concatenate([moved[old._of], of[there]])
        order = np.argsort(every, kind="stable")
        self._of = every[order].astype(np.int32)
        self._is_single = np.array_equal(self._of, np.arange(len(self)))
        self._bits = np.empty((len(self._bits), len(order)), dtype=np.uint64)
        new = padded.view(np.uint64).T
        for word, known, more in zip(self._bits, old._bits, new, strict=True):
            np.take(np.concatenate([known, more]), order, out=word)

    # ------------------------------------------------------------------
    # As bytes.
    # ------------------------------------------------------------------

    def to_pieces(self, scope: Scope, space: int) -> list[bytes]:
        """All of them, to be written down and read by another process."""
        about = {
            "space": space,
            "dim": self._dim,
            "vector_change": self.vector_change,
            "segments": [each.documents for each in self._segments],
        }
        arrays: dict[str, NDArray[Any]] = {name: getattr(self, f"_{name}") for name in _WRITTEN}
        arrays["ids"] = self._ids.view(np.uint8)
        arrays["bits"] = self._bits.reshape(-1)
        arrays["waiting"] = np.frombuffer(self._waiting.records, dtype=np.uint8)
        arrays["waiting_bits"] = self._waiting.bits.reshape(-1)
        for number, each in enumerate(self._segments):
            arrays |= {f"{name} {number}": getattr(each, name) for name in _POSTINGS}
        return pieces.written(arrays, about, form=_FORMAT, of=(scope, self.change))

    @classmethod
    def from_pieces(
        cls, kept: KeptIndex, scope: Scope, space: Space, epoch: int
    ) -> Sketches | None:
        """What `to_pieces` wrote down; None if it is not that, or of another space."""
        found = pieces.read(kept.pieces, form=_FORMAT, of=(scope, kept.change), shared=True)
        if found is None or (found[0]["space"], found[0]["dim"]) != (space.id, space.dim):
            return None
        about, arrays = found
        made = cls(space.dim, epoch)
        made.change, made.vector_change = kept.change, about["vector_change"]
        for name in _WRITTEN:
            setattr(made, f"_{name}", arrays[name])
        made._ids = arrays["ids"].view("V16")
        made._bits = arrays["bits"].reshape(len(made._bits), -1)
        made._is_single = np.array_equal(made._of, np.arange(len(made)))
        made._is_in_order = np.array_equal(made._place_of, np.arange(len(made)))
        waiting = arrays["waiting_bits"].reshape(-1, (space.dim + 7) // 8)
        made._waiting = SignRows(arrays["waiting"].tobytes(), waiting)
        made._segments = tuple(
            Segment(**{name: arrays[f"{name} {number}"] for name in _POSTINGS}, documents=documents)
            for number, documents in enumerate(about["segments"])
        )
        made._look_over()
        return made

    # ------------------------------------------------------------------
    # Choosing.
    # ------------------------------------------------------------------

    def chosen(
        self, sought: Sought, distances: Callable[[], AllDistances] | None = None
    ) -> dict[bytes, float]:
        """The documents that may answer, and those beside them; what the words of the question are
        worth in the session of each. `distances` waits for what was begun before."""
        if not len(self):
            return {}
        held = [self._holding(term) for term in sought.terms]
        told_of = self._told(sought, held)
        each, least = distances() if distances is not None else self.distances(sought.vector)
        known = _Known(sought, held, each, least, told_of)
        kinds = (True, False) if self._has_graph else (None,)
        picked = [each for kind in kinds for each in _Chosen(self, known, kind).places()]
        places = _distinct(*picked)
        told = known.sessions[self._sessions[places]] * ((self._kinds[places] & TURN) > 0)
        return dict(zip(self._ids[places].tolist(), told.tolist(), strict=True))

    def _told(self, sought: Sought, held: Sequence[Holding]) -> Scores:
        """BM25 of each session."""
        known = sought.rarities["sessions"]
        norms, told = known.norms(self._words), np.zeros(len(self._words), dtype=np.float32)
        for (docs, counts), weight in zip(held, known.weights, strict=True):
            sessions = self._sessions.take(docs, mode="clip")  # None is outside: not looked at.
            said = np.bincount(sessions, counts, minlength=len(told))
            held_there = said.astype(np.float32)
            told += np.float32(weight * (K1 + 1.0)) * held_there / (held_there + norms)
        return told

    def _holding(self, term: np.uint64) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
        """Which documents hold a term, and how often."""
        sought = np.array([term], dtype=np.uint64)
        found = [each.find(sought)[0] for each in self._segments]
        docs = np.concatenate([docs for docs, _ in found])
        places = docs if self._is_in_order else self._place_of[docs]
        return places, np.concatenate([counts for _, counts in found])

    def distances(self, vector: Scores | None) -> AllDistances:
        """In how many of its signs the nearest vector of each document differs from the question,
        and the least of each session. What has none is taken for unlike."""
        if vector is None or not len(self._of):
            none = np.full(len(self) + len(self._firsts), self._dim, dtype=np.uint16)
            return none[: len(self)], none[len(self) :]
        distances = sign_distances(self._bits, sign_bits(vector[None, :])[:, 0])
        if not self._is_single:
            each, distances = distances, np.full(len(self), self._dim, dtype=np.uint16)
            first = np.flatnonzero(np.diff(self._of, prepend=-1))
            distances[self._of[first]] = np.minimum.reduceat(each, first)
        return distances, np.minimum.reduceat(distances, self._firsts)

    def _among(self, docs: Places, is_graph: bool | None, *, is_quiet: bool) -> Places:
        """Those of them that stand in the graph, or do not; None: all. And what quotes, or not."""
        if is_graph is not None:
            docs = docs[((self._kinds[docs] & GRAPH) > 0) == is_graph]
        return docs if is_quiet else docs[(self._kinds[docs] & QUIET) == 0]

    def _role(self, sought: Sought, kinds: NDArray[np.uint8]) -> Scores:
        table = np.where(np.arange(256) & MACHINE, sought.machine, sought.person)
        role: Scores = table.astype(np.float32)[kinds]
        return role

    def _likeness(self, vector: Scores, docs: Places) -> Scores:
        """The signs of documents with the dimensions of the question: twice as sharp as signs with
        signs. 0 where there is no vector."""
        if self._is_single:
            return _products(self._bits[:, docs], vector)
        first, end = (np.searchsorted(self._of, docs, side) for side in ("left", "right"))
        likeness = np.zeros(len(docs), dtype=np.float32)
        products = _products(self._bits[:, _places_between(first, end)], vector)
        np.maximum.at(likeness, np.repeat(np.arange(len(docs)), end - first), products)
        return likeness


class _Known(NamedTuple):
    """What is known of a question and all documents before some are looked at."""

    sought: Sought
    #: By term.
    held: Sequence[Holding]
    #: By document and by session: in how many signs the nearest differs.
    distances: Distances
    least: Distances
    #: By session: its words' BM25.
    sessions: Scores


class _Chosen:
    """What is chosen of what was said and derived, or of the graph."""

    def __init__(self, of: Sketches, known: _Known, is_graph: bool | None) -> None:
        self._of, self._known, self._is_graph = of, known, is_graph
        places = np.arange(64 * len(of._bits) + 1)
        #: By distance, how near that is: 1 the same, 0 unlike.
        self._near = np.maximum(1.0 - places / (0.5 * of._dim), 0.0).astype(np.float32)
        self._closest: Places = np.empty(0, dtype=np.intp)
        if known.sought.vector is not None:
            self._closest = self._nearest()
        #: The likely ones, and what words that name something are worth in each.
        self._likely, self._naming = self._likely_ones()
        self._likeness = np.zeros(len(of), dtype=np.float32)
        if known.sought.vector is not None:
            self._look_closer(known.sought.vector)

    def _nearest(self) -> Places:
        """Those whose signs are the nearest."""
        of, distances = self._of, self._known.distances
        if self._is_graph is None:
            return _lowest(distances, _BY_SIGNS)
        some = np.flatnonzero(((of._kinds & GRAPH) > 0) == self._is_graph)
        return some[_lowest(distances[some], _BY_SIGNS)]

    def _likely_ones(self) -> tuple[Places, Scores]:
        """Those with the highest rough scores: of what holds rare words of the question, and of the
        sessions with what is nearest; and of what holds a word that names something."""
        of, sought, held = self._of, self._known.sought, self._known.held
        most = max(_LIKELY, 5 * sought.most)
        words = sorted(range(len(held)), key=lambda term: len(held[term][0]))
        counts = list(accumulate(len(held[term][0]) for term in words))
        rare = words[: max(1, sum(count <= _RARE for count in counts))]
        with_words = [held[term][0] for term in rare]
        docs = _distinct(*with_words, self._closest, self._turns_of_nearest(most // 2))
        docs = of._among(docs, self._is_graph, is_quiet=sought.is_quiet)
        cover, naming = self._worth(docs)
        rough = self._rough(docs, cover)
        likely = _highest(rough, most)
        if sought.naming:
            named = np.flatnonzero(naming)
            first = named[_best_first(naming[named], rough[named])[:_LIKELY_NAMING]]
            likely = np.concatenate([likely, first])
        likely = _distinct(likely)
        return docs[likely], naming[likely]

    def _worth(self, docs: Places) -> tuple[Scores, Scores]:
        """What the words of the question that each document holds are worth, and those of them that
        name something."""
        sought = self._known.sought
        weights = sought.rarities["documents"].weights
        cover, naming = np.zeros((2, len(docs)), dtype=np.float32)
        # A byte for each of all documents stays in the processor's cache.
        holds = np.zeros(len(self._of), dtype=np.uint8)
        for term, ((holders, _), weight) in enumerate(zip(self._known.held, weights, strict=True)):
            holds[holders] = 1
            held = holds[docs]
            holds[holders] = 0
            cover += np.float32(_COVER * weight / (sum(weights) or 1.0)) * held
            if term in sought.naming:
                naming += np.float32(weight) * held
        return cover, naming

    def _turns_of_nearest(self, most: int) -> Places:
        """What was said in the sessions with what is nearest; of endless ones what is near itself
        must do."""
        of, sessions = self._of, _lowest(self._known.least, most)
        sessions = sessions[of._ends[sessions] - of._firsts[sessions] <= _ENDLESS]
        return _places_between(of._firsts[sessions], of._ends[sessions])

    def _rough(self, docs: Places, cover: Scores) -> Scores:
        """What each document is likely worth; `cover`: its words."""
        of, known = self._of, self._known
        top = self._near[known.least.min()] or np.float32(1.0)
        rough = (_NEAR / top) * self._near[known.distances[docs]]
        rough += (_THEME / top) * self._near[known.least[of._sessions[docs]]]
        rough += _ROLE * of._role(known.sought, of._kinds[docs]) + cover
        return rough.astype(np.float32)

    def _look_closer(self, vector: Scores) -> None:
        """Tell likeness of those that are near, on the scale of nearness."""
        docs = _distinct(self._likely, self._closest)
        likeness = np.maximum(self._of._likeness(vector, docs), 0.0)
        near = self._near[self._known.distances[docs]]
        likeness *= np.float32(near.sum() / (likeness.sum() or 1.0))
        self._likeness[docs] = likeness
        order = np.argsort(-self._likeness[self._closest], kind="stable")
        self._closest = self._closest[order]

    def places(self) -> list[Places]:
        """Those that may answer, those beside them, the nearest of their sessions and of all."""
        of, docs = self._of, self._likely
        features = self._words(docs) | self._meaning(docs)
        scores = self._scores(docs, features)
        best = docs[np.argsort(-scores, kind="stable")[: self._known.sought.most]]
        if self._known.sought.naming:
            named = np.flatnonzero(self._naming)
            first = named[_best_first(self._naming[named], scores[named])[:_NAMING]]
            best = np.concatenate([best, docs[first]])
        around, there = _around(of, best)
        # Scores are shares of the best: those that are take part.
        tops = docs[[int(each.argmax()) for each in features.values() if len(docs)]]
        session = of._firsts[[int(self._known.sessions.argmax())]]
        nearest = self._nearest_in(of._sessions[best])
        return [around[there], nearest, self._closest[:_NEAREST], tops, session]

    def _nearest_in(self, sessions: NDArray[np.int32]) -> Places:
        """The turn of each session that is most like the question."""
        docs = _distinct(self._likely, self._closest)
        docs = docs[np.argsort(self._likeness[docs], kind="stable")]
        last = np.full(len(self._of._firsts), -1, dtype=np.intp)
        last[self._of._sessions[docs]] = docs  # Of several the last stays: the most like it.
        found: Places = last[sessions]
        return found[found >= 0]

    def _scores(self, docs: Places, features: Mapping[str, Scores]) -> Scores:
        """Nearly what ranks them in the end."""
        of, sought = self._of, self._known.sought
        total = _BLEND.role * of._role(sought, of._kinds[docs])
        total += _BLEND.length * np.minimum(np.log1p(of._lengths[docs]) / np.log1p(_LONG), 1.0)
        for name, values in features.items():
            total += getattr(_BLEND, name) / (float(values.max(initial=0.0)) or 1.0) * values
        scores: Scores = total.astype(np.float32)
        return scores

    def _words(self, docs: Places) -> dict[str, Scores]:
        """What the words of the question say: of the document, its window and its session."""
        of, known = self._of, self._known.sought.rarities
        around, there = _around(of, docs)
        shares = _WINDOW * there
        lengths = of._lengths[around].astype(np.float32)
        norms = known["people"].norms(lengths[:, _BESIDE])
        window_norms = known["windows"].norms((lengths * shares).sum(axis=1))
        people, windows, cover = np.zeros((3, len(docs)), dtype=np.float32)
        counted = np.zeros(len(of), dtype=np.uint8)
        for term, (holders, counts) in enumerate(self._known.held):
            counted[holders] = counts
            held = counted[around].astype(np.float32)
            counted[holders] = 0
            own, window = held[:, _BESIDE], (held * shares).sum(axis=1)
            people += np.float32(known["people"].weights[term]) * own / (own + norms)
            windows += np.float32(known["windows"].weights[term]) * window / (window + window_norms)
            cover += np.float32(known["documents"].weights[term]) * (own > 0)
        kinds = of._kinds[docs]
        return {
            "window": windows,
            "people": people * ((kinds & MACHINE) == 0),
            "session": self._known.sessions[of._sessions[docs]] * ((kinds & TURN) > 0),
            "cover": cover / np.float32(sum(known["documents"].weights) or 1.0),
        }

    def _meaning(self, docs: Places) -> dict[str, Scores]:
        """What the vectors say: of the document, the turns beside it and its session."""
        of = self._of
        around, there = _around(of, docs)
        beside, is_there = around[:, [1, 3]], there[:, [1, 3]]
        own = self._likeness[docs]
        lent = (self._near[self._known.distances[beside]] * is_there).sum(axis=1)
        best = np.zeros(len(of._firsts), dtype=np.float32)
        looked = _distinct(docs, self._closest)
        np.maximum.at(best, of._sessions[looked], self._likeness[looked])
        return {
            "vector": own,
            "around": (own + _AROUND * lent) / (1.0 + _AROUND * is_there.sum(axis=1)),
            "theme": best[of._sessions[docs]],
        }


def _around(of: Sketches, docs: Places) -> tuple[Places, NDArray[np.bool_]]:
    """The places about each document, and whether a turn of the same session is there; in the
    middle it is itself."""
    around = docs[:, None] + np.arange(-_BESIDE, _BESIDE + 1)
    there = (around >= 0) & (around < len(of))
    around = np.clip(around, 0, len(of) - 1)
    turns = (of._kinds[around] & TURN) > 0
    there &= (of._sessions[around] == of._sessions[docs][:, None]) & turns
    there &= turns[:, _BESIDE : _BESIDE + 1]
    there[:, _BESIDE] = True
    return around, there


def _places_between(firsts: Places, ends: Places) -> Places:
    """From each of these places to before its end."""
    sizes = ends - firsts
    before = np.cumsum(sizes) - sizes
    places: Places = np.arange(sizes.sum()) + np.repeat(firsts - before, sizes)
    return places


def _distinct(*some: NDArray[np.integer]) -> Places:
    """All of them in order, each once; a tenth of the time of numpy's own."""
    every = np.sort(np.concatenate([each.astype(np.int32, copy=False) for each in some]))
    first = np.ones(len(every), dtype=np.bool_)
    np.not_equal(every[1:], every[:-1], out=first[1:])
    places: Places = every[first].astype(np.intp)
    return places


def _best_first(values: Scores, then: Scores) -> Places:
    """The order in which the highest values come first, and of equals what is highest then."""
    order: Places = np.lexsort((-then, -values))
    return order


def _highest(values: Scores, most: int) -> Places:
    """The places of so many of the highest values."""
    if len(values) <= most:
        return np.arange(len(values))
    places: Places = np.argpartition(-values, most)[:most]
    return places


def _lowest(values: Distances, most: int) -> Places:
    """The places of so many of the lowest of many values. One of some values tells about where the
    border is: looking for the border itself takes longer than all that comes after."""
    if not len(values):
        return np.empty(0, dtype=np.intp)
    counts = np.cumsum(np.bincount(values[::_ONE_OF]))
    border = np.searchsorted(counts, min(2 * most // _ONE_OF, counts[-1] - 1), side="right")
    found = np.flatnonzero(values <= border)
    if len(found) > most:
        found = np.sort(found[np.argpartition(values[found], most)[:most]])
    return found


def _products(bits: NDArray[np.uint64], vector: Scores) -> Scores:
    """Columns of signs, as +1 and -1, with a vector."""
    signs = np.ascontiguousarray(bits.T).view(np.uint8)
    dims = np.zeros(8 * signs.shape[1], dtype=np.float32)
    dims[: len(vector)] = vector
    # What each byte of signs is worth at each place.
    worth = dims.reshape(-1, 8) @ _SIGNS_OF_BYTES.T
    products = np.zeros(len(signs), dtype=np.float32)
    for place, each in enumerate(signs.T):
        products += worth[place][each]
    return products


#: The eight signs of every byte, as +1 and -1.
_SIGNS_OF_BYTES = (
    2.0 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1) - 1.0
).astype(np.float32)


def _numbered(
    known: NDArray[np.int64], new: Sequence[NDArray[np.int64]]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The names of sessions by their numbers, and the number of each new one: those that are known
    keep theirs, others are numbered as they come: what is near in time is near in memory."""
    names, first, which = np.unique(
        np.concatenate([known[:0], *new]), return_index=True, return_inverse=True
    )
    by_name = np.argsort(known)
    at = np.searchsorted(known, names, sorter=by_name)
    number = np.append(by_name, 0)[at]
    is_new = np.append(known, 0)[number] != names
    is_new |= at == len(known)
    coming = np.flatnonzero(is_new)[np.argsort(first[is_new])]
    number[coming] = len(known) + np.arange(len(coming))
    return np.concatenate([known, names[coming]]), number[which].astype(np.int32)


def _unknown(rows: DocumentRows, known: NDArray[np.uint64]) -> DocumentRows:
    """Those rows whose documents are not among the known: what is there and changed has the same
    words."""
    keys = _keys(np.frombuffer(rows.records, dtype="V16"))
    new = ~np.isin(keys, known)
    if new.all():
        return rows
    ends = [0, *accumulate(rows.sizes.tolist())]
    pieces = zip(pairwise(ends), new.tolist(), strict=True)
    return DocumentRows(
        np.frombuffer(rows.records, dtype="V16")[new].tobytes(),
        rows.sessions[new], rows.arrivals[new], rows.lengths[new], rows.kinds[new],
        rows.sizes[new],
        b"".join([rows.terms[start:end] for (start, end), is_new in pieces if is_new]),
    )  # fmt: skip


def _keys(ids: NDArray[np.void]) -> NDArray[np.uint64]:
    """A number for each id, by which it is found."""
    halves = ids.view(np.uint64).reshape(-1, 2)
    keys: NDArray[np.uint64] = halves[:, 0] ^ halves[:, 1]
    return keys
