"""What callers see of a graph: nodes, edges, subgraphs, merges."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from holdfast.language.vocabulary import sentence
from holdfast.records.graph.adjacency import Adjacency
from holdfast.records.graph.elements import Merging, instant, moment, us
from holdfast.records.graph.joining import fullest
from holdfast.records.graph.strength import of_edge, of_entity
from holdfast.records.graph.walk import Walk, path
from holdfast.types import Edge, Merge, Node, Subgraph


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
        strength=round(of_entity(len(entity.sources), entity.seen_us, us(at), entity.strength), 6),
        sources=entity.sources,
    )


def edge(graph: Adjacency, number: int, at: datetime, also: Sequence[int] = ()) -> Edge:
    """An edge between entities as they are shown; `also` are others that say the same."""
    relation = graph.relations[number]
    several = [relation, *(graph.relations[each] for each in also)]
    source, target = int(graph.source[number]), int(graph.target[number])
    names = graph.entities[source].name, graph.entities[target].name
    strength = max(of_edge(each.seen_us, us(at), each.strength) for each in several)
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
