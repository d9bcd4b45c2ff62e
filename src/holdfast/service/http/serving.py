"""The HTTP service as a process: what runs beside the application, and how all of it ends.

A first SIGTERM or Ctrl-C lets what is under way finish: requests are answered, streams and waits
end at once, the worker finishes what takes seconds and hands back the rest, the store is closed. A
second one ends it on the spot.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn
from fastapi import FastAPI

from holdfast.config import Config
from holdfast.errors import Closed, ModelError
from holdfast.memory.memory import Memory
from holdfast.service import logs
from holdfast.service.http.app import create_app
from holdfast.service.http.gc_schedule import sweeping
from holdfast.service.http.listen import (
    end_at_once,
    exit_on_sigterm,
    first_words,
    listening,
    notify,
    say,
    url_of,
    welcome,
)
from holdfast.service.http.protocol import impatient
from holdfast.service.http.security import check_no_auth
from holdfast.service.webhooks import Sender
from holdfast.wiring import open as open_memory

_STOP_SECONDS = 8
#: Between two requests of one connection.
_IDLE_SECONDS = 75
_MOST_HEADER_BYTES = 64 * 1024


def serve(
    db: str | Path,
    *,
    host: str = "127.0.0.1",
    port: int = 3050,
    config: Config | Mapping[str, Any] | str | Path | None = None,
    worker: bool = True,
    log_level: str = "info",
    no_auth: bool = False,
) -> None:
    """Answer requests until SIGTERM or Ctrl-C; port 0 takes a free one and prints it.

    A store without any key gets an admin key, which is printed once. `worker=False`: background
    work is left to `holdfast worker`, so that it never delays an answer. `no_auth`: no key is
    asked for; refused where others than this machine could ask.
    """
    if no_auth:
        check_no_auth(host)
    with (
        exit_on_sigterm(),
        suppress(KeyboardInterrupt),
        listening(host, port) as listener,
        # The worker starts when the model is loaded and the process that reads is there.
        open_memory(db, config=config, worker=False) as memory,
        ExitStack() as beside,
    ):
        logs.configure(memory.config.service.log_format, log_level)
        url = url_of(host, listener)
        app = create_app(memory, hosts=[host], no_auth=no_auth)
        beside.enter_context(sweeping(lambda: app.state.metrics.begun))
        app.state.on_stop.append(memory.worker.halt)
        if worker:
            app.state.sender = beside.enter_context(Sender(memory))
        # The first question should not wait for the model to load. It is waited for at the end:
        # to leave in the middle of it would abort the process.
        warming = threading.Thread(
            target=_warm, args=[memory, worker], name="holdfast-warm-up", daemon=True
        )
        warming.start()
        beside.callback(warming.join, _STOP_SECONDS)
        if not no_auth:
            say(welcome(memory.store, url))
        mcp = app.state.mcp is not None
        say(first_words(url, str(db), worker=worker, mcp=mcp, no_auth=no_auth))
        _Server(_settings(app, memory.config), app).run(sockets=[listener])
    if memory.worker.left_behind:  # To leave in the ordinary way would abort a model at work.
        os._exit(0)


def _settings(app: FastAPI, config: Config) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=impatient(config.service.body_seconds),
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

    def __init__(self, settings: uvicorn.Config, app: FastAPI) -> None:
        super().__init__(settings)
        self._app = app

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        notify("READY=1")

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.should_exit:  # The second signal.
            end_at_once()
        notify("STOPPING=1")
        for end in self._app.state.on_stop:
            end()
        super().handle_exit(sig, frame)


def _warm(memory: Memory, worker: bool) -> None:
    """Load the model; what it cannot do now is told to those who ask. Then begin to work."""
    with suppress(Closed, ModelError):
        memory.warm()
    if worker:
        memory.worker.start()
