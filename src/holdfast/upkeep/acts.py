"""What upkeep wants to do, as values: a job plans, the round applies, a person can undo.

A plan is a pure function of records and a time. Nothing in it deletes: an act puts aside (archive),
lets one record stand for several (merge), or only names what somebody should look at (review).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
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
