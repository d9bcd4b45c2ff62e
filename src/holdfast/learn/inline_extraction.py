"""Turns that are read while their writer waits: `remember(quick=True)`.

They are stored by then, so nothing here may fail the writer, or keep it for long: what cannot be
read at once is left to the queue. Hence a thread of its own, which goes on when nobody waits for it
any more, as behind another process that holds the store.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from holdfast.border.write_options import MOST_QUICK
from holdfast.errors import Closed, Harmful, HoldfastError
from holdfast.learn.hands import Hands
from holdfast.store.base import Store
from holdfast.types import Job, Scope

log = logging.getLogger("holdfast.worker")

#: How long a writer waits.
PATIENCE_SECONDS = 20.0


class QuickReader(Protocol):
    """The part of a `Reader` that is needed here."""

    def claim_turns(self, scope: Scope, turns: Sequence[str]) -> list[Job]:
        """The jobs of some turns that somebody waits for; the attempt is counted."""

    def read(self, jobs: Sequence[Job], steps: Sequence[str], *, quick: bool = False) -> int:
        """Do them and remove them; how many. `quick`: no model is asked for anything."""


class Quick:
    """The threads that read for those who wait."""

    def __init__(self) -> None:
        self.patience_s = PATIENCE_SECONDS
        self._threads: set[threading.Thread] = set()
        self._lock = threading.Lock()

    def awaited(self, work: Callable[[], int]) -> int:
        """What `work` gives; 0 when it fails, or takes too long, and then it goes on."""
        found: list[int] = []

        def run() -> None:
            try:
                found.append(work())
            except Closed:
                pass  # What was claimed is taken over when its lease runs out.
            except Exception as error:  # noqa: BLE001 (the outermost door of this thread)
                # Its kind alone: its text may quote what was said.
                log.warning("turns were not read at once: %s", type(error).__name__)
            finally:
                with self._lock:
                    self._threads.discard(thread)

        thread = threading.Thread(target=run, name="holdfast-quick", daemon=True)
        try:
            with self._lock:
                thread.start()
                self._threads.add(thread)
        except RuntimeError as error:  # No more threads, or the interpreter ends.
            log.warning("turns were not read at once: %s", type(error).__name__)
            return 0
        thread.join(self.patience_s)
        return found[0] if found else 0

    def join(self, until: float | None = None) -> None:
        """Return when nothing is being read, or at a time of the monotonic clock."""
        with self._lock:
            running = self._threads - {threading.current_thread()}
        for thread in running:
            thread.join(None if until is None else max(0.0, until - time.monotonic()))


def read_turns(
    store: Store,
    reader: QuickReader,
    scope: Scope,
    turns: Sequence[str],
    steps: Sequence[str],
    *,
    hands: Hands,
) -> int:
    """Read turns of one call now; how many. Of many the jobs are only made due. What was claimed
    and cannot be read goes back, untried, whatever the error."""
    if len(turns) > MOST_QUICK:
        store.hurry(scope, turns)
        return 0
    jobs = reader.claim_turns(scope, turns)
    if not jobs:
        return 0
    try:
        with hands.holding(jobs):
            return reader.read(jobs, steps, quick=True)
    except Exception as error:
        try:
            # One of them does harm: the queue finds out which.
            store.release(jobs, alone=isinstance(error, Harmful))
        except HoldfastError as failed:
            log.warning("%d turns wait for their lease: %s", len(jobs), type(failed).__name__)
        raise
