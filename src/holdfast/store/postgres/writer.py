"""Transactions that write: begun again when another got in the way, and never done twice.

When the connection breaks while a transaction commits, nobody knows whether it did. So each writes
a row of its own last, in one message with its COMMIT. Who does not hear of the end writes the same
row again, with another time: if it is there with the first, the transaction was committed; if not,
it now never can be, and is begun anew. (The number of the transaction would not do: a server that
crashed gives numbers again that it had not yet written down, and somebody else's end is taken for
ours. In 300 crashes 9 of 32,000 writes were lost by that.)
"""

from __future__ import annotations

import logging
import random
import secrets
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import psycopg
from psycopg import errors as pg

from holdfast.errors import Closed, HoldfastError, StoreError
from holdfast.store.postgres.connection import (
    LOST_SECONDS,
    PostgresConnection,
    PostgresPool,
    is_lost,
    to_store_error,
    writing,
)
from holdfast.store.postgres.exchange import Statement
from holdfast.store.sql.engine import Work, WritesAlong

log = logging.getLogger("holdfast.store")

T = TypeVar("T")

_MOST_TRIES = 10
#: For so long the rows of transactions are kept, in microseconds; looked at so often.
_KEPT_US = 3_600_000_000
_SWEEP_EVERY = 1000


def _in_the_way(error: psycopg.Error) -> bool:
    """Whether another transaction got in the way, and the same again may do. (A number of a job
    that another process has just given to the same owner is one of these.)"""
    if isinstance(error, pg.UniqueViolation):
        return error.diag.constraint_name == "jobs_pkey"
    return isinstance(error, pg.SerializationFailure | pg.DeadlockDetected)


class PostgresWriter(WritesAlong):
    """`TransactionRunner` on PostgreSQL."""

    def __init__(self, pool: PostgresPool) -> None:
        super().__init__()
        self._pool = pool
        self._notes: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()
        self._last_note: Future[None] | None = None
        self._waiting: list[tuple[Work[None], str]] = []
        self._closed = False
        self._done = 0
        #: Why the last transaction failed; "" if it did not.
        self.trouble = ""

    def later(self, work: Work[None], what: str) -> None:
        with self._lock:
            if self._closed:
                raise Closed
            if self._notes is None:
                self._notes = ThreadPoolExecutor(1, thread_name_prefix="holdfast-notes")
            self._waiting.append((work, what))
            self._last_note = self._notes.submit(self._note)

    def _note(self) -> None:
        """Write all that waits in one transaction; if that fails, each in its own."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        try:
            self.transact(lambda c: [work(c) for work, _ in waiting], alone=False)
        except HoldfastError:
            for work, what in waiting:
                try:
                    self.transact(work, alone=False)
                except HoldfastError as error:
                    log.error("%s was not written: %s", what, error)

    def settle(self) -> None:
        if self._last_note is not None:
            self._last_note.exception()

    def close(self) -> None:
        """Finish what waits, then stop."""
        with self._lock:
            self._closed = True
        if self._notes is not None:
            self._notes.shutdown(wait=True)

    def transact(self, work: Work[T], *, alone: bool) -> T:
        deadline = time.monotonic() + LOST_SECONDS
        tries = 0
        while True:
            tries += 1
            try:
                result = self._once(work, alone=alone)
            except _Again as again:
                lost = again.is_lost
                if (time.monotonic() > deadline) if lost else (tries >= _MOST_TRIES):
                    self.trouble = str(again.error)
                    raise again.error from again.__cause__
                time.sleep(random.uniform(0.05, 0.2) if lost else random.uniform(0, 0.01 * tries))
            else:
                self.trouble = ""
                self._sweep()
                return result

    def _once(self, work: Work[T], *, alone: bool) -> T:
        """Run work in one transaction; `_Again` when it was not done and may be tried again."""
        try:
            lent = self._pool.lent()
            with lent as raw:
                return self._transact(raw, work, alone=alone)
        except _Lost as lost:
            self._pool.forget_idle()
            if lost.commit is not None and self._was_committed(lost.commit):
                result: T = lost.result
                return result
            raise _Again(to_store_error(lost.error, self._pool.name), is_lost=True) from lost.error

    def _transact(self, raw: psycopg.Connection[Any], work: Work[T], *, alone: bool) -> T:
        connection = PostgresConnection(raw, writing(alone=alone), self._pool)
        try:
            result = work(connection)
        except psycopg.Error as error:
            if is_lost(error, raw):
                raw.close()
                raise _Lost(error) from error
            self._pool.leave(raw, "ROLLBACK")
            raise self._told(error) from error
        except BaseException:
            self._pool.leave(raw, "ROLLBACK")
            raise
        commit = _Commit(connection.owner or 0, secrets.token_bytes(16), time.time_ns() // 1000)
        try:
            connection.commit(commit.sql, commit.values)
        except psycopg.Error as error:
            if is_lost(error, raw):
                raw.close()
                raise _Lost(error, commit, result) from error
            self._pool.leave(raw, "ROLLBACK")
            raise self._told(error) from error
        return result

    def _told(self, error: psycopg.Error) -> Exception:
        ours = to_store_error(error, self._pool.name)
        return _Again(ours) if _in_the_way(error) else ours

    def _was_committed(self, commit: _Commit) -> bool:
        """Whether a transaction whose end nobody heard of was committed. If not, it never will be:
        its row is taken. It is written in either case: on a server that crashed the first is there
        before a synchronous replica has it, and whoever writes waits for that."""
        deadline = time.monotonic() + LOST_SECONDS
        while True:
            try:
                with self._pool.lent() as raw:
                    asked = Statement(commit.sql_to_ask, commit.values_to_ask)
                    self._pool.run(raw, [asked], is_end=True)
                    return asked.rows() == [(commit.at,)]
            except (psycopg.Error, StoreError):
                if time.monotonic() > deadline:
                    raise StoreError(
                        f"{self._pool.name} was lost while a write was committed: whether it was"
                        " stored is not known; with an idempotency key it can be sent again"
                    ) from None
                self._pool.forget_idle()
                time.sleep(0.1)

    def _sweep(self) -> None:
        """Now and then, let go of the rows of transactions that are long past."""
        self._done += 1
        if self._done % _SWEEP_EVERY == 0:
            before = time.time_ns() // 1000 - _KEPT_US
            try:
                self._once(
                    lambda c: c.execute("DELETE FROM commits WHERE at < ?", (before,)), alone=False
                )
            except (
                _Again,
                HoldfastError,
            ) as error:  # What was asked for is done: the next one may.
                log.warning("rows of past transactions were not removed: %s", error)


@dataclass(frozen=True, slots=True)
class _Commit:
    """What a transaction writes last: a row that no other has."""

    owner: int
    token: bytes
    at: int

    sql: ClassVar[str] = "INSERT INTO holdfast.commits AS c (owner, token, at) VALUES (%s, %s, %s)"
    #: Take the row unless it is there; whose it is, by its time. (Who asks may be cut off, too, and
    #: must not take its own row for the transaction's.)
    sql_to_ask: ClassVar[str] = (
        f"{sql} ON CONFLICT (owner, token) DO UPDATE SET at = c.at RETURNING c.at"
    )

    @property
    def values(self) -> tuple[int, bytes, int]:
        return self.owner, self.token, self.at

    @property
    def values_to_ask(self) -> tuple[int, bytes, int]:
        return self.owner, self.token, self.at + 1


class _Lost(Exception):
    """The connection broke; with a `commit`, while that transaction was being committed."""

    def __init__(
        self, error: psycopg.Error, commit: _Commit | None = None, result: Any = None
    ) -> None:
        super().__init__(str(error))
        self.error = error
        self.commit = commit
        self.result = result


class _Again(Exception):
    """Nothing was done."""

    def __init__(self, error: HoldfastError, *, is_lost: bool = False) -> None:
        super().__init__(str(error))
        self.error = error
        self.is_lost = is_lost
