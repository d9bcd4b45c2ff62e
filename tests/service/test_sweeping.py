"""When the service collects garbage."""

import gc
import itertools
import threading
import weakref

import pytest

from holdfast.service.http.serving import sweeping

LOOK = 0.005


class Knot:
    """Holds itself, so that only a collection ends it."""

    def __init__(self) -> None:
        self.me = self


def old_garbage() -> tuple[weakref.ref[Knot], threading.Event]:
    """Garbage that only a full collection finds, which is due; the event is set when it is gone."""
    knot, gone = Knot(), threading.Event()
    watched = weakref.ref(knot, lambda _: gone.set())
    gc.collect(1)  # What is alive moves to the oldest generation.
    gc.collect(1)
    del knot
    for _ in range(20):
        gc.collect(1)
    return watched, gone


@pytest.fixture(autouse=True)
def _as_found() -> None:
    assert gc.get_freeze_count() == 0


class Requests:
    """How many there were so far: as many as before, or one more at each look."""

    def __init__(self, *, coming: bool) -> None:
        self.looks = itertools.count()
        self.coming = coming

    def __call__(self) -> int:
        number = next(self.looks)
        return number if self.coming else 7


def test_a_full_collection_comes_when_nothing_is_asked() -> None:
    with sweeping(Requests(coming=False), look_seconds=LOOK):
        _, gone = old_garbage()
        assert gone.wait(30)


def test_none_comes_while_requests_come() -> None:
    requests = Requests(coming=True)
    with sweeping(requests, look_seconds=LOOK):
        watched, gone = old_garbage()
        first = requests()
        while requests() - first < 50:  # The sweeper's looks and ours.
            assert not gone.wait(LOOK)
        assert watched() is not None


def test_it_is_not_put_off_for_ever() -> None:
    with sweeping(Requests(coming=True), look_seconds=LOOK, latest_seconds=0.05):
        _, gone = old_garbage()
        assert gone.wait(30)


def test_afterwards_the_interpreter_is_as_it_was() -> None:
    before = gc.get_threshold()
    with sweeping(lambda: 0):
        assert gc.get_threshold()[2] > before[2]
        assert gc.get_freeze_count() > 0
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0
