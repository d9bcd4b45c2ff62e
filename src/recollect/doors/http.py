"""The HTTP service. Each route: wire -> Memory -> wire. See docs/reference/http.md.

The guard (guard.py) stands in front of all of it; handlers are plain functions on worker threads.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import anyio.to_thread
import uvicorn
from fastapi import APIRouter, Depends, FastAPI, Header, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException as AnyHTTPException

from recollect.config import Config
from recollect.doors.auth import Reader, Writer, narrowed
from recollect.doors.faults import fault, fault_of
from recollect.doors.guard import Guard
from recollect.doors.listen import exit_on_sigterm, listening, say, url_of, welcome
from recollect.doors.override import overridden
from recollect.doors.strict import StrictRoute
from recollect.doors.wait import WaitingRoom
from recollect.doors.wire import (
    HealthAnswer,
    IngestAnswer,
    IngestBody,
    SearchAnswer,
    SearchBody,
    complaint,
)
from recollect.errors import RecollectError
from recollect.memory import Memory
from recollect.recall.pack import pack
from recollect.wiring import open as open_memory

_STOP_SECONDS = 10
_THREADS = 160
#: Fewer than the threads: however long the queue is, others are still answered.
_WAITING = 128


async def _memory(request: Request) -> Memory:
    memory = request.app.state.memory
    assert isinstance(memory, Memory)
    return memory


async def _waiting_room(request: Request) -> WaitingRoom:
    room = request.app.state.waiting_room
    assert isinstance(room, WaitingRoom)
    return room


Held = Annotated[Memory, Depends(_memory)]
Waiting = Annotated[WaitingRoom, Depends(_waiting_room)]
routes = APIRouter(route_class=StrictRoute)


@routes.get("/health")
def health(memory: Held, response: Response) -> HealthAnswer:
    """How the service is; the one route without a key."""
    try:
        dead = memory.store.jobs(states=("dead",), limit=1)
    except RecollectError:
        response.status_code = 503
        return HealthAnswer(status="degraded")
    return HealthAnswer(status="degraded" if dead else "ok")


@routes.post("/v1/memories/ingest")
def ingest(
    *,
    body: IngestBody,
    key: Writer,
    memory: Held,
    waiting: Waiting,
    response: Response,
    idempotency_key: Annotated[str | None, Header()] = None,
) -> IngestAnswer:
    """Remember; answered when it is on disk."""
    scope = narrowed(key, body)
    response.headers.update(overridden(memory.config, body.config_override).headers)
    receipt = memory.remember(
        body.turns(),
        user=scope.user, workspace=scope.workspace, agent=scope.agent, session=scope.session,
        key=idempotency_key, metadata=body.labels(),
    )  # fmt: skip
    state = waiting.settled(memory, scope, receipt) if body.wait else receipt.state
    return IngestAnswer.of(receipt, state)


@routes.post("/v1/memories/search")
def search(*, body: SearchBody, key: Reader, memory: Held, response: Response) -> SearchAnswer:
    """Recall, and pack what was found into a block for a prompt."""
    scope = narrowed(key, body)
    override = overridden(memory.config, body.config_override)
    response.headers.update(override.headers)
    found = memory.recall(
        body.query,
        user=scope.user, workspace=scope.workspace, agent=scope.agent, session=scope.session,
        limit=body.depth, as_of=body.as_of or None, overrides=override.applied,
    )  # fmt: skip
    chosen, default = body.chosen(found), override.config.context_budget_tokens
    budget = default if body.token_budget is None else body.token_budget
    packed = pack(chosen, budget_tokens=budget, query=body.query, format=body.format)
    return SearchAnswer.of(scope, found, chosen, packed)


def create_app(
    memory: Memory,
    *,
    hosts: Collection[str] = (),
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> FastAPI:
    """The service over a memory, which stays the caller's to close.

    `hosts` are the names it may be called by, besides those of the loopback.
    """
    app = FastAPI(
        openapi_url=None,
        redirect_slashes=False,
        lifespan=_enough_threads,
        exception_handlers={
            RequestValidationError: _invalid,
            RecollectError: _failed,
            AnyHTTPException: _refused,
        },
    )
    app.state.memory = memory
    app.state.waiting_room = WaitingRoom(_WAITING)
    app.include_router(routes)
    app.add_middleware(Guard, memory=memory, hosts=hosts, clock=clock)
    return app


def serve(
    db: str | Path,
    *,
    host: str = "127.0.0.1",
    port: int = 3050,
    config: Config | Mapping[str, Any] | str | Path | None = None,
    worker: bool = True,
) -> None:
    """Answer requests until SIGTERM or Ctrl-C; port 0 takes a free one and prints it.

    A store without any key gets an admin key, which is printed once. `worker=False`: background
    work is left to `recollect worker`, so that it never delays an answer.
    """
    with (
        exit_on_sigterm(),
        suppress(KeyboardInterrupt),
        listening(host, port) as listener,
        open_memory(db, config=config, worker=worker) as memory,
    ):
        url = url_of(host, listener)
        app = create_app(memory, hosts=[host])
        settings = uvicorn.Config(
            app,
            http="h11",
            ws="none",
            # What is asked, and by whom, is nobody's business but theirs.
            access_log=False,
            log_level="warning",
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=_STOP_SECONDS,
        )
        # The first question should not wait for the model to load.
        threading.Thread(target=memory.warm, name="recollect-warm-up", daemon=True).start()
        say(welcome(memory.store, url))
        say(f"Recollect listens on {url}\n")
        _Server(settings, app.state.waiting_room).run(sockets=[listener])


class _Server(uvicorn.Server):
    """uvicorn, which waits for the requests under way before it stops: so those must end."""

    def __init__(self, settings: uvicorn.Config, waiting: WaitingRoom) -> None:
        super().__init__(settings)
        self._waiting = waiting

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._waiting.close()
        super().handle_exit(sig, frame)


@asynccontextmanager
async def _enough_threads(_: FastAPI) -> AsyncIterator[None]:
    anyio.to_thread.current_default_thread_limiter().total_tokens = _THREADS
    yield


async def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    message, field = complaint(error.errors()[0])
    return fault(400, message, field=field)


async def _failed(_: Request, error: Exception) -> Response:
    assert isinstance(error, RecollectError)
    return fault_of(error)


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, AnyHTTPException)
    return fault(error.status_code, error.detail, headers=error.headers)
