"""A whole graph at a time: what is worth looking at first, and its edges one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.records.graph.adjacency import Adjacency, Ints, When
from holdfast.records.graph.shown import edge, node
from holdfast.records.graph.walk import Mask, said_once
from holdfast.types import Edge, Subgraph


class Overview(NamedTuple):
    """Numbers of entities, the first first, and of the edges between them."""

    nodes: Ints
    edges: Ints
    #: As of a walk: what else says the same as an edge, and whether there were more entities.
    also: Mapping[int, Sequence[int]]
    truncated: bool


def overview(graph: Adjacency, when: When, *, most: int, nodes: Mask = None) -> Overview:
    """At most `most` entities by (1 + edges) x importance, then by name; and all between them.

    One is added so that entities without edges have an order too. An edge to itself is shown but
    does not count. The mask says which entities may be shown.
    """
    kept = graph.entity_spans.open(when)
    if nodes is not None:
        kept &= nodes
    # What leads nowhere since its ends were joined is no way out of any entity.
    edges = np.zeros(len(graph.edge_ids), dtype=np.bool_)
    edges[graph.ways] = True
    edges &= graph.held(when) & kept[graph.source] & kept[graph.target]
    between, _ = said_once(graph, _numbers(edges & (graph.source != graph.target)))
    ends = np.concatenate([graph.source[between], graph.target[between]])
    degrees = np.bincount(ends, minlength=len(graph.ids))

    def order(number: int) -> tuple[float, str, int]:
        entity = graph.entities[number]
        return -(1 + degrees[number]) * entity.importance, entity.name, number

    found = sorted(np.flatnonzero(kept).tolist(), key=order)
    shown = np.array(found[:most], dtype=np.int32)
    inside = np.zeros(len(graph.ids), dtype=np.bool_)
    inside[shown] = True
    once, also = said_once(graph, _numbers(edges & inside[graph.source] & inside[graph.target]))
    return Overview(shown, once, also, len(found) > most)


def told(graph: Adjacency, found: Overview, at: datetime, *, most_edges: int) -> Subgraph:
    """What callers see of it; strengths are those of a time. There is no start, so no paths."""
    return Subgraph(
        nodes=tuple(node(graph, each, at) for each in found.nodes.tolist()),
        edges=tuple(
            edge(graph, each, at, found.also.get(each, ()))
            for each in found.edges[:most_edges].tolist()
        ),
        truncated=found.truncated or len(found.edges) > most_edges,
    )


def edges_of(
    graph: Adjacency, when: When, among: frozenset[str] | None, *, most: int
) -> tuple[Edge, ...]:
    """The edges that hold, of some types or all, those learned first first."""
    held = graph.held(when)
    if (typed := graph.typed(graph.edge_types, among)) is not None:
        held &= typed
    once, also = said_once(graph, _numbers(held))
    at = moment_of(when)
    return tuple(edge(graph, each, at, also.get(each, ())) for each in once[:most].tolist())


def moment_of(when: When) -> datetime:
    """The time whose strengths are shown."""
    return when.as_of or when.known_at or when.now


def begun(graph: Adjacency, when: When) -> NDArray[np.bool_]:
    """The entities that were there at `as_of`: they had begun, or an edge of theirs held."""
    kept = graph.entity_spans.begun(when)
    if when.as_of is not None:
        held = graph.held(when)
        kept[graph.source[held]] = kept[graph.target[held]] = True
    return kept


def _numbers(mask: NDArray[np.bool_]) -> Ints:
    return np.flatnonzero(mask).astype(np.int32)
