"""The versions of what stands under a name: their ids follow from the name and count up from 0.

So the present one of 10,000 entries, or of an entry that was set 10,000 times, is found with a few
reads by id. A version that was forgotten, or wiped since, keeps its number.
"""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.records import parts
from holdfast.records.knowledge.values import TIER
from holdfast.store.base import Store
from holdfast.types import Record, Scope

#: Versions that are looked for in one read.
_AT_ONCE = 500
#: 0, 1, 3, 7, ... more versions than there can be.
_PROBES = [(1 << power) - 1 for power in range(32)]


class Chain:
    """All versions of one document or entry, as they are at this moment."""

    def __init__(self, store: Store, owner: Scope, kind: str, name: str) -> None:
        self._store = store
        self._owner = owner
        # With the owner: who sees the documents of several must not meet an id twice.
        self._key = (TIER, owner.workspace, owner.user, kind, name)
        self._count = self._counted()

    @property
    def next_id(self) -> str:
        """The id of the next version."""
        return self._id(self._count)

    def current(self) -> Record | None:
        """The version that holds now: the last one that is there, or none."""
        high, at_once = self._count, 1
        while high:
            # Mostly it is the very last; those after it were forgotten.
            low = max(0, high - at_once)
            found = self._store.get(self._owner, [self._id(each) for each in range(low, high)])
            if found:
                return found[-1] if found[-1].known_to is None else None
            high, at_once = low, _AT_ONCE
        return None

    def versions(self, claim: object) -> list[Record]:
        """The versions since it was added, oldest first; after a removal it begins anew."""
        return [each for each in self.all() if each.data.get("claim", each.id) == claim]

    def all(self) -> list[Record]:
        """All versions that are there, oldest first."""
        return self._store.get(self._owner, [self._id(each) for each in range(self._count)])

    def _counted(self) -> int:
        used = self._used(_PROBES)
        high = next(each for each in _PROBES if each not in used)
        low = max(used, default=-1)
        while high - low > 1:
            middle = (low + high) // 2
            if self._used([middle]):
                low = middle
            else:
                high = middle
        return high

    def _used(self, numbers: Iterable[int]) -> set[int]:
        ids = {self._id(each): each for each in numbers}
        there = {record.id for record in self._store.get(self._owner, [*ids])}
        there |= self._store.forgotten(self._owner, [*ids]).keys()
        return {ids[each] for each in there}

    def _id(self, number: int) -> str:
        return parts.digest(*self._key, str(number))
