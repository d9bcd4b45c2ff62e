"""Transactions that write: begun again when another got in the way, and never done twice.

When the connection breaks while a transaction commits, nobody knows whether it did. The server
does: the transaction's number was noted before, and is asked for once the server is back.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import psycopg
from psycopg import errors as pg

from holdfast.errors import Closed, HoldfastError, StoreError
from holdfast.store.postgres.connection import (
    LOST_SECONDS,
    PostgresConnection,
    PostgresPool,
    begin_write,
    is_lost,
    to_store_error,
)
from holdfast.store.sql.engine import Work, both, has_done

log = logging.getLogger("holdfast.store")

T = TypeVar("T")

_MOST_TRIES = 10


def _in_the_way(error: psycopg.Error) -> bool:
    """Whether another transaction got in the way, and the same again may do. (A number of a job
    that another process has just given to the same owner is one of these.)"""
    if isinstance(error, pg.UniqueViolation):
        return error.diag.constraint_name == "jobs_pkey"
    return isinstance(error, pg.SerializationFailure | pg.DeadlockDetected)


class PostgresWriter:
    """`TransactionRunner` on PostgreSQL."""

    def __init__(self, pool: PostgresPool) -> None:
        self._pool = pool
        self._along = threading.local()
        self._notes: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()
        self._last_note: Future[None] | None = None
        self._waiting: list[tuple[Work[None], str]] = []
        self._closed = False
        #: Why the last transaction failed; "" if it did not.
        self.trouble = ""

    def run(self, work: Work[T], *, alone: bool = False) -> T:
        more: Work[None] | None = getattr(self._along, "work", None)
        if more is None:
            return self._run(work, alone=alone)
        note = more
        result = self._run(lambda c: both(c, work, note), alone=alone)
        if has_done(result):
            self._along.work = None
        return result

    @contextmanager
    def along(self, more: Work[None]) -> Iterator[None]:
        if getattr(self._along, "work", None) is not None:
            raise RuntimeError("something is to be written along already: blocks do not nest")
        self._along.work = more
        try:
            yield
        finally:
            self._along.work = None

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
            self._run(lambda c: [work(c) for work, _ in waiting], alone=False)
        except HoldfastError:
            for work, what in waiting:
                try:
                    self._run(work, alone=False)
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

    def _run(self, work: Work[T], *, alone: bool) -> T:
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
                return result

    def _once(self, work: Work[T], *, alone: bool) -> T:
        """Run work in one transaction; `_Again` when it was not done and may be tried again."""
        try:
            lent = self._pool.lent()
            with lent as raw:
                return self._transact(raw, work, alone=alone)
        except _Lost as lost:
            self._pool.forget_idle()
            if lost.number is not None and self._was_committed(lost.number):
                result: T = lost.result
                return result
            raise _Again(to_store_error(lost.error, self._pool.name), is_lost=True) from lost.error

    def _transact(self, raw: psycopg.Connection[Any], work: Work[T], *, alone: bool) -> T:
        begin = begin_write(alone=alone)
        connection = PostgresConnection(raw, begin, self._pool.numbers, self._pool.unread)
        try:
            connection.start()
            result = work(connection)
            number = raw.execute("SELECT pg_current_xact_id_if_assigned()::text").fetchone()
        except psycopg.Error as error:
            if is_lost(error, raw):
                raw.close()
                raise _Lost(error) from error
            raw.execute("ROLLBACK")
            if _in_the_way(error):
                raise _Again(to_store_error(error, self._pool.name)) from error
            raise to_store_error(error, self._pool.name) from error
        except BaseException:
            if not raw.closed:
                raw.execute("ROLLBACK")
            raise
        try:
            raw.execute("COMMIT")
        except psycopg.Error as error:
            if not is_lost(error, raw):
                raise to_store_error(error, self._pool.name) from error
            raw.close()
            raise _Lost(error, number and number[0], result) from error
        return result

    def _was_committed(self, number: str) -> bool:
        """Whether a transaction whose end nobody heard of was committed."""
        deadline = time.monotonic() + LOST_SECONDS
        while True:
            try:
                with self._pool.lent() as raw:
                    row = raw.execute(f"SELECT pg_xact_status('{number}'::xid8)").fetchone()
            except (psycopg.Error, StoreError):
                if time.monotonic() > deadline:
                    raise StoreError(
                        f"{self._pool.name} was lost while a write was committed: whether it was"
                        " stored is not known; with an idempotency key it can be sent again"
                    ) from None
                self._pool.forget_idle()
                time.sleep(0.1)
                continue
            if row is None or row[0] != "in progress":
                return row is not None and row[0] == "committed"
            time.sleep(0.05)


class _Lost(Exception):
    """The connection broke; with a number, while that transaction was being committed."""

    def __init__(self, error: psycopg.Error, number: str | None = None, result: Any = None) -> None:
        super().__init__(str(error))
        self.error = error
        self.number = number
        self.result = result


class _Again(Exception):
    """Nothing was done."""

    def __init__(self, error: HoldfastError, *, is_lost: bool = False) -> None:
        super().__init__(str(error))
        self.error = error
        self.is_lost = is_lost
