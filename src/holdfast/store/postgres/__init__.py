"""The store on a PostgreSQL server, shared by any number of processes and machines."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar, cast

import psycopg
from psycopg import errors as pg

from holdfast.errors import NotAStore, SchemaTooNew, StoreBusy, StoreError
from holdfast.store.postgres.address import read_address
from holdfast.store.postgres.connection import (
    BUSY_SECONDS,
    LOCKS,
    OLDEST_SERVER,
    PostgresPool,
    to_store_error,
)
from holdfast.store.postgres.large import PostgresLargeOwners, count_large, vector_schema
from holdfast.store.postgres.replicas import Reads
from holdfast.store.postgres.writer import PostgresWriter
from holdfast.store.sql import SqlStore
from holdfast.store.sql.copy import OF_OWNER as _OF_OWNER
from holdfast.store.sql.copy import copy_store
from holdfast.store.sql.engine import Connection, migrations
from holdfast.store.sql.feed import Found, T
from holdfast.store.sql.jobs import Turns
from holdfast.store.sqlite import SqliteStore
from holdfast.store.values import Head, Health, Progress, ServerState, Share, Trouble
from holdfast.types import Event, Finding, Scope

_ROLES = ("holdfast_serve", "holdfast_work", "holdfast_read")
#: Of which whoever opens a store must be a member.
_NEEDED = ("holdfast_serve", "holdfast_work")
#: The advisory lock of whoever migrates.
_MIGRATING = 1
_PACKAGE = "holdfast.store.postgres"
#: Of what is read for one index so much is read ahead, 3 MB each, by so many connections: while
#: what one has read is taken in, the server works for the other.
_READ_AHEAD = 6
_READERS = 2


_Read = TypeVar("_Read", bound=Callable[..., Any])


def _read(method: _Read, *, by_replica: bool = True) -> _Read:
    """The method, which only reads, run as a whole: where its connection breaks it is begun
    anew."""

    @wraps(method)
    def whole(self: PostgresStore, *given: Any, **named: Any) -> Any:
        return self._reads.run(lambda: method(self, *given, **named), by_replica=by_replica)

    return cast("_Read", whole)


class PostgresStore(PostgresLargeOwners, SqlStore):
    """`Store` on a PostgreSQL database, in a schema of its own."""

    _errors = (psycopg.Error,)

    def __init__(self, url: str) -> None:
        address = read_address(url)
        self._pool: PostgresPool = PostgresPool(
            address.conninfo,
            name=address.name,
            most=address.connections,
            is_pooled=address.is_pooled,
        )
        self._path = self._pool.name
        self._reads = Reads(self._pool, address)
        try:
            with self._pool.lent() as raw:
                migrate(raw, self._path)
                self._vector_schema = vector_schema(raw)
            self._reads.open()
        except BaseException:
            self._reads.close()
            self._pool.close()
            raise
        self._writer: PostgresWriter = PostgresWriter(self._pool)
        self._turns = Turns()

    def head(self, scope: Scope) -> Head:
        history = self._reads.history  # Before: what is read may be of the next one.
        return replace(self._head(scope), history=history)

    def look(self, workspace: str, users: Sequence[str]) -> tuple[list[Head], list[Share]]:
        history = self._reads.history
        heads, shares = self._first_look(workspace, users)
        return [replace(head, history=history) for head in heads], shares

    # What only reads, and may be answered by a replica.
    _head = _read(SqlStore.head)
    _first_look = _read(SqlStore.look)
    _events = _read(SqlStore.events)
    changes = _read(SqlStore.changes)
    vectors = _read(SqlStore.vectors)
    kept_index = _read(SqlStore.kept_index)
    large_owner = _read(PostgresLargeOwners.large_owner)
    spaces = _read(SqlStore.spaces)
    get = _read(SqlStore.get)
    page = _read(SqlStore.page)
    listed = _read(SqlStore.listed)
    turns_around = _read(SqlStore.turns_around)
    growth = _read(SqlStore.growth)
    history = _read(SqlStore.history)
    forgotten_times = _read(SqlStore.forgotten_times)
    happenings = _read(SqlStore.happenings)
    api_keys = _read(SqlStore.api_keys)
    shares = _read(SqlStore.shares)
    agent_trust = _read(SqlStore.agent_trust)
    hooks = _read(SqlStore.hooks)
    news = _read(SqlStore.news)
    owners = _read(SqlStore.owners)
    chores = _read(SqlStore.chores)
    jobs = _read(SqlStore.jobs)
    counts = _read(SqlStore.counts)
    audit = _read(SqlStore.audit)
    verify_audit = _read(SqlStore.verify_audit)
    stats = _read(SqlStore.stats)

    # Whether something was done or spent before: the primary alone knows. And what first waits for
    # its own writes.
    _answer = _read(SqlStore._answer, by_replica=False)
    _events_of_key = _read(SqlStore.events, by_replica=False)
    spent = _read(SqlStore.spent, by_replica=False)
    contexts = _read(SqlStore.contexts, by_replica=False)

    def events(
        self,
        scope: Scope,
        ids: Sequence[str] | None = None,
        *,
        after: int = 0,
        limit: int | None = None,
        session: str | None = None,
        key: str | None = None,
    ) -> list[Event]:
        read = self._events if key is None else self._events_of_key
        return read(scope, ids, after=after, limit=limit, session=session, key=key)

    def health(self) -> Health:
        servers = tuple(self._reads.states())
        if servers:
            servers = (ServerState("primary", self._reads.by_primary), *servers)
        return Health(self._trouble(servers), servers)

    def _trouble(self, servers: Sequence[ServerState]) -> Trouble | None:
        try:
            with self._pool.lent(patience=0) as raw:
                row = raw.execute("SELECT pg_is_in_recovery()").fetchone()
        except (psycopg.Error, StoreError):
            return Trouble("the database cannot be reached: nothing can be stored")
        if row == (True,):
            return Trouble("the database is a replica: nothing can be stored")
        if self._pool.unread:
            return Trouble("rows of the store are damaged: run `holdfast doctor`")
        if any(each.words for each in servers):
            return Trouble("a replica answers no reads: run `holdfast doctor`")
        return None

    def _engine(self, connection: Connection) -> list[Finding]:
        version, synced = connection.execute(
            "SELECT current_setting('server_version'), current_setting('fsync') = 'on'"
            " AND current_setting('synchronous_commit') != 'off'"
        ).fetchone()
        replicas = [
            Finding("replica", not each.words, each.words or f"{each.name} can answer reads")
            for each in self._reads.look()
        ]
        return [
            Finding("server", True, f"PostgreSQL {version}"),
            Finding(
                "durable",
                synced,
                "a write that was acknowledged is on the disk"
                if synced
                else "fsync or synchronous_commit is off: acknowledged writes can be lost",
            ),
            self._large_finding(connection),
            *replicas,
        ]

    def _large_finding(self, connection: Connection) -> Finding:
        if self._vector_schema is None:
            return Finding(
                "large owners", True, "pgvector is not there: every owner is held in memory"
            )
        owners, documents = count_large(connection)
        detail = f"{owners} with {documents:,} documents are searched in the database"
        return Finding("large owners", True, f"{detail}, all others in memory")

    def _one_by_one(self, read: Callable[[T], Found], asked: Sequence[T]) -> Iterator[Found]:
        """The server reads the next while we look at what it read: it begins at once, before
        anybody asks for the first."""
        if len(asked) == 1:
            return super()._one_by_one(read, asked)
        reader = ThreadPoolExecutor(_READERS, thread_name_prefix="holdfast-reading")
        ahead = deque(reader.submit(read, each) for each in asked[:_READ_AHEAD])
        return _in_turn(reader, read, ahead, asked[_READ_AHEAD:])

    def _loaded(self) -> None:
        """Without statistics the planner joins whole owners with each other."""
        with self._pool.lent() as raw:
            try:
                for table in (*_OF_OWNER, "owners"):
                    raw.execute(f"ANALYZE holdfast.{table}")
            except psycopg.Error as error:
                raise to_store_error(error, self._path) from error

    def _scrub(self, tables: Sequence[str]) -> None:
        """Make the tables anew out of what is left: a plain VACUUM leaves the bytes in their pages.
        All others wait for that long. (What the write-ahead log holds goes as it is recycled.)"""
        with self._pool.lent() as raw:
            try:
                _wait_for_older(raw, self._path)
                left = [table for table in tables if not _made_anew(raw, table)]
            except psycopg.Error as error:
                raise to_store_error(error, self._path) from error
        if left:
            raise StoreError(
                f"{self._path}: the rows are removed, but this user does not own the tables"
                f" ({', '.join(left)}) and cannot make them anew: let their owner erase once more"
            )

    def backup(self, path: Path, *, progress: Progress | None = None) -> None:
        """The same file as a backup of a file is: a whole store in one of them."""
        if path.exists() and path.stat().st_size:
            raise StoreError(f"{path} exists already: a backup never overwrites a file")
        with TemporaryDirectory(dir=path.absolute().parent, prefix=".backup-") as folder:
            file = SqliteStore(Path(folder) / "store.db")
            try:
                done = copy_store(self, file, finish=True, behind_is_fine=True, progress=progress)
                if done.different:
                    raise StoreError(f"the backup {path} differs from the store: try again")
                file.backup(path)
            finally:
                file.close()

    def close(self) -> None:
        self._writer.close()
        self._reads.close()
        self._pool.close()


def _in_turn(
    reader: ThreadPoolExecutor,
    read: Callable[[T], Found],
    ahead: deque[Future[Found]],
    asked: Sequence[T],
) -> Iterator[Found]:
    """What is read for each, so many of them ahead of who looks at it."""
    with reader:
        try:
            for each in asked:
                found = ahead.popleft().result()
                ahead.append(reader.submit(read, each))
                yield found
            while ahead:
                yield ahead.popleft().result()
        finally:
            for one in ahead:
                one.cancel()


def _wait_for_older(raw: psycopg.Connection[Any], name: str) -> None:
    """Until nobody sees the store as it was before: for them a table would be made anew with the
    rows that were removed."""
    row = raw.execute("SELECT pg_snapshot_xmax(pg_current_snapshot())::text").fetchone()
    assert row is not None
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        older = raw.execute(
            "SELECT 1 FROM pg_stat_activity WHERE pid != pg_backend_pid()"
            " AND backend_xmin IS NOT NULL"
            " AND (datname = current_database() OR backend_type = 'walsender')"
            " AND age(backend_xmin) > age(%s::xid8::xid) UNION ALL"
            " SELECT 1 FROM pg_replication_slots WHERE xmin IS NOT NULL"
            " AND age(xmin) > age(%s::xid8::xid) LIMIT 1",
            (row[0], row[0]),
        ).fetchone()
        if older is None:
            return
        if time.monotonic() > deadline:
            raise StoreBusy(
                f"{name}: the rows are removed, but another session still reads what was before,"
                " so they are still on the disk: end it, and erase once more"
            )
        time.sleep(0.05)


def _made_anew(raw: psycopg.Connection[Any], table: str) -> bool:
    """Rewrite a table; False if it was passed over, which PostgreSQL tells by a warning alone."""

    def file() -> Any:
        return raw.execute(f"SELECT pg_relation_filenode('holdfast.{table}')").fetchone()

    before = file()
    raw.execute(f"VACUUM (FULL) holdfast.{table}")
    return bool(file() != before)


def migrate(raw: psycopg.Connection[Any], name: str) -> None:
    """Apply what is missing. Several processes may do so at once: one does, the others wait."""
    if raw.info.server_version < OLDEST_SERVER:
        raise StoreError(
            f"{name} is PostgreSQL {raw.info.server_version // 10_000}: 15 or newer is needed"
        )
    newest = migrations(_PACKAGE)[-1][0]
    try:
        if _version(raw, name, newest) == newest:
            _check_member(raw, name)
            return
        with raw.transaction():
            raw.execute(f"SELECT pg_advisory_xact_lock({LOCKS}, {_MIGRATING})")
            _make_roles(raw, name)
            raw.execute("CREATE SCHEMA IF NOT EXISTS holdfast")
            raw.execute("SET LOCAL search_path = holdfast")
            raw.execute("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER PRIMARY KEY)")
            there = _version(raw, name, newest)
            if not there:
                _check_ours(raw, name)
            for version, sql in migrations(_PACKAGE):
                if version > there:
                    raw.execute(sql)
                    raw.execute("INSERT INTO schema_version VALUES (%s)", (version,))
    except psycopg.Error as error:
        raise to_store_error(error, name) from error


def _version(raw: psycopg.Connection[Any], name: str, newest: int) -> int:
    try:
        with raw.transaction():
            row = raw.execute("SELECT max(version) FROM holdfast.schema_version").fetchone()
    except (pg.UndefinedTable, pg.InvalidSchemaName):
        return 0
    except pg.UndefinedColumn:
        raise _foreign(name) from None
    except pg.InsufficientPrivilege:
        raise _no_member(raw, name) from None
    version = (row and row[0]) or 0
    if version > newest:
        raise SchemaTooNew(
            f"{name} has schema {version}, this version of Holdfast knows {newest}: "
            "upgrade Holdfast to open it"
        )
    return int(version)


def _foreign(name: str) -> NotAStore:
    return NotAStore(
        f"{name}: its schema holdfast is of another program, not of Holdfast: name another database"
    )


def _check_ours(raw: psycopg.Connection[Any], name: str) -> None:
    """Refuse a schema of our name in which others keep something."""
    found = raw.execute(
        "SELECT 1 FROM pg_class WHERE relnamespace = 'holdfast'::regnamespace"
        " AND relname NOT LIKE 'schema_version%'"
    ).fetchone()
    if found is not None:
        raise _foreign(name)


def _no_member(raw: psycopg.Connection[Any], name: str) -> StoreError:
    return StoreError(
        f"{name}: the user {raw.info.user} is no member of {' and '.join(_NEEDED)}:"
        f" GRANT {', '.join(_NEEDED)} TO {raw.info.user} (docs/howto/postgres.md)"
    )


def _check_member(raw: psycopg.Connection[Any], name: str) -> None:
    """Row security shows nothing to who is in no role: that must not look like an empty store."""
    if not all(_is_member(raw, role) for role in _NEEDED):
        raise _no_member(raw, name)


def _is_member(raw: psycopg.Connection[Any], role: str) -> bool:
    row = raw.execute("SELECT pg_has_role(%s, 'MEMBER')", (role,)).fetchone()
    return row is not None and bool(row[0])


def _make_roles(raw: psycopg.Connection[Any], name: str) -> None:
    """The roles that the tables are granted to. They are of the whole server."""
    try:
        for role in _ROLES:
            there = raw.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone()
            if there is None:
                # Of the whole server: another database may be made at the same moment.
                with suppress(pg.DuplicateObject, pg.UniqueViolation), raw.transaction():
                    raw.execute(f"CREATE ROLE {role} NOLOGIN")
            if not _is_member(raw, role):
                with raw.transaction():
                    raw.execute(f"GRANT {role} TO CURRENT_USER")
    except pg.InsufficientPrivilege:
        raise StoreError(
            f"{name}: the roles {', '.join(_ROLES)} are missing, or this user is no member of them:"
            " let an administrator make them (docs/howto/postgres.md)"
        ) from None
