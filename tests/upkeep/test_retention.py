"""What is worth keeping at hand, by the formula, and what is never put aside."""

import math
from typing import Any

import pytest

from holdfast.upkeep.plans import plan_retention as plan
from holdfast.upkeep.plans import quota, retention, trust
from tests.upkeep.living import DAY, NOON, a_record


@pytest.mark.parametrize(
    ("given", "days", "expected"),
    [
        ({"importance": 1.0, "origin": "user"}, 0, 0.8),
        ({"importance": 0.5, "origin": "user", "uses": 5}, 0, 0.2 + 0.4 + 0.1),
        ({"importance": 0.5, "origin": "user", "uses": 99}, 30, 0.2 + 0.4 / math.e + 0.2),
        ({"importance": 0.5, "origin": "web"}, 3000, 0.1),
        ({"importance": 0.0, "origin": "tool"}, 0, 0.28),
        ({"importance": 0.0, "origin": "user"}, -400, 0.4),
    ],
)
def test_the_formula(given: dict[str, Any], days: float, expected: float) -> None:
    assert retention(a_record(**given), NOON + days * DAY) == pytest.approx(expected)


def test_being_seen_keeps_it_fresh() -> None:
    now = NOON + 300 * DAY
    assert retention(a_record(seen_at=now), now) > 2 * retention(a_record(), now)


def test_origins_are_trusted_in_their_order() -> None:
    known = ["user", "user_confirmed", "agent", "tool", "document", "web", "import"]
    assert [trust(each) for each in known] == [1.0, 1.0, 0.8, 0.7, 0.7, 0.5, 0.6]
    assert trust("from the moon") == trust("import")


def test_what_is_old_unimportant_and_unused_goes_the_least_first() -> None:
    records = [a_record(f"r{i}", importance=i / 20) for i in range(20)]
    acts = plan(records, now=NOON + 365 * DAY, most=3)
    assert [act.ids for act in acts] == [("r0",), ("r1",), ("r2",)]
    assert {(act.job, act.deed) for act in acts} == {("retention", "archive")}
    # 0.8 * 0.4 * importance < 0.2
    assert len(plan(records, now=NOON + 3650 * DAY, most=99)) == 13


def test_nothing_younger_than_a_week_goes() -> None:
    record = a_record(importance=0.0, origin="web")
    assert retention(record, NOON + 6.9 * DAY) < 0.2
    assert plan([record], now=NOON + 6.9 * DAY, most=9) == []
    assert len(plan([record], now=NOON + 7 * DAY, most=9)) == 1
    assert plan([record], now=NOON - 3650 * DAY, most=9) == []


@pytest.mark.parametrize(
    "given",
    [
        {"origin": "user"},
        {"origin": "user_confirmed"},
        {"data": {"pinned": True}},
        {"tier": "procedure", "kind": "instruction"},
        {"kind": "instruction"},
        {"tier": "session"},
        {"tier": "knowledge"},
        {"tier": "workspace"},
        {"tier": "graph", "kind": "entity"},
        {"archived_at": NOON},
        {"known_to": NOON},
    ],
)
def test_what_is_protected_never_goes(given: dict[str, Any]) -> None:
    later = NOON + 3650 * DAY
    assert plan([a_record(importance=0.0, **given)], now=later, most=99) == []
    assert len(plan([a_record(importance=0.0)], now=later, most=99)) == 1


def test_a_hundredth_a_day_at_least_ten() -> None:
    few = [a_record(f"r{i}") for i in range(50)]
    many = [a_record(f"r{i}") for i in range(3000)]
    assert (quota(few, now=NOON), quota(many, now=NOON)) == (10, 30)
    gone = [a_record(f"g{i}", archived_at=NOON) for i in range(12)]
    assert quota(many + gone, now=NOON) == 18
    assert quota(few + gone, now=NOON) == 0
    assert quota(many + gone, now=NOON + DAY) == 30
    # A clock that was ahead does not open a new day when it comes back.
    assert quota(many + gone, now=NOON - 3650 * DAY) == 18
