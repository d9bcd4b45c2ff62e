"""What the tests of the HTTP door share: a clock, a memory, and an operator's client."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

import holdfast
from holdfast.memory.memory import Memory
from holdfast.testing import HashEmbedder
from tests.service.calling import Clock, client_of


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def settings() -> Mapping[str, Any]:
    """Of the memory; for a module to replace."""
    return {}


@pytest.fixture
def memory(tmp_path: Path, clock: Clock, settings: Mapping[str, Any]) -> Iterator[Memory]:
    with holdfast.open(
        tmp_path / "m.db", embedder=HashEmbedder(), worker=False, config=settings, clock=clock
    ) as memory:
        yield memory


@pytest.fixture
def client(memory: Memory) -> Iterator[TestClient]:
    with client_of(memory, role="admin") as client:
        yield client
