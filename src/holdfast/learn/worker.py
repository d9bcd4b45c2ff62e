"""The worker: takes jobs from the durable queue, runs their step, and keeps house.

It runs as a thread of the process that opened the memory, or as a process of its own; any number
may work on one store. A crash costs nothing but the attempt that was counted before it: the lease
runs out and another worker takes over.
"""

from __future__ import annotations

import atexit
import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Protocol

from holdfast.config import Config
from holdfast.errors import (
    Closed,
    Harmful,
    ModelError,
    ModelUnavailable,
    NotAsked,
    StoreError,
)
from holdfast.learn.embed import embed
from holdfast.learn.hands import Hands, Tally
from holdfast.learn.inline_extraction import Quick, QuickReader, read_turns
from holdfast.learn.maintenance import House
from holdfast.learn.passages import RECIPE
from holdfast.learn.retry import is_last, is_transient, kind, pause
from holdfast.models.base import Embedder
from holdfast.models.call import known_dim
from holdfast.store.base import Space, Store
from holdfast.types import Drained, Job, Scope

log = logging.getLogger("holdfast.worker")

_PAUSE_AFTER_ERROR_SECONDS = 1.0
#: How often `drain` looks whether another worker has finished what it holds.
_LOOK_AGAIN_SECONDS = 0.05
#: How long a stop waits for what is in hand; then it is handed back.
_STOP_SECONDS = 2.0
#: After so long what is left of a batch goes back: somebody else may have come meanwhile.
_BATCH_SECONDS = 0.5


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
        letters; how many. Harmful if not even that can be had of several jobs."""

    def warm(self) -> None:
        """Get ready to read: somebody may wait for it."""

    def halt(self) -> None:
        """Let go of what is being read: `read` raises Closed."""


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
        self._stop_until = 0.0
        self._wakes = (threading.Event(), threading.Event())
        self._threads: list[threading.Thread] = []
        self.quick = Quick()
        self._hands = Hands()
        #: Whether a thread of it was still at work when it was stopped.
        self.left_behind = False
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
        self._threads.append(threading.Thread(target=self.run, name="holdfast-worker", daemon=True))
        self._threads[0].start()
        # A script that ends without close() while a model is at work would abort.
        atexit.register(self.stop)

    def wake(self) -> None:
        """Something was queued: look now instead of at the next poll."""
        for wake in self._wakes:
            wake.set()

    def halt(self) -> None:
        """Take no more jobs, and let go of what is being read; `stop` waits for it."""
        if not self._stop.is_set():
            self._stop_until = time.monotonic() + _STOP_SECONDS
        self._stop.set()
        self.wake()
        if self.reader is not None:
            self.reader.halt()

    def stop(self) -> None:
        """Finish the batch in hand if that takes seconds, hand back the rest, then return."""
        self.halt()
        until = self._stop_until
        if self._threads and threading.current_thread() not in self._threads:
            for thread in self._threads:
                thread.join(max(0.0, until - time.monotonic()))
            atexit.unregister(self.stop)
        self.quick.join(until)
        for lock in (self._embedding, self._reading):  # Whoever drains, too.
            if lock.acquire(timeout=max(0.0, until - time.monotonic())):
                lock.release()
        if left := self._hands.of_others():
            log.warning("worker: %d jobs in hand are handed back", len(left))
            self.left_behind = True
            self._store.release(left)

    def run(self) -> None:
        """Work until stopped. Turns are read in a second thread: a language model that takes a
        minute for an answer must not keep others from being found."""
        reading = threading.Thread(
            target=self._work, args=(self._wakes[1], self._read_some), name="holdfast-reader"
        )
        reading.daemon = True
        if self.reader is not None:
            self._threads.append(reading)
            reading.start()
        self._work(self._wakes[0], self._embed_next)

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
            done = read_turns(self._store, reader, scope, turns, self.steps, hands=self._hands)
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
        ends = time.monotonic() + _BATCH_SECONDS

        def is_over() -> bool:
            late = time.monotonic() > ends and not ignore_backoff
            return late or self._stop.is_set()

        with self._hands.holding(jobs):
            left = self._work_off(groups, is_over, draining=ignore_backoff)
            if left:
                self._store.release(left)
        return len(jobs)

    def _read_group(self, reader: Reader, *, draining: bool) -> int:
        jobs = reader.claim(ignore_backoff=draining)
        if not jobs:
            return 0
        with self._hands.holding(jobs):
            try:
                self._read_jobs(reader, jobs, draining=draining)
            except Harmful as error:  # One of them; each alone from now on, untried.
                log.warning("%d turns are read one by one: %s", len(jobs), kind(error))
                self._store.release(jobs, alone=True)
            except Closed:
                self._store.release(jobs)
        return len(jobs)

    def _read_jobs(self, reader: Reader, jobs: Sequence[Job], *, draining: bool) -> None:
        attempts = max(job.attempts for job in jobs)
        # More than all attempts: no worker came back from the last one, or the model was away.
        died = attempts > self._config.jobs.max_attempts and not any(job.transient for job in jobs)
        try:
            if died:
                raise ModelError(f"the worker died in each of {attempts - 1} attempts")
            self.tally.add(read=reader.read(jobs, self.steps))
        except ModelError as error:
            if isinstance(error, Harmful) and len(jobs) > 1:
                raise
            if not is_last(self._config.jobs, attempts, error, draining=draining):
                self._put_off(jobs, error)
                return
            log.warning("%d turns: given up: %s", len(jobs), kind(error))
            if isinstance(error, Harmful):  # There is no other way to read it.
                self._bury(jobs, error)
                return
            dead = reader.give_up(jobs, self.steps, error=str(error), transient=is_transient(error))
            self.tally.add(dead=dead)

    def _bury(self, jobs: Sequence[Job], error: ModelError) -> None:
        for job in jobs:
            self._store.fail(job, error=str(error), due=None)
        self.tally.add(dead=len(jobs))

    def _put_off(self, jobs: Sequence[Job], error: ModelError) -> None:
        """Back into the queue, all for the same moment, so that they are read together again."""
        due = self._clock() + pause(self._config.jobs, jobs[0].attempts, error)
        if isinstance(error, NotAsked):
            self._store.release(jobs, due=due)
            return
        log.warning("%d turns: attempt %d failed: %s", len(jobs), jobs[0].attempts, kind(error))
        for job in jobs:
            self._store.fail(job, error=str(error), due=due, transient=is_transient(error))

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

    def _work_off(
        self, groups: Sequence[Sequence[Job]], is_over: Callable[[], bool], *, draining: bool
    ) -> list[Job]:
        """Embed one group after the other; what is left when it is over."""
        left = [job for group in groups for job in group]
        for group in groups:
            if self._stop.is_set():
                break
            rest = self._embed(group, is_over, draining=draining)
            left = [*rest, *left[len(group) :]]
            if rest or is_over():
                break
        return left

    def _embed(
        self, jobs: Sequence[Job], is_over: Callable[[], bool], *, draining: bool
    ) -> Sequence[Job]:
        try:
            left = embed(
                self._store, self._embedder, self._sized_space(), jobs,
                is_over=is_over, finished=lambda count: self.tally.add(done=count),
            )  # fmt: skip
        except ModelError as error:
            if len(jobs) > 1 and not isinstance(error, ModelUnavailable):
                # One bad text must not fail its neighbours: each alone, in the same attempt.
                return self._work_off([[job] for job in jobs], is_over, draining=draining)
            for job in jobs:
                self._fail(job, error, draining=draining)
            return ()
        self._tell(jobs)
        return left

    def _tell(self, jobs: Sequence[Job]) -> None:
        """Whose vectors are new. They are stored: whoever fails to hear it does not undo that."""
        try:
            self.embedded({Scope(job.scope.workspace, job.scope.user) for job in jobs})
        except Closed:
            raise
        except Exception as error:  # noqa: BLE001 (a listener of any kind)
            log.warning("worker: an index was not brought up to date: %s", type(error).__name__)

    def _fail(self, job: Job, error: ModelError, *, draining: bool) -> None:
        dead = is_last(self._config.jobs, job.attempts, error, draining=draining)
        due = None if dead else self._clock() + pause(self._config.jobs, job.attempts, error)
        log.warning("job %d: attempt %d failed: %s", job.id, job.attempts, kind(error))
        self._store.fail(job, error=str(error), due=due, transient=is_transient(error))
        self.tally.add(dead=int(dead))

    def _keep_house(self) -> None:
        """When idle: switch to a finished vector space, and keep house."""
        if self.space.state != "active" and self._store.promote(self.space.id):
            self._space = replace(self.space, state="active")
        self.house.keep()
