"""Expand: the whole memory behind an id."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast import Memory
from holdfast.errors import InvalidInput, NotFound
from holdfast.testing import HashEmbedder

LONG = "The cat sat down. " * 200


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with holdfast.open(tmp_path / "m.db", embedder=HashEmbedder(16), worker=False) as opened:
        yield opened


def test_what_a_context_told_in_part_is_given_whole(memory: Memory) -> None:
    memory.remember({"content": LONG, "metadata": {"turn": "7"}}, user="ann")
    context = memory.context("cat", user="ann", budget_tokens=60)
    assert context.levels == ("headline",)
    (hit,) = memory.expand([context.hits[0].id], user="ann")
    assert (hit.content, hit.metadata, hit.id) == (LONG, {"turn": "7"}, context.hits[0].id)


def test_memories_come_in_the_order_asked_for(memory: Memory) -> None:
    ids = memory.remember([{"content": "a"}, {"content": "b"}], user="ann").events
    assert [hit.content for hit in memory.expand(ids[::-1], user="ann")] == ["b", "a"]
    assert memory.expand([], user="ann") == []


def test_an_id_that_cannot_be_seen_is_named(memory: Memory) -> None:
    (known,) = memory.remember("a", user="ann", agent="one").events
    (gone,) = memory.remember("b", user="ann").events
    memory.forget(gone, user="ann")
    asked: list[tuple[str, dict[str, Any]]] = [
        ("0" * 32, {"user": "ann"}),
        ("nonsense", {"user": "ann"}),
        (known, {"user": "bob"}),
        (known, {"user": "ann", "agent": "two"}),
        (gone, {"user": "ann"}),
    ]
    for each, scope in asked:
        with pytest.raises(NotFound, match=each):
            memory.expand([each], **scope)
    assert memory.expand([known], user="ann", agent="one")[0].content == "a"


@pytest.mark.parametrize("wrong", ["0" * 32, [5], [None]])
def test_ids_are_a_list_of_texts(memory: Memory, wrong: Any) -> None:
    with pytest.raises(InvalidInput) as told:
        memory.expand(wrong, user="ann")
    assert told.value.field == "ids"
