"""One writer per process, and group commit: whoever waits shares the next fsync.

A commit with synchronous=FULL costs one fsync, whether it holds one row or a thousand. So callers
queue their work; the writer thread runs all that waits in one BEGIN IMMEDIATE transaction, each in
a savepoint of its own, commits once, and only then answers. Work that fails is undone alone.
"""

from __future__ import annotations

import logging
import os
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar

import apsw

from holdfast.errors import Closed, StoreError, StoreFull
from holdfast.store.sql.engine import Work, WritesAlong
from holdfast.store.sqlite.connection import (
    SqliteConnection,
    patiently,
    to_store_error,
    wait_fairly,
)

log = logging.getLogger("holdfast.store")

T = TypeVar("T")

#: More than this in one transaction delays the first caller for little gain.
_MOST_AT_ONCE = 256
#: Pages in the WAL after which they are moved into the database, and after which we also wait for
#: the readers so that the WAL can start over; a reader that takes longer than this is let be.
PAGES_CHECKPOINT = 1000
PAGES_START_OVER = 4000
_PATIENCE_MS = 50


@dataclass(slots=True)
class _PendingWrite:
    work: Work[Any]
    answer: Future[Any]
    #: What it writes, if nobody waits for the answer.
    unawaited: str = ""
    result: Any = None
    error: BaseException | None = None

    def fail(self, error: BaseException) -> None:
        """Tell the caller; where nobody waits, the log."""
        if self.unawaited:
            log.error("%s was not written: %s", self.unawaited, error)
        self.answer.set_exception(error)


class Writer(WritesAlong):
    """Runs pieces of work on the only writing connection of this process."""

    def __init__(
        self, connection: SqliteConnection, path: str, moved: Callable[[], str] = str
    ) -> None:
        """`moved` says why the file is no longer where it was; "" if it is."""
        super().__init__()
        self._connection = connection
        self._moved = moved
        connection.set_wal_hook(self._checkpoint)
        self._path = path
        self._pid = os.getpid()
        self._waiting: queue.SimpleQueue[_PendingWrite | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._closed = False
        self._broken: StoreError | None = None
        self._last_failure = ""
        self._last_unawaited: Future[Any] | None = None
        self._thread = threading.Thread(target=self._loop, name="holdfast-writer", daemon=True)
        self._thread.start()

    def transact(self, work: Work[T], *, alone: bool = False) -> T:
        """Run `work` in a transaction and return once its effects are on stable storage. (It is
        always alone: there is no other writer.)"""
        result: T = self._submit(work).result()
        return result

    @property
    def trouble(self) -> str:
        """Why the last commit failed, "" if it did not: without the name of a file."""
        if self._broken is not None:
            return "the store accepts nothing more: restart"
        return self._last_failure

    def later(self, work: Work[None], what: str) -> None:
        """Run `work` soon, without waiting; a failure is logged as that of `what`."""
        self._submit(work, unawaited=what)

    def settle(self) -> None:
        """Return once all that was handed to `later` before is written, or has failed."""
        if self._last_unawaited is not None and os.getpid() == self._pid:
            self._last_unawaited.exception()

    def _submit(self, work: Work[T], *, unawaited: str = "") -> Future[T]:
        if os.getpid() != self._pid:
            raise StoreError("this memory was opened before a fork: open it again in this process")
        request = _PendingWrite(work, Future(), unawaited)
        with self._lock:
            if self._closed:
                raise Closed
            self._waiting.put(request)
            if unawaited:  # Work is done in order: the last one done, all are.
                self._last_unawaited = request.answer
        return request.answer

    def close(self) -> None:
        """Finish what waits, then stop."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._waiting.put(None)
        if os.getpid() == self._pid:
            self._thread.join()
            self._connection.close()

    def _loop(self) -> None:
        while True:
            batch = self._next_batch()
            requests = [request for request in batch if request is not None]
            try:
                if requests:
                    self._commit(requests)
            except BaseException as error:  # noqa: BLE001 (nobody may wait for ever)
                self._broken = StoreError(f"{self._path}: the writer failed: {error!r}")
                for request in requests:
                    if not request.answer.done():
                        request.fail(self._broken)
            if batch[-1] is None:
                return

    def _next_batch(self) -> list[_PendingWrite | None]:
        """Everything that waits now; ends with None when the writer is to stop."""
        batch: list[_PendingWrite | None] = [self._waiting.get()]
        while batch[-1] is not None and len(batch) < _MOST_AT_ONCE:
            try:
                batch.append(self._waiting.get_nowait())
            except queue.Empty:
                break
        return batch

    def _commit(self, requests: list[_PendingWrite]) -> None:
        failure: BaseException | None = self._refusal()
        if failure is None:
            try:
                patiently(lambda: self._connection.execute("BEGIN IMMEDIATE"))
                for request in requests:
                    self._run_alone(request)
                self._connection.execute("COMMIT")
                self._last_failure = ""
            except apsw.Error as error:
                failure = self._give_up(error)
                if isinstance(failure, StoreFull):
                    self._last_failure = "the disk is full: nothing can be stored"
        for request in requests:
            if failure is not None:
                request.fail(failure)
            elif request.error is not None:
                request.fail(request.error)
            else:
                request.answer.set_result(request.result)

    def _refusal(self) -> StoreError | None:
        """Why nothing is accepted."""
        if self._broken is None and (words := self._moved()):
            return StoreError(f"{self._path}: {words}")
        return self._broken

    def _run_alone(self, request: _PendingWrite) -> None:
        """Run one piece of work in a savepoint; its failure is its own."""
        self._connection.execute("SAVEPOINT one")
        try:
            request.result = request.work(self._connection)
        except BaseException as error:
            if isinstance(error, apsw.Error):
                fatal = isinstance(error, apsw.IOError | apsw.FullError)
                if fatal or not self._connection.in_transaction:
                    raise  # The whole transaction is lost, not this work alone.
                error = to_store_error(error, self._path)
            request.error = error
            self._connection.execute("ROLLBACK TO one")
        self._connection.execute("RELEASE one")

    def _give_up(self, error: apsw.Error) -> BaseException:
        """Undo the transaction; after an I/O error never trust this handle again."""
        if self._connection.in_transaction:
            try:
                self._connection.execute("ROLLBACK")
            except apsw.Error as worse:
                self._broken = StoreError(f"{self._path}: {worse}: open the memory again")
        failure = to_store_error(error, self._path)
        if isinstance(error, apsw.IOError) and not isinstance(failure, StoreFull):
            # A failed fsync may have dropped the dirty pages: a retry would lie.
            self._broken = StoreError(
                f"{self._path}: {error}: nothing more is accepted; open the memory again"
            )
        return failure

    def _checkpoint(self, connection: apsw.Connection, schema: str, pages: int) -> int:
        """After a commit: move a grown WAL into the database.

        A passive checkpoint never waits, so with readers always about the WAL would grow without
        limit. The commit stands whatever happens here; busy readers or a full disk leave the work
        to the next one. After an I/O error nothing more is accepted: a later fsync would lie.
        """
        if pages < PAGES_CHECKPOINT:
            return apsw.SQLITE_OK
        grown = pages >= PAGES_START_OVER
        mode = apsw.SQLITE_CHECKPOINT_RESTART if grown else apsw.SQLITE_CHECKPOINT_PASSIVE
        connection.set_busy_timeout(_PATIENCE_MS)
        try:
            connection.wal_checkpoint(schema, mode)
        except (apsw.BusyError, apsw.LockedError, apsw.FullError):
            pass
        except apsw.Error as error:
            self._broken = StoreError(f"{self._path}: {error}: open the memory again")
        connection.set_busy_handler(wait_fairly)
        return apsw.SQLITE_OK
