"""A primary that is killed and replaced by its synchronous replica: nothing lost, nothing twice."""

import logging
import random

import pytest

from scripts.crash_postgres import run_failovers

FAILOVERS = 5

pytestmark = pytest.mark.slow


@pytest.mark.timeout(500)
def test_what_was_acknowledged_is_there_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, logger="psycopg")
    seed = random.SystemRandom().randrange(10**6)
    found = run_failovers(FAILOVERS, seed)
    print(found)
    assert found["acknowledged"] > 20 * FAILOVERS, seed
    assert found["by replicas"] > 20 * FAILOVERS, seed
    wrong = {name: found[name] for name in ("lost", "doubled", "findings", "stale")}
    assert not any(wrong.values()), (wrong, seed)
