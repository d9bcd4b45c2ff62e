"""The HTTP service as a process: its socket, its signals, and its first words."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn

from holdfast.config import notify_socket
from holdfast.errors import ConfigError
from holdfast.service.keys import create_key
from holdfast.store.base import Keys

_STUCK_MS = 60_000

_WELCOME = """\
This store is new. Its admin key, shown only this once:

  {key}

Try it:

  curl -XPOST {url}/v1/memories/ingest -H 'authorization: Bearer {key}' \
-H 'content-type: application/json' \
-d '{{"user_id": "alice", "conversation": "Always cite sources for every claim."}}'

"""


def first_words(url: str, db: str, *, worker: bool, mcp: bool, no_auth: bool) -> str:
    """Where the service is, and what runs in it."""
    parts = [
        f"memory: {db}",
        "background work: " + ("here" if worker else "left to `holdfast worker`"),
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
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """A bound socket: a port in use is an error before anything else has happened."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        raise ConfigError(_refused(host, port, error)) from error
    with listener:
        # Accepted connections inherit it. asyncio sets it only on sockets that name their protocol;
        # without it every answer waits 40 ms for the client's delayed acknowledgement.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if sys.platform == "linux":
            # A client that takes nothing of what is sent to it does not hold us for ever.
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _STUCK_MS)
        yield listener


def _refused(host: str, port: int, error: OSError | OverflowError) -> str:
    """Why nobody can listen there, and what to do about it."""
    match getattr(error, "errno", None):
        case errno.EADDRINUSE:
            who = "perhaps by another `holdfast serve`"
            return f"port {port} of {host} is taken, {who}: choose one with --port"
        case errno.EADDRNOTAVAIL:
            return f"{host} is no address of this machine: choose one with --host"
        case errno.EACCES:
            return f"port {port} is not open to this user: choose one above 1023 with --port"
    return f"cannot listen on {host}:{port}: {error}"


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


def notify(state: str) -> None:
    """Tell systemd how far we are, if it asked to be told (Type=notify)."""
    address = notify_socket()
    if not address:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender, contextlib.suppress(OSError):
        sender.connect("\0" + address[1:] if address.startswith("@") else address)
        sender.sendall(state.encode())


def url_of(host: str, listener: socket.socket) -> str:
    """Where the service is reached from this machine."""
    port = listener.getsockname()[1]
    shown = {"0.0.0.0": "localhost", "::": "localhost"}.get(host, host)
    return f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"


def say(text: str) -> None:
    """To the operator, at once: a pipe would keep it back."""
    sys.stdout.write(text)
    sys.stdout.flush()
