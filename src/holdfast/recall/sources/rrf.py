"""Weighted reciprocal rank fusion, exact (Cormack, Clarke and Büttcher 2009): `fusion: rrf`.

score(d) = sum over sources s of v(s) * w(tier(d)) / (k + rank_s(d)), ranks from 1.

The sources are rankings by hybrid score, by cosine, by keyword and by the graph; one with weight 0
is not asked. w(tier(d)) is common to all terms of a document's sum: the pipeline multiplies by it
afterwards.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from holdfast.config import Config
from holdfast.index.resident import View
from holdfast.recall.candidates import Ranking, best, border
from holdfast.recall.query import Query
from holdfast.recall.sources.blend import Fused
from holdfast.recall.sources.keywords import bm25

K = TypeVar("K", bound=Hashable)

#: Results asked of each source when the caller does not say: this many times the limit, at least
#: so many, because fusion needs to see a document in both lists to prefer it.
_DEPTH_FACTOR = 4
_LEAST_DEPTH = 50


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


#: v(s) of the fusion formula, by source.
Weights = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class SourceScores:
    """What the sources gave."""

    rankings: dict[str, Ranking]
    #: The visible documents that hold each query term.
    holders: dict[str, NDArray[np.int32]]
    cosines: NDArray[np.float32] | None


def search(  # noqa: PLR0913 (what every source may need)
    view: View,
    query: Query,
    vector: NDArray[np.float32] | None,
    seen: NDArray[np.bool_] | None,
    wanted: NDArray[np.bool_] | None,
    *,
    depth: int,
    weights: Weights,
    vector_weight: NDArray[np.float32],
    graph: NDArray[np.float32] | None = None,
) -> SourceScores:
    """Ask every source that has a vote. `vector` None: the question has no embedding just now.

    `vector_weight`: what the cosine counts in the hybrid score of each document, 0..1.
    """
    words, holders = bm25(view, query.terms, seen)
    cosines = None
    if vector is not None and view.vectors is not None:
        cosines = view.vectors.by_document(vector, len(view), also=lambda: _likely(words, depth))
    rankings: dict[str, Ranking] = {}
    if weights["keyword"]:
        rankings["keyword"] = _ranking(view, words, wanted, depth)
    if weights["hybrid"]:
        rankings["hybrid"] = _ranking(view, hybrid(words, cosines, vector_weight), wanted, depth)
    if weights["vector"] and vector is not None:
        rankings["vector"] = _nearest(view, vector, wanted, depth)
    if weights["graph"] and graph is not None:
        rankings["graph"] = _ranking(view, graph, wanted, depth)
    return SourceScores(rankings, holders, cosines)


def _likely(words: NDArray[np.float32], depth: int) -> NDArray[np.intp]:
    best = border(words, depth)
    return best[words[best] > 0]


def hybrid(
    words: NDArray[np.float32],
    cosines: NDArray[np.float32] | None,
    vector_weight: NDArray[np.float32],
) -> NDArray[np.float32]:
    """The keyword score as a share of the best and the cosine, weighed against each other."""
    top = float(words.max(initial=0.0))
    shares = words / np.float32(top) if top > 0 else np.zeros_like(words)
    if cosines is None:
        return shares
    return vector_weight * cosines + (np.float32(1.0) - vector_weight) * shares


def _ranking(
    view: View, scores: NDArray[np.float32], wanted: NDArray[np.bool_] | None, depth: int
) -> Ranking:
    """The best documents of one source; what it gives nothing is not in it."""
    if wanted is not None:
        scores = scores * wanted
    top = border(scores, depth)
    top = top[scores[top] > 0]
    return best(view, top, scores[top], depth)


def _nearest(
    view: View, vector: NDArray[np.float32], wanted: NDArray[np.bool_] | None, depth: int
) -> Ranking:
    if view.vectors is None:
        return Ranking((), ())
    docs, cosines = view.vectors.cosines(vector, wanted, depth=depth)
    # A document has several passages at times: take more passages until there are enough documents.
    most = depth
    while True:
        near = border(cosines, most)
        found = np.unique(docs[near])
        if len(found) >= min(depth, len(docs)) or len(near) == len(docs):
            break
        most *= 2
    cosine_of = np.full(len(found), -2.0, dtype=np.float32)
    np.maximum.at(cosine_of, np.searchsorted(found, docs[near]), cosines[near])
    return best(view, found, cosine_of, depth)
