"""What is seen of every request from outside: a line in the log, numbers, and a span.

None of it holds what was asked or answered: the route by its template (a path may name a user),
never a query string, the key by its id.
"""

from __future__ import annotations

import logging
import time
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holdfast.service.http.metrics import Metrics
from holdfast.service.http.stream import Streams
from holdfast.service.http.tracing import Tracing

log = logging.getLogger("holdfast.access")

#: The route of what was refused before it reached one.
_NO_ROUTE = "-"
_READING = frozenset({"GET", "HEAD", "OPTIONS"})


class Observed:
    """ASGI middleware around the guard."""

    def __init__(
        self, app: ASGIApp, *, metrics: Metrics, streams: Streams, tracing: Tracing | None
    ) -> None:
        self._app = app
        self._metrics = metrics
        self._streams = streams
        self._tracing = tracing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        seen = _Seen(send)
        self._metrics.begun += 1
        self._metrics.in_flight += 1
        try:
            with self._span(scope) as span:
                try:
                    await self._app(scope, receive, seen)
                finally:
                    if self._tracing is not None:
                        self._tracing.answered(span, scope, _route(scope), seen.status)
        finally:
            self._metrics.in_flight -= 1
            self._note(scope, seen)

    def _span(self, scope: Scope) -> AbstractContextManager[Any]:
        if self._tracing is None:
            return nullcontext()
        span: AbstractContextManager[Any] = self._tracing.request(scope)
        return span

    def _note(self, scope: Scope, seen: _Seen) -> None:
        route, method = _route(scope), _method(scope)
        self._metrics.count(method, route, seen.status, seen.first_seconds, seen.size)
        if method not in _READING and seen.status < 400:
            self._streams.wake()
        if not log.isEnabledFor(logging.INFO):
            return
        fields = {
            "method": method,
            "route": route,
            "status": seen.status,
            "ms": round(seen.seconds * 1000, 1),
            "bytes": seen.size,
            "request": scope.get("holdfast.request", ""),
        }
        if (key := scope.get("holdfast.key")) is not None:
            fields["key"] = key.id
        log.info("request", extra={"fields": fields})


class _Seen:
    """Passes an answer on and remembers its status, its size and when it began."""

    __slots__ = ("_began", "_first", "_send", "size", "status")

    def __init__(self, send: Send) -> None:
        self._send = send
        self._began = time.perf_counter()
        self._first = 0.0
        #: 499: nobody waited for the answer.
        self.status = 499
        self.size = 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self._first = time.perf_counter()
        else:
            self.size += len(message.get("body", b""))
        await self._send(message)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._began

    @property
    def first_seconds(self) -> float:
        return (self._first or time.perf_counter()) - self._began


def _route(scope: Scope) -> str:
    path = getattr(scope.get("route"), "path", None)
    return path if isinstance(path, str) else _NO_ROUTE


_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"})


def _method(scope: Scope) -> str:
    """Anybody may invent a method: that must not make a series of its own."""
    method = str(scope["method"])
    return method if method in _METHODS else "OTHER"
