"""Requests over a few connections that stay open, sent again where that is safe.

A request is sent again when the connection failed or the service was too busy (429, 503): it either
only reads or carries a key, so that the service does it once. `timeout` is for the whole call. The
key goes to the host it was meant for and nowhere else: no redirect is followed, no proxy of the
environment is used, and no message shows it.
"""

from __future__ import annotations

import http.client
import os
import select
import ssl
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import SplitResult, urlsplit

from holdfast.errors import Closed, ConfigError, Unavailable

_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 2.0
#: Connections that wait for the next call; more are opened when more calls are under way.
_IDLE: Final = 32
_BUSY = (429, 503)
#: What OpenSSL calls an answer that is not TLS.
_NO_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE")


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """What is asked, ready to be sent."""

    method: str
    #: Path and query.
    target: str
    body: bytes = b""
    headers: Mapping[str, str | bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def retry_after(self) -> float | None:
        """How long the service wants to be left alone, in seconds."""
        text = self.headers.get("retry-after", "")
        return float(text) if text.isdecimal() and len(text) < 9 else None


class _Failed(Exception):
    """A connection that failed under a request."""

    def __init__(self, cause: Exception, *, reused: bool) -> None:
        super().__init__()
        self.cause = cause
        #: It had stood idle: the service may have closed it meanwhile.
        self.reused = reused


class Transport:
    """A way to one service. Threads may share it."""

    def __init__(
        self,
        url: str,
        api_key: str = "",
        *,
        timeout: float = 30.0,
        retries: int = 4,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        parts = _checked_url(url)
        if not (api_key.isascii() and api_key.isprintable() and " " not in api_key):
            raise ConfigError("the key of the service holds a character no key can have")
        if not timeout > 0 or retries < 0:
            raise ConfigError("timeout must be above 0 and retries 0 or more")
        self.address = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
        self.timeout = timeout
        self._retries = retries
        self._host, self._port, self._prefix = parts.hostname or "", parts.port, parts.path
        self._tls = (tls or ssl.create_default_context()) if parts.scheme == "https" else None
        self.has_key = bool(api_key)
        self._headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
        self._idle: list[http.client.HTTPConnection] = []
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._process = os.getpid()

    def exchange(self, request: HttpRequest, *, patience: float = 0.0) -> Reply:
        """Send a request and wait for the answer, `patience` seconds longer than usual."""
        deadline = time.monotonic() + self.timeout + patience
        attempt = 0
        while True:
            pause = min(_FIRST_PAUSE * 2**attempt, _LONGEST_PAUSE)
            attempt += 1
            reply = failure = None
            try:
                reply = self._once(request, deadline)
            except _Failed as failed:
                failure = failed
                pause = 0.0 if failed.reused else pause
            if reply is not None and reply.status not in _BUSY:
                return reply
            if reply is not None and reply.retry_after is not None:
                pause = reply.retry_after
            late = time.monotonic() + pause >= deadline
            if late or attempt > self._retries or (failure and _is_final(failure.cause)):
                return self._last(reply, failure)
            if self._closing.wait(pause):
                raise Closed

    def close(self) -> None:
        """Close every connection; calls that wait for another try end."""
        self._closing.set()
        self._drop_idle()

    def _last(self, reply: Reply | None, failure: _Failed | None) -> Reply:
        if reply is not None:
            return reply
        assert failure is not None
        raise Unavailable(f"{self.address}: {self._words(failure.cause)}") from None

    def _words(self, error: Exception) -> str:
        if isinstance(error, TimeoutError):
            return f"no answer within {self.timeout:g} s"
        if isinstance(error, ConnectionRefusedError):
            return "nobody listens there: is the service running?"
        if isinstance(error, ssl.SSLError) and error.reason in _NO_TLS:
            return "no TLS is spoken there: is it http://?"
        told = error.strerror if isinstance(error, OSError) else None
        return f"the connection failed ({told or type(error).__name__})"

    def _once(self, request: HttpRequest, deadline: float) -> Reply:
        connection, reused = self._take()
        try:
            left = max(deadline - time.monotonic(), 0.001)
            connection.timeout = left
            if connection.sock is not None:
                connection.sock.settimeout(left)
            response = self._answer(connection, request)
            body = response.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise _Failed(error, reused=reused) from None
        except BaseException:  # Interrupted: nobody knows what is left in the pipe.
            connection.close()
            raise
        headers = {name.lower(): value for name, value in response.getheaders()}
        if response.will_close:
            connection.close()
        else:
            self._give_back(connection)
        return Reply(response.status, headers, body)

    def _answer(
        self, connection: http.client.HTTPConnection, request: HttpRequest
    ) -> http.client.HTTPResponse:
        target = self._prefix.rstrip("/") + request.target
        headers = {**self._headers, **request.headers}
        try:
            connection.request(request.method, target, request.body or None, headers)
        except (BrokenPipeError, ConnectionResetError):
            # It may have refused a large body before all of it was sent: what does it say?
            if connection.sock is None or len(request.body) == 0:  # Nothing was sent at all.
                raise
        return connection.getresponse()

    def _take(self) -> tuple[http.client.HTTPConnection, bool]:
        """A connection, and whether it was used before."""
        with self._lock:
            if self._closing.is_set():
                raise Closed
            if self._process != os.getpid():  # Forked: these are the parent's, and it uses them.
                self._idle, self._process = [], os.getpid()
            while self._idle:
                connection = self._idle.pop()
                if _is_alive(connection):
                    return connection, True
                connection.close()
        if self._tls is not None:
            secure = http.client.HTTPSConnection(self._host, self._port, context=self._tls)
            return secure, False
        return http.client.HTTPConnection(self._host, self._port), False

    def _give_back(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            if len(self._idle) < _IDLE and not self._closing.is_set():
                self._idle.append(connection)
                return
        connection.close()

    def _drop_idle(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()


def _checked_url(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise ConfigError("a service needs an address such as http://localhost:3050")
    if parts.username is not None or parts.query or parts.fragment:
        raise ConfigError("the address of a service ends with its path; a key goes into api_key")
    return parts


def _is_alive(connection: http.client.HTTPConnection) -> bool:
    """An idle connection with something to read was closed by the other side."""
    sock = connection.sock
    if sock is None:
        return False
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return not poll.poll(0)


def _is_final(error: Exception) -> bool:
    """Whether the same would happen again: a certificate does not become good by trying."""
    return isinstance(error, ssl.SSLError)
