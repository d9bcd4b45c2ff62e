"""The first answer over stdio comes before the protocol is loaded, and is the SDK's own."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCRequest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from holdfast.memory.memory import Memory
from holdfast.service.mcp.server import One, server
from holdfast.service.mcp.stdio import _WireLines
from holdfast.service.mcp.wire import DISCOVERED, HANDSHAKES, greeting_for
from tests.service.mcp.driving import ANN
from tests.service.mcp.test_mcp_stdio import COMMAND, HELLO, talk

CLIENT = {"name": "t", "version": "1", "title": "T"}
META = "io.modelcontextprotocol/"


def _hello(version: str, **more: Any) -> dict[str, Any]:
    capabilities = {"roots": {"listChanged": True}, "sampling": {}}
    params = {"protocolVersion": version, "capabilities": capabilities, "clientInfo": CLIENT}
    return {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {**params, **more}}


def _discover(version: str, **more: Any) -> dict[str, Any]:
    meta = {"protocolVersion": version, "clientInfo": CLIENT, "clientCapabilities": {}, **more}
    params = {"_meta": {f"{META}{name}": value for name, value in meta.items()}}
    return {"jsonrpc": "2.0", "id": "d", "method": "server/discover", "params": params}


def _by_sdk(memory: Memory, sent: dict[str, Any]) -> Any:
    async def running() -> Any:
        made = server(memory, One(ANN))
        ours, theirs = anyio.create_memory_object_stream[Any](1)
        told, heard = anyio.create_memory_object_stream[Any](1)
        async with anyio.create_task_group() as group, ours, theirs, told, heard:
            group.start_soon(made.run, theirs, told, made.create_initialization_options())
            await ours.send(SessionMessage(JSONRPCRequest.model_validate(sent)))
            answer = (await heard.receive()).message
            group.cancel_scope.cancel()
        return answer.model_dump(by_alias=True, exclude_unset=True, mode="json")

    return anyio.run(running)


def test_every_version_is_known() -> None:
    assert HANDSHAKES == HANDSHAKE_PROTOCOL_VERSIONS
    assert DISCOVERED == MODERN_PROTOCOL_VERSIONS


@pytest.mark.parametrize(
    "sent",
    [
        *(_hello(version) for version in (*HANDSHAKES, "2024-10-07", "nonsense")),
        _hello("2025-06-18", _meta={"progressToken": 1}),
        *(_discover(version) for version in DISCOVERED),
    ],
)
def test_it_says_what_the_sdk_says(memory: Memory, sent: dict[str, Any]) -> None:
    found = greeting_for(json.dumps(sent).encode())
    assert found is not None
    id, line = found
    assert id == sent["id"]
    assert line.endswith(b"\n")
    assert json.loads(line) == _by_sdk(memory, sent)


@pytest.mark.parametrize(
    "sent",
    [
        b"", b"nonsense", b"[]", b"\xff", b"[" * 100_000, b'{"jsonrpc": "2.0"}',
        {**HELLO, "id": None}, {**HELLO, "id": True}, {**HELLO, "id": 1.5}, {**HELLO, "more": 1},
        {**HELLO, "method": "tools/list"}, {**HELLO, "method": ["initialize"]},
        {**HELLO, "params": []}, {**HELLO, "params": {}}, {**HELLO, "jsonrpc": "1.0"},
        _hello("2025-06-18", protocolVersion=1), _hello("2025-06-18", clientInfo={"name": "t"}),
        _hello("2025-06-18", capabilities=None), _hello("2025-06-18", capabilities={"roots": 1}),
        _discover("2027-01-01"), _discover("2026-07-28", clientCapabilities=None),
    ],
)  # fmt: skip
def test_what_is_not_as_expected_is_left_to_the_sdk(sent: Any) -> None:
    assert greeting_for(sent if isinstance(sent, bytes) else json.dumps(sent).encode()) is None


def test_nothing_heavy_is_loaded_for_it() -> None:
    code = (
        "import sys, holdfast.service.cli.app, holdfast.service.mcp.wire, holdfast.border.validate;"
        "print([each for each in ('mcp', 'mcp_types', 'numpy', 'holdfast.memory.memory')"
        " if each in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.slow
@pytest.mark.parametrize("sent", [HELLO, _discover("2026-07-28")])
def test_it_comes_within_a_second_of_work_and_once(tmp_path: Path, sent: dict[str, Any]) -> None:
    pipe, command = subprocess.PIPE, [*COMMAND, "--db", str(tmp_path / "m.db")]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        try:
            assert talk(process, sent)["id"] == sent["id"]
            # Others are at work on the machine: what is bounded is its own time.
            spent = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
            assert sum(map(int, spent)) / os.sysconf("SC_CLK_TCK") < 1.0
            params = {"params": sent["params"]} if sent is not HELLO else {}
            listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", **params}
            assert talk(process, listing)["id"] == 2, "the first answer came twice"
            out, errors = process.communicate(timeout=120)
            assert (process.returncode, out, errors) == (0, b"", b"")
        finally:
            process.kill()


class Lines:
    """A wire whose lines the test hands on."""

    def each(self, take: Callable[[str | None], None]) -> None:
        self.take = take


@pytest.mark.parametrize("sent", ["a line", None])
def test_a_line_that_comes_when_nobody_takes_any_is_no_error(sent: str | None) -> None:
    async def running() -> None:
        wire: Any = Lines()
        lines = aiter(_WireLines(wire))
        with ThreadPoolExecutor(1) as reader:
            first = asyncio.ensure_future(anext(lines))
            await asyncio.sleep(0)
            reader.submit(wire.take, "the first")
            assert await first == "the first"
            await lines.aclose()  # type: ignore[attr-defined]
            late = reader.submit(wire.take, sent)
            while not late.done():
                await asyncio.sleep(0.01)
            late.result()

    asyncio.run(running())


@pytest.mark.slow
def test_a_memory_that_cannot_be_opened_ends_it_in_words(tmp_path: Path) -> None:
    (tmp_path / "m.db").write_text("no database " * 1000)
    command = [*COMMAND, "--db", str(tmp_path / "m.db")]
    lines = json.dumps(HELLO).encode() + b"\n"
    done = subprocess.run(command, capture_output=True, timeout=120, check=False, input=lines)
    assert done.returncode == 2
    assert done.stderr.startswith(b"error: ")
    assert b"Traceback" not in done.stderr
