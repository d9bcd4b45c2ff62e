"""A worker that is killed again and again, whatever it has in hand: no turn is blamed for it."""

import os
import random
import signal
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import holdfast
from holdfast.language.extraction import Extracted, RulesExtractor
from holdfast.language.mentions import Turn
from holdfast.testing import HashEmbedder

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]

KILLS = 40
CONFIG = {
    "jobs": {"leaseSeconds": 2, "backoffSeconds": 0.1, "readSeconds": 0},
    "extraction": {"provider": "rules", "quietSeconds": 0.1, "waitSeconds": 1},
}


class SlowEmbedder(HashEmbedder):
    """Takes its time, so that there is always something in hand."""

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        time.sleep(0.01 * len(texts))
        return super().embed(texts)


class SlowExtractor(RulesExtractor):
    """As slow."""

    def extract(self, turns: Sequence[Turn]) -> list[Extracted]:
        time.sleep(0.01 * len(turns))
        return super().extract(turns)


def killed(path: Path, seconds: float) -> None:
    """A worker in a process of its own, that is killed so long after it began."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        holdfast.open(path, embedder=SlowEmbedder(), extractor=SlowExtractor(), config=CONFIG)
        os.write(write, b"x")
        signal.pause()
        os._exit(0)
    os.close(write)
    assert os.read(read, 1) == b"x"
    os.close(read)
    time.sleep(seconds)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def opened(path: Path) -> holdfast.Memory:
    return holdfast.open(path, embedder=HashEmbedder(), worker=False, config=CONFIG)


def test_forty_kills_leave_no_dead_letter_and_nothing_undone(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    chance = random.Random(20261116)
    said: list[tuple[str, str]] = []
    for round in range(KILLS):
        with opened(path) as memory:
            for user in ("ann", "bob", "eve"):
                turns = [{"content": f"Clara met Dora{round}x{n} in Oslo."} for n in range(8)]
                events = memory.remember(turns, user=user, session=f"s{round % 3}").events
                said += [(user, event) for event in events]
        killed(path, chance.uniform(0, 0.6))
    with opened(path) as memory:
        assert memory.store.counts().dead == 0
        drained = memory.drain(240)
        assert (drained.dead, drained.pending) == (0, 0)
        assert {memory.status(event, user=user).state for user, event in said} == {"done"}
        assert [finding.check for finding in memory.check() if not finding.ok] == []
