"""The graphs of the owners in use, kept in memory and following the store's feed.

Before each look one tiny read tells whether anything changed. What changed besides the graph costs
nothing; of the graph only what changed is read again. Physically removed rows raise the epoch: then
the graph is read anew.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field

from recollect.graph.adjacency import Adjacency, Entity, Relation, adjacency, entity, relation
from recollect.store.base import Head, Store
from recollect.types import Record, Scope

#: Records of one owner that are read, and of all owners that are kept.
_MOST_READ = 2_000_000
_MOST_KEPT = 2_000_000


@dataclass(slots=True)
class _Followed:
    """The graph of one owner."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    seen: Head | None = None
    entities: dict[str, Entity] = field(default_factory=dict)
    relations: dict[str, Relation] = field(default_factory=dict)
    made: Adjacency | None = None

    def follow(self, store: Store, scope: Scope) -> Adjacency:
        with self.lock:
            head = store.head(scope)
            if self.made is None or self.seen is None or head.epoch != self.seen.epoch:
                self.entities, self.relations = {}, {}
                # Ended ones too: they are asked for with `as_of`.
                self._take(store.listed(scope, tier="graph", current=False, limit=_MOST_READ))
                self.made = adjacency(self.entities, self.relations)
            elif head != self.seen and self._update(store, scope, self.seen.change):
                self.made = adjacency(self.entities, self.relations)
            self.seen = head
            return self.made

    def _update(self, store: Store, scope: Scope, after: int) -> bool:
        changes = store.changes(scope, after=after)
        changed = [change.id for change in changes if change.tier == "graph"]
        if not changed:
            return False
        there = store.get(scope, changed)
        for gone in set(changed) - {record.id for record in there}:
            self.entities.pop(gone, None)
            self.relations.pop(gone, None)
        self._take(there)
        return True

    def _take(self, records: list[Record]) -> None:
        for record in records:
            if (found := entity(record)) is not None:
                self.entities[record.id] = found
            elif (edge := relation(record)) is not None:
                self.relations[record.id] = edge

    def __len__(self) -> int:
        return 1 + len(self.entities) + len(self.relations)


class Graphs:
    """The graphs in use, the least used dropped when there are too many. Threads may share it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, str], _Followed] = OrderedDict()

    def of(self, scope: Scope) -> Adjacency:
        """The owner's graph as the store is now."""
        key = (scope.workspace, scope.user)
        with self._lock:
            followed = self._kept.setdefault(key, _Followed())
            self._kept.move_to_end(key)
        before = followed.made
        made = followed.follow(self._store, scope)
        if made is not before:
            self._make_room()
        return made

    def _make_room(self) -> None:
        with self._lock:
            total = sum(map(len, self._kept.values()))
            while total > _MOST_KEPT and len(self._kept) > 1:
                _, dropped = self._kept.popitem(last=False)
                total -= len(dropped)
