"""Keeping house: what is long forgotten is wiped, and once a night a memory looks after itself.

Wiping cannot be undone, so it does not trust a clock that jumps. It goes by the time that the store
has *seen* pass: house time, which follows the clock over gaps of up to two days, and over longer
ones only as fast as this process has been running. A clock that is ten years ahead for a day wipes
what is due after one more day, not after ten more years; and a store that lay in a drawer for a
year gives everybody the days again in which they can change their mind.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import datetime, timedelta

from holdfast.config import Config
from holdfast.errors import HoldfastError
from holdfast.store.base import Store

log = logging.getLogger("holdfast.worker")

_EVERY_SECONDS = 3600.0
_CHORE = "house"
#: A gap that the clock may show without being doubted: a weekend switched off.
_USUAL_GAP = timedelta(days=2)


class House:
    """The rounds of one worker; several workers may keep the same house."""

    def __init__(self, store: Store, config: Config, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._config = config
        self._clock = clock
        self._next = 0.0
        self._last: float | None = None
        #: The nightly round; it knows itself when it is due.
        self.nightly: Callable[[datetime], object] | None = None

    def keep(self) -> None:
        """Go round if it is time to."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _EVERY_SECONDS
        self.round()

    def round(self) -> None:
        """Wipe what is due by house time, then the nightly round."""
        now = self._clock()
        seen = self._seen(now)
        if seen is not None:
            config = self._config
            self._store.wipe(forgotten_before=seen - timedelta(days=config.forget_days))
            self._store.forget_keys(seen - timedelta(days=config.key_days))
            self._store.forget_contexts(seen - timedelta(days=config.ledger_days))
        if self.nightly is not None:
            try:
                self.nightly(now)
            except HoldfastError as error:
                log.warning("the nightly round stopped: %s", type(error).__name__)

    def _seen(self, now: datetime) -> datetime | None:
        """House time, moved on and noted; None at the first round of a store."""
        running = time.monotonic()
        passed = timedelta(seconds=0.0 if self._last is None else running - self._last)
        self._last = running
        before = self._store.chores().get(_CHORE)
        if before is None:
            self._store.begin_chore(_CHORE, now=now, every_s=0.0)
            return None
        seen = now if now - before <= _USUAL_GAP else before + passed
        self._store.begin_chore(_CHORE, now=seen, every_s=0.0)
        return seen
