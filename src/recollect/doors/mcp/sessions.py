"""How many sessions each key has: the SDK counts those of all keys together.

A session is seen to begin by the answer that names it, and to end by DELETE, by a 404, or after as
long a rest as the SDK gives it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from fastapi import HTTPException
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_NAME = "mcp-session-id"
_RETRY_SECONDS = "60"


@dataclass(slots=True)
class _Session:
    key: str
    rested: float
    under_way: int = 0


class Sessions:
    """The sessions of all keys. On the event loop alone, so without locks."""

    def __init__(
        self, most: int, idle_seconds: float, *, timer: Callable[[], float] = time.monotonic
    ) -> None:
        self._most = most
        self._idle_seconds = idle_seconds
        self._timer = timer
        self._open: dict[str, _Session] = {}
        self._opening: Counter[str] = Counter()

    def check(self, key: str) -> None:
        """Refuse a key that has as many as it may."""
        now = self._timer()
        for id, each in list(self._open.items()):
            if not each.under_way and now - each.rested > self._idle_seconds:
                del self._open[id]
        many = sum(each.key == key for each in self._open.values()) + self._opening[key]
        if many >= self._most:
            words = f"this key has {self._most} sessions, which is the limit: end one (DELETE)"
            raise HTTPException(429, words, headers={"retry-after": _RETRY_SECONDS})

    async def opening(
        self, app: ASGIApp, key: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Pass on a request that names no session, and see whether it gets one."""
        given: str | None = None

        async def seeing(message: Message) -> None:
            nonlocal given
            if message["type"] == "http.response.start" and message["status"] < 400:
                given = Headers(raw=list(message.get("headers", ()))).get(_NAME)
            await send(message)

        self._opening[key] += 1
        try:
            await app(scope, receive, seeing)
        finally:
            self._opening[key] -= 1
            if not self._opening[key]:
                del self._opening[key]
            if given is not None:
                self._open[given] = _Session(key, self._timer())

    async def using(
        self, app: ASGIApp, key: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Pass on a request that names a session, and see whether it ends."""
        id = Headers(scope=scope)[_NAME]
        session = self._open.get(id)
        if session is None or session.key != key:
            await app(scope, receive, send)
            return

        async def seeing(message: Message) -> None:
            if message["type"] == "http.response.start":
                ended = scope["method"] == "DELETE" and message["status"] < 400
                if ended or message["status"] == 404:
                    self._open.pop(id, None)
            await send(message)

        session.under_way += 1
        try:
            await app(scope, receive, seeing)
        finally:
            session.under_way -= 1
            session.rested = self._timer()


def is_named(scope: Scope) -> bool:
    """Whether a request names a session."""
    return _NAME in Headers(scope=scope)
