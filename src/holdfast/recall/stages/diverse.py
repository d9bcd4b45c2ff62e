"""Diversity: the next memory should say something that those before it did not.

Maximal marginal relevance (Carbonell and Goldstein, 1998): each place goes to the candidate with
the highest
    balance * score(d) - (1 - balance) * max(0, highest cosine of d with those already placed)
Balance 0.85 by default, the seed's; 1.0 is no diversity at all. Only the first `limit` places are
given out anew, among the first 2 * `limit` candidates: what stands further down is too weak to be
worth its place for being different.

Places keep their scores: whoever moves takes the score of the new place. So the scores stay in
order, and protected candidates, which do not move, keep theirs.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from holdfast.recall.stages.stage import Candidate

#: How much relevance counts against novelty.
BALANCE = 0.85
#: Candidates looked at, for each place.
_REACH = 2


def diverse(
    candidates: list[Candidate],
    *,
    rows: NDArray[np.float32] | None,
    limit: int,
    protected: Collection[int] = (),
    balance: float = BALANCE,
) -> list[Candidate]:
    """The candidates in the new order; the very same list where nothing moves.

    `rows` are the unit vectors of the candidates (or of the first 2 * `limit`), a row each, not a
    number where there is none: such a candidate is like no other.
    """
    reach = min(len(candidates), _REACH * limit)
    if rows is None or balance >= 1.0 or reach < 3:  # The best is first anyway.
        return candidates
    window = candidates[:reach]
    fixed = np.array([each.doc in protected for each in window])
    scores = np.array([each.score for each in window])
    places = _places(scores, np.nan_to_num(rows[:reach]), fixed, limit=limit, balance=balance)
    if places == list(range(reach)):
        return candidates
    moved = [_moved(window, place, old) for place, old in enumerate(places)]
    return moved + candidates[reach:]


def _places(
    scores: NDArray[np.float64],
    rows: NDArray[np.float32],
    fixed: NDArray[np.bool_],
    *,
    limit: int,
    balance: float,
) -> list[int]:
    """For every place who takes it, by the old places."""
    left = ~fixed
    likeness = np.zeros(len(scores))
    places: list[int] = []
    for place in range(min(limit, len(scores))):
        worth = balance * scores - (1.0 - balance) * likeness
        chosen = place if fixed[place] else int(np.where(left, worth, -np.inf).argmax())
        left[chosen] = False
        places.append(chosen)
        np.maximum(likeness, np.einsum("ij,j->i", rows, rows[chosen]), out=likeness)
    rest = iter(np.flatnonzero(left).tolist())
    places += [place if fixed[place] else next(rest) for place in range(limit, len(scores))]
    return places


def _moved(window: list[Candidate], place: int, old: int) -> Candidate:
    if place == old:
        return window[old]
    note = {"before": old + 1, "score": window[old].score}
    return window[old].scored(window[place].score, "diverse", note)
