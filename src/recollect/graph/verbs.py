"""The verbs of `memory.graph`: write, traverse, entities."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np

from recollect.errors import NotFound
from recollect.graph import check
from recollect.graph.adjacency import Adjacency, When, moment
from recollect.graph.follow import Graphs
from recollect.graph.plan import Plan, Planned
from recollect.graph.vocabulary import sentence
from recollect.graph.walk import Walk, path, walk
from recollect.store.base import Derived, Store
from recollect.types import Edge, GraphReceipt, Node, Scope, Subgraph
from recollect.write import validate
from recollect.write.worker import Worker

_MOST_DEPTH = 5
_MOST_NODES = 1_000
_MOST_LISTED = 10_000
#: Edges in an answer for each entity it may hold.
_EDGES_A_NODE = 20


class Graph:
    """The knowledge graph of a memory. Threads may share it."""

    def __init__(
        self, store: Store, graphs: Graphs, worker: Worker, *, now: Callable[[], datetime]
    ) -> None:
        self._store = store
        self._graphs = graphs
        self._worker = worker
        self._now = now
        # Two writers in one process must not both make what they both name.
        self._writing = threading.Lock()

    def write(
        self,
        entities: Sequence[Mapping[str, Any]] = (),
        relations: Sequence[Mapping[str, Any]] = (),
        *,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
        origin: str = "agent",
    ) -> GraphReceipt:
        """Store entities and relations between them; what is known already is reinforced.

        All or nothing. An end of a relation is a name, an alias or an id; one that nobody knows
        becomes an entity of the type concept. Writing the same again changes nothing.
        """
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        check.choice(origin, "origin", check.ORIGINS)
        warnings: list[str] = []
        things = check.entities(entities, warnings)
        claims = check.relations(relations, warnings)
        now = self._now()
        with self._writing:
            plan = Plan(
                self._graphs.of(scope),
                lambda ids: {record.id: record for record in self._store.get(scope, ids)},
                lambda each: self._exists(scope, each),
                now,
                origin,
                scope.agent,
            )
            given = plan.add_entities(things)
            edges = plan.add_relations(claims)
            planned = plan.records()
            self._put(scope, planned, now)
        self._worker.wake()
        created = sum(each.before is None for each in planned)
        return GraphReceipt(
            entities=tuple(given + [each for each in plan.entities if each not in set(given)]),
            edges=tuple(edges),
            created=created,
            reinforced=len(planned) - created,
            warnings=tuple(warnings),
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
    ) -> Subgraph:
        """What lies around an entity, given by its name, an alias or its id; nearest first.

        Empty for an unknown one. `limit` counts entities, the start among them. Types are ours or
        those that were given; entities of other types are not entered.
        """
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        name = check.name(start, "start", [])
        depth = validate.whole_number(depth, "depth", 1, _MOST_DEPTH)
        most = validate.whole_number(limit, "limit", 1, _MOST_NODES)
        along = check.types(relation_types, "relation_types")
        among = check.types(entity_types, "entity_types")
        check.choice(direction, "direction", check.DIRECTIONS)
        asked = None if as_of is None else validate.moment(as_of, "as_of")
        graph = self._graphs.of(scope)
        when = When(self._now(), asked, agent=graph.agent(scope.agent))
        number = graph.find(name)
        nodes = graph.entity_spans.open(when)
        if number is None or not nodes[number]:
            return Subgraph()
        edges = graph.edge_spans.open(when) & graph.edge_spans.begun(when)
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
        return _subgraph(graph, found, _EDGES_A_NODE * most)

    def entities(
        self,
        *,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
        type: str | None = None,
        limit: int = 100,
    ) -> list[Node]:
        """The entities of a user, those learned first first."""
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        most = validate.whole_number(limit, "limit", 1, _MOST_LISTED)
        among = check.types(type, "type")
        graph = self._graphs.of(scope)
        kept = graph.entity_spans.open(When(self._now(), agent=graph.agent(scope.agent)))
        if (typed := graph.typed(graph.entity_types, among)) is not None:
            kept &= typed
        return [_node(graph, number) for number in np.flatnonzero(kept)[:most].tolist()]

    def _put(self, scope: Scope, planned: Sequence[Planned], now: datetime) -> None:
        """Store what is this agent's own, and what it shares with others as nobody's own."""
        alone = Scope(scope.workspace, scope.user)
        own: list[Derived] = []
        shared: list[Derived] = []
        for each in planned:
            is_own = each.before is None or each.before.agent == scope.agent
            (own if is_own else shared).append(each.record)
        for whose, records in ((alone, shared), (scope, own)):
            if records:
                self._store.put(whose, records, known_at=now, steps=self._worker.steps)

    def _exists(self, scope: Scope, each: str) -> bool:
        try:
            self._store.history(scope, each)
        except NotFound:
            return False
        return True


def _subgraph(graph: Adjacency, found: Walk, most_edges: int) -> Subgraph:
    start, *others = found.nodes.tolist()
    return Subgraph(
        nodes=tuple(_node(graph, each, int(found.depths[each])) for each in (start, *others)),
        edges=tuple(_edge(graph, each) for each in found.edges[:most_edges].tolist()),
        paths=tuple(tuple(path(graph, found, each)) for each in others),
        truncated=found.truncated or len(found.edges) > most_edges,
    )


def _node(graph: Adjacency, number: int, depth: int = 0) -> Node:
    entity = graph.entities[number]
    return Node(
        id=graph.ids[number],
        name=entity.name,
        type=entity.type,
        subtype=entity.subtype,
        aliases=entity.aliases,
        summary=entity.summary,
        confidence=entity.confidence,
        origin=entity.origin,
        depth=depth,
    )


def _edge(graph: Adjacency, number: int) -> Edge:
    relation = graph.relations[number]
    ends = [graph.entities[int(end[number])].name for end in (graph.source, graph.target)]
    return Edge(
        id=graph.edge_ids[number],
        source=relation.source,
        type=relation.type,
        target=relation.target,
        original=relation.original,
        content=sentence(ends[0], relation.type, relation.original, ends[1]),
        confidence=relation.confidence,
        origin=relation.origin,
        valid_from=moment(relation.span.from_us),
        valid_to=moment(relation.span.until_us),
    )
