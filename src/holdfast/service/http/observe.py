"""Observability: the access log, metrics, traces and health.

None of it holds what was asked or answered: the route by its template (a path may name a user),
never a query string, the key by its id.
"""

from __future__ import annotations

import functools
import logging
import os
import re
import threading
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from fastapi import APIRouter, Request
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.datastructures import State as AppState
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import holdfast
from holdfast.border import validate
from holdfast.config import Config
from holdfast.errors import ConfigError, HoldfastError
from holdfast.memory.memory import Memory
from holdfast.service.http.auth import key_of, require_role
from holdfast.service.http.limits import on_reserved_thread
from holdfast.service.http.stream import Streams
from holdfast.service.http.wire import json_response
from holdfast.service.webhooks import Counts
from holdfast.store.protocols import ALL_KEYS, Store
from holdfast.store.values import Spent
from holdfast.types import Scope as MemoryScope

# GET /metrics: what the service does and how it fares, as text for Prometheus.
#
# Few series: routes by their template, statuses by their class, never a user, a key or an id.
# What requests do is counted in the event loop, by one thread; the rest is read when somebody
# asks.

_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_TYPE = "text/plain; version=0.0.4; charset=utf-8"

routes = APIRouter()


@routes.get(
    "/metrics",
    tags=["operation"],
    summary="Figures for Prometheus; needs an admin key.",
    response_class=PlainTextResponse,
)
async def metrics(request: Request, user_id: str | None = None) -> Response:
    """What the service does and how it fares; with `user_id` also what that user's models cost."""
    key = key_of(request)
    require_role(key, "admin", whole=True)
    state = request.app.state
    user = None if user_id is None else validate.scope(workspace=key.workspace, user=user_id)
    own = [await figures(state)] if state.router is None else await state.router.figures()
    lines = await run_in_threadpool(lambda: [*_store(state.memory, user), *_webhooks(state)])
    return Response(_merged(own) + "".join(lines), media_type=_TYPE)


async def figures(state: Any) -> str:
    """What this process does; of several, each sample says of which it is."""
    # What the event loop counts is read there.
    lines = [
        *state.metrics.lines(),
        _metric("holdfast_streams", "Clients that listen.", state.streams.count),
        *_process(),
        _metric(
            "holdfast_key_calls_refused_total",
            "Calls that the day of a key had nothing left for.",
            state.llm_quota.refused,
        ),
        *_work(state),
    ]
    text = "".join(lines)
    if state.member is None:
        return text
    label = f'process="{state.member.number}"'
    text = re.sub(r"^(\w+)\{", rf"\1{{{label},", text, flags=re.MULTILINE)
    return re.sub(r"^(\w+) ", rf"\1{{{label}}} ", text, flags=re.MULTILINE)


def _merged(texts: Iterable[str]) -> str:
    """The samples of several processes under one head for each metric, as the format has it."""
    samples: dict[str, list[str]] = {}
    for text in texts:
        for metric in text.split("# HELP ")[1:]:
            words, kind, *lines = metric.splitlines(keepends=True)
            samples.setdefault(f"# HELP {words}{kind}", []).extend(lines)
    return "".join(head + "".join(lines) for head, lines in samples.items())


class Metrics:
    """Counters and a histogram of the requests since the service began."""

    def __init__(self) -> None:
        self.begun = 0
        self.in_flight = 0
        self._requests: Counter[tuple[str, str, str]] = Counter()
        self._answered: dict[str, list[int]] = {}
        self._seconds: Counter[str] = Counter()
        self._bytes: Counter[str] = Counter()

    def count(self, method: str, route: str, status: int, seconds: float, size: int) -> None:
        """One request, the time until its answer began, and how long that was."""
        self._requests[method, route, f"{status // 100}xx"] += 1
        buckets = self._answered.setdefault(route, [0] * (len(_BOUNDS) + 1))
        buckets[bisect_left(_BOUNDS, seconds)] += 1
        self._seconds[route] += seconds  # type: ignore[assignment]
        self._bytes[route] += size

    def lines(self) -> Iterator[str]:
        """As text."""
        name = "holdfast_requests_total"
        yield _head(name, "counter", "Requests answered.")
        for (method, route, status), count in sorted(self._requests.items()):
            yield _line(name, {"method": method, "route": route, "status": status}, count)
        words = "Requests under way, streams among them."
        yield _metric("holdfast_requests_in_flight", words, self.in_flight)
        sizes = dict(sorted(self._bytes.items()))
        yield _metric("holdfast_answer_bytes_total", "Bytes of answers.", route=sizes)
        yield from self._histogram()

    def _histogram(self) -> Iterator[str]:
        name = "holdfast_request_seconds"
        yield _head(name, "histogram", "Time until an answer began.")
        for route, buckets in sorted(self._answered.items()):
            total = 0
            for bound, count in zip((*_BOUNDS, "+Inf"), list(buckets), strict=True):
                total += count
                yield _line(f"{name}_bucket", {"route": route, "le": str(bound)}, total)
            yield _line(f"{name}_sum", {"route": route}, self._seconds[route])
            yield _line(f"{name}_count", {"route": route}, total)


def _work(state: Any) -> Iterator[str]:
    """What the worker, the indexes and the webhooks of this process do."""
    tally = state.memory.worker.tally
    done = {"embed": tally.done - tally.read, "extract": tally.read}
    yield _metric("holdfast_jobs_done_total", "Jobs done by this process.", step=done)
    yield _metric("holdfast_jobs_died_total", "Jobs given up by this process.", tally.dead)
    indexes, size = state.memory.cache_size()
    yield _metric("holdfast_indexes", "Indexes in memory.", indexes)
    yield _metric("holdfast_index_bytes", "Their size.", size)
    yield from _servers(state.memory.store)
    counts = Counts() if state.sender is None else state.sender.counts
    sent = {"delivered": counts.delivered, "failed": counts.failed}
    yield _metric("holdfast_webhook_calls_total", "Deliveries from here.", outcome=sent)


def _store(memory: Memory, user: MemoryScope | None) -> Iterator[str]:
    """How the store fares. On a worker thread: it reads."""
    store, now = memory.store, memory.now()
    counts = store.counts()
    jobs = {"ready": counts.ready, "running": counts.running, "dead": counts.dead}
    yield _metric("holdfast_jobs", "Jobs of the queue.", state=jobs)
    age = max(0.0, (now - counts.oldest).total_seconds()) if counts.oldest else 0.0
    yield _metric("holdfast_oldest_job_seconds", "Since when a job could be done.", age)
    yield from _spent("holdfast_llm", store.spent(None, now.date()))
    if user is not None:
        yield from _spent("holdfast_user_llm", store.spent(user, now.date()))
    by_keys = store.spent(ALL_KEYS, now.date())
    tokens = {"prompt": by_keys.prompt_tokens, "answer": by_keys.answer_tokens}
    yield _metric("holdfast_key_tokens_today", "Tokens that keys are charged.", kind=tokens)
    yield _metric("holdfast_key_cost_today", "What they cost.", by_keys.cost)


def _spent(name: str, spent: Spent) -> Iterator[str]:
    yield _metric(f"{name}_calls_today", "Calls of a language model.", spent.calls)
    tokens = {"prompt": spent.prompt_tokens, "answer": spent.answer_tokens}
    yield _metric(f"{name}_tokens_today", "Tokens of a language model.", kind=tokens)
    yield _metric(f"{name}_cost_today", "What it cost.", spent.cost)


def _servers(store: Store) -> Iterator[str]:
    """Who answers reads, where there is more than one server."""
    if states := store.health().servers:
        reads = {each.name: each.reads for each in states}
        yield _metric("holdfast_reads_total", "Reads answered to this process.", server=reads)
        behind = {each.name: each.behind_bytes for each in states[1:]}
        words = "How much of the log was not replayed when it was last asked."
        yield _metric("holdfast_replica_behind_bytes", words, replica=behind)
        answers = {each.name: int(not each.words) for each in states[1:]}
        yield _metric("holdfast_replica_answers", "1 if it answers reads.", replica=answers)


def _webhooks(state: Any) -> Iterator[str]:
    hooks = state.memory.store.hooks()
    disabled = sum(each.disabled_at is not None for each in hooks)
    failing = sum(each.failures > 0 and each.disabled_at is None for each in hooks)
    states = {"ok": len(hooks) - disabled - failing, "failing": failing, "disabled": disabled}
    yield _metric("holdfast_webhooks", "Webhooks.", state=states)


def _process() -> Iterator[str]:
    yield _metric("holdfast_build_info", "Version.", version={holdfast.__version__: 1})
    yield _metric("process_cpu_seconds_total", "Processor time.", time.process_time())
    if (size := resident_bytes()) is not None:
        yield _metric("process_resident_memory_bytes", "Memory in use.", size)
        yield _metric("process_open_fds", "Open files.", len(os.listdir("/proc/self/fd")))


def resident_bytes() -> int | None:
    """The resident memory of this process; None where there is no /proc."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


def _metric(
    name: str, words: str, value: float | None = None, **values: Mapping[str, float]
) -> str:
    """A counter (`_total`) or a gauge: one number, or several by the values of one label."""
    lines = [] if value is None else [_line(name, {}, value)]
    for label, each in values.items():
        lines += [_line(name, {label: text}, number) for text, number in each.items()]
    return _head(name, "counter" if name.endswith("_total") else "gauge", words) + "".join(lines)


def _head(name: str, kind: str, words: str) -> str:
    return f"# HELP {name} {words}\n# TYPE {name} {kind}\n"


def _line(name: str, labels: Mapping[str, str], value: float) -> str:
    shown = ",".join(f'{key}="{_escape(text)}"' for key, text in labels.items())
    number = f"{value:.10g}"
    return f"{name}{{{shown}}} {number}\n" if shown else f"{name} {number}\n"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


# Traces over OTLP: a span for every request, and one inside it for remember, recall and context.
#
# Nothing of it is imported unless `service.tracesUrl` names a collector (the extra [otel]).
# Attributes say which route, how it ended and how much was found; no name, no question, no
# memory.

#: The verbs that have a span of their own.
_VERBS = ("remember", "recall", "context")
#: A collector that is away must not hold up the end of the service.
_EXPORT_SECONDS = 3.0
_SERVICE = "holdfast"


class Tracing(Protocol):
    """Where spans go."""

    def request(self, scope: Scope) -> Any:
        """A span around a request, as a context manager that gives the span."""

    def note_answer(self, span: Any, scope: Scope, route: str, status: int) -> None:
        """Say how it ended."""

    def close(self) -> None:
        """Send what is left."""


def open_tracing(config: Config, memory: Memory) -> Tracing | None:
    """The exporter that the settings ask for, or None."""
    url = config.service.traces_url
    if not url:
        return None
    try:
        return _Otlp(url, memory)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"traces need the package {error.name}: install Holdfast with the extra [otel]:"
            " in its checkout, pip install '.[otel]'"
        ) from error


class _Otlp:
    """Spans to a collector, in batches, by a thread of the SDK."""

    def __init__(self, url: str, memory: Memory) -> None:
        from opentelemetry import trace  # noqa: PLC0415
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415
            OTLPSpanExporter,
        )
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
        from opentelemetry.trace.propagation.tracecontext import (  # noqa: PLC0415
            TraceContextTextMapPropagator,
        )

        self._trace = trace
        self._propagator = TraceContextTextMapPropagator()
        resource = Resource.create({"service.name": _SERVICE})
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        exporter = OTLPSpanExporter(endpoint=url, timeout=_EXPORT_SECONDS)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer(_SERVICE)
        for name in _VERBS:
            # Of this memory alone: the class knows nothing of traces.
            setattr(memory, name, self._with_span(name, getattr(memory, name)))

    @contextmanager
    def request(self, scope: Scope) -> Iterator[Any]:
        """A span of the caller's trace, if there is one, else of a new one."""
        told = {"traceparent": Headers(scope=scope).get("traceparent", "")}
        with self._tracer.start_as_current_span(
            scope["method"],
            context=self._propagator.extract(told),
            kind=self._trace.SpanKind.SERVER,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            yield span

    def note_answer(self, span: Any, scope: Scope, route: str, status: int) -> None:
        """Say how a request ended."""
        span.update_name(f"{scope['method']} {route}")
        span.set_attribute("http.request.method", scope["method"])
        span.set_attribute("http.route", route)
        span.set_attribute("http.response.status_code", status)
        span.set_attribute("holdfast.request_id", scope.get("holdfast.request", ""))
        if status >= 500:
            span.set_status(self._trace.StatusCode.ERROR)

    def close(self) -> None:
        """Send what is left, a moment at most."""
        self._provider.force_flush(int(_EXPORT_SECONDS * 1000))
        self._provider.shutdown()

    def _with_span(self, name: str, verb: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(verb)
        def called(*args: Any, **options: Any) -> Any:
            with self._tracer.start_as_current_span(
                f"memory.{name}", record_exception=False, set_status_on_exception=False
            ) as span:
                try:
                    value = verb(*args, **options)
                except Exception as error:
                    # The type alone: an error's text may quote what was said.
                    span.set_attribute("error.type", type(error).__name__)
                    span.set_status(self._trace.StatusCode.ERROR)
                    raise
                span.set_attribute("holdfast.count", _result_count(value))
                return value

        return called


def _result_count(value: Any) -> int:
    """How many messages were stored, memories found, or put into a context."""
    for name in ("events", "hits"):
        if hasattr(value, name):
            return len(getattr(value, name))
    return len(value)


log = logging.getLogger("holdfast.access")

#: The route of what was refused before it reached one.
_NO_ROUTE = "-"
_READING = frozenset({"GET", "HEAD", "OPTIONS"})


class ObserveMiddleware:
    """ASGI middleware around the guard: logs, counts and traces every request."""

    def __init__(self, app: ASGIApp, *, state: AppState) -> None:
        self._app = app
        self._metrics: Metrics = state.metrics
        self._streams: Streams = state.streams
        self._tracing: Tracing | None = state.tracing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        seen = _ObservedAnswer(send)
        self._metrics.begun += 1
        self._metrics.in_flight += 1
        try:
            with self._span(scope) as span:
                try:
                    await self._app(scope, receive, seen)
                finally:
                    if self._tracing is not None:
                        self._tracing.note_answer(span, scope, _route(scope), seen.status)
        finally:
            self._metrics.in_flight -= 1
            self._note(scope, seen)

    def _span(self, scope: Scope) -> AbstractContextManager[Any]:
        if self._tracing is None:
            return nullcontext()
        span: AbstractContextManager[Any] = self._tracing.request(scope)
        return span

    def _note(self, scope: Scope, seen: _ObservedAnswer) -> None:
        route, method = _route(scope), _method(scope)
        self._metrics.count(method, route, seen.status, seen.first_seconds, seen.size)
        if method not in _READING and seen.status < 400:
            self._streams.wake()
        if not log.isEnabledFor(logging.INFO):
            return
        fields = {
            "method": method,
            "route": route,
            "status": seen.status,
            "ms": round(seen.seconds * 1000, 1),
            "bytes": seen.size,
            "request": scope.get("holdfast.request", ""),
        }
        if (key := scope.get("holdfast.key")) is not None:
            fields["key"] = key.id
        log.info("request", extra={"fields": fields})


class _ObservedAnswer:
    """Passes an answer on and remembers its status, its size and when it began."""

    __slots__ = ("_began", "_first", "_send", "size", "status")

    def __init__(self, send: Send) -> None:
        self._send = send
        self._began = time.perf_counter()
        self._first = 0.0
        #: 499: nobody waited for the answer.
        self.status = 499
        self.size = 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self._first = time.perf_counter()
        else:
            self.size += len(message.get("body", b""))
        await self._send(message)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._began

    @property
    def first_seconds(self) -> float:
        return (self._first or time.perf_counter()) - self._began


def _route(scope: Scope) -> str:
    path = getattr(scope.get("route"), "path", None)
    return path if isinstance(path, str) else _NO_ROUTE


_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"})


def _method(scope: Scope) -> str:
    """Anybody may invent a method: that must not make a series of its own."""
    return scope["method"] if scope["method"] in _METHODS else "OTHER"


# How the service is: /health in one word for whoever asks, /v1/ready in more for those with a key.
# Degraded is not down: requests are answered, but what was said is not understood, or late.

#: Somebody without a key may ask as often as they like: the store is asked once in so long.
_FRESH_SECONDS = 1.0
#: Longer than any conversation rests before it is read.
_LATE_SECONDS = 900.0


@dataclass(frozen=True, slots=True)
class State:
    """How the service is."""

    status: str
    #: In words, without a number.
    reasons: tuple[str, ...] = ()
    ready: int = 0
    running: int = 0
    dead: int = 0
    oldest_seconds: float = 0.0
    is_up: bool = True


class HealthAnswer(BaseModel):
    """How the service is, in one word."""

    status: Literal["ok", "degraded"]


class JobCounts(BaseModel):
    """How much there is to do."""

    ready: int
    running: int
    dead: int


class ReadyAnswer(BaseModel):
    """How the service is, and why. The numbers are for the operator."""

    status: str
    reasons: list[str]
    jobs: JobCounts | None = None
    oldest_job_seconds: float | None = None


class HealthCheck:
    """The health of a memory, looked at once a second at most."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._lock = threading.Lock()
        self._state: State | None = None
        self._until = 0.0

    def state(self) -> State:
        """How it is, or was a moment ago."""
        with self._lock:
            if self._state is None or time.monotonic() >= self._until:
                self._state = _look(self._memory)
                self._until = time.monotonic() + _FRESH_SECONDS
            return self._state


@routes.get(
    "/health",
    tags=["operation"],
    summary="How the service is, in one word; the one route without a key.",
)
async def health(request: Request) -> HealthAnswer:
    """How the service is; the one route without a key."""
    state = await on_reserved_thread(request.app.state.health.state)
    answer = HealthAnswer(status="ok" if state.status == "ok" else "degraded")
    if not state.is_up:
        return json_response(answer.model_dump(), 503)  # type: ignore[return-value]
    return answer


@routes.get(
    "/v1/ready",
    tags=["operation"],
    summary="How the service is, and why; an admin key is told numbers.",
    response_model=ReadyAnswer,
)
async def ready(request: Request) -> Response:
    """How the service is, and why; 503 while nothing can be answered."""
    state, key = await on_reserved_thread(request.app.state.health.state), key_of(request)
    told: dict[str, object] = {"status": state.status, "reasons": list(state.reasons)}
    if key.role == "admin" and key.user is None:
        told["jobs"] = {"ready": state.ready, "running": state.running, "dead": state.dead}
        told["oldest_job_seconds"] = round(state.oldest_seconds, 3)
    return json_response(told, 200 if state.is_up else 503)


def _look(memory: Memory) -> State:
    try:
        counts = memory.store.counts()
        oldest = counts.oldest
        age = max(0.0, (memory.now() - oldest).total_seconds()) if oldest else 0.0
    except HoldfastError:
        return State("down", ("the store cannot be read",), is_up=False)
    trouble = memory.store.health().trouble
    if trouble is not None and trouble.is_lost:
        return State("down", (trouble.words,), is_up=False)
    reasons = [] if trouble is None else [trouble.words]
    if counts.dead:
        reasons.append("there are dead letters: see GET /v1/jobs or `holdfast jobs`")
    if age > _LATE_SECONDS:
        reasons.append("jobs wait for long: is a worker running?")
    return State(
        "degraded" if reasons else "ok",
        tuple(reasons),
        counts.ready,
        counts.running,
        counts.dead,
        age,
    )
