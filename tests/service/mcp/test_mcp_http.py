"""MCP over HTTP: the official client against a real server, behind keys and the guard."""

import asyncio
import json
import re
import warnings
from collections.abc import Iterator, MutableMapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from fastapi.testclient import TestClient
from mcp.server.subscriptions import ResourceUpdated
from mcp.shared.exceptions import MCPError

import holdfast
from holdfast.errors import ConfigError
from holdfast.memory.memory import Memory
from holdfast.service.http.app import create_app
from holdfast.service.keys import create_key, revoke_key
from holdfast.service.mcp.http import Sessions
from holdfast.service.mcp.tools import ALL
from holdfast.testing import HashEmbedder
from tests.service.live import wait_until
from tests.service.mcp.driving import MODES, Driver, over_http, serving
from tests.service.mcp.test_tools import NAMES, READING, _usual

GRAPH = "memory://knowledge-graph"
INSTEAD = "send the header X-Holdfast-User, or use a key of one user"
TOM = {"name": "Tom", "type": "person", "observations": ["Likes tea"]}
RULE = "Always answer in French."
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
    with holdfast.open(tmp_path / "m.db", embedder=HashEmbedder(16), config=config) as opened:
        yield opened


@pytest.fixture
def url(memory: Memory) -> Iterator[str]:
    with serving(memory) as address:
        yield address


async def _follow(mcp: Driver, mode: str) -> None:
    if mode == "auto":
        async with mcp.client.listen(resource_subscriptions=[GRAPH]):
            return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        await mcp.client.subscribe_resource(GRAPH)


def key_of(memory: Memory, **more: Any) -> str:
    return create_key(memory.store, **{"user": "ann", **more})[1]


#: What is said of the id "tea": it is the usual text of these tests, and no id.
NEED_ID = {
    "forget": "there is no memory 'tea' in this scope",
    "feedback": "there is no memory 'tea' in this scope",
    "memory_update": '{"error":"Fact not found: tea"}',
    "memory_delete": '{"error":"Fact not found: tea"}',
}


async def _driven_by_ids(mcp: Driver) -> None:
    (event,) = (await mcp.call("remember", text="I like cake."))["events"]
    assert (await mcp.call("feedback", id=event, value=1))["strength"] > 0
    assert await mcp.call("forget", id=event) == {"forgotten": True}
    fact = (await mcp.call("memory_add", content="Ann likes cake"))["fact_id"]
    changed = await mcp.call("memory_update", fact_id=fact, content="Ann likes pie")
    gone = await mcp.call("memory_delete", fact_id=changed["fact_id"])
    assert (changed["status"], gone["status"]) == ("updated", "deleted")


def test_who_listens_hears_of_what_other_processes_and_routes_change(
    memory: Memory, url: str, tmp_path: Path
) -> None:
    config = {"extraction.enabled": False}
    resources = [GRAPH, "holdfast://notes", "holdfast://instructions", "holdfast://profile"]

    async def script(mcp: Driver) -> None:
        with holdfast.open(
            tmp_path / "m.db", embedder=HashEmbedder(16), config=config, worker=False
        ) as other:
            async with mcp.client.listen(resource_subscriptions=resources) as heard:
                changes = (
                    ("holdfast://notes", lambda: other.notes.add("Chose Postgres.", user="ann")),
                    (GRAPH, lambda: other.observations.create([TOM], user="ann")),
                    ("holdfast://instructions", lambda: other.remember(RULE, user="ann")),
                    ("holdfast://profile", lambda: other.facts.add("I live in Rome.", user="ann")),
                )
                for uri, change in changes:
                    other.notes.add("Not of Ann.", user="bob")
                    await anyio.to_thread.run_sync(change)
                    with anyio.fail_after(20):  # The background work may be heard of, too.
                        while await anext(aiter(heard)) != ResourceUpdated(uri=uri):
                            pass

    over_http(url, key_of(memory), script)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_every_tool_resource_and_prompt_is_driven_over_http(
    memory: Memory, url: str, mode: str
) -> None:
    async def script(mcp: Driver) -> None:
        assert await mcp.tools() == NAMES
        for name in NAMES:
            shape = ALL[name].takes
            usual = {e: _usual(shape["properties"][e]) for e in shape.get("required", ())}
            if name in NEED_ID:
                assert await mcp.refused(name, **usual) == NEED_ID[name]
            else:
                assert await mcp.call(name, **usual)
        await _driven_by_ids(mcp)
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
            assert ("user_id" in tool.input_schema["properties"]) is not ALL[tool.name].exact
        words = await mcp.refused("recall", query="tea")
        assert words.startswith("user_id is missing: say whose memory is meant")
        # Where no argument can say it, none is asked for.
        assert (await mcp.refused("read_graph")).startswith(f"user_id is missing: {INSTEAD}")
        words = await mcp.refused("create_entities", entities=[BOB], user_id="ann")
        assert words.startswith(f"user_id is not an argument here: {INSTEAD}")
        with pytest.raises(MCPError, match=f"user_id is missing: {INSTEAD}"):
            await mcp.client.read_resource(GRAPH)
        with pytest.raises(MCPError, match=f"user_id is missing: {INSTEAD}"):
            await mcp.client.get_prompt("what_do_you_know", {})
        with pytest.raises(MCPError, match=f"user_id is missing: {INSTEAD}"):
            await _follow(mcp, mode)
        await mcp.call("remember", text="I like tea.", user_id="ann")
        assert (await mcp.call("recall", query="tea", user_id="ann"))["hits"]
        assert (await mcp.call("recall", query="tea", user_id="bob"))["hits"] == []

    async def is_ann(mcp: Driver) -> None:
        assert (await mcp.call("recall", query="tea"))["hits"]
        await mcp.call("create_entities", entities=[BOB])
        assert "user_id is not an argument" in await mcp.refused(
            "create_entities", entities=[BOB], user_id="bob"
        )
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
    over_http(url, key, is_ann, mode, x_holdfast_user="ann")
    over_http(url, key, is_bob, mode, x_holdfast_user="bob")
    over_http(url, key, is_coder, mode, x_holdfast_user="ann", x_holdfast_agent="coder")
    over_http(url, key, is_other, mode, x_holdfast_user="ann", x_holdfast_agent="other")


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
        assert post(key, x_holdfast_user="bob").status_code == 403
        assert post(key, x_holdfast_user="x" * 600).status_code == 400
        latin = {b"authorization": f"Bearer {key}".encode(), b"x-holdfast-user": b"J\xfcrgen"}
        refusal = http.post("/mcp", content=json.dumps(INITIALIZE).encode(), headers=latin)
        assert (refusal.status_code, "is not UTF-8" in refusal.text) == (400, True)
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
        wrong: list[Any] = [[], 1, "x", None, {}, {"jsonrpc": "2.0"}, [INITIALIZE], {"id": {}}]
        for bad in wrong:
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


def test_without_the_package_it_says_what_to_install(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.service.mcp.mount.find_spec", lambda name: None)
    headers = {"authorization": f"Bearer {key_of(memory)}"}
    with TestClient(create_app(memory), "http://localhost", headers=headers) as client:
        for method in ("GET", "POST", "DELETE"):
            answer = client.request(method, "/mcp")
            assert answer.status_code == 404
            assert answer.json() == {
                "error": "MCP needs the package mcp: install the extra [mcp] and restart"
            }
    with TestClient(create_app(memory), "http://localhost") as stranger:
        assert stranger.post("/mcp").status_code == 401


@pytest.mark.slow
def test_a_stream_ends_with_its_key(memory: Memory, url: str) -> None:
    mine, secret = create_key(memory.store, user="ann")
    other = key_of(memory)
    with httpx2.Client(headers=ACCEPT, timeout=60) as http, ExitStack() as stack:
        streams = []
        for each in (secret, other):
            said = {"authorization": f"Bearer {each}"}
            answer = http.post(f"{url}/mcp", json=INITIALIZE, headers=said)
            said["mcp-session-id"] = answer.headers["mcp-session-id"]
            said["mcp-protocol-version"] = "2025-06-18"
            streams.append(stack.enter_context(http.stream("GET", f"{url}/mcp", headers=said)))
            assert streams[-1].status_code == 200
        revoke_key(memory.store, mine.id, at=memory.now())
        # It ends, and in order: else this would raise, at once or after 60 seconds.
        assert b"error" not in streams[0].read()
        again = http.get(f"{url}/mcp", headers=said)
        assert again.status_code == 409, "the stream of the other key is still there"


@pytest.mark.slow
def test_a_key_has_only_so_many_sessions_and_streams(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.service.mcp.http._MOST_OF_A_KEY", 2)
    greedy, other = key_of(memory), key_of(memory)
    with serving(memory) as url, httpx2.Client(headers=ACCEPT, timeout=60) as http:
        said = {"authorization": f"Bearer {greedy}", "mcp-protocol-version": "2025-06-18"}

        def opened(key: str) -> httpx2.Response:
            sent = {"authorization": f"Bearer {key}"}
            return http.post(f"{url}/mcp", json=INITIALIZE, headers=sent)

        def listed(session: str) -> int:
            asked = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
            sent = {**said, "mcp-session-id": session}
            return http.post(f"{url}/mcp", json=asked, headers=sent).status_code

        foreign = opened(other)
        first, second = (opened(greedy).headers["mcp-session-id"] for _ in range(2))
        assert listed(first) == 200
        # The one that has rested longest makes room, whoever has gone away without a word.
        third = opened(greedy).headers["mcp-session-id"]
        assert [listed(each) for each in (first, second, third)] == [200, 404, 200]
        assert foreign.status_code == 200
        with ExitStack() as stack:
            for each in (first, third):
                sent = {**said, "mcp-session-id": each}
                stack.enter_context(http.stream("GET", f"{url}/mcp", headers=sent))
            refused = http.get(f"{url}/mcp", headers=sent)
            assert (refused.status_code, "2 streams" in refused.text) == (429, True)
            refused = opened(greedy)
            assert (refused.status_code, "retry-after" in refused.headers) == (429, True)
            assert "2 sessions are in use" in refused.json()["error"]
            assert opened(other).status_code == 200
        wait_until(lambda: opened(greedy).status_code == 200)


@pytest.mark.slow
def test_hundreds_of_clients_that_say_no_goodbye_lock_nobody_out(memory: Memory, url: str) -> None:
    mine = {**ACCEPT, "authorization": f"Bearer {key_of(memory)}"}
    with httpx2.Client(headers=mine, timeout=60) as http:
        statuses = {http.post(f"{url}/mcp", json=INITIALIZE).status_code for _ in range(100)}
    assert statuses == {200}


@pytest.mark.slow
def test_a_session_that_is_ended_at_once_gives_no_error_of_ours(memory: Memory, url: str) -> None:
    mine = {**ACCEPT, "authorization": f"Bearer {key_of(memory)}"}
    said = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    asked = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}

    async def ended(http: httpx2.AsyncClient, turn: int) -> list[int]:
        async with http.stream("POST", f"{url}/mcp", json=INITIALIZE) as answer:
            name = {"mcp-session-id": answer.headers["mcp-session-id"]}
            if turn % 3 == 0:  # Before it is told whether it may.
                gone = await http.delete(f"{url}/mcp", headers=name)
                await answer.aread()
                return [answer.status_code, gone.status_code]
            await answer.aread()
        body = said if turn % 3 == 1 else asked
        using = asyncio.create_task(http.post(f"{url}/mcp", json=body, headers=name))
        await asyncio.sleep(turn % 7 / 1000)  # Every moment is a bad one.
        gone = await http.delete(f"{url}/mcp", headers=name)
        return [answer.status_code, (await using).status_code, gone.status_code]

    async def many() -> set[int]:
        async with httpx2.AsyncClient(headers=mine, timeout=60) as http:
            found = [
                status
                for round in range(12)
                for each in await asyncio.gather(*(ended(http, round + n) for n in range(6)))
                for status in each
            ]
        return set(found)

    assert asyncio.run(many()) <= {200, 202, 404}
    headers = {"authorization": f"Bearer {create_key(memory.store, role='admin')[1]}"}
    told = httpx2.get(f"{url}/metrics", headers=headers).text
    counted = [each for each in told.splitlines() if "requests_total" in each and "/mcp" in each]
    assert counted
    assert not [each for each in counted if 'status="5' in each]


class _Room:
    """Sessions with room for a few, a clock to be turned, and those that were put aside."""

    def __init__(self, most_of_key: int, most: int) -> None:
        self.now = 1000.0
        self.ended: list[tuple[str, str]] = []
        self._sessions = Sessions(most_of_key, most, 60.0, self._end, timer=lambda: self.now)

    async def _end(self, session: str, key: str) -> None:
        self.ended.append((session, key))

    def opened(self, session: str, key: str = "mine") -> None:
        app, scope = _telling(200, session), _scope("POST")
        asyncio.run(self._sessions.opening(app, key, scope, _nothing, _nothing))

    def used(
        self, session: str, key: str = "mine", *, method: str = "POST", status: int = 200
    ) -> None:
        app, scope = _telling(status, session), _scope(method, session)
        asyncio.run(self._sessions.using(app, key, scope, _nothing, _nothing))


def _telling(status: int, session: str) -> Any:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        named = [(b"mcp-session-id", session.encode())]
        await send({"type": "http.response.start", "status": status, "headers": named})
        await send({"type": "http.response.body", "body": b""})

    return app


def _scope(method: str, session: str = "") -> dict[str, Any]:
    named = [(b"mcp-session-id", session.encode())] if session else []
    return {"type": "http", "method": method, "headers": named}


async def _nothing(*_: Any) -> Any:
    pass


def test_the_session_that_rested_longest_makes_room() -> None:
    room = _Room(2, 3)
    for session in ("one", "two"):
        room.now += 1
        room.opened(session)
    room.now += 1
    room.used("one")
    # What another key does with its name changes nothing.
    room.used("two", "other", method="DELETE")
    room.opened("three")
    assert room.ended == [("two", "mine")]
    room.now += 1
    room.opened("four", "other")
    room.opened("five", "another")
    assert room.ended[1:] == [("one", "mine")], "of all keys, where all places are taken"


def test_a_session_that_is_over_takes_no_room() -> None:
    room = _Room(1, 10)
    room.opened("one")
    room.used("one", method="DELETE")
    room.opened("two")
    room.used("two", status=404)
    room.opened("three")
    room.now += 70
    room.opened("four")
    assert room.ended == []


START = {"type": "http.response.start", "status": 202, "headers": []}
HALF = {"type": "http.response.body", "body": b"a", "more_body": True}
WHOLE = {"type": "http.response.body", "body": b"a"}


@pytest.mark.parametrize(
    ("sent", "error", "statuses"),
    [
        ([], None, [404]),
        ([], anyio.ClosedResourceError, [404]),
        ([START], None, [202]),
        ([START, HALF], anyio.BrokenResourceError, [202]),
        ([START, WHOLE, {**START, "status": 500}, WHOLE], anyio.ClosedResourceError, [202]),
        ([START, HALF, WHOLE], None, [202]),
    ],
)
def test_there_is_one_whole_answer_though_the_session_ends_meanwhile(
    sent: list[dict[str, Any]], error: type[Exception] | None, statuses: list[int]
) -> None:
    heard: list[MutableMapping[str, Any]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        for each in sent:
            await send(each)
        if error is not None:
            raise error

    async def hear(message: MutableMapping[str, Any]) -> None:
        heard.append(message)

    sessions = Sessions(1, 1, 60.0, _nothing)
    asyncio.run(sessions.using(app, "mine", _scope("POST", "one"), _nothing, hear))
    assert [each["status"] for each in heard if "status" in each] == statuses
    assert [each.get("more_body", False) for each in heard[1:]].count(False) == 1
    assert not heard[-1].get("more_body", False)


def test_an_allow_list_with_a_tool_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    config = {"mcp.tools": "recall, rekall"}
    with (
        holdfast.open(tmp_path / "m.db", embedder=HashEmbedder(), config=config) as memory,
        pytest.raises(ConfigError, match=r"mcp\.tools: there is no tool 'rekall'"),
    ):
        create_app(memory)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_an_agent_has_the_tools_that_the_settings_the_key_and_its_own_list_allow(
    tmp_path: Path, mode: str
) -> None:
    config = {
        "mcp.tools": "remember, recall, context, profile, notes",
        "mcp.agentTools": "coder: recall, context, remember; t:scribe: notes ; mute: ; *: recall",
    }
    with holdfast.open(tmp_path / "m.db", embedder=HashEmbedder(16), config=config) as memory:
        key = key_of(memory)
        narrow = key_of(memory, tools=["context", "notes", "read_graph"])
        expected = [
            (key, "coder", ["remember", "recall", "context"]),
            (key, "t:scribe", ["notes"]),
            (key, "mute", []),
            (key, "other", ["recall"]),
            (key, None, ["recall"]),
            (narrow, "coder", ["context"]),
            (narrow, None, []),
        ]
        with serving(memory) as url:
            for secret, agent, names in expected:

                async def offers(mcp: Driver, names: list[str] = names) -> None:
                    assert await mcp.tools() == names
                    with pytest.raises(MCPError, match="not allowed"):
                        await mcp.client.call_tool("profile", {})

                headers = {} if agent is None else {"x_holdfast_agent": agent}
                over_http(url, secret, offers, mode, **headers)


@pytest.mark.parametrize(
    ("lists", "words"),
    [
        ("coder: recall, rekall", "mcp.agentTools: there is no tool 'rekall'"),
        ("recall", "mcp.agentTools must be like \"coder: recall, context\", not 'recall'"),
        (": recall", "mcp.agentTools must be like"),
        ("a: recall; a: notes", "mcp.agentTools names the agent 'a' twice"),
    ],
)
def test_lists_of_agents_that_are_wrong_are_refused_at_the_start(
    tmp_path: Path, lists: str, words: str
) -> None:
    config = {"mcp.agentTools": lists}
    with (
        holdfast.open(tmp_path / "m.db", embedder=HashEmbedder(), config=config) as memory,
        pytest.raises(ConfigError, match=re.escape(words)),
    ):
        create_app(memory)
