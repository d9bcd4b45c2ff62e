"""The graphs of the owners in use, kept in memory and following the store's feed.

Before each look one tiny read tells whether anything changed. What changed besides the graph costs
nothing; of the graph only what changed is read again. Physically removed rows raise the epoch: then
the graph is read anew. The arrays are made anew after every change, all but one kind: while turns
are being understood, recall may go on with those it has for a moment (`patient`).
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from holdfast.language.names.likeness import Name
from holdfast.records.graph.adjacency import Adjacency, adjacency
from holdfast.records.graph.elements import Entity, Merging, Relation, entity, merging, relation
from holdfast.records.graph.resolve import ResolvableEntity, Resolver
from holdfast.store.protocols import Head, Store, is_heard
from holdfast.types import Record, Scope

#: Records of one owner that are read, and of all owners that are kept.
_MOST_READ = 2_000_000
_MOST_KEPT = 2_000_000
#: A patient reader takes a graph that is older than what was heard since for as long as this many
#: times what making it took: making graphs then costs a twentieth of the time at most.
_PATIENCE = 20
#: Seconds of work that are worth waiting for: less is done at once.
_QUICK = 0.005

Element = TypeVar("Element", Entity, Relation, Merging)


@dataclass(slots=True)
class _OwnerGraph:
    """The graph of one owner."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    seen: Head | None = None
    entities: dict[str, Entity] = field(default_factory=dict)
    relations: dict[str, Relation] = field(default_factory=dict)
    merges: dict[str, Merging] = field(default_factory=dict)
    #: What was there and is not any more: if it comes back, it was restored.
    gone: set[str] = field(default_factory=set)
    made: Adjacency | None = None
    made_at: float = 0.0
    took: float = 0.0
    #: Whether the arrays are older than the records, and whether by what was heard alone.
    is_old: bool = False
    is_calm: bool = True
    names: Resolver | None = None
    #: The graph that the names are of, and the entities that may have changed since.
    named: Adjacency | None = None
    touched: set[str] = field(default_factory=set)

    def follow(self, store: Store, scope: Scope, *, patient: bool = False) -> Adjacency:
        with self.lock:
            return self._follow(store, scope, patient=patient)

    def resolver(self, store: Store, scope: Scope) -> Resolver:
        with self.lock:
            graph = self._follow(store, scope, patient=False)
            if self.names is None or self.named is None:
                self.names = Resolver(_resolvable(graph, range(len(graph.ids))))
            elif self.touched:
                _rename(self.names, self.touched, self.named, graph)
            self.named, self.touched = graph, set()
            return self.names

    def _follow(self, store: Store, scope: Scope, *, patient: bool) -> Adjacency:
        head = store.head(scope)
        if self.seen is None or head.epoch != self.seen.epoch:
            self._read(store, scope)
        elif head != self.seen:
            self._update(store, scope, self.seen.change)
        self.seen = head
        may_wait = patient and self.is_calm and self._is_fresh()
        if self.made is None or (self.is_old and not may_wait):
            self.made = self._make()
        return self.made

    def _is_fresh(self) -> bool:
        return self.took >= _QUICK and time.monotonic() - self.made_at < _PATIENCE * self.took

    def _make(self) -> Adjacency:
        start = time.thread_time()
        # A copy: a graph is of one moment, what is followed goes on.
        made = adjacency(self.entities, self.relations, dict(self.merges))
        if self.made is not None:
            made.kept.update(self.made.kept)
        self.made_at, self.took = time.monotonic(), time.thread_time() - start
        self.is_old, self.is_calm = False, True
        return made

    def _read(self, store: Store, scope: Scope) -> None:
        """All of it. Ended ones too: they are asked for with `as_of`."""
        before = (self.entities, self.merges)
        self.entities, self.relations, self.merges = {}, {}, {}
        for record in store.listed(scope, tier="graph", current=False, limit=_MOST_READ):
            self._take(record)
        self.touched |= _differing(before[0], self.entities)
        for each in _differing(before[1], self.merges):
            self._touch(before[1].get(each), self.merges.get(each))
        self.is_old, self.is_calm = True, False

    def _update(self, store: Store, scope: Scope, after: int) -> None:
        changed = [each.id for each in store.changes(scope, after=after) if each.tier == "graph"]
        if not changed:
            return
        there = [each for each in store.get(scope, changed) if each.archived_at is None]
        for record in there:
            self.is_calm &= self._take(record) and record.id not in self.gone
        for each in set(changed) - {record.id for record in there}:
            self._drop(each)
        self.is_old = True

    def _take(self, record: Record) -> bool:
        """Follow one record; whether it was merely heard, for the first time or again."""
        if (found := entity(record)) is not None:
            self.touched.add(record.id)
            return _is_calm(record, _put(self.entities, record.id, found), found)
        if (edge := relation(record)) is not None:
            return _is_calm(record, _put(self.relations, record.id, edge), edge)
        if (both := merging(record)) is not None:
            before = _put(self.merges, record.id, both)
            self._touch(before, both)
            return _is_calm(record, before, both) and record.data.get("by") != "hand"
        return True

    def _drop(self, id: str) -> None:
        self.touched.add(id)
        self.gone.add(id)
        self._touch(self.merges.pop(id, None))
        self.entities.pop(id, None)
        self.relations.pop(id, None)
        self.is_calm = False

    def _touch(self, *merges: Merging | None) -> None:
        self.touched |= {end for merge in merges if merge for end in (merge.a, merge.b)}

    def __len__(self) -> int:
        return 1 + len(self.entities) + len(self.relations) + len(self.merges)


class Graphs:
    """The graphs in use, the least used dropped when there are too many. Threads may share it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, str], _OwnerGraph] = OrderedDict()

    def of(self, scope: Scope, *, patient: bool = False) -> Adjacency:
        """The owner's graph as the store is now.

        `patient`: what was heard since may be missing for a moment; nothing else ever is.
        """
        followed = self._followed(scope)
        before = followed.made
        made = followed.follow(self._store, scope, patient=patient)
        if made is not before:
            self._make_room()
        return made

    def resolver(self, scope: Scope) -> Resolver:
        """The names of the owner's entities as the store is now, joined ones as one.

        It is kept and follows the graph; who asks it must not ask for it again meanwhile from
        another thread.
        """
        return self._followed(scope).resolver(self._store, scope)

    def _followed(self, scope: Scope) -> _OwnerGraph:
        key = (scope.workspace, scope.user)
        with self._lock:
            followed = self._kept.setdefault(key, _OwnerGraph())
            self._kept.move_to_end(key)
        return followed

    def _make_room(self) -> None:
        with self._lock:
            total = sum(map(len, self._kept.values()))
            while total > _MOST_KEPT and len(self._kept) > 1:
                _, dropped = self._kept.popitem(last=False)
                total -= len(dropped)


def _put(kept: dict[str, Element], id: str, new: Element) -> Element | None:
    before = kept.get(id)
    kept[id] = new
    return before


def _is_calm(record: Record, before: Element | None, now: Element) -> bool:
    """Whether a record came or changed by being heard: nobody waits to see that."""
    if not now.span.is_open or (before is not None and not before.span.is_open):
        return False
    if is_heard(record.tier, record.data):
        return True
    if before is None or isinstance(now, Merging):
        return False
    # What somebody wrote was heard of again, or told in a context.
    return before == now._replace(
        sources=before.sources, seen_us=before.seen_us, strength=before.strength
    )


def _differing(before: Mapping[str, Element], now: Mapping[str, Element]) -> set[str]:
    return {each for each in before.keys() | now.keys() if before.get(each) != now.get(each)}


def _resolvable(graph: Adjacency, numbers: Iterable[int]) -> Iterable[ResolvableEntity]:
    """The entities with these numbers as a resolver knows them; what ended is meant no more."""
    for number in numbers:
        each = graph.entities[number]
        if each.span.is_open:
            yield ResolvableEntity(graph.ids[number], Name(each.name, each.type, each.aliases))


def _rename(names: Resolver, touched: set[str], before: Adjacency, now: Adjacency) -> None:
    """Bring names up to date: with an entity changes what it was and is joined with."""
    members = set(touched)
    for graph in (before, now):
        numbers = {graph.numbers[each] for each in touched if each in graph.numbers}
        members.update(each for number in numbers for each in graph.members.get(number, ()))
    for each in members:
        if now.shown(each) != each or each not in now.numbers:
            names.discard(each)
    for known in _resolvable(now, {now.numbers[each] for each in members if each in now.numbers}):
        names.add(known)
