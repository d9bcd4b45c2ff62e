"""`holdfast serve` as a process of its own that is there at once.

Importing it takes three seconds of a core, and the tests start some hundred. So one process has
imported everything, as that of a service of several processes has, and each one is a fork of it.
"""

from __future__ import annotations

import http.client
import multiprocessing
import os
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["tests.window.preloaded", __name__])


@dataclass(frozen=True)
class Forked:
    """A service that runs."""

    port: int

    def send(self, method: str, path: str, key: str) -> tuple[int, bytes]:
        """One request on a connection of its own: (status, body)."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)) as connection:
            connection.request(method, path, headers={"authorization": f"Bearer {key}"})
            answer = connection.getresponse()
            return answer.status, answer.read()


def _serve(arguments: list[str], log: Path, out: Connection) -> None:
    """What the fork does: be `holdfast serve`, and say on `out` what it says."""
    os.dup2(out.fileno(), sys.__stdout__.fileno())  # type: ignore[union-attr]
    os.dup2(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), 2)
    out.close()
    from holdfast.service.cli import main

    sys.exit(main(["serve", *arguments]))


@contextmanager
def forked(db: Path, *options: str, port: int) -> Iterator[Forked]:
    """Start it over a store and wait until it listens; killed at the end. Its log lies beside."""
    log = db.with_suffix(".log")
    said, out = _FORKS.Pipe(duplex=False)
    process = _FORKS.Process(
        target=_serve, args=(["--db", str(db), "--port", str(port), *options], log, out)
    )
    process.start()
    out.close()
    try:
        with closing(said), open(said.fileno(), closefd=False) as lines:
            # Until the end of what it says about itself: a pipe that is full would stop it.
            if not any(line.startswith("Holdfast listens on") for line in lines):
                raise AssertionError(f"it did not start: {log.read_text()}")
            yield Forked(port)
    finally:
        process.kill()
        process.join()
        process.close()
