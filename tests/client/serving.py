"""A service for tests: over a memory of this process, or as a process of its own."""

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from holdfast.memory.memory import Memory
from holdfast.service.http.app import create_app

_PATIENCE = 60.0


@contextmanager
def served(memory: Memory) -> Iterator[str]:
    """The address of a service over a memory, on a thread and a real socket."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        settings = uvicorn.Config(create_app(memory), log_level="error", ws="none", lifespan="on")
        server = uvicorn.Server(settings)
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        try:
            wait_for(address)
            yield address
        finally:
            server.should_exit = True
            thread.join(_PATIENCE)
            assert not thread.is_alive()


def wait_for(address: str) -> None:
    """Return when the service answers."""
    host = address.removeprefix("http://")
    deadline = time.monotonic() + _PATIENCE
    while True:
        connection = http.client.HTTPConnection(host, timeout=5)
        try:
            connection.request("GET", "/health")
            connection.getresponse().read()
            return
        except OSError:
            assert time.monotonic() < deadline, f"{address} does not answer"
            time.sleep(0.02)
        finally:
            connection.close()


@dataclass
class Process:
    """`holdfast serve`, running."""

    process: subprocess.Popen[str]
    address: str
    #: What it said before it was ready.
    words: str

    @property
    def key(self) -> str:
        (found,) = re.findall(r"^  (rk_\S+)$", self.words, re.MULTILINE)
        return str(found)

    def kill(self) -> None:
        """As a power cut would."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


@contextmanager
def process(db: Path, port: int = 0) -> Iterator[Process]:
    """The service as a process of its own."""
    command = [sys.executable, "-m", "holdfast.service.cli", "serve", "--db", str(db)]
    log = db.with_suffix(".log").open("a")
    running = subprocess.Popen(
        [*command, "--port", str(port)], stdout=subprocess.PIPE, stderr=log, text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    assert running.stdout is not None
    try:
        words = ""
        for line in running.stdout:
            words += line
            if match := re.search(r"^Holdfast listens on (http://\S+)$", line):
                yield Process(running, match[1], words)
                break
        else:
            raise AssertionError(f"it did not start: {db.with_suffix('.log').read_text()}")
    finally:
        running.kill()
        running.wait()
        running.stdout.close()
        log.close()
