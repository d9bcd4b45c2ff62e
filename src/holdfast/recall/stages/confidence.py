"""The confidence floor: what we are not sure of is not told.

A derived memory (a note, a fact, an entity) carries how sure its maker was. Below `least` (default
0.5, the seed's minConfidence) it is dropped; at `least` it stays. A turn of a session was said, and
that is certain, so turns are never dropped, whatever stands in their column. A derived memory whose
confidence is not a number has none and stays.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from holdfast.recall.stages.stage import Candidate


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
