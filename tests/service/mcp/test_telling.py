"""What a client hears of the work: as much as it asked for, and nothing of anybody else's."""

import warnings
from functools import partial
from typing import Any

import anyio
import pytest
from mcp import Client, types

from holdfast.memory.memory import Memory
from holdfast.service.mcp.server import One, server
from tests.service.mcp.driving import ANN, Driver


def heard(memory: Memory, script: Any, mode: str) -> list[types.LoggingMessageNotificationParams]:
    """What a client hears while a script runs."""
    told: list[types.LoggingMessageNotificationParams] = []

    async def hear(params: types.LoggingMessageNotificationParams) -> None:
        told.append(params)

    async def running() -> None:
        made = server(memory, One(ANN))
        async with Client(made, mode=mode, logging_callback=hear) as client:
            await script(Driver(client))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # That later versions of the protocol have no setLevel.
        anyio.run(running)
    return told


async def _works(mcp: Driver, **more: Any) -> None:
    await mcp.client.call_tool("remember", {"text": "swordfish"}, **more)
    await mcp.client.call_tool("recall", {"query": ""}, **more)


async def _works_at(level: types.LoggingLevel, mcp: Driver) -> None:
    assert mcp.client.server_capabilities.logging is not None
    await mcp.client.set_logging_level(level)
    await _works(mcp)


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        ("debug", ["debug", "warning"]),
        ("info", ["warning"]),
        ("warning", ["warning"]),
        ("error", []),
        ("emergency", []),
    ],
)
def test_a_connection_hears_from_its_level_on(
    memory: Memory, level: types.LoggingLevel, expected: list[str]
) -> None:
    told = heard(memory, partial(_works_at, level), "legacy")
    assert [each.level for each in told] == expected
    for each in told:
        assert each.logger == "holdfast"
        assert {"tool", "ms"} <= set(each.data)
        assert "swordfish" not in repr(each.data)


def test_who_said_nothing_hears_what_is_amiss(memory: Memory) -> None:
    (only,) = heard(memory, _works, "legacy")
    assert (only.level, only.data["tool"]) == ("warning", "recall")
    assert "query" in only.data["error"]


def test_since_2026_each_request_says_what_it_wants_to_hear(memory: Memory) -> None:
    name = "io.modelcontextprotocol/logLevel"
    assert heard(memory, _works, "auto") == []
    told = heard(memory, partial(_works, meta={name: "debug"}), "auto")
    assert [each.level for each in told] == ["debug", "warning"]
    told = heard(memory, partial(_works, meta={name: "error"}), "auto")
    assert told == []
