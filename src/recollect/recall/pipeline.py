"""The read path in one place: sources -> fusion -> stages, in this order.

search    keyword and vector rankings over what may be seen      search.py, bm25.py
fuse      exact weighted reciprocal rank fusion                  fuse.py
protect   a literal of the question comes first                  literal.py
cut       the caller's limit
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.config import Config
from recollect.index.resident import View
from recollect.recall.fuse import fuse, highest
from recollect.recall.literal import Held, held_literals
from recollect.recall.query import Query
from recollect.recall.search import Found, search

#: Results asked of each source when the caller does not say: this many times the limit, at least
#: so many, because fusion needs to see a document in both lists to prefer it.
_DEPTH_FACTOR = 4
_LEAST_DEPTH = 50

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
    depth = config.search_top_k or max(_LEAST_DEPTH, _DEPTH_FACTOR * query.limit)
    found = search(view, query, vector, depth=depth)
    weights = {"keyword": config.rrf.weights.keyword, "vector": config.rrf.weights.vector}
    fused = fuse(
        {source: ranking.docs for source, ranking in found.rankings.items()},
        k=config.rrf.k,
        weights=weights,
    )
    held = held_literals(view, query, found.holders, found.visible, content)
    top = highest(config.rrf.k, {source: weights[source] for source in found.rankings})
    scored = _protected(fused[: query.limit], held, dict(fused), top)[: query.limit]
    return [Ranked(doc, score, _why(doc, held.get(doc), found, config)) for doc, score in scored]


def _protected(
    best: list[tuple[int, float]], held: Mapping[int, Held], fused: Mapping[int, float], top: float
) -> list[tuple[int, float]]:
    """Scores in 0..1; the upper half of the scale belongs to those that hold a literal."""
    if not held:
        return [(doc, min(score / top, 1.0)) for doc, score in best]
    scores = {doc: fused.get(doc, 0.0) for doc in held} | dict(best)
    heaviest = max(each.weight for each in held.values())
    scored = []
    for doc, score in scores.items():
        share = min(score / top, 1.0)
        literal = held.get(doc)
        # The more it is singled out the higher; the fused score decides among equals.
        lifted = 0.5 + 0.25 * literal.weight / heaviest + 0.25 * share if literal else 0.5 * share
        scored.append((doc, lifted))
    return sorted(scored, key=lambda pair: -pair[1])


def _why(doc: int, literal: Held | None, found: Found, config: Config) -> dict[str, Any]:
    why: dict[str, Any] = {}
    weights = {"keyword": config.rrf.weights.keyword, "vector": config.rrf.weights.vector}
    for source, ranking in found.rankings.items():
        if doc in ranking.docs:
            place = ranking.docs.index(doc) + 1
            why[source] = {
                "rank": place,
                "score": round(ranking.scores[place - 1], 6),
                "rrf": round(weights[source] / (config.rrf.k + place), 6),
            }
    if literal:
        why["literal"] = list(literal.literals)
    return why
