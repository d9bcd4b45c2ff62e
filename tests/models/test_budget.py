"""The budget of a day: what a call costs, what is too much, when the day is over."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from holdfast.models.budget import Limit, Price, Size, broken, day_of, until_midnight
from holdfast.store.protocols import Spent

CENTS = Price(prompt=0.5, answer=2.0)


def test_a_call_costs_what_its_tokens_cost() -> None:
    assert CENTS.of(Size(1_001, 501)) == pytest.approx((1_001 * 0.5 + 501 * 2) / 1e6)
    assert Price().of(Size(10**9, 10**9)) == 0


@pytest.mark.parametrize(
    ("limit", "kind"),
    [
        (Limit(calls=3), "3 calls"),
        (Limit(tokens=3_300), "3300 tokens"),
        (Limit(cost=0.0021), "0.0021 cost"),
    ],
)
def test_the_call_that_is_too_much_is_named(limit: Limit, kind: str) -> None:
    size = Size(1_000, 100)
    two = Spent(2, 2_000, 200, 2 * CENTS.of(size))
    three = Spent(3, 3_000, 300, 3 * CENTS.of(size))
    assert broken(two, limit, ahead=size, price=CENTS) == ""
    assert broken(three, limit) == "", "reached, not broken"
    assert kind in broken(three, limit, ahead=size, price=CENTS)
    assert kind in broken(Spent(4, 3_301, 0, 0.0022), limit)


def test_without_a_limit_nothing_is_too_much() -> None:
    assert broken(Spent(10**9, 10**12, 10**12, 1e9), Limit(), ahead=Size(10**9, 1)) == ""


def test_a_limit_of_nothing_allows_nothing() -> None:
    assert broken(Spent(), Limit(calls=0), ahead=Size())


def test_a_day_is_a_day_of_utc_wherever_the_caller_is() -> None:
    kathmandu = timezone(timedelta(hours=5, minutes=45))
    last = datetime(2026, 3, 2, 5, 44, tzinfo=kathmandu)
    assert day_of(last) == date(2026, 3, 1)
    assert until_midnight(last) == timedelta(minutes=1)
    assert day_of(last + timedelta(minutes=1)) == date(2026, 3, 2)
    assert until_midnight(datetime(2026, 3, 1, tzinfo=UTC)) == timedelta(days=1)
