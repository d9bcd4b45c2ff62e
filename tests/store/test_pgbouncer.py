"""A pooler that lends connections by the transaction stands between us and the server: the contract
holds all the same, so nothing of ours is kept in a session."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from holdfast.store.postgres import PostgresStore
from holdfast.testing.store_suite import StoreSuite
from tests.ports import lasting_port
from tests.servers import empty_store_url, server_url

pytestmark = pytest.mark.slow

#: So few that every transaction may get another session than the one before.
_SESSIONS = 3


@pytest.fixture(scope="module")
def pooler() -> Iterator[int]:
    """The port of a pgbouncer in transaction mode in front of this process's server."""
    program = shutil.which("pgbouncer") or "/usr/sbin/pgbouncer"
    socket, port = server_url().partition("host=")[2], lasting_port()
    with tempfile.TemporaryDirectory(prefix="holdfast-pooler-") as folder:
        settings = Path(folder) / "pgbouncer.ini"
        settings.write_text(
            f"[databases]\n* = host={socket} user=postgres\n[pgbouncer]\n"
            f"listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
            f"auth_type = any\npool_mode = transaction\ndefault_pool_size = {_SESSIONS}\n"
        )
        Path(folder).chmod(0o755)
        # As whoever runs the server: it refuses to be root, and the socket is not open to others.
        owner = Path(socket).stat().st_uid
        process = subprocess.Popen(
            [program, "-q", str(settings)],
            stderr=subprocess.DEVNULL,
            user=owner if os.getuid() == 0 else None,
        )
        try:
            _wait(port, process)
            yield port
        finally:
            process.terminate()
            process.wait(10)


def _wait(port: int, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + 20
    while True:
        try:
            psycopg.connect(f"postgresql://postgres@127.0.0.1:{port}/postgres").close()
        except psycopg.OperationalError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return


class TestThroughAPooler(StoreSuite):
    @pytest.fixture
    def store(self, pooler: int) -> Iterator[PostgresStore]:
        database = empty_store_url().partition("@/")[2].partition("?")[0]
        url = f"postgresql://postgres@127.0.0.1:{pooler}/{database}?pooled=true"
        with closing(PostgresStore(url)) as store:
            yield store
