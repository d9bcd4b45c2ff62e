"""MCP over stdin and stdout, for a client that starts this process. Nothing else may write there.

Whoever starts the process is who asks: there is no key, and one user. It ends when stdin does, or
with SIGTERM or Ctrl-C.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import AsyncIterator
from concurrent.futures import CancelledError, Future, wait
from contextlib import suppress
from typing import Any, cast

import anyio
from anyio.to_thread import run_sync
from mcp import types
from mcp.server.stdio import stdio_server

from holdfast.service.mcp.asker import Asker
from holdfast.service.mcp.server import One, server
from holdfast.service.mcp.tools import ALL
from holdfast.service.mcp.wire import Wire

__all__ = ["ALL", "run"]


def run(opened: Future[Any], who: Asker, wire: Wire) -> None:
    """Answer until there is nobody left to ask, with a memory that may still be on its way; or
    until it is known that it will not come."""
    # What it logs may hold what was sent.
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
    with suppress(KeyboardInterrupt):
        anyio.run(_serve, opened, who, wire)


class _Later:
    """A memory that is being opened: who asks it something waits for that."""

    def __init__(self, opened: Future[Any]) -> None:
        self._opened = opened

    def __getattr__(self, name: str) -> Any:
        return getattr(self._opened.result(), name)


async def _serve(opened: Future[Any], who: Asker, wire: Wire) -> None:
    made = server(_Later(opened), One(who))
    async with anyio.create_task_group() as group:
        group.start_soon(_end_on_signal, group.cancel_scope)
        group.start_soon(_end_on_error, opened, group.cancel_scope)
        lines = cast("anyio.AsyncFile[str]", _WireLines(wire))
        async with stdio_server(stdin=lines) as (reading, writing):
            await made.run(reading, _Once(writing, wire), made.create_initialization_options())
        group.cancel_scope.cancel()


async def _end_on_signal(scope: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            scope.cancel()


async def _end_on_error(opened: Future[Any], scope: anyio.CancelScope) -> None:
    await run_sync(wait, [opened], abandon_on_cancel=True)
    if opened.exception() is not None:
        scope.cancel()


class _Once:
    """A stream of answers without the one that was told before."""

    def __init__(self, stream: Any, wire: Wire) -> None:
        self._stream = stream
        self._wire = wire

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def __aenter__(self) -> Any:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> Any:
        return await self._stream.__aexit__(*error)

    async def send(self, message: Any) -> None:
        answer = message.message
        if isinstance(answer, types.JSONRPCResponse) and answer.id == self._wire.greeted:
            self._wire.greeted = None
            return
        await self._stream.send(message)


#: What handing on a line raises when nobody takes lines any more: we are done.
_ENDED = (RuntimeError, CancelledError, anyio.BrokenResourceError, anyio.ClosedResourceError)


class _WireLines:
    """The lines of a wire, for who reads them as those of a file."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def __aiter__(self) -> AsyncIterator[str]:
        sending, receiving = anyio.create_memory_object_stream[str](0)
        loop = asyncio.get_running_loop()

        def take(line: str | None) -> None:
            with suppress(*_ENDED):
                if line is None:
                    loop.call_soon_threadsafe(sending.close)
                else:
                    asyncio.run_coroutine_threadsafe(sending.send(line), loop).result()

        self._wire.each(take)
        async with sending, receiving:
            async for line in receiving:
                yield line
