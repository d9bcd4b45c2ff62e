"""PostgreSQL connections as the store wants them: its SQL translated, its errors in our words, rows
of other owners out of sight, a pool.

A statement is sent when somebody looks at its answer, together with all that wait before it: what
nobody has to hear at once travels in one message.

Everything that a transaction needs (the schema, whose rows are seen) is set for that transaction
alone, in the message of its first statement; nothing is kept in the session, so a pooler that lends
connections by the transaction may stand in between.
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
from functools import lru_cache, partial
from hashlib import blake2b
from itertools import count
from typing import Any, NamedTuple, TypeVar

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
from holdfast.store.postgres.exchange import Exchange, Statement
from holdfast.store.sql.engine import TableShape, chunks
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
#: Statements that wait to be sent together.
_MOST_WAITING = 64
#: Change numbers of which the rows are put together: the passages of so many of the largest texts
#: are less than the gigabyte that a value may have.
_NUMBERS_JOINED = 128
_INSERT = re.compile(r"(INSERT INTO [^()]+ \([^()]+\) VALUES )(\([^()]+\))( ON CONFLICT .*)?")


class Mode(NamedTuple):
    """What a connection is used for."""

    #: What opens a transaction; "": each message is one of its own.
    begin: str
    #: What is set in it first, as columns of a SELECT.
    settings: str
    writes: bool = False
    is_by_keys: bool = False


def _set(**settings: str) -> str:
    """Settings that end with the transaction, as columns of a SELECT."""
    return ", ".join(f"set_config('{name}', '{to}', true)" for name, to in settings.items())


#: A few rows by their keys. Without statistics, as after a bulk load, the planner would read whole
#: owners into a hash for that; and where it takes an owner for one row, it would go through all of
#: them for each: what is joined is looked up by its whole key, row by row (`look_up`).
READING = Mode(
    "",
    _set(
        search_path="holdfast",
        transaction_read_only="on",
        enable_hashjoin="off",
        enable_mergejoin="off",
    ),
    is_by_keys=True,
)
#: A span of an index's vectors is sorted in memory: the server's own 4 MB would send it to disk.
SNAPSHOT = Mode(
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    _set(search_path="holdfast", work_mem="32MB"),
)
#: Numbers of advisory locks begin with it: "hold", as four letters.
LOCKS = 0x686F6C64


def writing(*, alone: bool) -> Mode:
    """A transaction that writes. Whoever must be alone waits for all that write."""
    settings = _set(
        search_path="holdfast",
        lock_timeout=f"{BUSY_SECONDS}s",
        idle_in_transaction_session_timeout=f"{2 * BUSY_SECONDS}s",
    )
    shared = "" if alone else "_shared"
    return Mode("BEGIN", f"{settings}, pg_advisory_xact_lock{shared}({LOCKS}, 0)", writes=True)


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
    """`Rows` that are asked for at the first look."""

    def __init__(self, ask: Callable[[], Iterable[Any]], unread: set[str]) -> None:
        self._ask = ask
        self._unread = unread
        self._rows: Iterator[Any] | None = None

    @property
    def get(self) -> Any:
        row = self.fetchone()
        return row[0] if row is not None and len(row) == 1 else row

    def __iter__(self) -> Iterator[Any]:
        if self._rows is None:
            self._rows = iter(self._ask())
        return self._rows

    def fetchone(self) -> Any:
        return next(iter(self), None)

    def fetchall(self) -> list[Any]:
        return list(self)

    def leave_out(self) -> None:
        if not self._unread:
            log.error("a row is damaged and is left out: `holdfast doctor` names it")
        self._unread.add("the store")


def _until_end(cursor: Any) -> Iterator[Any]:
    with cursor:
        yield from cursor


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
    """`Connection` on PostgreSQL: for one transaction, or for reads of which each is one."""

    def __init__(self, raw: psycopg.Connection[Any], mode: Mode, pool: PostgresPool) -> None:
        self._raw = raw
        self._mode = mode
        self._pool = pool
        #: To whose rows it was narrowed.
        self.owner: int | None = None
        #: Whether the open transaction has its settings, and to whom it was narrowed last.
        self._is_set = False
        self._set_for: int | None = None
        self._waiting: list[Statement] = []
        self._call = self._counted = 0
        self._changes = self._total = 0
        self._is_begun = self._has_failed = False
        self._streams: list[Any] = []

    def execute(self, sql: str, values: Any = (), /) -> PostgresRows:
        self._call += 1
        statement = self._put(translate(sql, isinstance(values, dict)), values)

        def ask() -> list[Any]:
            self.send()
            return statement.rows()

        return PostgresRows(ask, self._pool.unread)

    def _put(self, text: str, values: Any = ()) -> Statement:
        """Have a statement wait for the next message."""
        if len(self._waiting) >= _MOST_WAITING:
            self.send()
        self._set()
        looked_up = look_up(text) if self._mode.is_by_keys else text
        statement = Statement(looked_up, values, call=self._call)
        self._waiting.append(statement)
        return statement

    def _set(self) -> None:
        """Before a statement: the transaction, its settings, and whose rows are seen."""
        if self._is_set and self._set_for == self.owner:
            return
        if not self._is_set and self._mode.begin:
            self._waiting.append(Statement(self._mode.begin))
        settings = [] if self._is_set else [self._mode.settings]
        values: list[str] = []
        if self.owner != self._set_for:
            settings.append("set_config('role', %s, true), set_config('holdfast.owner', %s, true)")
            values = ["none", ""] if self.owner is None else ["holdfast_serve", str(self.owner)]
        self._waiting.append(Statement(f"SELECT {', '.join(settings)}", values))
        self._is_set, self._set_for = True, self.owner

    def send(self) -> None:
        """Send what waits, in one message, and hear the answers."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        is_end = not self._mode.begin or waiting[-1].text == "COMMIT"
        self._is_begun = bool(self._mode.begin)
        self._has_failed = True
        self._pool.run(self._raw, waiting, is_end=is_end)
        self._has_failed = False
        if is_end:
            self._is_begun, self._is_set, self._set_for = False, False, None
        for sent in waiting:
            if sent.call > self._counted:
                self._counted, self._changes = sent.call, 0
            self._changes += sent.changed
            self._total += sent.changed

    def executemany(self, sql: str, values: Iterable[Sequence[Any]], /) -> None:
        rows = list(values)
        self._call += 1
        text, at_once = translate(sql), 1
        insert = _INSERT.fullmatch(text)
        if insert:  # Rows in one statement, as many as go: half the work of one for each.
            at_once = _ROWS_A_STATEMENT
        for some in chunks(rows, at_once):
            if insert:
                many = ", ".join([insert[2]] * len(some))
                text = f"{insert[1]}{many}{insert[3] or ''}"
            self._put(text, [value for row in some for value in row])

    def stream(self, sql: str, values: Sequence[Any] = ()) -> PostgresRows:
        self._set()
        self.send()
        cursor: Any = self._raw.cursor(f"rows_{next(_CURSORS)}", binary=True)
        cursor.itersize = _ROWS_AT_ONCE
        cursor.execute(translate(sql), values)
        self._streams = [each for each in self._streams if not each.closed] + [cursor]
        return PostgresRows(partial(_until_end, cursor), self._pool.unread)

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
        self._set()
        self.send()
        cursor = self._raw.cursor()
        names = translate(", ".join(columns))
        with cursor.copy(f"COPY {table} ({names}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
        self._total += cursor.rowcount
        return cursor.rowcount

    def copy(self, table: str, rows: bytes) -> None:
        """Load rows that are packed as COPY reads them in binary."""
        self.send()
        with self._raw.cursor().copy(f"COPY {table} FROM STDIN (FORMAT BINARY)") as copy:
            copy.write(rows)

    def changes(self) -> int:
        self.send()
        return self._changes if self._counted == self._call else 0

    def total_changes(self) -> int:
        self.send()
        return self._total

    def commit(self, sql: str, values: Sequence[Any]) -> None:
        """Do one thing more and end the transaction, in one message with all that waits."""
        self._put(sql, values)
        self._put("COMMIT")
        self.send()

    def finish(self) -> None:
        """End the transaction by the message of what waits: nothing more is asked."""
        self._put("COMMIT")

    def end(self) -> None:
        """Leave a transaction that read."""
        for cursor in self._streams:
            with suppress(psycopg.Error):
                cursor.close()
        if self._is_begun:
            self._pool.leave(self._raw, "ROLLBACK" if self._has_failed else "COMMIT")

    def narrow(self, scope: Scope) -> None:
        self.owner = owner_number(scope)

    def widen(self) -> None:
        self.owner = None

    def find_owner(self, scope: Scope) -> int | None:
        lock = " FOR NO KEY UPDATE" if self._mode.writes else ""
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
        return " FOR UPDATE OF j" if self._mode.writes else ""

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
        self._exchange = Exchange(prepares=not is_pooled)
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
        is_idle = (
            not raw.closed
            and raw.pgconn.transaction_status == psycopg.pq.TransactionStatus.IDLE
            and raw.pgconn.pipeline_status == psycopg.pq.PipelineStatus.OFF
        )
        if self._closed or not is_idle:
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
                    prepare_threshold=None,  # What is worth it is prepared by `Exchange`.
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
        with self._reading(READING) as connection:
            yield connection

    @contextmanager
    def snapshot(self) -> Iterator[PostgresConnection]:
        with self._reading(SNAPSHOT) as connection:
            yield connection

    @contextmanager
    def _reading(self, mode: Mode) -> Iterator[PostgresConnection]:
        held = self._here.raw
        with self.lent() if held is None else nullcontext(held) as raw:
            connection = PostgresConnection(raw, mode, self)
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

    def run(
        self, raw: psycopg.Connection[Any], statements: Sequence[Statement], *, is_end: bool
    ) -> None:
        """Run statements in one message. Where they end a transaction and somebody wants to know,
        it also asks how far the log had come then."""
        position = None
        if is_end and self.note_position is not None:
            position = Statement(f"SELECT {POSITION}")
            statements = [*statements, position]
        self._exchange.run(raw, statements)
        if position is not None and self.note_position is not None:
            self.note_position(to_position(position.rows()[0][0]))

    def leave(self, raw: psycopg.Connection[Any], sql: str) -> None:
        """Leave a transaction; a connection with which that cannot be done is not used again."""
        if not raw.closed:
            try:
                self.run(raw, [Statement(sql)], is_end=True)
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
    "CAST(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()"
    " ELSE pg_current_wal_flush_lsn() END AS TEXT)"
)


def to_position(lsn: str | None) -> int:
    """A position in the log as a number: "1/2A" is 2**32 + 42."""
    high, _, low = (lsn or "0/0").partition("/")
    return (int(high, 16) << 32) + int(low, 16)
