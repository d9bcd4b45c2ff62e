"""One call passed on: the model's status, headers and bytes go back as they come.

The model is reached over HTTP/1.1 with asyncio and h11, which the server has anyway. Connections
are kept; one that the model closed meanwhile is replaced once, unseen. When the caller goes away
the model is hung up on; when the model breaks off, so does the answer. Only what would speak for
this server to a browser or belongs to one connection is left out.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import anyio
import h11
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from holdfast.errors import ConfigError, ModelUnavailable, NotAsked
from holdfast.models.budget import Size
from holdfast.service.http.errors import openai
from holdfast.service.http.limits import Charge
from holdfast.service.proxy.shape import (
    Overheard,
    OverheardAnswer,
    ReportedUsage,
    Shape,
    tokens_sent,
)

Headers = Sequence[tuple[bytes, bytes]]

_MOST_KEPT = 32
_MOST_HEAD_BYTES = 64 * 1024
_READ_BYTES = 64 * 1024
_CONNECT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class UpstreamCall:
    """What is sent: `target` is the path and query after the model's own address."""

    method: str
    target: str
    headers: Headers
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class UpstreamResponse:
    """What comes back; the names of headers in small letters, the chunks as they come."""

    status: int
    headers: Headers
    chunks: AsyncGenerator[bytes]


class Upstream:
    """One OpenAI-compatible endpoint."""

    def __init__(self, url: str, *, timeout_s: float) -> None:
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise ConfigError("proxy.url is not an address") from error
        if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
            raise ConfigError("proxy.url must be like http://127.0.0.1:8080/v1")
        self._tls = ssl.create_default_context() if parts.scheme == "https" else None
        self._host = parts.hostname
        self._port = port or (443 if self._tls else 80)
        self._authority = parts.netloc.encode("ascii", "replace")
        self._path = parts.path.rstrip("/")
        self._patience = timeout_s
        self._kept: list[_UpstreamConnection] = []

    @asynccontextmanager
    async def ask(self, call: UpstreamCall) -> AsyncIterator[UpstreamResponse]:
        """The answer to a call, as long as the block; ModelUnavailable when there is none."""
        with _errors_in_words():
            line, head = await self._send(call)
        try:
            yield UpstreamResponse(head.status_code, list(head.headers), line.chunks())
        finally:
            if line.is_free() and len(self._kept) < _MOST_KEPT:
                self._kept.append(line)
            else:
                line.close()

    async def close(self) -> None:
        """Close what is kept."""
        kept, self._kept = self._kept, []
        for line in kept:
            await line.wait_closed()

    async def _send(self, call: UpstreamCall) -> tuple[_UpstreamConnection, h11.Response]:
        request = self._request(call)
        while self._kept:
            line = self._kept.pop()
            if not line.is_there():
                line.close()
                continue
            with suppress(ConnectionError, h11.RemoteProtocolError):  # It left just now.
                return line, await _head(line, request, call.body)
        try:
            line = await self._connect()
        except (TimeoutError, OSError) as error:
            raise NotAsked("the model behind the proxy cannot be reached") from error
        return line, await _head(line, request, call.body)

    def _request(self, call: UpstreamCall) -> h11.Request:
        headers = [(b"host", self._authority), *call.headers]
        if call.method != "GET":
            headers.append((b"content-length", b"%d" % len(call.body)))
        return h11.Request(method=call.method, target=self._path + call.target, headers=headers)

    async def _connect(self) -> _UpstreamConnection:
        async with asyncio.timeout(_CONNECT_SECONDS):
            reader, writer = await asyncio.open_connection(
                self._host, self._port, ssl=self._tls, limit=4 * _READ_BYTES
            )
        return _UpstreamConnection(reader, writer, self._patience)


class _UpstreamConnection:
    """A connection and its HTTP/1.1 state."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, patience: float
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._patience = patience
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MOST_HEAD_BYTES)

    def is_there(self) -> bool:
        """Whether the other side has not hung up."""
        return not (self._reader.at_eof() or self._writer.is_closing())

    def is_free(self) -> bool:
        """Whether another call may use it, which it is made ready for."""
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        self._http.start_next_cycle()
        return True

    async def ask(self, request: h11.Request, body: bytes) -> h11.Response:
        """Send a request; the head of its answer."""
        http = self._http
        sent = [http.send(request), http.send(h11.Data(body)), http.send(h11.EndOfMessage())]
        # Not waited for: an endpoint may refuse a body that it has not read to the end.
        self._writer.write(b"".join(each for each in sent if each))
        while isinstance(event := await self._event(), h11.InformationalResponse):
            pass
        if not isinstance(event, h11.Response):
            raise h11.RemoteProtocolError("the endpoint closed the connection")
        return event

    async def chunks(self) -> AsyncGenerator[bytes]:
        """The body of the answer, as it comes."""
        with _errors_in_words():
            while isinstance(event := await self._event(), h11.Data):
                yield bytes(event.data)

    def close(self) -> None:
        """Hang up."""
        self._writer.close()

    async def wait_closed(self) -> None:
        """Hang up, and wait until it is so."""
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()

    async def _event(self) -> h11.Event | type[h11.PAUSED]:
        while True:
            event = self._http.next_event()
            if event is not h11.NEED_DATA:
                assert not isinstance(event, type) or event is h11.PAUSED
                return event
            async with asyncio.timeout(self._patience):
                data = await self._reader.read(_READ_BYTES)
            self._http.receive_data(data)


async def _head(line: _UpstreamConnection, request: h11.Request, body: bytes) -> h11.Response:
    try:
        return await line.ask(request, body)
    except BaseException:
        line.close()
        raise


@contextmanager
def _errors_in_words() -> Iterator[None]:
    """What fails on the way becomes one error, told in words."""
    try:
        yield
    except TimeoutError as error:
        raise ModelUnavailable("the model behind the proxy does not answer") from error
    except OSError as error:
        raise ModelUnavailable("the model behind the proxy cannot be reached") from error
    except h11.ProtocolError as error:
        raise ModelUnavailable("the model behind the proxy broke off") from error


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
    """The charge of a call, settled when its usage is known."""

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
    """The response that passes the model's answer through."""

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
                tasks.start_soon(_wait_for_hang_up, receive, tasks.cancel_scope)
            refused = await self._relay(send)
            if refused is not None:
                refused.raw_headers.extend(self._more)
                await refused(scope, receive, send)
            tasks.cancel_scope.cancel()

    async def _relay(self, send: Send) -> Response | None:
        """Pass the answer on; what to say instead if there is none."""
        started = False
        try:
            async with self._upstream.ask(self._call) as answer:
                started = True
                await self._pass_on(answer, send)
        except ModelUnavailable as error:
            if self._bill and isinstance(error, NotAsked):
                self._bill.charge.settle(None)
            # Once it has begun, the caller is to see that it has no end.
            return None if started else refusal(502, str(error), kind="upstream_error")
        finally:
            if self._bill:  # What did not come back has been asked all the same.
                self._bill.pay(ReportedUsage())
        return None

    async def _pass_on(self, answer: UpstreamResponse, send: Send) -> None:
        overheard = self._listener(answer)
        headers = [*_headers_back(answer.headers), *self._more]
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


async def _wait_for_hang_up(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


def _part(body: bytes, *, more: bool) -> dict[str, Any]:
    return {"type": "http.response.body", "body": body, "more_body": more}


def _headers_back(headers: Headers) -> list[tuple[bytes, bytes]]:
    return [
        (name, value)
        for name, value in headers
        if name not in _NOT_PASSED_BACK and not name.startswith((_OURS, _CORS))
    ]
