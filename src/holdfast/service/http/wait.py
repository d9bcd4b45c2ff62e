"""`"wait": true`: an answer that comes when the background work for its messages is done.

However many wait and however long, others must be answered and the service must be able to stop:
the number of those who wait is bounded, and a stop ends every wait at once. The messages are on
disk in any case; `state` says how far they have come.
"""

from __future__ import annotations

import threading
import time

from holdfast.errors import NotFound
from holdfast.memory.memory import Memory
from holdfast.types import Receipt, Scope, State

_SECONDS = 60.0
#: From the least advanced; one dead letter among many is what the caller must hear of.
_ORDER: tuple[State, ...] = ("dead", "failed", "processing", "stored", "done")


class WaitingRoom:
    """Where requests wait."""

    def __init__(self, seats: int) -> None:
        self._seats = threading.BoundedSemaphore(seats)
        self._closing = threading.Event()

    def close(self) -> None:
        """End every wait, now and from now on."""
        self._closing.set()

    def settled(
        self, memory: Memory, scope: Scope, receipt: Receipt, *, timeout_s: float = _SECONDS
    ) -> State:
        """The least advanced state of a receipt's events, when no work is left or time is up."""
        if not self._seats.acquire(blocking=False):
            return receipt.state
        try:
            deadline = time.monotonic() + timeout_s
            memory.store.hurry(scope, receipt.events)
            memory.worker.wake()
            states = {self._state(memory, scope, event, deadline) for event in receipt.events}
        finally:
            self._seats.release()
        return min(states, key=_ORDER.index)

    def _state(self, memory: Memory, scope: Scope, event: str, deadline: float) -> State:
        pause = 0.005
        while True:
            try:
                state = memory.status(event, user=scope.user, workspace=scope.workspace).state
            except NotFound:  # Wiped meanwhile.
                return "done"
            if state in ("done", "dead") or time.monotonic() > deadline:
                return state
            if self._closing.wait(pause):
                return state
            pause = min(2 * pause, 0.1)
