"""Neighbour context: "Yes, in June!" is of use only beside the question it answers.

Behind a winner of few terms comes the turn before it in its session, if it was not found by itself.
It only takes places that would stay empty: a list that is full is left alone, because whatever was
found for the question is better than what merely stands beside it. The first winners are served
first. A turn that is added gets a score between the winner and the next candidate, so the order
holds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from holdfast.recall.stages.stage import Candidate

#: So many turns are added at most.
COUNT = 3
#: A turn of so many terms (stop words do not count) seldom stands for itself.
SHORT = 6.0


def accompanied(
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
