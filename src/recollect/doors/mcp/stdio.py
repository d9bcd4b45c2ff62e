"""MCP over stdin and stdout, for a client that starts this process. Nothing else may write there.

Whoever starts the process is who asks: there is no key, and one user. It ends when stdin does, or
with SIGTERM or Ctrl-C.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import Any, cast

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.stdio import stdio_server

from recollect.doors.mcp.asker import Asker
from recollect.doors.mcp.server import One, server
from recollect.doors.mcp.tools import ALL

__all__ = ["ALL", "run"]

log = logging.getLogger("recollect.mcp")

_STDIN = 0
_READ_BYTES = 1 << 16


def run(memory: Any, who: Asker, *, most_bytes: int) -> None:
    """Answer until there is nobody left to ask; no message may be longer than `most_bytes`."""
    # What it logs may hold what was sent.
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
    with suppress(KeyboardInterrupt):
        anyio.run(_serve, memory, who, most_bytes)


async def _serve(memory: Any, who: Asker, most_bytes: int) -> None:
    made = server(memory, One(who))
    async with anyio.create_task_group() as group:
        group.start_soon(_end_on_signal, group.cancel_scope)
        lines = cast("anyio.AsyncFile[str]", _Lines(most_bytes))
        async with stdio_server(stdin=lines) as (reading, writing):
            await made.run(reading, writing, made.create_initialization_options())
        group.cancel_scope.cancel()


async def _end_on_signal(scope: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            scope.cancel()


class _Lines:
    """The lines of stdin, read by a thread that nobody has to wait for at the end."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        # What is started from here on finds an empty stdin, not the protocol.
        self._wire = os.dup(_STDIN)
        empty = os.open(os.devnull, os.O_RDONLY)
        os.dup2(empty, _STDIN)
        os.close(empty)

    def __aiter__(self) -> AsyncIterator[str]:
        return self._lines()

    async def _lines(self) -> AsyncIterator[str]:
        sending, receiving = anyio.create_memory_object_stream[str](0)
        loop = asyncio.get_running_loop()
        arguments = self._wire, self._most, sending, loop
        threading.Thread(target=_read, args=arguments, name="recollect-stdin", daemon=True).start()
        async for line in _closing(receiving):
            yield line


async def _closing(stream: MemoryObjectReceiveStream[str]) -> AsyncIterator[str]:
    async with stream:
        async for line in stream:
            yield line


def _read(
    wire: int, most: int, sending: MemoryObjectSendStream[str], loop: asyncio.AbstractEventLoop
) -> None:
    with suppress(RuntimeError, OSError):  # The loop is closed: we are done.
        for line in _split(wire, most):
            text = line.decode("utf-8", "replace")
            asyncio.run_coroutine_threadsafe(sending.send(text), loop).result()
        loop.call_soon_threadsafe(sending.close)


def _split(wire: int, most: int) -> Iterator[bytes]:
    rest = b""
    while read := os.read(wire, _READ_BYTES):
        *lines, rest = (rest + read).split(b"\n")
        for line in lines:
            if line.strip():
                yield line
        if len(rest) > most:
            # Who sent it waits for an answer that has no id to go by: hanging up tells them.
            log.error("a message is over the limit of %d bytes", most)
            return
