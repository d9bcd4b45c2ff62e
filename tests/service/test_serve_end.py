"""The end of the service: what was acknowledged is on disk, nobody is left hanging."""

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.service.keys import create_key
from holdfast.store.values import Webhook
from holdfast.testing import HashEmbedder
from holdfast.types import Scope
from tests.service.live import Ear, Receiver, wait_until

pytestmark = pytest.mark.slow

SERVE = [sys.executable, "-m", "holdfast", "serve", "--port", "0"]
CLIENTS = 50


@contextlib.contextmanager
def serving(db: Path, *options: str, **environment: str) -> Iterator[tuple[Any, int]]:
    """A service in a process of its own, and its port."""
    with (
        db.with_suffix(".log").open("a") as log,
        subprocess.Popen(
            [*SERVE, "--db", str(db), *options],
            stdout=subprocess.PIPE, stderr=log, text=True, env={**os.environ, **environment},
        ) as process,
    ):  # fmt: skip
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if match := re.search(r"^Holdfast listens on http://127.0.0.1:(\d+)$", line):
                    yield process, int(match[1])
                    return
            raise AssertionError(db.with_suffix(".log").read_text())
        finally:
            process.kill()


def a_key(db: Path) -> str:
    with holdfast.open(db, embedder=HashEmbedder(), worker=False) as memory:
        return create_key(memory.store, role="admin")[1]


class Writer(threading.Thread):
    """Writes one turn after another until the service is gone."""

    def __init__(self, port: int, key: str, number: int) -> None:
        super().__init__(daemon=True)
        self._port, self._key, self._number = port, key, number
        #: By the id what was acknowledged; and every other answer.
        self.stored: dict[str, str] = {}
        self.others: list[int] = []

    def run(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        headers = {"authorization": f"Bearer {self._key}", "content-type": "application/json"}
        with contextlib.suppress(OSError, http.client.HTTPException):
            for turn in range(100_000):
                text = f"Client {self._number} says turn {turn}."
                body = json.dumps({"user_id": "ann", "messages": [{"content": text}]})
                connection.request("POST", "/v1/memories/ingest", body, headers)
                answer = connection.getresponse()
                told = json.loads(answer.read())
                if answer.status == 200:
                    self.stored[told["event_ids"][0]] = text
                else:
                    self.others.append(answer.status)
        connection.close()


def test_what_was_acknowledged_is_on_disk_and_nobody_hangs(tmp_path: Path) -> None:
    db = tmp_path / "m.db"
    key = a_key(db)
    with serving(db) as (process, port):
        ears = [Ear(port, key, f"?user_id=u{n}") for n in range(5)]
        writers = [Writer(port, key, number) for number in range(CLIENTS)]
        for writer in writers:
            writer.start()
        wait_until(lambda: all(writer.stored for writer in writers), 60)
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        assert time.monotonic() - began < 10
        for writer in writers:
            writer.join(20)
            assert not writer.is_alive()
        for ear in ears:
            with ear:
                assert ear.event()["event"] == "end"
    stored = {id: text for writer in writers for id, text in writer.stored.items()}
    assert {status for writer in writers for status in writer.others} <= {503}
    with holdfast.open(db, embedder=HashEmbedder(), worker=False) as memory:
        kept = memory.store.events(Scope("default", "ann"), list(stored))
        assert {event.id: event.content for event in kept} == stored
        assert memory.store.counts().running == 0, "the worker handed back what it held"
    assert not db.with_name("m.db-wal").exists(), "the store was closed"
    logged = db.with_suffix(".log").read_text()
    assert "Traceback" not in logged
    assert "says turn" not in logged


def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    db = tmp_path / "m.db"
    key = a_key(db)
    with serving(db) as (process, port), socket.create_connection(("127.0.0.1", port)) as slow:
        lines = (
            "POST /v1/memories/ingest HTTP/1.1", f"host: 127.0.0.1:{port}",
            f"authorization: Bearer {key}", "content-type: application/json",
            "content-length: 1000", "expect: 100-continue",
        )  # fmt: skip
        slow.settimeout(30)
        slow.sendall("\r\n".join([*lines, "", ""]).encode())
        assert slow.recv(100).startswith(b"HTTP/1.1 100"), "it has read the head, and waits"
        slow.sendall(b"{")
        process.send_signal(signal.SIGTERM)

        def is_stopping() -> bool:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
            except OSError:
                return True
            return False

        wait_until(is_stopping)
        assert process.poll() is None, "it waits for the request under way"
        process.send_signal(signal.SIGTERM)
        assert process.wait(6) == 1, "and not when the requests had their 8 s"


def test_systemd_is_told(tmp_path: Path) -> None:
    address = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
        told.bind(str(address))
        told.settimeout(20)
        with serving(tmp_path / "m.db", NOTIFY_SOCKET=str(address)) as (process, _):
            assert told.recv(100) == b"READY=1"
            process.send_signal(signal.SIGTERM)
            assert told.recv(100) == b"STOPPING=1"
            assert process.wait(20) == 0


def test_json_lines_of_a_process(tmp_path: Path) -> None:
    with serving(tmp_path / "m.db", HOLDFAST_SERVICE_LOG_FORMAT="json") as (process, port):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request("GET", "/health?q=secret")
        assert connection.getresponse().read() == b'{"status":"ok"}'
        connection.close()
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    (line,) = (tmp_path / "m.log").read_text().splitlines()
    told = json.loads(line)
    assert (told["route"], told["status"]) == ("/health", 200)
    assert "secret" not in line


def test_a_worker_apart_sends_webhooks(tmp_path: Path) -> None:
    db = tmp_path / "m.db"
    environment = {**os.environ, "HOLDFAST_OUTGOING_HOSTS": "127.0.0.1"}
    command = [sys.executable, "-m", "holdfast", "worker", "--db", str(db)]
    with (
        Receiver() as receiver,
        holdfast.open(db, embedder=HashEmbedder(), worker=False) as memory,
        subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as process,
    ):
        try:
            hook = Webhook("hook", "default", None, receiver.url, (), memory.now(), secret=b"s")
            memory.store.put_hook(hook)
            id = memory.remember("tea", user="ann").events[0]
            wait_until(lambda: id in [each["id"] for each in receiver.events()], 60)
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0
        finally:
            process.kill()


LEAVING = """
import atexit, sys
from pathlib import Path
import holdfast
from holdfast.service.http.serving import leaving
from holdfast.testing import HashEmbedder

atexit.register(print, "left in the ordinary way")
with leaving() as opened, holdfast.open(Path(sys.argv[1]), embedder=HashEmbedder()) as memory:
    opened.append(memory)
    memory.worker.left_behind = True
    memory.worker.stop = lambda: None
    sys.exit(0)
"""


def test_sigterm_while_a_thread_is_at_work_is_no_abort(tmp_path: Path) -> None:
    """A signal ends the service by SystemExit, which must not pass the check by."""
    ended = subprocess.run(
        [sys.executable, "-c", LEAVING, tmp_path / "m.db"],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert ended.stdout == ""
    quiet = LEAVING.replace("left_behind = True", "left_behind = False")
    ended = subprocess.run(
        [sys.executable, "-c", quiet, tmp_path / "m.db"],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert ended.stdout == "left in the ordinary way\n"
