"""What is worth keeping at hand: importance, freshness and use, weighed by whose word it is.

retention = (0.4 * importance + 0.4 * exp(-days / 30) + 0.2 * min(1, uses / 10)) * trust

Under 0.2 and at least a week old a record may be put aside. Days count from when it was last seen,
used or confirmed, else from when it was learned.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType

from holdfast.types import Record
from holdfast.upkeep.acts import Act, days_since, is_protected, standing

JOB = "retention"
#: The seed's, as the formula.
LEAST = 0.2
YOUNGEST_DAYS = 7
_FRESH_DAYS = 30
_MANY_USES = 10
#: How far a word is trusted, by the channel it came through; others as `import`.
TRUST: Mapping[str, float] = MappingProxyType(
    {
        "user": 1.0,
        "user_confirmed": 1.0,
        "agent": 0.8,
        "tool": 0.7,
        "document": 0.7,
        "import": 0.6,
        "web": 0.5,
    }
)


def trust(origin: str) -> float:
    """How far a word of this origin is trusted."""
    return TRUST.get(origin, TRUST["import"])


def retention(record: Record, now: datetime) -> float:
    """How much speaks for keeping a record at hand, 0..1."""
    fresh = math.exp(-days_since(record.seen_at or record.known_from, now) / _FRESH_DAYS)
    often = min(1.0, record.uses / _MANY_USES)
    return (0.4 * record.importance + 0.4 * fresh + 0.2 * often) * trust(record.origin)


def plan(records: Sequence[Record], *, now: datetime, most: int) -> list[Act]:
    """Put aside at most so many of what is least worth keeping, the least first."""
    old = [
        each
        for each in standing(records)
        if not is_protected(each) and days_since(each.known_from, now) >= YOUNGEST_DAYS
    ]
    worth = {each.id: retention(each, now) for each in old}
    out = sorted((worth[each.id], each.id) for each in old if worth[each.id] < LEAST)
    return [
        Act(JOB, "archive", (id,), f"retention {value:.2f} under {LEAST}")
        for value, id in out[:most]
    ]
