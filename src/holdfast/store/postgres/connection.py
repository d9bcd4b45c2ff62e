"""PostgreSQL connections as the store wants them: its SQL translated, its errors in our words, rows
of other owners out of sight, a pool.

Everything that a transaction needs (the schema, whose rows are seen) is set for that transaction
alone and in one message; nothing is kept in the session, so a pooler that lends connections by the
transaction may stand in between.
"""

from __future__ import annotations

import logging
import os
import re
import select
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import lru_cache
from hashlib import blake2b
from itertools import count
from typing import Any, TypeVar

import psycopg
from psycopg import errors as pg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from holdfast.errors import (
    Closed,
    HoldfastError,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreReadOnly,
)
from holdfast.store.sql.engine import TableShape
from holdfast.types import Scope

T = TypeVar("T")

log = logging.getLogger("holdfast.store")

OLDEST_SERVER = 150_000
#: How long a statement waits for a lock, and a caller for a connection, before it is told.
BUSY_SECONDS = 60
#: How long we try to reach a server that does not answer.
LOST_SECONDS = 30
_ROWS_AT_ONCE = 2000
_CURSORS = count()
_ROWS_A_STATEMENT = 64
#: Change numbers of which the rows are put together: the passages of so many of the largest texts
#: are less than the gigabyte that a value may have.
_NUMBERS_JOINED = 128
_INSERT = re.compile(r"(INSERT INTO [^()]+ \([^()]+\) VALUES )(\([^()]+\))( ON CONFLICT .*)?")

_BEGIN = "SET LOCAL search_path = holdfast"
#: A few rows by their keys. Without statistics, as after a bulk load, the planner would read whole
#: owners into a hash for that; and where it takes an owner for one row, it would go through all of
#: them for each: what is joined is looked up by its whole key, row by row (`look_up`).
_BY_KEYS = "SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off"
_BEGIN_READ = f"BEGIN READ ONLY; {_BEGIN}; {_BY_KEYS}"
#: A span of an index's vectors is sorted in memory: the server's own 4 MB would send it to disk.
_BEGIN_SNAPSHOT = (
    f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {_BEGIN}; SET LOCAL work_mem = '32MB'"
)
#: Numbers of advisory locks begin with it: "hold", as four letters.
LOCKS = 0x686F6C64


def begin_write(*, alone: bool) -> str:
    """What opens a transaction that writes. Whoever must be alone waits for all that write."""
    shared = "" if alone else "_shared"
    return (
        f"BEGIN; {_BEGIN}; SET LOCAL lock_timeout = '{BUSY_SECONDS}s';"
        f" SET LOCAL idle_in_transaction_session_timeout = '{2 * BUSY_SECONDS}s';"
        f" SELECT pg_advisory_xact_lock{shared}({LOCKS}, 0)"
    )


@lru_cache(maxsize=1024)
def translate(sql: str, named: bool = False) -> str:
    """The store's SQL as the driver reads it."""
    text = re.sub(r" INDEXED BY \w+", "", sql).replace("%", "%%").replace(" IN ()", " IN (NULL)")
    text = re.sub(r":(\w+)", r"%(\1)s", text) if named else text.replace("?", "%s")
    return re.sub(r"(?<![.\w'\"])user(?![\w'\"])", '"user"', text)


_JOINED = re.compile(
    r" LEFT JOIN (?P<table>\w+) (?P<as>\w)"
    r" ON (?P=as)\.owner = (?P<owner>\w\.owner) AND (?P=as)\.id = (?P<id>\w\.\w+)"
    r"(?: AND (?P=as)\.(?P<also>\w+ IS NULL))?"
)


@lru_cache(maxsize=256)
def look_up(text: str) -> str:
    """A translated statement whose joins look up each row by its key."""

    def of_row(join: re.Match[str]) -> str:
        also = f" AND {join['also']}" if join["also"] else ""
        row = f"SELECT * FROM {join['table']} WHERE owner = {join['owner']} AND id = {join['id']}"
        return f" LEFT JOIN LATERAL ({row}{also} LIMIT 1) {join['as']} ON TRUE"

    return _JOINED.sub(of_row, text)


def owner_number(scope: Scope) -> int:
    """The number of an owner, out of its names: nobody has to count. 62 bits."""
    name = f"{len(scope.workspace)} {scope.workspace} {scope.user}"
    digest = blake2b(name.encode(), digest_size=8, person=b"holdfast owner")
    return int.from_bytes(digest.digest(), "big") >> 2


class PostgresRows:
    """`Rows` of a cursor."""

    def __init__(self, cursor: Any, unread: set[str]) -> None:
        self._cursor = cursor
        self._unread = unread

    @property
    def get(self) -> Any:
        row = self.fetchone()
        return row[0] if row is not None and len(row) == 1 else row

    def __iter__(self) -> Iterator[Any]:
        with self._cursor:
            yield from self._cursor

    def fetchone(self) -> Any:
        return self._cursor.fetchone() if self._cursor.description else None

    def fetchall(self) -> list[Any]:
        found: list[Any] = self._cursor.fetchall() if self._cursor.description else []
        return found

    def leave_out(self) -> None:
        if not self._unread:
            log.error("a row is damaged and is left out: `holdfast doctor` names it")
        self._unread.add("the store")


class JobNumbers:
    """Numbers of jobs: the microseconds of their making, and no number twice in this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0

    def take(self, count: int) -> range:
        with self._lock:
            first = max(time.time_ns() // 1000, self._last + 1)
            self._last = first + count - 1
        return range(first, first + count)


class PostgresConnection:
    """`Connection` on PostgreSQL, for one transaction."""

    def __init__(self, raw: psycopg.Connection[Any], begin: str, pool: PostgresPool) -> None:
        self._raw = raw
        self._pending = begin
        self._pool = pool
        self._writes = not begin.startswith((_BEGIN_READ, _BEGIN_SNAPSHOT))
        self._is_by_keys = begin.startswith(_BEGIN_READ)
        #: To whose rows it was narrowed.
        self.owner: int | None = None
        self._changes = 0
        self._total = 0
        self.is_begun = False
        self._streams: list[Any] = []

    def start(self) -> None:
        """Open the transaction."""
        if self._pending:
            self._raw.execute(self._pending)
            self._pending, self.is_begun = "", True

    def execute(self, sql: str, values: Any = (), /) -> PostgresRows:
        self.start()
        cursor = self._raw.cursor(binary=True)
        text = translate(sql, isinstance(values, dict))
        cursor.execute(look_up(text) if self._is_by_keys else text, values)
        is_change = (cursor.statusmessage or "").startswith(("INSERT", "UPDATE", "DELETE"))
        self._count(cursor.rowcount if is_change else 0)
        return PostgresRows(cursor, self._pool.unread)

    def executemany(self, sql: str, values: Iterable[Sequence[Any]], /) -> None:
        rows = list(values)
        self._count(0)
        if len(rows) == 1:  # Without the ceremony of many.
            self.execute(sql, rows[0])
        elif rows and (insert := _INSERT.fullmatch(sql)):
            self._insert(insert[1], insert[2], insert[3] or "", rows)
        elif rows:
            self.start()
            cursor = self._raw.cursor()
            cursor.executemany(translate(sql), rows)
            self._count(cursor.rowcount)

    def _insert(self, head: str, row: str, tail: str, rows: Sequence[Sequence[Any]]) -> None:
        """Rows in one statement, as many as go: half the work of one statement for each."""
        total = 0
        for start in range(0, len(rows), _ROWS_A_STATEMENT):
            some = rows[start : start + _ROWS_A_STATEMENT]
            values = [value for each in some for value in each]
            self.execute(head + ", ".join([row] * len(some)) + tail, values)
            total += self._changes
        self._changes = total

    def stream(self, sql: str, values: Sequence[Any] = ()) -> PostgresRows:
        self.start()
        cursor = self._raw.cursor(f"rows_{next(_CURSORS)}", binary=True)
        cursor.itersize = _ROWS_AT_ONCE
        cursor.execute(translate(sql), values)
        self._streams = [each for each in self._streams if not each.closed] + [cursor]
        return PostgresRows(cursor, self._pool.unread)

    def many(self, sql: str, values: Sequence[Any]) -> list[Any]:
        return self.execute(sql, values).fetchall()

    def joined(
        self, columns: Sequence[str], source: str, values: Sequence[Any], *, order: Sequence[str]
    ) -> list[bytes]:
        """The server puts some rows together at a time: a third of the work of a row each."""
        by = ", ".join(order)
        some = f"{order[0]} / {_NUMBERS_JOINED}"
        joined = ", ".join(f"string_agg({column}, ''::bytea ORDER BY {by})" for column in columns)
        rows = self.execute(
            f"SELECT {joined} FROM {source} GROUP BY {some} ORDER BY {some}", values
        ).fetchall()
        return [b"".join(each) for each in zip(*rows, strict=True)] or [b""] * len(columns)

    def load(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> int:
        self.start()
        cursor = self._raw.cursor()
        names = translate(", ".join(columns))
        with cursor.copy(f"COPY {table} ({names}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
        self._count(cursor.rowcount)
        return self._changes

    def copy(self, table: str, rows: bytes) -> None:
        """Load rows that are packed as COPY reads them in binary."""
        with self._raw.cursor().copy(f"COPY {table} FROM STDIN (FORMAT BINARY)") as copy:
            copy.write(rows)

    def _count(self, rows: int) -> None:
        self._changes = max(rows, 0)
        self._total += self._changes

    def changes(self) -> int:
        return self._changes

    def total_changes(self) -> int:
        return self._total

    def end(self) -> None:
        """Leave the transaction; what was written is not kept."""
        if self.is_begun and not self._raw.closed:
            for cursor in self._streams:
                with suppress(psycopg.Error):
                    cursor.close()
            self._pool.rollback(self._raw)

    def narrow(self, scope: Scope) -> None:
        owner = owner_number(scope)
        if owner == self.owner:
            return
        self.owner = owner
        narrowing = f"SET LOCAL ROLE holdfast_serve; SET LOCAL holdfast.owner = '{owner}'"
        if self._pending:
            self._pending += f"; {narrowing}"
        else:
            self._raw.execute(narrowing)

    def widen(self) -> None:
        if self.owner is not None:
            self.owner = None
            self._raw.execute("SET LOCAL ROLE NONE")

    def find_owner(self, scope: Scope) -> int | None:
        lock = " FOR NO KEY UPDATE" if self._writes else ""
        found: int | None = self.execute(
            f"SELECT owner FROM owners WHERE owner = ? AND workspace = ? AND user = ?{lock}",
            (owner_number(scope), scope.workspace, scope.user),
        ).get
        return found

    def new_owner(self, scope: Scope) -> int | None:
        return owner_number(scope)

    def job_ids(self, count: int) -> Sequence[int | None]:
        return self._pool.numbers.take(count)

    def lock(self, name: str) -> None:
        number = int.from_bytes(blake2b(name.encode(), digest_size=4).digest(), "big", signed=True)
        self.execute(f"SELECT pg_advisory_xact_lock({LOCKS}, {number or 1})")

    @property
    def for_update(self) -> str:
        return " FOR UPDATE OF j" if self._writes else ""

    def chain(self, workspace: str) -> str | None:
        return workspace

    def unname(self, owner: int, record: bytes | None) -> None:
        self.execute("SELECT unname(?, ?)", (owner, record))

    def tables(self) -> list[TableShape]:
        found: dict[str, TableShape] = {}
        for table, column, kind in self.execute(
            "SELECT table_name, column_name, data_type FROM information_schema.columns"
            " WHERE table_schema = 'holdfast' AND table_name NOT IN ('set_aside', 'candidates',"
            " 'frequencies', 'large_owners', 'nearest') AND is_generated = 'NEVER'"
            " ORDER BY table_name, ordinal_position"
        ):
            found.setdefault(table, TableShape(table, {}, [])).columns[column] = kind == "text"
        for table, column in self.execute(
            "SELECT k.table_name, k.column_name FROM information_schema.key_column_usage k"
            " JOIN information_schema.table_constraints c"
            " USING (constraint_schema, constraint_name)"
            " WHERE k.table_schema = 'holdfast' AND c.constraint_type = 'PRIMARY KEY'"
            " ORDER BY k.table_name, k.ordinal_position"
        ):
            if table in found:
                found[table] = found[table]._replace(keys=[*found[table].keys, column])
        return [table for table in found.values() if table.keys]

    def as_bytes(self, column: str) -> str:
        return f"convert_to({column}, 'UTF8')"

    def until_written(self, _key: Hashable, read: Callable[[], T]) -> T:
        return read()


# ----------------------------------------------------------------------
# Errors in our words. Nothing in them holds a password.
# ----------------------------------------------------------------------


_WORDS: tuple[tuple[type[psycopg.Error], type[HoldfastError], str], ...] = (
    (pg.DiskFull, StoreFull, "its disk is full: nothing was stored; free some space"),
    (
        pg.ReadOnlySqlTransaction,
        StoreReadOnly,
        "nothing can be written: it is a replica, or set so",
    ),
    (pg.LockNotAvailable, StoreBusy, f"another has held what was asked for over {BUSY_SECONDS} s"),
    (pg.TooManyConnections, StoreBusy, "it takes no more connections: raise max_connections"),
    (pg.InvalidPassword, StoreError, "it refused the user or the password"),
    (pg.InvalidAuthorizationSpecification, StoreError, "it refused the user or the password"),
    (pg.InvalidCatalogName, StoreError, "there is no such database: create it first"),
)


def to_store_error(error: psycopg.Error, name: str) -> HoldfastError:
    """Our error for one of PostgreSQL's."""
    for kind, ours, words in _WORDS:
        if isinstance(error, kind):
            return ours(f"{name}: {words}")
    line = next(iter(str(error).strip().splitlines()), type(error).__name__)
    if isinstance(error, psycopg.OperationalError):
        # Told while connecting: by its words alone.
        if "authentication failed" in line or "no password" in line:
            return StoreError(f"{name}: it refused the user or the password")
        if "does not exist" in line:
            return StoreError(f"{name}: there is no such database or user: create it first")
        if "too many" in line or "remaining connection slots" in line:
            return StoreBusy(f"{name}: it takes no more connections: raise max_connections")
    if isinstance(error, pg.InsufficientPrivilege):
        line += ": see docs/howto/postgres.md for the roles"
    return StoreError(f"{name}: {line}")


def is_lost(error: psycopg.Error, raw: psycopg.Connection[Any]) -> bool:
    """Whether the connection is gone, not only a statement refused."""
    gone = (pg.AdminShutdown, pg.CrashShutdown, pg.CannotConnectNow)
    return raw.closed or isinstance(error, gone)


# ----------------------------------------------------------------------
# The pool.
# ----------------------------------------------------------------------


class PostgresPool:
    """Connections, lent to one thread at a time and kept for the next."""

    def __init__(
        self,
        conninfo: str,
        *,
        name: str,
        most: int,
        is_pooled: bool,
        patience: float = LOST_SECONDS,
    ) -> None:
        options = conninfo_to_dict(conninfo)
        self.name = name
        options.setdefault("application_name", "holdfast")
        options.setdefault("connect_timeout", "10")
        # A machine that vanished is noticed within half a minute, not within hours.
        options.setdefault("keepalives_idle", "15")
        options.setdefault("keepalives_interval", "5")
        options.setdefault("keepalives_count", "3")
        options.setdefault("tcp_user_timeout", str(LOST_SECONDS * 1000))
        self.conninfo = make_conninfo("", **options)
        #: A pooler that lends by the transaction cannot keep prepared statements.
        self._prepares = not is_pooled
        #: For how long a server that was there and is not is waited for.
        self._patience = patience
        self.unread: set[str] = set()
        self.numbers = JobNumbers()
        #: Called with every new connection, before it is used.
        self.greet: Callable[[psycopg.Connection[Any]], None] | None = None
        #: Called at the end of every transaction with how far the log had come then.
        self.note_position: Callable[[int], None] | None = None
        self._idle: list[psycopg.Connection[Any]] = []
        self._free = threading.Semaphore(most)
        self._most = most
        self._lock = threading.Lock()
        self._closed = False
        self._was_there = False
        self._pid = os.getpid()
        self._here = _Here()

    @contextmanager
    def lent(self, *, patience: float | None = None) -> Iterator[psycopg.Connection[Any]]:
        """A raw connection; one that is broken afterwards is not kept."""
        if self._closed:
            raise Closed
        if os.getpid() != self._pid:
            raise StoreError("this memory was opened before a fork: open it again in this process")
        if not self._free.acquire(timeout=BUSY_SECONDS):
            raise StoreBusy(f"all {self._most} connections to {self.name} are in use")
        try:
            raw = self._idle_one() or self.connect(patience)
            try:
                yield raw
            finally:
                self._take_back(raw)
        finally:
            self._free.release()

    def _idle_one(self) -> psycopg.Connection[Any] | None:
        """One that waits and is not broken: nobody says anything to who asks nothing, unless it is
        goodbye."""
        while True:
            with self._lock:
                if not self._idle:
                    return None
                raw = self._idle.pop()
            if not raw.closed and not select.select([raw.fileno()], [], [], 0)[0]:
                return raw
            raw.close()

    def _take_back(self, raw: psycopg.Connection[Any]) -> None:
        status = raw.pgconn.transaction_status if not raw.closed else None
        if self._closed or status != psycopg.pq.TransactionStatus.IDLE:
            raw.close()
            return
        with self._lock:
            self._idle.append(raw)

    def connect(self, patience: float | None = None) -> psycopg.Connection[Any]:
        """A new connection. A server that was there and is not is waited for."""
        patience = self._patience if patience is None else patience
        deadline = time.monotonic() + (patience if self._was_there else 0)
        while True:
            try:
                raw = psycopg.connect(
                    self.conninfo,
                    autocommit=True,
                    prepare_threshold=5 if self._prepares else None,
                )
                self._was_there = True
                self._greet(raw)
            except psycopg.Error as error:
                if time.monotonic() >= deadline or self._closed:
                    raise to_store_error(error, self.name) from None
                time.sleep(0.1)
            else:
                return raw

    def _greet(self, raw: psycopg.Connection[Any]) -> None:
        if self.greet is not None:
            try:
                self.greet(raw)
            except BaseException:
                raw.close()
                raise

    def forget_idle(self) -> None:
        """Drop connections that wait: the server they led to is gone."""
        with self._lock:
            idle, self._idle = self._idle, []
        for raw in idle:
            raw.close()

    @contextmanager
    def holding(self, raw: psycopg.Connection[Any]) -> Iterator[None]:
        """Within this block the reads of this thread are made by that connection."""
        before, self._here.raw = self._here.raw, raw
        try:
            yield
        finally:
            self._here.raw = before

    @contextmanager
    def reader(self) -> Iterator[PostgresConnection]:
        with self._reading(_BEGIN_READ) as connection:
            yield connection

    @contextmanager
    def snapshot(self) -> Iterator[PostgresConnection]:
        with self._reading(_BEGIN_SNAPSHOT) as connection:
            yield connection

    @contextmanager
    def _reading(self, begin: str) -> Iterator[PostgresConnection]:
        held = self._here.raw
        with self.lent() if held is None else nullcontext(held) as raw:
            connection = PostgresConnection(raw, begin, self)
            try:
                yield connection
            except psycopg.Error as error:
                if is_lost(error, raw):
                    raw.close()
                    if held is None:
                        self.forget_idle()
                raise to_store_error(error, self.name) from error
            finally:
                connection.end()

    def finish(self, raw: psycopg.Connection[Any], sql: str) -> None:
        """Run what ends a transaction, and where somebody wants to know, tell how far the log had
        come then: in one message."""
        if self.note_position is None:
            raw.execute(sql)
            return
        cursor = raw.execute(f"{sql}; SELECT {POSITION}")
        while cursor.nextset():
            pass
        row = cursor.fetchone()
        assert row is not None
        self.note_position(to_position(row[0]))

    def rollback(self, raw: psycopg.Connection[Any]) -> None:
        """Leave a transaction; a connection with which that cannot be done is not used again."""
        if not raw.closed:
            try:
                self.finish(raw, "ROLLBACK")
            except psycopg.Error:
                raw.close()

    def close(self) -> None:
        self._closed = True
        self.forget_idle()


class _Here(threading.local):
    """By which connection this thread reads; None: by one of the pool."""

    raw: psycopg.Connection[Any] | None = None


#: How far the log of a server has come, in SQL: what is on its disk, what a replica has replayed.
POSITION = (
    "CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()"
    " ELSE pg_current_wal_flush_lsn() END"
)


def to_position(lsn: str | None) -> int:
    """A position in the log as a number: "1/2A" is 2**32 + 42."""
    high, _, low = (lsn or "0/0").partition("/")
    return (int(high, 16) << 32) + int(low, 16)
