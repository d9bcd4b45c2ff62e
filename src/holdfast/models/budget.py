"""What a call of the model costs, what a day may cost, and when the next day begins.

Values and arithmetic; `spending` keeps to them. A day is a day of UTC.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

from holdfast.store.base import Spent

_TOKENS_PER_PRICE = 1_000_000


class Size(NamedTuple):
    """The size of a call in tokens."""

    prompt: int = 0
    answer: int = 0


@dataclass(frozen=True, slots=True)
class Price:
    """What a million tokens cost, in the currency of the budget."""

    prompt: float = 0.0
    answer: float = 0.0

    def of(self, size: Size) -> float:
        """The cost of one call."""
        return (size.prompt * self.prompt + size.answer * self.answer) / _TOKENS_PER_PRICE


@dataclass(frozen=True, slots=True)
class Limit:
    """The most that a scope may spend in one day; None = no limit of this kind."""

    calls: int | None = None
    tokens: int | None = None
    cost: float | None = None


def broken(
    spent: Spent, limit: Limit, *, ahead: Size | None = None, price: Price | None = None
) -> str:
    """Which limit one more call of the size `ahead` breaks, in words; without one, which is broken
    as it is. Empty when none."""
    size = ahead or Size()
    tokens = spent.prompt_tokens + spent.answer_tokens + size.prompt + size.answer
    after = (
        ("calls", spent.calls + (ahead is not None), limit.calls),
        ("tokens", tokens, limit.tokens),
        ("cost", spent.cost + (price or Price()).of(size), limit.cost),
    )
    for kind, value, most in after:
        if most is not None and value > most:
            return f"the budget of {most:g} {kind} a day"
    return ""


def until_midnight(now: datetime) -> timedelta:
    """How long the day still lasts."""
    after = day_of(now) + timedelta(days=1)
    return datetime(after.year, after.month, after.day, tzinfo=UTC) - now


def day_of(moment: datetime) -> date:
    """The day of UTC."""
    return moment.astimezone(UTC).date()
