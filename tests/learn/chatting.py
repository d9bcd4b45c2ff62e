"""The server process that plays a language model, and what was asked of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import apsw

SERVER = Path(__file__).parents[1] / "models" / "chat_server.py"


class Model:
    """The server, as it behaves now, and what it was asked since."""

    def __init__(self, address: str) -> None:
        self._address = address
        self.url = f"{address}/switched/v1"
        self._before = 0

    def is_(self, mode: str) -> None:
        """From now on it behaves so, and its calls are counted anew."""
        urlopen(Request(f"{self._address}/switch/{mode}", method="POST")).close()
        self._before += len(self.asked())

    def release(self) -> None:
        """Who is `held` is answered."""
        urlopen(Request(f"{self._address}/release/all", method="POST")).close()

    def asked(self) -> list[dict[str, Any]]:
        with urlopen(f"{self._address}/asked") as answer:
            return [each["body"] for each in json.load(answer)[self._before :]]

    def shown(self) -> list[list[dict[str, Any]]]:
        """The lines of each prompt."""
        return [
            [json.loads(line) for line in body["messages"][1]["content"].splitlines()]
            for body in self.asked()
        ]


def queue_again(path: Path) -> None:
    """The jobs of all turns, as if a worker had been told to read them once more."""
    connection = apsw.Connection(str(path))
    with connection:
        connection.execute(
            "INSERT INTO jobs (owner, subject, step, session, agent, at, due, state, attempts)"
            " SELECT owner, id, 'extract', session, agent, at, 0, 'ready', 0 FROM events"
        )
    connection.close()
