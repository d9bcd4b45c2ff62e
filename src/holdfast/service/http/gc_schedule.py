"""Full garbage collections in quiet moments.

A full collection stops every thread: 60 ms with the memories of one busy user loaded, and on its
own it comes in the middle of a request. Here the interpreter does the small ones alone, and a
thread does the full ones when nothing was asked for a while, or when the last is too long ago.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_LOOK_SECONDS = 0.5
#: However much is asked: so often at least, once there is enough to look through.
_LATEST_SECONDS = 120.0
#: Collections of the middle generation since the last full one; the interpreter's own measure.
_ENOUGH = 10
_NEVER = 1_000_000


@contextmanager
def sweeping(
    begun: Callable[[], int],
    *,
    look_seconds: float = _LOOK_SECONDS,
    latest_seconds: float = _LATEST_SECONDS,
) -> Iterator[None]:
    """Until its end, full collections come when `begun`, the number of requests so far, rests."""
    small, middle, full = gc.get_threshold()
    gc.collect()
    gc.freeze()  # The modules: they stay, and need not be looked through again.
    gc.set_threshold(small, middle, _NEVER)
    stop = threading.Event()
    arguments = (begun, stop, look_seconds, latest_seconds)
    thread = threading.Thread(target=_sweep, args=arguments, name="holdfast-sweep", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        gc.set_threshold(small, middle, full)
        gc.unfreeze()


def _sweep(
    begun: Callable[[], int], stop: threading.Event, look_seconds: float, latest_seconds: float
) -> None:
    before, last = begun(), time.monotonic()
    while not stop.wait(look_seconds):
        now = begun()
        late = time.monotonic() - last >= latest_seconds
        if gc.get_count()[2] >= _ENOUGH and (late or now == before):
            gc.collect()
            last = time.monotonic()
        before = now
