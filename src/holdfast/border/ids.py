"""Ids: 128 bits that sort by time, 32 hex digits."""

from __future__ import annotations

import base64
import json
import os
import threading
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Any

from holdfast.errors import InvalidInput

# ----------------------------------------------------------------------
# Cursors: where a list goes on, as a word that only fits the list that gave it.
#
# It holds a place, never a right: whose list it is decides the scope of the call, not the cursor.
# ----------------------------------------------------------------------

_DIGEST_BYTES = 6
#: A place may hold a word of a caller: 512 characters, each up to twelve in JSON.
_MOST_CHARS = 10_240

Place = Sequence[str | int]


def cursor_at(place: Place, *, of: object) -> str:
    """The cursor for a place; `of` is what the list was asked for, as plain values."""
    text = json.dumps([_seal(place, of), *place])
    return base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()


def place_of(cursor: object, *, of: object, kinds: Sequence[type]) -> list[Any]:
    """The place that a cursor stands for, which has values of these types; InvalidInput for one of
    another list, or of none."""
    if isinstance(cursor, str) and 0 < len(cursor) <= _MOST_CHARS:
        seal, place = None, list[Any]()
        try:
            padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
            seal, *place = json.loads(base64.b64decode(padded, b"-_", validate=True))
        except (ValueError, TypeError, RecursionError):
            place = []
        fits = [type(each) for each in place] == [*kinds]
        if fits and seal == _seal(place, of) and cursor_at(place, of=of) == cursor:
            return place
    raise InvalidInput("cursor is not one that this list gave: begin without one", field="cursor")


def _seal(place: Place, of: object) -> str:
    told = json.dumps([of, list(place)], sort_keys=True, default=str)
    return blake2b(told.encode(), digest_size=_DIGEST_BYTES).hexdigest()


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
