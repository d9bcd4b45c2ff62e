"""What the threads of a worker have in hand, and what they have done.

Whoever stops it can hand back what is in hand. A language model may take a minute for an answer,
and nobody who stops a service waits for that: the thread is left behind, and what it held is free
for the next worker, untried.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from holdfast.types import Job


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


@dataclass(slots=True)
class Tally:
    """What a worker has done since it was made."""

    done: int = 0
    dead: int = 0
    #: Of those done, the turns that were read.
    read: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def add(self, *, done: int = 0, dead: int = 0, read: int = 0) -> None:
        """Count; several threads may."""
        with self._lock:
            self.done += done + read
            self.dead += dead
            self.read += read
