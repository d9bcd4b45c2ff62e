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
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from recollect.config import Config
from recollect.errors import Closed, ModelError, ModelUnavailable, StoreError
from recollect.models.base import Embedder
from recollect.models.call import known_dim
from recollect.store.base import Space, Store
from recollect.types import Drained, Job
from recollect.write.embed import embed
from recollect.write.passages import RECIPE

log = logging.getLogger("recollect.worker")

_HOUSEKEEPING_SECONDS = 3600.0
_MOST_DOUBLINGS = 30
_PAUSE_AFTER_ERROR_SECONDS = 1.0
#: How often `drain` looks whether another worker has finished what it holds.
_LOOK_AGAIN_SECONDS = 0.05


@dataclass(slots=True)
class Tally:
    """What a worker has done since it was made."""

    done: int = 0
    dead: int = 0


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
        self._config = config
        self._clock = clock
        # One batch at a time in this process; an embedder may call `stop` from within.
        self._turn = threading.RLock()
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._next_housekeeping = 0.0
        self.tally = Tally()

    @property
    def steps(self) -> tuple[str, ...]:
        """The steps this worker can do; one job of each is queued per event."""
        return (f"embed:{self.space.id}",)

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
        """Work in a thread until `stop`."""
        self._thread = threading.Thread(target=self.run, name="recollect-worker", daemon=True)
        self._thread.start()
        # A script that ends without close() while a model is at work would abort.
        atexit.register(self.stop)

    def wake(self) -> None:
        """Something was queued: look now instead of at the next poll."""
        self._wake.set()

    def stop(self) -> None:
        """Finish the batch in hand, hand back the rest, then return."""
        self._stop.set()
        self._wake.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
            atexit.unregister(self.stop)
        with self._turn:  # Whoever drains has finished or handed back its batch.
            pass

    def run(self) -> None:
        """Work until stopped. An error of the store is logged and tried again."""
        while not self._stop.is_set():
            try:
                busy = self.step()
                if not busy:
                    self._keep_house()
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
                self._wake.wait(self._config.jobs.poll_seconds)
                self._wake.clear()

    def step(self, *, ignore_backoff: bool = False) -> int:
        """Claim one batch and work it off; how many jobs were claimed."""
        jobs_config = self._config.jobs
        with self._turn:
            jobs = self._store.claim(
                self.steps,
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
            self.tally.done += embed(self._store, self._embedder, self._sized_space(), jobs)
        except ModelError as error:
            if len(jobs) > 1 and not isinstance(error, ModelUnavailable):
                # One bad text must not fail its neighbours: each alone, in the same attempt.
                for job in jobs:
                    self._work_off([job], draining=draining)
                return
            for job in jobs:
                self._fail(job, error, draining=draining)

    def _fail(self, job: Job, error: ModelError, *, draining: bool) -> None:
        transient = isinstance(error, ModelUnavailable)
        used_up = job.attempts >= self._config.jobs.max_attempts
        # A model that is away comes back; only a caller who waits for the end gives up on it.
        dead = used_up and (draining or not transient)
        due = None if dead else self._clock() + self._pause(job.attempts, error)
        # The kind of error only: its text may quote what was said.
        kind = type(error.__cause__ or error).__name__
        log.warning("job %d: attempt %d failed: %s", job.id, job.attempts, kind)
        self._store.fail(job, error=str(error), due=due, transient=transient)
        self.tally.dead += dead

    def _pause(self, attempts: int, error: ModelError) -> timedelta:
        jobs = self._config.jobs
        doubled = jobs.backoff_seconds * 2.0 ** min(attempts - 1, _MOST_DOUBLINGS)
        seconds = min(jobs.backoff_cap_seconds, doubled)
        seconds *= random.uniform(0.5, 1.0)  # Jitter: not all of them at once.
        if isinstance(error, ModelUnavailable) and error.retry_after:
            seconds = max(seconds, error.retry_after)
        return timedelta(seconds=seconds)

    def _keep_house(self) -> None:
        """When idle: switch to a finished vector space; at times wipe what is long forgotten."""
        if self.space.state != "active" and self._store.promote(self.space.id):
            self._space = replace(self.space, state="active")
        if time.monotonic() < self._next_housekeeping:
            return
        self._next_housekeeping = time.monotonic() + _HOUSEKEEPING_SECONDS
        now = self._clock()
        self._store.wipe(forgotten_before=now - timedelta(days=self._config.forget_days))
        self._store.forget_keys(now - timedelta(days=self._config.key_days))
        self._store.forget_contexts(now - timedelta(days=self._config.ledger_days))
