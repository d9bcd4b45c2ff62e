"""What the processes of one service share: a page of memory, and who belongs to whom."""

import multiprocessing
import os
import signal
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from holdfast.service.http.limits import RateLimit
from holdfast.service.http.processes import Board
from holdfast.service.http.routing import place_of, place_of_session, session_at

FORK = multiprocessing.get_context("fork")


@pytest.fixture
def board() -> Iterator[Board]:
    with closing(Board()) as made:
        yield made


def _take(board: Board, names: list[str], told: Any) -> None:
    """Ask until there is nothing left, at a time that stands still."""
    limit = RateLimit(100, timer=lambda: 1000.0, buckets=board)
    taken = 0
    for name in names * 60:
        taken += not limit.wait(name)
    told.put(taken)


def test_a_bucket_is_shared_by_all_processes(board: Board) -> None:
    told, names = FORK.Queue(), [f"key{number}" for number in range(5)]
    processes = [FORK.Process(target=_take, args=(board, names, told)) for _ in range(4)]
    for each in processes:
        each.start()
    taken = [told.get(timeout=60) for _ in processes]
    for each in processes:
        each.join()
    assert sum(taken) == 5 * 100
    assert max(taken) < 5 * 60 + 1


def test_limits_on_one_board_have_buckets_of_their_own(board: Board) -> None:
    ours = RateLimit(1, timer=lambda: 0.0, buckets=board)
    others = RateLimit(1, timer=lambda: 0.0, buckets=board, of="others ")
    assert [ours.wait("key"), others.wait("key"), ours.wait("key")] == [0.0, 0.0, 60.0]


def test_more_names_than_places_make_room_for_each_other(board: Board) -> None:
    now = 0.0
    limit = RateLimit(1, timer=lambda: now, buckets=board)
    assert not limit.wait("first")
    for number in range(20_000):
        now = 1.0 + number / 1000
        assert not limit.wait(f"key{number}")
    assert limit.wait("key19999"), "the newest are known"
    now = 100.0
    assert not limit.wait("key19999"), "by then it is full again"


def _hold(board: Board, ready: Any) -> None:
    def stay(_: object) -> tuple[float, float]:
        ready.put(True)
        signal.pause()
        return 0.0, 0.0

    board.change("key", stay)


def test_a_process_that_dies_with_a_lock_holds_up_nobody(board: Board) -> None:
    ready = FORK.Queue()
    process = FORK.Process(target=_hold, args=(board, ready))
    process.start()
    ready.get(timeout=60)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert not RateLimit(1, buckets=board).wait("key")


def test_owners_are_spread_and_stay() -> None:
    places = [place_of("default", f"user{number}", 4) for number in range(4000)]
    assert all(900 < places.count(number) < 1100 for number in range(4))
    assert place_of("default", "ann", 4) == place_of("default", "ann", 4)
    assert len({place_of(f"w{number}", "ann", 64) for number in range(64)}) > 16


@pytest.mark.parametrize(
    ("session", "place"),
    [
        (session_at("0" * 32, 3), 3),
        ("0" * 32, None),
        ("0" * 32 + "-4", None),  # There are four.
        ("-", None),
        ("", None),
        ("-\u0663", None),
        ("x-99999999999999999999", None),
        ("x--1", 1),
    ],
)
def test_a_session_names_its_process(session: str, place: int | None) -> None:
    assert place_of_session(session, 4) == place
