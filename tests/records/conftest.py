"""A memory that understands nothing by itself, and its clock."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

import holdfast
from holdfast.memory.memory import Memory
from holdfast.testing import HashEmbedder
from holdfast.testing.store_suite import NOON

#: What the rules draw from turns by themselves must not mix into what is tested here.
CONFIG = {"extraction": {"enabled": False}}


class Clock:
    """A clock that stands still until it is set, or moves by a step each time it is read."""

    def __init__(self, step: timedelta = timedelta()) -> None:
        self.now = NOON
        self._step = step

    def __call__(self) -> datetime:
        self.now += self._step
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(tmp_path: Path, clock: Clock) -> Iterator[Memory]:
    with holdfast.open(
        tmp_path / "m.db", embedder=HashEmbedder(16), worker=False, clock=clock, config=CONFIG
    ) as opened:
        yield opened
