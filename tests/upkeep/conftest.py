"""What the tests of this folder share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.upkeep.living import Living, living


@pytest.fixture
def alive(tmp_path: Path) -> Iterator[Living]:
    with living(tmp_path / "m.db") as made:
        yield made
