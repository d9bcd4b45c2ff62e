"""A PostgreSQL server that is killed in the middle of writes: nothing lost, nothing twice."""

import logging
import random
from pathlib import Path

import pytest

from scripts.crash_postgres import run

KILLS = 20


@pytest.mark.timeout(300)
def test_what_was_acknowledged_is_there_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR, logger="psycopg")
    seed = random.SystemRandom().randrange(10**6)
    found = run(tmp_path, KILLS, seed)
    assert found["acknowledged"] > 10 * KILLS, seed
    assert (found["lost"], found["doubled"], found["findings"]) == (0, 0, 0), seed
