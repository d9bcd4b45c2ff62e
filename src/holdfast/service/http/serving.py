"""The HTTP service as a process: what runs beside the application, and how all of it ends.

A first SIGTERM or Ctrl-C lets what is under way finish: requests are answered, streams and waits
end at once, the worker finishes what takes seconds and hands back the rest, the store is closed. A
second one ends it on the spot.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import re
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from holdfast.border.validate import without_password
from holdfast.config import Config
from holdfast.errors import Closed, ModelError
from holdfast.memory.memory import Memory
from holdfast.service import logs
from holdfast.service.http.app import check_no_auth, create_app
from holdfast.service.http.errors import fault
from holdfast.service.http.guard import security_headers
from holdfast.service.http.processes import Member, listening, notify, say
from holdfast.service.http.routing import Router
from holdfast.service.keys import create_key
from holdfast.service.webhooks import Sender
from holdfast.store.protocols import Keys
from holdfast.wiring import open as open_memory

# ----------------------------------------------------------------------
# The HTTP service as a process: its socket, its signals, and its first words.
# ----------------------------------------------------------------------

_WELCOME = """\
This store is new. Its admin key, shown only this once:

  {key}

Try it:

  curl -XPOST {url}/v1/memories/ingest -H 'authorization: Bearer {key}' \
-H 'content-type: application/json' \
-d '{{"user_id": "alice", "conversation": "Always cite sources for every claim."}}'

"""


def first_words(
    url: str, db: str, *, worker: bool, mcp: bool, no_auth: bool, member: Member | None = None
) -> str:
    """Where the service is, and what runs in it."""
    place = "here" if member is None else "in a process of its own"
    parts = [
        f"memory: {without_password(db)}",
        "background work: " + (place if worker else "left to `holdfast worker`"),
        *([] if member is None else [f"processes that answer: {member.count}"]),
        f"MCP: {url}/mcp" if mcp else "MCP: no, the extra [mcp] is not installed",
        *(["no key is asked for"] if no_auth else []),
    ]
    return f"Holdfast listens on {url}\n" + "".join(f"  {each}\n" for each in parts)


def welcome(store: Keys, url: str) -> str:
    """The first key of a store that has none, with what to do with it."""
    if store.api_keys():
        return ""
    _, secret = create_key(store, role="admin", label="made by the first serve")
    return _WELCOME.format(key=secret, url=url)


@contextlib.contextmanager
def exit_on_sigterm() -> Iterator[None]:
    """SIGTERM ends the process through every `with`, so that the memory is closed.

    uvicorn answers what is under way, and then sends itself the signal again.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _Exit())
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def leaving() -> Iterator[list[Memory]]:
    """Ends the process at once if a thread of a memory that was opened is still at work when all is
    closed: to leave in the ordinary way would abort a model, and the process with it."""
    opened: list[Memory] = []
    try:
        yield opened
    except (SystemExit, KeyboardInterrupt):
        _leave_if_busy(opened)
        raise
    _leave_if_busy(opened)


def _leave_if_busy(opened: Sequence[Memory]) -> None:
    is_warming = any(each.name == _WARM_UP for each in threading.enumerate())
    if is_warming or any(memory.worker.left_behind for memory in opened):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


class _Exit:
    """Ends the process in order at the first signal, at once at the second."""

    def __init__(self) -> None:
        self._came = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self._came:
            end_at_once()
        self._came = True
        sys.exit(0)


def end_at_once() -> NoReturn:
    """Leave everything as it is: what was acknowledged is on disk, jobs under way run again."""
    os._exit(1)


def url_of(host: str, listener: socket.socket) -> str:
    """Where the service is reached from this machine."""
    port = listener.getsockname()[1]
    shown = {"0.0.0.0": "localhost", "::": "localhost"}.get(host, host)
    return f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"


# ----------------------------------------------------------------------
# HTTP/1.1 as uvicorn speaks it, with less patience: a request must arrive in so many seconds, and
# leave no doubt where it ends.
#
# uvicorn waits for ever for the rest of a request that has begun. Somebody who opens a thousand
# connections and sends a byte a minute on each (slow loris) would use them all up. Here a
# connection without a whole request is closed when its time is up; the body is timed apart
# (guard.py).
#
# Where a proxy in front of us may see another end of a request than we do, somebody could hide a
# second request in the first (smuggling). Such a one is refused, and its connection closed: RFC
# 9112, 5.2 and 6.1.
#
# A socket that is closed with something unread in it resets the connection, and the client loses
# the answer that says why (413). So after an answer in the middle of a body we say that no more
# comes, and go on reading for a moment, into nothing: RFC 9112, 9.6.
# ----------------------------------------------------------------------

_HEAD_END = re.compile(rb"\r?\n\r?\n")
_FOLD = re.compile(rb"\n[ \t]")
#: How long the rest of a body is read into nothing: in all, and while nothing comes.
_LINGER_SECONDS = 30.0
_SILENT_SECONDS = 5.0
#: What is read into nothing at most: a body of a little more than the limit, not any.
_LINGER_BYTES = 32 * 1024 * 1024


def impatient(seconds: float, router: Router | None = None) -> type[asyncio.Protocol]:
    """The protocol of connections that have so long to send the head of a request; with a router,
    of those that another process may answer."""
    return type("Impatient", (_Impatient,), {"seconds": seconds, "router": router})


class _Impatient(H11Protocol):
    seconds: float
    router: Router | None = None
    #: What another process has read of this connection.
    handed = b""
    conn: _Plain
    transport: _Lingering  # type: ignore[assignment]
    _end: asyncio.TimerHandle | None = None

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        most = self.config.h11_max_incomplete_event_size
        self.conn = _Plain(h11.SERVER, *([] if most is None else [most]))
        if self.router is not None:
            self.app = partial(self.router.answer, self)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        lingering = _Lingering(transport, self.loop, lambda: self.conn.their_state is h11.SEND_BODY)
        super().connection_made(lingering)  # type: ignore[arg-type]
        self._wait()
        if self.handed:
            self.data_received(self.handed)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            self.transport.discard(len(data))
            return
        super().data_received(data)
        cycle: RequestResponseCycle | None = self.cycle
        # A request is under way, or what came is a piece of one.
        if cycle is not None and not cycle.response_complete:
            self._rest()
        else:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._rest()
        self.transport.end()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """The service ends. A connection that was refused has had its last word: h11, which did not
        see it, would have us answer first."""
        if self.transport.is_closing():
            self.transport.close()
        else:
            super().shutdown()

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


class _Lingering:
    """A transport that is closed in two steps while the other side is in the middle of a body."""

    def __init__(
        self,
        transport: asyncio.Transport,
        loop: asyncio.AbstractEventLoop,
        mid_body: Callable[[], bool],
    ) -> None:
        self._transport, self._loop, self._mid_body = transport, loop, mid_body
        self._last: asyncio.TimerHandle | None = None
        self._silent: asyncio.TimerHandle | None = None
        self._discarded = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def is_closing(self) -> bool:
        return self._last is not None or self._transport.is_closing()

    def close(self) -> None:
        """Say that no more comes; then read into nothing for a moment. A second time: hang up."""
        if self.is_closing() or not self._mid_body() or not self._transport.can_write_eof():
            self._transport.close()
            return
        self._last = self._loop.call_later(_LINGER_SECONDS, self._transport.close)
        self._transport.write_eof()
        self._transport.resume_reading()
        self.discard(0)

    def discard(self, size: int) -> None:
        """So much came after our last word: wait for more, but not for any amount of it."""
        if self._silent is not None:
            self._silent.cancel()
        self._discarded += size
        if self._discarded > _LINGER_BYTES:
            self._transport.abort()
            return
        self._silent = self._loop.call_later(_SILENT_SECONDS, self._transport.close)

    def end(self) -> None:
        """It is closed: wait for nothing."""
        for timer in (self._last, self._silent):
            if timer is not None:
                timer.cancel()


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


# ----------------------------------------------------------------------
# Full garbage collections in quiet moments.
#
# A full collection stops every thread: 60 ms with the memories of one busy user loaded, and on
# its own it comes in the middle of a request. Here the interpreter does the small ones alone, and
# a thread does the full ones when nothing was asked for a while, or when the last is too long
# ago.
# ----------------------------------------------------------------------

_LOOK_SECONDS = 0.5
#: However much is asked: so often at least, once there is enough to look through.
_LATEST_SECONDS = 120.0
#: Collections of the middle generation since the last full one; the interpreter's own measure.
_ENOUGH = 10
_NEVER = 1_000_000


@contextmanager
def sweeping(
    begun: Callable[[], int],
    *,
    look_seconds: float = _LOOK_SECONDS,
    latest_seconds: float = _LATEST_SECONDS,
) -> Iterator[None]:
    """Until its end, full collections come when `begun`, the number of requests so far, rests."""
    small, middle, full = gc.get_threshold()
    gc.collect()
    gc.freeze()  # The modules: they stay, and need not be looked through again.
    gc.set_threshold(small, middle, _NEVER)
    stop = threading.Event()
    arguments = (begun, stop, look_seconds, latest_seconds)
    thread = threading.Thread(target=_sweep, args=arguments, name="holdfast-sweep", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        gc.set_threshold(small, middle, full)
        gc.unfreeze()


def _sweep(
    begun: Callable[[], int], stop: threading.Event, look_seconds: float, latest_seconds: float
) -> None:
    before, last = begun(), time.monotonic()
    while not stop.wait(look_seconds):
        now = begun()
        late = time.monotonic() - last >= latest_seconds
        if gc.get_count()[2] >= _ENOUGH and (late or now == before):
            gc.collect()
            last = time.monotonic()
        before = now


_STOP_SECONDS = 8
#: Between two requests of one connection.
_IDLE_SECONDS = 75
_WARM_UP = "holdfast-warm-up"
_MOST_HEADER_BYTES = 64 * 1024


def serve(  # noqa: PLR0913 (options of a command)
    db: str | Path,
    *,
    host: str = "127.0.0.1",
    port: int = 3050,
    config: Config | Mapping[str, Any] | str | Path | None = None,
    worker: bool = True,
    log_level: str = "info",
    no_auth: bool = False,
    member: Member | None = None,
    when_ready: Callable[[str], object] | None = None,
) -> None:
    """Answer requests until SIGTERM or Ctrl-C; port 0 takes a free one and prints it.

    A store without any key gets an admin key, which is printed once. `worker=False`: background
    work is left to `holdfast worker`, so that it never delays an answer. `no_auth`: no key is
    asked for; refused where others than this machine could ask. A `member` is one of several
    processes, on the socket of all: the background work is done by another of them. `when_ready`
    is given the address when it answers, on a thread of its own.
    """
    if no_auth:
        check_no_auth(host)
    works_here = worker and member is None
    with (
        exit_on_sigterm(),
        suppress(KeyboardInterrupt),
        leaving() as opened,
        listening(host, port) if member is None else member.listener as listener,
        # The worker starts when the model is loaded and the process that reads is there.
        open_memory(db, config=config, worker=False) as memory,
        ExitStack() as beside,
    ):
        opened.append(memory)
        number = None if member is None else member.number
        logs.configure(memory.config.service.log_format, log_level, process=number)
        url = url_of(host, listener)
        app = create_app(memory, hosts=[host], no_auth=no_auth, member=member)
        beside.enter_context(sweeping(lambda: app.state.metrics.begun))
        app.state.on_stop.append(memory.worker.halt)
        if works_here:
            app.state.sender = beside.enter_context(Sender(memory))
        beside.enter_context(_warming(memory, works_here))
        if not no_auth and not number:
            say(welcome(memory.store, url))
        mcp = app.state.mcp is not None
        words = first_words(url, str(db), worker=worker, mcp=mcp, no_auth=no_auth, member=member)
        if member is None:
            say(words)
        then = partial(when_ready, url) if when_ready is not None and not number else None
        _Server(_settings(app, memory.config), app, words, then).run(sockets=[listener])


def _settings(app: FastAPI, config: Config) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=impatient(config.service.body_seconds, app.state.router),
        ws="none",
        # Requests are logged by what is known of them inside; see observe.py.
        access_log=False,
        log_config=None,
        log_level="warning",
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=_IDLE_SECONDS,
        timeout_graceful_shutdown=_STOP_SECONDS,
        h11_max_incomplete_event_size=_MOST_HEADER_BYTES,
    )


class _Server(uvicorn.Server):
    """uvicorn, which waits for the requests under way before it stops: so those must end."""

    def __init__(
        self,
        settings: uvicorn.Config,
        app: FastAPI,
        words: str,
        when_ready: Callable[[], object] | None,
    ) -> None:
        super().__init__(settings)
        self._app = app
        self._words = words
        self._when_ready = when_ready
        self._router: Router | None = app.state.router
        self._signalled = False

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self._when_ready is not None:
            threading.Thread(target=self._when_ready, daemon=True).start()
        if self._router is None:
            notify("READY=1")
            return
        self._router.open(self._connection)
        member, loop = self._router.member, asyncio.get_running_loop()
        member.when_left(partial(loop.call_soon_threadsafe, self._stop))
        member.ready(self._words)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._router is not None:
            self._router.close()
        await super().shutdown(sockets=sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self._signalled:  # The second signal.
            end_at_once()
        self._signalled = True
        self.should_exit = False  # The parent may have been first: this is not the second yet.
        super().handle_exit(sig, frame)
        self._stop()

    def _stop(self) -> None:
        """Let what is under way end, and nothing new begin."""
        if self._router is None:
            notify("STOPPING=1")
        for end in self._app.state.on_stop:
            end()
        self.should_exit = True

    def _connection(self, handed: bytes) -> _Impatient:
        """A connection of which another process has read something."""
        made = self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        assert isinstance(made, _Impatient)
        made.handed = handed
        return made


@contextmanager
def _warming(memory: Memory, worker: bool) -> Iterator[None]:
    """The first question should not wait for the model to load. It is waited for at the end: to
    leave in the middle of it would abort the process."""
    arguments = [memory, worker]
    thread = threading.Thread(target=_warm, args=arguments, name=_WARM_UP, daemon=True)
    thread.start()
    try:
        yield
    finally:
        thread.join(_STOP_SECONDS)


def _warm(memory: Memory, worker: bool) -> None:
    """Load the model; what it cannot do now is told to those who ask. Then begin to work."""
    with suppress(Closed, ModelError):
        memory.warm()
    if worker:
        memory.worker.start()
