"""What may be asked of a model: what a call costs, what a day may cost; and a circuit breaker: an
endpoint that is down or refuses us is left alone for a while.

A day is a day of UTC. Of the breaker:

    401, 402, a spent quota          open at once, one probe every five minutes
    five transient failures in a row open for 30 s, doubled by every failed probe up to five minutes
    429 with Retry-After             open for that long, at most five minutes

Open means that `admit` raises `NotAsked` with the time to wait, and nothing is sent. When
the time is over one caller is let through as a probe; the others wait for another such time or for
its success, whichever comes first, so a prober that dies blocks nobody for ever. An endpoint that
answers anything else is there: a bad request closes the breaker as a good answer does.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple, TypeVar

from holdfast.errors import ModelError, ModelUnavailable, NotAsked, OverBudget, Refused
from holdfast.language.tokens import count_tokens
from holdfast.models.base import Generated, Generator, typed_errors
from holdfast.store.protocols import Spending, Spent
from holdfast.types import Scope

FAILURES_TO_OPEN = 5
FIRST_PAUSE_S = 30.0
LONGEST_PAUSE_S = 300.0
REFUSED_PAUSE_S = 300.0

T = TypeVar("T")


_TOKENS_PER_PRICE = 1_000_000


class Breaker:
    """Watches the calls to one endpoint; several threads may share it.

    `clock` counts seconds and never goes back.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        #: How long the next opening lasts.
        self._pause = FIRST_PAUSE_S
        #: While set, nobody passes before this time, and then one.
        self._until: float | None = None
        #: Somebody was let through since it opened.
        self._probing = False
        self._why = ""

    @property
    def is_open(self) -> bool:
        """Whether a call now would be a probe, or refused."""
        with self._lock:
            return self._until is not None

    def call(self, ask: Callable[[], T]) -> T:
        """What `ask` returns, unless the breaker is open; its ModelError is counted and raised."""
        self.admit()
        try:
            answer = ask()
        except ModelError as error:
            self.failed(error)
            raise
        self.succeeded()
        return answer

    def check(self) -> None:
        """Return if `admit` would, without being the one who is let through."""
        with self._lock:
            self._refuse(self._clock())

    def admit(self) -> None:
        """Return if a call may be made now; whoever was admitted reports how it went."""
        with self._lock:
            now = self._clock()
            self._refuse(now)
            if self._until is not None:
                # The probe. Should nobody report, another one follows after the same time.
                self._until = now + self._pause
                self._probing = True

    def succeeded(self) -> None:
        """The endpoint answered."""
        with self._lock:
            self._close()

    def failed(self, error: ModelError) -> None:
        """The endpoint failed, or answered that the request is wrong."""
        with self._lock:
            if isinstance(error, Refused):
                self._open(REFUSED_PAUSE_S, "the key or the account was refused")
            elif isinstance(error, ModelUnavailable):
                self._count(error)
            else:
                self._close()

    def _refuse(self, now: float) -> None:
        if self._until is not None and now < self._until:
            wait = self._until - now
            raise NotAsked(f"left alone for {wait:.0f} s: {self._why}", retry_after=wait)

    def _count(self, error: ModelUnavailable) -> None:
        self._failures += 1
        if error.retry_after:
            self._open(min(error.retry_after, LONGEST_PAUSE_S), "it asked for time")
        elif self._probing:
            self._open(min(self._pause * 2, LONGEST_PAUSE_S), "it is still down")
        elif self._until is None and self._failures >= FAILURES_TO_OPEN:
            # While it is open, what fails was sent before it opened and tells nothing new.
            self._open(FIRST_PAUSE_S, f"it failed {self._failures} times in a row")

    def _open(self, pause: float, why: str) -> None:
        self._pause = pause
        self._until = self._clock() + pause
        self._probing = False
        self._why = why

    def _close(self) -> None:
        self._failures = 0
        self._pause = FIRST_PAUSE_S
        self._until = None
        self._probing = False
        self._why = ""


class Size(NamedTuple):
    """The size of a call in tokens."""

    prompt: int = 0
    answer: int = 0

    def plus(self, other: Size) -> Size:
        return Size(self.prompt + other.prompt, self.answer + other.answer)

    def minus(self, other: Size) -> Size:
        return Size(self.prompt - other.prompt, self.answer - other.answer)


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


# Paying for calls of the model: nothing is sent that the budget of the day does not allow.
#
# A call is charged durably before it is made, with the most it can take, and corrected when it is
# over. A call that never comes back stays charged in full: neither a model that always times out
# nor a process that dies in every call can spend more than the day allows.


class Bill:
    """One call that was charged; its maker says what it took, if that is known."""

    def __init__(self) -> None:
        self.size: Size | None = None

    def took(self, size: Size) -> None:
        self.size = size


class Purse:
    """Charges calls to the daily budget of a scope."""

    def __init__(
        self, account: Spending, *, limit: Limit, price: Price, clock: Callable[[], datetime]
    ) -> None:
        self._account = account
        self._limit = limit
        self._price = price
        self._clock = clock

    @contextmanager
    def paying(self, scope: Scope, most: Size) -> Iterator[Bill]:
        """Around one call that takes `most` at most; `OverBudget` when there is no money for it.

        The day it was charged to pays for it, also if it ends after midnight.
        """
        now = self._clock()
        day = day_of(now)
        spent = self._account.spent(scope, day)
        self._refuse(broken(spent, self._limit, ahead=most, price=self._price), now)
        self._add(scope, day, most, calls=1)
        # Others may have paid at the same moment: who breaks the limit steps back.
        if why := broken(self._account.spent(scope, day), self._limit):
            self._add(scope, day, Size().minus(most), calls=-1)
            self._refuse(why, now)
        bill = Bill()
        try:
            yield bill
        except NotAsked:
            self._add(scope, day, Size().minus(most), calls=-1)
            raise
        except Refused:  # Who is refused has been given nothing.
            bill.took(Size())
            raise
        finally:
            if bill.size is not None:
                self._add(scope, day, bill.size.minus(most))

    def _refuse(self, why: str, now: datetime) -> None:
        if why:
            wait = until_midnight(now).total_seconds()
            raise OverBudget(f"{why} allows no call before midnight UTC", retry_after=wait)

    def _add(self, scope: Scope, day: date, size: Size, *, calls: int = 0) -> None:
        self._account.charge(
            scope,
            day,
            calls=calls,
            prompt_tokens=size.prompt,
            answer_tokens=size.answer,
            cost=self._price.of(size),
        )


# A language model that is asked within the budget of the day, and left alone while it fails.
#
# Whoever asks it, for whatever purpose, pays from the same purse and minds the same breaker.


@dataclass(frozen=True, slots=True)
class Paid:
    """A language model behind a budget and a circuit breaker. Threads may share it."""

    generator: Generator
    breaker: Breaker
    purse: Purse

    def ask(self, scope: Scope, system: str, text: str, *, schema: Mapping[str, Any]) -> Generated:
        """The answer, paid for by this scope.

        `NotAsked` or `OverBudget`: nothing was sent or charged. Any other ModelError: it failed.
        """
        self.breaker.check()  # Before anything is charged.
        sent = sum(map(count_tokens, (system, text, json.dumps(schema))))
        most = Size(sent, self.generator.max_answer_tokens)
        with self.purse.paying(scope, most) as bill:
            generated = self.breaker.call(lambda: self._asked(system, text, schema))
            bill.took(Size(generated.usage.prompt_tokens, generated.usage.answer_tokens))
        return generated

    def _asked(self, system: str, text: str, schema: Mapping[str, Any]) -> Generated:
        with typed_errors(self.generator.model_id):
            return self.generator.generate(system, text, schema=schema)
