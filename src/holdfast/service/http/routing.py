"""Which of several processes answers a request, and how a connection comes to it.

Whoever takes a connection looks at the first request: whose memory is meant. An owner belongs to
one process, by a hash of the workspace and the user, so that an index is built once; what belongs
to nobody in particular, to that of the workspace. A session of MCP lives in the process that opened
it, and its id says which.

Where another process is meant, the connection itself is handed to it (SCM_RIGHTS), with what was
read of it. From then on it is that process's connection, as if it had been taken there: bodies,
answers and streams go no longer way, the address of the client is what it was, and nobody outside
can pretend to be a process. The next request may send it on.

Nothing depends on it that must be right but those sessions: what cannot be handed over (a body in
chunks that alone says whose memory is meant, a process that takes nothing) is answered here.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Coroutine, Iterable
from hashlib import blake2b
from typing import Any
from urllib.parse import parse_qs

import orjson
from fastapi import FastAPI
from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from holdfast.errors import HoldfastError
from holdfast.service.http.guard import key_presented
from holdfast.service.http.processes import Member
from holdfast.types import TEAM, ApiKey

SESSION = "mcp-session-id"
#: Between the SDK's id of a session and the number of the process that has it.
_AT = "-"
_MCP = "/mcp"
_USER = "x-holdfast-user"
#: What is answered by whoever took it.
_ANYWHERE = frozenset({"/", "/health", "/v1/ready", "/v1/sign-in", "/v1/sign-out", "/metrics"})
_ASSETS = "/assets/"
#: The longest message from one process to another.
_MOST_BYTES = 160 * 1024
#: A body that says whose memory is meant is waited for no longer.
_BODY_SECONDS = 1.0
#: Between attempts to hand over to a process that has enough to do.
_PAUSES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
_AT_ONCE = 64
_TOLD_SECONDS = 2.0

#: What a message is: a connection with what was read of it; a question for figures.
_CONNECTION, _FIGURES = b"C", b"F"

Tell = Callable[[], Coroutine[Any, Any, str]]


class Router:
    """Answers what belongs to this process, and hands every other connection to where it belongs.
    On the event loop alone."""

    def __init__(self, app: FastAPI, member: Member) -> None:
        self.member = member
        self._app = app
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = False
        #: What this process says of itself, for /metrics of the service.
        self.tell: Tell | None = None

    async def answer(
        self, connection: H11Protocol, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Answer a request here, or hand its connection over; instead of the application."""
        if scope["type"] != "http" or self._closing or getattr(connection, "handed", b""):
            connection.handed = b""  # type: ignore[attr-defined]
            await self._app(scope, receive, send)
            return
        body = _Body(scope, receive)
        place = await self._place(scope, body)
        if place in (None, self.member.number) or not await self._hand_over(
            connection, scope, body, place
        ):
            await self._app(scope, body.again, send)

    async def _place(self, scope: Scope, body: _Body) -> int | None:
        """The number of the process that should answer; None: any."""
        headers, path = Headers(scope=scope), scope["path"]
        if path in _ANYWHERE or path.startswith(_ASSETS):
            return None
        if path == _MCP and (session := headers.get(SESSION)) is not None:
            return place_of_session(session, self.member.count)
        state = self._app.state
        try:
            key: ApiKey | None = state.operator or await key_presented(state.keyring, headers)
        except HoldfastError:
            return None  # The guard finds out, and says so.
        if key is None:
            return None
        user = key.user or _named(headers, scope)
        if user is None and path == _MCP:
            return place_of(key.workspace, f"\0{key.id}", self.member.count)
        if user is None and path != _MCP:
            user = await body.user()
        return place_of(key.workspace, user or TEAM, self.member.count)

    async def _hand_over(
        self, connection: H11Protocol, scope: Scope, body: _Body, place: int
    ) -> bool:
        """Give a connection to another process; whether that took it."""
        transport, flow = connection.transport, connection.flow
        was_paused = flow.read_paused
        flow.pause_reading()
        for pause in _PAUSES:
            if transport.is_closing() or transport.get_write_buffer_size() or not body.is_plain:
                break
            line = transport.get_extra_info("socket")
            read = [body.read, bytes(connection.cycle.body), connection.conn.trailing_data[0]]
            message = b"".join([_CONNECTION, _head(scope), *read])
            try:
                socket.send_fds(self.member.gives[place], [message], [line.fileno()])
            except BlockingIOError:
                await asyncio.sleep(pause)
                continue
            except OSError:  # It is too long.
                break
            connection.cycle.disconnected = True  # What is sent to it from here goes nowhere.
            transport.abort()
            return True
        if not was_paused:
            flow.resume_reading()
        return False

    # What others hand to this process

    def open(self, connect: Callable[[bytes], asyncio.Protocol]) -> None:
        """Begin to take what is handed to this process; `connect` makes a connection of it."""
        self._connect = connect
        assert self.member.takes is not None
        asyncio.get_running_loop().add_reader(self.member.takes.fileno(), self._take)

    def stop(self) -> None:
        """Hand nothing over any more; for a signal, too."""
        self._closing = True

    def close(self) -> None:
        """Take nothing more."""
        assert self.member.takes is not None
        self._take()
        asyncio.get_running_loop().remove_reader(self.member.takes.fileno())

    def _take(self) -> None:
        assert self.member.takes is not None
        for _ in range(_AT_ONCE):
            try:
                message, lines, _, _ = socket.recv_fds(self.member.takes, _MOST_BYTES, 1)
            except BlockingIOError:
                return
            for number in lines:
                line = socket.socket(fileno=number)
                line.setblocking(False)
                task = asyncio.get_running_loop().create_task(self._adopt(message, line))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def _adopt(self, message: bytes, line: socket.socket) -> None:
        loop, (kind, read) = asyncio.get_running_loop(), (message[:1], message[1:])
        with contextlib.suppress(OSError):  # It has hung up meanwhile.
            if kind == _CONNECTION:
                await loop.connect_accepted_socket(lambda: self._connect(read), line)
            elif kind == _FIGURES and self.tell is not None:
                with line:
                    await loop.sock_sendall(line, (await self.tell()).encode())

    # What the processes tell each other of themselves

    async def figures(self) -> list[str]:
        """What each process says of itself, without those that do not answer in time."""
        assert self.tell is not None
        others = [each for each in range(self.member.count) if each != self.member.number]
        told = await asyncio.gather(*(self._figures_of(each) for each in others))
        told.insert(self.member.number, await self.tell())
        return [each for each in told if each]

    async def _figures_of(self, number: int) -> str:
        loop, parts = asyncio.get_running_loop(), list[bytes]()
        ours, theirs = socket.socketpair()
        with ours, contextlib.suppress(OSError, TimeoutError):
            ours.setblocking(False)
            with theirs:
                socket.send_fds(self.member.gives[number], [_FIGURES], [theirs.fileno()])
            async with asyncio.timeout(_TOLD_SECONDS):
                while part := await loop.sock_recv(ours, 1 << 16):
                    parts.append(part)
            return b"".join(parts).decode()
        return ""


class _Body:
    """The body of a request, of which something may be read before it is answered."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        headers = Headers(scope=scope)
        self._receive = receive
        self._messages: list[Message] = []
        self._length = headers.get("content-length", "0")
        #: Whether it can be read on elsewhere.
        self.is_plain = "transfer-encoding" not in headers

    @property
    def read(self) -> bytes:
        """What was read so far."""
        return b"".join(message.get("body", b"") for message in self._messages)

    async def user(self) -> str | None:
        """The user whom it names."""
        if not self.is_plain or not 0 < int(self._length) <= _MOST_BYTES // 2:
            return None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_BODY_SECONDS):
                while not self._messages or self._messages[-1].get("more_body", False):
                    self._messages.append(await self._receive())
        try:
            sent = orjson.loads(self.read)
        except orjson.JSONDecodeError:
            return None
        user = sent.get("user_id") if isinstance(sent, dict) else None
        return user if isinstance(user, str) else None

    async def again(self) -> Message:
        """What was read, once more, and then the rest."""
        return self._messages.pop(0) if self._messages else await self._receive()


def place_of(workspace: str, user: str, count: int) -> int:
    """The number of the process that an owner belongs to."""
    whose = f"{workspace}\0{user}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(whose, digest_size=8).digest()) % count


def session_at(session: str, number: int) -> str:
    """The id of a session as its client knows it."""
    return f"{session}{_AT}{number}"


def place_of_session(session: str, count: int) -> int | None:
    """The number of the process that has a session; None if its id is none of ours."""
    _, _, number = session.rpartition(_AT)
    known = number.isascii() and number.isdecimal() and len(number) <= 2 and int(number) < count
    return int(number) if known else None


def _named(headers: Headers, scope: Scope) -> str | None:
    """The user whom the head of a request names."""
    if (user := headers.get(_USER)) is not None:
        return user.encode("latin-1").decode("utf-8", "replace")
    named = parse_qs(scope["query_string"].decode("latin-1")).get("user_id")
    return named[0] if named else None


def _head(scope: Scope) -> bytes:
    """The head of a request, as it was sent. (Who waits to be told to go on was told.)"""
    target = scope["raw_path"] + (b"?" + scope["query_string"] if scope["query_string"] else b"")
    first = b"%s %s HTTP/%s" % (
        scope["method"].encode(), target, scope["http_version"].encode(),
    )  # fmt: skip
    lines: Iterable[bytes] = (b"%s: %s" % pair for pair in scope["headers"] if pair[0] != b"expect")
    return b"\r\n".join([first, *lines, b"", b""])
