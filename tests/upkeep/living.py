"""Records with a life, for tests: by themselves, and stored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from typing import Any

import holdfast
from holdfast.index.view import packed
from holdfast.language.terms import terms
from holdfast.memory.memory import Memory
from holdfast.store.protocols import Derived
from holdfast.testing import HashEmbedder
from holdfast.types import Record, Scope

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
ANN = Scope("default", "ann")


def a_record(id: str = "a", **given: Any) -> Record:
    """A record of an agent's, known since noon."""
    usual: dict[str, Any] = {
        "tier": "fact",
        "kind": "context",
        "content": f"Something about {id}.",
        "valid_from": NOON,
        "valid_to": None,
        "known_from": NOON,
        "known_to": None,
        "origin": "agent",
        "confidence": 0.8,
        "sources": (),
        "role": "assistant",
    }
    return Record(id=id, **{**usual, **given})


def derived(content: str, **given: Any) -> Derived:
    """The same, ready to be stored; its id follows from its text and its tier."""
    row, length = packed(terms(content))
    tier = given.get("tier", "fact")
    usual: dict[str, Any] = {
        "id": blake2b(f"{tier}/{content}".encode(), digest_size=16).hexdigest(),
        "tier": tier,
        "kind": "context",
        "content": content,
        "data": {},
        "confidence": 0.8,
        "importance": 0.5,
        "origin": "agent",
        "terms": row,
        "length": length,
        "valid_from": NOON,
        "sources": (),
        "role": "assistant",
    }
    return Derived(**{**usual, **given})


class Living:
    """A memory with a clock that is set by hand."""

    def __init__(self, memory: Memory, clock: list[datetime]) -> None:
        self.memory = memory
        self.store = memory.store
        self._clock = clock

    @property
    def now(self) -> datetime:
        return self._clock[0]

    def later(self, by: timedelta = DAY) -> datetime:
        self._clock[0] += by
        return self.now

    def put(self, *records: Derived, scope: Scope = ANN) -> list[str]:
        """Store records, each valid from now unless it says otherwise; their ids."""
        made = [
            replace(each, valid_from=self.now) if each.valid_from == NOON else each
            for each in records
        ]
        steps = self.memory._worker.steps
        assert self.store.put(scope, made, known_at=self.now, steps=steps)
        self.memory.drain()
        return [each.id for each in made]

    def get(self, id: str) -> Record:
        (record,) = self.store.get(ANN, [id])
        return record

    def found(self, text: str, **asked: Any) -> list[str]:
        return [hit.content for hit in self.memory.recall(text, user="ann", **asked)]

    def actions(self, id: str) -> list[str]:
        return [line.action for line in self.store.history(ANN, id)]

    def dump(self) -> Sequence[Any]:
        return list(self.store.dump(vectors=False))


@contextmanager
def living(path: Path) -> Iterator[Living]:
    """A memory for one test."""
    clock = [NOON]
    with holdfast.open(
        path,
        config={"extraction": {"enabled": False}},
        embedder=HashEmbedder(32),
        worker=False,
        clock=lambda: clock[0],
    ) as memory:
        yield Living(memory, clock)
