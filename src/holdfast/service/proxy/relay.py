"""One call passed on: the model's status, headers and bytes go back as they come.

When the caller goes away the model is hung up on; when the model breaks off, so does the answer.
Only what would speak for this server to a browser or belongs to one connection is left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import anyio
import orjson
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from holdfast.errors import ModelUnavailable, NotAsked
from holdfast.models.budget import Size
from holdfast.service.http.errors import openai
from holdfast.service.http.limits import Charge
from holdfast.service.proxy.shape import (
    OverheardAnswer,
    ReportedUsage,
    Shape,
    tokens_of,
    tokens_sent,
    usage_of,
)
from holdfast.service.proxy.upstream import Headers, Upstream, UpstreamCall, UpstreamResponse

# An answer overheard while it passes through: as one JSON document, or as server-sent events.
#
# Nothing here delays, changes or refuses it. What cannot be read, or is larger than any answer,
# is not remembered.

_MOST_BYTES = 16 * 1024 * 1024
_DONE = b"[DONE]"


class Overheard:
    """What is understood of an answer of one shape; without one, what it took alone."""

    def __init__(self, shape: Shape | None, *, streamed: bool) -> None:
        self._shape = shape
        self._streamed = streamed
        self._draft = OverheardAnswer()
        self._held = bytearray()
        self._data: list[bytes] = []
        self._deaf = False
        self._told = ReportedUsage()
        #: Whether words came after the model last said what the answer took.
        self._said_more = False

    def feed(self, chunk: bytes) -> None:
        """Listen to the next bytes."""
        if self._deaf:
            return
        self._held += chunk
        if self._streamed and b"\n" in chunk:
            for event in self._events():
                self._hear(event)
        if len(self._held) > _MOST_BYTES:
            self._deaf = True
            self._held.clear()

    def answer(self) -> OverheardAnswer | None:
        """The answer, if all of it was there."""
        self._end()
        return self._draft if self._draft.whole and not self._deaf else None

    def took(self) -> ReportedUsage:
        """What the call took, as the model says; without its word the answer is as it looks."""
        self._end()
        told, looks = self._told, tokens_of(self._size_bytes())
        if told.answer is None:
            return ReportedUsage(told.prompt, looks)
        return ReportedUsage(
            told.prompt, max(told.answer, looks) if self._said_more else told.answer
        )

    def _size_bytes(self) -> int:
        if self._shape is None:
            return 0
        return _MOST_BYTES if self._deaf else self._draft.size_bytes

    def _end(self) -> None:
        if not self._streamed and self._held:
            self._hear(bytes(self._held))
            self._held.clear()

    def _hear(self, document: bytes) -> None:
        if document == _DONE:
            self._draft.whole = True
            return
        before, told = self._draft.size_bytes, self._understood(document)
        if told.answer is not None:
            self._said_more = False
        elif self._draft.size_bytes > before:
            self._said_more = True
        self._told = self._told.then(told)

    def _understood(self, document: bytes) -> ReportedUsage:
        try:
            value = orjson.loads(document)
        except orjson.JSONDecodeError:  # Cut off, or no JSON at all: something was said.
            self._draft.size_bytes += len(document)
            return ReportedUsage()
        if not isinstance(value, Mapping):
            return ReportedUsage()
        if self._shape is not None:
            hear = self._shape.hear_event if self._streamed else self._shape.hear
            hear(value, self._draft)
        return usage_of(value)

    def _events(self) -> Iterator[bytes]:
        """The data of the events that are there to the end."""
        *lines, rest = self._held.split(b"\n")
        self._held = rest
        for each in lines:
            line = bytes(each).rstrip(b"\r")
            if line.startswith(b"data:"):
                self._data.append(line[5:].removeprefix(b" "))
            elif not line and self._data:
                event, self._data = b"\n".join(self._data), []
                yield event


_OF_CONNECTION = frozenset(
    {
        b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"te",
        b"trailer", b"transfer-encoding", b"upgrade",
    }
)  # fmt: skip
#: `accept-encoding`: compressed, an answer could not be overheard.
_NOT_SENT = _OF_CONNECTION | {
    b"accept-encoding", b"authorization", b"content-length", b"cookie", b"expect", b"host",
    b"origin", b"referer", b"x-api-key",
}  # fmt: skip
#: What speaks to a browser in this server's name is this server's to say.
_NOT_PASSED_BACK = _OF_CONNECTION | {
    b"alt-svc", b"clear-site-data", b"content-security-policy", b"cross-origin-resource-policy",
    b"date", b"referrer-policy", b"server", b"set-cookie", b"strict-transport-security",
    b"x-content-type-options", b"x-frame-options",
}  # fmt: skip
_OURS = b"x-holdfast-"
_CORS = b"access-control-"


def refusal(
    status: int, message: str, *, param: str | None = None, kind: str = "", code: str | None = None
) -> Response:
    """An error of the proxy itself, in the shape that callers of such a model know."""
    body = openai(status, message, param or "", kind=kind, code=code)
    return Response(json.dumps(body), status, media_type="application/json")


def to_send(headers: Iterable[tuple[bytes, bytes]], authorization: str) -> Headers:
    """The caller's headers as far as they are for the model."""
    kept = [
        (name, value)
        for name, value in headers
        if name not in _NOT_SENT and not name.startswith((_OURS, b"x-forwarded-"))
    ]
    kept.append((b"accept-encoding", b"identity"))
    if authorization:
        kept.append((b"authorization", authorization.encode("latin-1")))
    return kept


@dataclass(frozen=True, slots=True)
class Payer:
    """Who pays for a call."""

    charge: Charge
    body: bytes
    #: How many tokens are sent, about, where that was charged.
    sent: int | None = None
    #: Whether only the end of the answer says what it took: then it is heard, whoever hangs up.
    to_the_end: bool = False

    def pay(self, told: ReportedUsage) -> None:
        """Say what the call took, the first time; what the model does not say is estimated."""
        answer = told.answer or 0
        prompt = self.sent if told.prompt is None else told.prompt
        if prompt is None:
            self.charge.settle(lambda: Size(tokens_sent(self.body), answer))
        else:
            self.charge.settle(Size(prompt, answer))


class Relay(Response):
    """An answer that is the model's."""

    def __init__(
        self,
        upstream: Upstream,
        call: UpstreamCall,
        *,
        headers: Mapping[str, str],
        shape: Shape | None = None,
        heard: Callable[[OverheardAnswer | None], None] | None = None,
        bill: Payer | None = None,
    ) -> None:
        super().__init__()
        self._upstream = upstream
        self._call = call
        self._more = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        self._shape = shape
        self._heard = heard
        self._bill = bill

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with anyio.create_task_group() as tasks:
            if not (self._bill and self._bill.to_the_end):
                tasks.start_soon(_hung_up, receive, tasks.cancel_scope)
            refused = await self._relayed(send)
            if refused is not None:
                refused.raw_headers.extend(self._more)
                await refused(scope, receive, send)
            tasks.cancel_scope.cancel()

    async def _relayed(self, send: Send) -> Response | None:
        """Pass the answer on; what to say instead if there is none."""
        started = False
        try:
            async with self._upstream.asked(self._call) as answer:
                started = True
                await self._passed_on(answer, send)
        except ModelUnavailable as error:
            if self._bill and isinstance(error, NotAsked):
                self._bill.charge.settle(None)
            # Once it has begun, the caller is to see that it has no end.
            return None if started else refusal(502, str(error), kind="upstream_error")
        finally:
            if self._bill:  # What did not come back has been asked all the same.
                self._bill.pay(ReportedUsage())
        return None

    async def _passed_on(self, answer: UpstreamResponse, send: Send) -> None:
        overheard = self._listener(answer)
        headers = [*_passed_back(answer.headers), *self._more]
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        try:
            async with aclosing(answer.chunks) as chunks:
                async for chunk in chunks:
                    await send(_part(chunk, more=True))
                    if overheard:
                        overheard.feed(chunk)
            # Before its end is told: the next call of this caller finds it counted.
            self._pay(overheard)
            await send(_part(b"", more=False))
        finally:
            self._pay(overheard)
            if overheard and self._heard:
                self._heard(overheard.answer())

    def _pay(self, overheard: Overheard | None) -> None:
        """Pay for the call; one that was refused took nothing."""
        if self._bill:
            self._bill.pay(overheard.took() if overheard else ReportedUsage(0, 0))

    def _listener(self, answer: UpstreamResponse) -> Overheard | None:
        if not (self._shape or self._bill) or not 200 <= answer.status < 300:
            return None
        kind = dict(answer.headers).get(b"content-type", b"")
        return Overheard(self._shape, streamed=kind.startswith(b"text/event-stream"))


async def _hung_up(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


def _part(body: bytes, *, more: bool) -> dict[str, Any]:
    return {"type": "http.response.body", "body": body, "more_body": more}


def _passed_back(headers: Headers) -> list[tuple[bytes, bytes]]:
    return [
        (name, value)
        for name, value in headers
        if name not in _NOT_PASSED_BACK and not name.startswith((_OURS, _CORS))
    ]
