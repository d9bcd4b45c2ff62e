"""The guard in front of every route, in this order:

1. A request that a foreign web page sent (Origin) or that came for a foreign name (Host: DNS
   rebinding) is refused, key or not.
2. Everything but GET /health needs a valid key, also paths that do not exist.
3. A body over the limit is cut off while it is read.
4. An error that nobody foresaw becomes a bare 500. Its text may hold somebody's memory: only its
   type and its place are logged.

Every answer carries the same few security headers.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Collection
from datetime import datetime
from ipaddress import ip_address
from urllib.parse import urlsplit

from fastapi import HTTPException
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recollect.doors.auth import secret_of
from recollect.doors.faults import fault, fault_of
from recollect.errors import RecollectError
from recollect.keys import valid_key
from recollect.memory import Memory
from recollect.types import ApiKey

log = logging.getLogger("recollect.http")

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_ANY_ADDRESS = frozenset({"0.0.0.0", "::"})
_HEADERS = {
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
}


class Guard:
    """ASGI middleware around the whole application."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        memory: Memory,
        hosts: Collection[str],
        clock: Callable[[], datetime],
    ) -> None:
        self._app = app
        self._memory = memory
        self._clock = clock
        self._hosts = _LOOPBACK | {host.lower().strip("[]") for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def sending(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        try:
            refusal = await self._refusal(scope)
            if refusal is not None:
                await refusal(scope, receive, sending)
            else:
                limit = self._memory.config.limits.body_bytes
                await self._app(scope, _limited(receive, limit), sending)
        except Exception as error:  # noqa: BLE001 (the outermost door)
            log.error("%s at %s", type(error).__name__, _place(error))
            if not started:
                await fault(500, "something went wrong here")(scope, receive, sending)

    async def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if self._is_foreign(headers):
            return fault(403, "this Host or Origin is not served here")
        if (scope["method"], scope["path"]) != ("GET", "/health"):
            try:
                key = await run_in_threadpool(self._key, secret_of(headers))
            except RecollectError as error:
                return fault_of(error)
            if key is None:
                words = "a valid key is required: Authorization: Bearer <key>"
                return fault(401, words, headers={"www-authenticate": "Bearer"})
            scope["recollect.key"] = key
        announced = headers.get("content-length", "")
        limit = self._memory.config.limits.body_bytes
        if announced.isdecimal() and int(announced[:20]) > limit:
            return fault(413, _too_large(limit), headers={"connection": "close"})
        return None

    def _key(self, secret: str) -> ApiKey | None:
        return valid_key(self._memory.store, secret, now=self._clock()) if secret else None

    def _is_foreign(self, headers: Headers) -> bool:
        if not self._is_ours("//" + headers.get("host", "")):
            return True
        origin = headers.get("origin")
        if origin is None:
            return False
        return not (origin.startswith(("http://", "https://")) and self._is_ours(origin))

    def _is_ours(self, url: str) -> bool:
        try:
            host = urlsplit(url).hostname or ""
        except ValueError:
            return False
        if "@" in url:
            return False
        if host in self._hosts:
            return True
        # Bound to every address, we do not know our names; an address cannot be rebound.
        return bool(self._hosts & _ANY_ADDRESS) and _is_address(host)


def _limited(receive: Receive, limit: int) -> Receive:
    read = 0

    async def counting() -> Message:
        nonlocal read
        message = await receive()
        if message["type"] == "http.request":
            read += len(message.get("body", b""))
            if read > limit:
                raise HTTPException(413, _too_large(limit), headers={"connection": "close"})
        return message

    return counting


def _too_large(limit: int) -> str:
    return f"the body is over the limit of {limit} bytes"


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _place(error: Exception) -> str:
    """The calls that led to an error, innermost last, without a word of what they held."""
    frames = traceback.extract_tb(error.__traceback__)[-6:]
    return " > ".join(f"{frame.filename}:{frame.lineno}" for frame in frames)
