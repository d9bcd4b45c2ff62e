"""HTTP/1.1 as uvicorn speaks it, with less patience: a request must arrive in so many seconds, and
leave no doubt where it ends.

uvicorn waits for ever for the rest of a request that has begun. Somebody who opens a thousand
connections and sends a byte a minute on each (slow loris) would use them all up. Here a connection
without a whole request is closed when its time is up; the body is timed apart (bodies.py).

Where a proxy in front of us may see another end of a request than we do, somebody could hide a
second request in the first (smuggling). Such a one is refused, and its connection closed: RFC 9112,
5.2 and 6.1.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from holdfast.service.http.errors import fault
from holdfast.service.http.guard import security_headers

_HEAD_END = re.compile(rb"\r?\n\r?\n")
_FOLD = re.compile(rb"\n[ \t]")


def impatient(seconds: float) -> type[asyncio.Protocol]:
    """The protocol of connections that have so long to send the head of a request."""
    return type("Impatient", (_Impatient,), {"seconds": seconds})


class _Impatient(H11Protocol):
    seconds: float
    conn: _Plain
    _end: asyncio.TimerHandle | None = None

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        most = self.config.h11_max_incomplete_event_size
        self.conn = _Plain(h11.SERVER, *([] if most is None else [most]))

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        cycle: RequestResponseCycle | None = self.cycle
        # A request is under way, or what came is a piece of one.
        if cycle is not None and not cycle.response_complete:
            self._rest()
        else:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._rest()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, self.conn.doubt or "this is not HTTP/1.1")

    def _wait(self) -> None:
        if self._end is None and not self.transport.is_closing():
            self._end = self.loop.call_later(self.seconds, self._expired)

    def _rest(self) -> None:
        if self._end is not None:
            self._end.cancel()
            self._end = None

    def _expired(self) -> None:
        self._end = None
        self._refuse(408, f"the request did not arrive within {self.seconds:g} seconds")

    def _refuse(self, status: int, words: str) -> None:
        """Answer, if it is our turn to speak, and hang up."""
        if self.transport.is_closing():
            return
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.write(_answer(status, words))
        self.transport.close()


class _Plain(h11.Connection):
    """A connection whose requests end at one place for everybody who reads them."""

    #: Why a request was refused that h11 alone would take.
    doubt = ""

    def next_event(self) -> Any:
        if self.their_state is h11.IDLE:
            waiting, _ = self.trailing_data
            if _FOLD.search(_HEAD_END.split(waiting, maxsplit=1)[0]):
                self._refuse("a header goes on in the next line: write it in one")
        event = super().next_event()
        if isinstance(event, h11.Request):
            named = {name for name, _ in event.headers}
            if b"transfer-encoding" in named and b"content-length" in named:
                self._refuse("Content-Length and Transfer-Encoding exclude each other: send one")
        return event

    def _refuse(self, doubt: str) -> None:
        self.doubt = doubt
        raise h11.RemoteProtocolError(doubt)


def _answer(status: int, words: str) -> bytes:
    response = fault(status, words)
    head: list[Any] = [*response.raw_headers, *security_headers(), (b"connection", b"close")]
    lines = [b"HTTP/1.1 %d Refused" % status, *(b": ".join(pair) for pair in head), b"", b""]
    return b"\r\n".join(lines) + bytes(response.body)
