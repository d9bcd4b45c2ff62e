"""Notes: written by hand, a day at a time, faded ones hidden."""

import os
import time
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InvalidInput, ScopeError, TooLarge
from holdfast.memory.memory import Memory
from holdfast.records.fading import strength
from holdfast.records.notes import Notes, day_span
from holdfast.testing.store_suite import NOON
from holdfast.types import Scope
from tests.records.conftest import Clock

ANN = Scope("default", "ann")
DAY = timedelta(days=1)


@pytest.fixture
def notes(memory: Memory, clock: Clock) -> Notes:
    return Notes(memory.store, memory.worker, now=clock, strength=strength)


def contents(found: list[Any]) -> list[str]:
    return [note.content for note in found]


def test_a_note_is_a_record_of_its_own(memory: Memory, notes: Notes) -> None:
    note = notes.add(
        "We keep the old logo.", category="decision", user="ann", agent="bot", session="s1",
        metadata={"ticket": 7}, origin="agent",
    )  # fmt: skip
    (record,) = memory.store.get(ANN, [note.id])
    assert (record.tier, record.kind, record.quiet) == ("note", "decision", 0)
    assert (record.origin, record.role, record.confidence) == ("agent", "assistant", 0.8)
    assert (note.category, note.at, note.weight) == ("decision", NOON, 1.0)
    assert (note.agent, note.session, dict(note.metadata)) == ("bot", "s1", {"ticket": 7})
    memory.drain()
    assert [hit.id for hit in memory.recall("old logo", user="ann", tiers=["note"])] == [note.id]
    assert all(finding.ok for finding in memory.check())


def test_the_same_note_of_the_same_moment_is_one(notes: Notes, clock: Clock) -> None:
    first = notes.add("Bought seeds.", user="ann")
    assert notes.add("Bought seeds.", user="ann").id == first.id
    clock.now = NOON + timedelta(minutes=1)
    assert notes.add("Bought seeds.", user="ann").id != first.id
    assert len(notes.list(user="ann")) == 2


def test_a_forgotten_note_can_be_written_again(memory: Memory, notes: Notes) -> None:
    first = notes.add("Bought seeds.", user="ann")
    memory.forget(first.id, user="ann")
    second = notes.add("Bought seeds.", user="ann")
    assert second.id != first.id
    assert [note.id for note in notes.list(user="ann")] == [second.id]


def test_notes_are_listed_newest_first_by_category_and_time(notes: Notes) -> None:
    for days, category in enumerate(["note", "outcome", "strategy", "outcome"]):
        notes.add(f"day {days}", category=category, user="ann", at=NOON + days * DAY)
    assert contents(notes.list(user="ann")) == ["day 3", "day 2", "day 1", "day 0"]
    assert contents(notes.list(user="ann", category="outcome")) == ["day 3", "day 1"]
    some = notes.list(user="ann", since=NOON + DAY, until=NOON + 3 * DAY)
    assert contents(some) == ["day 2", "day 1"]
    assert contents(notes.list(user="ann", limit=1)) == ["day 3"]
    assert notes.list(user="bea") == []


def test_a_note_fades_and_is_hidden_but_stays_in_its_day(notes: Notes, clock: Clock) -> None:
    notes.add("Old news.", user="ann")
    clock.now = NOON + 10 * DAY
    assert notes.list(user="ann")[0].weight == pytest.approx(0.64)
    clock.now = NOON + 14 * DAY
    assert notes.list(user="ann") == []
    assert notes.list(user="ann", faded=True)[0].weight == pytest.approx(0.16)
    assert contents(notes.day(NOON.date(), user="ann")) == ["Old news."]


@pytest.mark.parametrize(
    ("zone", "inside", "outside"),
    [
        ("UTC", "2026-03-02T00:00Z", "2026-03-03T00:00Z"),
        # 5 h 45 min ahead: the day begins at 18:15 of the day before.
        ("Asia/Kathmandu", "2026-03-01T18:15Z", "2026-03-01T18:14:59Z"),
        ("+05:45", "2026-03-01T18:15Z", "2026-03-02T18:15Z"),
        # 14 h ahead: it begins at 10:00 of the day before.
        ("Pacific/Kiritimati", "2026-03-01T10:00Z", "2026-03-02T10:00Z"),
        ("-11:00", "2026-03-03T10:59:59Z", "2026-03-03T11:00Z"),
    ],
)
def test_a_day_begins_at_the_midnight_of_its_zone(
    notes: Notes, zone: str, inside: str, outside: str
) -> None:
    notes.add("in", user="ann", at=inside)
    notes.add("out", user="ann", at=outside)
    assert contents(notes.day("2026-03-02", user="ann", tz=zone)) == ["in"]


@pytest.mark.parametrize("machine", ["Asia/Kathmandu", "Pacific/Kiritimati", "UTC"])
def test_the_zone_of_the_machine_does_not_matter(machine: str) -> None:
    before = os.environ.get("TZ")
    os.environ["TZ"] = machine
    time.tzset()
    try:
        start, end = day_span(date(2026, 3, 2), "UTC")
    finally:
        del os.environ["TZ"]
        if before is not None:
            os.environ["TZ"] = before
        time.tzset()
    assert (start, end) == (datetime(2026, 3, 2, tzinfo=UTC), datetime(2026, 3, 3, tzinfo=UTC))


def test_days_of_23_and_25_hours_and_none_at_all() -> None:
    def hours(day: str, zone: str) -> float:
        start, end = day_span(day, zone)
        return (end - start) / timedelta(hours=1)

    assert hours("2026-03-29", "Europe/Berlin") == 23
    assert hours("2026-10-25", "Europe/Berlin") == 25
    assert hours("2011-12-30", "Pacific/Apia") == 0  # The day that Samoa left out.


@given(
    day=st.dates(date(1900, 1, 1), date(2199, 12, 30)),
    zone=st.sampled_from(["UTC", "Asia/Kathmandu", "Pacific/Kiritimati", "America/New_York"]),
)
def test_days_follow_one_another_without_a_gap(day: date, zone: str) -> None:
    _, end = day_span(day, zone)
    start, _ = day_span(day + DAY, zone)
    assert end == start


def test_a_day_is_in_the_order_of_its_times(notes: Notes) -> None:
    notes.add("noon", user="ann", at="2026-03-02T12:00Z")
    notes.add("dawn", user="ann", at="2026-03-02T05:00Z")
    notes.add("dusk", user="ann", at="2026-03-02T19:00Z")
    found = notes.day(date(2026, 3, 2), user="ann")
    assert contents(found) == ["dawn", "noon", "dusk"]


def test_an_agent_sees_its_own_notes_and_those_of_nobody(notes: Notes) -> None:
    notes.add("of a", user="ann", agent="a")
    notes.add("of b", user="ann", agent="b")
    notes.add("of nobody", user="ann")
    assert set(contents(notes.list(user="ann", agent="a"))) == {"of a", "of nobody"}
    assert len(notes.list(user="ann")) == 3


@pytest.mark.parametrize(
    ("error", "field", "given"),
    [
        (ScopeError, "user", {"user": None}),
        (InvalidInput, "content", {"content": "  "}),
        (InvalidInput, "content", {"content": None}),
        (TooLarge, "content", {"content": "x" * 16_001}),
        (InvalidInput, "category", {"category": "summary"}),
        (InvalidInput, "origin", {"origin": "god"}),
        (InvalidInput, "at", {"at": "yesterday"}),
        (InvalidInput, "metadata", {"metadata": {"rule": "mine"}}),
    ],
)
def test_a_bad_note_is_refused_with_its_field(
    notes: Notes, error: type[InvalidInput], field: str, given: dict[str, Any]
) -> None:
    with pytest.raises(error) as refused:
        notes.add(**{"content": "fine", "user": "ann", **given})
    assert refused.value.field == field
    assert notes.list(user="ann") == []


@pytest.mark.parametrize(
    ("field", "day", "zone"),
    [
        ("day", "2 March", "UTC"),
        ("day", "1899-12-31", "UTC"),
        ("day", NOON, "UTC"),
        ("tz", "2026-03-02", "Mars/Olympus"),
        ("tz", "2026-03-02", "../../etc/passwd"),
        ("tz", "2026-03-02", "Europe"),
        ("tz", "2026-03-02", "+99:00"),
        ("tz", "2026-03-02", ""),
        ("tz", "2026-03-02", None),
    ],
)
def test_a_bad_day_is_refused_with_its_field(notes: Notes, field: str, day: Any, zone: Any) -> None:
    with pytest.raises(InvalidInput) as refused:
        notes.day(day, user="ann", tz=zone)
    assert refused.value.field == field
