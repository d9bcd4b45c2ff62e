"""What fades by when: told, not done."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from holdfast.records.fading import strength, until
from holdfast.records.parts import seen
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
    store: Store, scope: Scope, *, now: datetime, days: float, limit: int = _MOST
) -> list[Fading]:
    """What is hidden already or will be within so many days if nothing touches it, the first to go
    first; of what the asker may see. Entities that an edge still leads to are shown longer than
    this says."""
    then = now + timedelta(days=days)
    found = [
        fading
        for tier in _TIERS
        for record in seen(store.listed(scope, tier=tier), scope)
        if (fading := _fading(record, now, then)) is not None
    ]
    return sorted(found, key=lambda each: (each.hidden_at, each.id))[:limit]


def _fading(record: Record, now: datetime, then: datetime) -> Fading | None:
    hidden_at = until(record)
    if hidden_at is None or hidden_at >= then:
        return None
    return Fading(
        record.id,
        record.tier,
        record.kind,
        record.content,
        round(strength(record, now), 6),
        round(strength(record, then), 6),
        hidden_at,
        hidden_at < now,
    )
