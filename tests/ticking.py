"""A memory whose clock goes on a second at each look, and which understands nothing by itself."""

from datetime import datetime, timedelta
from itertools import count
from pathlib import Path

import holdfast
from holdfast.memory.memory import Memory
from holdfast.testing import HashEmbedder
from holdfast.testing.store_suite import NOON


def ticking(folder: Path, start: datetime = NOON) -> Memory:
    """Opened in a folder."""
    ticks = count()
    return holdfast.open(
        folder / "m.db",
        embedder=HashEmbedder(16),
        config={"extraction": {"enabled": False}},
        worker=False,
        clock=lambda: start + timedelta(seconds=next(ticks)),
    )
