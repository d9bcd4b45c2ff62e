"""What a scope has spent on its model today, and whether it may spend more.

Values and arithmetic; who keeps them is not decided here. A day is a day of UTC. A call is charged
before it is made, with the most it can take, and settled with what it took: a call that never comes
back costs what it may have cost, so a model that always times out cannot empty the account.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

_TOKENS_PER_PRICE = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """What a million tokens cost, in the currency of the budget."""

    prompt: float = 0.0
    answer: float = 0.0

    def of(self, prompt_tokens: int, answer_tokens: int) -> float:
        """The cost of one call."""
        total = prompt_tokens * self.prompt + answer_tokens * self.answer
        return total / _TOKENS_PER_PRICE


@dataclass(frozen=True, slots=True)
class Limit:
    """The most that a scope may spend in one day; None = no limit of this kind."""

    calls: int | None = None
    tokens: int | None = None
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class Spend:
    """What a scope has spent on one day."""

    day: date
    calls: int = 0
    prompt_tokens: int = 0
    answer_tokens: int = 0
    cost: float = 0.0

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.answer_tokens

    def on(self, now: datetime) -> Spend:
        """The spend of the day of `now`: this one, or nothing yet on a later day.

        A clock that runs back does not refill the purse: an earlier day counts as this one.
        """
        today = day_of(now)
        return Spend(today) if today > self.day else self

    def charged(
        self, prompt_tokens: int, answer_tokens: int, *, price: Price, now: datetime
    ) -> Spend:
        """With one more call of this size."""
        today = self.on(now)
        return replace(
            today,
            calls=today.calls + 1,
            prompt_tokens=today.prompt_tokens + prompt_tokens,
            answer_tokens=today.answer_tokens + answer_tokens,
            cost=today.cost + price.of(prompt_tokens, answer_tokens),
        )

    def settled(self, charged: Call, took: Call, *, price: Price, now: datetime) -> Spend:
        """With what a call took in place of what it was charged; the call itself stays counted.

        A call that was charged before midnight and ends after it leaves the new day alone: the old
        one paid for it.
        """
        today = self.on(now)
        if day_of(charged.at) < today.day:
            return today
        difference = price.of(*took.size) - price.of(*charged.size)
        return replace(
            today,
            prompt_tokens=max(0, today.prompt_tokens + took.prompt_tokens - charged.prompt_tokens),
            answer_tokens=max(0, today.answer_tokens + took.answer_tokens - charged.answer_tokens),
            cost=max(0.0, today.cost + difference),
        )


class Call(NamedTuple):
    """The size of one call, and when it was charged."""

    prompt_tokens: int
    answer_tokens: int
    at: datetime

    @property
    def size(self) -> tuple[int, int]:
        return self.prompt_tokens, self.answer_tokens


class Verdict(NamedTuple):
    """Whether a call may be made; if not, why, and how long until it may."""

    ok: bool
    why: str = ""
    wait: timedelta = timedelta()


def allowed(
    spend: Spend,
    limit: Limit,
    now: datetime,
    *,
    ahead: tuple[int, int] = (0, 0),
    price: Price | None = None,
) -> Verdict:
    """Whether one more call of `ahead` (prompt, answer) tokens stays within the day's limit."""
    price = price or Price()
    after = spend.on(now).charged(*ahead, price=price, now=now)
    spent = (("calls", after.calls), ("tokens", after.tokens), ("cost", after.cost))
    most = {"calls": limit.calls, "tokens": limit.tokens, "cost": limit.cost}
    for kind, value in spent:
        bound = most[kind]
        if bound is not None and value > bound:
            why = (
                f"the budget of {bound:g} {kind} a day does not allow another call before midnight"
            )
            return Verdict(False, f"{why} UTC", refill(spend, now) - now)
    return Verdict(True)


def refill(spend: Spend, now: datetime) -> datetime:
    """When the next day begins for this spend."""
    after = max(spend.day, day_of(now)) + timedelta(days=1)
    return datetime(after.year, after.month, after.day, tzinfo=UTC)


def day_of(moment: datetime) -> date:
    """The day of UTC."""
    return moment.astimezone(UTC).date()
