"""Walking over a graph, breadth first: nearest first, then what is surer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from holdfast.language.vocabulary import label
from holdfast.records.graph.adjacency import Adjacency, Ints

Mask = NDArray[np.bool_] | None


@dataclass(frozen=True, slots=True)
class Walk:
    """What was reached."""

    #: Numbers of entities, the starts first.
    nodes: Ints
    #: By number of an entity: steps from the nearest start, -1 where it was not reached; and the
    #: edge that led to it, -1 at a start.
    depths: NDArray[np.int8]
    parents: Ints
    #: Edges that were walked between those entities, nearest first.
    edges: Ints
    #: True when there was more.
    truncated: bool
    #: For an edge that stands for several that say the same: the others, the surest first.
    also: Mapping[int, Sequence[int]] = field(default_factory=dict)


def walk(
    graph: Adjacency,
    starts: Sequence[int],
    *,
    depth: int,
    most: int,
    edges: Mask = None,
    nodes: Mask = None,
    direction: str = "both",
) -> Walk:
    """All that lies within `depth` steps, at most `most` entities; masks say what may be used."""
    depths = np.full(len(graph.ids), -1, dtype=np.int8)
    parents = np.full(len(graph.ids), -1, dtype=np.int32)
    frontier = np.array(starts, dtype=np.int32)[:most]
    depths[frontier] = 0
    reached, walked = [frontier], []
    truncated = len(starts) > most
    for step in range(1, depth + 1):
        ways, ends = _out_of(graph, frontier, direction)
        kept = _kept(ways, edges) & _kept(ends, nodes)
        ways, ends = ways[kept], ends[kept]
        walked.append(ways)
        fresh = depths[ends] < 0
        ways, ends = _each_once(graph, ways[fresh], ends[fresh])
        room = most - sum(map(len, reached))
        truncated |= len(ends) > room
        frontier = ends[:room]
        depths[frontier] = step
        parents[frontier] = ways[:room]
        reached.append(frontier)
        if not len(walked[-1]):
            break
    used = np.concatenate(walked)
    used = used[_first_times(used, len(graph.edge_ids))]
    inside = (depths[graph.source[used]] >= 0) & (depths[graph.target[used]] >= 0)
    once, also = said_once(graph, used[inside])
    return Walk(np.concatenate(reached), depths, parents, once, truncated, also)


def said_once(graph: Adjacency, edges: Ints) -> tuple[Ints, dict[int, list[int]]]:
    """Of edges that say the same since their ends were joined the surest, and by it the others."""
    if graph.twins is None:
        return edges, {}
    groups: dict[int, list[int]] = {}
    for edge in edges[graph.twins[edges] >= 0].tolist():
        groups.setdefault(int(graph.twins[edge]), []).append(edge)
    also = {}
    for group in groups.values():
        shown, *others = sorted(group, key=lambda edge: -graph.confidence[edge])
        if others:
            also[shown] = others
    hidden = [edge for others in also.values() for edge in others]
    return edges[~np.isin(edges, hidden)], also


def path(graph: Adjacency, found: Walk, node: int) -> list[str]:
    """The shortest way to an entity: names, and between them the relations."""
    told: list[str] = []
    while (edge := int(found.parents[node])) >= 0:
        before = int(graph.source[edge] + graph.target[edge] - node)
        told[:0] = step(graph, edge, before)
        node = before
    return [graph.entities[node].name, *told]


def step(graph: Adjacency, edge: int, begin: int) -> list[str]:
    """An edge as a step of a path, from one of its ends."""
    forward = int(graph.source[edge]) == begin
    end = int(graph.target[edge] if forward else graph.source[edge])
    told = label(graph.relations[edge].type, graph.relations[edge].original)
    return [told if forward else f"← {told}", graph.entities[end].name]


def _out_of(graph: Adjacency, frontier: Ints, direction: str) -> tuple[Ints, Ints]:
    """The edges out of these entities, and where they lead."""
    begins = graph.first[frontier]
    counts = graph.first[frontier + 1] - begins
    skipped = np.cumsum(counts) - counts
    places = np.repeat(begins - skipped, counts) + np.arange(int(counts.sum()))
    ways, ends = graph.ways[places], graph.ends[places]
    if direction == "both":
        return ways, ends
    # A way leads along its edge where it ends at the edge's target.
    right = (graph.target if direction == "out" else graph.source)[ways] == ends
    return ways[right], ends[right]


def _kept(numbers: Ints, mask: Mask) -> NDArray[np.bool_]:
    return np.ones(len(numbers), dtype=np.bool_) if mask is None else mask[numbers]


def _each_once(graph: Adjacency, ways: Ints, ends: Ints) -> tuple[Ints, Ints]:
    """Each entity once, the surest first; of equals, who lies next to the nearer ones."""
    first = _first_times(ends, len(graph.ids))
    ways, ends = ways[first], ends[first]
    order = np.argsort(-graph.confidence[ways], kind="stable")
    return ways[order], ends[order]


def _first_times(numbers: Ints, size: int) -> NDArray[np.bool_]:
    """Where each number stands for the first time; faster than sorting them."""
    places = np.arange(len(numbers), dtype=np.int32)
    seen = np.empty(size, dtype=np.int32)
    seen[numbers[::-1]] = places[::-1]
    first: NDArray[np.bool_] = seen[numbers] == places
    return first
