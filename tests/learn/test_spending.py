"""Paying for calls: charged before, corrected after, and never more than the day allows."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import astuple
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from holdfast.errors import ModelError, ModelUnavailable, NotAsked, OverBudget, Refused
from holdfast.learn.drafts_from_llm import LlmExtractor
from holdfast.models.base import Generated
from holdfast.models.budget import Breaker, Limit, Price, Purse, Size
from holdfast.store.protocols import Spent, Store
from holdfast.store.sqlite import SqliteStore
from holdfast.types import Event, Scope

#: Left out of `make check`: each opens a memory, or takes its time.
pytestmark = pytest.mark.slow

ANN, BO = Scope("default", "ann"), Scope("default", "bo")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = date(2026, 3, 1)
MOST = Size(1_000, 500)
CENTS = Price(prompt=0.5, answer=2.0)


class Clock:
    """The time of the wall, and the seconds that a breaker counts."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now

    def seconds(self) -> float:
        return self.now.timestamp()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = SqliteStore(str(tmp_path / "memory.db"))
    yield opened
    opened.close()


def a_purse(store: Store, clock: Clock, **most: float) -> Purse:
    return Purse(store, limit=Limit(**most), price=CENTS, clock=clock)  # type: ignore[arg-type]


def test_a_call_is_charged_before_it_is_made_and_corrected_after(
    store: Store, clock: Clock
) -> None:
    with a_purse(store, clock).paying(ANN, MOST) as bill:
        assert astuple(store.spent(ANN, DAY)) == pytest.approx((1, 1_000, 500, 0.0015))
        bill.took(Size(900, 20))
    assert astuple(store.spent(ANN, DAY)) == pytest.approx((1, 900, 20, 0.00049))
    assert store.spent(BO, DAY) == Spent()


def test_a_call_that_never_comes_back_stays_charged(store: Store, clock: Clock) -> None:
    with pytest.raises(ModelUnavailable), a_purse(store, clock).paying(ANN, MOST):
        raise ModelUnavailable("no answer within 60 s")
    with pytest.raises(KeyboardInterrupt), a_purse(store, clock).paying(ANN, MOST):
        raise KeyboardInterrupt
    spent = store.spent(ANN, DAY)
    assert (spent.calls, spent.prompt_tokens, spent.answer_tokens) == (2, 2_000, 1_000)


def test_what_was_not_sent_costs_nothing(store: Store, clock: Clock) -> None:
    with pytest.raises(NotAsked), a_purse(store, clock).paying(ANN, MOST):
        raise NotAsked(retry_after=9)
    assert store.spent(ANN, DAY) == Spent()


def test_who_is_refused_pays_the_call_and_no_token(store: Store, clock: Clock) -> None:
    with pytest.raises(Refused), a_purse(store, clock).paying(ANN, MOST):
        raise Refused
    assert store.spent(ANN, DAY) == Spent(calls=1)


def test_a_call_over_midnight_is_paid_by_the_day_it_began(store: Store, clock: Clock) -> None:
    with a_purse(store, clock).paying(ANN, MOST) as bill:
        clock.now += timedelta(days=1)
        bill.took(Size(10, 10))
    assert store.spent(ANN, DAY).prompt_tokens == 10
    assert store.spent(ANN, DAY + timedelta(days=1)) == Spent()


@pytest.mark.parametrize(
    ("limit", "told"),
    [({"calls": 2}, "2 calls"), ({"tokens": 3_100}, "3100 tokens"), ({"cost": 0.0031}, "0.0031")],
)
def test_over_the_limit_nothing_is_sent_until_midnight(
    store: Store, clock: Clock, limit: dict[str, float], told: str
) -> None:
    purse = a_purse(store, clock, **limit)
    for _ in range(2):
        with purse.paying(ANN, MOST) as bill:
            bill.took(MOST)
    before = store.spent(ANN, DAY)
    with pytest.raises(OverBudget, match=told) as caught, purse.paying(ANN, MOST):
        pytest.fail("it was allowed")
    assert isinstance(caught.value, NotAsked)
    assert caught.value.retry_after == 12 * 3600
    assert store.spent(ANN, DAY) == before
    with purse.paying(BO, MOST):
        pass
    clock.now += timedelta(hours=12)
    with purse.paying(ANN, MOST):
        pass


def test_many_at_once_do_not_break_the_limit(store: Store, clock: Clock) -> None:
    purse = a_purse(store, clock, calls=5)
    start = threading.Barrier(8)
    most_seen: list[int] = []

    def work() -> None:
        start.wait()
        for _ in range(4):
            try:
                with purse.paying(ANN, MOST):
                    most_seen.append(1)
            except OverBudget:
                pass

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(most_seen) <= 5
    assert store.spent(ANN, DAY).calls == len(most_seen)
    # All of them may have stepped back at once; one alone still gets what is left, and no more.
    with suppress(OverBudget):
        while True:
            with purse.paying(ANN, MOST):
                most_seen.append(1)
    assert len(most_seen) == 5


def test_it_is_kept_when_the_process_ends(tmp_path: Path, clock: Clock) -> None:
    for expected in (1, 2, 2):
        store = SqliteStore(str(tmp_path / "memory.db"))
        try:
            with a_purse(store, clock, calls=2).paying(ANN, MOST):
                pass
        except OverBudget:
            pass
        assert store.spent(ANN, DAY).calls == expected
        store.close()


class Failing:
    """A model that fails in one way, and counts."""

    model_id = "failing"
    max_answer_tokens = 2_000

    def __init__(self, error: ModelError) -> None:
        self._error = error
        self.calls = 0

    def generate(
        self, system: str, text: str, *, schema: Mapping[str, Any] | None = None
    ) -> Generated:
        self.calls += 1
        raise self._error


def a_day(model: Failing, store: Store, clock: Clock, **most: float) -> list[ModelError]:
    """24 hours in which somebody asks every thirty seconds, from midnight on."""
    clock.now = datetime(2026, 3, 1, tzinfo=UTC)
    extractor = LlmExtractor(
        model, breaker=Breaker(clock=clock.seconds), purse=a_purse(store, clock, **most)
    )
    turn = Event("0" * 32, 1, "user", "Anna works at Acme.", NOON, NOON, "user")
    errors = []
    while clock.now < datetime(2026, 3, 2, tzinfo=UTC):
        try:
            extractor.extract(ANN, [turn], user="Dana")
        except ModelError as error:
            errors.append(error)
        clock.now += timedelta(seconds=30)
    return errors


@pytest.mark.parametrize("limit", [{"calls": 40}, {"tokens": 100_000}, {"cost": 0.1}])
def test_a_day_of_timeouts_stays_within_the_budget(
    store: Store, clock: Clock, limit: dict[str, float]
) -> None:
    model = Failing(ModelUnavailable("no answer within 60 s"))
    errors = a_day(model, store, clock, **limit)
    spent = store.spent(ANN, DAY)
    assert 5 < model.calls == spent.calls <= limit.get("calls", 299)
    assert spent.prompt_tokens + spent.answer_tokens <= limit.get("tokens", 10**9)
    assert spent.cost <= limit.get("cost", 1e9)
    assert isinstance(errors[-1], OverBudget)
    assert sum(not isinstance(error, NotAsked) for error in errors) == model.calls


def test_without_a_budget_the_breaker_bounds_a_day_of_timeouts(store: Store, clock: Clock) -> None:
    model = Failing(ModelUnavailable("no answer within 60 s"))
    a_day(model, store, clock)
    assert model.calls <= 5 + 4 + 24 * 12


def test_a_refused_key_is_tried_once_in_five_minutes_and_costs_no_token(
    store: Store, clock: Clock
) -> None:
    model = Failing(Refused("HTTP 401"))
    a_day(model, store, clock)
    assert model.calls == 24 * 12
    assert store.spent(ANN, DAY) == Spent(calls=24 * 12)
