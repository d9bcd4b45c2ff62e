"""How much is taken in: requests of a key in a minute, requests at one time, jobs that wait.

Counted on the event loop alone, so without locks; in this process alone, so per process.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from fastapi import HTTPException
from starlette.concurrency import run_in_threadpool

from recollect.store.base import Store

Timer = Callable[[], float]

_LOOK_AGAIN_SECONDS = 1.0
_QUEUE_RETRY_SECONDS = "5"


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
            self._waiting = (await run_in_threadpool(self._store.counts)).ready

    def check(self) -> None:
        """Refuse what would make it longer."""
        if self._most and self._waiting > self._most:
            words = f"{self._waiting} jobs are waiting, the limit is {self._most}: try again later"
            raise HTTPException(429, words, headers={"retry-after": _QUEUE_RETRY_SECONDS})
