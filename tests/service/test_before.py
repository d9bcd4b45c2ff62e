"""What stood before a fact in its turn, at every door: with the model that reads."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast.memory.memory import Memory
from holdfast.recall import deerflow
from holdfast.recall.context import astra, safe
from tests.service.calling import client_of, given

DAN, COST = "Our new kitchen was put in by Dan", "it cost us 4,300"
TOLD = f'{COST} (after: "{DAN}")'
ASKED = "What did it cost?"


def tell(memory: Memory) -> str:
    """The id of the turn."""
    (turn,) = memory.remember(f"{DAN}\n{COST}", user="ann").events
    memory.drain()
    return turn


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with holdfast.open(tmp_path / "m.db", worker=False) as memory:
        yield memory


def befores(memory: Memory) -> dict[str, str]:
    return {fact.content: fact.before for fact in memory.facts.list(user="ann")}


def test_in_python(memory: Memory) -> None:
    turn = tell(memory)
    assert befores(memory) == {DAN: "", COST: DAN}
    memory.rebuild()
    assert befores(memory) == {DAN: "", COST: DAN}
    memory.forget(turn, user="ann")
    assert befores(memory) == {}
    memory.restore(turn, user="ann")
    assert befores(memory) == {DAN: "", COST: DAN}


def test_over_http(memory: Memory) -> None:
    tell(memory)
    with client_of(memory, role="admin") as client:
        found = given(client.get("/v1/facts", params={"user_id": "ann"}))["facts"]
        assert {each["content"]: each["before"] for each in found} == {DAN: "", COST: DAN}
        (id,) = [each["id"] for each in found if each["content"] == COST]
        one = given(client.get(f"/v1/facts/{id}", params={"user_id": "ann"}))
        assert one["before"] == DAN


def test_in_contexts(memory: Memory) -> None:
    tell(memory)

    def block(format: str) -> str:
        made = memory.context(ASKED, user="ann", tiers=["fact"], format=format)
        assert [hit.content for hit in made.hits].count(COST) == 1
        return made.text

    assert {each.text for each in safe.parse(block("safe"))} == {DAN, TOLD}
    assert {each.content for each in astra.parse(block("astra"))} == {DAN, TOLD}
    assert {each.content for each in deerflow.parse(block("deerflow"))} == {DAN, TOLD}
