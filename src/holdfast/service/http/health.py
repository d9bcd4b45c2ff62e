"""How the service is: /health in one word for whoever asks, /v1/ready in more for those with a key.

Degraded is not down: requests are answered, but what was said is not understood, or late.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

from fastapi import APIRouter, Request
from pydantic import BaseModel
from starlette.responses import Response

from holdfast.catalogue.codec import dumps
from holdfast.errors import HoldfastError
from holdfast.memory.memory import Memory
from holdfast.service.http.auth import key_of
from holdfast.service.http.limits import aside
from holdfast.service.http.wire import HealthAnswer

#: Somebody without a key may ask as often as they like: the store is asked once in so long.
_FRESH_SECONDS = 1.0
#: Longer than any conversation rests before it is read.
_LATE_SECONDS = 900.0

routes = APIRouter(tags=["operation"])


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


class Pulse:
    """Looks at a memory, now and then."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._lock = threading.Lock()
        self._state: State | None = None
        self._until = 0.0

    def state(self) -> State:
        """How it is, or was a moment ago."""
        with self._lock:
            if self._state is None or time.monotonic() >= self._until:
                self._state = _looked(self._memory)
                self._until = time.monotonic() + _FRESH_SECONDS
            return self._state


@routes.get("/health", summary="How the service is, in one word; the one route without a key.")
async def health(request: Request) -> HealthAnswer:
    """How the service is; the one route without a key."""
    state = await aside(_pulse(request).state)
    answer = HealthAnswer(status="ok" if state.status == "ok" else "degraded")
    if not state.is_up:
        return Response(  # type: ignore[return-value]
            dumps(answer.model_dump()), 503, media_type="application/json"
        )
    return answer


@routes.get(
    "/v1/ready",
    summary="How the service is, and why; an admin key is told numbers.",
    response_model=ReadyAnswer,
)
async def ready(request: Request) -> Response:
    """How the service is, and why; 503 while nothing can be answered."""
    state, key = await aside(_pulse(request).state), key_of(request)
    told: dict[str, object] = {"status": state.status, "reasons": list(state.reasons)}
    if key.role == "admin" and key.user is None:
        told["jobs"] = {"ready": state.ready, "running": state.running, "dead": state.dead}
        told["oldest_job_seconds"] = round(state.oldest_seconds, 3)
    return Response(dumps(told), 200 if state.is_up else 503, media_type="application/json")


def _pulse(request: Request) -> Pulse:
    pulse = request.app.state.pulse
    assert isinstance(pulse, Pulse)
    return pulse


def _looked(memory: Memory) -> State:
    try:
        counts, oldest = memory.store.counts(), memory.store.oldest_ready()
        age = max(0.0, (memory.now() - oldest).total_seconds()) if oldest else 0.0
    except HoldfastError:
        return State("down", ("the store cannot be read",), is_up=False)
    trouble = memory.store.trouble()
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
