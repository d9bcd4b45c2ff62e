"""The embedded store: one SQLite file, safe for threads and for several processes."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from pathlib import Path

import apsw

from holdfast.border import private
from holdfast.errors import StoreError
from holdfast.store.sealing import seal
from holdfast.store.sql import SqlStore
from holdfast.store.sql.engine import Connection
from holdfast.store.sql.jobs import Turns
from holdfast.store.sqlite.connection import (
    OLDEST_SAFE_SQLITE,
    ReadPool,
    connect,
    errors_of,
    migrate,
    patiently,
)
from holdfast.store.sqlite.writer import Writer
from holdfast.store.values import Health, Progress, Trouble
from holdfast.types import Finding

log = logging.getLogger("holdfast.store")

#: With less than this a commit may find no room.
_LEAST_FREE_BYTES = 64 * 1024
_PAGES_AT_ONCE = 256


class SqliteStore(SqlStore):
    """`Store` on one SQLite file. `synchronous` other than FULL is for the power-loss harness."""

    _errors = (apsw.Error,)

    def __init__(
        self, path: str | Path, *, vfs: str | None = None, synchronous: str = "FULL"
    ) -> None:
        if str(path).startswith(":"):
            raise StoreError(f"{path} would live in one connection only: name a file")
        # Absolute: the working directory may change before the next connection is opened.
        self._path = os.path.abspath(path)
        is_new = not os.path.exists(self._path)
        self._pool: ReadPool = ReadPool(self._path, vfs=vfs)
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
        self._writer: Writer = Writer(connection, self._path, self._moved)
        self._turns = Turns()

    def _moved(self) -> str:
        """Why what is written now would not be there after a restart; "" if it would."""
        try:
            if self._file and _file_of(self._path) != self._file:
                return "another file lies where the store was: restart"
        except OSError:
            return "the file of the store is gone: restore it, then restart"
        return ""

    def _engine(self, connection: Connection) -> list[Finding]:
        library = tuple(int(part) for part in apsw.sqlite_lib_version().split("."))
        who = private.readers(self._path)
        return [
            Finding(
                "library",
                library >= OLDEST_SAFE_SQLITE,
                f"SQLite {apsw.sqlite_lib_version()}",
            ),
            Finding(
                "permissions", who != "everybody", f"{who or 'only its owner'} may read the file"
            ),
            _integrity(connection),
        ]

    def _mend_engine(self, connection: Connection) -> int:
        """Indexes first: a row cannot be removed from one that has another text of it."""
        if not _integrity(connection).ok:
            connection.execute("REINDEX")
        return 0

    def _scrub(self, tables: Sequence[str]) -> None:
        """Make the file anew out of what is left, and empty the write-ahead log.

        Removed rows are overwritten at once (`secure_delete`), but cells that were moved when a
        page was split may have left copies behind; and the log holds the pages as they were.
        """
        with self._pool.reader() as connection:
            # A copy of the whole store in memory could be too much.
            connection.execute("PRAGMA temp_store = FILE")
            try:
                patiently(lambda: connection.execute("VACUUM"))
                patiently(lambda: connection.wal_checkpoint(None, apsw.SQLITE_CHECKPOINT_TRUNCATE))
            finally:
                connection.execute("PRAGMA temp_store = MEMORY")

    def backup(self, path: Path, *, progress: Progress | None = None) -> None:
        if path.exists() and path.stat().st_size:
            raise StoreError(f"{path} exists already: a backup never overwrites a file")
        target = connect(str(path))
        try:
            with self._pool.reader() as source, errors_of(str(path)):
                with target.backup("main", source, "main") as copy:
                    while not copy.done:
                        copy.step(_PAGES_AT_ONCE)
                        if progress:
                            progress(copy.page_count - copy.remaining, copy.page_count)
                verdict = target.execute("PRAGMA integrity_check").get
                if verdict != "ok":
                    raise StoreError(f"the backup {path} is damaged: {verdict}")
                # One plain file, complete without a -wal beside it.
                target.execute("PRAGMA journal_mode = DELETE")
        finally:
            target.close()
        seal(path)

    def health(self) -> Health:
        return Health(self._trouble())

    def _trouble(self) -> Trouble | None:
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


def _integrity(connection: Connection) -> Finding:
    rows = connection.execute("PRAGMA integrity_check").fetchall()
    rows += connection.execute("PRAGMA foreign_key_check").fetchall()
    ok = rows == [("ok",)]
    detail = "the file is sound" if ok else "; ".join(str(row) for row in rows[:3])
    return Finding("integrity", ok, detail)


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
