"""Two thousand requests to a service that runs, half generated, half meant to do harm."""

from pathlib import Path

import pytest

from scripts.fuzz import Tally, fuzzed

pytestmark = pytest.mark.slow

SEED = 6


def well(tally: Tally) -> None:
    assert tally.examples == {}
    assert tally.wrong == {}
    # It was not turned away at the door.
    assert tally.statuses[401] < tally.total / 10
    assert tally.statuses[200] > tally.total / 20


def test_a_thousand_requests_that_mean_harm(tmp_path: Path) -> None:
    tally = fuzzed(tmp_path, SEED, hostile=1000, generated=0, heavy=False)
    well(tally)
    assert tally.requests["hostile"] > 950
    assert tally.requests["slow"] == 4


def test_bodies_of_megabytes(tmp_path: Path) -> None:
    tally = fuzzed(tmp_path, SEED, hostile=0, generated=0, heavy=True)
    assert tally.wrong == {}
    assert tally.requests.total() >= 9


@pytest.mark.parametrize("seed", [6, 7])
def test_a_thousand_requests_that_were_generated(tmp_path: Path, seed: int) -> None:
    tally = fuzzed(tmp_path, seed, hostile=0, generated=500, heavy=False)
    well(tally)
    assert tally.total >= 500
