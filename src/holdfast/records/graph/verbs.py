"""The verbs of `memory.graph`: write, traverse, entities, and merges made and undone by hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from itertools import count
from typing import Any

import numpy as np

from holdfast.border import validate
from holdfast.border.validate import ORIGINS
from holdfast.errors import InvalidInput, NotFound
from holdfast.language.names import same
from holdfast.language.vocabulary import key
from holdfast.records.graph import check
from holdfast.records.graph.adjacency import Adjacency, When
from holdfast.records.graph.follow import Graphs
from holdfast.records.graph.plan import GraphPlan, PlannedMerge, WriteCall, merge_id, record_again
from holdfast.records.graph.walk import (
    edges_of,
    entities_begun,
    moment_of,
    node,
    overview,
    subgraph,
    to_subgraph,
    walk,
)
from holdfast.records.graph.walk import merge as shown
from holdfast.records.parts import Background
from holdfast.records.versions import attempts, exists, once
from holdfast.store.protocols import Derived, Store
from holdfast.types import Edge, GraphReceipt, Merge, Node, Record, Scope, Subgraph

# ----------------------------------------------------------------------
# What `graph.write` answers: ids, and how much of it is new.
# ----------------------------------------------------------------------


def receipt(
    plan: GraphPlan,
    given: Sequence[str | None],
    edges: Sequence[str | None],
    warnings: Sequence[str],
) -> GraphReceipt:
    """The receipt of a call. Entities that are one count as one, as do edges that say the same."""
    graph = plan.graph
    named = {*plan.entities, *(each for merge in plan.merges.values() for each in merge.ids)}
    known = {plan.shown_id(each): graph.numbers[each] for each in named if each in graph.numbers}
    things = {plan.shown_id(each) for each in plan.entities}
    claims: dict[tuple[str, str, str], bool] = {}
    for edge in plan.relations.values():
        ends = plan.shown_id(edge.source), plan.shown_id(edge.target)
        said = key(edge.type.original or edge.type.type)
        is_known = edge.before is not None or _has_edge(graph, ends, said, known)
        claims[ends[0], said, ends[1]] = is_known
    created = len(things - known.keys()) + sum(not each for each in claims.values())
    first = [plan.shown_id(each) for each in given if each is not None]
    return GraphReceipt(
        entities=tuple(first + [each for each in _plan_ids(plan) if each not in set(first)]),
        edges=tuple(each for each in edges if each is not None),
        created=created,
        reinforced=len(things) + len(claims) - created,
        warnings=tuple(warnings),
    )


def receipt_text(told: GraphReceipt) -> str:
    """A receipt as a text, to be given again."""
    return json.dumps(asdict(told))


def parse_receipt(text: str) -> GraphReceipt:
    """The receipt that was noted."""
    fields = json.loads(text)
    for name in ("entities", "edges", "warnings"):
        fields[name] = tuple(fields[name])
    return GraphReceipt(**fields)


def _plan_ids(plan: GraphPlan) -> list[str]:
    return list(dict.fromkeys(map(plan.shown_id, plan.entities)))


def _has_edge(graph: Adjacency, ends: tuple[str, str], said: str, known: Mapping[str, int]) -> bool:
    """Whether an edge was there that says the same between the same two, as they are joined now."""
    source, target = (known.get(each, graph.numbers.get(each, -1)) for each in ends)
    if source < 0 or target < 0:
        return False
    out = slice(graph.first[source], graph.first[source + 1])
    for edge in graph.ways[out][graph.ends[out] == target].tolist():
        type, original = graph.relations[edge].type, graph.relations[edge].original
        is_same = graph.source[edge] == source and key(original or type) == said
        if is_same and graph.is_open(edge):
            return True
    return False


# ----------------------------------------------------------------------
# Merges by hand: listing them, making one, undoing one.
#
# A merge is a record of its own and changes no other one. To undo it is to end it: both entities
# then stand as if it had never been.
# ----------------------------------------------------------------------

_BY_HAND = "by hand"


class Merges:
    """The merges of a store."""

    def __init__(self, store: Store, graphs: Graphs) -> None:
        self._store = store
        self._graphs = graphs

    def list_merges(self, scope: Scope, *, undone: bool, limit: int) -> list[Merge]:
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
        ids = (_entity_named(graph, scope, a), _entity_named(graph, scope, b))
        if graph.numbers[ids[0]] == graph.numbers[ids[1]]:
            if (known_id := _merge_of(graph, ids)) is not None:  # The same again changes nothing.
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
        call = WriteCall(now, "user", scope.agent, heard=False)
        planned = made.record(id, call, known[0] if known else None)
        self._put(scope, planned.record, now)
        return self._one(scope, id)

    def undo(self, scope: Scope, id: str, now: datetime) -> Merge:
        """End a merge; one that is undone already stays as it is."""
        found = self._merge(scope, id)
        if found.valid_to is None and found.known_to is None:
            self._put(scope, record_again(found, valid_to=now), now)
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


def _sees(graph: Adjacency, scope: Scope, *ids: str) -> bool:
    """Whether the asker may know of these entities, each by itself."""
    if scope.agent is None:
        return True
    return all(
        each in graph.records and graph.records[each].span.agent in (None, scope.agent)
        for each in ids
    )


def _merge_of(graph: Adjacency, ids: tuple[str, str]) -> str | None:
    """The merge by which these two, and no others, are one."""
    there = ((id, each) for id, each in graph.merges.items() if each.span.is_open)
    return next((id for id, each in there if {each.a, each.b} == {*ids}), None)


def _entity_named(graph: Adjacency, scope: Scope, name: str) -> str:
    found = graph.id_named(name)
    if found is None or not _sees(graph, scope, found):
        raise NotFound(f"there is no entity {name!r} in this scope")
    return found


_MOST_DEPTH = 5
_MOST_NODES = 1_000
#: Of an overview: as many as the window draws.
_MOST_SHOWN = 5_000
_MOST_LISTED = 10_000
#: Edges in an answer for each entity it may hold.
_EDGES_A_NODE = 20


class Graph:
    """The knowledge graph of a memory. Threads may share it."""

    def __init__(
        self, store: Store, graphs: Graphs, worker: Background, *, now: Callable[[], datetime]
    ) -> None:
        self._store = store
        self._graphs = graphs
        self._worker = worker
        self._now = now
        self._merges = Merges(store, graphs)

    def write(
        self,
        entities: Sequence[Mapping[str, Any]] = (),
        relations: Sequence[Mapping[str, Any]] = (),
        *,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
        origin: str = "agent",
        key: str | None = None,
    ) -> GraphReceipt:
        """Store entities and relations between them; what is known already is reinforced.

        All or nothing. An end of a relation is a name, an alias or an id; one that nobody knows
        becomes an entity of the type concept. A name that nobody bears yet may mean somebody known
        ("Bob" is Bob Smith): then both are one entity, until `unmerge`. Writing the same again
        confirms it; under one `key` it changes nothing, and the receipt is that of the first time.
        """
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        check.choice(origin, "origin", ORIGINS)
        warnings: list[str] = []
        things = check.entities(entities, warnings)
        claims = check.relations(relations, warnings)
        with self._graphs.writing:
            for since in attempts(self._store, scope):
                plan = self._plan(scope, origin)
                given, edges = plan.add_entities(things), plan.add_relations(claims)
                records = [each.record for each in plan.records()]
                told = receipt(plan, given, edges, warnings)
                with once(
                    self._store, scope, key, "graph.write", note=receipt_text(told), at=plan.now,
                    entities=entities, relations=relations, origin=origin,
                ) as before:  # fmt: skip
                    if before is not None:
                        return parse_receipt(before)
                    if not records or self._store.put(
                        scope, records, known_at=plan.now, steps=self._worker.steps, since=since
                    ):
                        break
        self._worker.wake()
        return told

    def _plan(self, scope: Scope, origin: str) -> GraphPlan:
        now = self._now()
        return GraphPlan(
            self._graphs.of(scope),
            lambda ids: self._read(scope, ids),
            lambda each: now if exists(self._store, scope, each) else None,
            now,
            origin,
            scope.agent,
            resolver=lambda: self._graphs.resolver(scope),
            own=same(check.own_name(scope.user)),
        )

    def traverse(  # noqa: PLR0913 (the public contract)
        self,
        start: str,
        *,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
        depth: int = 2,
        relation_types: Collection[str] | None = None,
        entity_types: Collection[str] | None = None,
        direction: str = "both",
        limit: int = 50,
        as_of: datetime | str | None = None,
        known_at: datetime | str | None = None,
        faded: bool = False,
    ) -> Subgraph:
        """What lies around an entity, given by its name, an alias or its id; nearest first.

        Empty for an unknown one. `limit` counts entities, the start among them. Types are ours or
        those that were given; entities of other types are not entered. Edges that nobody has seen
        for some ten months have faded and are walked only if wanted. `as_of`: only what held then;
        `known_at`: only what we knew then, so an end that was learned later was none.
        """
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        name = check.name(start, "start", [])
        depth = validate.whole_number(depth, "depth", 1, _MOST_DEPTH)
        most = validate.whole_number(limit, "limit", 1, _MOST_NODES)
        along = check.types(relation_types, "relation_types")
        among = check.types(entity_types, "entity_types")
        check.choice(direction, "direction", check.DIRECTIONS)
        graph = self._graphs.of(scope)
        when = self._when(graph, scope, as_of, known_at, faded=faded)
        number = graph.find(name)
        nodes = graph.entity_spans.open(when)
        if number is None or not nodes[number]:
            return Subgraph()
        edges = graph.held(when)
        if (typed := graph.typed(graph.edge_types, along)) is not None:
            edges &= typed
        if (typed := graph.typed(graph.entity_types, among)) is not None:
            nodes &= typed
        nodes[number] = True
        found = walk(
            graph, [number], depth=depth, most=most, edges=edges, nodes=nodes, direction=direction
        )
        if not len(found.edges) and not graph.entity_spans.begun(when)[number]:
            return Subgraph()
        return self._own(scope, subgraph(graph, found, _EDGES_A_NODE * most, moment_of(when)))

    def entities(
        self,
        *,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
        type: str | None = None,
        limit: int = 100,
        as_of: datetime | str | None = None,
        known_at: datetime | str | None = None,
        faded: bool = False,
    ) -> list[Node]:
        """The entities of a user, those learned first first; the times as for `traverse`, and those
        that faded only if wanted."""
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        most = validate.whole_number(limit, "limit", 1, _MOST_LISTED)
        among = check.types(type, "type")
        graph = self._graphs.of(scope)
        when = self._when(graph, scope, as_of, known_at, faded=faded)
        kept = graph.entity_spans.open(when) & entities_begun(graph, when)
        if (typed := graph.typed(graph.entity_types, among)) is not None:
            kept &= typed
        numbers = np.flatnonzero(kept)[:most].tolist()
        nodes = tuple(node(graph, number, moment_of(when)) for number in numbers)
        return list(self._own(scope, Subgraph(nodes)).nodes)

    def edges(
        self,
        *,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
        type: str | None = None,
        limit: int = 100,
        as_of: datetime | str | None = None,
        known_at: datetime | str | None = None,
        faded: bool = False,
    ) -> list[Edge]:
        """The relations of a user, those learned first first; the times as for `traverse`, and
        those that faded only if wanted."""
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        most = validate.whole_number(limit, "limit", 1, _MOST_LISTED)
        graph = self._graphs.of(scope)
        when = self._when(graph, scope, as_of, known_at, faded=faded)
        found = edges_of(graph, when, check.types(type, "type"), most=most)
        return list(self._own(scope, Subgraph(edges=found)).edges)

    def overview(
        self,
        *,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
        type: str | None = None,
        limit: int = 50,
        as_of: datetime | str | None = None,
        known_at: datetime | str | None = None,
        faded: bool = False,
    ) -> Subgraph:
        """The most connected and most important entities, and all edges between them; the times as
        for `traverse`, and what faded only if wanted."""
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        most = validate.whole_number(limit, "limit", 1, _MOST_SHOWN)
        among = check.types(type, "type")
        graph = self._graphs.of(scope)
        when = self._when(graph, scope, as_of, known_at, faded=faded)
        kept = entities_begun(graph, when)
        if (typed := graph.typed(graph.entity_types, among)) is not None:
            kept &= typed
        found = overview(graph, when, most=most, nodes=kept)
        return self._own(
            scope, to_subgraph(graph, found, moment_of(when), most_edges=_EDGES_A_NODE * most)
        )

    def merges(
        self,
        *,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
        undone: bool = False,
        limit: int = 100,
    ) -> list[Merge]:
        """Which names were taken for one entity and why, newest first; also those undone since,
        if they are wanted."""
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        most = validate.whole_number(limit, "limit", 1, _MOST_LISTED)
        return self._merges.list_merges(scope, undone=undone, limit=most)

    def merge(
        self,
        a: str,
        b: str,
        *,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
    ) -> Merge:
        """Take two entities, given by names, aliases or ids, for one."""
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        names = check.name(a, "a", []), check.name(b, "b", [])
        with self._graphs.writing:
            return self._merges.make(scope, *names, self._now())

    def unmerge(
        self,
        merge_id: str,
        *,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
    ) -> Merge:
        """Undo a merge: both entities stand as before, and likeness does not merge them again.

        Undoing one twice changes nothing. Two entities that other merges still join stay joined.
        """
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        id = validate.word(merge_id, "merge_id")
        with self._graphs.writing:
            return self._merges.undo(scope, id, self._now())

    def _when(
        self,
        graph: Adjacency,
        scope: Scope,
        as_of: datetime | str | None,
        known_at: datetime | str | None,
        *,
        faded: bool = False,
    ) -> When:
        """The times that a caller asks about."""
        return When(
            self._now(),
            None if as_of is None else validate.moment(as_of, "as_of"),
            None if known_at is None else validate.moment(known_at, "known_at"),
            agent=graph.agent(scope.agent),
            faded=faded,
        )

    def _own(self, scope: Scope, found: Subgraph) -> Subgraph:
        """What was found, with the turns alone that the asker may see: what several agents have
        told is nobody's own, but the turns of each are its own."""
        if scope.agent is None:
            return found
        told = [each.sources for each in found.nodes] + [each.sources for each in found.edges]
        turns = self._store.events(scope, sorted({turn for sources in told for turn in sources}))
        seen = {turn.id for turn in turns if turn.agent in (None, scope.agent)}
        return replace(
            found,
            nodes=tuple(replace(each, sources=_among(each.sources, seen)) for each in found.nodes),
            edges=tuple(replace(each, sources=_among(each.sources, seen)) for each in found.edges),
        )

    def _read(self, scope: Scope, ids: Sequence[str]) -> dict[str, Record]:
        return {record.id: record for record in self._store.get(scope, ids)}


def _among(sources: Sequence[str], seen: Container[str]) -> tuple[str, ...]:
    return tuple(each for each in sources if each in seen)
