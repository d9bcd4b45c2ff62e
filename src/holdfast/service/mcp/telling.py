"""What a client is told of the work, if it wants to hear: `notifications/message`.

Until 2025-11-25 a connection says once from which level on (`logging/setLevel`), since 2026-07-28
each request for itself. Told is which tool was called, how long it took, and what it could not do:
nothing that the answer to the same client does not say.
"""

from __future__ import annotations

from collections import OrderedDict
from contextlib import suppress
from typing import Any, get_args

import anyio
from mcp import types
from mcp.server.connection import allowed_log_levels
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from holdfast.service.mcp.changes import Context, connection

_LOGGER = "holdfast"
#: From the least to the gravest, as the protocol lists them.
_LEVELS: tuple[types.LoggingLevel, ...] = get_args(types.LoggingLevel)
#: What a connection hears that has said nothing.
_UNASKED: types.LoggingLevel = "warning"
_MOST_CONNECTIONS = 1024


class Telling:
    """The levels of all connections. Lives on one event loop."""

    def __init__(self) -> None:
        self._levels: OrderedDict[str, types.LoggingLevel] = OrderedDict()

    async def set_level(
        self, ctx: Context, params: types.SetLevelRequestParams
    ) -> types.EmptyResult:
        """From which level on this connection is told."""
        self._levels[connection(ctx)] = params.level
        self._levels.move_to_end(connection(ctx))
        while len(self._levels) > _MOST_CONNECTIONS:
            self._levels.popitem(last=False)
        return types.EmptyResult()

    async def called(
        self, ctx: Context, tool: str, answer: types.CallToolResult, seconds: float
    ) -> None:
        """Tell that a tool was called, before its answer goes out."""
        told: dict[str, Any] = {"tool": tool, "ms": round(1000 * seconds, 1)}
        level: types.LoggingLevel = "debug"
        held = answer.structured_content or {}
        if amiss := {name: held[name] for name in ("degraded", "warnings") if held.get(name)}:
            level, told = "warning", {**told, **amiss}
        if answer.is_error:
            level = "warning"
            told["error"] = "".join(e.text for e in answer.content if e.type == "text")
        if self._is_heard(ctx, level):
            await _send(ctx, level, told)

    def _is_heard(self, ctx: Context, level: types.LoggingLevel) -> bool:
        least = self._levels.get(connection(ctx), _UNASKED)
        is_asked = _LEVELS.index(level) >= _LEVELS.index(least)
        is_new = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        return level in allowed_log_levels(ctx.protocol_version, ctx.meta) and (is_new or is_asked)


async def _send(ctx: Context, level: types.LoggingLevel, told: Any) -> None:
    params = types.LoggingMessageNotificationParams(level=level, logger=_LOGGER, data=told)
    note = types.LoggingMessageNotification(params=params)
    # Whoever has hung up needs no message.
    with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, MCPError):
        await ctx.session.send_notification(note, related_request_id=ctx.request_id)
