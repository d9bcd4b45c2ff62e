"""`holdfast mcp` as a client starts it: a process of its own that speaks on stdin and stdout."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

import holdfast
from holdfast.service.keys import create_key
from holdfast.testing import HashEmbedder
from tests.service.mcp.driving import MODES, Driver, run, serving, text_of
from tests.service.mcp.test_tools import NAMES, READING

pytestmark = pytest.mark.slow

BOB = {"name": "Bob", "entityType": "person", "observations": ["Likes tea"]}
COMMAND = [str(Path(sys.executable).with_name("holdfast")), "mcp"]
HELLO = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {},
               "clientInfo": {"name": "t", "version": "1"}},
}  # fmt: skip


def started(*options: str, **environment: str) -> StdioServerParameters:
    return StdioServerParameters(
        command=COMMAND[0], args=[*COMMAND[1:], *options], env={**os.environ, **environment}
    )


@pytest.mark.parametrize("mode", MODES)
def test_what_one_process_stored_the_next_one_finds(tmp_path: Path, mode: str) -> None:
    db = str(tmp_path / "m.db")

    async def writes(mcp: Driver) -> None:
        assert await mcp.tools() == NAMES
        await mcp.call("remember", text="I moved to Lisbon.")
        await mcp.call("create_entities", entities=[BOB])

    async def reads(mcp: Driver) -> None:
        hits = (await mcp.call("recall", query="Where did I move?"))["hits"]
        assert "I moved to Lisbon." in [hit["content"] for hit in hits]
        assert BOB in (await mcp.read("memory://knowledge-graph"))["entities"]
        asked = await mcp.client.get_prompt("with_memory", {"question": "Where did I move?"})
        assert "Lisbon" in text_of(asked.messages[0].content)

    async def is_empty(mcp: Driver) -> None:
        assert (await mcp.call("recall", query="Where did I move?"))["hits"] == []

    run(Client(started("--db", db), mode=mode), writes)
    run(Client(started("--db", db, "--user", "default"), mode=mode), reads)
    run(Client(started("--db", db, "--user", "bob"), mode=mode), is_empty)


def test_tools_are_offered_as_the_command_says(tmp_path: Path) -> None:
    db = str(tmp_path / "m.db")

    def offers(names: list[str]) -> Callable[[Driver], Any]:
        async def script(mcp: Driver) -> None:
            assert await mcp.tools() == names

        return script

    run(Client(started("--db", db, "--tools", "recall, remember")), offers(["remember", "recall"]))
    twice = started("--db", db, "--tools", "recall", "--tools", "remember")
    run(Client(twice), offers(["remember", "recall"]))
    run(Client(started("--db", db, "--read-only")), offers(READING))
    only = started("--db", db, "--tools", "recall,profile", HOLDFAST_MCP_TOOLS="profile,notes")
    run(Client(only), offers(["profile"]))


@pytest.mark.slow
def test_an_agent_is_offered_its_own_tools(tmp_path: Path) -> None:
    db, lists = str(tmp_path / "m.db"), "coder: recall, notes; *: recall"

    def offers(names: list[str]) -> Callable[[Driver], Any]:
        async def script(mcp: Driver) -> None:
            assert await mcp.tools() == names

        return script

    coder = started("--db", db, "--agent", "coder", HOLDFAST_MCP_AGENT_TOOLS=lists)
    run(Client(coder), offers(["recall", "notes"]))
    one = started(
        "--db", db, "--agent", "coder", "--tools", "notes,remember", HOLDFAST_MCP_AGENT_TOOLS=lists
    )
    run(Client(one), offers(["notes"]))
    nobody = started("--db", db, HOLDFAST_MCP_AGENT_TOOLS=lists)
    run(Client(nobody), offers(["recall"]))


def test_it_speaks_for_a_service(tmp_path: Path) -> None:
    with holdfast.open(tmp_path / "m.db", embedder=HashEmbedder(16)) as memory:
        key = create_key(memory.store, user="ann")[1]

        async def script(mcp: Driver) -> None:
            await mcp.call("remember", text="I moved to Lisbon.")
            await mcp.call("create_entities", entities=[BOB])
            await mcp.call("notes", content="Chose Postgres.")
            added = await mcp.call("memory_add", content="Ann likes tea")
            await mcp.call("memory_delete", fact_id=added["fact_id"])
            assert (await mcp.call("recall", query="move"))["hits"]
            assert await mcp.call("open_nodes", names=["Bob"]) == {
                "entities": [BOB], "relations": [],
            }  # fmt: skip
            words = await mcp.refused("add_observations", observations=[
                {"entityName": "X", "contents": ["y"]}])  # fmt: skip
            assert words == "Entity with name X not found"
            for each in (await mcp.client.list_resources()).resources:
                assert await mcp.read(str(each.uri))
            assert (await mcp.call("profile"))["fields"] is not None
            assert (await mcp.call("context", question="Where did I move?"))["text"]
            assert (await mcp.call("graph_traverse", start="Bob"))["entities"]

        async def is_denied(mcp: Driver) -> None:
            assert "user_id is not the user of this key" in await mcp.refused("recall", query="x")

        async def must_say_whose(mcp: Driver) -> None:
            words = await mcp.refused("recall", query="x")
            assert words.startswith("user_id is missing: say whose memory is meant")
            assert (await mcp.call("recall", query="move", user_id="ann"))["hits"]

        with serving(memory) as url:
            run(Client(started("--db", url, HOLDFAST_API_KEY=key)), script)
            whole = create_key(memory.store)[1]
            run(Client(started("--db", url, HOLDFAST_API_KEY=whole)), must_say_whose)
            environment = {**os.environ, "HOLDFAST_API_KEY": "rk_wrong"}
            done = subprocess.run(
                [*COMMAND, "--db", url], capture_output=True, timeout=60, check=False, text=True,
                env=environment,
            )  # fmt: skip
            assert (done.returncode, done.stdout) == (2, "")
            assert done.stderr.startswith(f"error: {url} does not accept this key")
            assert done.stderr.count("\n") == 1
            bob = started("--db", url, "--user", "bob", HOLDFAST_API_KEY=key)
            run(Client(bob), is_denied)
            assert memory.notes.list(user="ann")[0].origin == "agent"


def talk(process: subprocess.Popen[bytes], message: Any) -> Any:
    assert process.stdin
    assert process.stdout
    line = message if isinstance(message, bytes) else json.dumps(message).encode()
    process.stdin.write(line + b"\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())


@pytest.fixture
def process(tmp_path: Path) -> Any:
    command = [*COMMAND, "--db", str(tmp_path / "m.db")]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as started:
        yield started
        started.kill()


def test_it_ends_with_its_client(process: subprocess.Popen[bytes]) -> None:
    assert talk(process, HELLO)["result"]["serverInfo"]["name"] == "holdfast"
    out, errors = process.communicate(timeout=60)
    assert (process.returncode, out, errors) == (0, b"", b"")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_though_its_client_is_still_there(
    process: subprocess.Popen[bytes], number: int
) -> None:
    talk(process, HELLO)
    process.send_signal(number)
    assert process.wait(timeout=60) == 0
    assert process.stderr
    assert b"Traceback" not in process.stderr.read()


def test_nonsense_does_not_end_it(process: subprocess.Popen[bytes]) -> None:
    talk(process, HELLO)
    assert process.stdin
    for line in (b"", b"nonsense", b"\xff\xfe", b"[" * 100_000, b'{"jsonrpc": "2.0"}', b"{}", b"1"):
        process.stdin.write(line + b"\n")
    ping = {"jsonrpc": "2.0", "id": 7, "method": "ping"}
    answer = talk(process, ping)
    while answer.get("id") != 7:  # What cannot be read is answered without an id.
        answer = json.loads(process.stdout.readline())  # type: ignore[union-attr]
    assert answer["result"] == {}


def test_a_wrong_allow_list_is_told_on_stderr(tmp_path: Path) -> None:
    command = [*COMMAND, "--db", str(tmp_path / "m.db"), "--tools", "recall,rekall"]
    done = subprocess.run(command, capture_output=True, timeout=60, check=False)
    assert done.returncode == 2
    assert done.stdout == b""
    assert b"there is no tool 'rekall'" in done.stderr
    assert not (tmp_path / "m.db").exists()
