"""What becomes of a job that failed: whether it is tried again, and when."""

from __future__ import annotations

import random
from datetime import timedelta

from holdfast.config import Jobs
from holdfast.errors import ModelError, ModelUnavailable, NotAsked, Refused, TookTooLong

_MOST_DOUBLINGS = 30


def is_transient(error: ModelError) -> bool:
    """Whether it goes away: a model comes back, and an operator mends a key."""
    return isinstance(error, ModelUnavailable | Refused)


def is_last(jobs: Jobs, attempts: int, error: ModelError, *, draining: bool) -> bool:
    """Whether it is given up. A model that is away comes back: only a caller who waits for the end
    gives up on it. What took too long once would take as long again."""
    if isinstance(error, NotAsked):  # Nothing was tried; but who drains does not wait.
        return draining
    if isinstance(error, TookTooLong):
        return True
    return attempts >= jobs.max_attempts and (draining or not is_transient(error))


def pause(jobs: Jobs, attempts: int, error: ModelError) -> timedelta:
    """How long it waits for the next try."""
    doubled = jobs.backoff_seconds * 2.0 ** min(attempts - 1, _MOST_DOUBLINGS)
    seconds = min(jobs.backoff_cap_seconds, doubled)
    seconds *= random.uniform(0.5, 1.0)  # Jitter: not all of them at once.
    if isinstance(error, ModelUnavailable) and error.retry_after:
        seconds = max(seconds, error.retry_after)
    return timedelta(seconds=seconds)


def kind(error: ModelError) -> str:
    """The kind of error only: its text may quote what was said."""
    return type(error.__cause__ or error).__name__
