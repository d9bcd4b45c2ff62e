"""Following the store: what is kept in memory of the owners in use, and how it stays fresh.

A `Follower` keeps something of one owner. Before each look one tiny read of the feed's head tells
whether anything changed, by this process or another; only what changed is read again. Rows that
were physically removed raise the epoch: then everything is read anew. `InUse` keeps followers, the
least used dropped when there is too much of them.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Generic, TypeVar

from holdfast.store.protocols import Change, Feed, Head, Store
from holdfast.types import Scope

Key = TypeVar("Key", bound=Hashable)
Kept = TypeVar("Kept")
Owner = tuple[str, str]


def owner_of(scope: Scope) -> Owner:
    """By what an owner is kept."""
    return scope.workspace, scope.user


class _Look(threading.local):
    """The heads that this thread has asked for since its look began; None: it is not looking."""

    heads: dict[Owner, Head] | None = None


_look = _Look()


@contextmanager
def one_look() -> Iterator[None]:
    """Within this block the head of an owner's feed is asked for once: what follows it stands at
    least where the store stood when the block began."""
    before, _look.heads = _look.heads, {}
    try:
        yield
    finally:
        _look.heads = before


def head_of(store: Feed, scope: Scope) -> Head:
    """The head of an owner's feed; within one look that of the first time."""
    if _look.heads is None:
        return store.head(scope)
    owner = owner_of(scope)
    found = _look.heads.get(owner)
    if found is None:
        found = _look.heads[owner] = store.head(scope)
    return found


def goes_on(seen: Head, head: Head) -> bool:
    """Whether what was read at one head can be brought to another by what changed in between."""
    return (seen.epoch, seen.history) == (head.epoch, head.history)


class Follower(ABC):
    """Something of one owner, kept as the store is. Who looks at it holds `lock`."""

    __slots__ = ("lock", "seen")

    def __init__(self) -> None:
        self.lock = threading.RLock()
        #: The head of the feed that this stands for.
        self.seen: Head | None = None

    def follow(self, store: Store, scope: Scope) -> None:
        """Catch up with the store; what fails is tried again by the next call."""
        with self.lock:
            # Before anything is read: what is written meanwhile is looked for again.
            head = head_of(store, scope)
            seen = self.seen
            if seen is not None and goes_on(seen, head) and head.change <= seen.change:
                return  # Another thread may have come further.
            if self.seen is None or not goes_on(self.seen, head):
                self.read_all(store, scope)
            else:
                self.read_changes(store, scope, store.changes(scope, after=self.seen.change))
            self.seen = head

    @abstractmethod
    def read_all(self, store: Store, scope: Scope) -> None:
        """Forget what is kept and read it anew."""

    @abstractmethod
    def read_changes(self, store: Store, scope: Scope, changes: Sequence[Change]) -> None:
        """Bring what is kept up to date."""


class InUse(Generic[Key, Kept]):
    """What was asked for last. Threads may share it."""

    def __init__(self, size: Callable[[Kept], int], *, most: int) -> None:
        self._size = size
        self._most = most
        self._lock = threading.Lock()
        self._kept: OrderedDict[Key, Kept] = OrderedDict()

    def get(self, key: Key, make: Callable[[], Kept]) -> Kept:
        """The one of this key, made where it is missing; it is the last to be dropped now."""
        with self._lock:
            kept = self._kept.get(key)
            if kept is None:
                kept = self._kept[key] = make()
            self._kept.move_to_end(key)
        return kept

    def items(self) -> list[tuple[Key, Kept]]:
        """All of them, the least used first."""
        with self._lock:
            return list(self._kept.items())

    def make_room(self) -> None:
        """Drop the least used while there is too much. The last one stays, however large."""
        with self._lock:
            total = sum(map(self._size, self._kept.values()))
            while total > self._most and len(self._kept) > 1:
                _, dropped = self._kept.popitem(last=False)
                total -= self._size(dropped)
