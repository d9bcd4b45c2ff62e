"""The graphs of the owners in use, kept in memory and following the store's feed.

Before each look one tiny read tells whether anything changed. What changed besides the graph costs
nothing; of the graph only what changed is read again. Physically removed rows raise the epoch: then
the graph is read anew. The arrays are made anew after every change, all but one kind: while turns
are being understood, recall may go on with those it has for a moment (`patient`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from holdfast.index.look import Owner, owner_of
from holdfast.index.resident import Follower, InUse
from holdfast.language.names import Name
from holdfast.records.graph.adjacency import (
    Adjacency,
    Entity,
    Merging,
    Relation,
    adjacency,
    entity,
    merging,
    relation,
)
from holdfast.records.graph.resolve import ResolvableEntity, Resolver
from holdfast.settings import DECAY, Decay
from holdfast.store.protocols import Change, Store, is_heard
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


class _OwnerGraph(Follower):
    """The graph of one owner."""

    def __init__(self, decay: Decay) -> None:
        super().__init__()
        self.decay = decay
        self.entities: dict[str, Entity] = {}
        self.relations: dict[str, Relation] = {}
        self.merges: dict[str, Merging] = {}
        #: What was there and is not any more: if it comes back, it was restored.
        self.gone: set[str] = set()
        self.made: Adjacency | None = None
        self.made_at = 0.0
        self.took = 0.0
        #: Whether the arrays are older than the records, and whether by what was heard alone.
        self.is_old = False
        self.is_calm = True
        self.names: Resolver | None = None
        #: The graph that the names are of, and the entities that may have changed since.
        self.named: Adjacency | None = None
        self.touched: set[str] = set()

    def graph(self, store: Store, scope: Scope, *, patient: bool = False) -> Adjacency:
        """As the store is now; `patient` as in `Graphs.of`."""
        with self.lock:
            self.follow(store, scope)
            may_wait = patient and self.is_calm and self._is_fresh()
            if self.made is None or (self.is_old and not may_wait):
                self.made = self._make()
            return self.made

    def resolver(self, store: Store, scope: Scope) -> Resolver:
        """The names of the entities, as the store is now."""
        with self.lock:
            graph = self.graph(store, scope)
            if self.names is None or self.named is None:
                self.names = Resolver(_resolvable(graph, range(len(graph.ids))))
            elif self.touched:
                _rename(self.names, self.touched, self.named, graph)
            self.named, self.touched = graph, set()
            return self.names

    def _is_fresh(self) -> bool:
        return self.took >= _QUICK and time.monotonic() - self.made_at < _PATIENCE * self.took

    def _make(self) -> Adjacency:
        start = time.thread_time()
        # A copy: a graph is of one moment, what is followed goes on.
        made = adjacency(self.entities, self.relations, dict(self.merges), decay=self.decay)
        if self.made is not None:
            made.kept.update(self.made.kept)
        self.made_at, self.took = time.monotonic(), time.thread_time() - start
        self.is_old, self.is_calm = False, True
        return made

    def read_all(self, store: Store, scope: Scope) -> None:
        """Ended ones too: they are asked for with `as_of`."""
        before = (self.entities, self.merges)
        self.entities, self.relations, self.merges = {}, {}, {}
        for record in store.listed(scope, tier="graph", current=False, limit=_MOST_READ):
            self._take(record)
        self.touched |= _differing(before[0], self.entities)
        for each in _differing(before[1], self.merges):
            self._touch(before[1].get(each), self.merges.get(each))
        self.is_old, self.is_calm = True, False

    def read_changes(self, store: Store, scope: Scope, changes: Sequence[Change]) -> None:
        changed = [each.id for each in changes if each.tier == "graph"]
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

    def __init__(self, store: Store, decay: Decay = DECAY) -> None:
        self._store = store
        self._decay = decay
        self._owners: InUse[Owner, _OwnerGraph] = InUse(len, most=_MOST_KEPT)
        #: Held while a plan is made and stored: two writers in one process must not both make what
        #: they both name, and they share a resolver.
        self.writing = threading.Lock()

    def of(self, scope: Scope, *, patient: bool = False) -> Adjacency:
        """The owner's graph as the store is now.

        `patient`: what was heard since may be missing for a moment; nothing else ever is.
        """
        owner = self._owners.get(owner_of(scope), self._new)
        before = owner.made
        made = owner.graph(self._store, scope, patient=patient)
        if made is not before:
            self._owners.make_room()
        return made

    def resolver(self, scope: Scope) -> Resolver:
        """The names of the owner's entities as the store is now, joined ones as one.

        It is kept and follows the graph; who asks it must not ask for it again meanwhile from
        another thread.
        """
        return self._owners.get(owner_of(scope), self._new).resolver(self._store, scope)

    def _new(self) -> _OwnerGraph:
        return _OwnerGraph(self._decay)


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
        if now.shown_id(each) != each or each not in now.numbers:
            names.discard(each)
    for known in _resolvable(now, {now.numbers[each] for each in members if each in now.numbers}):
        names.add(known)
