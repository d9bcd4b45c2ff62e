"""The store on a PostgreSQL server, shared by any number of processes and machines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg
from psycopg import errors as pg

from holdfast.errors import SchemaTooNew, StoreError
from holdfast.store.postgres.connection import (
    _LOCKS,
    OLDEST_SERVER,
    PostgresPool,
    opened_pool,
    to_store_error,
)
from holdfast.store.postgres.writer import PostgresWriter
from holdfast.store.sql import SqlStore
from holdfast.store.sql.copy import copy_store
from holdfast.store.sql.engine import Connection, migrations
from holdfast.store.sql.turns import Turns
from holdfast.store.sqlite import SqliteStore
from holdfast.store.values import Progress, Trouble
from holdfast.types import Finding

_ROLES = ("holdfast_serve", "holdfast_work", "holdfast_read")
#: The advisory lock of whoever migrates.
_MIGRATING = 1
_PACKAGE = "holdfast.store.postgres"


class PostgresStore(SqlStore):
    """`Store` on a PostgreSQL database, in a schema of its own."""

    _errors = (psycopg.Error,)

    def __init__(self, url: str) -> None:
        self._pool: PostgresPool = opened_pool(url)
        self._path = self._pool.name
        try:
            with self._pool.lent() as raw:
                migrate(raw, self._path)
        except BaseException:
            self._pool.close()
            raise
        self._writer: PostgresWriter = PostgresWriter(self._pool)
        self._turns = Turns()

    def trouble(self) -> Trouble | None:
        try:
            with self._pool.reader() as connection:
                is_replica = connection.execute("SELECT pg_is_in_recovery()").get
        except StoreError:
            return Trouble("the database cannot be reached")
        if is_replica:
            return Trouble("the database is a replica: nothing can be stored")
        if self._pool.unread:
            return Trouble("rows of the store are damaged: run `holdfast doctor`")
        return None

    def _engine(self, connection: Connection) -> list[Finding]:
        version, synced = connection.execute(
            "SELECT current_setting('server_version'), current_setting('fsync') = 'on'"
            " AND current_setting('synchronous_commit') != 'off'"
        ).fetchone()
        return [
            Finding("server", True, f"PostgreSQL {version}"),
            Finding(
                "durable",
                synced,
                "a write that was acknowledged is on the disk"
                if synced
                else "fsync or synchronous_commit is off: acknowledged writes can be lost",
            ),
        ]

    def _scrub(self, tables: Sequence[str]) -> None:
        """Make the tables anew out of what is left: a plain VACUUM leaves the bytes in their pages.
        All others wait for that long. (What the write-ahead log holds goes as it is recycled.)"""
        with self._pool.lent() as raw:
            try:
                for table in tables:
                    raw.execute(f"VACUUM (FULL) holdfast.{table}")
            except psycopg.Error as error:
                raise to_store_error(error, self._path) from error

    def backup(self, path: Path, *, progress: Progress | None = None) -> None:
        """The same file as a backup of a file is: a whole store in one of them."""
        if path.exists() and path.stat().st_size:
            raise StoreError(f"{path} exists already: a backup never overwrites a file")
        with TemporaryDirectory(dir=path.absolute().parent, prefix=".backup-") as folder:
            file = SqliteStore(Path(folder) / "store.db")
            try:
                copy_store(self, file, finish=True, progress=progress)
                file.backup(path)
            finally:
                file.close()

    def close(self) -> None:
        self._writer.close()
        self._pool.close()


def migrate(raw: psycopg.Connection[Any], name: str) -> None:
    """Apply what is missing. Several processes may do so at once: one does, the others wait."""
    if raw.info.server_version < OLDEST_SERVER:
        raise StoreError(
            f"{name} is PostgreSQL {raw.info.server_version // 10_000}: 15 or newer is needed"
        )
    newest = migrations(_PACKAGE)[-1][0]
    try:
        if _version(raw, name, newest) == newest:
            return
        with raw.transaction():
            raw.execute(f"SELECT pg_advisory_xact_lock({_LOCKS}, {_MIGRATING})")
            _make_roles(raw, name)
            raw.execute("CREATE SCHEMA IF NOT EXISTS holdfast")
            raw.execute("SET LOCAL search_path = holdfast")
            raw.execute("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER PRIMARY KEY)")
            there = _version(raw, name, newest)
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
    version = (row and row[0]) or 0
    if version > newest:
        raise SchemaTooNew(
            f"{name} has schema {version}, this version of Holdfast knows {newest}: "
            "upgrade Holdfast to open it"
        )
    return int(version)


def _make_roles(raw: psycopg.Connection[Any], name: str) -> None:
    """The roles that the tables are granted to. They are of the whole server."""
    there = {row[0] for row in raw.execute("SELECT rolname FROM pg_roles")}
    missing = [role for role in _ROLES if role not in there]
    try:
        with raw.transaction():
            for role in missing:
                raw.execute(f"CREATE ROLE {role} NOLOGIN")
            raw.execute(f"GRANT {', '.join(_ROLES)} TO CURRENT_USER")
    except pg.InsufficientPrivilege:
        raise StoreError(
            f"{name}: the roles {', '.join(_ROLES)} are missing, or this user is no member of them:"
            " let an administrator make them (docs/howto/postgres.md)"
        ) from None
