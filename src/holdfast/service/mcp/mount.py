"""Puts /mcp into the HTTP service, where the extra `mcp` is installed.

Loading the protocol takes about a second, which a service that nobody asks for it need not wait
for: it is loaded with the first request.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from importlib.util import find_spec
from typing import TYPE_CHECKING

import anyio
from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from holdfast.errors import HoldfastError
from holdfast.memory.memory import Memory
from holdfast.service.http.errors import fault

if TYPE_CHECKING:
    from holdfast.service.mcp.http import McpDoor

log = logging.getLogger("holdfast.mcp")

PATH = "/mcp"
METHODS = ("GET", "POST", "DELETE")


def mount(app: FastAPI, memory: Memory) -> None:
    """Give the service its route; without the extra it says what is missing."""
    app.state.mcp = None
    door: _LazyMcpApp | _Absent = _Absent() if find_spec("mcp") is None else _LazyMcpApp(memory)
    app.router.routes.append(
        Route(PATH, door, methods=[*METHODS], name="mcp", include_in_schema=False)
    )
    if isinstance(door, _LazyMcpApp):
        app.state.mcp = door
        app.state.on_stop.append(door.close)


def running(app: FastAPI) -> AbstractAsyncContextManager[None]:
    """For the lifespan of the service: while this is entered, /mcp answers."""
    return nullcontext() if app.state.mcp is None else app.state.mcp.running()


class _Absent:
    """What stands at /mcp where the package is not installed."""

    path = PATH

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["route"] = self
        words = "MCP needs the package mcp: install the extra [mcp] and restart"
        await fault(404, words)(scope, receive, send)


class _LazyMcpApp:
    """The ASGI application of /mcp, of which there is nothing yet before it is asked."""

    path = PATH

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._door: McpDoor | None = None
        self._wanted: anyio.Event | None = None
        self._ready = anyio.Event()
        settings = memory.config.mcp
        if settings.tools or settings.agent_tools:  # A name that is wrong is told at the start.
            self._door = self._loaded()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """For the lifespan of the application."""
        self._wanted, self._ready = anyio.Event(), anyio.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._run, self._wanted)
            try:
                yield
            finally:
                self._wanted = None
                self._ready.set()  # Who still waits is told that it is over.
                tasks.cancel_scope.cancel()

    def close(self) -> None:
        """End what would last: called in the moment of the signal to stop."""
        if self._door is not None:
            self._door.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["route"] = self  # By its path it is logged and counted.
        if self._wanted is None:
            await fault(503, "the service is starting or stopping")(scope, receive, send)
            return
        self._wanted.set()
        ready = self._ready
        await ready.wait()
        if not self._is_open():
            await fault(503, "MCP cannot be spoken here just now")(scope, receive, send)
            return
        assert self._door is not None
        await self._door(scope, receive, send)

    def _is_open(self) -> bool:
        return self._wanted is not None and self._door is not None

    async def _run(self, wanted: anyio.Event) -> None:
        await wanted.wait()
        try:
            door = await run_in_threadpool(self._loaded)
        except (ImportError, HoldfastError) as error:
            log.error("MCP cannot be spoken: %s", type(error).__name__)
            self._ready.set()
            return
        self._door = door
        async with door.running():
            self._ready.set()
            await anyio.sleep_forever()

    def _loaded(self) -> McpDoor:
        if self._door is not None:
            return self._door
        from holdfast.service.mcp.http import McpDoor  # noqa: PLC0415

        return McpDoor(self._memory)
