"""House time: what is wiped goes by the time that the store has seen pass, not by a clock."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import holdfast
from holdfast.errors import NotFound, StoreError
from holdfast.memory.memory import Memory
from holdfast.testing.fakes import HashEmbedder

START = datetime(2026, 3, 1, tzinfo=UTC)


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(tmp_path: Path, clock: Clock) -> Iterator[Memory]:
    path = tmp_path / "m.db"
    with holdfast.open(path, embedder=HashEmbedder(64), clock=clock, worker=False) as opened:
        yield opened


def forgotten(memory: Memory) -> str:
    event = memory.remember("The code of the gate is 4711.", user="ann").events[0]
    memory.forget(event, user="ann")
    return event


def is_kept(memory: Memory, event: str) -> bool:
    try:
        memory.history(event, user="ann")
    except NotFound:
        return False
    return True


def test_what_was_forgotten_is_wiped_after_its_days(memory: Memory, clock: Clock) -> None:
    event = forgotten(memory)
    for _ in range(31):
        memory.worker.house.round()
        assert is_kept(memory, event)
        clock.now += timedelta(days=1)
    memory.worker.house.round()
    assert not is_kept(memory, event)


@pytest.mark.parametrize("years", [10, -10])
def test_a_clock_that_jumps_wipes_nothing(memory: Memory, clock: Clock, years: int) -> None:
    memory.worker.house.round()
    event = forgotten(memory)
    clock.now += timedelta(days=365 * years)
    for _ in range(50):
        memory.worker.house.round()
        clock.now += timedelta(hours=1)
    assert is_kept(memory, event)
    clock.now = START + timedelta(days=2)
    memory.worker.house.round()
    assert memory.restore(event, user="ann")
    assert memory.recall("code of the gate", user="ann")


def test_the_first_round_of_a_store_wipes_nothing(memory: Memory, clock: Clock) -> None:
    event = forgotten(memory)
    clock.now += timedelta(days=400)
    memory.worker.house.round()
    assert is_kept(memory, event)


def test_after_a_long_pause_house_time_runs_with_the_process(
    memory: Memory, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store that lay in a drawer for a year gives the days again, and then wipes."""
    memory.worker.house.round()
    event = forgotten(memory)
    clock.now += timedelta(days=400)
    running = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: running)
    memory.worker.house.round()
    for _ in range(29):
        running += 86_400.0
        clock.now += timedelta(days=1)
        memory.worker.house.round()
    assert is_kept(memory, event)
    for _ in range(3):
        running += 86_400.0
        clock.now += timedelta(days=1)
        memory.worker.house.round()
    assert not is_kept(memory, event)


def test_a_nightly_round_that_fails_does_not_end_the_worker(
    memory: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(_now: datetime) -> None:
        raise StoreError("a text that nobody must read in a log")

    memory.worker.house.nightly = fails
    memory.worker.house.round()
    assert "StoreError" in caplog.text
    assert "nobody must read" not in caplog.text
