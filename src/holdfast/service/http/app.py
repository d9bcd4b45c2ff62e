"""The HTTP service. Each route: wire -> Memory -> wire. See docs/reference/http.md.

The guard (guard.py) stands in front of all of it; handlers are plain functions on worker threads.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from ipaddress import ip_address

import anyio.to_thread
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException as AnyHTTPException

from holdfast.errors import ConfigError, HoldfastError
from holdfast.memory.memory import Memory
from holdfast.service.dialects import (
    atomic,
    atomic_entities,
    atomic_ingest,
    atomic_search,
    deerflow,
)
from holdfast.service.dialects.atomic_ingest import WaitingRoom
from holdfast.service.http import admin, audit, hooks, observe, schema, stream, verbs, window
from holdfast.service.http.auth import Keyring
from holdfast.service.http.errors import complaint, fault, fault_of
from holdfast.service.http.guard import Guard
from holdfast.service.http.limits import Backlog, LlmQuota
from holdfast.service.http.observe import HealthCheck, Metrics, ObserveMiddleware, open_tracing
from holdfast.service.http.processes import Member
from holdfast.service.http.routing import Router
from holdfast.service.http.stream import Streams
from holdfast.service.http.wire import Etags
from holdfast.service.keys import utc_now
from holdfast.service.mcp.mount import mount, running
from holdfast.service.proxy import routes as proxy
from holdfast.types import ApiKey


def _secure(
    app: FastAPI,
    memory: Memory,
    *,
    hosts: Collection[str],
    clock: Callable[[], datetime],
    no_auth: bool,
    member: Member | None,
) -> None:
    """Put the guard in front of an application, and give it the routes of keys and audit."""
    app.state.clock = clock
    app.state.member = member
    app.state.keyring = Keyring(memory.store, clock, member=member)
    app.state.backlog = Backlog(memory.store, memory.config.service.queue_jobs)
    app.state.llm_quota = LlmQuota(memory, clock)
    for routes in (admin.key_routes, audit.routes, admin.sign_in_routes, admin.fetching_routes):
        app.include_router(routes)
    #: Who everybody is when no key is asked for.
    operator = ApiKey("no-auth", "default", None, "admin", clock()) if no_auth else None
    app.state.operator = operator
    app.add_middleware(Guard, state=app.state, hosts=hosts)


def check_no_auth(host: str) -> None:
    """Refuse to serve without keys where others than this machine could ask."""
    if not _is_loopback(host):
        raise ConfigError(
            f"--no-auth lets everybody who can reach {host} read and change every memory: it is"
            " only for the loopback (127.0.0.1); leave it out and use keys"
        )


def _is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


_THREADS = 160
#: Fewer than the threads: however long the queue is, others are still answered.
_WAITING = 128
#: What the router says of a path, or a method of it, that it does not know.
_NO_ROUTE = ("Not Found", "Method Not Allowed")
_MOST_PATH_CHARS = 200


_DIALECTS = (
    atomic_ingest.routes,
    atomic_search.routes,
    atomic.routes,
    atomic_entities.agent_routes,
    atomic_entities.routes,
    deerflow.routes,
)


def create_app(
    memory: Memory,
    *,
    hosts: Collection[str] = (),
    clock: Callable[[], datetime] = utc_now,
    no_auth: bool = False,
    member: Member | None = None,
) -> FastAPI:
    """The service over a memory, which stays the caller's to close.

    `hosts` are the names it may be called by, besides those of the loopback. With `no_auth`
    everybody is the operator: for the loopback alone. `member`: as one of several processes.
    """
    app = FastAPI(
        openapi_url=None,
        redirect_slashes=False,
        lifespan=_lifespan,
        exception_handlers={
            RequestValidationError: _invalid_response,
            HoldfastError: _error_response,
            AnyHTTPException: _refusal_response,
        },
    )
    app.state.memory = memory
    # The vectors' space is there from the start: no tenant can tell another's first write by it.
    _ = memory.worker.space
    app.state.waiting_room = WaitingRoom(_WAITING)
    app.add_middleware(Etags)
    # Fixed paths before the catalogue's `{id}`: dialects, hand-written routes, then the verbs.
    _operate(app, memory)
    for routes in _DIALECTS:
        app.include_router(routes)
    app.include_router(proxy.router(memory, clock))
    _secure(app, memory, hosts=hosts, clock=clock, no_auth=no_auth, member=member)
    mount(app, memory)
    app.include_router(admin.transfer_routes)
    app.include_router(schema.routes)
    app.router.routes.extend(window.routes())
    told = verbs.routes()
    app.router.routes.extend(each for each in told if "{" in each.path)
    # No other route has these paths, and what is asked most is found first: 0.5 ms a request.
    app.router.routes[:0] = [each for each in told if "{" not in each.path]
    # Around the guard: what it refuses is seen as well.
    app.add_middleware(ObserveMiddleware, state=app.state)
    app.state.router = None if member is None else Router(app, member)
    if member is not None:
        app.state.router.tell = partial(observe.figures, app.state)
        app.state.on_stop.append(app.state.router.stop)
    return app


def _operate(app: FastAPI, memory: Memory) -> None:
    """What an operator sees of the service, and what ends when it is told to stop."""
    state = app.state
    state.health, state.streams, state.metrics = HealthCheck(memory), Streams(memory), Metrics()
    state.sender, state.tracing = None, open_tracing(memory.config, memory)
    #: Called in the moment of the signal, before uvicorn waits for the requests under way.
    state.on_stop = [state.waiting_room.close, state.streams.close]
    for module in (stream, hooks, observe):
        app.include_router(module.routes)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    anyio.to_thread.current_default_thread_limiter().total_tokens = _THREADS
    async with running(app):
        yield
    app.state.waiting_room.close()
    await app.state.streams.stop()
    await run_in_threadpool(app.state.llm_quota.close)
    if app.state.tracing is not None:
        await run_in_threadpool(app.state.tracing.close)


async def _invalid_response(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    message, field = complaint(error.errors()[0])
    return fault(400, message, field=field, path=request.scope["path"])


async def _error_response(request: Request, error: Exception) -> Response:
    assert isinstance(error, HoldfastError)
    verb = getattr(request.scope.get("route"), "verb", None)
    names = {} if verb is None else {each.name: each.wire for each in verb.parameters}
    return fault_of(error, path=request.scope["path"], names=names)


async def _refusal_response(request: Request, error: Exception) -> Response:
    assert isinstance(error, AnyHTTPException)
    status, words, path = error.status_code, error.detail, request.scope["path"]
    headers = {name.lower(): value for name, value in (error.headers or {}).items()}
    if status in (404, 405) and words in _NO_ROUTE:
        words = f"there is no {request.method} {path[:_MOST_PATH_CHARS]}: see GET /v1/openapi.json"
        # By this the Python client tells a call that is unknown from an id that is.
        headers["x-holdfast-error"] = "NoRoute"
    # The router names the methods of the first route that has this path, not of all.
    if status == 405 and (methods := schema.methods_of(request.app, path)):
        headers["allow"] = ", ".join(methods)
    return fault(status, words, headers=headers, path=path)
