"""The embedded store: one SQLite file, safe for threads and for several processes."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from holdfast.border import private
from holdfast.errors import StoreError
from holdfast.store.sql.access import SqlKeys, SqlSharing
from holdfast.store.sql.audit import SqlAudit
from holdfast.store.sql.check import SqlCheck
from holdfast.store.sql.chores import SqlChores
from holdfast.store.sql.feed import SqlFeed
from holdfast.store.sql.hooks import SqlHooks
from holdfast.store.sql.jobs import SqlGroups, SqlQueue
from holdfast.store.sql.ledger import SqlLedger, SqlSpending
from holdfast.store.sql.log import SqlAnswers, SqlLog
from holdfast.store.sql.records import SqlLife, SqlListing, SqlRecords
from holdfast.store.sql.transfer import SqlTransfer
from holdfast.store.sql.turns import Turns
from holdfast.store.sqlite.connection import ReadPool, connect, errors_of, migrate
from holdfast.store.sqlite.writer import Writer
from holdfast.store.values import Trouble

log = logging.getLogger("holdfast.store")

#: With less than this a commit may find no room.
_LEAST_FREE_BYTES = 64 * 1024


class SqliteStore(
    SqlLog,
    SqlRecords,
    SqlListing,
    SqlLife,
    SqlFeed,
    SqlQueue,
    SqlGroups,
    SqlLedger,
    SqlSpending,
    SqlKeys,
    SqlAnswers,
    SqlAudit,
    SqlHooks,
    SqlSharing,
    SqlChores,
    SqlCheck,
    SqlTransfer,
):
    """`Store` on one SQLite file. `synchronous` other than FULL is for the power-loss harness."""

    def __init__(
        self, path: str | Path, *, vfs: str | None = None, synchronous: str = "FULL"
    ) -> None:
        if str(path).startswith(":"):
            raise StoreError(f"{path} would live in one connection only: name a file")
        # Absolute: the working directory may change before the next connection is opened.
        self._path = os.path.abspath(path)
        is_new = not os.path.exists(self._path)
        self._pool = ReadPool(self._path, vfs=vfs)
        connection = connect(self._path, vfs=vfs, synchronous=synchronous, unread=self._pool.unread)
        try:
            with errors_of(self._path):
                migrate(connection, self._path)
        except BaseException:
            connection.close()
            raise
        if vfs is None:
            _tighten(self._path)  # Only now: a file that is not ours stays as it was.
        if is_new and vfs is None:
            _sync_folder(Path(self._path))
        self._vfs = vfs
        self._file = _file_of(self._path) if vfs is None else None
        self._writer = Writer(connection, self._path, self._moved)
        self._turns = Turns()

    def _moved(self) -> str:
        """Why what is written now would not be there after a restart; "" if it would."""
        try:
            if self._file and _file_of(self._path) != self._file:
                return "another file lies where the store was: restart"
        except OSError:
            return "the file of the store is gone: restore it, then restart"
        return ""

    def trouble(self) -> Trouble | None:
        if words := self._moved():
            return Trouble(words, is_lost=True)
        if self._vfs is None and not _has_room(self._path):
            return Trouble("the disk is full: nothing can be stored")
        if words := self._writer.trouble:
            return Trouble(words)
        if self._pool.unread:
            return Trouble("rows of the store are damaged: run `holdfast doctor`")
        return None

    def close(self) -> None:
        self._pool.close()
        self._writer.close()


def _tighten(path: str) -> None:
    """Older versions left it to the umask who may read a store."""
    wide = [each for each in (path, path + "-wal", path + "-shm") if private.tighten(each)]
    if path in wide:
        log.warning("%s could be read by others than its owner: that was taken from them", path)


def _file_of(path: str) -> tuple[int, int]:
    """Which file it is, whatever it is called."""
    found = os.stat(path)
    return found.st_dev, found.st_ino


def _has_room(path: str) -> bool:
    try:
        room = os.statvfs(path)
    except OSError:  # Gone just now: the next look says so.
        return True
    return room.f_bavail * room.f_frsize >= _LEAST_FREE_BYTES


def _sync_folder(path: Path) -> None:
    """Without this a power cut could lose the name of a new file, and with it everything inside."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
