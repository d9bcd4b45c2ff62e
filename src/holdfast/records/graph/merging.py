"""Merges by hand: listing them, making one, undoing one.

A merge is a record of its own and changes no other one. To undo it is to end it: both entities then
stand as if it had never been.
"""

from __future__ import annotations

from datetime import datetime
from itertools import count

from holdfast.errors import InvalidInput, NotFound
from holdfast.records.graph.adjacency import Adjacency
from holdfast.records.graph.follow import Graphs
from holdfast.records.graph.planned import Call, PlannedMerge, again, merge_id
from holdfast.records.graph.shown import merge as shown
from holdfast.store.base import Derived, Store
from holdfast.types import Merge, Record, Scope

_BY_HAND = "by hand"


class Merges:
    """The merges of a store."""

    def __init__(self, store: Store, graphs: Graphs) -> None:
        self._store = store
        self._graphs = graphs

    def listed(self, scope: Scope, *, undone: bool, limit: int) -> list[Merge]:
        """Merges of entities that the asker may see, newest first."""
        graph = self._graphs.of(scope)
        found = [
            merge
            for id, each in graph.merges.items()
            if (undone or each.span.is_open)
            and _sees(graph, scope, each.a, each.b)
            and (merge := shown(graph, id, each)) is not None
        ]
        return sorted(found, key=lambda each: (each.at, each.id), reverse=True)[:limit]

    def make(self, scope: Scope, a: str, b: str, now: datetime) -> Merge:
        """Take two entities for one, given by names, aliases or ids."""
        graph = self._graphs.of(scope)
        ids = (_named(graph, scope, a), _named(graph, scope, b))
        if graph.numbers[ids[0]] == graph.numbers[ids[1]]:
            if (known_id := _made(graph, ids)) is not None:  # The same again changes nothing.
                return self._one(scope, known_id)
            raise InvalidInput(f"{a!r} and {b!r} are one entity already", field="b")
        id = self._free(scope, graph, ids)
        known = self._store.get(scope, [id])
        made = PlannedMerge(
            ids=ids,
            names=(graph.records[ids[0]].name, graph.records[ids[1]].name),
            score=1.0,
            evidence=(_BY_HAND,),
            by="hand",
            origin="user",
        )
        call = Call(now, "user", scope.agent, heard=False)
        planned = made.record(id, call, known[0] if known else None)
        self._put(scope, planned.record, now)
        return self._one(scope, id)

    def undo(self, scope: Scope, id: str, now: datetime) -> Merge:
        """End a merge; one that is undone already stays as it is."""
        found = self._merge(scope, id)
        if found.valid_to is None and found.known_to is None:
            self._put(scope, again(found, valid_to=now), now)
        return self._one(scope, id)

    def _one(self, scope: Scope, id: str) -> Merge:
        graph = self._graphs.of(scope)
        found = graph.merges.get(id)
        merge = None if found is None else shown(graph, id, found)
        if found is None or merge is None or not _sees(graph, scope, found.a, found.b):
            raise NotFound(f"there is no merge {id!r} in this scope")
        return merge

    def _merge(self, scope: Scope, id: str) -> Record:
        self._one(scope, id)
        found = self._store.get(scope, [id])
        if not found:
            raise NotFound(f"there is no merge {id!r} in this scope")
        return found[0]

    def _free(self, scope: Scope, graph: Adjacency, ids: tuple[str, str]) -> str:
        """The id of a merge: the usual one, unless what has it was forgotten."""
        for round in count():
            id = merge_id(*ids, round)
            if id in graph.merges or not exists(self._store, scope, id):
                break
        return id

    def _put(self, scope: Scope, record: Derived, now: datetime) -> None:
        self._store.put(scope, [record], known_at=now, steps=[])


def exists(store: Store, scope: Scope, id: str) -> bool:
    """Whether there is a record with this id, forgotten or not."""
    try:
        store.history(scope, id)
    except NotFound:
        return False
    return True


def _sees(graph: Adjacency, scope: Scope, *ids: str) -> bool:
    """Whether the asker may know of these entities, each by itself."""
    if scope.agent is None:
        return True
    return all(
        each in graph.records and graph.records[each].span.agent in (None, scope.agent)
        for each in ids
    )


def _made(graph: Adjacency, ids: tuple[str, str]) -> str | None:
    """The merge by which these two, and no others, are one."""
    there = ((id, each) for id, each in graph.merges.items() if each.span.is_open)
    return next((id for id, each in there if {each.a, each.b} == {*ids}), None)


def _named(graph: Adjacency, scope: Scope, name: str) -> str:
    found = graph.named(name)
    if found is None or not _sees(graph, scope, found):
        raise NotFound(f"there is no entity {name!r} in this scope")
    return found
