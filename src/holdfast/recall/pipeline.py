"""The read path in one place: sources -> fusion -> stages, in this order.

see       who may be seen: alive, times, agent, filters, tiers      candidates.py
fuse      one score from all sources: a weighted sum (the default)  sources/blend.py
          or exact weighted reciprocal rank fusion                  sources/rrf.py
time      what was said at a time that the question names           stages/times.py
profile   tiers weighed by the task under way                       profile.py
stages    one after another                                         `STAGES` below
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.config import Config
from holdfast.errors import ModelError
from holdfast.index.resident import View
from holdfast.language.questions import classify
from holdfast.recall.candidates import (
    Candidate,
    Moment,
    ReadContent,
    Stage,
    best,
    border,
    visible_mask,
    wanted_mask,
)
from holdfast.recall.profile import tier_weights
from holdfast.recall.query import Query
from holdfast.recall.sources.blend import fuse_by_sum
from holdfast.recall.sources.keywords import neighbours
from holdfast.recall.sources.rrf import fuse_by_rank
from holdfast.recall.stages.guaranteed import holds_rule, is_rule, lane, literals_first
from holdfast.recall.stages.replaced import Standings, newest_first
from holdfast.recall.stages.rerank import Reranker, rerank, scores_by
from holdfast.recall.stages.small import (
    PLAIN,
    boost,
    concise,
    confident,
    leans,
    near_ties,
    relevant,
    with_turn_before,
)
from holdfast.recall.stages.times import Scores, current, lifts_of, named_times, raise_named
from holdfast.recall.stages.variety import (
    alone,
    distinct,
    diverse,
    is_bounded,
    quoted_or_codes,
    spread,
    with_others,
    writers_of,
)
from holdfast.recall.trace import with_changes, with_notes
from holdfast.settings import TaskProfile

log = logging.getLogger("holdfast")

#: Tiers in which anybody can look something up.
_SHELVES = ("knowledge", "workspace")
#: Candidates that the stages see, at least, and for each place of the answer.
_LEAST_CANDIDATES = 50
_CANDIDATES = 2
#: Copies are looked for among so many of the first, and among twice the limit.
_LOOKED_AT = 50


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


def rank(  # noqa: PLR0913 (all that an answer depends on)
    view: View,
    query: Query,
    vector: NDArray[np.float32] | None,
    *,
    config: Config,
    content: ReadContent,
    profile: TaskProfile | None = None,
    reranker: Reranker | None = None,
    graph: NDArray[np.float32] | None = None,
    standings: Standings | None = None,
) -> RankedAnswer:
    """The best documents for a query. `graph` is what traversal says of every document,
    `standings` what became of what a turn says."""
    seen = visible_mask(view, query)
    wanted = wanted_mask(view, query, seen, config.decay)
    if config.fusion == "rrf":
        fused = fuse_by_rank(view, query, vector, seen, wanted, config=config, graph=graph)
    else:
        fused = fuse_by_sum(view, query, vector, seen, config=config, graph=graph)
    named = named_times(query) if config.stages.temporal else ()
    lifts = lifts_of(view, named) if named else None
    weights = _tier_weights(view, query, profile)
    scores = fused.scores if wanted is None else fused.scores * wanted
    steps = {"fused": scores}
    if lifts is not None:
        scores = steps["temporal"] = raise_named(scores, lifts)
    if weights:
        scores = steps["tier"] = _weigh_tiers(view, scores, weights)
    moment = Moment(
        view, query, config, vector, fused.cosines, seen, wanted, content,
        scores=scores, holders=fused.holders, reranker=reranker,
        standings=standings,
    )  # fmt: skip
    found = _run_stages(_candidates(moment), moment)
    if query.explain:
        found = with_notes(found, moment, fused, steps, weights=weights, graph=graph)
    answer = []
    whys, tiers = fused.why([each.doc for each in found]), view.texts() if weights else {}
    for each, told in zip(found, whys, strict=True):
        if lifts is not None and lifts[each.doc] > 0:
            phrases = [span.phrase for span in named]
            told["temporal"] = {"named": phrases, "lift": round(float(lifts[each.doc]), 4)}
        if weights:
            tier = tiers[int(view.tiers[each.doc])]
            told["tier"] = {"name": tier, "weight": round(weights[tier], 4)}
        answer.append(Ranked(each.doc, each.score, {**told, **each.notes}))
    return RankedAnswer(answer, moment.degraded)


def _candidates(moment: Moment) -> list[Candidate]:
    """The best documents by score. Rules have their lane, unless their tier is asked for."""
    if moment.query.idle:
        return []
    scores: Scores = moment.scores
    if moment.query.general:  # What somebody said is not asked for; what can be looked up may be.
        view = moment.view
        shelves = [view.code(tier) for tier in _SHELVES]
        scores = np.where(view.is_one_of(view.tiers, shelves), scores, 0.0)
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
    there = view.once("tiers", lambda: _tiers_of(view))
    searched = there if query.tiers is None else [tier for tier in there if tier in query.tiers]
    weights = tier_weights(profile, searched)
    return weights if len(set(weights.values())) > 1 else {}


def _tiers_of(view: View) -> list[str]:
    names = view.texts()
    return [names[code] for code in view.codes_in(view.tiers)]


def _weigh_tiers(view: View, scores: Scores, weights: Mapping[str, float]) -> Scores:
    table = np.ones(len(view.codes) + 1)
    for tier, weight in weights.items():
        table[view.codes[tier]] = weight
    weighed = scores * table[view.tiers]
    return weighed / max(1.0, float(weighed.max(initial=0.0)))


# ----------------------------------------------------------------------
# The stages after the fusion. A stage knows nothing about settings; here they get theirs. One whose
# setting switches it off gives the candidates back as they are.
# ----------------------------------------------------------------------


def _run_stages(candidates: list[Candidate], moment: Moment) -> list[Candidate]:
    """All stages, one after another."""
    for stage in STAGES:
        after = stage(candidates, moment)
        if moment.query.explain:
            name = str(getattr(stage, "__name__", "")).lstrip("_")
            after = with_changes(name, candidates, after)
        candidates = after
    return candidates


def _safe(candidates: list[Candidate], moment: Moment) -> set[int]:
    """Documents that no stage may lower or drop: rules, and what holds a literal."""
    rule = is_rule(moment.view)
    return {each.doc for each in candidates if "literal" in each.notes or rule[each.doc]}


def _rows(candidates: list[Candidate], moment: Moment) -> NDArray[np.float32] | None:
    """The vectors of the first passages, a row for each candidate."""
    if moment.view.vectors is None:
        return None
    return moment.view.vectors.first_of(np.array([each.doc for each in candidates], dtype=np.intp))


def _confidence(candidates: list[Candidate], moment: Moment) -> list[Candidate]:
    view = moment.view
    if not view.has_derived:
        return candidates
    return confident(
        candidates,
        tiers=view.tiers,
        confidence=view.confidence,
        session=view.code("session"),
        least=moment.config.min_confidence,
    )


def _rerank(candidates: list[Candidate], moment: Moment) -> list[Candidate]:
    if moment.reranker is None:
        return candidates
    scores_of = scores_by(moment.reranker, moment.query.text, moment.content)
    try:
        return rerank(candidates, scores_of, depth=moment.config.rerank_depth)
    except ModelError as error:
        # The order so far still answers, and the answer says so.
        log.warning("recall without the reranker: %s", type(error.__cause__ or error).__name__)
        moment.degraded.append(f"rerank: {error}")
        return candidates


def _strength(candidates: list[Candidate], moment: Moment) -> list[Candidate]:
    # What was used or judged later was not known at an earlier time: reads repeat.
    if moment.query.known_at is not None or not moment.view.has_touched:
        return candidates
    now_us = round((moment.query.as_of or moment.query.now).timestamp() * 1_000_000)
    docs = [each.doc for each in candidates]
    return near_ties(candidates, leans(moment.view, docs, now_us, moment.config.decay))


def _current(candidates: list[Candidate], moment: Moment) -> list[Candidate]:
    return current(candidates, moment) if moment.config.stages.current else candidates


def _replaced(candidates: list[Candidate], moment: Moment) -> list[Candidate]:
    return newest_first(candidates, moment) if moment.config.stages.replaced else candidates


def _lane(candidates: list[Candidate], moment: Moment) -> list[Candidate]:
    return lane(candidates, moment) if moment.config.instruction_lane else candidates


def _boost(candidates: list[Candidate], moment: Moment) -> list[Candidate]:
    if not moment.config.instruction_boost_enabled:
        return candidates
    weight = moment.config.instruction_boost_weight
    return boost(candidates, is_instruction=holds_rule(moment), weight=weight)


def _literal(candidates: list[Candidate], moment: Moment) -> list[Candidate]:
    return literals_first(candidates, moment) if moment.config.stages.literal else candidates


def _concise(candidates: list[Candidate], moment: Moment) -> list[Candidate]:
    most = moment.config.conciseness
    if not most:
        return candidates
    return concise(
        candidates,
        lengths=moment.view.lengths,
        protected=_safe(candidates, moment),
        most=most,
    )


def _floor(candidates: list[Candidate], moment: Moment) -> list[Candidate]:
    bar, query, vectors = moment.config.relevance_floor, moment.query, moment.view.vectors
    if not bar or moment.cosines is None or vectors is None:
        return candidates
    is_narrowed = query.filters or query.as_of or query.known_at or query.tiers
    if is_narrowed or classify(query.text).name not in PLAIN:
        return candidates
    # What has no vector yet must not be taken for irrelevant. Its cosine is 0, but so is that of
    # what is as unlike the question as can be.
    docs = np.array([each.doc for each in candidates], dtype=np.intp)
    cosines = moment.cosines.copy()
    cosines[docs[np.isnan(vectors.first_of(docs)[:, 0])]] = np.nan
    return relevant(
        candidates,
        cosines=cosines,
        holders=moment.holders,
        size=len(moment.view) if moment.seen is None else int(np.count_nonzero(moment.seen)),
        bar=bar,
        protected=_safe(candidates, moment),
    )


def _similar(candidates: list[Candidate], moment: Moment) -> list[Candidate]:
    if not moment.config.stages.similar:
        return candidates
    head = candidates[: max(_LOOKED_AT, 2 * moment.query.limit)]
    kept = distinct(
        head,
        said=moment.view,
        content=moment.content,
        protected=_safe(head, moment),
    )
    if kept is head:
        return candidates
    rest = kept + candidates[len(head) :]
    # A list may end with copies, where places are left: whoever asks can still see both. A context
    # tells of them that they were left out.
    there = {each.doc for each in kept}
    lowest = rest[-1].score
    copies = [each for each in head if each.doc not in there]
    return rest + [each.with_score(min(each.score, lowest), "similar", "copy") for each in copies]


def _diverse(candidates: list[Candidate], moment: Moment) -> list[Candidate]:
    if moment.config.mmr_lambda >= 1.0:
        return candidates
    return diverse(
        candidates,
        rows=_rows(candidates, moment),
        limit=moment.query.limit,
        protected=_safe(candidates, moment),
        balance=moment.config.mmr_lambda,
    )


def _writers(candidates: list[Candidate], moment: Moment) -> list[Candidate]:
    if not is_bounded(moment):
        return candidates
    writers = writers_of(moment, [each.doc for each in candidates])
    return spread(
        candidates,
        writers,
        share=moment.config.writer_share,
        limit=moment.query.limit,
        stays=alone(candidates, writers, quoted_or_codes(moment.query)),
    )


def _cut(candidates: list[Candidate], moment: Moment) -> list[Candidate]:
    return candidates[: moment.query.limit]


def _neighbours(candidates: list[Candidate], moment: Moment) -> list[Candidate]:
    count = moment.config.neighbour_turns
    if not count:
        return candidates
    return with_turn_before(
        candidates,
        before=neighbours(moment.view, moment.seen)[0],
        lengths=moment.view.lengths,
        wanted=moment.wanted,
        limit=moment.query.limit,
        count=count,
    )


#: In this order.
STAGES: tuple[Stage, ...] = (
    _confidence,  # drop derived memories that nobody was sure of        small.py
    _rerank,  #     a model's opinion of the first, if there is one      rerank.py
    _strength,  #   of near equals the one that proved useful            small.py
    _current,  #    the latest for "now", the first for "when did"       times.py
    _replaced,  #   what is so now before what was so                    replaced.py
    _lane,  #       standing instructions get places of their own        guaranteed.py
    _boost,  #      the seed's additive instruction boost, off           small.py
    _literal,  #    a literal of the question comes first                guaranteed.py
    _concise,  #    long texts pay a little, off                         small.py
    _floor,  #      what is far from a plain question goes, off          small.py
    _similar,  #    copies give way; a context leaves them out           variety.py
    _diverse,  #    maximal marginal relevance, off                      variety.py
    _writers,  #    one writer gets three of ten places                  variety.py
    _cut,  #        the limit
    _neighbours,  # free places for the turn before a short one, off     small.py
)
