"""The conciseness penalty: of two texts that fit alike, the short one is worth more.

A long text matches many questions a little and spends the reader's tokens on all the rest of it.
    border   = max(median length of the candidates, `least`)
    score(d) = score(d) * (1 - most * (1 - border / length(d)))   where length(d) > border
At the border nothing is taken, and never more than `most`, so there is no jump and a longer text
never fares better than a shorter one of the same score. Lengths are in terms, repeats counted: one
term is about nine characters of plain English, so 17 terms are the seed's 150 characters.
"""

from __future__ import annotations

from collections.abc import Collection
from statistics import median

import numpy as np
from numpy.typing import NDArray

from holdfast.recall.stages.stage import Candidate, by_score

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
