"""A memory for each test."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import holdfast
from holdfast.memory.memory import Memory
from holdfast.testing import HashEmbedder


class Clock:
    now = datetime(2026, 3, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with holdfast.open(
        tmp_path / "m.db", embedder=HashEmbedder(16), worker=False, clock=Clock()
    ) as opened:
        yield opened
