"""The two fusions: every document gets one score from all sources.

`blended` is the default: a weighted sum of what the sources say (blend.py). `ranked` is the exact
weighted reciprocal rank fusion (rrf.py) of rankings by hybrid score, by cosine, by keyword and by
the graph; a source with weight 0 is not asked. Both know the tiers: a task profile weighs them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from holdfast.config import Blend, Config
from holdfast.index.resident import View
from holdfast.recall.query import Query
from holdfast.recall.sources.blend import blend
from holdfast.recall.sources.search import Ranking, Weights, search

# ----------------------------------------------------------------------
# Weighted reciprocal rank fusion (Cormack, Clarke and Büttcher 2009).
#
# score(d) = sum over sources s of v(s) * w(tier(d)) / (k + rank_s(d)), ranks from 1.
#
# w(tier(d)) is common to all terms of a document's sum: the pipeline multiplies by it afterwards.
# ----------------------------------------------------------------------

K = TypeVar("K", bound=Hashable)


def fuse(
    rankings: Mapping[str, Sequence[K]],
    *,
    k: int,
    weights: Mapping[str, float],
) -> list[tuple[K, float]]:
    """(document, score) of all rankings, best first; of equals the one that a source saw first."""
    scores: dict[K, float] = {}
    for source, ranking in rankings.items():
        weight = weights[source]
        for rank, key in enumerate(ranking, start=1):
            scores[key] = scores.get(key, 0.0) + weight / (k + rank)
    return sorted(scores.items(), key=lambda pair: -pair[1])


def highest(k: int, weights: Mapping[str, float]) -> float:
    """The score of a document that is first everywhere."""
    return sum(weight / (k + 1) for weight in weights.values())


Scores = NDArray[np.floating[Any]]

#: Results asked of each source when the caller does not say: this many times the limit, at least
#: so many, because fusion needs to see a document in both lists to prefer it.
_DEPTH_FACTOR = 4
_LEAST_DEPTH = 50

#: How the features of the blend are told: by source, each as a share of the best document's.
_SOURCES = {
    "keyword": ("window", "people", "session", "cover"),
    "vector": ("vector", "around", "theme"),
    "graph": ("graph",),
    "who": ("role", "speaker"),
    "what": ("time", "taste"),
}


@dataclass(frozen=True, slots=True)
class Fused:
    """Every document's score in 0..1, 0 where nothing speaks for it, and how to explain one."""

    scores: Scores
    #: Cosine of every document with the question, where there is an embedding.
    cosines: NDArray[np.float32] | None
    #: The documents that hold each query term.
    holders: Mapping[str, NDArray[np.int32]]
    why: Callable[[Sequence[int]], list[dict[str, Any]]]


def fuse_by_sum(
    view: View,
    query: Query,
    vector: NDArray[np.float32] | None,
    seen: NDArray[np.bool_] | None,
    *,
    config: Config,
    graph: NDArray[np.float32] | None,
) -> Fused:
    """Scores by the weighted sum."""
    mixed = blend(view, query, vector, seen, weights=_weights(config.blend), graph=graph)

    def why(docs: Sequence[int]) -> list[dict[str, Any]]:
        told: list[dict[str, Any]] = [{} for _ in docs]
        for source, names in _SOURCES.items():
            for name in names:
                if name in mixed.features:
                    _tell(told, source, name, mixed.features[name][docs])
        if mixed.cosines is not None:
            for each, cosine in zip(told, mixed.cosines[docs].tolist(), strict=True):
                if "vector" in each:
                    each["vector"]["score"] = round(cosine, 6)
        return told

    return Fused(mixed.scores, mixed.cosines, mixed.holders, why)


def fuse_by_rank(
    view: View,
    query: Query,
    vector: NDArray[np.float32] | None,
    seen: NDArray[np.bool_] | None,
    wanted: NDArray[np.bool_] | None,
    *,
    config: Config,
    graph: NDArray[np.float32] | None,
) -> Fused:
    """Scores by the ranks in each source."""
    votes: Weights = asdict(config.rrf.weights)
    found = search(
        view,
        query,
        vector,
        seen,
        wanted,
        depth=config.search_top_k or max(_LEAST_DEPTH, _DEPTH_FACTOR * query.limit),
        weights=votes,
        vector_weight=by_tier(view, asdict(config.rrf.vector_weight)),
        graph=graph,
    )
    rankings = {source: ranking.docs for source, ranking in found.rankings.items()}
    top = highest(config.rrf.k, {source: votes[source] for source in rankings})
    scores = np.zeros(len(view))
    for doc, score in fuse(rankings, k=config.rrf.k, weights=votes):
        scores[doc] = min(score / top, 1.0)

    def why(docs: Sequence[int]) -> list[dict[str, Any]]:
        return [places(doc, found.rankings, votes, config.rrf.k) for doc in docs]

    return Fused(scores, found.cosines, found.holders, why)


def _tell(told: Sequence[dict[str, Any]], source: str, name: str, values: Scores) -> None:
    """Note what a feature says, where it says anything."""
    for each, value in zip(told, values.tolist(), strict=True):
        if value > 0:
            each.setdefault(source, {})[name] = round(value, 4)


def places(
    doc: int, rankings: Mapping[str, Ranking], votes: Weights, k: int
) -> dict[str, dict[str, float]]:
    """Where a document stands in each source, and what its place is worth."""
    parts: dict[str, dict[str, float]] = {}
    for source, ranking in rankings.items():
        if doc in ranking.docs:
            place = ranking.docs.index(doc) + 1
            parts[source] = {
                "rank": place,
                "score": round(ranking.scores[place - 1], 6),
                "rrf": round(votes[source] / (k + place), 6),
            }
    return parts


def by_tier(view: View, weights: Mapping[str, float]) -> NDArray[np.float32]:
    """The weight of each document's tier."""
    table = np.ones(len(view.codes) + 1, dtype=np.float32)
    for tier, weight in weights.items():
        if tier in view.codes:
            table[view.codes[tier]] = weight
    return table[view.tiers]


@lru_cache(maxsize=64)
def _weights(group: Blend) -> Mapping[str, float]:
    """The weights by name; walking over a dataclass costs more than a feature."""
    return asdict(group)
