"""How memories fade: by the formulas, for one and for many, whatever the clock does."""

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.records.fading import (
    BLAMED,
    NOTE_HIDDEN,
    PRAISED,
    USED,
    birth,
    notes_until,
    of_note,
    strength,
    touched,
    until,
)
from holdfast.types import Record
from tests.upkeep.living import DAY, NOON, a_record

DAY_US = 86_400_000_000
days = st.floats(0, 400, allow_nan=False)
strengths = st.none() | st.floats(0, 1)
fading = st.sampled_from(
    [("note", "decision"), ("graph", "entity"), ("graph", "relation"), ("fact", "goal")]
)


def a_note(**given: Any) -> Record:
    return a_record(tier="note", kind="decision", **given)


@pytest.mark.parametrize(
    ("age", "expected"),
    [(0, 1.0), (7, 1.0), (8, 0.88), (9, 0.76), (10, 0.64), (15.25, 0.01), (16, 0.0), (4000, 0.0)],
)
def test_a_note_is_whole_for_a_week_and_then_loses_twelve_hundredths_a_day(
    age: float, expected: float
) -> None:
    assert strength(a_note(), NOON + age * DAY) == pytest.approx(expected)


def test_a_weight_that_a_note_has_falls_as_fast() -> None:
    note = a_note(known_from=NOON - 30 * DAY, seen_at=NOON, strength=0.88)
    assert strength(note, NOON) == pytest.approx(0.88)
    assert strength(note, NOON + DAY) == pytest.approx(0.76)
    # In its first week even one that was blamed keeps what it has.
    young = a_note(seen_at=NOON + DAY, strength=0.8)
    assert strength(young, NOON + 7 * DAY) == pytest.approx(0.8)
    assert strength(young, NOON + 8 * DAY) == pytest.approx(0.68)


def is_faded(record: Record, now: datetime) -> bool:
    """Whether a memory is hidden because nobody saw it for long."""
    end = until(record)
    return end is not None and end <= now


def test_a_note_is_hidden_under_a_fifth() -> None:
    assert not is_faded(a_note(), NOON + 13 * DAY)
    assert is_faded(a_note(), NOON + 14 * DAY)
    end = until(a_note())
    assert end is not None
    second = timedelta(seconds=1)
    assert strength(a_note(), end - second) >= NOTE_HIDDEN > strength(a_note(), end + second)
    # Confirmed, its week begins anew.
    assert not is_faded(a_note(seen_at=NOON + 13 * DAY), NOON + 26 * DAY)


@pytest.mark.parametrize(
    ("age", "expected"), [(45, 0.5**0.5), (90, 0.5), (180, 0.25), (0, 1.0), (-1, 1.0)]
)
def test_an_edge_has_a_half_life_of_ninety_days(age: float, expected: float) -> None:
    edge = a_record(tier="graph", kind="relation")
    assert strength(edge, NOON + age * DAY) == pytest.approx(expected)
    seen_again = a_record(tier="graph", kind="relation", seen_at=NOON + 1000 * DAY)
    assert strength(seen_again, NOON + 1000 * DAY) == 1.0
    assert is_faded(edge, NOON + 300 * DAY)
    assert not is_faded(edge, NOON + 298 * DAY)


def test_an_entity_is_born_with_a_half_and_goes_under_a_hundredth() -> None:
    entity = a_record(tier="graph", kind="entity", sources=("t1",))
    assert strength(entity, NOON + DAY) == 0.5
    assert strength(entity, NOON + 11 * DAY) == pytest.approx(0.5 * 0.97**10)
    assert not is_faded(entity, NOON + 129 * DAY)
    assert is_faded(entity, NOON + 130 * DAY)
    assert birth(a_record(tier="graph", kind="entity", sources=("1", "2", "3"))) == 0.7


@pytest.mark.parametrize(
    ("tier", "kind"),
    [
        ("session", "turn"), ("fact", "goal"), ("procedure", "instruction"), ("profile", "name"),
        ("procedure", "workflow"), ("knowledge", "page"), ("workspace", "adr"), ("graph", "merge"),
    ],
)  # fmt: skip
def test_nothing_else_fades(tier: str, kind: str) -> None:
    record = a_record(tier=tier, kind=kind)
    assert strength(record, NOON) == strength(record, NOON + 36_500 * DAY) == 0.5
    assert not is_faded(a_record(tier=tier, kind=kind, strength=0.0), NOON)
    assert until(record) is None


def test_touches_add_and_stay_between_nothing_and_one() -> None:
    entity = a_record(tier="graph", kind="entity")
    assert touched(entity, NOON, USED) == pytest.approx(0.6)
    assert touched(entity, NOON, PRAISED) == pytest.approx(0.7)
    assert touched(entity, NOON, BLAMED) == pytest.approx(0.3)
    assert touched(a_record(strength=0.95), NOON, PRAISED) == 1.0
    assert touched(a_record(strength=0.05), NOON, BLAMED) == 0.0
    # What has faded is touched as it is now, not as it was.
    assert touched(entity, NOON + 11 * DAY, USED) == pytest.approx(0.5 * 0.97**10 + 0.1)


@given(fading, days, days, strengths)
def test_strength_never_grows_by_itself_and_stays_in_bounds(
    what: tuple[str, str], first: float, more: float, full: float | None
) -> None:
    record = a_record(tier=what[0], kind=what[1], strength=full)
    early, late = (strength(record, NOON + by * DAY) for by in (first, first + more))
    assert 0 <= late <= early <= 1


@given(fading, days, strengths)
def test_a_clock_that_jumps_back_makes_nothing_older(
    what: tuple[str, str], back: float, full: float | None
) -> None:
    record = a_record(tier=what[0], kind=what[1], strength=full, seen_at=NOON)
    assert strength(record, NOON - back * DAY) == strength(record, NOON)


@given(fading, days, days, strengths, st.sampled_from([USED, PRAISED]))
def test_a_kind_touch_never_lets_it_go_sooner_and_blame_never_later(
    what: tuple[str, str], when: float, after: float, full: float | None, delta: float
) -> None:
    record = a_record(tier=what[0], kind=what[1], strength=full)
    then, end = NOON + when * DAY, NOON + (when + after) * DAY
    for change in (delta, BLAMED):
        value = touched(record, then, change)
        new = a_record(tier=what[0], kind=what[1], strength=value, seen_at=then)
        if change > 0:
            assert strength(new, end) >= strength(record, end) - 1e-9
        elif what[1] != "entity":  # Their grace of one day begins again with any touch.
            assert strength(new, end) <= strength(record, end) + 1e-9


@given(st.lists(st.tuples(days, days, strengths), min_size=1, max_size=20), days)
def test_many_notes_are_judged_as_one_by_one(
    notes: list[tuple[float, float, float | None]], asked: float
) -> None:
    known = np.array([round(k * DAY_US) for k, _, _ in notes], dtype=np.int64)
    seen = known + np.array([round(s * DAY_US) for _, s, _ in notes], dtype=np.int64)
    full = np.array([-1.0 if f is None else f for _, _, f in notes])
    ends = notes_until(known, seen, full)
    for place, (_, _, value) in enumerate(notes):
        # The very moment may be told either way by a rounding.
        if abs(int(ends[place]) - round(asked * DAY_US)) > 1000:
            now = of_note(int(known[place]), int(seen[place]), round(asked * DAY_US), value)
            if abs(now - NOTE_HIDDEN) > 1e-5:
                assert (now >= NOTE_HIDDEN) == (round(asked * DAY_US) <= ends[place])


def test_summer_time_and_zones_do_not_matter() -> None:
    kathmandu = datetime.fromisoformat("2026-03-11T17:45:00+05:45")
    assert kathmandu.astimezone(UTC) == NOON + 10 * DAY
    assert strength(a_note(), kathmandu) == pytest.approx(0.64)
