"""How much is taken in: requests of a key in a minute, what goes on at one time, jobs that wait.

Counted on the event loop alone, so without locks; in this process alone, so per process.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fastapi import HTTPException

from holdfast.service.http.aside import aside
from holdfast.store.base import Store

Timer = Callable[[], float]

_LOOK_AGAIN_SECONDS = 1.0
_QUEUE_RETRY_SECONDS = "5"
_PLACE_RETRY_SECONDS = "1"


class Rates:
    """So much in a minute for each one: a bucket of that size, which fills evenly."""

    def __init__(self, per_minute: int, *, timer: Timer = time.monotonic) -> None:
        self.per_minute = per_minute
        self._timer = timer
        #: By name, what was left, and when that was.
        self._left: dict[str, tuple[float, float]] = {}

    def wait(self, who: str) -> float:
        """Take one; 0, or the seconds until there is one to be had."""
        if not self.per_minute:
            return 0.0
        now, pace = self._timer(), self.per_minute / 60
        left, at = self._left.get(who, (float(self.per_minute), now))
        left = min(float(self.per_minute), left + (now - at) * pace)
        taken = left >= 1
        self._left[who] = (left - taken, now)
        return 0.0 if taken else (1 - left) / pace

    def check(self, who: str) -> None:
        """Take one, or refuse with the numbers."""
        if seconds := self.wait(who):
            retry = str(max(1, math.ceil(seconds)))
            words = f"this key may make {self.per_minute} requests a minute: try again in {retry} s"
            raise HTTPException(429, words, headers={"retry-after": retry})


class Places:
    """So many at one time for each one; `words` say of what, with the number."""

    def __init__(self, most: int, words: str, *, status: int = 429) -> None:
        self._most = most
        self._words = words.format(most=most)
        self._status = status
        self._taken: Counter[str] = Counter()

    @contextmanager
    def taken(self, who: str = "") -> Iterator[None]:
        """Hold one, or refuse."""
        if self._taken[who] >= self._most:
            retry = {"retry-after": _PLACE_RETRY_SECONDS}
            raise HTTPException(self._status, self._words, headers=retry)
        self._taken[who] += 1
        try:
            yield
        finally:
            self._taken[who] -= 1
            if not self._taken[who]:
                del self._taken[who]


class Backlog:
    """Whether the queue is so long that nothing more is taken in; looked at once a second."""

    def __init__(self, store: Store, most: int, *, timer: Timer = time.monotonic) -> None:
        self._store = store
        self._most = most
        self._timer = timer
        self._next = -math.inf
        self._waiting = 0

    async def look(self) -> None:
        """Count what waits, unless that was done a moment ago."""
        if self._most and self._timer() >= self._next:
            # Before the read: of many requests one goes and looks.
            self._next = self._timer() + _LOOK_AGAIN_SECONDS
            self._waiting = (await aside(self._store.counts)).ready

    def check(self) -> None:
        """Refuse what would make it longer."""
        if self._most and self._waiting > self._most:
            words = f"{self._waiting} jobs are waiting, the limit is {self._most}: try again later"
            raise HTTPException(429, words, headers={"retry-after": _QUEUE_RETRY_SECONDS})
