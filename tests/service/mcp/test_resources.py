"""Resources, prompts, and who hears that something changed."""

import json
import warnings
from typing import Any

import anyio
import pytest
from mcp import Client, types
from mcp.server.subscriptions import ResourceUpdated
from mcp.shared.exceptions import MCPError

from holdfast.memory.memory import Memory
from holdfast.service.mcp.asker import Asker
from holdfast.service.mcp.server import Gate, server
from tests.service.mcp.driving import ANN, MODES, Driver, drive

GRAPH = "memory://knowledge-graph"
BOB = {"name": "Bob", "entityType": "person", "observations": ["Likes tea"]}


@pytest.mark.parametrize("mode", MODES)
def test_every_resource_is_listed_and_read(memory: Memory, mode: str) -> None:
    memory.remember("Always answer in English. I moved to Lisbon.", user="ann")
    memory.notes.add("Chose Postgres.", user="ann")
    memory.profiles.set("location", "Lisbon", user="ann")
    memory.observations.create([{"name": "Bob", "type": "person"}], user="ann")
    memory.drain()

    async def script(mcp: Driver) -> None:
        listed = (await mcp.client.list_resources()).resources
        held = {str(each.uri): await mcp.read(str(each.uri)) for each in listed}
        assert {each.mime_type for each in listed} == {"application/json"}
        assert list(held) == [
            GRAPH, "holdfast://profile", "holdfast://notes", "holdfast://instructions",
        ]  # fmt: skip
        assert "Bob" in [each["name"] for each in held[GRAPH]["entities"]]
        assert held["holdfast://profile"]["fields"]["location"] == ["Lisbon"]
        (rule,) = held["holdfast://instructions"]["instructions"]
        assert rule["content"] == "Always answer in English."
        assert "Chose Postgres." in [e["content"] for e in held["holdfast://notes"]["notes"]]
        templates = (await mcp.client.list_resource_templates()).resource_templates
        assert [each.uri_template for each in templates] == [
            "holdfast://memory/{id}", "holdfast://entity/{name}", "holdfast://session/{id}",
        ]  # fmt: skip
        whole = await mcp.read(f"holdfast://memory/{rule['id']}")
        assert whole["content"] == "Always answer in English."
        assert len(whole["sources"]) == 1

    drive(memory, script, mode=mode)


@pytest.mark.parametrize(
    "uri",
    ["holdfast://nothing", "holdfast://memory/", "holdfast://memory/../profile",
     f"holdfast://memory/{'f' * 32}", "gopher://x", f"{GRAPH}/x", "x" * 5000,
     "holdfast://entity/Nobody", "holdfast://session/none", "holdfast://session/"],
)  # fmt: skip
@pytest.mark.parametrize(("mode", "code"), [("legacy", -32002), ("auto", -32602)])
def test_what_is_not_there_is_not_read(memory: Memory, uri: str, mode: str, code: int) -> None:
    async def script(mcp: Driver) -> None:
        with pytest.raises(MCPError) as error:
            await mcp.client.read_resource(uri)
        assert error.value.error.code == code
        assert error.value.error.data == {"uri": uri}
        assert len(error.value.error.message) < 600

    drive(memory, script, mode=mode)


@pytest.mark.parametrize("mode", MODES)
def test_a_prompt_that_is_not_there_is_a_wrong_parameter(memory: Memory, mode: str) -> None:
    async def script(mcp: Driver) -> None:
        with pytest.raises(MCPError, match="there is no prompt nonsense") as error:
            await mcp.client.get_prompt("nonsense", {})
        assert error.value.error.code == -32602

    drive(memory, script, mode=mode)


def test_entities_and_conversations_are_read_by_their_names(memory: Memory) -> None:
    people = [{"source": "Jürgen Groß", "type": "knows", "target": "Bob"}]
    memory.graph.write([], people, user="ann", origin="agent")
    for text in ("I moved to Lisbon.", "It is lovely."):
        memory.remember(text, user="ann", session="trip / 1")

    async def script(mcp: Driver) -> None:
        found = await mcp.read("holdfast://entity/J%C3%BCrgen%20Gro%C3%9F")
        assert [each["name"] for each in found["entities"]] == ["Jürgen Groß", "Bob"]
        told = await mcp.read("holdfast://session/trip%20%2F%201")
        assert [each["content"] for each in told["turns"]] == [
            "I moved to Lisbon.", "It is lovely.",
        ]  # fmt: skip
        assert (told["session_id"], told["is_whole"]) == ("trip / 1", True)

    drive(memory, script)


@pytest.mark.parametrize("mode", MODES)
def test_every_prompt_is_listed_and_written_out(memory: Memory, mode: str) -> None:
    memory.remember("I moved to Lisbon.", user="ann")
    memory.drain()

    async def script(mcp: Driver) -> None:
        async def written(name: str, **arguments: str) -> str:
            (message,) = (await mcp.client.get_prompt(name, arguments)).messages
            assert message.role == "user"
            assert isinstance(message.content, types.TextContent)
            return message.content.text

        listed = (await mcp.client.list_prompts()).prompts
        takes = {each.name: [a.name for a in each.arguments or ()] for each in listed}
        assert takes == {
            "with_memory": ["question"], "what_do_you_know": [], "remember_this": ["text"],
        }  # fmt: skip
        asked = await written("with_memory", question="Where do I live?")
        assert "I moved to Lisbon." in asked
        assert asked.endswith("Where do I live?")
        assert '"profile"' in await written("what_do_you_know")
        assert (await written("remember_this", text="Tea!")).endswith("Tea!")
        with pytest.raises(MCPError, match="question is required"):
            await mcp.client.get_prompt("with_memory", {})
        with pytest.raises(MCPError, match="surprise is not an argument"):
            await mcp.client.get_prompt("what_do_you_know", {"surprise": "1"})

    drive(memory, script, mode=mode)


class Either(Gate):
    """Somebody, who may become somebody else in the middle of a test."""

    def __init__(self, who: Asker) -> None:
        self.who = who

    def asker(self, ctx: Any) -> Asker:
        return self.who


def test_who_listens_hears_of_their_own_graph_alone(memory: Memory) -> None:
    gate = Either(ANN)

    async def running() -> None:
        async with Client(server(memory, gate), mode="auto") as client:
            offered = client.server_capabilities.resources
            assert offered is not None
            assert offered.subscribe
            mcp = Driver(client)
            async with client.listen(resource_subscriptions=[GRAPH]) as heard:
                gate.who = Asker("default", "bob")
                await mcp.call("create_entities", entities=[BOB])
                gate.who = Asker("elsewhere", "ann")
                await mcp.call("create_entities", entities=[BOB])
                gate.who = ANN
                await mcp.call("notes", content="Not of the graph.")
                await mcp.refused("create_entities", entities=[{}])
                with anyio.move_on_after(0.2) as waited:
                    await anext(aiter(heard))
                assert waited.cancelled_caught, "it heard of what is not its own"
                await mcp.call("create_entities", entities=[BOB])
                with anyio.fail_after(20):
                    assert await anext(aiter(heard)) == ResourceUpdated(uri=GRAPH)

    anyio.run(running)


def test_who_subscribes_is_told_until_they_leave(memory: Memory) -> None:
    gate, told = Either(ANN), []

    async def handler(message: Any) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            told.append(str(message.params.uri))

    async def running() -> None:
        made = server(memory, gate)
        async with Client(made, mode="legacy", message_handler=handler) as client:
            mcp = Driver(client)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                await client.subscribe_resource(GRAPH)
            gate.who = Asker("default", "bob")
            await mcp.call("create_entities", entities=[BOB])
            gate.who = ANN
            await mcp.call("create_entities", entities=[BOB])
            with anyio.fail_after(20):
                while not told:
                    await anyio.sleep(0.01)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                await client.unsubscribe_resource(GRAPH)
            await mcp.call("delete_entities", entityNames=["Bob"])
            assert told == [GRAPH]

    anyio.run(running)


def test_only_what_may_be_read_is_followed(memory: Memory) -> None:
    who = Asker("default", "ann", tools=frozenset({"recall"}))

    async def script(mcp: Driver) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for uri in (GRAPH, "holdfast://memory/1", "gopher://x"):
                with pytest.raises(MCPError, match="to follow"):
                    await mcp.client.subscribe_resource(uri)

    drive(memory, script, who, "legacy")


def test_a_notice_says_nothing_of_what_changed(memory: Memory) -> None:
    heard = json.dumps(ResourceUpdated(uri=GRAPH).__dict__)
    assert heard == json.dumps({"uri": GRAPH})
