"""The records that profiles are made of, kept in memory as long as none of them changes.

A profile is asked for before every answer, but facts change seldom. What changed since is asked of
the store's feed, which is cheap, so what another process writes is seen as well.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime

from holdfast.records.profile_values import Profile
from holdfast.store.base import Head, Store
from holdfast.types import Record, Scope

_TIERS = frozenset({"fact", "profile"})
#: Records of all owners together, some 1.5 kB each.
_MOST_RECORDS = 50_000

Owner = tuple[str, str]


@dataclass(slots=True)
class Kept:
    """What is known of an owner: of now and of the past, without what was forgotten."""

    head: Head
    facts: list[Record]
    written: list[Record]
    #: By agent the profile that was made of them last, and from and until when it is right.
    made: dict[str | None, tuple[Profile, datetime, datetime]] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return 1 + len(self.facts) + len(self.written)


class Keep:
    """Keeps the records of the owners that were asked for last. Threads may share it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._owners: OrderedDict[Owner, Kept] = OrderedDict()

    def of(self, scope: Scope) -> Kept:
        """The records of an owner as they are now."""
        owner = scope.workspace, scope.user
        # Before they are read: what is written meanwhile is looked for again.
        head = self._store.head(scope)
        with self._lock:
            kept = self._owners.get(owner)
        if kept is None or not self._is_fresh(scope, kept, head):
            kept = Kept(head, self._listed(scope, "fact"), self._listed(scope, "profile"))
        with self._lock:
            self._owners[owner] = kept
            self._owners.move_to_end(owner)
            while len(self._owners) > 1 and self._size() > _MOST_RECORDS:
                self._owners.popitem(last=False)
        return kept

    def _is_fresh(self, scope: Scope, kept: Kept, head: Head) -> bool:
        if kept.head == head:
            return True
        if kept.head.epoch != head.epoch or head.change < kept.head.change:
            return False
        changes = self._store.changes(scope, after=kept.head.change)
        if any(change.tier in _TIERS for change in changes):
            return False
        kept.head = head
        return True

    def _listed(self, scope: Scope, tier: str) -> list[Record]:
        return self._store.listed(scope, tier=tier, current=False)

    def _size(self) -> int:
        return sum(kept.size for kept in self._owners.values())
