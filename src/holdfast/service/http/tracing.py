"""Traces over OTLP: a span for every request, and one inside it for remember, recall and context.

Nothing of it is imported unless `service.tracesUrl` names a collector (the extra
[otel]). Attributes say which route, how it ended and how much was found; no name, no
question, no memory.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from starlette.datastructures import Headers
from starlette.types import Scope

from holdfast.config import Config
from holdfast.errors import ConfigError
from holdfast.memory.memory import Memory

#: The verbs that have a span of their own.
_VERBS = ("remember", "recall", "context")
#: A collector that is away must not hold up the end of the service.
_EXPORT_SECONDS = 3.0
_SERVICE = "holdfast"


class Tracing(Protocol):
    """What the service tells of each request."""

    def request(self, scope: Scope) -> Any:
        """A span around a request, as a context manager that gives the span."""

    def answered(self, span: Any, scope: Scope, route: str, status: int) -> None:
        """Say how it ended."""

    def close(self) -> None:
        """Send what is left."""


def tracing(config: Config, memory: Memory) -> Tracing | None:
    """The traces that the settings ask for, or None."""
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
            setattr(memory, name, self._traced(name, getattr(memory, name)))

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

    def answered(self, span: Any, scope: Scope, route: str, status: int) -> None:
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

    def _traced(self, name: str, verb: Callable[..., Any]) -> Callable[..., Any]:
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
                span.set_attribute("holdfast.count", _count(value))
                return value

        return called


def _count(value: Any) -> int:
    """How many messages were stored, memories found, or put into a context."""
    for name in ("events", "hits"):
        if hasattr(value, name):
            return len(getattr(value, name))
    return len(value)
