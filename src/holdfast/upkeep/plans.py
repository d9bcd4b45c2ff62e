"""What upkeep puts aside, and why: too much, too old, worth too little.

A job plans, the round applies (`nightly.py`), a person can undo. A plan is a pure function of
records and a time. Nothing in it deletes: an act puts aside (archive),
lets one record stand for several (merge), or only names what somebody should look at (review).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Literal

from holdfast.language.statements.values import BY_USER
from holdfast.store.protocols import Derived
from holdfast.types import Record, Scope

#: Tiers that upkeep looks after. Turns are the truth, rules are the user's; what was written into
#: the knowledge base, the team's memory, procedures or the graph was put there by somebody.
TIERS: tuple[str, ...] = ("fact", "note")
#: What upkeep may put aside of one owner in one day: this share, at least so many.
#: By hand, not measured.
SHARE_A_DAY = 0.01
FEWEST_A_DAY = 10

Deed = Literal["archive", "merge", "review"]


@dataclass(frozen=True, slots=True)
class Act:
    """One thing to do, and why."""

    job: str
    deed: Deed
    #: The records it is done to.
    ids: tuple[str, ...]
    #: Goes into their history.
    reason: str
    #: Of a merge: what stands for them.
    record: Derived | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """What one job did, or in shadow mode would have done, for one owner."""

    #: The reason in the history of everything that was changed begins with it; see
    #: `NightlyRound.undo`.
    run: str
    job: str
    scope: Scope
    at: datetime
    acts: tuple[Act, ...]
    #: Ids that were changed; none in shadow mode.
    changed: tuple[str, ...] = ()
    shadow: bool = True


def is_protected(record: Record) -> bool:
    """What no upkeep puts aside: turns, rules, what is pinned, what the user said."""
    if record.tier not in TIERS or record.kind == "instruction":
        return True
    return record.origin in BY_USER or record.data.get("pinned") is True


def quota(records: Sequence[Record], *, now: datetime) -> int:
    """How many of an owner's records may still be put aside today, `records` being all of those
    tiers, archived ones too. A day is 24 hours, and what was put aside in the future counts: a
    clock that jumps opens no new day."""
    most = max(FEWEST_A_DAY, int(SHARE_A_DAY * len(records)))
    since = now - timedelta(days=1)
    lately = sum(each.archived_at is not None and each.archived_at > since for each in records)
    return max(0, most - lately)


def standing(records: Iterable[Record]) -> list[Record]:
    """Records that hold and were not put aside."""
    return [each for each in records if each.archived_at is None and each.known_to is None]


def days_since(then: datetime, now: datetime) -> float:
    """Days that have passed, never less than none."""
    return max(0.0, (now - then) / timedelta(days=1))


# ----------------------------------------------------------------------
# How full a tier is, and what goes first when it is too full. Two orders: "confidence" keeps the
# surest; "hybrid-v1" keeps by
#
#     0.65 * confidence + 0.25 * 2^(-days since confirmed / 90) + 0.10 * heat
#
# where a fact that was never confirmed counts half for its age, and heat is
# min(1, ln(1 + uses * 2^(-days since seen / 30)) / ln 9). In both some places are kept for
# corrections: what was wrong once must not be learned again.
# ----------------------------------------------------------------------

CAPACITY = "capacity"
LIMIT = 5000
#: Shares of the limit: something should be done; it is full; far too full. The seed's.
WARN, FULL, OVER = 0.8, 1.0, 1.2
#: The seed's `hybrid-v1`.
_WEIGHTS = (0.65, 0.25, 0.10)
_CONFIRMED_DAYS, _HEAT_DAYS = 90, 30
_HOT = math.log(9)
_MOST_RESERVED, _RESERVED_SHARE = 10, 0.10


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


def plan_capacity(
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
    return [Act(CAPACITY, "archive", (each.id,), reason) for each in out[: min(over, most)]]


# ----------------------------------------------------------------------
# Facts that nobody confirmed for long: a few at a time are named for review.
#
# A fact is stale after the days it was expected to hold, else after 90; being confirmed or used
# begins the days anew. When three or more are stale, at most ten are named, the least sure first.
# Corrections never are. What the user said is only named; the rest may be put aside.
# ----------------------------------------------------------------------

STALENESS = "staleness"
_USUAL_DAYS = 90
_FEWEST_STALE, _MOST_STALE = 3, 10
#: No fact is expected to hold for longer than this without being confirmed.
_LONGEST_DAYS = 3650


def expected_days(record: Record) -> float:
    """For how long a fact is expected to hold."""
    told = record.data.get("expected_valid_days")
    if isinstance(told, bool) or not isinstance(told, int | float) or not told > 0:
        return _USUAL_DAYS
    return min(float(told), _LONGEST_DAYS)


def is_stale(record: Record, now: datetime) -> bool:
    """Whether a fact has held for longer than was expected, unconfirmed."""
    return days_since(record.seen_at or record.known_from, now) > expected_days(record)


def plan_staleness(records: Sequence[Record], *, now: datetime, most: int) -> list[Act]:
    """Name stale facts; at most `most` of them may be put aside."""
    stale = [
        each
        for each in standing(records)
        if each.tier == "fact"
        and each.kind != "correction"
        and each.data.get("pinned") is not True
        and is_stale(each, now)
    ]
    if len(stale) < _FEWEST_STALE:
        return []
    acts: list[Act] = []
    for each in sorted(stale, key=lambda one: (one.confidence, one.known_from, one.id))[
        :_MOST_STALE
    ]:
        days = days_since(each.seen_at or each.known_from, now)
        deed: Deed = "review" if is_protected(each) or most <= 0 else "archive"
        most -= deed == "archive"
        reason = f"not confirmed for {days:.0f} days, expected {expected_days(each):.0f}"
        acts.append(Act(STALENESS, deed, (each.id,), reason))
    return acts


# ----------------------------------------------------------------------
# What is worth keeping at hand: importance, freshness and use, weighed by whose word it is.
#
#     retention = (0.4 * importance + 0.4 * exp(-days / 30) + 0.2 * min(1, uses / 10)) * trust
#
# Under 0.2 and at least a week old a record may be put aside. Days count from when it was last
# seen, used or confirmed, else from when it was learned.
# ----------------------------------------------------------------------

RETENTION = "retention"
#: The seed's, as the formula.
LEAST_RETENTION = 0.2
_YOUNGEST_DAYS = 7
_FRESH_DAYS = 30
_MANY_USES = 10
#: How far a word is trusted, by the channel it came through; others as `import`.
_TRUST: Mapping[str, float] = MappingProxyType(
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
    return _TRUST.get(origin, _TRUST["import"])


def retention(record: Record, now: datetime) -> float:
    """How much speaks for keeping a record at hand, 0..1."""
    fresh = math.exp(-days_since(record.seen_at or record.known_from, now) / _FRESH_DAYS)
    often = min(1.0, record.uses / _MANY_USES)
    return (0.4 * record.importance + 0.4 * fresh + 0.2 * often) * trust(record.origin)


def plan_retention(records: Sequence[Record], *, now: datetime, most: int) -> list[Act]:
    """Put aside at most so many of what is least worth keeping, the least first."""
    old = [
        each
        for each in standing(records)
        if not is_protected(each) and days_since(each.known_from, now) >= _YOUNGEST_DAYS
    ]
    worth = {each.id: retention(each, now) for each in old}
    out = sorted((worth[each.id], each.id) for each in old if worth[each.id] < LEAST_RETENTION)
    return [
        Act(RETENTION, "archive", (id,), f"retention {value:.2f} under {LEAST_RETENTION}")
        for value, id in out[:most]
    ]
