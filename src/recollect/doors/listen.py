"""The HTTP service as a process: its socket, its signals, and its first words."""

from __future__ import annotations

import contextlib
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from types import FrameType

from recollect.errors import ConfigError
from recollect.keys import create_key
from recollect.store.base import Keys

_WELCOME = """\
This store is new. Its admin key, shown only this once:

  {key}

Try it:

  curl -XPOST {url}/v1/memories/ingest -H 'authorization: Bearer {key}' \
-H 'content-type: application/json' \
-d '{{"user_id": "alice", "conversation": "Always cite sources for every claim."}}'

"""


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
        raise ConfigError(f"cannot listen on {host}:{port}: {error}") from error
    with listener:
        # Accepted connections inherit it. asyncio sets it only on sockets that name their protocol;
        # without it every answer waits 40 ms for the client's delayed acknowledgement.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield listener


@contextlib.contextmanager
def exit_on_sigterm() -> Iterator[None]:
    """SIGTERM ends the process through every `with`, so that the memory is closed.

    uvicorn answers what is under way, and then sends itself the signal again.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _exit)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _exit(number: int, frame: FrameType | None) -> None:
    sys.exit(0)


def url_of(host: str, listener: socket.socket) -> str:
    """Where the service is reached from this machine."""
    port = listener.getsockname()[1]
    shown = {"0.0.0.0": "localhost", "::": "localhost"}.get(host, host)
    return f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"


def say(text: str) -> None:
    """To the operator, at once: a pipe would keep it back."""
    sys.stdout.write(text)
    sys.stdout.flush()
