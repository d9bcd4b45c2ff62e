"""How present entities and edges still are: arithmetic on when they were last seen.

Nothing is deleted by fading, and no job does it: asked twice, late or never, the answer is the
same. Time counts from when something was learned or seen again, never from when it happened:
imported history is not born faded. What was touched, which is used in a context or judged, has a
strength of its own from that moment on (`full`); being heard again begins a new life.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from holdfast.store.base import FOREVER_US

DAY_US = 86_400_000_000
#: An entity at first sight, what each further turn that speaks of it adds, and what is left of it
#: per day once a day has passed without one.
_FIRST, _MORE, _LEFT_A_DAY = 0.5, 0.10, 0.97
_HALF_LIFE_DAYS = 90
#: An edge of less strength is left out of walks.
FADED = 0.10
#: An entity of less strength leaves the live graph.
GONE = 0.01

Times = NDArray[np.int64]


def entity_birth(turns: int) -> float:
    """The strength of an entity that so many turns speak of, when the last of them came."""
    return min(1.0, _FIRST + _MORE * max(0, turns - 1))


def entity_births(turns: NDArray[np.int64]) -> NDArray[np.float64]:
    """The same for many."""
    return np.minimum(1.0, _FIRST + _MORE * np.maximum(0, turns - 1))


def of_entity(turns: int, seen_us: int, now_us: int, full: float | None = None) -> float:
    """The strength of an entity that so many turns speak of."""
    begun = entity_birth(turns) if full is None else full
    return begun * math.pow(_LEFT_A_DAY, max(0.0, (now_us - seen_us) / DAY_US - 1))


def of_edge(seen_us: int, now_us: int, full: float | None = None) -> float:
    """The strength of an edge."""
    days = max(0, now_us - seen_us) / DAY_US
    return (1.0 if full is None else full) * math.pow(0.5, days / _HALF_LIFE_DAYS)


def edges_until(seen_us: Times, full: NDArray[np.float64]) -> Times:
    """Until when edges are walked; `full` is what each was at its time."""
    with np.errstate(divide="ignore"):
        days = _HALF_LIFE_DAYS * np.log2(full / FADED)
    return _after(seen_us, days)


def entities_until(seen_us: Times, full: NDArray[np.float64]) -> Times:
    """Until when entities are in the live graph; `full` is what each was at its time."""
    with np.errstate(divide="ignore"):
        days = 1.0 + np.log(full / GONE) / -math.log(_LEFT_A_DAY)
    return _after(seen_us, np.where(full < GONE, -np.inf, days))


def _after(seen_us: Times, days: NDArray[np.float64]) -> Times:
    """So many days after some times; what was never strong enough never was there."""
    past = days < 0
    moved = np.round(np.where(past, 0.0, days) * DAY_US).astype(np.int64)
    return np.where(past, -FOREVER_US, seen_us + moved)
