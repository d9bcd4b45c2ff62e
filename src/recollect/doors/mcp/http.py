"""MCP over HTTP: one route, /mcp, behind the same guard and the same limits as all others.

The key gives workspace, user, role and tools; `X-Recollect-User` and `X-Recollect-Agent` narrow
it. A session belongs to the key that opened it.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

import anyio
from fastapi import HTTPException
from mcp import types
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recollect.doors.http.auditing import audited
from recollect.doors.http.auth import key_of
from recollect.doors.http.faults import fault, fault_of
from recollect.doors.http.strict import parsed
from recollect.doors.mcp.asker import Asker, allowed, both
from recollect.doors.mcp.server import Context, Gate, server
from recollect.doors.mcp.tools import ALL
from recollect.errors import RecollectError
from recollect.memory import Memory
from recollect.types import ApiKey
from recollect.write import validate

USER = "x-recollect-user"
AGENT = "x-recollect-agent"

_IDLE_SECONDS = 15 * 60.0
_MOST_SESSIONS = 1000
_TOO_MANY = -32000


class McpDoor:
    """The ASGI application of /mcp. It answers while it is `running`."""

    def __init__(self, memory: Memory) -> None:
        names = memory.config.mcp.tools.split(",")
        self._memory = memory
        self._server = server(memory, _KeyGate(allowed(names, ALL, "mcp.tools")))
        self._manager: StreamableHTTPSessionManager | None = None
        #: Streams that last until somebody ends them.
        self._streams: set[anyio.CancelScope] = set()
        # What it logs may hold what was sent: the guard and the server say what is to be said.
        for name in ("mcp", "sse_starlette"):
            logging.getLogger(name).setLevel(logging.CRITICAL)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """For the lifespan of the application."""
        self._manager = StreamableHTTPSessionManager(
            self._server,
            max_request_body_size=self._memory.config.limits.body_bytes + 1,
            session_idle_timeout=_IDLE_SECONDS,
            max_sessions=_MOST_SESSIONS,
        )
        async with self._manager.run():
            yield
        self._manager = None

    def close(self) -> None:
        """End what would last: called in the moment of the signal to stop."""
        for each in list(self._streams):
            each.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            key = key_of(request)
            _check_scope(key, request)
            body = await request.body()
            sent = None
            if request.method == "POST":
                limits = self._memory.config.service
                sent = await run_in_threadpool(parsed, body, limits)
        except RecollectError as error:
            await fault_of(error)(scope, receive, send)
            return
        # What the key opened nobody else may use, whoever learns its id.
        scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=key.id, scopes=[]))
        lasts = request.method == "GET" or (
            isinstance(sent, dict) and sent.get("method") == "subscriptions/listen"
        )
        if self._manager is None:
            await fault(503, "the service is starting or stopping")(scope, receive, send)
        elif lasts:
            await self._lasting(self._manager.handle_request, scope, _again(body, receive), send)
        else:
            await self._manager.handle_request(scope, _again(body, receive), send)

    async def _lasting(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        is_open = False

        async def sending(message: Message) -> None:
            nonlocal is_open
            await send(message)
            is_open = message.get("more_body", message["type"] == "http.response.start")

        with anyio.CancelScope() as stream:
            self._streams.add(stream)
            try:
                await app(scope, receive, sending)
            finally:
                self._streams.discard(stream)
        if stream.cancelled_caught and is_open:
            await send({"type": "http.response.body", "body": b"", "more_body": False})


class _KeyGate(Gate):
    """Who asks is said by the key of the request."""

    def __init__(self, tools: frozenset[str] | None) -> None:
        self._tools = tools

    def asker(self, ctx: Context) -> Asker:
        request = _request(ctx)
        key = key_of(request)
        given: Collection[str] | None = key.tools
        user = key.user or _word(request, USER)
        return Asker(
            workspace=key.workspace,
            user=user,
            agent=_word(request, AGENT),
            role=key.role,
            tools=both(self._tools, given),
            names_user=user is None,
        )

    def admit(self, ctx: Context) -> None:
        try:
            _request(ctx).app.state.backlog.check()
        except HTTPException as error:
            raise MCPError(_TOO_MANY, error.detail) from None

    def note(self, ctx: Context, action: str, subject: str | None, user: str | None) -> None:
        request = _request(ctx)
        audited(request, key_of(request), action, subject, user=user)


def _request(ctx: Context) -> Request:
    request = ctx.request
    if not isinstance(request, Request):
        raise MCPError(types.INTERNAL_ERROR, "there is no request here")
    return request


def _check_scope(key: ApiKey, request: Request) -> None:
    """Refuse headers that would widen what the key opens."""
    user = _word(request, USER)
    _word(request, AGENT)
    if key.user is not None and user not in (None, key.user):
        raise HTTPException(403, "user_id is not the user of this key")


def _word(request: Request, name: str) -> str | None:
    sent = request.headers.get(name)
    if sent is None:
        return None
    # Header values are bytes: what is no ASCII was sent as UTF-8.
    return validate.word(sent.encode("latin-1").decode("utf-8", "replace"), name)


def _again(body: bytes, receive: Receive) -> Receive:
    """The body once more, for who reads it next."""
    is_read = False

    async def reading() -> Message:
        nonlocal is_read
        if is_read:
            return await receive()
        is_read = True
        return {"type": "http.request", "body": body, "more_body": False}

    return reading
