"""Strength breaks near-ties: of two that fit the question alike, the one that proved useful.

Candidates whose scores lie within 2 % of the best of them are put in order of how much more present
each is than if nobody had ever used or judged it; they share out the scores they had. So nothing
passes what fits clearly better, however often it was used, and what only grew old is not lowered:
fading hides (search.py), it does not rank.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from holdfast.index.resident import View
from holdfast.recall.stages.stage import Candidate
from holdfast.records.fading import BIRTH, of_note
from holdfast.records.graph.strength import of_edge, of_entity

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
