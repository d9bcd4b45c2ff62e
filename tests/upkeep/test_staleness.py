"""Facts that nobody confirmed for long."""

from typing import Any

import pytest

from holdfast.types import Record
from holdfast.upkeep.plans import expected_days, is_stale
from holdfast.upkeep.plans import plan_staleness as plan
from tests.upkeep.living import DAY, NOON, a_record

LATER = NOON + 91 * DAY


def some(count: int, **given: Any) -> list[Record]:
    return [a_record(f"r{i}", confidence=0.9 - i / 100, **given) for i in range(count)]


def test_three_are_reviewed_two_are_not() -> None:
    assert plan(some(2), now=LATER, most=99) == []
    assert len(plan(some(3), now=LATER, most=99)) == 3
    assert plan(some(3), now=NOON + 90 * DAY, most=99) == []


def test_at_most_ten_the_least_sure_first() -> None:
    acts = plan(some(30), now=LATER, most=99)
    assert [act.ids[0] for act in acts] == [f"r{i}" for i in range(29, 19, -1)]
    assert {act.deed for act in acts} == {"archive"}
    some_only = plan(some(30), now=LATER, most=4)
    assert [act.deed for act in some_only] == ["archive"] * 4 + ["review"] * 6


def test_what_the_user_said_is_only_named() -> None:
    acts = plan(some(3, origin="user"), now=LATER, most=99)
    assert [act.deed for act in acts] == ["review"] * 3
    assert "not confirmed for 91 days, expected 90" in acts[0].reason


@pytest.mark.parametrize(
    "given",
    [
        {"kind": "correction"},
        {"tier": "note"},
        {"data": {"pinned": True}},
        {"seen_at": NOON + 5 * DAY},
        {"data": {"expected_valid_days": 100}},
        {"archived_at": NOON},
    ],
)
def test_what_is_not_stale(given: dict[str, Any]) -> None:
    assert plan(some(5, **given), now=LATER, most=99) == []


@pytest.mark.parametrize(
    ("told", "expected"),
    [(7, 7), (0.5, 0.5), (99_999, 3650), (0, 90), (-1, 90), ("7", 90), (True, 90), (None, 90)],
)
def test_how_long_a_fact_is_expected_to_hold(told: Any, expected: float) -> None:
    record = a_record(data={"expected_valid_days": told})
    assert expected_days(record) == expected
    assert is_stale(record, NOON + (expected + 1) * DAY)
    assert not is_stale(record, NOON + expected * DAY)
    assert not is_stale(record, NOON - 9999 * DAY)
