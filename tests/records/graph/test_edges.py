"""The relations of a user, one by one."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import holdfast
from holdfast.errors import InvalidInput
from holdfast.memory.memory import Memory
from holdfast.testing import HashEmbedder

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with holdfast.open(
        tmp_path / "m.db", embedder=HashEmbedder(), worker=False, clock=lambda: NOON
    ) as memory:
        memory.graph.write(
            [],
            [
                {"source": "Ann", "type": "works_on", "target": "Holdfast"},
                {"source": "Bob", "type": "knows", "target": "Ann"},
            ],
            user="ann",
        )
        yield memory


def test_edges_are_listed_as_they_were_learned(memory: Memory) -> None:
    edges = memory.graph.edges(user="ann")
    assert [edge.content for edge in edges] == ["Ann works on Holdfast", "Bob knows Ann"]
    assert memory.graph.edges(user="ann", type="works_on") == edges[:1]
    assert memory.graph.edges(user="ann", limit=1) == edges[:1]
    assert memory.graph.edges(user="bob") == []


def test_edges_that_did_not_hold_are_left_out(memory: Memory) -> None:
    assert memory.graph.edges(user="ann", known_at=NOON - timedelta(days=1)) == []
    assert len(memory.graph.edges(user="ann", as_of=NOON + timedelta(days=1))) == 2


def test_of_edges_that_say_the_same_one_is_told(memory: Memory) -> None:
    memory.graph.write(
        [], [{"source": "Anna", "type": "works_on", "target": "Holdfast"}], user="ann"
    )
    memory.graph.merge("Ann", "Anna", user="ann")
    found = memory.graph.edges(user="ann", type="works_on")
    assert len(found) == 1


def test_a_limit_is_named(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="limit"):
        memory.graph.edges(user="ann", limit=0)
