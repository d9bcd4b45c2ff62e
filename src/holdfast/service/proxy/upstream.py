"""The model behind the proxy, over HTTP/1.1: connections that are kept, answers as they come.

On asyncio and h11, which the server has anyway. What it sends is passed on as bytes: nothing here
knows what they say. A kept connection that the model closed meanwhile is replaced once, unseen.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

import h11

from holdfast.errors import ConfigError, ModelUnavailable, NotAsked

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
        self._kept: list[_Line] = []

    @asynccontextmanager
    async def asked(self, call: UpstreamCall) -> AsyncIterator[UpstreamResponse]:
        """The answer to a call, as long as the block; ModelUnavailable when there is none."""
        with _errors_in_words():
            line, head = await self._answered(call)
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
            await line.closed()

    async def _answered(self, call: UpstreamCall) -> tuple[_Line, h11.Response]:
        request = self._request(call)
        while self._kept:
            line = self._kept.pop()
            if not line.is_there():
                line.close()
                continue
            with suppress(ConnectionError, h11.RemoteProtocolError):  # It left just now.
                return line, await _head(line, request, call.body)
        try:
            line = await self._connected()
        except (TimeoutError, OSError) as error:
            raise NotAsked("the model behind the proxy cannot be reached") from error
        return line, await _head(line, request, call.body)

    def _request(self, call: UpstreamCall) -> h11.Request:
        headers = [(b"host", self._authority), *call.headers]
        if call.method != "GET":
            headers.append((b"content-length", b"%d" % len(call.body)))
        return h11.Request(method=call.method, target=self._path + call.target, headers=headers)

    async def _connected(self) -> _Line:
        async with asyncio.timeout(_CONNECT_SECONDS):
            reader, writer = await asyncio.open_connection(
                self._host, self._port, ssl=self._tls, limit=4 * _READ_BYTES
            )
        return _Line(reader, writer, self._patience)


class _Line:
    """A connection and what HTTP knows of it."""

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

    async def closed(self) -> None:
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


async def _head(line: _Line, request: h11.Request, body: bytes) -> h11.Response:
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
