"""The instruction boost: what the user asked for once and for all counts a little more.

score(d) += weight for every standing instruction d among the candidates, then a stable sort.
The seed's weight is 0.15. Scores lie in 0..1 here, so a weight means the same for every question:
added to sums of order 3 it would be noise, added to reciprocal ranks of order 0.02 it would put
every instruction above every fact.

The order is that of the exact sums. What is shown stays in 0..1: a sum above 1 is given out as 1.0,
and those that reach it stay in the order of their sums, as every later sort is stable. The sum
itself is in the note. The question plays no part. What was not found cannot be boosted; that is
what the lane is for (lane.py).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from holdfast.recall.stages.stage import Candidate


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
