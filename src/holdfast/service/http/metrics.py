"""GET /metrics: what the service does and how it fares, as text for Prometheus.

Few series: routes by their template, statuses by their class, never a user, a key or an id. What
requests do is counted in the event loop, by one thread; the rest is read when somebody asks.
"""

from __future__ import annotations

import os
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import PlainTextResponse, Response

import holdfast
from holdfast.memory.memory import Memory
from holdfast.service.http.auth import key_of, may
from holdfast.service.http.stream import Streams
from holdfast.service.webhooks import Counts, Sender

_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_TYPE = "text/plain; version=0.0.4; charset=utf-8"

routes = APIRouter()

Labels = dict[str, str]
#: One number with its labels.
Sample = tuple[Labels, float]


@routes.get(
    "/metrics",
    tags=["operation"],
    summary="Figures for Prometheus; needs an admin key.",
    response_class=PlainTextResponse,
)
async def metrics(request: Request) -> Response:
    """What the service does and how it fares."""
    may(key_of(request), "admin", whole=True)
    state = request.app.state
    # What the event loop counts is read there, what is on disk is not.
    lines = [*state.metrics.lines(), *_streams(state.streams), *_process()]
    refused, words = state.allowance.refused, "Calls that the day of a key had nothing left for."
    lines.append(_one("holdfast_key_calls_refused_total", "counter", words, refused))
    lines += await run_in_threadpool(_read, state.memory, state.sender)
    return Response("".join(lines), media_type=_TYPE)


class Metrics:
    """What requests did since the service began."""

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
        requests = [
            ({"method": method, "route": route, "status": status}, float(count))
            for (method, route, status), count in sorted(self._requests.items())
        ]
        yield _told("holdfast_requests_total", "counter", "Requests answered.", requests)
        yield _told(
            "holdfast_requests_in_flight",
            "gauge",
            "Requests under way, streams among them.",
            [({}, self.in_flight)],
        )
        sent = [({"route": route}, float(size)) for route, size in sorted(self._bytes.items())]
        yield _told("holdfast_answer_bytes_total", "counter", "Bytes of answers.", sent)
        yield from self._histogram()

    def _histogram(self) -> Iterator[str]:
        name = "holdfast_request_seconds"
        yield f"# HELP {name} Time until an answer began.\n# TYPE {name} histogram\n"
        for route, buckets in sorted(self._answered.items()):
            total = 0
            for bound, count in zip((*_BOUNDS, "+Inf"), list(buckets), strict=True):
                total += count
                yield _line(f"{name}_bucket", {"route": route, "le": str(bound)}, total)
            yield _line(f"{name}_sum", {"route": route}, self._seconds[route])
            yield _line(f"{name}_count", {"route": route}, total)


def _memory(memory: Memory) -> Iterator[str]:
    """How the store and its worker fare. On a worker thread: it reads."""
    store, now = memory.store, memory.now()
    counts, oldest = store.counts(), store.oldest_ready()
    jobs = [({"state": state}, float(getattr(counts, state))) for state in _STATES]
    yield _told("holdfast_jobs", "gauge", "Jobs of the queue.", jobs)
    age = max(0.0, (now - oldest).total_seconds()) if oldest else 0.0
    yield _one("holdfast_oldest_job_seconds", "gauge", "Since when a job could be done.", age)
    tally = memory.worker.tally
    done = [({"step": "embed"}, float(tally.done - tally.read)), ({"step": "extract"}, tally.read)]
    yield _told("holdfast_jobs_done_total", "counter", "Jobs done by this process.", done)
    yield _one("holdfast_jobs_died_total", "counter", "Jobs given up by this process.", tally.dead)
    spent = store.spent_by_all(now.date())
    yield _one("holdfast_llm_calls_today", "gauge", "Calls of a language model.", spent.calls)
    tokens = [
        ({"kind": "prompt"}, float(spent.prompt_tokens)),
        ({"kind": "answer"}, float(spent.answer_tokens)),
    ]
    yield _told("holdfast_llm_tokens_today", "gauge", "Tokens of a language model.", tokens)
    yield _one("holdfast_llm_cost_today", "gauge", "What it cost.", spent.cost)
    by_keys = store.spent_by_keys(now.date()).values()
    tokens = [
        ({"kind": "prompt"}, float(sum(each.prompt_tokens for each in by_keys))),
        ({"kind": "answer"}, float(sum(each.answer_tokens for each in by_keys))),
    ]
    yield _told("holdfast_key_tokens_today", "gauge", "Tokens that keys are charged.", tokens)
    cost = sum(each.cost for each in by_keys)
    yield _one("holdfast_key_cost_today", "gauge", "What they cost.", cost)
    indexes, size = memory.cached()
    yield _one("holdfast_indexes", "gauge", "Indexes in memory.", indexes)
    yield _one("holdfast_index_bytes", "gauge", "Their size.", size)


_STATES = ("ready", "running", "dead")


def _read(memory: Memory, sender: Sender | None) -> list[str]:
    return [*_memory(memory), *_telling(memory, sender)]


def _streams(streams: Streams) -> Iterator[str]:
    yield _one("holdfast_streams", "gauge", "Clients that listen.", streams.count)


def _telling(memory: Memory, sender: Sender | None) -> Iterator[str]:
    hooks = memory.store.hooks()
    disabled = sum(each.disabled_at is not None for each in hooks)
    failing = sum(each.failures > 0 and each.disabled_at is None for each in hooks)
    states = {"ok": len(hooks) - disabled - failing, "failing": failing, "disabled": disabled}
    samples = [({"state": state}, float(count)) for state, count in states.items()]
    yield _told("holdfast_webhooks", "gauge", "Webhooks.", samples)
    counts = sender.counts if sender is not None else Counts()
    sent = [
        ({"outcome": "delivered"}, float(counts.delivered)),
        ({"outcome": "failed"}, float(counts.failed)),
    ]
    yield _told("holdfast_webhook_calls_total", "counter", "Deliveries from here.", sent)


def _process() -> Iterator[str]:
    yield _told("holdfast_build_info", "gauge", "Version.", [({"version": _VERSION}, 1.0)])
    cpu = time.process_time()
    yield _one("process_cpu_seconds_total", "counter", "Processor time.", cpu)
    if (size := resident_bytes()) is not None:
        yield _one("process_resident_memory_bytes", "gauge", "Memory in use.", size)
        yield _one("process_open_fds", "gauge", "Open files.", len(os.listdir("/proc/self/fd")))


_VERSION = holdfast.__version__


def resident_bytes() -> int | None:
    """How much memory this process has; None where nobody says."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


def _one(name: str, kind: str, words: str, value: float) -> str:
    return _told(name, kind, words, [({}, value)])


def _told(name: str, kind: str, words: str, samples: Iterable[Sample]) -> str:
    head = f"# HELP {name} {words}\n# TYPE {name} {kind}\n"
    return head + "".join(_line(name, labels, value) for labels, value in samples)


def _line(name: str, labels: Labels, value: float) -> str:
    shown = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
    number = f"{value:.10g}"
    return f"{name}{{{shown}}} {number}\n" if shown else f"{name} {number}\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
