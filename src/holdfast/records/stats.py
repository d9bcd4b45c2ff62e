"""How much a user has in each tier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from holdfast.records.forecast import SessionStats
from holdfast.store.protocols import Store
from holdfast.types import ALL_TIERS, Scope


@dataclass(frozen=True, slots=True)
class Stats:
    """What a user has, and of a session that was named how full it is."""

    #: Memories that hold, by tier.
    tiers: Mapping[str, int]
    session: SessionStats | None = None


def count_by_tier(store: Store, scope: Scope) -> dict[str, int]:
    """Memories that hold, by tier; every tier is there."""
    found = store.tally(scope)
    return {tier: found.get(tier, 0) for tier in ALL_TIERS}
