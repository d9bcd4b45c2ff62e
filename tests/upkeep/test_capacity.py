"""How full a tier is, and who goes first."""

import math
from typing import Any

import pytest

from holdfast.upkeep.plans import plan_capacity as plan
from holdfast.upkeep.plans import recommendation, reserve, worth
from tests.upkeep.living import DAY, NOON, a_record


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        (0.0, "none"), (0.79, "none"), (0.8, "consolidate"), (0.99, "consolidate"),
        (1.0, "decay"), (1.19, "decay"), (1.2, "consolidate-and-decay"),
        (9, "consolidate-and-decay"),
    ],
)  # fmt: skip
def test_what_is_recommended(share: float, expected: str) -> None:
    assert recommendation(share) == expected


@pytest.mark.parametrize(
    ("given", "days", "expected"),
    [
        ({}, 0, 0.65 * 0.8 + 0.25 / 2),
        ({}, 90, 0.65 * 0.8 + 0.25 / 4),
        ({"seen_at": NOON}, 90, 0.65 * 0.8 + 0.25 / 2),
        ({"seen_at": NOON, "uses": 8}, 0, 0.65 * 0.8 + 0.25 + 0.10),
        ({"seen_at": NOON, "uses": 800}, 0, 0.65 * 0.8 + 0.25 + 0.10),
        (
            {"seen_at": NOON, "uses": 8},
            30,
            0.65 * 0.8 + 0.25 * 2 ** (-1 / 3) + 0.10 * math.log(5) / math.log(9),
        ),
    ],
)
def test_the_hybrid_order(given: dict[str, Any], days: float, expected: float) -> None:
    record = a_record(**given)
    assert worth(record, NOON + days * DAY) == pytest.approx(expected)
    assert worth(record, NOON + days * DAY, policy="confidence") == 0.8


def test_the_least_sure_go_when_it_is_too_full() -> None:
    records = [a_record(f"r{i}", confidence=i / 10) for i in range(10)]
    acts = plan(records, "fact", now=NOON, most=99, limit=7, policy="confidence")
    assert [act.ids for act in acts] == [("r0",), ("r1",), ("r2",)]
    assert "10 fact records, the limit is 7" in acts[0].reason
    assert len(plan(records, "fact", now=NOON, most=2, limit=7)) == 2
    assert plan(records, "fact", now=NOON, most=99, limit=10) == []
    assert plan(records, "note", now=NOON, most=99, limit=1) == []


def test_of_equals_the_newest_stays() -> None:
    records = [a_record(f"r{i}", known_from=NOON + i * DAY) for i in range(3)]
    acts = plan(records, "fact", now=NOON, most=9, limit=2, policy="confidence")
    assert [act.ids for act in acts] == [("r0",)]


def test_places_are_reserved_for_corrections() -> None:
    assert [reserve(n) for n in (1, 10, 25, 100, 5000)] == [1, 1, 3, 10, 10]
    corrections = [a_record(f"c{i}", kind="correction", confidence=0.1 + i / 100) for i in range(4)]
    others = [a_record(f"r{i}", confidence=0.9) for i in range(20)]
    acts = plan(corrections + others, "fact", now=NOON, most=99, limit=20)
    # Two of the four keep their places; the other two go first, then others.
    assert [act.ids for act in acts[:2]] == [("c0",), ("c1",)]
    assert len(acts) == 4
    assert {act.ids for act in acts}.isdisjoint({("c2",), ("c3",)})


def test_what_the_user_said_or_pinned_is_never_evicted() -> None:
    said = [a_record(f"u{i}", origin="user", confidence=0.0) for i in range(5)]
    pinned = [a_record("p", data={"pinned": True}, confidence=0.0)]
    others = [a_record(f"r{i}", confidence=1.0) for i in range(2)]
    acts = plan(said + pinned + others, "fact", now=NOON, most=99, limit=1)
    assert {act.ids for act in acts} == {("r0",), ("r1",)}
