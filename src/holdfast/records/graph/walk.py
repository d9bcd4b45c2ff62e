"""Walking over a graph, breadth first: nearest first, then what is surer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.language.names import spoken_of
from holdfast.language.vocabulary import label, sentence
from holdfast.records.graph.adjacency import (
    Adjacency,
    Ints,
    Merging,
    When,
    fullest,
    instant,
    moment,
    of_edge,
    of_entity,
    us,
)
from holdfast.types import Edge, Merge, Node, Subgraph

# ----------------------------------------------------------------------
# What callers see of a graph: nodes, edges, subgraphs, merges.
# ----------------------------------------------------------------------


def subgraph(graph: Adjacency, found: Walk, most_edges: int, at: datetime) -> Subgraph:
    """What a walk found; strengths are those of a time."""
    start, *others = found.nodes.tolist()
    depths = found.depths
    return Subgraph(
        nodes=tuple(node(graph, each, at, int(depths[each])) for each in (start, *others)),
        edges=tuple(
            edge(graph, each, at, found.also.get(each, ()))
            for each in found.edges[:most_edges].tolist()
        ),
        paths=tuple(tuple(path(graph, found, each)) for each in others),
        truncated=found.truncated or len(found.edges) > most_edges,
    )


def node(graph: Adjacency, number: int, at: datetime, depth: int = 0) -> Node:
    """An entity, joined or not."""
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
        importance=entity.importance,
        strength=round(
            of_entity(
                len(entity.sources), entity.seen_us, us(at), entity.strength, decay=graph.decay
            ),
            6,
        ),
        sources=entity.sources,
    )


def entities_in(
    graph: Adjacency, text: str, *, agent: str | None, now: datetime, limit: int
) -> list[Node]:
    """The entities that a text names, as whole words, then those learned last."""
    kept = graph.entity_spans.open(When(now, agent=graph.agent(agent)))
    named = [each for each in spoken_of(text, graph.bearers) if kept[each]]
    latest = np.flatnonzero(kept)[::-1][:limit].tolist()
    found = list(dict.fromkeys(named + latest))[:limit]
    return [node(graph, each, now) for each in found]


def edge(graph: Adjacency, number: int, at: datetime, also: Sequence[int] = ()) -> Edge:
    """An edge between entities as they are shown; `also` are others that say the same."""
    relation = graph.relations[number]
    several = [relation, *(graph.relations[each] for each in also)]
    source, target = int(graph.source[number]), int(graph.target[number])
    names = graph.entities[source].name, graph.entities[target].name
    strength = max(
        of_edge(each.seen_us, us(at), each.strength, decay=graph.decay) for each in several
    )
    return Edge(
        id=graph.edge_ids[number],
        source=graph.ids[source],
        type=relation.type,
        target=graph.ids[target],
        original=relation.original,
        content=sentence(names[0], relation.type, relation.original, names[1]),
        confidence=relation.confidence,
        origin=relation.origin,
        valid_from=moment(relation.span.from_us),
        valid_to=moment(relation.span.until_us),
        importance=max(each.importance for each in several),
        strength=round(strength, 6),
        sources=tuple(dict.fromkeys(turn for each in several for turn in each.sources)),
    )


def merge(graph: Adjacency, id: str, merging: Merging) -> Merge | None:
    """A merge; None when one of its entities is not there any more."""
    ends = [(each, graph.records[each]) for each in (merging.a, merging.b) if each in graph.records]
    if len(ends) < 2:
        return None
    into = fullest(ends)
    (merged,) = (each for each, _ in ends if each != into)
    return Merge(
        id=id,
        into=into,
        into_name=graph.records[into].name,
        merged=merged,
        merged_name=graph.records[merged].name,
        score=merging.score,
        evidence=merging.evidence,
        at=instant(merging.span.from_us),
        undone_at=moment(min(merging.span.until_us, merging.span.known_until_us)),
    )


# ----------------------------------------------------------------------
# A whole graph at a time: what is worth looking at first, and its edges one by one.
# ----------------------------------------------------------------------


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


def to_subgraph(graph: Adjacency, found: Overview, at: datetime, *, most_edges: int) -> Subgraph:
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


def entities_begun(graph: Adjacency, when: When) -> NDArray[np.bool_]:
    """The entities that were there at `as_of`: they had begun, or an edge of theirs held."""
    kept = graph.entity_spans.begun(when)
    if when.as_of is not None:
        held = graph.held(when)
        kept[graph.source[held]] = kept[graph.target[held]] = True
    return kept


def _numbers(mask: NDArray[np.bool_]) -> Ints:
    return np.flatnonzero(mask).astype(np.int32)


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
