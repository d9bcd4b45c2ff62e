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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Protocol

from holdfast.border.write_options import MOST_QUICK
from holdfast.config import Config, Jobs
from holdfast.errors import (
    Closed,
    Harmful,
    HoldfastError,
    ModelError,
    ModelUnavailable,
    NotAsked,
    Refused,
    StoreError,
    TookTooLong,
)
from holdfast.learn.embed import RECIPE, Begun, embed
from holdfast.models.base import Embedder, known_dim
from holdfast.store.protocols import Space, Store
from holdfast.types import Drained, Job, Scope

# ----------------------------------------------------------------------
# What the threads of a worker have in hand, and what they have done.
#
# Whoever stops it can hand back what is in hand. A language model may take a minute for an
# answer, and nobody who stops a service waits for that: the thread is left behind, and what it
# held is free for the next worker, untried.
# ----------------------------------------------------------------------


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


# ----------------------------------------------------------------------
# What becomes of a job that failed: whether it is tried again, and when.
# ----------------------------------------------------------------------

_MOST_DOUBLINGS = 30


def is_transient(error: ModelError) -> bool:
    """Whether it goes away: a model comes back, and an operator mends a key."""
    return isinstance(error, ModelUnavailable | Refused)


def is_last(jobs: Jobs, attempts: int, error: ModelError, *, draining: bool) -> bool:
    """Whether it is given up. A model that is away comes back: only a caller who waits for the end
    gives up on it. What took too long once would take as long again."""
    if isinstance(error, NotAsked):  # Nothing was tried; but who drains does not wait.
        return draining
    if isinstance(error, TookTooLong):
        return True
    return attempts >= jobs.max_attempts and (draining or not is_transient(error))


def pause(jobs: Jobs, attempts: int, error: ModelError) -> timedelta:
    """How long it waits for the next try."""
    doubled = jobs.backoff_seconds * 2.0 ** min(attempts - 1, _MOST_DOUBLINGS)
    seconds = min(jobs.backoff_cap_seconds, doubled)
    seconds *= random.uniform(0.5, 1.0)  # Jitter: not all of them at once.
    if isinstance(error, ModelUnavailable) and error.retry_after:
        seconds = max(seconds, error.retry_after)
    return timedelta(seconds=seconds)


def error_kind(error: ModelError) -> str:
    """The kind of error only: its text may quote what was said."""
    return type(error.__cause__ or error).__name__


# ----------------------------------------------------------------------
# Keeping house: what is long forgotten is wiped, and once a night a memory looks after itself.
#
# Wiping cannot be undone, so it does not trust a clock that jumps. It goes by the time that the
# store has *seen* pass: house time, which follows the clock over gaps of up to two days, and over
# longer ones only as fast as this process has been running. A clock that is ten years ahead for a
# day wipes what is due after one more day, not after ten more years; and a store that lay in a
# drawer for a year gives everybody the days again in which they can change their mind.
# ----------------------------------------------------------------------

log = logging.getLogger("holdfast.worker")

_EVERY_SECONDS = 3600.0
_CHORE = "house"
#: A gap that the clock may show without being doubted: a weekend switched off.
_USUAL_GAP = timedelta(days=2)


class House:
    """The rounds of one worker; several workers may keep the same house."""

    def __init__(self, store: Store, config: Config, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._config = config
        self._clock = clock
        self._next = 0.0
        self._last: float | None = None
        #: The nightly round; it knows itself when it is due.
        self.nightly: Callable[[datetime], object] | None = None

    def keep(self) -> None:
        """Go round if it is time to."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _EVERY_SECONDS
        self.round()

    def round(self) -> None:
        """Wipe what is due by house time, then the nightly round."""
        now = self._clock()
        seen = self._seen(now)
        if seen is not None:
            config = self._config
            self._store.wipe(
                forgotten_before=seen - timedelta(days=config.forget_days),
                keys_before=seen - timedelta(days=config.key_days),
                contexts_before=seen - timedelta(days=config.ledger_days),
            )
        if self.nightly is not None:
            try:
                self.nightly(now)
            except HoldfastError as error:
                log.warning("the nightly round stopped: %s", type(error).__name__)

    def _seen(self, now: datetime) -> datetime | None:
        """House time, moved on and noted; None at the first round of a store."""
        running = time.monotonic()
        passed = timedelta(seconds=0.0 if self._last is None else running - self._last)
        self._last = running
        before = self._store.chores().get(_CHORE)
        if before is None:
            self._store.begin_chore(_CHORE, now=now, every_s=0.0)
            return None
        seen = now if now - before <= _USUAL_GAP else before + passed
        self._store.begin_chore(_CHORE, now=seen, every_s=0.0)
        return seen


# ----------------------------------------------------------------------
# Turns that are read while their writer waits: `remember(quick=True)`.
#
# They are stored by then, so nothing here may fail the writer, or keep it for long: what cannot
# be read at once is left to the queue. Hence a thread of its own, which goes on when nobody waits
# for it any more, as behind another process that holds the store.
# ----------------------------------------------------------------------

#: How long a writer waits.
PATIENCE_SECONDS = 20.0


class Quick:
    """The threads that read for those who wait."""

    def __init__(self) -> None:
        self.patience_s = PATIENCE_SECONDS
        self._threads: set[threading.Thread] = set()
        self._lock = threading.Lock()

    def wait_for(self, work: Callable[[], int]) -> int:
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


def read_at_once(
    store: Store,
    reader: Reader,
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


_PAUSE_AFTER_ERROR_SECONDS = 1.0
#: How often it looks after the indexes of large owners while it is never idle.
_INDEX_SECONDS = 30.0
#: How often `drain` looks whether another worker has finished what it holds.
_LOOK_AGAIN_SECONDS = 0.05
#: How long a stop waits for what is in hand; then it is handed back.
_STOP_SECONDS = 2.0
#: After so long what is left of a batch goes back: somebody else may have come meanwhile.
_BATCH_SECONDS = 0.5


class Reader(Protocol):
    """A step that is done for the turns of one conversation together."""

    @property
    def step(self) -> str:
        """Its name in the queue."""

    def claim(self, *, ignore_backoff: bool) -> list[Job]:
        """The jobs of one conversation that is ready; the attempt is counted."""

    def claim_turns(self, scope: Scope, turns: Sequence[str]) -> list[Job]:
        """The jobs of some turns that somebody waits for; the attempt is counted."""

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
        self._begun = Begun()
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
        #: Owners with new vectors, some of whom may be too large to be held in memory.
        self._grown: set[Scope] = set()
        self._index_next = 0.0
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
        me = threading.current_thread()
        self.left_behind = any(each.is_alive() for each in self._threads if each is not me)
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
        claimed = self._embed_some()
        if not claimed or time.monotonic() > self._index_next:
            self._index_next = time.monotonic() + _INDEX_SECONDS
            self._index_grown()
        if not claimed:
            self._keep_house()
        return claimed

    def _index_grown(self) -> None:
        """Let what is new of large owners be named by the store."""
        while self._grown and not self._stop.is_set():
            self._store.index_large(self._grown.pop(), self.space, self._config.index)

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
            done = read_at_once(self._store, reader, scope, turns, self.steps, hands=self._hands)
            self.tally.add(read=done)
            self.wake()
            return done

        return self.quick.wait_for(work)

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
                log.warning("%d turns are read one by one: %s", len(jobs), error_kind(error))
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
            log.warning("%d turns: given up: %s", len(jobs), error_kind(error))
            if isinstance(error, Harmful):  # There is no other way to read it.
                self._bury(jobs, error)
                return
            dead = reader.give_up(jobs, self.steps, error=str(error), transient=is_transient(error))
            self.tally.add(dead=dead)

    def _bury(self, jobs: Sequence[Job], error: ModelError) -> None:
        self._store.release(jobs, error=str(error))
        self.tally.add(dead=len(jobs))

    def _put_off(self, jobs: Sequence[Job], error: ModelError) -> None:
        """Back into the queue, all for the same moment, so that they are read together again."""
        due = self._clock() + pause(self._config.jobs, jobs[0].attempts, error)
        if isinstance(error, NotAsked):
            self._store.release(jobs, due=due)
            return
        log.warning(
            "%d turns: attempt %d failed: %s", len(jobs), jobs[0].attempts, error_kind(error)
        )
        self._store.release(jobs, error=str(error), due=due, transient=is_transient(error))

    def drain(self, timeout: float | None = None) -> Drained:
        """Run every pending job now, those of other workers awaited; see the public contract."""
        began = time.monotonic()
        before = Tally(self.tally.done, self.tally.dead)
        while True:
            claimed = self.step(ignore_backoff=True)
            # Steps of other workers, for example of an older model, are not ours to wait for.
            counts = self._store.counts(steps=self.steps)
            left = counts.ready + counts.running
            if not left:
                self._index_grown()
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
                begun=self._begun, is_over=is_over,
                finished=lambda count: self.tally.add(done=count),
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
        owners = {Scope(job.scope.workspace, job.scope.user) for job in jobs}
        self._grown |= owners
        try:
            self.embedded(owners)
        except Closed:
            raise
        except Exception as error:  # noqa: BLE001 (a listener of any kind)
            log.warning("worker: an index was not brought up to date: %s", type(error).__name__)

    def _fail(self, job: Job, error: ModelError, *, draining: bool) -> None:
        dead = is_last(self._config.jobs, job.attempts, error, draining=draining)
        due = None if dead else self._clock() + pause(self._config.jobs, job.attempts, error)
        log.warning("job %d: attempt %d failed: %s", job.id, job.attempts, error_kind(error))
        self._store.release([job], error=str(error), due=due, transient=is_transient(error))
        self.tally.add(dead=int(dead))

    def _keep_house(self) -> None:
        """When idle: switch to a finished vector space, and keep house."""
        if self.space.state != "active" and self._store.promote(self.space.id):
            self._space = replace(self.space, state="active")
        self.house.keep()
