"""How present a memory still is: arithmetic on its times, for every tier.

Nothing here writes. A note loses 0.12 a day after its first week and is hidden under 0.2; entities
and edges fade as graph/adjacency.py says; nothing else fades with age. What is used in a context or
judged by somebody is touched: it gets a strength of its own at that moment, in 0..1, and goes on
from there. Age counts from when we knew of something, never from when it happened, and a clock that
jumps back makes nothing older or younger than new.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.records.graph.adjacency import (
    DAY_US,
    edges_until,
    entities_until,
    entity_birth,
    of_edge,
    of_entity,
)
from holdfast.settings import DECAY, Decay
from holdfast.store.protocols import FOREVER_US
from holdfast.types import Record

#: What a touch adds. The seed's; blame as much as praise (docs/decisions/0011).
USED, PRAISED, BLAMED = 0.10, 0.20, -0.20
#: A note is whole for so many days, then loses this much a day, and is hidden under that.
#: The seed's.
NOTE_DAYS = 7.0
NOTE_LOSS = 0.12
NOTE_HIDDEN = 0.2
#: What a memory is born with. What does not fade begins in the middle: it can be judged both ways.
#: docs/decisions/0011.
NOTE_BIRTH = 1.0
BIRTH = 0.5

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Floats = NDArray[np.floating[Any]]
Times = NDArray[np.int64]


def birth(record: Record) -> float:
    """What a memory is before anybody touches it."""
    if record.tier == "note":
        return NOTE_BIRTH
    if record.tier == "graph" and record.kind == "entity":
        return entity_birth(len(record.sources))
    return 1.0 if record.tier == "graph" and record.kind == "relation" else BIRTH


def strength(record: Record, now: datetime, decay: Decay = DECAY) -> float:
    """How present a memory is at a time, 0..1."""
    seen_us, now_us = _us(record.seen_at or record.known_from), _us(now)
    if record.tier == "note":
        return of_note(_us(record.known_from), seen_us, now_us, record.strength)
    if record.tier == "graph" and record.kind == "entity":
        return of_entity(len(record.sources), seen_us, now_us, record.strength, decay=decay)
    if record.tier == "graph" and record.kind == "relation":
        return of_edge(seen_us, now_us, record.strength, decay=decay)
    return BIRTH if record.strength is None else record.strength


def touched(record: Record, now: datetime, delta: float, decay: Decay = DECAY) -> float:
    """What a touch makes of the strength that a memory has at a time."""
    return min(1.0, max(0.0, strength(record, now, decay) + delta))


def until(record: Record, decay: Decay = DECAY) -> datetime | None:
    """Until when a memory is shown if nothing touches it; None for one that does not fade. What is
    hidden already was shown until a time that lies before it was last seen, or never."""
    seen = np.array([_us(record.seen_at or record.known_from)])
    full = np.array([birth(record) if record.strength is None else record.strength])
    if record.tier == "note":
        touch = np.array([-1.0 if record.strength is None else record.strength])
        end = notes_until(np.array([_us(record.known_from)]), seen, touch)
    elif record.tier == "graph" and record.kind == "entity":
        end = entities_until(seen, full, decay=decay)
    elif record.tier == "graph" and record.kind == "relation":
        end = edges_until(seen, full, decay=decay)
    else:
        return None
    if end[0] >= FOREVER_US:
        return None
    # What was never strong enough was shown until it came to be so.
    return _EPOCH + timedelta(microseconds=int(end[0] if end[0] > -FOREVER_US else seen[0]))


def of_note(known_us: int, seen_us: int, now_us: int, full: float | None = None) -> float:
    """The strength of a note: whole for a week from when it was stored or confirmed; one that was
    touched keeps what that gave it until its first week is over."""
    if full is None:
        begin, full = seen_us + round(NOTE_DAYS * DAY_US), NOTE_BIRTH
    else:
        begin = max(seen_us, known_us + round(NOTE_DAYS * DAY_US))
    return max(0.0, full - NOTE_LOSS * max(0, now_us - begin) / DAY_US)


def notes_until(known_us: Times, seen_us: Times, full: Floats) -> Times:
    """Until when notes are shown, all at once; `full` is -1 where nobody touched one."""
    alone = full < 0
    week = round(NOTE_DAYS * DAY_US)
    begin = np.where(alone, seen_us + week, np.maximum(seen_us, known_us + week))
    left = np.where(alone, NOTE_BIRTH, full.astype(np.float64)) - NOTE_HIDDEN
    # Strengths are kept in 32 bits: one that was 0.2 is still 0.2.
    shown = np.round(np.maximum(left, 0.0) / NOTE_LOSS * DAY_US).astype(np.int64)
    return np.where(left < -1e-6, -FOREVER_US, begin + shown)


def _us(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)
