"""A circuit breaker: an endpoint that is down or refuses us is left alone for a while.

    401, 402, a spent quota          open at once, one probe every five minutes
    five transient failures in a row open for 30 s, doubled by every failed probe up to five minutes
    429 with Retry-After             open for that long, at most five minutes

Open means that `admit` raises `NotAsked` with the time to wait, and nothing is sent. When
the time is over one caller is let through as a probe; the others wait for another such time or for
its success, whichever comes first, so a prober that dies blocks nobody for ever. An endpoint that
answers anything else is there: a bad request closes the breaker as a good answer does.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from holdfast.errors import ModelError, ModelUnavailable, NotAsked, Refused

FAILURES_TO_OPEN = 5
FIRST_PAUSE_S = 30.0
LONGEST_PAUSE_S = 300.0
REFUSED_PAUSE_S = 300.0

T = TypeVar("T")


class Breaker:
    """Watches the calls to one endpoint; several threads may share it.

    `clock` counts seconds and never goes back.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        #: How long the next opening lasts.
        self._pause = FIRST_PAUSE_S
        #: While set, nobody passes before this time, and then one.
        self._until: float | None = None
        #: Somebody was let through since it opened.
        self._probing = False
        self._why = ""

    @property
    def is_open(self) -> bool:
        """Whether a call now would be a probe, or refused."""
        with self._lock:
            return self._until is not None

    def call(self, ask: Callable[[], T]) -> T:
        """What `ask` returns, unless the breaker is open; its ModelError is counted and raised."""
        self.admit()
        try:
            answer = ask()
        except ModelError as error:
            self.failed(error)
            raise
        self.succeeded()
        return answer

    def check(self) -> None:
        """Return if `admit` would, without being the one who is let through."""
        with self._lock:
            self._refuse(self._clock())

    def admit(self) -> None:
        """Return if a call may be made now; whoever was admitted reports how it went."""
        with self._lock:
            now = self._clock()
            self._refuse(now)
            if self._until is not None:
                # The probe. Should nobody report, another one follows after the same time.
                self._until = now + self._pause
                self._probing = True

    def succeeded(self) -> None:
        """The endpoint answered."""
        with self._lock:
            self._close()

    def failed(self, error: ModelError) -> None:
        """The endpoint failed, or answered that the request is wrong."""
        with self._lock:
            if isinstance(error, Refused):
                self._open(REFUSED_PAUSE_S, "the key or the account was refused")
            elif isinstance(error, ModelUnavailable):
                self._count(error)
            else:
                self._close()

    def _refuse(self, now: float) -> None:
        if self._until is not None and now < self._until:
            wait = self._until - now
            raise NotAsked(f"left alone for {wait:.0f} s: {self._why}", retry_after=wait)

    def _count(self, error: ModelUnavailable) -> None:
        self._failures += 1
        if error.retry_after:
            self._open(min(error.retry_after, LONGEST_PAUSE_S), "it asked for time")
        elif self._probing:
            self._open(min(self._pause * 2, LONGEST_PAUSE_S), "it is still down")
        elif self._until is None and self._failures >= FAILURES_TO_OPEN:
            # While it is open, what fails was sent before it opened and tells nothing new.
            self._open(FIRST_PAUSE_S, f"it failed {self._failures} times in a row")

    def _open(self, pause: float, why: str) -> None:
        self._pause = pause
        self._until = self._clock() + pause
        self._probing = False
        self._why = why

    def _close(self) -> None:
        self._failures = 0
        self._pause = FIRST_PAUSE_S
        self._until = None
        self._probing = False
        self._why = ""
