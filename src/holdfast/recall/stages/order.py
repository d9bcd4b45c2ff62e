"""The stages after the fusion, in the order they run: the one place that lists them.

Each stage is a function in the file of its name and knows nothing about settings; here they get
theirs. A stage whose setting switches it off gives the candidates back as they are.
"""

from __future__ import annotations

import logging

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import ModelError
from holdfast.language.questions.classes import classify
from holdfast.recall.source_share import alone, is_bounded, named, spread, writers_of
from holdfast.recall.stages.boost import boosted
from holdfast.recall.stages.concise import concise
from holdfast.recall.stages.confidence import confident
from holdfast.recall.stages.current import current
from holdfast.recall.stages.diverse import diverse
from holdfast.recall.stages.floor import bar, relevant
from holdfast.recall.stages.lane import is_rule, lane
from holdfast.recall.stages.literal import held_literals, protected
from holdfast.recall.stages.neighbours import accompanied
from holdfast.recall.stages.rerank import asking, reranked
from holdfast.recall.stages.similar import distinct
from holdfast.recall.stages.stage import Candidate, Moment, Stage
from holdfast.recall.stages.strength import leans, near_ties
from holdfast.recall.trace import compared
from holdfast.recall.windows import neighbours

log = logging.getLogger("holdfast")

#: Copies are looked for among so many of the first, and among twice the limit.
_LOOKED_AT = 50


def run(candidates: list[Candidate], moment: Moment) -> list[Candidate]:
    """All stages, one after another."""
    for stage in STAGES:
        after = stage(candidates, moment)
        if moment.query.explain:
            name = str(getattr(stage, "__name__", "")).lstrip("_")
            after = compared(name, candidates, after)
        candidates = after
    return candidates


def _confidence(candidates: list[Candidate], moment: Moment) -> list[Candidate]:
    view = moment.view
    if not view.has_derived:
        return candidates
    return confident(
        candidates,
        tiers=view.tiers,
        confidence=view.confidence,
        session=view.codes.get("session", -2),
        least=moment.config.min_confidence,
    )


def _rerank(candidates: list[Candidate], moment: Moment) -> list[Candidate]:
    if moment.reranker is None:
        return candidates
    scores_of = asking(moment.reranker, moment.query.text, moment.content)
    try:
        return reranked(candidates, scores_of, depth=moment.config.rerank_depth)
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
    return near_ties(candidates, leans(moment.view, [each.doc for each in candidates], now_us))


def _current(candidates: list[Candidate], moment: Moment) -> list[Candidate]:
    return current(candidates, moment) if moment.config.stages.current else candidates


def _lane(candidates: list[Candidate], moment: Moment) -> list[Candidate]:
    return lane(candidates, moment) if moment.config.instruction_lane else candidates


def _boost(candidates: list[Candidate], moment: Moment) -> list[Candidate]:
    return boosted(
        candidates,
        is_instruction=moment.view.kinds == moment.view.codes.get("instruction", -2),
        weight=moment.config.instruction_boost_weight,
        enabled=moment.config.instruction_boost_enabled,
    )


def _literal(candidates: list[Candidate], moment: Moment) -> list[Candidate]:
    if not moment.config.stages.literal:
        return candidates
    found = held_literals(moment.view, moment.query, moment.holders, moment.wanted, moment.content)
    return protected(candidates, found, moment.scores)


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
    query = moment.query
    wanted = bar(
        floor=moment.config.relevance_floor,
        threshold=None,
        kind=classify(query.text).name,
        narrowed=bool(query.filters or query.as_of or query.known_at or query.tiers),
    )
    vectors = moment.view.vectors
    if not wanted or moment.cosines is None or vectors is None:
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
        bar=wanted,
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
    if moment.query.packing:
        return rest
    # A list may end with copies, where places are left: whoever asks can still see both.
    there = {each.doc for each in kept}
    lowest = rest[-1].score
    copies = [each for each in head if each.doc not in there]
    return rest + [each.scored(min(each.score, lowest), "similar", "copy") for each in copies]


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
        stays=alone(candidates, writers, named(moment.query)),
    )


def _cut(candidates: list[Candidate], moment: Moment) -> list[Candidate]:
    return candidates[: moment.query.limit]


def _neighbours(candidates: list[Candidate], moment: Moment) -> list[Candidate]:
    count = moment.config.neighbour_turns
    if not count:
        return candidates
    return accompanied(
        candidates,
        before=neighbours(moment.view, moment.seen)[0],
        lengths=moment.view.lengths,
        wanted=moment.wanted,
        limit=moment.query.limit,
        count=count,
    )


#: In this order.
STAGES: tuple[Stage, ...] = (
    _confidence,  # drop derived memories that nobody was sure of        confidence.py
    _rerank,  #     a model's opinion of the first, if there is one      rerank.py
    _strength,  #   of near equals the one that proved useful            strength.py
    _current,  #    the latest for "now", the first for "when did"       current.py
    _lane,  #       standing instructions get places of their own        lane.py
    _boost,  #      the seed's additive instruction boost, off           boost.py
    _literal,  #    a literal of the question comes first                literal.py
    _concise,  #    long texts pay a little, off                         concise.py
    _floor,  #      what is far from a plain question goes, off          floor.py
    _similar,  #    copies give way; in a context they are left out      similar.py
    _diverse,  #    maximal marginal relevance, off                      diverse.py
    _writers,  #    one writer gets three of ten places             source_share.py
    _cut,  #        the limit
    _neighbours,  # free places for the turn before a short one, off     neighbours.py
)


def _safe(candidates: list[Candidate], moment: Moment) -> set[int]:
    """Documents that no stage may lower or drop: rules, and what holds a literal."""
    rule = is_rule(moment.view)
    return {each.doc for each in candidates if "literal" in each.notes or rule[each.doc]}


def _rows(candidates: list[Candidate], moment: Moment) -> NDArray[np.float32] | None:
    """The vectors of the first passages, a row for each candidate."""
    if moment.view.vectors is None:
        return None
    return moment.view.vectors.first_of(np.array([each.doc for each in candidates], dtype=np.intp))
