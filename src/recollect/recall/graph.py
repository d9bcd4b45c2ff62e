"""The graph as a source of recall: what is reached from the entities that a question names.

Activation starts at those entities and spreads along the edges, as a walk that follows an edge by
its confidence and returns to the start half of the time (personalised PageRank, Haveliwala 2002),
over what lies within three steps. An edge counts by what flows over it, an entity by what stays
with it. No words need to be shared: "Who leads Ann's team?" reaches "The Falcons are led by Zoe".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from recollect.graph.adjacency import Adjacency, When
from recollect.graph.names import spoken_of
from recollect.graph.walk import Walk, path, step, walk
from recollect.index.resident import View
from recollect.recall.pipeline import Ranked
from recollect.recall.query import Query

_STEPS = 3
_MOST_ENTITIES = 1_000
_MOST_EDGES = 5_000
#: The walk goes on with this chance, at most so often, until nothing moves by more than this.
_DAMPING = 0.5
_ROUNDS = 20
_STILL = 1e-6
#: Documents that get a score, and the share of the best activation that they need for it.
_MOST_DOCS = 200
_LEAST = 1e-3
#: What an entity may count at most, as a share of the best edge.
_ALONE = 0.25
#: An edge that nobody is sure of still leads somewhere.
_LEAST_CONFIDENCE = 0.05

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Reached:
    """What the graph says of every document, and how each was reached."""

    scores: NDArray[np.float32]
    paths: Mapping[int, list[str]]


def has_graph(view: View) -> bool:
    """Whether any document is of the graph: without one no graph is looked at."""
    code = view.codes.get("graph")
    return view.has_derived and code is not None and bool((view.tiers == code).any())


def whole(view: View, graph: Adjacency) -> View:
    """The view without relations that have lost an end: what is said of a forgotten entity is
    forgotten with it, and comes back with it."""
    docs = _docs(view, graph) if graph.loose else {}
    loose = [docs[each] for each in graph.loose if docs.get(each, len(view)) < len(view)]
    if not loose:
        return view
    alive = view.alive.copy()
    alive[loose] = False
    return replace(view, alive=alive, has_dead=True, kept={})


def reached(view: View, query: Query, graph: Adjacency) -> Reached | None:
    """The documents that are reached from the question's entities; None when it names none."""
    when = When(query.now, query.as_of, query.known_at, graph.agent(query.scope.agent))
    nodes = graph.entity_spans.open(when)
    starts = [each for each in spoken_of(query.text, graph.bearers) if nodes[each]]
    if not starts:
        return None
    edges = graph.edge_spans.open(when) & graph.edge_spans.begun(when)
    found = walk(graph, starts, depth=_STEPS, most=_MOST_ENTITIES, edges=edges, nodes=nodes)
    used = found.edges[:_MOST_EDGES]
    stays, flows = spread(graph, found, used)
    if len(flows):  # An entity by itself tells less than what is said of it.
        stays = np.minimum(stays, _ALONE * flows.max())
    ids = [graph.ids[each] for each in found.nodes.tolist()]
    ids += [graph.edge_ids[each] for each in used.tolist()]
    return _told(view, graph, found, used, (ids, np.concatenate([stays, flows])))


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
    if doc not in found.paths:
        return {}
    return {"path": found.paths[doc], "score": round(float(found.scores[doc]), 4)}


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


def _told(
    view: View,
    graph: Adjacency,
    found: Walk,
    used: NDArray[np.int32],
    activation: tuple[list[str], Floats],
) -> Reached:
    """Scores and paths by document. The root: activation falls by half with every step, and what
    is two steps away shall still be heard beside words and meaning."""
    ids, values = activation
    docs = _docs(view, graph)
    scores = np.zeros(len(view), dtype=np.float32)
    paths: dict[int, list[str]] = {}
    top = float(values.max(initial=0.0)) or 1.0
    for each in np.argsort(-values, kind="stable")[:_MOST_DOCS].tolist():
        doc, share = docs.get(ids[each], -1), float(values[each]) / top
        if not 0 <= doc < len(view) or share < _LEAST:
            continue
        way = each - len(found.nodes)
        told = _way(graph, found, int(used[way])) if way >= 0 else None
        told = told or path(graph, found, int(found.nodes[each]))
        for one in (doc, int(view.source[doc])):  # And the turn it was learned from.
            if one >= 0 and share**0.5 > scores[one]:
                scores[one] = share**0.5
                paths[one] = told
    return Reached(scores, paths)


def _way(graph: Adjacency, found: Walk, edge: int) -> list[str]:
    """The path over an edge, from its nearer end."""
    ends = (int(graph.source[edge]), int(graph.target[edge]))
    near = min(ends, key=lambda end: int(found.depths[end]))
    return path(graph, found, near) + step(graph, edge, near)


def _docs(view: View, graph: Adjacency) -> Mapping[str, int]:
    """The documents of the graph by id. An index only grows while its list of ids is the same, so
    the map grows with it; it may know of documents that this view does not."""
    docs: dict[str, int]
    ids, docs, covered = graph.kept.get("docs", (None, {}, 0))
    if ids is not view.ids:
        docs, covered = {}, 0
    more = covered + np.flatnonzero(view.tiers[covered:] == view.codes.get("graph", -2))
    docs.update((view.ids[number], number) for number in more.tolist())
    graph.kept["docs"] = (view.ids, docs, max(covered, len(view)))
    return docs
