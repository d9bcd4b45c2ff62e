"""Ids ascend, whatever the clock does, and no two are equal."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.border.ids import Ids

NOW = datetime(2026, 3, 1, 10, tzinfo=UTC)


def test_an_id_is_128_bits_in_hex() -> None:
    (made,) = Ids().make(1, NOW)
    assert len(bytes.fromhex(made)) == 16
    assert made == made.lower()


def test_an_id_begins_with_its_millisecond() -> None:
    (made,) = Ids().make(1, NOW)
    assert int(made[:12], 16) == round(NOW.timestamp() * 1000)


def test_a_later_id_is_a_larger_one() -> None:
    early, late = Ids(), Ids()
    assert early.make(1, NOW)[0] < late.make(1, NOW + timedelta(milliseconds=1))[0]


@given(st.lists(st.tuples(st.integers(-5_000, 5_000), st.integers(1, 50)), max_size=20))
def test_ids_ascend_also_when_the_clock_runs_backwards(steps: list[tuple[int, int]]) -> None:
    ids = Ids()
    made: list[str] = []
    for offset, count in steps:
        made += ids.make(count, NOW + timedelta(milliseconds=offset))
    assert made == sorted(made)
    assert len(set(made)) == len(made)


def test_more_ids_than_one_millisecond_counts_still_ascend() -> None:
    ids = Ids()
    made = ids.make(70_000, NOW) + ids.make(10, NOW)
    assert made == sorted(made)
    assert len({each[:16] for each in made}) == 70_010


@pytest.mark.parametrize("year", [1900, 1969, 2199])
def test_any_time_of_ours_has_ids(year: int) -> None:
    made = Ids().make(3, datetime(year, 1, 1, tzinfo=UTC))
    assert [len(each) for each in made] == [32, 32, 32]
    assert made == sorted(made)


def test_threads_share_a_maker() -> None:
    ids = Ids()
    with ThreadPoolExecutor(8) as pool:
        batches = list(pool.map(lambda _: ids.make(100, NOW), range(64)))
    everything = [each for batch in batches for each in batch]
    assert len({each[:16] for each in everything}) == 6_400
    assert all(batch == sorted(batch) for batch in batches)


def test_two_makers_differ_in_their_noise() -> None:
    assert Ids().make(1, NOW) != Ids().make(1, NOW)
