"""What the threads of a worker have in hand, so that whoever stops it can hand it back.

A language model may take a minute for an answer, and nobody who stops a service waits for that: the
thread is left behind, and what it held is free for the next worker, untried.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from recollect.types import Job


class Hands:
    """The jobs in hand, by thread."""

    def __init__(self) -> None:
        self._held: dict[int, Sequence[Job]] = {}
        self._lock = threading.Lock()

    @contextmanager
    def holding(self, jobs: Sequence[Job]) -> Iterator[None]:
        """This thread works on these."""
        me = threading.get_ident()
        with self._lock:
            self._held[me] = jobs
        try:
            yield
        finally:
            with self._lock:
                del self._held[me]

    def of_others(self) -> list[Job]:
        """What is in the hands of other threads than this one."""
        me = threading.get_ident()
        with self._lock:
            return [job for thread, jobs in self._held.items() if thread != me for job in jobs]
