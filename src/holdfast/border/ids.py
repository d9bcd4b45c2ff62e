"""Ids: 128 bits that sort by time, 32 hex digits."""

from __future__ import annotations

import os
import threading
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


class Ids:
    """Makes ids: 48 bits of milliseconds, 16 bits that count, 64 random bits.

    Ids of one maker always ascend, also when the clock stands still or runs backwards.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0

    def make(self, count: int, now: datetime) -> list[str]:
        """`count` ids, ascending."""
        start = ((now - _EPOCH) // _MILLISECOND) << 16
        with self._lock:
            first = max(start, self._last + 1)
            self._last = first + count - 1
        noise = os.urandom(8 * count)
        return [
            (first + i).to_bytes(8, "big").hex() + noise[8 * i : 8 * i + 8].hex()
            for i in range(count)
        ]
