"""The worker: takes jobs from the durable queue, runs their step, and keeps house.

It runs as a thread of the process that opened the memory, or as a process of its own; any number
may work on one store. A crash costs nothing but the attempt that was counted before it: the lease
runs out and another worker takes over.
"""

from __future__ import annotations

import atexit
import logging
import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Protocol

from recollect.config import Config
from recollect.errors import (
    Closed,
    ModelError,
    ModelUnavailable,
    NotAsked,
    Refused,
    StoreError,
)
from recollect.models.base import Embedder
from recollect.models.call import known_dim
from recollect.store.base import Space, Store
from recollect.types import Drained, Job, Scope
from recollect.write.embed import embed
from recollect.write.house import House
from recollect.write.passages import RECIPE
from recollect.write.quick import Quick, QuickReader, read_turns

log = logging.getLogger("recollect.worker")

_MOST_DOUBLINGS = 30
_PAUSE_AFTER_ERROR_SECONDS = 1.0
#: How often `drain` looks whether another worker has finished what it holds.
_LOOK_AGAIN_SECONDS = 0.05


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


class Reader(QuickReader, Protocol):
    """A step that is done for the turns of one conversation together."""

    @property
    def step(self) -> str:
        """Its name in the queue."""

    def claim(self, *, ignore_backoff: bool) -> list[Job]:
        """The jobs of one conversation that is ready; the attempt is counted."""

    def read(self, jobs: Sequence[Job], steps: Sequence[str], *, quick: bool = False) -> int:
        """Do them and remove them; how many. `steps` are queued for what is learned. ModelError
        when a model fails: then nothing is stored. `quick`: no model is asked for anything."""

    def give_up(
        self, jobs: Sequence[Job], steps: Sequence[str], *, error: str, transient: bool
    ) -> int:
        """After the last try: keep what can be had without the model, and make the jobs dead
        letters; how many."""


class Worker:
    """Works through the queue of one store."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        *,
        config: Config,
        clock: Callable[[], datetime],
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._space: Space | None = None
        #: Understands what was said; without one turns are only embedded.
        self.reader: Reader | None = None
        #: Told whose vectors are new, in the thread that made them.
        self.embedded: Callable[[set[Scope]], None] = lambda owners: None
        self._config = config
        self._clock = clock
        # One batch of each kind at a time in this process; a model may call `stop` from within.
        self._embedding = threading.RLock()
        self._reading = threading.RLock()
        self._stop = threading.Event()
        self._wakes = (threading.Event(), threading.Event())
        self._threads: list[threading.Thread] = []
        self.quick = Quick()
        self.house = House(store, config, clock)
        self.tally = Tally()

    @property
    def steps(self) -> tuple[str, ...]:
        """The steps this worker can do; one job of each is queued per event."""
        embed = f"embed:{self.space.id}"
        return (embed,) if self.reader is None else (embed, self.reader.step)

    @property
    def space(self) -> Space:
        """The vector space of this worker's model; asking for it makes it when new."""
        if self._space is None:
            model = self._embedder.model_id
            self._space = self._store.use_space(model, known_dim(self._embedder), RECIPE)
        return self._space

    def _sized_space(self) -> Space:
        """The space with its dimension, for which a remote model may have to be asked."""
        if not self.space.dim:
            model, dim = self._embedder.model_id, self._embedder.dim
            self._space = self._store.use_space(model, dim, RECIPE)
        return self.space

    def start(self) -> None:
        """Work in threads of its own until `stop`."""
        self._threads.append(
            threading.Thread(target=self.run, name="recollect-worker", daemon=True)
        )
        self._threads[0].start()
        # A script that ends without close() while a model is at work would abort.
        atexit.register(self.stop)

    def wake(self) -> None:
        """Something was queued: look now instead of at the next poll."""
        for wake in self._wakes:
            wake.set()

    def stop(self) -> None:
        """Finish the batch in hand, hand back the rest, then return."""
        self._stop.set()
        self.wake()
        if self._threads and threading.current_thread() not in self._threads:
            for thread in self._threads:
                thread.join()
            atexit.unregister(self.stop)
        self.quick.join()
        with self._embedding, self._reading:  # Whoever drains has finished or handed back.
            pass

    def run(self) -> None:
        """Work until stopped. Turns are read in a second thread: a language model that takes a
        minute for an answer must not keep others from being found."""
        reading = threading.Thread(
            target=self._work, args=(self._wakes[1], self._read_some), name="recollect-reader"
        )
        reading.daemon = True
        if self.reader is not None:
            self._threads.append(reading)
            reading.start()
        self._work(self._wakes[0], self._embed_next)
        if self.reader is not None:
            reading.join()

    def _work(self, wake: threading.Event, work: Callable[[], int]) -> None:
        """One kind of work until stopped. An error of the store is logged and tried again."""
        while not self._stop.is_set():
            try:
                busy = work()
            except Closed:
                return
            except StoreError as error:
                log.warning("worker: %s", error)
                self._stop.wait(_PAUSE_AFTER_ERROR_SECONDS)
                continue
            except Exception:
                # The outermost door of this thread: a clock that raises must not end it silently.
                log.exception("worker: an unexpected error; trying again")
                self._stop.wait(_PAUSE_AFTER_ERROR_SECONDS)
                continue
            if not busy:
                wake.wait(self._config.jobs.poll_seconds)
                wake.clear()

    def step(self, *, ignore_backoff: bool = False) -> int:
        """Claim one batch and work it off; how many jobs were claimed. Understanding comes after
        embedding: what was said is to be found first."""
        return self._embed_some(ignore_backoff=ignore_backoff) or self._read_some(
            draining=ignore_backoff
        )

    def _embed_next(self) -> int:
        if not (claimed := self._embed_some()):
            self._keep_house()
        return claimed

    def _embed_some(self, *, ignore_backoff: bool = False) -> int:
        with self._embedding:
            return self._embed_batch(ignore_backoff=ignore_backoff)

    def _read_some(self, *, draining: bool = False) -> int:
        if self.reader is None or self._stop.is_set():
            return 0
        with self._reading:
            return self._read_group(self.reader, draining=draining)

    def read_now(self, scope: Scope, turns: Sequence[str]) -> int:
        """Read turns while the caller waits, not behind one that a model takes a minute for; how
        many. What cannot be read now, for whatever reason, is left to the queue."""
        if (reader := self.reader) is None:
            return 0

        def work() -> int:
            done = read_turns(self._store, reader, scope, turns, self.steps)
            self.tally.add(read=done)
            self.wake()
            return done

        return self.quick.awaited(work)

    def _embed_batch(self, *, ignore_backoff: bool) -> int:
        jobs_config = self._config.jobs
        jobs = self._store.claim(
            self.steps[:1],
            limit=jobs_config.batch,
            now=self._clock(),
            lease_s=jobs_config.lease_seconds,
            max_attempts=jobs_config.max_attempts,
            ignore_backoff=ignore_backoff,
        )
        # What failed before runs alone, so that one bad text cannot fail its neighbours again.
        fresh = [job for job in jobs if job.attempts == 1]
        groups = ([fresh] if fresh else []) + [[job] for job in jobs if job.attempts > 1]
        for index, group in enumerate(groups):
            if self._stop.is_set():
                self._store.release([job for rest in groups[index:] for job in rest])
                break
            self._work_off(group, draining=ignore_backoff)
        return len(jobs)

    def _read_group(self, reader: Reader, *, draining: bool) -> int:
        jobs = reader.claim(ignore_backoff=draining)
        if not jobs:
            return 0
        attempts = max(job.attempts for job in jobs)
        # More than all attempts: no worker came back from the last one, or the model was away.
        died = attempts > self._config.jobs.max_attempts and not any(job.transient for job in jobs)
        try:
            if died:
                raise ModelError(f"the worker died in each of {attempts - 1} attempts")
            self.tally.add(read=reader.read(jobs, self.steps))
        except ModelError as error:
            if self._is_last(attempts, error, draining=draining):
                log.warning("%d turns: given up: %s", len(jobs), _kind(error))
                dead = reader.give_up(
                    jobs, self.steps, error=str(error), transient=_is_transient(error)
                )
                self.tally.add(dead=dead)
            else:
                self._put_off(jobs, error)
        return len(jobs)

    def _is_last(self, attempts: int, error: ModelError, *, draining: bool) -> bool:
        if isinstance(error, NotAsked):  # Nothing was tried; but who drains does not wait.
            return draining
        used_up = attempts >= self._config.jobs.max_attempts
        return used_up and (draining or not _is_transient(error))

    def _put_off(self, jobs: Sequence[Job], error: ModelError) -> None:
        """Back into the queue, all for the same moment, so that they are read together again."""
        due = self._clock() + self._pause(jobs[0].attempts, error)
        if isinstance(error, NotAsked):
            self._store.release(jobs, due=due)
            return
        log.warning("%d turns: attempt %d failed: %s", len(jobs), jobs[0].attempts, _kind(error))
        for job in jobs:
            self._store.fail(job, error=str(error), due=due, transient=_is_transient(error))

    def drain(self, timeout: float | None = None) -> Drained:
        """Run every pending job now, those of other workers awaited; see the public contract."""
        began = time.monotonic()
        before = Tally(self.tally.done, self.tally.dead)
        while True:
            claimed = self.step(ignore_backoff=True)
            # Steps of other workers, for example of an older model, are not ours to wait for.
            counts = self._store.counts(steps=self.steps)
            left = counts.ready + counts.running
            late = timeout is not None and time.monotonic() - began > timeout
            late = late or self._stop.is_set()
            if late:
                break
            if left == 0:
                # A new space may find that a process with the old model wrote more meanwhile.
                self._store.promote(self.space.id)
                if not self._store.counts(steps=self.steps).ready:
                    break
            elif not claimed:
                time.sleep(_LOOK_AGAIN_SECONDS)
        return Drained(
            done=self.tally.done - before.done,
            dead=self.tally.dead - before.dead,
            seconds=time.monotonic() - began,
            pending=left,
        )

    def _work_off(self, jobs: Sequence[Job], *, draining: bool) -> None:
        try:
            done = embed(self._store, self._embedder, self._sized_space(), jobs)
            self.tally.add(done=done)
        except ModelError as error:
            if len(jobs) > 1 and not isinstance(error, ModelUnavailable):
                # One bad text must not fail its neighbours: each alone, in the same attempt.
                for job in jobs:
                    self._work_off([job], draining=draining)
                return
            for job in jobs:
                self._fail(job, error, draining=draining)
            return
        self._tell(jobs)

    def _tell(self, jobs: Sequence[Job]) -> None:
        """Whose vectors are new. They are stored: whoever fails to hear it does not undo that."""
        try:
            self.embedded({Scope(job.scope.workspace, job.scope.user) for job in jobs})
        except Closed:
            raise
        except Exception as error:  # noqa: BLE001 (a listener of any kind)
            log.warning("worker: an index was not brought up to date: %s", type(error).__name__)

    def _fail(self, job: Job, error: ModelError, *, draining: bool) -> None:
        transient = _is_transient(error)
        used_up = job.attempts >= self._config.jobs.max_attempts
        # A model that is away comes back; only a caller who waits for the end gives up on it.
        dead = used_up and (draining or not transient)
        due = None if dead else self._clock() + self._pause(job.attempts, error)
        log.warning("job %d: attempt %d failed: %s", job.id, job.attempts, _kind(error))
        self._store.fail(job, error=str(error), due=due, transient=transient)
        self.tally.add(dead=int(dead))

    def _pause(self, attempts: int, error: ModelError) -> timedelta:
        jobs = self._config.jobs
        doubled = jobs.backoff_seconds * 2.0 ** min(attempts - 1, _MOST_DOUBLINGS)
        seconds = min(jobs.backoff_cap_seconds, doubled)
        seconds *= random.uniform(0.5, 1.0)  # Jitter: not all of them at once.
        if isinstance(error, ModelUnavailable) and error.retry_after:
            seconds = max(seconds, error.retry_after)
        return timedelta(seconds=seconds)

    def _keep_house(self) -> None:
        """When idle: switch to a finished vector space, and keep house."""
        if self.space.state != "active" and self._store.promote(self.space.id):
            self._space = replace(self.space, state="active")
        self.house.keep()


def _is_transient(error: ModelError) -> bool:
    """Whether it goes away: a model comes back, and an operator mends a key."""
    return isinstance(error, ModelUnavailable | Refused)


def _kind(error: ModelError) -> str:
    """The kind of error only: its text may quote what was said."""
    return type(error.__cause__ or error).__name__
