"""A memory behind an MCP server, driven by the official client."""

import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import anyio
import httpx2
from jsonschema import Draft202012Validator
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import TextContent, TextResourceContents

from holdfast.memory.memory import Memory
from holdfast.service.http.app import create_app
from holdfast.service.mcp.asker import Asker
from holdfast.service.mcp.server import One, server
from holdfast.service.mcp.tools import ALL
from tests.service.live import live

ANN = Asker("default", "ann")
READER = Asker("default", "ann", role="read")
#: The two ways of speaking: with a handshake (until 2025-11-25), and without (since 2026-07-28).
MODES = ("legacy", "auto")

#: The tools of the reference server have a text of their own: the list that is all of the answer,
#: a message, or the whole answer, and JSON as people read it.
LISTS = {
    "create_entities": "entities",
    "create_relations": "relations",
    "add_observations": "results",
}
MESSAGES = ("delete_entities", "delete_observations", "delete_relations")
GRAPHS = ("read_graph", "search_nodes", "open_nodes")

CHECKERS = {
    name: Draft202012Validator(each.gives, format_checker=Draft202012Validator.FORMAT_CHECKER)
    for name, each in ALL.items()
}

Script = Callable[["Driver"], Awaitable[None]]


class Driver:
    """The official client, with answers that are easy to look at."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def call(self, tool: str, **arguments: Any) -> Any:
        """What a tool gives: its text and its data say the same, and fit what it says it gives."""
        answer = await self.client.call_tool(tool, arguments)
        text = text_of(answer.content[0])
        assert not answer.is_error, text
        CHECKERS[tool].validate(answer.structured_content)
        assert_same(tool, text, answer.structured_content)
        return answer.structured_content

    async def refused(self, tool: str, **arguments: Any) -> str:
        """What a tool says of what it does not do."""
        answer = await self.client.call_tool(tool, arguments)
        text = text_of(answer.content[0])
        assert answer.is_error, text
        assert answer.structured_content is None, "it would not fit what the tool says it gives"
        assert "Traceback" not in text
        return text

    async def tools(self) -> list[str]:
        return [each.name for each in (await self.client.list_tools()).tools]

    async def read(self, uri: str) -> Any:
        (held,) = (await self.client.read_resource(uri)).contents
        return json.loads(text_of(held))


def text_of(content: object) -> str:
    """The text of what an answer holds; nothing of ours is a picture or a sound."""
    assert isinstance(content, TextContent | TextResourceContents)
    return content.text


def assert_same(tool: str, text: str, data: Any) -> None:
    """The text of an answer and its data tell one thing."""
    if tool in MESSAGES:
        assert data == {"success": True, "message": text}
    elif tool in LISTS:
        assert list(data) == [LISTS[tool]]
        assert text == json.dumps(data[LISTS[tool]], indent=2, ensure_ascii=False)
    elif tool in GRAPHS:
        assert text == json.dumps(data, indent=2, ensure_ascii=False)
    else:
        assert data == json.loads(text)


def drive(memory: Memory, script: Script, who: Asker = ANN, mode: str = "auto") -> None:
    """Run a script against a server in this process."""
    run(Client(server(memory, One(who)), mode=mode), script)


def run(client: Client, script: Script) -> None:
    """Run a script with a client."""
    try:
        anyio.run(partial(_run, client, script))
    except BaseExceptionGroup as several:
        raise innermost(several) from None


def innermost(error: BaseException) -> BaseException:
    """What really went wrong: task groups wrap it."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


async def _run(client: Client, script: Script) -> None:
    async with client:
        await script(Driver(client))


@contextmanager
def serving(memory: Memory, **options: Any) -> Iterator[str]:
    """The HTTP service over a memory on a free port of this machine; its address."""
    with live(create_app(memory, **options)) as port:
        yield f"http://127.0.0.1:{port}"


def over_http(url: str, key: str, script: Script, mode: str = "auto", **headers: str) -> None:
    """Run a script against a service with a key."""

    async def running() -> None:
        sent = {"authorization": f"Bearer {key}"}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        async with httpx2.AsyncClient(headers=sent, timeout=60) as http:
            transport = streamable_http_client(f"{url}/mcp", http_client=http)
            async with Client(transport, mode=mode) as client:
                await script(Driver(client))

    try:
        anyio.run(running)
    except BaseExceptionGroup as several:
        raise innermost(several) from None
