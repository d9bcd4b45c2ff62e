"""The small stages: each looks at one property of a candidate.

`confident`     how sure its maker was
`near_ties`     how useful it proved
`boost`         whether it is a standing instruction
`concise`       how long it is
`relevant`      how near it is to the question
`with_turn_before`  whether it needs the turn before it
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from statistics import median

import numpy as np
from numpy.typing import NDArray

from holdfast.index.resident import View
from holdfast.recall.candidates import Candidate, by_score
from holdfast.records.fading import BIRTH, of_note
from holdfast.records.graph.adjacency import of_edge, of_entity
from holdfast.settings import DECAY, Decay

# ----------------------------------------------------------------------
# The instruction boost: what the user asked for once and for all counts a little more.
#
# score(d) += weight for every standing instruction d among the candidates, then a stable sort. The
# seed's weight is 0.15. Scores lie in 0..1 here, so a weight means the same for every question:
# added to sums of order 3 it would be noise, added to reciprocal ranks of order 0.02 it would put
# every instruction above every fact.
#
# The order is that of the exact sums, and any weight may be given. What is shown stays in 0..1:
# where a sum passes 1, all scores are scaled down together, so that no two become equal that are
# not; the sum itself is in the note. The question plays no part. What was not found cannot be
# boosted; that is what the lane is for (guaranteed.py).
# ----------------------------------------------------------------------


def boost(
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
    most = max(1.0, *sums)
    raised = [
        each.with_score(total / most, "boost", {"added": weight, "score": total})
        if tag
        else Candidate(each.doc, total / most, each.notes)
        for each, total, tag in zip(candidates, sums, tagged, strict=True)
    ]
    order = sorted(range(len(sums)), key=lambda place: -sums[place])
    return [raised[place] for place in order]


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

#: The largest share of a score that is taken; the seed's. It lowers all sets (docs/decisions/0008),
#: so it is off by default.
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
            each.with_score(each.score * (1.0 - cut), "concise", {"cut": cut}) if cut else each
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
# present each is than if nobody had ever used or judged it; they share out the scores they had. So
# nothing passes what fits clearly better, however often it was used, and what only grew old is not
# lowered: fading hides (candidates.py), it does not rank.
# ----------------------------------------------------------------------

#: Scores within this share of each other are as good as equal (docs/decisions/0011).
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
        else candidates[place].with_score(candidates[to].score, "strength", round(leans[place], 4))
        for to, place in enumerate(order)
    ]


def leans(view: View, docs: Sequence[int], now_us: int, decay: Decay = DECAY) -> list[float]:
    """How much more present each document is than if nobody had ever touched it."""
    strengths: NDArray[np.float32] = view.strength[list(docs)]
    return [
        _lean(view, doc, full, now_us, decay) if full >= 0 else 0.0
        for doc, full in zip(docs, strengths.tolist(), strict=True)
    ]


def _lean(view: View, doc: int, full: float, now_us: int, decay: Decay) -> float:
    known, seen = int(view.known_us[doc]), int(view.seen_us[doc])
    tier, kind = int(view.tiers[doc]), int(view.kinds[doc])
    if tier == view.code("note"):
        return of_note(known, seen, now_us, full) - of_note(known, known, now_us)
    if tier == view.code("graph") and kind == view.code("relation"):
        return of_edge(seen, now_us, full, decay=decay) - of_edge(known, now_us, decay=decay)
    if tier == view.code("graph") and kind == view.code("entity"):
        own = of_entity(1, seen, now_us, full, decay=decay)
        return own - of_entity(1, known, now_us, decay=decay)
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
# The bar is a setting (0 = off, the default; 0.30 is the seed's), for simple and medium questions
# alone: the parts of an answer to a broad one need not look like the question, and who names a
# filter or a time has already said what is wanted.
# ----------------------------------------------------------------------

#: Classes of questions that the setting applies to.
PLAIN = frozenset({"simple", "medium"})
#: Share of the weight of the question's words from which they outweigh a low cosine; by hand, not
#: measured.
STRONG = 0.5


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


# ----------------------------------------------------------------------
# Neighbour context: "Yes, in June!" is of use only beside the question it answers.
#
# Behind a winner of few terms comes the turn before it in its session, if it was not found by
# itself. It only takes places that would stay empty: a list that is full is left alone, because
# whatever was found for the question is better than what merely stands beside it. The first winners
# are served first. A turn that is added gets a score between the winner and the next candidate, so
# the order holds.
# ----------------------------------------------------------------------

#: So many turns are added at most. Both by hand, not measured: the stage is off by default.
COUNT = 3
#: A turn of so many terms (stop words do not count) seldom stands for itself.
SHORT = 6.0


def with_turn_before(
    candidates: list[Candidate],
    *,
    before: NDArray[np.int32],
    lengths: NDArray[np.float32],
    wanted: NDArray[np.bool_] | None = None,
    limit: int,
    count: int = COUNT,
    short: float = SHORT,
) -> list[Candidate]:
    """The candidates, short ones with the turn before them; the very same list where none is added.

    `before` is the previous turn in the session of each document, the number of documents where
    there is none. What is not `wanted` is not added.
    """
    free = min(count, limit - len(candidates))
    there = {each.doc for each in candidates}
    together: list[Candidate] = []
    for place, each in enumerate(candidates):
        together.append(each)
        turn = int(before[each.doc])
        if free <= 0 or lengths[each.doc] > short or not 0 <= turn < len(before):
            continue
        if turn in there or (wanted is not None and not wanted[turn]):
            continue
        score = _between(candidates, place)
        together.append(Candidate(turn, score, {"neighbours": {"rank": len(together)}}))
        there.add(turn)
        free -= 1
    return together if len(together) > len(candidates) else candidates


def _between(candidates: Sequence[Candidate], place: int) -> float:
    below = candidates[place + 1].score if place + 1 < len(candidates) else 0.0
    return (candidates[place].score + below) / 2
