"""Owners who are too large to be held in memory: a view of the documents that may answer.

They are chosen by sketches of all documents in memory (sketches.py), and where a question narrows,
or there are too many documents for that, named by the store: by their vectors and the words of the
question. To them come what the graph reaches; the rules; of what was written since it was indexed,
and of what others share, the best; and the turns beside them, since a turn is ranked by its
session, too. The view is made for one question and ranked like any other. How rare a word is is
told by the store for the whole owner.
"""

from __future__ import annotations

import heapq
import math
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from holdfast.index.look import Owner, head_of, owner_of
from holdfast.index.packed import is_worth_keeping, write_down
from holdfast.index.resident import InUse, Keeping, Resident, give_back
from holdfast.index.sketches import Rarity, Sketches, Sought
from holdfast.index.view import (
    BESIDE_SHARES,
    K1,
    LOUD,
    B,
    Population,
    View,
    ViewPart,
    variety,
)
from holdfast.language.terms import term_id
from holdfast.settings import Index
from holdfast.store.protocols import (
    FOREVER_US,
    KEPT_SKETCHES,
    Feed,
    LargeReader,
    Store,
    VectorRows,
    spans,
)
from holdfast.store.values import (
    Change,
    Counted,
    Frequency,
    Head,
    LargeOwner,
    Narrowed,
    Space,
    Spot,
)
from holdfast.types import Scope

#: So many documents may answer, where sketches choose them; changes are read so many at a time.
_SKETCHED = 80
_READ_AT_ONCE = 1 << 16
#: Where the store does, so many are named by their vectors.
_NEAREST = 200
#: Documents with words of the question that are looked at; they are found by so many of its rarest
#: words, so many of them together, and by so many sets of them at most.
_LOOKED_AT = 1_500
_WORDS = 6
_TOGETHER = 3
_GROUPS = 8
#: Of all of them so many are read, with the turns beside them; what words and meaning count there,
#: as in the sum of all features (`Blend`).
_CONTENDERS = 150
_BY_WORDS = 1.75
_BY_MEANING = 3.45
_SINGLED_OUT = 5.0
#: Words so rare name something (recall/stages/guaranteed.py).
_RARE = 0.001
_RARE_CODE = 0.01
#: Of the best so many the session is read, too, so far on either side.
_WITH_SESSION = 10
_SESSION_REACH = 30
_BESIDE = 2
#: So many are all looked at.
_FEW = 2_000
#: Rules, and what was said at a time that the question names.
_MOST_RULES = 500
_OF_THE_TIME = 200
ALL_OF_IT = Narrowed()
_RULES = Narrowed(tiers=("procedure",), texts=(("kind", "instruction"),))


@dataclass(frozen=True, slots=True)
class LargeQuestion:
    """By what documents are named."""

    terms: Sequence[str]
    vector: NDArray[np.float32] | None
    narrowed: Narrowed = ALL_OF_IT
    #: What the graph reaches.
    ids: Collection[str] = ()
    #: Those of its terms that name something, such as numbers.
    coded: frozenset[str] = frozenset()
    #: Times that it names.
    times_us: tuple[tuple[int, int], ...] = ()
    #: How many answers are wanted, and what it counts that a person speaks, or a machine.
    limit: int = 10
    roles: tuple[float, float] = (0.0, 0.0)


@dataclass(slots=True)
class LargeIndex:
    """What is in memory of one large owner: what was written since it was indexed, what others
    share with it, and sketches of its documents."""

    own: ViewPart
    space: Space
    which: str
    rest: Resident | None = None
    sketches: Sketches | None = None
    #: How many documents of those are written down in the store.
    kept: int = 0
    #: What is worth it is written down, by somebody who has the time.
    keep: Callable[[Scope, Sketches, Space], None] = lambda scope, sketches, space: None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def view(
        self,
        store: Store,
        parts: Sequence[ViewPart],
        heads: Sequence[Head],
        asked: LargeQuestion,
        settings: Index,
    ) -> View | None:
        """The documents that may answer; None while the store cannot name them."""
        known = store.large_owner(self.own.scope, self.space)
        if known is None:
            return None
        late = _best_of(self._rest(store, known, parts, heads), asked)
        self._read_kept(store, known, heads[0].epoch, settings)
        with known.reader() as reader, ThreadPoolExecutor(max_workers=1) as beside:
            sketches = self._sketches(reader, known, heads[0].epoch, settings)
            distances = beside.submit(sketches.distances, asked.vector) if sketches else None
            terms = [_signed(term_id(term)) for term in asked.terms]
            frequencies, rules = reader.frequencies(terms, _RULES, _MOST_RULES)
            coded = frozenset(i for i, term in enumerate(asked.terms) if term in asked.coded)
            words = _Words(terms, frequencies, known.every, coded)
            early = _all_by_then(reader, asked)
            ids, told = early if early is not None else set(), dict[bytes, float]()
            if early is None:
                ids = _named_by(reader, asked, words, sketches, settings.search_effort)
                ids |= {spot.record for spot in rules}
            if early is None and sketches and distances:
                told = sketches.chosen(self._sought(asked, words, known), distances.result)
                ids |= told.keys()
            wanted = {self.own.scope: ids}
            for place, part in enumerate(parts):
                wanted[part.scope] = wanted.get(part.scope, set()) | late.get(place, set())
            named = reader.read({scope: sorted(some) for scope, some in wanted.items()})
        made = Resident(self.own, self.space, variety(self.which))
        view = made.follow(_NamedFeed(named), parts, heads)
        if early is not None:
            return view
        holders = dict(zip(asked.terms, frequencies, strict=True))
        sessions = {id.hex(): each for id, each in told.items()}
        return replace(view, population=Population(known, holders, sessions))

    def _rest(
        self, feed: Feed, known: LargeOwner, parts: Sequence[ViewPart], heads: Sequence[Head]
    ) -> View:
        """What the store cannot name."""
        with self.lock:
            since = (known.change, known.vector_change)
            if self.rest is None or self.rest.since != since:
                self.rest = Resident(self.own, self.space, variety(self.which), since=since)
            rest = self.rest
        return rest.follow(feed, parts, heads)

    def _read_kept(self, store: Feed, known: LargeOwner, epoch: int, settings: Index) -> None:
        """Begin with what was written down of the sketches, where there are none in memory."""
        if known.every.documents > settings.compared_memories:
            return
        with self.lock:
            if self.sketches is not None and self.sketches.epoch == epoch:
                return
            self.sketches, self.kept = None, 0
            scope = self.own.scope
            found = store.kept_index(scope, what=KEPT_SKETCHES)
            if found is not None:
                self.sketches = Sketches.from_pieces(found, scope, self.space, epoch)
                self.kept = 0 if self.sketches is None else len(self.sketches)
                give_back()

    def _sketches(
        self, reader: LargeReader, known: LargeOwner, epoch: int, settings: Index
    ) -> Sketches | None:
        """Those of now; None: there are too many documents."""
        if known.every.documents > settings.compared_memories:
            return None
        with self.lock:
            found = self.sketches
            if found is None or found.epoch != epoch:
                found, self.kept = Sketches(self.space.dim, epoch), 0
            if known.change > found.change or known.vector_change > found.vector_change:
                some = spans(found.change, known.change, _READ_AT_ONCE)
                found = found.extended(
                    [reader.documents(start, end) for start, end in some],
                    reader.signs(found.vector_change, known.vector_change),
                    change=max(known.change, found.change),
                    vector_change=max(known.vector_change, found.vector_change),
                )
                give_back()
            self.sketches = found
            if is_worth_keeping(len(found), self.kept):
                self.kept = len(found)
                self.keep(self.own.scope, found, self.space)
            return found

    def _sought(self, asked: LargeQuestion, words: _Words, known: LargeOwner) -> Sought:
        whole = Population(known, {str(i): each for i, each in enumerate(words.frequencies)})
        rarities = {}
        for making in ("documents", "people", "windows", "sessions"):
            counted, holders = whole.of(making, list(whole.holders))
            weights = [_idf(counted.documents, held) for held in holders]
            average = max(counted.words / max(counted.documents, 1), 1.0)
            rarities[making] = Rarity(weights, average)
        return Sought(
            np.array([term_id(term) for term in asked.terms], dtype=np.uint64),
            rarities,
            frozenset(i for i in range(len(words.terms)) if words.is_literal((i,))),
            asked.vector,
            max(_SKETCHED, 2 * asked.limit),
            *asked.roles,
            is_quiet=self.which != LOUD,
        )

    @property
    def size_bytes(self) -> int:
        rest = 0 if self.rest is None else self.rest.size_bytes
        return rest + (0 if self.sketches is None else self.sketches.size_bytes)


@dataclass(frozen=True, slots=True)
class _NamedFeed:
    """The named documents of several owners, as an index reads them."""

    named: Mapping[Scope, tuple[list[Change], VectorRows]]

    def changes(self, scope: Scope, *, after: int, until: int = FOREVER_US) -> list[Change]:
        """All with the last span, which has no end."""
        return self.named[scope][0] if until == FOREVER_US else []

    def vector_rows(
        self, scope: Scope, space: int, *, after: int, until: int
    ) -> Iterator[VectorRows]:
        if not after:  # All at the first call.
            yield self.named[scope][1]._replace(until=until)

    def kept_index(self, scope: Scope) -> None:
        """They are few."""


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of a question, and what the whole owner has of them."""

    terms: Sequence[int]
    frequencies: Sequence[Frequency]
    every: Counted
    #: Places of those that name something.
    coded: frozenset[int]

    def rarity(self, place: int) -> float:
        return _idf(self.every.documents, self.frequencies[place].documents)

    def groups(self) -> list[tuple[int, ...]]:
        """By which documents are looked for, as places of words: rare words each by itself, of
        common ones two or three together, as long as not too many are expected to hold them."""
        there = [i for i, each in enumerate(self.frequencies) if each.documents > 0]
        rarest = sorted(there, key=lambda i: self.frequencies[i].documents)[:_WORDS]
        groups, left = list[tuple[int, ...]](), float(_LOOKED_AT)
        for size in range(1, 1 + _TOGETHER):
            for group in combinations(rarest, size):
                holding = self._expected(group)
                is_new = not any(set(each) <= set(group) for each in groups)
                if is_new and holding <= left and len(groups) < _GROUPS:
                    groups.append(group)
                    left -= holding
        return groups

    def is_literal(self, group: Sequence[int]) -> bool:
        """Whether it is one word that names something."""
        share = _RARE_CODE if group[0] in self.coded else _RARE
        held = self.frequencies[group[0]].documents
        return len(group) == 1 and held <= share * self.every.documents

    def _expected(self, group: Sequence[int]) -> float:
        """How many documents hold all of these, if words knew nothing of each other."""
        total = max(self.every.documents, 1)
        return total * math.prod(self.frequencies[i].documents / total for i in group)


def _idf(documents: int, held: int) -> float:
    return math.log(1.0 + max(documents - held + 0.5, 0.5) / (held + 0.5))


def _signed(term: int) -> int:
    """A term as a database keeps it."""
    return term - (1 << 64) if term >= 1 << 63 else term


def _all_by_then(reader: LargeReader, asked: LargeQuestion) -> set[bytes] | None:
    """Who asks for an early time asks an owner who was small: all that there was. None: much."""
    until = asked.narrowed.until_us
    if until is None:
        return None
    spots = reader.all_of(Narrowed(until_us=until), _FEW + 1)
    return {spot.record for spot in spots} if len(spots) <= _FEW else None


def _named_by(
    reader: LargeReader,
    asked: LargeQuestion,
    words: _Words,
    sketches: Sketches | None,
    effort: int,
) -> set[bytes]:
    """What the store names: the documents that may answer, and those beside them, where the
    question narrows or nothing else names any. What answers best of all is among them, also where
    the question asks for a few: scores are shares of the best."""
    reaches: dict[Spot, int] = {}
    whole = [] if sketches is not None else [ALL_OF_IT]
    for narrowed in dict.fromkeys((*([asked.narrowed] if asked.narrowed else []), *whole)):
        best, near = _contenders(reader, asked.vector, words, narrowed, effort)
        reaches |= {spot: _BESIDE for spot in best if spot not in reaches}
        # What is near lifts its whole session.
        reaches |= {spot: 0 for spot in near if spot not in reaches}
        reaches |= dict.fromkeys(best[:_WITH_SESSION], _SESSION_REACH)
    for narrow, most in _of_times(asked):
        reaches |= {spot: 0 for spot in reader.all_of(narrow, most) if spot not in reaches}
    ids = {spot.record for spot in reaches}
    beside = [(spot, reach) for spot, reach in reaches.items() if reach]
    if beside:
        ids |= set(reader.beside(beside))
    return ids | {bytes.fromhex(each) for each in asked.ids}


def _of_times(asked: LargeQuestion) -> list[tuple[Narrowed, int]]:
    if not asked.times_us:
        return []
    return [(replace(asked.narrowed, within_us=asked.times_us), _OF_THE_TIME)]


def _contenders(
    reader: LargeReader,
    vector: NDArray[np.float32] | None,
    words: _Words,
    narrowed: Narrowed,
    effort: int,
) -> tuple[list[Spot], list[Spot]]:
    """The documents that may come first, the likeliest first, by what can be told of their words
    and their meaning before they are read; and the nearest."""
    gains = _gains(reader, words, narrowed)
    if vector is None:
        return heapq.nlargest(_CONTENDERS, gains, key=gains.__getitem__), []
    cosines = dict(reader.nearest(vector, _NEAREST, narrowed, effort))
    closest = list(cosines)
    others = [spot for spot in gains if spot not in cosines]
    near = reader.cosines(vector, [spot.record for spot in others])
    cosines |= {spot: near.get(spot.record, 0.0) for spot in others}
    best = max(cosines.values(), default=0.0) or 1.0
    scores = {
        spot: gains.get(spot, 0.0) + _BY_MEANING * cosines.get(spot, 0.0) / best
        for spot in (*gains, *cosines)
    }
    return heapq.nlargest(_CONTENDERS, scores, key=scores.__getitem__), closest


def _gains(reader: LargeReader, words: _Words, narrowed: Narrowed) -> dict[Spot, float]:
    """What the words of the question are worth in documents that hold some of them: BM25 as far as
    it can be told, with what the turns beside them hold; a rare word puts a document before all
    others (recall/stages/guaranteed.py)."""
    groups = words.groups()
    if not groups:
        return {}
    rows = reader.holding(
        [[words.terms[i] for i in group] for group in groups], _LOOKED_AT, narrowed
    )
    average = words.every.words / max(words.every.documents, 1) or 1.0
    weights = [(K1 + 1.0) * sum(map(words.rarity, group)) for group in groups]
    gains: dict[Spot, float] = {}
    singled_out = set[Spot]()
    for number, spot in rows:
        norm = K1 * (1.0 - B + B * spot.length / average)
        gains[spot] = gains.get(spot, 0.0) + weights[number] / (1.0 + norm)
        if words.is_literal(groups[number]):
            singled_out.add(spot)
    spots = sorted(gains, key=itemgetter(1, 2))  # By session and arrival.
    lent = dict(gains)
    for step in range(1, _BESIDE + 1):
        for first, second in zip(spots, spots[step:], strict=False):
            away = second.arrival - first.arrival
            if 0 < away <= _BESIDE and first.session == second.session:
                share = BESIDE_SHARES[away - 1]
                lent[first] += share * gains[second]
                lent[second] += share * gains[first]
    most = max(lent.values(), default=0.0) or 1.0
    return {
        spot: _BY_WORDS * gain / most + (_SINGLED_OUT if spot in singled_out else 0.0)
        for spot, gain in lent.items()
    }


def _best_of(view: View, asked: LargeQuestion) -> dict[int, set[bytes]]:
    """Of what is in memory the documents that may answer, by the place of their owner."""
    chosen = np.arange(len(view))
    if len(view) > _NEAREST:
        near = np.zeros(len(view), dtype=np.float32)
        if asked.vector is not None and view.vectors is not None:
            near = view.vectors.by_document(asked.vector, len(view), also=lambda: chosen[:0])
        held = np.zeros(len(view), dtype=np.float32)
        terms = np.array([term_id(term) for term in asked.terms], dtype=np.uint64)
        for segment in view.segments:
            for docs, _ in segment.find(terms):
                held[docs] += 1.0 / (1.0 + len(docs))
        rules = np.flatnonzero(view.tiers == view.code("procedure"))
        best = [np.argsort(-each, kind="stable")[: _NEAREST // 2] for each in (near, held)]
        chosen = np.unique(np.concatenate([*best, rules]))
    found: dict[int, set[bytes]] = {}
    for doc in chosen.tolist():
        found.setdefault(int(view.owners[doc]), set()).add(bytes.fromhex(view.ids[doc]))
    return found


class LargeIndexes:
    """What is in memory of the large owners in use."""

    def __init__(self, store: Store, settings: Index, *, most_bytes: int) -> None:
        self._store = store
        self._settings = settings
        self._keeping = Keeping()
        self._kept: InUse[tuple[Owner, int, str], LargeIndex] = InUse(
            lambda one: one.size_bytes, most=most_bytes
        )

    def view(
        self,
        scope: Scope,
        space: Space | None,
        which: str,
        asked: Callable[[], LargeQuestion],
        *,
        also: Sequence[ViewPart] = (),
    ) -> View | None:
        """What may answer a question of a large owner; None: it is not large, or not indexed."""
        head = head_of(self._store, scope)
        if space is None or head.change <= self._settings.resident_memories:
            return None
        own = ViewPart(Scope(scope.workspace, scope.user))
        index = self._kept.get(
            (owner_of(scope), space.id, which),
            lambda: LargeIndex(own, space, which, keep=self._keep),
        )
        parts = [own, *also]
        heads = [head, *(head_of(self._store, part.scope) for part in also)]
        view = index.view(self._store, parts, heads, asked(), self._settings)
        self._kept.make_room()
        return view

    def _keep(self, scope: Scope, sketches: Sketches, space: Space) -> None:
        """Have sketches written down, while the search goes on."""

        def write() -> None:
            head = Head(sketches.epoch, sketches.change)
            made = partial(sketches.to_pieces, scope, space.id)
            write_down(self._store, scope, head, made, KEPT_SKETCHES)
            give_back()

        self._keeping.begin(write)

    def settle(self) -> None:
        """Return once all that is being written down is."""
        self._keeping.settle()
