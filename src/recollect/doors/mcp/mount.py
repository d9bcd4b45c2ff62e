"""Puts /mcp into the HTTP service, where the extra `mcp` is installed.

Loading the protocol takes about a second, which a service that nobody asks for it need not wait
for: it is loaded with the first request.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from importlib.util import find_spec
from typing import TYPE_CHECKING

import anyio
from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from recollect.doors.http.faults import fault
from recollect.memory import Memory

if TYPE_CHECKING:
    from recollect.doors.mcp.http import McpDoor

PATH = "/mcp"
METHODS = ("GET", "POST", "DELETE")


def mount(app: FastAPI, memory: Memory) -> None:
    """Give the service its route; without the extra there is none."""
    app.state.mcp = None
    if find_spec("mcp") is None:
        return
    app.state.mcp = door = _Door(memory)
    app.router.routes.append(
        Route(PATH, door, methods=[*METHODS], name="mcp", include_in_schema=False)
    )
    app.state.on_stop.append(door.close)


def running(app: FastAPI) -> AbstractAsyncContextManager[None]:
    """For the lifespan of the service: while this is entered, /mcp answers."""
    return nullcontext() if app.state.mcp is None else app.state.mcp.running()


class _Door:
    """The ASGI application of /mcp, of which there is nothing yet before it is asked."""

    path = PATH

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._door: McpDoor | None = None
        self._wanted: anyio.Event | None = None
        self._ready = anyio.Event()
        if memory.config.mcp.tools:  # A name that is wrong is told at the start.
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
        await self._ready.wait()
        assert self._door is not None
        await self._door(scope, receive, send)

    async def _run(self, wanted: anyio.Event) -> None:
        await wanted.wait()
        if self._door is None:
            self._door = await run_in_threadpool(self._loaded)
        async with self._door.running():
            self._ready.set()
            await anyio.sleep_forever()

    def _loaded(self) -> McpDoor:
        from recollect.doors.mcp.http import McpDoor  # noqa: PLC0415

        return McpDoor(self._memory)
