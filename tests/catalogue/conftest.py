"""One store for all tests here: each works on a copy of it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from holdfast.memory.memory import Memory
from tests.catalogue.world import NOW, fill, opened


@dataclass(frozen=True)
class World:
    """A store that is closed, and the ids of what is in it."""

    db: Path
    ids: Mapping[str, str]

    @contextmanager
    def copy(self, to: Path) -> Iterator[Memory]:
        """A memory over a fresh copy, two days later."""
        shutil.copy(self.db, to)
        with opened(to) as memory:
            yield memory


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    db = tmp_path_factory.mktemp("world") / "world.db"
    with opened(db, now=NOW) as memory:
        ids = fill(memory)
    return World(db, ids)
