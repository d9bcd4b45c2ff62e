"""The read path in one place: sources -> fusion -> stages, in this order.

see       who may be seen: alive, times, agent, filters, tiers      search.py
fuse      one score from all sources: a weighted sum (the default)  fusion.py, blend.py
          or exact weighted reciprocal rank fusion                  rrf.py
time      what was said at a time that the question names           temporal.py
profile   tiers weighed by the task under way                       profile.py
stages    one after another, each a file of its own                 stages/order.py lists them
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.config import Config
from holdfast.index.resident import View
from holdfast.profiles import TaskProfile
from holdfast.recall.profile import tier_weights
from holdfast.recall.query import Query
from holdfast.recall.source_share import with_others
from holdfast.recall.sources.fusion import Scores, fuse_by_rank, fuse_by_sum
from holdfast.recall.sources.search import best, border, filtered, visible
from holdfast.recall.stages import order
from holdfast.recall.stages.lane import is_rule
from holdfast.recall.stages.rerank import Reranker
from holdfast.recall.stages.stage import Candidate, Moment, ReadContent
from holdfast.recall.temporal import lift, lifted, times
from holdfast.recall.trace import with_notes

#: Candidates that the stages see, at least, and for each place of the answer.
_LEAST_CANDIDATES = 50
_CANDIDATES = 2


@dataclass(frozen=True, slots=True)
class Ranked:
    """A document, its score in 0..1 and why."""

    doc: int
    score: float
    why: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RankedAnswer:
    """The best documents, and what could not be asked."""

    ranked: list[Ranked]
    degraded: list[str] = field(default_factory=list)


def rank(
    view: View,
    query: Query,
    vector: NDArray[np.float32] | None,
    *,
    config: Config,
    content: ReadContent,
    profile: TaskProfile | None = None,
    reranker: Reranker | None = None,
    graph: NDArray[np.float32] | None = None,
) -> RankedAnswer:
    """The best documents for a query. `graph` is what traversal says of every document."""
    seen = visible(view, query)
    wanted = filtered(view, query, seen)
    if config.fusion == "rrf":
        fused = fuse_by_rank(view, query, vector, seen, wanted, config=config, graph=graph)
    else:
        fused = fuse_by_sum(view, query, vector, seen, config=config, graph=graph)
    named = times(query) if config.stages.temporal else ()
    lifts = lift(view, named) if named else None
    weights = _tier_weights(view, query, profile)
    scores = fused.scores if wanted is None else fused.scores * wanted
    steps = {"fused": scores}
    if lifts is not None:
        scores = steps["temporal"] = lifted(scores, lifts)
    if weights:
        scores = steps["tier"] = _weighed(view, scores, weights)
    moment = Moment(
        view, query, config, vector, fused.cosines, seen, wanted, content,
        scores=scores, holders=fused.holders, reranker=reranker,
    )  # fmt: skip
    found = order.run(_candidates(moment), moment)
    if query.explain:
        found = with_notes(found, moment, fused, steps, weights=weights, graph=graph)
    answer = []
    whys = fused.why([each.doc for each in found])
    for each, told in zip(found, whys, strict=True):
        if lifts is not None and lifts[each.doc] > 0:
            phrases = [span.phrase for span in named]
            told["temporal"] = {"named": phrases, "lift": round(float(lifts[each.doc]), 4)}
        if weights:
            tier = _tier_of(view, each.doc)
            told["tier"] = {"name": tier, "weight": round(weights[tier], 4)}
        answer.append(Ranked(each.doc, each.score, {**told, **each.notes}))
    return RankedAnswer(answer, moment.degraded)


def _candidates(moment: Moment) -> list[Candidate]:
    """The best documents by score. Rules have their lane, unless their tier is asked for."""
    scores: Scores = moment.scores
    if moment.query.tiers is None and moment.view.has_derived:
        scores = np.where(is_rule(moment.view), 0.0, scores)
    depth = max(_LEAST_CANDIDATES, _CANDIDATES * moment.query.limit)
    top = border(scores, depth)
    top = top[scores[top] > 0]
    ranking = best(moment.view, top, scores[top], depth)
    ranking = with_others(moment, scores, ranking)
    return [Candidate(*pair) for pair in zip(ranking.docs, ranking.scores, strict=True)]


def _tier_weights(view: View, query: Query, profile: TaskProfile | None) -> dict[str, float]:
    """w(tier) over the tiers searched; empty where it changes nothing."""
    if profile is None or not view.has_derived:
        return {}
    names = {code: text for text, code in view.codes.items()}
    there = [names[code] for code in np.unique(view.tiers).tolist()]
    searched = there if query.tiers is None else [tier for tier in there if tier in query.tiers]
    weights = tier_weights(profile, searched)
    return weights if len(set(weights.values())) > 1 else {}


def _weighed(view: View, scores: Scores, weights: Mapping[str, float]) -> Scores:
    table = np.ones(len(view.codes) + 1)
    for tier, weight in weights.items():
        table[view.codes[tier]] = weight
    weighed = scores * table[view.tiers]
    return weighed / max(1.0, float(weighed.max(initial=0.0)))


def _tier_of(view: View, doc: int) -> str:
    code = int(view.tiers[doc])
    return next(text for text, each in view.codes.items() if each == code)
