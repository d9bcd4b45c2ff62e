"""How a memory grows: what was learned, day by day."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from holdfast.store.protocols import Store
from holdfast.types import Scope


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
