"""The gate before a context: what says nothing stays out, and so does what is far from relevant.

A ranking has fifty places whether or not there are fifty memories for the question, and a budget
would be filled with them. Here a hit is measured by its score as a share of the best hit's:

- Below the gate (the setting `relevanceGate`) it is left out, unless it is among the first `SURE`:
  they cost little, and what contradicts the best hit often scores low. Only plain questions are
  gated: the parts of an answer to a broad one need not look like the question.
- Below the middle between the gate and the best it is told shortly: pack.py lengthens it only where
  that costs next to nothing.

A turn without content ("Noted.") is left out while anything else is there. Rules, guaranteed
categories and what holds a literal of the question always pass.

`SURE` and the default of the setting are of a grid over LoCoMo and BEAM-100K, chosen so that the
recall in 1,000 and 2,000 tokens stays within half a point. As a signal, the share of the best score
was better than the rank, the cosine, the drop to the last hit, and a logistic regression of all of
them. A higher gate, or none for the first hits, shortens blocks further and loses recall.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from holdfast.language.filler import says_nothing
from holdfast.language.questions import classify
from holdfast.recall.stages.small import PLAIN
from holdfast.types import Hit

#: So many of the first are never too far from relevant.
SURE = 15
SAYS_NOTHING = "says nothing"
NOT_RELEVANT = "not relevant"


@dataclass(frozen=True, slots=True)
class Gate:
    """What a context does without, by place in the ranking, and what it tells shortly."""

    left_out: dict[int, str]
    brief: frozenset[int]


def gated(hits: Sequence[Hit], query: str, spared: Collection[int], *, bar: float) -> Gate:
    """Which hits pass. The places in `spared` do; `bar` is a share of the best score, 0 = any."""
    left_out = _without_content(hits, spared)
    if bar <= 0:
        return Gate(left_out, frozenset())
    judged = [
        place
        for place, hit in enumerate(hits)
        if place not in left_out and place not in spared and "literal" not in hit.why
    ]
    best = max((hits[place].score for place in judged), default=0.0)
    if classify(query).name in PLAIN:
        far = [place for place in judged[SURE:] if hits[place].score < bar * best]
        left_out |= dict.fromkeys(far, NOT_RELEVANT)
    middle = (1.0 + bar) / 2.0 * best
    return Gate(left_out, frozenset(place for place in judged if hits[place].score < middle))


def _without_content(hits: Sequence[Hit], spared: Collection[int]) -> dict[int, str]:
    empty = [
        place for place, hit in enumerate(hits) if place not in spared and says_nothing(hit.content)
    ]
    return dict.fromkeys(empty, SAYS_NOTHING) if len(empty) < len(hits) else {}
