"""HTTP/1.1 as uvicorn speaks it, with less patience: a request must arrive in so many seconds.

uvicorn waits for ever for the rest of a request that has begun. Somebody who opens a thousand
connections and sends a byte a minute on each (slow loris) would use them all up. Here a connection
without a whole request is closed when its time is up; the body is timed apart (bodies.py).
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from recollect.doors.http.faults import fault
from recollect.doors.http.guard import security_headers


def impatient(seconds: float) -> type[asyncio.Protocol]:
    """The protocol of connections that have so long to send the head of a request."""
    return type("Impatient", (_Impatient,), {"seconds": seconds})


class _Impatient(H11Protocol):
    seconds: float
    _end: asyncio.TimerHandle | None = None

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
        self._refuse(400, "this is not HTTP/1.1")

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


def _answer(status: int, words: str) -> bytes:
    response = fault(status, words)
    head: list[Any] = [*response.raw_headers, *security_headers(), (b"connection", b"close")]
    lines = [b"HTTP/1.1 %d Refused" % status, *(b": ".join(pair) for pair in head), b"", b""]
    return b"\r\n".join(lines) + bytes(response.body)
