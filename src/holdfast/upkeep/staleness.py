"""Facts that nobody confirmed for long: a few at a time are named for review.

A fact is stale after the days it was expected to hold, else after 90; being confirmed or used
begins the days anew. When three or more are stale, at most ten are named, the least sure first.
Corrections never are. What the user said is only named; the rest may be put aside.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from holdfast.types import Record
from holdfast.upkeep.acts import Act, Deed, days_since, is_protected, standing

JOB = "staleness"
USUAL_DAYS = 90
FEWEST = 3
MOST = 10
#: No fact is expected to hold for longer than this without being confirmed.
_LONGEST_DAYS = 3650


def expected_days(record: Record) -> float:
    """For how long a fact is expected to hold."""
    told = record.data.get("expected_valid_days")
    if isinstance(told, bool) or not isinstance(told, int | float) or not told > 0:
        return USUAL_DAYS
    return min(float(told), _LONGEST_DAYS)


def is_stale(record: Record, now: datetime) -> bool:
    """Whether a fact has held for longer than was expected, unconfirmed."""
    return days_since(record.seen_at or record.known_from, now) > expected_days(record)


def plan(records: Sequence[Record], *, now: datetime, most: int) -> list[Act]:
    """Name stale facts; at most `most` of them may be put aside."""
    stale = [
        each
        for each in standing(records)
        if each.tier == "fact"
        and each.kind != "correction"
        and each.data.get("pinned") is not True
        and is_stale(each, now)
    ]
    if len(stale) < FEWEST:
        return []
    acts: list[Act] = []
    for each in sorted(stale, key=lambda one: (one.confidence, one.known_from, one.id))[:MOST]:
        days = days_since(each.seen_at or each.known_from, now)
        deed: Deed = "review" if is_protected(each) or most <= 0 else "archive"
        most -= deed == "archive"
        reason = f"not confirmed for {days:.0f} days, expected {expected_days(each):.0f}"
        acts.append(Act(JOB, deed, (each.id,), reason))
    return acts
