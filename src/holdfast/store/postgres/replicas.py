"""Which server answers a read: a replica that has come far enough, else the primary.

A position is how far a server's write-ahead log has come. A replica may answer once it has replayed
the position at which the primary stood `staleness` ago, and all that this process has written or
read before, on any server: so nothing that was once seen is missing later. With a staleness of 0
the primary is asked for its position before each read, which then misses nothing that was
acknowledged before it began, whoever took it. By our own clock alone: those of servers may differ.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import psycopg
from psycopg import errors as pg

from holdfast.errors import HoldfastError, StoreBusy, StoreError
from holdfast.store.postgres.address import Address
from holdfast.store.postgres.connection import POSITION, PostgresPool, to_position, to_store_error
from holdfast.store.values import ServerState

log = logging.getLogger("holdfast.store")

T = TypeVar("T")

#: For so long a read waits for a replica that is a little behind; for one that was not in time no
#: other waits for a while.
_WAIT_SECONDS = 0.1
_LATE_SECONDS = 1.0
#: A replica that is gone is looked for so often.
_LOOK_SECONDS = 1.0
#: A read whose connection broke is begun anew so often: it may be what breaks the server.
_MOST_TRIES = 3
#: How many positions of the primary are kept within the staleness.
_SAMPLES = 4
_STATE = f"SELECT pg_is_in_recovery(), {POSITION}"
#: The history that a primary writes: each promotion of a replica begins another.
_TIMELINE = (
    "SELECT CASE WHEN NOT pg_is_in_recovery() THEN"
    " left(pg_walfile_name(pg_current_wal_flush_lsn()), 8) END"
)
#: A log that nobody waits for is written by whole pages: it may end within a record, and then no
#: replica gets there before somebody commits. So we do, and wait for nobody.
_PAGE = 8192
_END_RECORD = (
    "BEGIN; SET LOCAL synchronous_commit = local;"
    " SELECT pg_logical_emit_message(true, 'holdfast', ''); COMMIT"
)
_SYSTEM = "SELECT system_identifier FROM pg_control_system()"


class Reads:
    """Runs reads, each as a whole: begun anew when its connection breaks."""

    def __init__(self, primary: PostgresPool, address: Address) -> None:
        self._primary = primary
        primary.greet = self._greet_primary
        self._lock = threading.Lock()
        self._system: Any = None
        self._timeline: Any = None
        #: How often another server has become the primary, as far as this process has seen.
        self.history = 0
        #: How many reads the primary has answered.
        self.by_primary = 0
        self._closing = threading.Event()
        self._positions = Positions(
            lambda: self._on_primary(self._ask_primary), staleness=address.staleness
        )
        pools = [
            PostgresPool(
                each.conninfo,
                name=f"replica {each.name}",
                most=address.connections,
                is_pooled=address.is_pooled,
                patience=0,
            )
            for each in address.replicas
        ]
        for pool in pools:
            pool.greet = self._check_system
        self.replicas = [Replica(pool, self._closing) for pool in pools]
        if pools and address.staleness:
            primary.note_position = self._positions.note

    def run(self, read: Callable[[], T], *, by_replica: bool) -> T:
        """Run a read, by a replica if it may and one can."""
        if by_replica and self.replicas:
            with self._caught_up() as (replica, raw):
                if replica is not None and raw is not None:
                    try:
                        with self._primary.holding(raw):
                            return replica.count(read())
                    except StoreError as error:  # Lost, or in the way of what is replayed.
                        replica.fail(error)
        self.by_primary += 1
        return self._on_primary(read)

    @contextmanager
    def _caught_up(self) -> Iterator[tuple[Replica | None, psycopg.Connection[Any] | None]]:
        """A replica that has come far enough, and a connection to it."""
        needed = self._positions.needed()
        for replica in sorted(self.replicas, key=lambda each: each.reads):
            with replica.lent(needed) as raw:
                if raw is not None:
                    yield replica, raw
                    return
        yield None, None

    def _on_primary(self, read: Callable[[], T]) -> T:
        tries = 0
        while True:
            tries += 1
            try:
                return read()
            except StoreError as error:
                cause = error.__cause__
                if tries < _MOST_TRIES and _is_broken(cause):
                    continue
                is_gone = _is_broken(cause) or (type(error) is StoreError and cause is None)
                raise self._with_replicas(error) if is_gone else error from cause

    def _with_replicas(self, error: StoreError) -> StoreError:
        """That the primary cannot be reached, and why no replica answers instead."""
        words = [
            each.words or f"{each.name} answers, but not how old that is" for each in self.replicas
        ]
        return StoreError("; ".join([str(error), *words]))

    def _ask_primary(self) -> int:
        with self._primary.lent() as raw:
            try:
                is_replica, position = _ask_state(raw)
                if position % _PAGE or is_replica:
                    return position
                raw.execute(_END_RECORD)
                return _ask_state(raw)[1]
            except psycopg.Error as error:
                raise to_store_error(error, self._primary.name) from error

    def _greet_primary(self, raw: psycopg.Connection[Any]) -> None:
        """Notice when another server has become the primary: it may have less than was seen."""
        timeline = _ask_once(raw, _TIMELINE)
        with self._lock:
            is_other = None not in (timeline, self._timeline) and timeline != self._timeline
            self._timeline = timeline or self._timeline
            self.history += is_other
        if is_other:
            log.warning("%s: another server is the primary now", self._primary.name)
            self._positions.forget()

    def _check_system(self, raw: psycopg.Connection[Any]) -> None:
        """Refuse a server that does not replay the log of the primary."""
        if self._system is None:
            with self._primary.lent() as primary:
                self._system = _ask_once(primary, _SYSTEM)
        found = _ask_once(raw, _SYSTEM)
        if None not in (found, self._system) and found != self._system:
            raise OtherSystem("it is another server and replays nothing of this one")

    def open(self) -> None:
        """Look for the replicas. One that is down may come back; one of another system is a wrong
        address."""
        if self.replicas:
            self._check_durable()
        for replica in self.replicas:
            try:
                replica.look()
            except OtherSystem as error:
                raise StoreError(f"{self._primary.name}: {replica.name}: {error}") from None
            except StoreError as error:
                replica.fail(error)

    def _check_durable(self) -> None:
        with self._primary.lent() as raw:
            row = raw.execute("SELECT current_setting('synchronous_commit')").fetchone()
        if row == ("off",):
            raise StoreError(
                f"{self._primary.name}: synchronous_commit is off: what is stored is seen before"
                " it is on the disk, so nobody can tell whether a replica has it: turn it on"
            )

    def look(self) -> list[ServerState]:
        """How the replicas are now."""
        needed = self._positions.needed() if self.replicas else 0
        for replica in self.replicas:
            replica.find()
            with replica.lent(needed, patience=_LOOK_SECONDS):
                pass
        return self.states()

    def states(self) -> list[ServerState]:
        """How the replicas were when they were last asked. Of several one may be the primary, which
        is no trouble."""
        return [each.state(is_alone=len(self.replicas) == 1) for each in self.replicas]

    def close(self) -> None:
        self._closing.set()
        for replica in self.replicas:
            replica.pool.close()
        self._positions.close()


class Positions:
    """How far a replica must have come to answer."""

    def __init__(self, ask: Callable[[], int], *, staleness: float) -> None:
        self._ask = ask
        self._staleness = staleness
        self._lock = threading.Lock()
        self._seen = 0
        #: (when it was asked for, position of the primary), oldest first.
        self._samples: deque[tuple[float, int]] = deque()
        self._asking: Future[None] | None = None
        self._asker: ThreadPoolExecutor | None = None

    def needed(self) -> int:
        """For a read that begins now."""
        if not self._staleness:
            return self._ask()
        found, is_due = self._sample()
        if is_due or found is None:
            asking = self._ask_apart()
            if found is None:
                asking.result()
                found, _ = self._sample()
        with self._lock:
            return max(self._seen, found or 0)

    def _sample(self) -> tuple[int | None, bool]:
        """The oldest position that is not too old, and whether it is time to ask for another."""
        now = time.monotonic()
        with self._lock:
            while self._samples and self._samples[0][0] < now - self._staleness:
                self._samples.popleft()
            if not self._samples:
                return None, True
            newest = self._samples[-1][0]
            return self._samples[0][1], now - newest > self._staleness / _SAMPLES

    def _ask_apart(self) -> Future[None]:
        """Ask the primary, in a thread of its own: who can do without does not wait for it."""
        with self._lock:
            if self._asker is None:
                self._asker = ThreadPoolExecutor(1, thread_name_prefix="holdfast-position")
            if self._asking is None or self._asking.done():
                self._asking = self._asker.submit(self._take_sample)
            return self._asking

    def _take_sample(self) -> None:
        now = time.monotonic()  # Before it is asked for: it is of this moment or later.
        position = self._ask()
        with self._lock:
            self._samples.append((now, position))

    def note(self, position: int) -> None:
        """All up to there may have been seen by this process."""
        with self._lock:
            self._seen = max(self._seen, position)

    def forget(self) -> None:
        """Positions of another history say nothing."""
        with self._lock:
            self._seen = 0
            self._samples.clear()

    def close(self) -> None:
        if self._asker is not None:
            self._asker.shutdown(wait=False, cancel_futures=True)


class OtherSystem(StoreError):
    """A server that replays the log of another."""


class TakesWrites(StoreError):
    """A server that was called a replica, and is none, or none any more."""


class Replica:
    """A server that replays the primary's log."""

    def __init__(self, pool: PostgresPool, closing: threading.Event) -> None:
        self.pool = pool
        self.name = pool.name
        self.reads = 0
        #: Why it does not answer; "" if it does.
        self.words = ""
        #: It is the primary itself, perhaps since a failover.
        self.takes_writes = False
        self._closing = closing
        self._lock = threading.Lock()
        self._is_gone = False
        #: Until when nobody waits for it.
        self._late_until = 0.0
        self._behind = 0
        #: How far each connection has seen it come. Not the server: it may start anew, and earlier.
        self._reached: WeakKeyDictionary[psycopg.Connection[Any], int] = WeakKeyDictionary()

    @contextmanager
    def lent(
        self, needed: int, *, patience: float | None = None
    ) -> Iterator[psycopg.Connection[Any] | None]:
        """A connection, if it has come as far as that, or does soon."""
        with ExitStack() as stack:
            raw = None
            if not self._is_gone:
                try:
                    raw = stack.enter_context(self.pool.lent())
                    if not self._reaches(raw, needed, patience):
                        raw = None
                except StoreError as error:
                    self.fail(error)
            yield raw

    def _reaches(self, raw: psycopg.Connection[Any], needed: int, patience: float | None) -> bool:
        if self._reached.get(raw, 0) >= needed:
            return True
        now, pause = time.monotonic(), 0.0005
        if patience is None:
            patience = 0 if now < self._late_until else _WAIT_SECONDS
        deadline = now + patience
        while (position := self._position(raw)) < needed and time.monotonic() < deadline:
            time.sleep(pause)
            pause = min(2 * pause, 0.02)
        self._reached[raw] = position
        self._behind = max(0, needed - position)
        if not self._behind:
            self._late_until, self.words = 0.0, ""
        elif time.monotonic() >= self._late_until:
            self._late_until = time.monotonic() + _LATE_SECONDS
            self.words = f"{self.name} is {self._behind} bytes behind"
        return not self._behind

    def _position(self, raw: psycopg.Connection[Any]) -> int:
        try:
            is_replica, position = _ask_state(raw)
        except psycopg.Error as error:
            raise to_store_error(error, self.name) from error
        if not is_replica:
            raise TakesWrites(f"{self.name} is no replica: it takes writes itself")
        return position

    def look(self) -> None:
        """StoreError when it cannot answer, however far it has come."""
        with self.pool.lent() as raw:
            self._position(raw)

    def fail(self, error: StoreError) -> None:
        """It could not answer. One that is gone is looked for until it is there again; nobody
        waits for that."""
        cause = error.__cause__
        if isinstance(error, StoreBusy) or (cause is not None and not _is_broken(cause)):
            return
        with self._lock:
            was_gone, self._is_gone = self._is_gone, True
            self._tell(error)
        if not was_gone and not self._closing.is_set():
            log.warning("%s; reads go to the primary", error)
            self.pool.forget_idle()
            threading.Thread(target=self._look_until_found, daemon=True).start()

    def _look_until_found(self) -> None:
        while not self._closing.wait(_LOOK_SECONDS):
            if self.find():
                return

    def find(self) -> bool:
        """Whether it answers; looked for now, if it was gone."""
        if not self._is_gone:
            return True
        try:
            self.look()
        except HoldfastError as error:
            self._tell(error)
            return False
        with self._lock:
            was_gone, self._is_gone = self._is_gone, False
            self.words, self.takes_writes = "", False
        if was_gone:
            log.warning("%s is there again", self.name)
        return True

    def _tell(self, error: HoldfastError) -> None:
        self.words, self.takes_writes = str(error), isinstance(error, TakesWrites)

    def count(self, answer: T) -> T:
        """Count a read that it has answered."""
        self.reads += 1
        return answer

    def state(self, *, is_alone: bool) -> ServerState:
        words = "" if self.takes_writes and not is_alone else self.words
        return ServerState(self.name.removeprefix("replica "), self.reads, self._behind, words)


def _ask_state(raw: psycopg.Connection[Any]) -> tuple[bool, int]:
    """Whether a server replays another's log, and its position."""
    row = raw.execute(_STATE).fetchone()
    assert row is not None
    return bool(row[0]), to_position(row[1])


def _ask_once(raw: psycopg.Connection[Any], sql: str) -> Any:
    """What a server says of itself; None where it does not know such a thing."""
    try:
        row = raw.execute(sql).fetchone()
    except (pg.InsufficientPrivilege, pg.UndefinedFunction, pg.FeatureNotSupported):
        return None
    return row and row[0]


def _is_broken(cause: BaseException | None) -> bool:
    """Whether a read failed because its connection broke."""
    gone = (pg.AdminShutdown, pg.CrashShutdown, pg.CannotConnectNow)
    return isinstance(cause, gone) or (
        isinstance(cause, psycopg.OperationalError) and cause.sqlstate is None
    )
