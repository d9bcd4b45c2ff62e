"""What is proposed while somebody types, and that it is never anybody else's."""

from typing import Any

import pytest
from mcp import types
from mcp.shared.exceptions import MCPError

from holdfast.memory.memory import Memory
from holdfast.service.mcp.asker import Asker
from tests.service.mcp.driving import ANN, MODES, READER, Driver, drive

ENTITY = types.ResourceTemplateReference(uri="holdfast://entity/{name}")
SESSION = types.ResourceTemplateReference(uri="holdfast://session/{id}")
ONE = types.ResourceTemplateReference(uri="holdfast://memory/{id}")
WITH_MEMORY = types.PromptReference(name="with_memory")


@pytest.fixture(autouse=True)
def told(memory: Memory) -> dict[str, str]:
    for user, name in (("ann", "Bob"), ("ann", "Bora Bora"), ("bob", "Boris")):
        memory.graph.write([{"name": name}], user=user, origin="agent")
    mine = memory.remember("I like tea.", user="ann", session="monday")
    memory.remember("I like it green.", user="ann", session="monday")
    memory.remember("I like cake.", user="bob", session="monday-secret")
    memory.remember("We like cake.", user="ann", workspace="elsewhere", session="monday-else")
    return {"ann": mine.events[0]}


async def _values(mcp: Driver, ref: Any, **argument: str) -> list[str]:
    ((name, value),) = argument.items()
    found = (await mcp.client.complete(ref, {"name": name, "value": value})).completion
    assert found.total == len(found.values)
    assert found.has_more is False
    return list(found.values)


@pytest.mark.parametrize("mode", MODES)
def test_names_sessions_and_ids_are_completed(
    memory: Memory, told: dict[str, str], mode: str
) -> None:
    async def script(mcp: Driver) -> None:
        assert mcp.client.server_capabilities.completions is not None
        assert await _values(mcp, ENTITY, name="b") == ["Bob", "Bora Bora"]
        assert await _values(mcp, ENTITY, name="BORA b") == ["Bora Bora"]
        assert await _values(mcp, ENTITY, name="") == ["Bob", "Bora Bora"]
        assert await _values(mcp, ENTITY, name="x") == []
        assert await _values(mcp, SESSION, id="mon") == ["monday"]
        assert await _values(mcp, ONE, id=told["ann"][:30]) == [told["ann"]]
        asked = await _values(mcp, WITH_MEMORY, question="Where is Bob")
        assert asked == ["Where is Bob"]
        assert await _values(mcp, WITH_MEMORY, question="bor") == ["Bora Bora"]
        assert await _values(mcp, WITH_MEMORY, question="Where is ") == []

    drive(memory, script, mode=mode)


def test_nobody_is_proposed_what_is_anothers(memory: Memory) -> None:
    async def is_bob(mcp: Driver) -> None:
        assert await _values(mcp, ENTITY, name="") == ["Boris"]
        assert await _values(mcp, SESSION, id="") == ["monday-secret"]

    async def is_empty(mcp: Driver) -> None:
        for ref in (ENTITY, SESSION, ONE):
            name = "name" if ref is ENTITY else "id"
            assert await _values(mcp, ref, **{name: ""}) == []

    async def must_say_who(mcp: Driver) -> None:
        for ref in (ENTITY, SESSION, ONE):
            with pytest.raises(MCPError, match="user_id is missing"):
                await _values(mcp, ref, id="")
        with pytest.raises(MCPError, match="user_id is missing"):
            await _values(mcp, WITH_MEMORY, question="b")

    drive(memory, is_bob, Asker("default", "bob"))
    drive(memory, is_empty, Asker("default", "carol"))
    drive(memory, must_say_who, Asker("default", None, names_user=True))


def test_what_a_tool_would_not_tell_is_not_proposed(memory: Memory) -> None:
    async def has_context(mcp: Driver) -> None:
        assert await _values(mcp, WITH_MEMORY, question="b") == []
        for ref, name in ((ENTITY, "name"), (SESSION, "id"), (ONE, "id")):
            with pytest.raises(MCPError, match="there is no resource template") as error:
                await _values(mcp, ref, **{name: ""})
            assert error.value.error.code == -32602

    drive(memory, has_context, Asker("default", "ann", tools=frozenset({"context"})))


@pytest.mark.parametrize(
    ("ref", "name"),
    [
        (types.PromptReference(name="nonsense"), "question"),
        (types.PromptReference(name="remember_this"), "text"),
        (WITH_MEMORY, "answer"),
        (types.PromptReference(name="what_do_you_know"), "question"),
        (ENTITY, "id"),
        (types.ResourceTemplateReference(uri="holdfast://profile"), "id"),
    ],
)
def test_what_is_not_there_is_a_wrong_parameter(memory: Memory, ref: Any, name: str) -> None:
    async def script(mcp: Driver) -> None:
        with pytest.raises(MCPError) as error:
            await _values(mcp, ref, **{name: "b"})
        assert error.value.error.code == -32602

    drive(memory, script, READER)


def test_no_more_than_a_hundred_are_proposed_at_once(memory: Memory) -> None:
    memory.graph.write([{"name": f"Node {n:03}"} for n in range(150)], user="ann", origin="agent")

    async def script(mcp: Driver) -> None:
        found = (await mcp.client.complete(ENTITY, {"name": "name", "value": "node"})).completion
        assert (len(found.values), found.total, found.has_more) == (100, 150, True)

    drive(memory, script, ANN)
