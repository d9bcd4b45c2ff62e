"""How full a tier is, and what goes first when it is too full.

Two orders: "confidence" keeps the surest; "hybrid-v1" keeps by

    0.65 * confidence + 0.25 * 2^(-days since confirmed / 90) + 0.10 * heat

where a fact that was never confirmed counts half for its age, and heat is
min(1, ln(1 + uses * 2^(-days since seen / 30)) / ln 9). In both some places are kept for
corrections: what was wrong once must not be learned again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from holdfast.types import Record
from holdfast.upkeep.acts import Act, days_since, is_protected, standing

JOB = "capacity"
LIMIT = 5000
#: Shares of the limit: something should be done; it is full; far too full. The seed's.
WARN, FULL, OVER = 0.8, 1.0, 1.2
POLICIES: tuple[str, ...] = ("confidence", "hybrid-v1")
#: The seed's `hybrid-v1`.
_WEIGHTS = (0.65, 0.25, 0.10)
_CONFIRMED_DAYS, _HEAT_DAYS = 90, 30
_HOT = math.log(9)
_MOST_RESERVED, _RESERVED_SHARE = 10, 0.10


@dataclass(frozen=True, slots=True)
class Usage:
    """How full one tier of an owner is."""

    tier: str
    count: int
    limit: int
    #: none, consolidate, decay, consolidate-and-decay
    recommendation: str

    @property
    def share(self) -> float:
        """Of the limit."""
        return self.count / self.limit

    @property
    def warns(self) -> bool:
        """Whether it is nearly full."""
        return self.share >= WARN


def usage(records: Sequence[Record], tier: str, *, limit: int = LIMIT) -> Usage:
    """How full a tier is, and what would help."""
    count = sum(each.tier == tier for each in standing(records))
    return Usage(tier, count, limit, recommendation(count / limit))


def recommendation(share: float) -> str:
    """What to do about a tier that is so full."""
    if share < WARN:
        return "none"
    if share < FULL:
        return "consolidate"
    return "decay" if share < OVER else "consolidate-and-decay"


def worth(record: Record, now: datetime, *, policy: str = "hybrid-v1") -> float:
    """What a record counts when places are short."""
    if policy == "confidence":
        return record.confidence
    days = days_since(record.seen_at or record.known_from, now)
    confirmed = math.pow(2, -days / _CONFIRMED_DAYS)
    if record.seen_at is None:
        confirmed /= 2
    heat = math.log(1 + record.uses * math.pow(2, -days / _HEAT_DAYS)) / _HOT
    sure, fresh, hot = _WEIGHTS
    return sure * record.confidence + fresh * confirmed + hot * min(1.0, heat)


def reserve(limit: int) -> int:
    """Places that are kept for corrections."""
    return min(_MOST_RESERVED, math.ceil(_RESERVED_SHARE * limit))


def plan(
    records: Sequence[Record],
    tier: str,
    *,
    now: datetime,
    most: int,
    limit: int = LIMIT,
    policy: str = "hybrid-v1",
) -> list[Act]:
    """Put aside what is over the limit, the least worth first, at most so many."""
    there = [each for each in standing(records) if each.tier == tier]
    over = len(there) - limit
    if over <= 0:
        return []
    # Of equals the newest stays.
    best_first = sorted(
        there, key=lambda each: (-worth(each, now, policy=policy), -each.known_from.timestamp())
    )
    corrections = [each.id for each in best_first if each.kind == "correction"]
    kept = set(corrections[: reserve(limit)])
    out = [each for each in reversed(best_first) if each.id not in kept and not is_protected(each)]
    reason = f"{len(there)} {tier} records, the limit is {limit} ({policy})"
    return [Act(JOB, "archive", (each.id,), reason) for each in out[: min(over, most)]]
