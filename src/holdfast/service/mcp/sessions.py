"""How many sessions each key has: the SDK counts those of all keys together, and refuses one more.

Most clients go away without a word, so a session is no sign of one: where there is no room for
another, the one that has rested longest makes it. Its client, if there is one, is told 404 and
opens another, as the protocol has it.

A session is seen to begin by the answer that names it, and to end by DELETE, by a 404, or after as
long a rest as the SDK gives it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

import anyio
from fastapi import HTTPException
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_NAME = "mcp-session-id"
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
            await _answered(app, scope, receive, send, starting)
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
            await _answered(app, scope, receive, send)
            return

        def starting(message: Message) -> None:
            ended = scope["method"] == "DELETE" and message["status"] < 400
            if ended or message["status"] == 404:
                self._open.pop(id, None)

        session.under_way += 1
        try:
            await _answered(app, scope, receive, send, starting)
        finally:
            self._rest(session)

    def _rest(self, session: _Session) -> None:
        session.under_way -= 1
        session.rested = self._timer()


async def _answered(
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
