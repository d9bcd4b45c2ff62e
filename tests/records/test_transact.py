"""A plan that was overtaken is made again; nobody tries for ever."""

import time
from itertools import islice
from pathlib import Path

import pytest

import holdfast
from holdfast.errors import StoreBusy
from holdfast.records.versions import MOST_TRIES, attempts
from holdfast.testing import HashEmbedder
from holdfast.types import Scope

ANN = Scope("default", "ann")


def test_each_attempt_is_of_the_moment_and_the_last_one_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    with holdfast.open(tmp_path / "m.db", embedder=HashEmbedder(16), worker=False) as memory:
        seen = []
        tries = attempts(memory.store, ANN)
        for since in islice(tries, MOST_TRIES):
            seen.append(since)
            if len(seen) < 4:
                memory.remember("tea", user="ann")
        with pytest.raises(StoreBusy, match=f"faster {MOST_TRIES} times"):
            next(tries)
    assert len(seen) == MOST_TRIES
    assert seen[0] < seen[1] < seen[2] < seen[3] == seen[-1]
    assert 0 < len(pauses) < MOST_TRIES, "the first ones wait for nobody"
