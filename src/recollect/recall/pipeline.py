"""The read path in one place: sources -> fusion -> stages, in this order.

see       who may be seen: alive, times, agent, filters            search.py
blend     weighted sum of keyword, vector, role and speaker        blend.py      (the default)
or fuse   exact weighted reciprocal rank fusion of two rankings    search.py, bm25.py, fuse.py
lane      standing instructions get places of their own            lane.py
protect   a literal of the question comes first                    literal.py
cut       the caller's limit
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.config import Config
from recollect.index.resident import View
from recollect.recall.blend import blend
from recollect.recall.fuse import fuse, highest
from recollect.recall.lane import lane, merged
from recollect.recall.literal import Held, held_literals
from recollect.recall.query import Query
from recollect.recall.search import best, border, filtered, search, visible

#: Results asked of each source when the caller does not say: this many times the limit, at least
#: so many, because fusion needs to see a document in both lists to prefer it.
_DEPTH_FACTOR = 4
_LEAST_DEPTH = 50

#: How the features of the blend are told: by source, each as a share of the best document's.
_SOURCES = {
    "keyword": ("window", "people", "session"),
    "vector": ("vector", "around"),
    "who": ("role", "speaker"),
    "when": ("time",),
}

ReadContent = Callable[[Sequence[int]], Mapping[int, str]]


@dataclass(frozen=True, slots=True)
class Ranked:
    """A document, its score in 0..1 and why."""

    doc: int
    score: float
    why: Mapping[str, Any]


def rank(
    view: View,
    query: Query,
    vector: NDArray[np.float32] | None,
    *,
    config: Config,
    content: ReadContent,
) -> list[Ranked]:
    """The best documents for a query."""
    fusion = _by_rank if config.fusion == "rrf" else _by_score
    fused = fusion(view, query, vector, config)
    held = held_literals(view, query, fused.holders, fused.visible, content)
    scored = _protected(fused.best[: query.limit], held, dict(fused.best))[: query.limit]
    return [Ranked(doc, score, _why(fused.why(doc), held.get(doc))) for doc, score in scored]


@dataclass(frozen=True, slots=True)
class _Fused:
    """What a fusion gives: (document, score in 0..1) best first, and how to explain one."""

    best: list[tuple[int, float]]
    holders: Mapping[str, NDArray[np.int32]]
    visible: NDArray[np.bool_] | None
    why: Callable[[int], dict[str, Any]]


def _by_score(
    view: View, query: Query, vector: NDArray[np.float32] | None, config: Config
) -> _Fused:
    seen = visible(view, query)
    wanted = filtered(view, query, seen)
    blended = blend(view, query, vector, seen, weights=asdict(config.blend))
    scores = blended.scores if wanted is None else blended.scores * wanted
    depth = max(query.limit, config.search_top_k)
    top = border(scores, depth)
    top = top[scores[top] > 0]
    ranking = best(view, top, scores[top], depth)
    pairs = list(zip(ranking.docs, ranking.scores, strict=True))
    rules = lane(
        view,
        scores,
        blended.features.get("vector"),
        seen=seen,
        wanted=wanted,
        most=config.instruction_lane,
    )

    def why(doc: int) -> dict[str, Any]:
        parts = {
            source: {
                name: round(float(blended.features[name][doc]), 4)
                for name in names
                if name in blended.features and blended.features[name][doc] > 0
            }
            for source, names in _SOURCES.items()
        }
        told: dict[str, Any] = {source: part for source, part in parts.items() if part}
        if "vector" in told and blended.cosines is not None:
            told["vector"]["score"] = round(float(blended.cosines[doc]), 6)
        return {**told, **({"lane": "instruction"} if doc in rules else {})}

    return _Fused(merged(pairs, rules), blended.holders, wanted, why)


def _by_rank(
    view: View, query: Query, vector: NDArray[np.float32] | None, config: Config
) -> _Fused:
    depth = config.search_top_k or max(_LEAST_DEPTH, _DEPTH_FACTOR * query.limit)
    found = search(view, query, vector, depth=depth)
    weights = {"keyword": config.rrf.weights.keyword, "vector": config.rrf.weights.vector}
    fused = fuse(
        {source: ranking.docs for source, ranking in found.rankings.items()},
        k=config.rrf.k,
        weights=weights,
    )
    top = highest(config.rrf.k, {source: weights[source] for source in found.rankings})

    def why(doc: int) -> dict[str, Any]:
        parts: dict[str, Any] = {}
        for source, ranking in found.rankings.items():
            if doc in ranking.docs:
                place = ranking.docs.index(doc) + 1
                parts[source] = {
                    "rank": place,
                    "score": round(ranking.scores[place - 1], 6),
                    "rrf": round(weights[source] / (config.rrf.k + place), 6),
                }
        return parts

    pairs = [(doc, min(score / top, 1.0)) for doc, score in fused]
    return _Fused(pairs, found.holders, found.visible, why)


def _protected(
    best: list[tuple[int, float]], held: Mapping[int, Held], scores: Mapping[int, float]
) -> list[tuple[int, float]]:
    """The upper half of the scale belongs to those that hold a literal."""
    if not held:
        return best
    heaviest = max(each.weight for each in held.values())
    lifted = []
    for doc, score in ({doc: scores.get(doc, 0.0) for doc in held} | dict(best)).items():
        literal = held.get(doc)
        # The more it is singled out the higher; the fused score decides among equals.
        lift = 0.5 + 0.25 * literal.weight / heaviest + 0.25 * score if literal else 0.5 * score
        lifted.append((doc, lift))
    return sorted(lifted, key=lambda pair: -pair[1])


def _why(parts: dict[str, Any], literal: Held | None) -> dict[str, Any]:
    return {**parts, "literal": list(literal.literals)} if literal else parts
