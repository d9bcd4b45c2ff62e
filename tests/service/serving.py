"""The service as a process of its own, as an operator starts it."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SERVE = [sys.executable, "-m", "holdfast", "serve"]


@dataclass
class Service:
    """A service that runs."""

    process: subprocess.Popen[str]
    port: int
    #: What it said before it was ready, and how long that took.
    words: str
    seconds: float

    @property
    def key(self) -> str:
        """The admin key that it made for a new store."""
        found = re.findall(r"^  (rk_\S+)$", self.words, re.MULTILINE)
        assert len(found) == 1, self.words
        return str(found[0])

    def send(
        self, method: str, path: str, key: str, *, body: Any = None, **headers: str
    ) -> tuple[int, bytes]:
        """One request on a connection of its own: (status, body)."""
        connection = http.client.HTTPConnection("localhost", self.port, timeout=60)
        sent = {"authorization": f"Bearer {key}"} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        if body is not None:
            sent.setdefault("content-type", "application/json")
        try:
            content = None if body is None else json.dumps(body)
            connection.request(method, path, content, sent)
            with connection.getresponse() as answer:
                return answer.status, answer.read()
        finally:
            connection.close()

    def kill(self) -> None:
        """kill -9, and wait until it is gone."""
        self.process.kill()
        self.process.wait()


@contextmanager
def serving(
    file: Path,
    *options: str,
    port: int = 0,
    settings: Mapping[str, Any] | None = None,
    db: str = "",
) -> Iterator[Service]:
    """Start it and wait until it says that it listens; killed at the end. Its log and settings lie
    beside the file, which is the store, too, if `db` is no other."""
    if settings:
        chosen = file.with_suffix(".json")
        chosen.write_text(json.dumps(dict(settings)))
        options = (*options, "--config", str(chosen))
    began = time.monotonic()
    with file.with_suffix(".log").open("a") as log:
        process = subprocess.Popen(
            [*SERVE, "--db", db or str(file), "--port", str(port), *options],
            stdout=subprocess.PIPE, stderr=log, text=True,
        )  # fmt: skip
        assert process.stdout is not None
        try:
            words = ""
            for line in process.stdout:
                words += line
                if match := re.search(r"^Holdfast listens on http://[^:]+:(\d+)$", line):
                    yield Service(process, int(match[1]), words, time.monotonic() - began)
                    break
            else:
                raise AssertionError(f"it did not start: {file.with_suffix('.log').read_text()}")
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
