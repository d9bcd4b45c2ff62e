"""What contexts told, noted as used: once per memory and day, and without holding anybody up."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from datetime import date, datetime

from holdfast.errors import HoldfastError
from holdfast.store.base import Store
from holdfast.types import Hit, Scope
from holdfast.upkeep.feedback import used

log = logging.getLogger("holdfast")

#: More than this is not remembered as noted today: the store knows, too.
_MOST_NOTED = 100_000


class Uses:
    """The uses that one process notes. Threads may share it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._day: date | None = None
        self._noted: set[tuple[str, str, str]] = set()

    def note(self, scope: Scope, hits: Iterable[Hit], now: datetime) -> None:
        """Note that a context told these; never fails. Turns and rules are told however often."""
        ids = [hit.id for hit in hits if hit.tier != "session" and not hit.is_rule]
        if not (new := self._new(scope, ids, now.date())):
            return
        try:
            used(self._store, scope, new, now=now)
        except HoldfastError as error:
            log.warning("a use was not noted: %s", type(error).__name__)

    def _new(self, scope: Scope, ids: list[str], day: date) -> list[str]:
        with self._lock:
            if day != self._day or len(self._noted) > _MOST_NOTED:
                self._day, self._noted = day, set()
            keys = {each: (scope.workspace, scope.user, each) for each in ids}
            new = [each for each, key in keys.items() if key not in self._noted]
            self._noted.update(keys.values())
        return new
