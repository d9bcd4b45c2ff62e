"""How present entities and edges still are: arithmetic on when they were last seen, never stored.

Nothing is deleted by fading, and no job does it: asked twice, late or never, the answer is the
same. Time counts from when something was learned or seen again, never from when it happened:
imported history is not born faded.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

_DAY_US = 86_400_000_000
#: An entity at first sight, what each further turn that speaks of it adds, and what is left of it
#: per day once a day has passed without one.
_FIRST, _MORE, _LEFT_A_DAY = 0.5, 0.10, 0.97
_HALF_LIFE_DAYS = 90
#: An edge of less strength is left out of walks.
FADED = 0.10
_FADED_US = round(_HALF_LIFE_DAYS * math.log2(1 / FADED) * _DAY_US)


def of_entity(turns: int, seen_us: int, now_us: int) -> float:
    """The strength of an entity that so many turns speak of."""
    full = min(1.0, _FIRST + _MORE * max(0, turns - 1))
    return full * math.pow(_LEFT_A_DAY, max(0.0, (now_us - seen_us) / _DAY_US - 1))


def of_edge(seen_us: int, now_us: int) -> float:
    """The strength of an edge."""
    days = max(0, now_us - seen_us) / _DAY_US
    return math.pow(0.5, days / _HALF_LIFE_DAYS)


def unfaded(seen_us: NDArray[np.int64], now_us: int) -> NDArray[np.bool_]:
    """Which edges have not faded."""
    strong: NDArray[np.bool_] = seen_us >= now_us - _FADED_US
    return strong
