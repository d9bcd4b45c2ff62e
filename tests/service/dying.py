"""A service that dies between two commits, and what its store holds then."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from fastapi.testclient import TestClient
from httpx2 import Response

from holdfast.memory.memory import Memory
from holdfast.service.http.app import create_app
from holdfast.store.sql.engine import Work
from holdfast.store.sqlite.writer import Writer
from tests.catalogue.world import opened

T = TypeVar("T")
_MASKED = re.compile(r"\b[0-9a-f]{32,64}\b|datetime\.datetime\([^)]*\)")
_NAMED = re.compile(r"(action|tier|kind)='(\w+)'")

Ask = Callable[[TestClient], Response]


class Died(Exception):
    """The process is gone."""


class Dying:
    """A writer that is gone after so many commits: nothing more reaches the disk."""

    def __init__(self, writer: Writer, commits: int | None) -> None:
        self._writer = writer
        self._left = commits
        self.commits = 0

    def run(self, work: Work[T], *, alone: bool = False) -> T:
        self._check()
        result = self._writer.run(work, alone=alone)
        self.commits += 1
        return result

    def later(self, work: Work[None], what: str) -> None:
        if self._left is None:
            self._writer.later(work, what)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._writer, name)

    def _check(self) -> None:
        if self._left is not None and self.commits >= self._left:
            raise Died


@dataclass(frozen=True)
class Lived:
    """What a request came to."""

    answer: Response
    #: How often something was written for it.
    commits: int
    #: All that the store holds that can be exported, and what no id or time tells apart of it.
    rows: list[str] = field(repr=False)

    @property
    def masked(self) -> Counter[str]:
        return Counter(_MASKED.sub("?", each) for each in self.rows)

    @property
    def kinds(self) -> Counter[str]:
        """The rows, by what they are of."""
        return Counter(
            each.partition("(")[0] + str(sorted(_NAMED.findall(each))) for each in self.rows
        )

    @property
    def said(self) -> str:
        return _MASKED.sub("?", self.answer.text)


def asked(db: Path, key: str, ask: Ask, *, now: datetime, commits: int | None = None) -> Lived:
    """Open a store, ask the service over it, close it; it dies after so many commits."""
    with opened(db, now=now) as memory:
        app = create_app(memory, clock=lambda: now)
        headers = {"authorization": f"Bearer {key}"}
        with TestClient(
            app, "http://localhost:3050", headers=headers, raise_server_exceptions=False
        ) as client:
            dying = _put_in(memory, commits)
            answer = ask(client)
            _put_in(memory, None)
        rows = [repr(each) for each in memory.store.dump(vectors=False)]
        return Lived(answer, dying.commits, rows)


def _put_in(memory: Memory, commits: int | None) -> Dying:
    """Give a store a writer that dies; None: one that lives again."""
    store: Any = memory.store
    before = store._writer
    store._writer = Dying(before._writer if isinstance(before, Dying) else before, commits)
    found: Dying = store._writer
    return found
