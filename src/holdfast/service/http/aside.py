"""Short reads that everybody waits for: which key this is, how the service is.

They have threads of their own: however many requests keep the others busy, these are answered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from anyio import CapacityLimiter
from anyio.lowlevel import RunVar
from anyio.to_thread import run_sync

P = ParamSpec("P")
T = TypeVar("T")

_THREADS = 8
#: One for each event loop, as the limiter of all others is.
_limiter: RunVar[CapacityLimiter] = RunVar("holdfast_aside")


async def aside(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What a short call gives, on a thread that nothing long has."""
    limiter = _limiter.get(None)
    if limiter is None:
        limiter = CapacityLimiter(_THREADS)
        _limiter.set(limiter)
    return await run_sync(lambda: work(*args, **kwargs), limiter=limiter)
