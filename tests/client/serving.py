"""A service for tests: over a memory of this process, or as a process of its own."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from holdfast.memory.memory import Memory
from holdfast.service.http.app import create_app
from tests.service.live import live


@contextmanager
def served(memory: Memory) -> Iterator[str]:
    """The address of a service over a memory, on a thread and a real socket."""
    with live(create_app(memory)) as port:
        yield f"http://127.0.0.1:{port}"


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
    command = [sys.executable, "-m", "holdfast", "serve", "--db", str(db)]
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
