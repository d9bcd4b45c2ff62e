"""The graph as a source of recall: what is reached from the entities that a question names.

Activation starts at those entities and spreads along the edges, as a walk that follows an edge by
its confidence and returns to the start half of the time (personalised PageRank, Haveliwala 2002),
over what lies within three steps. An edge counts by what flows over it, an entity by what stays
with it. No words need to be shared: "Who leads Ann's team?" reaches "The Falcons are led by Zoe".
What was only heard is no document itself; it lends what it has to the turns it was heard in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.index.resident import View
from holdfast.language.names import spoken_of
from holdfast.recall.pipeline import Ranked
from holdfast.recall.query import Query
from holdfast.records.graph.adjacency import Adjacency, When
from holdfast.records.graph.walk import Walk, path, step, walk

_STEPS = 3
_MOST_ENTITIES = 1_000
_MOST_EDGES = 5_000
#: The walk goes on with this chance, at most so often, until nothing moves by more than this. These
#: and the bounds below are by hand, not measured.
_DAMPING = 0.5
_ROUNDS = 20
_STILL = 1e-6
#: Entities and edges that lend a score, the share of the best activation that they need for it, and
#: the documents that get one.
_MOST_LENDERS = 200
_LEAST = 1e-3
_MOST_DOCS = 5_000
#: Of those, how many are named for an owner who is not in memory.
_MOST_REACHED = 300
#: What a turn that a relation was heard in gets of what a written relation gets: on LoCoMo and
#: BEAM-100K (docs/decisions/0010).
_HEARD = 0.12
#: An entity that more turns name tells nothing of each (docs/decisions/0010).
_TELLING = 20
#: What an entity may count at most, as a share of the best edge; by hand, not measured.
_ALONE = 0.25
#: An edge that nobody is sure of still leads somewhere.
_LEAST_CONFIDENCE = 0.05

Floats = NDArray[np.float64]


class Lender(NamedTuple):
    """What speaks for a document: an edge, or where there is none an entity, by their numbers."""

    edge: int
    node: int


@dataclass(frozen=True, slots=True)
class Reached:
    """What the graph says of every document, and how each was reached."""

    scores: NDArray[np.float32]
    lenders: Mapping[int, Lender]
    graph: Adjacency
    walk: Walk

    def path(self, doc: int) -> list[str] | None:
        """The way to a document; None where none leads."""
        lender = self.lenders.get(doc)
        if lender is None:
            return None
        if lender.edge < 0:
            return path(self.graph, self.walk, lender.node)
        return _way(self.graph, self.walk, lender.edge)


def without_loose(view: View, graph: Adjacency) -> View:
    """The view without relations that have lost an end: what is said of a forgotten entity is
    forgotten with it, and comes back with it."""
    numbers = (view.numbers.get(each, len(view)) for each in graph.loose)
    loose = [number for number in numbers if number < len(view)]
    if not loose:
        return view
    alive = view.alive.copy()
    alive[loose] = False
    return replace(view, alive=alive, has_dead=True, kept={})


def reach(view: View, query: Query, graph: Adjacency) -> Reached | None:
    """The documents that are reached from the question's entities; None when it names none."""
    walked = _walked(query, graph)
    return None if walked is None else _to_scores(view, graph, walked)


def reached_ids(query: Query, graph: Adjacency) -> set[str]:
    """The same, before there is a view to find them in: their ids."""
    walked = _walked(query, graph)
    ids = set[str]()
    for _, _, own, turns in () if walked is None else _lent(graph, walked):
        ids.update(own, turns)
        if len(ids) >= _MOST_REACHED:
            break
    return ids


class _Walked(NamedTuple):
    """Where the question's entities lead: a walk, its edges, and how active each entity and edge
    is."""

    walk: Walk
    edges: NDArray[np.int32]
    activation: Floats


def _walked(query: Query, graph: Adjacency) -> _Walked | None:
    when = When(query.now, query.as_of, query.known_at, graph.agent(query.scope.agent))
    nodes = graph.entity_spans.open(when)
    starts = [each for each in spoken_of(query.text, graph.bearers) if nodes[each]]
    if not starts:
        return None
    found = walk(
        graph, starts, depth=_STEPS, most=_MOST_ENTITIES, edges=graph.held(when), nodes=nodes
    )
    used = found.edges[:_MOST_EDGES]
    stays, flows = spread(graph, found, used)
    if len(flows):  # An entity by itself tells less than what is said of it.
        stays = np.minimum(stays, _ALONE * flows.max())
    return _Walked(found, used, np.concatenate([stays, flows]))


def with_paths(ranked: Sequence[Ranked], found: Reached | None) -> list[Ranked]:
    """The same documents; `why` of those that the graph speaks for tells how they were reached."""
    if found is None:
        return list(ranked)
    return [
        replace(each, why={**each.why, "graph": {**each.why.get("graph", {}), **told}})
        if (told := _why(each.doc, found))
        else each
        for each in ranked
    ]


def _why(doc: int, found: Reached) -> dict[str, object]:
    way = found.path(doc)
    return {} if way is None else {"path": way, "score": round(float(found.scores[doc]), 4)}


def spread(graph: Adjacency, found: Walk, used: NDArray[np.int32]) -> tuple[Floats, Floats]:
    """What stays with each entity of a walk, and what flows over each of its edges."""
    place = np.full(len(graph.ids), -1, dtype=np.int32)
    place[found.nodes] = np.arange(len(found.nodes), dtype=np.int32)
    source, target = place[graph.source[used]], place[graph.target[used]]
    weights = np.maximum(graph.confidence[used].astype(np.float64), _LEAST_CONFIDENCE)
    size = len(found.nodes)
    degree = np.bincount(source, weights, size) + np.bincount(target, weights, size)
    degree[degree == 0] = 1.0
    begin = (found.depths[found.nodes] == 0).astype(np.float64)
    begin /= begin.sum()
    stays = begin
    for _ in range(_ROUNDS):
        out = stays / degree
        come = np.bincount(target, weights * out[source], size)
        come += np.bincount(source, weights * out[target], size)
        before, stays = stays, (1.0 - _DAMPING) * begin + _DAMPING * come
        if np.abs(stays - before).max() < _STILL:
            break
    out = stays / degree
    return stays, weights * (out[source] + out[target])


def _to_scores(view: View, graph: Adjacency, walked: _Walked) -> Reached:
    """Scores and paths by document. A record has the root of its activation, which falls by half
    with every step: what is two steps away shall still be heard beside words and meaning. A turn
    that an edge was heard in has a share of the edge's, without the root: it speaks for itself."""
    size, numbers = len(view), view.numbers
    scores: dict[int, float] = {}
    lenders: dict[int, Lender] = {}
    for lender, share, own, turns in _lent(graph, walked):
        if len(scores) >= _MOST_DOCS:
            break
        for ids, lent in ((own, share**0.5), (turns, _HEARD * share)):
            for id in ids:
                doc = numbers.get(id, size)
                if doc < size and lent > scores.get(doc, 0.0):
                    scores[doc] = lent
                    lenders[doc] = lender
    lent_to = np.zeros(size, dtype=np.float32)
    lent_to[list(scores)] = list(scores.values())
    return Reached(lent_to, lenders, graph, walked.walk)


def _lent(
    graph: Adjacency, walked: _Walked
) -> Iterator[tuple[Lender, float, Sequence[str], Sequence[str]]]:
    """What lends a score, the most active first: its share of the best activation, its own records
    and the turns that it speaks for."""
    found, used, activation = walked
    count = len(found.nodes)
    top = float(activation.max(initial=0.0)) or 1.0
    for each in np.argsort(-activation, kind="stable")[:_MOST_LENDERS].tolist():
        share = float(activation[each]) / top
        if share < _LEAST:
            break
        if each >= count:
            lender = Lender(int(used[each - count]), -1)
            yield lender, share, *_of_edge(graph, found, lender.edge)
        else:
            lender = Lender(-1, int(found.nodes[each]))
            yield lender, share, *_of_entity(graph, found, lender.node)


def _of_entity(graph: Adjacency, found: Walk, number: int) -> tuple[Sequence[str], Sequence[str]]:
    """An entity's own records, and the turns that name it. Who is named by the question itself
    needs no graph to be found, and a name that is everywhere tells nothing."""
    turns = graph.entities[number].sources
    tells = found.depths[number] > 0 and len(turns) <= _TELLING
    return graph.members.get(number, (graph.ids[number],)), turns if tells else ()


def _of_edge(graph: Adjacency, found: Walk, number: int) -> tuple[Sequence[str], Sequence[str]]:
    """The records of an edge and of those that say what it says, and the turns they come from."""
    same = (number, *found.also.get(number, ()))
    turns = [id for each in same for id in graph.relations[each].sources]
    return [graph.edge_ids[each] for each in same], turns


def _way(graph: Adjacency, found: Walk, edge: int) -> list[str]:
    """The path over an edge, from its nearer end."""
    ends = (int(graph.source[edge]), int(graph.target[edge]))
    near = min(ends, key=lambda end: int(found.depths[end]))
    return path(graph, found, near) + step(graph, edge, near)
