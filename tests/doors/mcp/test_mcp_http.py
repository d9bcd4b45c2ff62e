"""MCP over HTTP: the official client against a real server, behind keys and the guard."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.shared.exceptions import MCPError

import recollect
from recollect.doors.http.app import create_app
from recollect.errors import ConfigError
from recollect.keys import create_key
from recollect.memory import Memory
from recollect.testing import HashEmbedder
from tests.doors.mcp.driving import MODES, Driver, over_http, serving
from tests.doors.mcp.test_tools import NAMES, READING, _usual

GRAPH = "memory://knowledge-graph"
BOB = {"name": "Bob", "entityType": "person", "observations": ["Likes tea"]}
INITIALIZE = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {},
               "clientInfo": {"name": "t", "version": "1"}},
}  # fmt: skip
ACCEPT = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    config = {"limits.bodyBytes": 20_000, "extraction.quietSeconds": 0}
    with recollect.open(tmp_path / "m.db", embedder=HashEmbedder(16), config=config) as opened:
        yield opened


@pytest.fixture
def url(memory: Memory) -> Iterator[str]:
    with serving(memory) as address:
        yield address


def key_of(memory: Memory, **more: Any) -> str:
    return create_key(memory.store, **{"user": "ann", **more})[1]


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_every_tool_resource_and_prompt_is_driven_over_http(
    memory: Memory, url: str, mode: str
) -> None:
    from recollect.doors.mcp.tools import ALL

    async def script(mcp: Driver) -> None:
        assert await mcp.tools() == NAMES
        for name in NAMES:
            shape = ALL[name].takes
            usual = {e: _usual(shape["properties"][e]) for e in shape.get("required", ())}
            answer = await mcp.client.call_tool(name, usual)
            text = answer.content[0].text
            # What needs the id of something that is not there says so; all else is done.
            assert not answer.is_error or "tea" in text, f"{name}: {text}"
        for each in (await mcp.client.list_resources()).resources:
            assert await mcp.read(str(each.uri))
        for prompt in (await mcp.client.list_prompts()).prompts:
            given = {each.name: "tea" for each in prompt.arguments or ()}
            assert (await mcp.client.get_prompt(prompt.name, given)).messages

    over_http(url, key_of(memory), script, mode)


@pytest.mark.slow
def test_the_key_says_who_asks_and_what_they_may(memory: Memory, url: str) -> None:
    async def writes(mcp: Driver) -> None:
        await mcp.call("create_entities", entities=[BOB])
        await mcp.call("remember", text="I like green tea.")

    async def is_empty(mcp: Driver) -> None:
        assert (await mcp.call("read_graph"))["entities"] == []
        assert (await mcp.call("recall", query="green tea"))["hits"] == []

    async def only_reads(mcp: Driver) -> None:
        assert await mcp.tools() == READING
        assert (await mcp.call("read_graph"))["entities"][0] == BOB
        with pytest.raises(MCPError, match="not allowed"):
            await mcp.client.call_tool("remember", {"text": "x"})

    async def has_two(mcp: Driver) -> None:
        assert await mcp.tools() == ["recall", "read_graph"]
        with pytest.raises(MCPError, match="not allowed"):
            await mcp.client.call_tool("profile", {})

    over_http(url, key_of(memory), writes)
    over_http(url, key_of(memory, user="bob"), is_empty)
    over_http(url, key_of(memory, workspace="elsewhere"), is_empty)
    over_http(url, key_of(memory, role="read"), only_reads)
    over_http(url, key_of(memory, tools=["recall", "read_graph"]), has_two)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_a_key_of_all_users_must_say_whose_memory(memory: Memory, url: str, mode: str) -> None:
    async def names_none(mcp: Driver) -> None:
        for tool in (await mcp.client.list_tools()).tools:
            is_exact = tool.output_schema is not None
            assert ("user_id" in tool.input_schema["properties"]) is not is_exact
        words = await mcp.refused("recall", query="tea")
        assert words.startswith("user_id is required")
        assert "X-Recollect-User" in await mcp.refused("read_graph")
        with pytest.raises(MCPError, match="user_id is required"):
            await mcp.client.read_resource(GRAPH)
        await mcp.call("remember", text="I like tea.", user_id="ann")
        assert (await mcp.call("recall", query="tea", user_id="ann"))["hits"]
        assert (await mcp.call("recall", query="tea", user_id="bob"))["hits"] == []

    async def is_ann(mcp: Driver) -> None:
        assert (await mcp.call("recall", query="tea"))["hits"]
        await mcp.call("create_entities", entities=[BOB])
        assert "user_id is not an argument" in await mcp.refused(
            "recall", query="tea", user_id="bob"
        )

    async def is_bob(mcp: Driver) -> None:
        assert (await mcp.call("read_graph"))["entities"] == []

    async def is_coder(mcp: Driver) -> None:
        await mcp.call("create_entities", entities=[{**BOB, "name": "Zoe"}])
        assert len((await mcp.call("open_nodes", names=["Bob", "Zoe"]))["entities"]) == 2

    async def is_other(mcp: Driver) -> None:
        assert (await mcp.call("open_nodes", names=["Bob", "Zoe"]))["entities"] == [BOB]

    key = key_of(memory, user=None)
    over_http(url, key, names_none, mode)
    over_http(url, key, is_ann, mode, x_recollect_user="ann")
    over_http(url, key, is_bob, mode, x_recollect_user="bob")
    over_http(url, key, is_coder, mode, x_recollect_user="ann", x_recollect_agent="coder")
    over_http(url, key, is_other, mode, x_recollect_user="ann", x_recollect_agent="other")


@pytest.mark.slow
def test_the_guard_stands_before_it(memory: Memory, url: str) -> None:
    key, other = key_of(memory), key_of(memory, user="bob")
    with httpx2.Client(base_url=url, headers=ACCEPT) as http:

        def post(key: str | None, body: Any = INITIALIZE, **headers: str) -> httpx2.Response:
            sent = {name.replace("_", "-"): value for name, value in headers.items()}
            if key is not None:
                sent["authorization"] = f"Bearer {key}"
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            return http.post("/mcp", content=content, headers=sent)

        assert post(None).status_code == 401
        assert post("nonsense").status_code == 401
        assert post(key, origin="https://evil.example").status_code == 403
        assert post(key, host="evil.example").status_code == 403
        assert post(key, x_recollect_user="bob").status_code == 403
        assert post(key, x_recollect_user="x" * 600).status_code == 400
        assert post(key, b"x" * 30_000).status_code == 413
        assert post(key, b"[" * 5_000 + b"]" * 5_000).status_code == 422
        assert post(key, b'{"a": NaN}').status_code == 400
        assert post(key, b"\xff\xfe").status_code == 400
        assert http.put("/mcp", headers={"authorization": f"Bearer {key}"}).status_code == 405
        opened = post(key)
        assert opened.status_code == 200
        session = opened.headers["mcp-session-id"]
        # Another key cannot use the session, whoever learned its id.
        listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
        assert post(other, listing, mcp_session_id=session).status_code == 404
        assert post(key, listing, mcp_session_id=session).status_code == 200
        for bad in ([], 1, "x", None, {}, {"jsonrpc": "2.0"}, [INITIALIZE], {"id": {}}):
            assert 400 <= post(key, bad).status_code < 500
            assert 400 <= post(key, bad, mcp_protocol_version="2026-07-28").status_code < 500


@pytest.mark.slow
def test_what_is_changed_is_noted_without_a_word_of_it(memory: Memory, url: str) -> None:
    async def script(mcp: Driver) -> None:
        await mcp.call("remember", text="swordfish")
        await mcp.call("create_entities", entities=[{**BOB, "name": "swordfish"}])
        await mcp.call("read_graph")

    over_http(url, key_of(memory), script)
    lines = memory.store.audit(limit=100)
    assert [each.action for each in lines if each.action.startswith("mcp.")] == [
        "mcp.create_entities"
    ]
    assert "swordfish" not in repr(lines)


@pytest.mark.slow
def test_open_streams_do_not_keep_the_service_from_stopping(memory: Memory) -> None:
    key = {"authorization": f"Bearer {key_of(memory)}"}
    with httpx2.Client(headers={**ACCEPT, **key}, timeout=30) as http:
        with serving(memory) as url:
            session = http.post(f"{url}/mcp", json=INITIALIZE).headers["mcp-session-id"]
            said = {"mcp-session-id": session, "mcp-protocol-version": "2025-06-18"}
            listening = http.stream("GET", f"{url}/mcp", headers=said)
            answer = listening.__enter__()
            assert answer.status_code == 200
        # It ended in order: no error while the rest of it is read.
        assert b"error" not in answer.read()
        listening.__exit__(None, None, None)


def test_an_allow_list_with_a_tool_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    config = {"mcp.tools": "recall, rekall"}
    with (
        recollect.open(tmp_path / "m.db", embedder=HashEmbedder(), config=config) as memory,
        pytest.raises(ConfigError, match=r"mcp\.tools: there is no tool 'rekall'"),
    ):
        create_app(memory)
