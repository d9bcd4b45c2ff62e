"""The breaker with a clock that is an argument."""

import threading

import pytest

from holdfast.errors import ModelError, ModelUnavailable, NotAsked, Refused
from holdfast.models.budget import Breaker


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> Breaker:
    return Breaker(clock=clock)


def down() -> str:
    raise ModelUnavailable("down")


def refused() -> str:
    raise Refused("HTTP 401")


def fine() -> str:
    return "fine"


def passes(breaker: Breaker) -> bool:
    try:
        breaker.admit()
    except ModelUnavailable:
        return False
    return True


def open_it(breaker: Breaker) -> None:
    for _ in range(5):
        with pytest.raises(ModelUnavailable, match="down"):
            breaker.call(down)


def test_four_failures_are_borne_the_fifth_opens_it_for_30_seconds(
    breaker: Breaker, clock: Clock
) -> None:
    for _ in range(4):
        with pytest.raises(ModelUnavailable):
            breaker.call(down)
    assert not breaker.is_open
    with pytest.raises(ModelUnavailable):
        breaker.call(down)
    with pytest.raises(NotAsked, match="left alone for 30 s: it failed 5 times") as caught:
        breaker.call(fine)
    assert caught.value.retry_after == 30
    clock.now += 29.9
    assert not passes(breaker)
    clock.now += 0.1
    assert breaker.call(fine) == "fine"
    assert not breaker.is_open


def test_a_success_between_starts_the_count_again(breaker: Breaker) -> None:
    for _ in range(3):
        for _ in range(4):
            with pytest.raises(ModelUnavailable):
                breaker.call(down)
        breaker.call(fine)
    assert not breaker.is_open


def test_each_failed_probe_doubles_the_pause_up_to_five_minutes(
    breaker: Breaker, clock: Clock
) -> None:
    open_it(breaker)
    for pause, longer in [(30, 60), (60, 120), (120, 240), (240, 300), (300, 300)]:
        clock.now += pause - 0.1
        assert not passes(breaker)
        clock.now += 0.1
        with pytest.raises(ModelUnavailable, match="down"):
            breaker.call(down)
        with pytest.raises(ModelUnavailable, match=f"left alone for {longer} s"):
            breaker.admit()


def test_after_recovery_the_next_outage_starts_with_30_seconds(
    breaker: Breaker, clock: Clock
) -> None:
    open_it(breaker)
    clock.now += 30
    with pytest.raises(ModelUnavailable):
        breaker.call(down)
    clock.now += 60
    breaker.call(fine)
    open_it(breaker)
    with pytest.raises(ModelUnavailable, match="left alone for 30 s"):
        breaker.admit()


def test_a_refused_key_opens_it_at_once_for_one_probe_in_five_minutes(
    breaker: Breaker, clock: Clock
) -> None:
    calls = 0

    def counted() -> str:
        nonlocal calls
        calls += 1
        return refused()

    for _ in range(24 * 60):  # A call a minute for a day.
        with pytest.raises(ModelError):
            breaker.call(counted)
        clock.now += 60
    assert calls == 24 * 60 / 5


def test_an_outage_of_a_day_costs_few_calls(breaker: Breaker, clock: Clock) -> None:
    calls = 0

    def counted() -> str:
        nonlocal calls
        calls += 1
        return down()

    for _ in range(24 * 3600 // 10):
        with pytest.raises(ModelUnavailable):
            breaker.call(counted)
        clock.now += 10
    assert calls <= 5 + 4 + 24 * 3600 / 300


@pytest.mark.parametrize(("asked", "waited"), [(7.0, 7.0), (100_000.0, 300.0)])
def test_who_asks_for_time_gets_it_within_reason(
    breaker: Breaker, clock: Clock, asked: float, waited: float
) -> None:
    breaker.failed(ModelUnavailable("busy", retry_after=asked))
    clock.now += waited - 0.1
    assert not passes(breaker)
    clock.now += 0.1
    assert passes(breaker)


def test_a_bad_request_shows_that_the_endpoint_is_there(breaker: Breaker, clock: Clock) -> None:
    open_it(breaker)
    clock.now += 30
    breaker.admit()
    breaker.failed(ModelError("HTTP 400"))
    assert not breaker.is_open


def test_only_one_of_many_threads_is_the_probe(breaker: Breaker, clock: Clock) -> None:
    open_it(breaker)
    clock.now += 30
    start = threading.Barrier(16)
    admitted: list[bool] = []

    def ask() -> None:
        start.wait()
        admitted.append(passes(breaker))

    threads = [threading.Thread(target=ask) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert admitted.count(True) == 1


def test_who_only_looks_is_not_the_probe(breaker: Breaker, clock: Clock) -> None:
    breaker.check()
    open_it(breaker)
    with pytest.raises(NotAsked, match="left alone for 30 s"):
        breaker.check()
    clock.now += 30
    for _ in range(3):
        breaker.check()
    assert passes(breaker)
    with pytest.raises(NotAsked):
        breaker.check()


def test_a_probe_that_never_reports_blocks_nobody_for_ever(breaker: Breaker, clock: Clock) -> None:
    open_it(breaker)
    clock.now += 30
    assert passes(breaker)
    assert not passes(breaker)
    clock.now += 30
    assert passes(breaker)


def test_other_errors_pass_through_uncounted(breaker: Breaker) -> None:
    for _ in range(9):
        with pytest.raises(ZeroDivisionError):
            breaker.call(lambda: 1 // 0)
    assert not breaker.is_open


def test_calls_that_were_under_way_when_it_opened_do_not_prolong_it(breaker: Breaker) -> None:
    for _ in range(20):
        breaker.admit()
    for _ in range(20):
        breaker.failed(ModelUnavailable("down"))
    with pytest.raises(ModelUnavailable, match="left alone for 30 s"):
        breaker.admit()
