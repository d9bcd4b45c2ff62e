"""MCP over HTTP: one route, /mcp, behind the same guard and the same limits as all others.

The key gives workspace, user, role and tools; `X-Holdfast-User` and `X-Holdfast-Agent` narrow
it. A session belongs to the key that opened it, and a key has so many of them, and of streams.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Iterator
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial

import anyio
from fastapi import HTTPException
from mcp import types
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holdfast.border import validate
from holdfast.errors import HoldfastError
from holdfast.memory.memory import Memory
from holdfast.service.http.audit import note_action
from holdfast.service.http.auth import check_within, header_text, key_of
from holdfast.service.http.errors import fault, fault_of
from holdfast.service.http.guard import key_presented
from holdfast.service.http.limits import ConcurrencyLimit
from holdfast.service.http.processes import Member
from holdfast.service.http.routing import SESSION, session_at
from holdfast.service.http.wire import parse_json
from holdfast.service.mcp.asker import Asker, allow_list, allow_lists, intersection, of_agent
from holdfast.service.mcp.server import Changes, Context, Gate, Owner, server
from holdfast.service.mcp.tool import GRAPH, INSTRUCTIONS, NOTES, PROFILE
from holdfast.service.mcp.tools import ALL
from holdfast.service.webhooks import microseconds, news_after
from holdfast.settings import Mcp
from holdfast.store.values import Happened, Mark
from holdfast.types import ApiKey
from holdfast.types import Scope as Owned

# ----------------------------------------------------------------------
# How many sessions each key has: the SDK counts those of all keys together, and refuses one more.
#
# Most clients go away without a word, so a session is no sign of one: where there is no room for
# another, the one that has rested longest makes it. Its client, if there is one, is told 404 and
# opens another, as the protocol has it.
#
# A session is seen to begin by the answer that names it, and to end by DELETE, by a 404, or after
# as long a rest as the SDK gives it.
# ----------------------------------------------------------------------

_NAME = SESSION
_RETRY_SECONDS = "60"
_GONE = {
    "jsonrpc": "2.0",
    "id": None,
    "error": {"code": -32600, "message": "Session not found"},
}

#: Ends a session, by its id and the key that it belongs to.
End = Callable[[str, str], Awaitable[None]]


@dataclass(slots=True)
class _Session:
    key: str
    rested: float
    under_way: int = 0


class Sessions:
    """The sessions of all keys. On the event loop alone, so without locks."""

    def __init__(
        self,
        most_of_key: int,
        most: int,
        idle_seconds: float,
        end: End,
        *,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most_of_key = most_of_key
        self._most = most
        self._idle_seconds = idle_seconds
        self._end = end
        self._timer = timer
        self._open: dict[str, _Session] = {}
        self._opening: Counter[str] = Counter()

    async def opening(
        self, app: ASGIApp, key: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Pass on a request for a session, where there is room for it or can be made."""
        given: str | None = None
        self._opening[key] += 1

        def starting(message: Message) -> None:
            nonlocal given
            if message["status"] < 400:
                given = Headers(raw=list(message.get("headers", ()))).get(_NAME)
            if given is not None:
                # From here on its client may use it, and end it.
                self._open[given] = _Session(key, self._timer(), under_way=1)
                self._opening[key] -= 1

        try:
            await self._make_room(key)
            await _pass_on(app, scope, receive, send, starting)
        finally:
            if given is None:
                self._opening[key] -= 1
            elif given in self._open:
                self._rest(self._open[given])
            self._opening += Counter()  # Keys that open nothing are not kept.

    async def _make_room(self, key: str) -> None:
        """See that a key may have what it opens; refuse if all that could make room are in use."""
        now = self._timer()
        for id, each in list(self._open.items()):
            if not each.under_way and now - each.rested > self._idle_seconds:
                del self._open[id]
        while sum(each.key == key for each in self._open.values()) + self._opening[key] > (
            self._most_of_key
        ):
            await self._put_aside([id for id, each in self._open.items() if each.key == key])
        while len(self._open) + self._opening.total() > self._most:
            await self._put_aside([*self._open])

    async def _put_aside(self, among: list[str]) -> None:
        """End the session that has rested longest."""
        resting = [id for id in among if not self._open[id].under_way]
        if not resting:
            words = f"{len(among)} sessions are in use, which is the limit: end one (DELETE)"
            raise HTTPException(429, words, headers={"retry-after": _RETRY_SECONDS})
        longest = min(resting, key=lambda id: self._open[id].rested)
        await self._end(longest, self._open.pop(longest).key)

    async def using(
        self, app: ASGIApp, key: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Pass on any other request, and see whether the session ends that it names."""
        id = Headers(scope=scope).get(_NAME, "")
        session = self._open.get(id)
        if session is None or session.key != key:
            await _pass_on(app, scope, receive, send)
            return

        def starting(message: Message) -> None:
            ended = scope["method"] == "DELETE" and message["status"] < 400
            if ended or message["status"] == 404:
                self._open.pop(id, None)

        session.under_way += 1
        try:
            await _pass_on(app, scope, receive, send, starting)
        finally:
            self._rest(session)

    def _rest(self, session: _Session) -> None:
        session.under_way -= 1
        session.rested = self._timer()


async def _pass_on(
    app: ASGIApp,
    scope: Scope,
    receive: Receive,
    send: Send,
    starting: Callable[[Message], None] = lambda message: None,
) -> None:
    """Pass a request on and see that it has one whole answer, also if its session ends meanwhile:
    the SDK then gives none, half of one, or a 500 after another."""
    is_open: bool | None = None

    async def sending(message: Message) -> None:
        nonlocal is_open
        if message["type"] == "http.response.start":
            if is_open is not None:
                is_open = False  # A second answer, of which nobody hears.
                return
            starting(message)
            is_open = True
        if is_open:
            is_open = message["type"] != "http.response.body" or message.get("more_body", False)
            await send(message)

    with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
        await app(scope, receive, sending)
    if is_open:
        await send({"type": "http.response.body", "body": b"", "more_body": False})
    if is_open is None:
        await JSONResponse(_GONE, 404)(scope, receive, sending)


def is_named(scope: Scope) -> bool:
    """Whether a request names a session."""
    return _NAME in Headers(scope=scope)


# ----------------------------------------------------------------------
# Who follows a resource hears of whatever changes it: another process or machine, another route,
# the background work. The feeds of those whom somebody follows are looked at four times a second,
# one tiny read for each, and at once when a tool of this process has written.
# ----------------------------------------------------------------------

_LOOK_SECONDS = 0.25
_AT_ONCE = 1000


class FeedChanges(Changes):
    """Followers who are told of what the store's feeds tell. Lives on one event loop."""

    def __init__(self, memory: Memory) -> None:
        super().__init__()
        self._memory = memory
        #: How far those who are followed were told.
        self._told: dict[Owner, Mark] = {}
        self._wake = anyio.Event()

    async def begin(self, owner: Owner) -> None:
        if owner not in self._told:
            mark = await run_in_threadpool(self._head, owner)
            self._told.setdefault(owner, mark)
        self._wake.set()

    async def touched(self, owner: Owner, uris: Iterable[str]) -> None:
        self._wake.set()

    async def watch(self) -> None:
        """Look at the feeds, as long as the service runs."""
        while True:
            with anyio.move_on_after(_LOOK_SECONDS) if self._told else nullcontext():
                await self._wake.wait()
            self._wake = anyio.Event()
            with suppress(HoldfastError):  # The store is busy: it is looked at again.
                for owner, uris in (await run_in_threadpool(self._news, dict(self._told))).items():
                    await self.publish(owner, uris)
            for owner in self._told.keys() - self.followed:
                del self._told[owner]

    def _head(self, owner: Owner) -> Mark:
        head = self._memory.store.head(Owned(*owner))
        return Mark(head.epoch, head.change, microseconds(self._memory.now()))

    def _news(self, told: dict[Owner, Mark]) -> dict[Owner, list[str]]:
        """Which resources of whom have changed; on a worker thread."""
        news: dict[Owner, list[str]] = {}
        for owner, mark in told.items():
            stand = self._head(owner)
            if (stand.epoch, stand.change) == (mark.epoch, mark.change):
                continue
            _, batch, self._told[owner] = news_after(
                self._memory.store, Owned(*owner), mark, stand, limit=_AT_ONCE
            )
            news[owner] = list(dict.fromkeys(uri for each in batch for uri in _shown_in(each)))
        return news


def _shown_in(happened: Happened) -> Iterator[str]:
    """The resources that something that happened is seen in."""
    if happened.action == "used":
        return
    if happened.kind == "instruction":
        yield INSTRUCTIONS
    if happened.tier in _SHOWN:
        yield _SHOWN[happened.tier]


_SHOWN = {"graph": GRAPH, "note": NOTES, "profile": PROFILE, "fact": PROFILE}


USER = "x-holdfast-user"
AGENT = "x-holdfast-agent"

_IDLE_SECONDS = 15 * 60.0
_MOST_SESSIONS = 1000
_MOST_OF_A_KEY = 32
_KEYS_SECONDS = 1.0
_TOO_MANY = -32000
_SESSION = b"mcp-session-id"


class McpDoor:
    """The ASGI application of /mcp. It answers while it is `running`."""

    def __init__(self, memory: Memory) -> None:
        settings = memory.config.mcp
        self._memory = memory
        self._changes = FeedChanges(memory)
        self._server = server(memory, _KeyGate(settings), self._changes)
        self._manager: StreamableHTTPSessionManager | None = None
        #: Streams that last until somebody ends them.
        self._streams: set[anyio.CancelScope] = set()
        self._places = ConcurrencyLimit(
            _MOST_OF_A_KEY, "this key has {most} streams, which is the limit"
        )
        self._sessions = Sessions(_MOST_OF_A_KEY, _MOST_SESSIONS, _IDLE_SECONDS, self._end)
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
            # They are counted in `Sessions`, where another one makes room.
            max_sessions=None,
        )
        async with self._manager.run(), anyio.create_task_group() as tasks:
            tasks.start_soon(self._changes.watch)
            yield
            tasks.cancel_scope.cancel()
        self._manager = None

    def close(self) -> None:
        """End what would last: called in the moment of the signal to stop."""
        for each in list(self._streams):
            each.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        member: Member | None = scope["app"].state.member
        if member is not None:
            scope, send = _known_here(scope, member.number), _known_outside(send, member.number)
        request = Request(scope, receive)
        lasts = request.method == "GET"
        with self._places.taken(key_of(request).id) if lasts else nullcontext():
            await self._answer(request, send)

    async def _answer(self, request: Request, send: Send) -> None:
        scope, receive = request.scope, request.receive
        try:
            key = key_of(request)
            _check_scope(key, request)
            body = await request.body()
            sent = None
            if request.method == "POST":
                limits = self._memory.config.service
                sent = await run_in_threadpool(parse_json, body, limits)
        except HoldfastError as error:
            await fault_of(error)(scope, receive, send)
            return
        # What the key opened nobody else may use, whoever learns its id.
        scope["user"] = _owner(key.id)
        if self._manager is None:
            await fault(503, "the service is starting or stopping")(scope, receive, send)
            return
        asked = sent.get("method") if isinstance(sent, dict) else None
        opens = asked == "initialize" and not is_named(scope)
        passing = self._sessions.opening if opens else self._sessions.using
        app = partial(passing, self._manager.handle_request, key.id)
        if request.method == "GET" or asked == "subscriptions/listen":
            await self._stream(app, scope, _again(body, receive), send)
        else:
            await app(scope, _again(body, receive), send)

    async def _end(self, session: str, key: str) -> None:
        """End a session as its client would."""
        scope: Scope = {
            "type": "http", "method": "DELETE", "path": "/mcp", "query_string": b"",
            "headers": [(_SESSION, session.encode())], "user": _owner(key),
        }  # fmt: skip
        if self._manager is not None:
            await self._manager.handle_request(scope, _again(b"", _nothing), _unheard)

    async def _stream(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        is_open = False

        async def sending(message: Message) -> None:
            nonlocal is_open
            await send(message)
            is_open = message.get("more_body", message["type"] == "http.response.start")

        with anyio.CancelScope() as stream:
            self._streams.add(stream)
            watching = asyncio.create_task(_watch(Request(scope), stream))
            try:
                await app(scope, receive, sending)
            finally:
                watching.cancel()
                self._streams.discard(stream)
        if stream.cancelled_caught and is_open:
            await send({"type": "http.response.body", "body": b"", "more_body": False})


def _known_here(scope: Scope, number: int) -> Scope:
    """A request that names a session of this process as the SDK does."""
    suffix = session_at("", number).encode()
    named = [(name, value.removesuffix(suffix)) if name == _SESSION else (name, value)
             for name, value in scope["headers"]]  # fmt: skip
    return {**scope, "headers": named}


def _known_outside(send: Send, number: int) -> Send:
    """An answer that names a session as its client knows it, of whichever process."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(raw=list(message.get("headers", ())))
            if (session := headers.get(_NAME)) is not None:
                headers[_NAME] = session_at(session, number)
            message = {**message, "headers": headers.raw}
        await send(message)

    return sending


class _KeyGate(Gate):
    """Who asks is said by the key of the request."""

    def __init__(self, settings: Mcp) -> None:
        self._tools = allow_list(settings.tools.split(","), ALL, "mcp.tools")
        self._by_agent = allow_lists(settings.agent_tools, ALL, "mcp.agentTools")
        self._relays = settings.user_words

    def asker(self, ctx: Context) -> Asker:
        request = _request(ctx)
        key = key_of(request)
        given: Collection[str] | None = key.tools
        user, agent = key.user or _word(request, USER), _word(request, AGENT)
        return Asker(
            workspace=key.workspace,
            user=user,
            agent=agent,
            role=key.role,
            tools=intersection(intersection(self._tools, of_agent(self._by_agent, agent)), given),
            names_user=user is None,
            relays=self._relays,
        )

    def admit(self, ctx: Context) -> None:
        try:
            _request(ctx).app.state.backlog.check()
        except HTTPException as error:
            raise MCPError(_TOO_MANY, error.detail) from None

    def note(self, ctx: Context, action: str, subject: str | None, user: str | None) -> None:
        request = _request(ctx)
        note_action(request, key_of(request), action, subject, user=user)


async def _watch(request: Request, stream: anyio.CancelScope) -> None:
    """End a stream with its key: revoked, rotated, expired."""
    state, key = request.app.state, key_of(request)
    while state.operator is None:
        await asyncio.sleep(_KEYS_SECONDS)
        # The store is busy or closed: it is asked again.
        with suppress(HoldfastError):
            shown = await key_presented(state.keyring, request.headers)
            if shown is None or shown.id != key.id:
                stream.cancel()
                return


def _owner(key: str) -> AuthenticatedUser:
    """A key, as the SDK knows who a session belongs to."""
    return AuthenticatedUser(AccessToken(token="", client_id=key, scopes=[]))


async def _nothing() -> Message:
    return {"type": "http.disconnect"}


async def _unheard(message: Message) -> None:
    """Take an answer that nobody waits for."""


def _request(ctx: Context) -> Request:
    request = ctx.request
    if not isinstance(request, Request):
        raise MCPError(types.INTERNAL_ERROR, "there is no request here")
    return request


def _check_scope(key: ApiKey, request: Request) -> None:
    """Refuse headers that would widen what the key opens."""
    user = _word(request, USER)
    _word(request, AGENT)
    check_within(key, user=user)


def _word(request: Request, name: str) -> str | None:
    sent = header_text(request.headers.get(name), name)
    return None if sent is None else validate.word(sent, name)


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
