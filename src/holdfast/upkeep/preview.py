"""How a memory grows and fades: what was learned day by day, and what is hidden by when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from holdfast.records.fading import strength, until
from holdfast.records.parts import seen
from holdfast.settings import DECAY, Decay
from holdfast.store.protocols import Store
from holdfast.types import Record, Scope

_TIERS = ("note", "graph")
_MOST = 1000


@dataclass(frozen=True, slots=True)
class Fading:
    """A memory that will be hidden, or is."""

    id: str
    tier: str
    kind: str
    content: str
    #: Now, and after the days asked for.
    strength: float
    then: float
    #: From this time on it is left out, unless something touches it.
    hidden_at: datetime
    #: Whether it is already.
    hidden: bool


def decay_preview(
    store: Store,
    scope: Scope,
    *,
    now: datetime,
    days: float,
    limit: int = _MOST,
    decay: Decay = DECAY,
) -> list[Fading]:
    """What is hidden already or will be within so many days if nothing touches it, the first to go
    first; of what the asker may see. Entities that an edge still leads to are shown longer than
    this says."""
    then = now + timedelta(days=days)
    found = [
        fading
        for tier in _TIERS
        for record in seen(store.listed(scope, tier=tier), scope)
        if (fading := _fading(record, now, then, decay)) is not None
    ]
    return sorted(found, key=lambda each: (each.hidden_at, each.id))[:limit]


def _fading(record: Record, now: datetime, then: datetime, decay: Decay) -> Fading | None:
    hidden_at = until(record, decay)
    if hidden_at is None or hidden_at >= then:
        return None
    return Fading(
        record.id,
        record.tier,
        record.kind,
        record.content,
        round(strength(record, now, decay), 6),
        round(strength(record, then, decay), 6),
        hidden_at,
        hidden_at < now,
    )


@dataclass(frozen=True, slots=True)
class Grown:
    """What was learned on one day (UTC) and is still there."""

    day: date
    total: int
    #: By tier; those without any are left out.
    tiers: Mapping[str, int]


def growth_by_day(store: Store, scope: Scope, *, now: datetime, days: int) -> list[Grown]:
    """So many days up to today, oldest first, also those on which nothing came."""
    first = now.date() - timedelta(days=days - 1)
    since = datetime.combine(first, time(), now.tzinfo)
    found: dict[date, dict[str, int]] = {}
    for each in store.growth(scope, since=since):
        found.setdefault(each.day, {})[each.tier] = each.learned
    # What was learned by a clock that ran ahead is there too.
    spans = [first + timedelta(days=number) for number in range(days)]
    listed = sorted({*spans, *found})
    return [Grown(day, sum(found.get(day, {}).values()), found.get(day, {})) for day in listed]
