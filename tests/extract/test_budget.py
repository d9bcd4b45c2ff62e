"""The budget of a day: what may be spent, when it is over, when it begins again."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.extract.budget import Call, Limit, Price, Spend, allowed, day_of, refill

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = date(2026, 3, 1)
NEW = Spend(DAY)
CENTS = Price(prompt=0.5, answer=2.0)


def test_a_call_counts_once_with_its_tokens_and_its_cost() -> None:
    spend = NEW.charged(1_000, 500, price=CENTS, now=NOON).charged(1, 1, price=CENTS, now=NOON)
    assert (spend.calls, spend.prompt_tokens, spend.answer_tokens) == (2, 1_001, 501)
    assert spend.tokens == 1_502
    assert spend.cost == pytest.approx((1_001 * 0.5 + 501 * 2) / 1e6)


@pytest.mark.parametrize(
    ("limit", "kind"),
    [
        (Limit(calls=3), "3 calls"),
        (Limit(tokens=3_300), "3300 tokens"),
        (Limit(cost=0.0021), "0.0021 cost"),
    ],
)
def test_each_kind_of_limit_ends_the_day(limit: Limit, kind: str) -> None:
    spend = NEW
    for _ in range(3):
        assert allowed(spend, limit, NOON, ahead=(1_000, 100), price=CENTS).ok
        spend = spend.charged(1_000, 100, price=CENTS, now=NOON)
    verdict = allowed(spend, limit, NOON, ahead=(1_000, 100), price=CENTS)
    assert not verdict.ok
    assert kind in verdict.why
    assert verdict.wait == timedelta(hours=12)


def test_without_a_limit_everything_is_allowed() -> None:
    spend = Spend(DAY, calls=10**9, prompt_tokens=10**12, cost=1e9)
    assert allowed(spend, Limit(), NOON) == (True, "", timedelta())


def test_a_limit_of_nothing_allows_nothing() -> None:
    assert not allowed(NEW, Limit(calls=0), NOON).ok


def test_at_midnight_utc_a_new_day_begins_wherever_the_caller_is() -> None:
    full = Spend(DAY, calls=5)
    limit = Limit(calls=5)
    last = datetime(2026, 3, 1, 23, 59, 59, 999_999, tzinfo=UTC)
    assert not allowed(full, limit, last).ok
    assert allowed(full, limit, last + timedelta(microseconds=1)).ok
    kathmandu = timezone(timedelta(hours=5, minutes=45))
    assert not allowed(full, limit, datetime(2026, 3, 2, 5, 44, tzinfo=kathmandu)).ok
    assert allowed(full, limit, datetime(2026, 3, 2, 5, 45, tzinfo=kathmandu)).ok


def test_a_clock_that_runs_back_does_not_refill_the_purse() -> None:
    full = Spend(DAY, calls=5)
    yesterday = NOON - timedelta(days=1)
    verdict = allowed(full, Limit(calls=5), yesterday)
    assert not verdict.ok
    assert yesterday + verdict.wait == refill(full, yesterday) == datetime(2026, 3, 2, tzinfo=UTC)


def test_a_settled_call_costs_what_it_took() -> None:
    charged = Call(1_000, 2_048, NOON)
    spend = NEW.charged(*charged.size, price=CENTS, now=NOON)
    spend = spend.settled(charged, Call(990, 40, NOON), price=CENTS, now=NOON)
    assert (spend.calls, spend.tokens) == (1, 1_030)
    assert spend.cost == pytest.approx((990 * 0.5 + 40 * 2) / 1e6)


def test_a_call_over_midnight_is_paid_by_the_day_it_began() -> None:
    after = NOON + timedelta(days=1)
    spend = NEW.charged(10, 10, price=CENTS, now=NOON).charged(7, 7, price=CENTS, now=after)
    settled = spend.settled(Call(10, 10, NOON), Call(1, 1, after), price=CENTS, now=after)
    assert settled == spend


def test_a_model_that_always_times_out_costs_at_most_the_budget_of_the_day() -> None:
    """A day of one try every ten seconds: charged ahead, never settled."""
    limit = Limit(tokens=50_000)
    spend, calls, now = NEW, 0, datetime(2026, 3, 1, tzinfo=UTC)
    while day_of(now) == DAY:
        if allowed(spend, limit, now, ahead=(4_000, 2_048)).ok:
            spend = spend.charged(4_000, 2_048, price=Price(), now=now)
            calls += 1
        now += timedelta(seconds=10)
    assert calls == 8
    assert spend.tokens <= 50_000


sizes = st.tuples(st.integers(0, 5_000), st.integers(0, 5_000))


@given(st.lists(st.tuples(sizes, st.integers(-40, 40))), st.integers(0, 20_000), st.integers(0, 9))
def test_no_order_of_calls_spends_more_than_the_limit(
    calls: list[tuple[tuple[int, int], int]], tokens: int, most: int
) -> None:
    limit = Limit(calls=most, tokens=tokens)
    spend, now = NEW, NOON
    for ahead, hours in calls:
        now += timedelta(hours=hours)
        if allowed(spend, limit, now, ahead=ahead).ok:
            spend = spend.charged(*ahead, price=Price(), now=now)
        assert spend.tokens <= tokens
        assert spend.calls <= most
