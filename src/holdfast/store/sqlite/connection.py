"""SQLite connections as we want them: its errors in our words, damaged rows left out, the schema.

A disk may change a bit of a text: SQLite gives back bytes that are no text, and without `Cursor`
one such row would end every search, list, export and check that meets it. Rows that cannot be read
are left out and told of; which they are, and how they are set aside: repair.py.
"""

from __future__ import annotations

import logging
import os
import queue
import random
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

import apsw

from holdfast.border import private
from holdfast.errors import (
    Closed,
    DamagedRow,
    HoldfastError,
    NotAStore,
    SchemaTooNew,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreReadOnly,
)
from holdfast.store.sealing import is_sealed
from holdfast.store.sql.engine import TableShape, migrations
from holdfast.types import Scope

T = TypeVar("T")

#: Older libraries can corrupt a WAL when two connections write and checkpoint.
OLDEST_SAFE_SQLITE = (3, 51, 3)
#: "RECL": marks the file as ours.
APPLICATION_ID = 0x5245434C
#: How long a writer waits for other processes before it tells the caller.
BUSY_SECONDS = 60.0
_PACKAGE = "holdfast.store.sqlite"


def connect(
    path: str,
    *,
    vfs: str | None = None,
    synchronous: str = "FULL",
    unread: set[str] | None = None,
) -> SqliteConnection:
    """A connection with our promises switched on; the file is made when missing. The names of
    tables with rows that cannot be read go to `unread`."""
    left_out = set() if unread is None else unread
    check_library()
    if vfs is None:
        with suppress(OSError):  # SQLite meets the same trouble, and says so in our words.
            private.create_private(
                path
            )  # SQLite gives what it keeps beside the file the same rights.
    with errors_of(path):
        connection = SqliteConnection(path, vfs=vfs) if vfs else SqliteConnection(path)
        try:
            connection.set_busy_handler(wait_fairly)
            connection.cursor_factory = lambda c: Cursor(c, left_out)
            # Before anything else: WAL mode is written into the file, and it may not be ours.
            patiently(lambda: refuse_foreign(connection, path))
            for pragma in (
                "journal_mode = WAL",
                f"synchronous = {synchronous}",
                "foreign_keys = ON",
                "secure_delete = ON",
                "temp_store = MEMORY",
                "cache_size = -16384",
                "journal_size_limit = 67108864",
            ):
                patiently(partial(connection.execute, f"PRAGMA {pragma}"))
        except BaseException:
            connection.close()
            raise
    return connection


def refuse_foreign(connection: apsw.Connection, path: str) -> None:
    """NotAStore for a database that another program made."""
    # One statement, one moment: another process may be making the store just now.
    application, tables = connection.execute(
        "SELECT (SELECT application_id FROM pragma_application_id),"
        " (SELECT count(*) FROM sqlite_schema)"
    ).fetchall()[0]
    if tables and application != APPLICATION_ID:
        raise NotAStore(f"{path} is a database of another program, not of Holdfast")


def check_library() -> None:
    """Refuse an SQLite that is known to corrupt files."""
    version = tuple(int(part) for part in apsw.sqlite_lib_version().split("."))
    if version < OLDEST_SAFE_SQLITE:
        needed = ".".join(map(str, OLDEST_SAFE_SQLITE))
        raise StoreError(
            f"SQLite {apsw.sqlite_lib_version()} can corrupt files that two connections write; "
            f"{needed} or newer is needed: upgrade the package apsw"
        )


@contextmanager
def errors_of(path: str) -> Iterator[None]:
    """Turn what SQLite raises into our errors, with the file's name."""
    try:
        yield
    except apsw.Error as error:
        raise to_store_error(error, path) from error
    except UnicodeDecodeError:
        # Without its cause, which holds what somebody said.
        raise DamagedRow(f"{path}: {DamagedRow.__doc__}") from None


def to_store_error(error: apsw.Error, path: str) -> HoldfastError:  # noqa: PLR0911 (a table)
    """Our error for one of SQLite's."""
    if getattr(error, "extendedresult", None) == apsw.SQLITE_IOERR_SHMSIZE:
        error = apsw.FullError()  # No room for the -shm file: SQLite calls that an I/O error.
    match error:
        case apsw.NotADBError() | apsw.CorruptError():
            return _no_store(error, path)
        case apsw.FullError():
            return StoreFull(f"the disk of {path} is full: nothing was stored; free some space")
        case apsw.ReadOnlyError() | apsw.PermissionsError():
            return StoreReadOnly(f"{path} cannot be written: check the file and its folder")
        case apsw.CantOpenError():
            return _cannot_open(path)
        case apsw.BusyError() | apsw.LockedError():
            return StoreBusy(f"another process has held {path} for over {BUSY_SECONDS:.0f} s")
        case apsw.ConnectionClosedError():
            return Closed()
    return StoreError(f"{path}: {error}")


def _no_store(error: apsw.Error, path: str) -> StoreError:
    if is_sealed(Path(path)):
        return NotAStore(f"{path} is a backup: `holdfast restore` makes a memory of it")
    return NotAStore(f"{path} is not a Holdfast database, or is damaged: {error}")


def _cannot_open(path: str) -> StoreError:
    folder = Path(path).resolve().parent
    if not folder.is_dir():
        return StoreError(f"the folder {folder} does not exist")
    if Path(path).is_dir():
        return NotAStore(f"{path} is a folder, not a database file")
    return StoreReadOnly(f"{path} cannot be opened for writing: check the file and its folder")


def wait_fairly(attempt: int) -> bool:
    """Short random pauses: SQLite's own growing ones let late comers starve the early ones."""
    pause = 0.001 + 0.004 * random.random()
    time.sleep(pause)
    # The mean pause is 3 ms.
    return attempt * 0.003 < BUSY_SECONDS


def patiently(action: Callable[[], T]) -> T:
    """Run an action, and again while the store is busy.

    For what SQLite refuses at once without asking the busy handler: the change to WAL mode, a
    recovery under way in another process.
    """
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            return action()
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            wait_fairly(0)


class ReadPool:
    """Connections for reading, lent to one thread at a time and kept for the next."""

    def __init__(self, path: str, *, vfs: str | None = None) -> None:
        self._path = path
        self._vfs = vfs
        #: Tables with rows that could not be read, and were left out.
        self.unread: set[str] = set()
        self._idle: queue.SimpleQueue[SqliteConnection] = queue.SimpleQueue()
        self._closed = False
        self._pid = os.getpid()

    @contextmanager
    def reader(self) -> Iterator[SqliteConnection]:
        """A connection for a few statements."""
        if self._closed:
            raise Closed
        if os.getpid() != self._pid:
            raise StoreError("this memory was opened before a fork: open it again in this process")
        try:
            connection = self._idle.get_nowait()
        except queue.Empty:
            connection = connect(self._path, vfs=self._vfs, unread=self.unread)
        try:
            with errors_of(self._path):
                yield connection
        finally:
            if self._closed:
                connection.close()
            else:
                self._idle.put(connection)

    @contextmanager
    def snapshot(self) -> Iterator[SqliteConnection]:
        """A connection that sees one moment, for several statements that must agree."""
        with self.reader() as connection:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.execute("ROLLBACK")

    def close(self) -> None:
        self._closed = True
        while True:
            try:
                self._idle.get_nowait().close()
            except queue.Empty:
                return


log = logging.getLogger("holdfast.store")


class Cursor(apsw.Cursor):
    """Passes over rows with a text that is none."""

    def __init__(self, connection: apsw.Connection, unread: set[str]) -> None:
        super().__init__(connection)
        #: The tables of which rows were left out, for all connections of a store.
        self._unread = unread

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]
        step = super().__next__
        while True:
            try:
                yield from iter(step, None)
            except UnicodeDecodeError:
                self.leave_out()
            else:
                return

    def fetchone(self) -> Any:
        while True:
            try:
                return super().fetchone()
            except UnicodeDecodeError:
                self.leave_out()

    def leave_out(self) -> None:
        """Say, once for every table, that a row of this answer cannot be read."""
        try:
            tables = {str(each[3]) for each in self.description_full if each[3]}
        except apsw.ExecutionCompleteError:
            tables = {"the store"}
        if not tables <= self._unread:
            self._unread |= tables
            log.error(
                "a row of %s is damaged and is left out: `holdfast doctor` names it",
                " or ".join(sorted(tables)),
            )


#: So much of what was read is kept by a connection until something is written.
_MOST_KEPT = 4096


class SqliteConnection(apsw.Connection):
    """`Connection` on SQLite: one writer at a time, so nothing needs a lock of its own."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._version: int | None = None
        self._kept: dict[Hashable, Any] = {}

    def until_written(self, key: Hashable, read: Callable[[], T]) -> T:
        # Asked for before anything is read: what is committed meanwhile is read again.
        version = next(apsw.Cursor(self).execute("PRAGMA data_version"))[0]
        if version != self._version or len(self._kept) > _MOST_KEPT:
            self._version = version
            self._kept.clear()
        if key not in self._kept:
            self._kept[key] = read()
        return cast(T, self._kept[key])

    def execute(self, sql: str, values: Any = (), /) -> Cursor:  # type: ignore[override]
        return cast(Cursor, super().execute(sql, values))

    stream = execute

    def many(self, sql: str, values: Sequence[Any]) -> list[Any]:
        """All rows. Going through each of them would take a third longer, so that is left for when
        one is damaged."""
        try:
            return list(apsw.Cursor(self).execute(sql, values))
        except UnicodeDecodeError:
            return list(self.execute(sql, values))

    def joined(
        self, columns: Sequence[str], source: str, values: Sequence[Any], *, order: Sequence[str]
    ) -> list[bytes]:
        sql = f"SELECT {', '.join(columns)} FROM {source} ORDER BY {', '.join(order)}"
        rows = apsw.Cursor(self).execute(sql, values)
        return [b"".join(each) for each in zip(*rows, strict=True)] or [b""] * len(columns)

    def load(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> int:
        before = self.total_changes()
        marks = ", ".join("?" * len(columns))
        self.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", rows)
        return self.total_changes() - before

    def narrow(self, scope: Scope) -> None:
        """Every statement names its owner."""

    def widen(self) -> None:
        """They always are."""

    def find_owner(self, scope: Scope) -> int | None:
        found: int | None = self.execute(
            "SELECT owner FROM owners WHERE workspace = ? AND user = ?",
            (scope.workspace, scope.user),
        ).get
        return found

    def new_owner(self, scope: Scope) -> int | None:
        return None

    def job_ids(self, count: int) -> Sequence[int | None]:
        return [None] * count

    def lock(self, name: str) -> None:
        """Whoever writes is alone."""

    for_update = ""

    def chain(self, workspace: str) -> str | None:
        return None

    def tables(self) -> list[TableShape]:
        names = self.execute(
            "SELECT name, wr FROM pragma_table_list WHERE schema = 'main' AND type = 'table'"
            " AND name NOT LIKE 'sqlite_%' AND name != 'set_aside' ORDER BY name"
        ).fetchall()
        return [self._table(str(name), bool(without_rowid)) for name, without_rowid in names]

    def _table(self, name: str, without_rowid: bool) -> TableShape:
        found = self.execute("SELECT name, type, pk FROM pragma_table_info(?)", (name,)).fetchall()
        keys = [str(column) for column, _, key in found if key] if without_rowid else ["rowid"]
        return TableShape(name, {str(column): kind == "TEXT" for column, kind, _ in found}, keys)

    def unname(self, owner: int, record: bytes | None) -> None:
        """Every owner of a file is held in memory."""

    def as_bytes(self, column: str) -> str:
        return f"CAST({column} AS BLOB)"


# ----------------------------------------------------------------------
# The schema of this version: ordered .sql files, each in one transaction.
# ----------------------------------------------------------------------


def migrate(connection: apsw.Connection, path: str) -> None:
    """Apply what is missing. Two processes may do so at once: each step looks again inside."""
    newest = migrations(_PACKAGE)[-1][0]
    if _version(connection, path) == newest:
        return
    for version, sql in migrations(_PACKAGE):
        patiently(lambda: connection.execute("BEGIN IMMEDIATE"))
        try:
            if _version(connection, path) < version:
                connection.execute(sql)
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {version}")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")


def _version(connection: apsw.Connection, path: str) -> int:
    version = int(connection.pragma("user_version"))
    newest = migrations(_PACKAGE)[-1][0]
    if version > newest:
        raise SchemaTooNew(
            f"{path} has schema {version}, this version of Holdfast knows {newest}: "
            "upgrade Holdfast to open it"
        )
    return version
