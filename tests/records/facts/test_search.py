"""Facts in a whole memory: what recall finds of them now, and as of another time."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

import holdfast
from holdfast.memory.memory import Memory
from holdfast.testing import HashEmbedder
from holdfast.testing.store_suite import NOON
from tests.records.facts.stating import DAY


class Clock:
    """A clock that is set by hand."""

    now: datetime = NOON

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(tmp_path: Path, clock: Clock) -> Iterator[Memory]:
    settings = {"extraction": {"enabled": False}}
    with holdfast.open(
        tmp_path / "m.db", config=settings, worker=False, clock=clock, embedder=HashEmbedder(16)
    ) as opened:
        yield opened


def found(memory: Memory, **asked: object) -> list[str]:
    memory.drain()
    hits = memory.recall("Where do I live?", user="ann", tiers=["fact"], **asked)  # type: ignore[arg-type]
    return [hit.content for hit in hits]


def test_what_was_superseded_is_found_only_as_of_then(memory: Memory, clock: Clock) -> None:
    memory.facts.add("I live in Paris.", user="ann")
    clock.now += 10 * DAY
    memory.facts.add("I live in Lisbon.", user="ann")
    clock.now += DAY
    assert found(memory) == ["I live in Lisbon."]
    assert found(memory, as_of=NOON + DAY) == ["I live in Paris."]
    assert found(memory, known_at=NOON + DAY) == ["I live in Paris."]


def test_what_was_taken_back_is_found_only_as_of_then(memory: Memory, clock: Clock) -> None:
    fact = memory.facts.add("I live in Paris.", user="ann")
    clock.now += DAY
    memory.facts.invalidate(fact.id, user="ann")
    assert found(memory) == []
    clock.now += DAY
    assert found(memory, as_of=NOON + DAY / 2) == ["I live in Paris."]


def test_what_is_unclear_is_not_found(memory: Memory, clock: Clock) -> None:
    memory.facts.add("I live in Paris.", user="ann")
    clock.now += DAY
    memory.facts.add("Maybe, I live in Lisbon.", user="ann")
    assert found(memory) == ["I live in Paris."]


def test_what_somebody_added_is_found_by_every_recall(memory: Memory) -> None:
    memory.facts.add("I live in Paris.", user="ann")
    memory.drain()
    assert [hit.tier for hit in memory.recall("Where do I live?", user="ann")] == ["fact"]
