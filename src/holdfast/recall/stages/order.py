"""The stages after the fusion, in the order they run: the one place that lists them.

Each stage is a function in the file of its name and knows nothing about settings; here they get
theirs. A stage whose setting switches it off gives the candidates back as they are.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Collection, Mapping, Sequence
from statistics import median

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import ModelError
from holdfast.index.resident import View
from holdfast.language.questions.classes import classify
from holdfast.recall.source_share import alone, is_bounded, quoted_or_codes, spread, writers_of
from holdfast.recall.stages.current import current
from holdfast.recall.stages.lane import is_rule, lane
from holdfast.recall.stages.literal import held_literals, protected
from holdfast.recall.stages.neighbours import accompanied
from holdfast.recall.stages.rerank import asking, reranked
from holdfast.recall.stages.similar import distinct, diverse
from holdfast.recall.stages.stage import Candidate, Moment, Stage, by_score
from holdfast.recall.trace import with_changes
from holdfast.recall.windows import neighbours
from holdfast.records.fading import BIRTH, of_note
from holdfast.records.graph.elements import of_edge, of_entity

# ----------------------------------------------------------------------
# The instruction boost: what the user asked for once and for all counts a little more.
#
# score(d) += weight for every standing instruction d among the candidates, then a stable sort.
# The seed's weight is 0.15. Scores lie in 0..1 here, so a weight means the same for every
# question: added to sums of order 3 it would be noise, added to reciprocal ranks of order 0.02 it
# would put every instruction above every fact.
#
# The order is that of the exact sums. What is shown stays in 0..1: a sum above 1 is given out as
# 1.0, and those that reach it stay in the order of their sums, as every later sort is stable. The
# sum itself is in the note. The question plays no part. What was not found cannot be boosted;
# that is what the lane is for (lane.py).
# ----------------------------------------------------------------------


def boosted(
    candidates: list[Candidate],
    *,
    is_instruction: NDArray[np.bool_],
    weight: float,
    enabled: bool = True,
) -> list[Candidate]:
    """Instructions raised by `weight`; the very same list where nothing is to be raised.

    `is_instruction` says it of every document of the view.
    """
    if not enabled or not weight:
        return candidates
    tagged = [bool(is_instruction[each.doc]) for each in candidates]
    if not any(tagged):
        return candidates
    sums = [
        each.score + weight if tag else each.score
        for each, tag in zip(candidates, tagged, strict=True)
    ]
    raised = [
        _raised(each, total, weight) if tag else each
        for each, total, tag in zip(candidates, sums, tagged, strict=True)
    ]
    order = sorted(range(len(sums)), key=lambda place: -sums[place])
    return [raised[place] for place in order]


def _raised(candidate: Candidate, total: float, weight: float) -> Candidate:
    return candidate.scored(min(total, 1.0), "boost", {"added": weight, "score": total})


# ----------------------------------------------------------------------
# The conciseness penalty: of two texts that fit alike, the short one is worth more.
#
# A long text matches many questions a little and spends the reader's tokens on all the rest of it.
#     border   = max(median length of the candidates, `least`)
#     score(d) = score(d) * (1 - most * (1 - border / length(d)))   where length(d) > border
# At the border nothing is taken, and never more than `most`, so there is no jump and a longer text
# never fares better than a shorter one of the same score. Lengths are in terms, repeats counted:
# one term is about nine characters of plain English, so 17 terms are the seed's 150 characters.
# ----------------------------------------------------------------------

#: The largest share of a score that is taken.
MOST = 0.15
#: Terms that a text may have without any penalty.
LEAST = 17.0


def concise(
    candidates: list[Candidate],
    *,
    lengths: NDArray[np.float32],
    protected: Collection[int] = (),
    most: float = MOST,
    least: float = LEAST,
) -> list[Candidate]:
    """Long texts lowered; the very same list where none is. `protected` keep their scores."""
    if not candidates or not most:
        return candidates
    own = [float(lengths[each.doc]) for each in candidates]
    border = max(median(own), least)
    cuts = [
        most * (1.0 - border / length) if length > border and each.doc not in protected else 0.0
        for each, length in zip(candidates, own, strict=True)
    ]
    if not any(cuts):
        return candidates
    return by_score(
        [
            each.scored(each.score * (1.0 - cut), "concise", {"cut": cut}) if cut else each
            for each, cut in zip(candidates, cuts, strict=True)
        ]
    )


# ----------------------------------------------------------------------
# The confidence floor: what we are not sure of is not told.
#
# A derived memory (a note, a fact, an entity) carries how sure its maker was. Below `least`
# (default 0.5, the seed's minConfidence) it is dropped; at `least` it stays. A turn of a session
# was said, and that is certain, so turns are never dropped, whatever stands in their column. A
# derived memory whose confidence is not a number has none and stays.
# ----------------------------------------------------------------------


def confident(
    candidates: list[Candidate],
    *,
    tiers: NDArray[np.int32],
    confidence: NDArray[np.float32],
    session: int,
    least: float,
) -> list[Candidate]:
    """Those sure enough; the very same list where all are. `session` is the code of that tier."""
    if not candidates or least <= 0:
        return candidates
    docs = np.array([each.doc for each in candidates])
    # In the precision of the column: 0.7 as float32 is a little below 0.7.
    unsure = (tiers[docs] != session) & (confidence[docs] < np.float32(least))
    if not unsure.any():
        return candidates
    return [each for each, drop in zip(candidates, unsure.tolist(), strict=True) if not drop]


# ----------------------------------------------------------------------
# Strength breaks near-ties: of two that fit the question alike, the one that proved useful.
#
# Candidates whose scores lie within 2 % of the best of them are put in order of how much more
# present each is than if nobody had ever used or judged it; they share out the scores they had.
# So nothing passes what fits clearly better, however often it was used, and what only grew old is
# not lowered: fading hides (search.py), it does not rank.
# ----------------------------------------------------------------------

#: Scores within this share of each other are as good as equal.
BAND = 0.02


def near_ties(
    candidates: list[Candidate], leans: Sequence[float], *, band: float = BAND
) -> list[Candidate]:
    """The candidates with the more present of near equals first; the very same list where nothing
    moves. `leans` says of each how much more (or less) present it is than it was born to be."""
    if not any(leans):
        return candidates
    order: list[int] = []
    begin = 0
    while begin < len(candidates):
        least = candidates[begin].score * (1.0 - band)
        end = begin + 1
        while end < len(candidates) and candidates[end].score >= least:
            end += 1
        order += sorted(range(begin, end), key=lambda place: -leans[place])
        begin = end
    if order == list(range(len(candidates))):
        return candidates
    return [
        candidates[place]
        if place == to
        else candidates[place].scored(candidates[to].score, "strength", round(leans[place], 4))
        for to, place in enumerate(order)
    ]


def leans(view: View, docs: Sequence[int], now_us: int) -> list[float]:
    """How much more present each document is than if nobody had ever touched it."""
    strengths: NDArray[np.float32] = view.strength[list(docs)]
    return [
        _lean(view, doc, full, now_us) if full >= 0 else 0.0
        for doc, full in zip(docs, strengths.tolist(), strict=True)
    ]


def _lean(view: View, doc: int, full: float, now_us: int) -> float:
    known, seen, codes = int(view.known_us[doc]), int(view.seen_us[doc]), view.codes
    tier, kind = int(view.tiers[doc]), int(view.kinds[doc])
    if tier == codes.get("note", -2):
        return of_note(known, seen, now_us, full) - of_note(known, known, now_us)
    if tier == codes.get("graph", -2) and kind == codes.get("relation", -2):
        return of_edge(seen, now_us, full) - of_edge(known, now_us)
    if tier == codes.get("graph", -2) and kind == codes.get("entity", -2):
        return of_entity(1, seen, now_us, full) - of_entity(1, known, now_us)
    return full - BIRTH


# ----------------------------------------------------------------------
# The relevance floor: a plain question is not answered with what has nothing to do with it.
#
# A candidate whose cosine with the question is below the bar is dropped, unless
# - it is protected (holds a literal of the question, is a standing instruction);
# - its words speak for it: it holds at least half of what the question's words weigh, where a
#   word weighs its inverse document frequency, and one that no memory holds weighs the most;
# - its cosine is not a number: it has no vector yet, and what was just said must not vanish. If
#   all would go, the first candidate that holds a word of the question stays.
#
# The bar: what the caller asks for, always; 0 is an answer, too, and switches the floor off for
# that call. Without a word of the caller it is the setting (0 = off, the default; 0.30 is the
# seed's), for simple and medium questions alone: the parts of an answer to a broad one need not
# look like the question, and who names a filter or a time has already said what is wanted.
# ----------------------------------------------------------------------

#: Classes of questions that the setting applies to.
PLAIN = frozenset({"simple", "medium"})
#: Share of the weight of the question's words from which they outweigh a low cosine.
STRONG = 0.5


def bar(*, floor: float, threshold: float | None, kind: str, narrowed: bool) -> float:
    """The cosine that is asked for; 0 = any. `threshold` is the caller's, `floor` the setting;
    `narrowed`: the caller named filters or a time."""
    if threshold is not None:
        return threshold
    return floor if kind in PLAIN and not narrowed else 0.0


def relevant(
    candidates: list[Candidate],
    *,
    cosines: NDArray[np.float32] | None,
    holders: Mapping[str, NDArray[np.int32]],
    size: int,
    bar: float,
    protected: Collection[int] = (),
) -> list[Candidate]:
    """Those at the bar or above, and the exceptions; the very same list where all stay.

    `cosines` of every document with the question, None when it has no vector; `holders` the
    documents of each of its words, ascending; `size` the number of documents that can be seen.
    """
    if not candidates or cosines is None or bar <= 0:
        return candidates
    docs = [each.doc for each in candidates]
    low = cosines[docs] < np.float32(bar)  # Not a number is not low.
    low &= np.array([doc not in protected for doc in docs])
    if not low.any():
        return candidates
    held = coverage(docs, holders, size)
    low &= held < STRONG
    if low.all() and held.any():
        low[np.flatnonzero(held)[0]] = False
    if not low.any():
        return candidates
    return [each for each, drop in zip(candidates, low.tolist(), strict=True) if not drop]


def coverage(
    docs: Sequence[int], holders: Mapping[str, NDArray[np.int32]], size: int
) -> NDArray[np.float64]:
    """The share of the weight of the question's words that each document holds, 0..1."""
    asked = np.asarray(docs)
    held = np.zeros(len(docs))
    total = 0.0
    for having in holders.values():
        count = len(having)
        weight = math.log(1.0 + max(size - count + 0.5, 0.5) / (count + 0.5))
        total += weight
        if count:
            places = np.minimum(np.searchsorted(having, asked), count - 1)
            held[having[places] == asked] += weight
    return held / total if total else held


log = logging.getLogger("holdfast")

#: Copies are looked for among so many of the first, and among twice the limit.
_LOOKED_AT = 50


def run(candidates: list[Candidate], moment: Moment) -> list[Candidate]:
    """All stages, one after another."""
    for stage in STAGES:
        after = stage(candidates, moment)
        if moment.query.explain:
            name = str(getattr(stage, "__name__", "")).lstrip("_")
            after = with_changes(name, candidates, after)
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
        stays=alone(candidates, writers, quoted_or_codes(moment.query)),
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
