"""A worker that is killed again and again, whatever it has in hand: no turn is blamed for it."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

import recollect
from recollect.testing import HashEmbedder

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

KILLS = 40
CONFIG = {
    "jobs": {"leaseSeconds": 2, "backoffSeconds": 0.1, "readSeconds": 0},
    "extraction": {"provider": "rules", "quietSeconds": 0.1, "waitSeconds": 1},
}
#: Takes its time for everything, so that there is always something in hand.
WORKER = """
import sys, time, recollect
from recollect.extract.rules import RulesExtractor
from recollect.recall.when import spans
from recollect.testing import HashEmbedder

class Embedder(HashEmbedder):
    def embed(self, texts):
        time.sleep(0.01 * len(texts))
        return super().embed(texts)

class Extractor(RulesExtractor):
    def extract(self, turns):
        time.sleep(0.01 * len(turns))
        return super().extract(turns)

config = eval(sys.argv[2])
reader = Extractor(dates=spans)
with recollect.open(sys.argv[1], embedder=Embedder(), extractor=reader, config=config):
    print("ready", flush=True)
    sys.stdin.readline()
"""


def killed(path: Path, seconds: float) -> None:
    """A worker that is killed so long after it was ready."""
    process = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(path), repr(CONFIG)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdin is not None
    with process.stdout, process.stdin:
        assert process.stdout.readline() == "ready\n"
        time.sleep(seconds)
        process.kill()
        process.wait()


def test_forty_kills_leave_no_dead_letter_and_nothing_undone(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    chance = random.Random(20261116)
    said: list[tuple[str, str]] = []
    with recollect.open(path, embedder=HashEmbedder(), worker=False, config=CONFIG) as memory:
        for round in range(KILLS):
            for user in ("ann", "bob", "eve"):
                turns = [{"content": f"Clara met Dora{round}x{n} in Oslo."} for n in range(8)]
                events = memory.remember(turns, user=user, session=f"s{round % 3}").events
                said += [(user, event) for event in events]
            killed(path, chance.uniform(0, 0.6))
        assert memory.store.counts().dead == 0
        drained = memory.drain(240)
        assert (drained.dead, drained.pending) == (0, 0)
        assert {memory.status(event, user=user).state for user, event in said} == {"done"}
        assert [finding.check for finding in memory.check() if not finding.ok] == []
