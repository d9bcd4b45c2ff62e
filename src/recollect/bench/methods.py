"""What is compared: Recollect as configured, and plain methods through the same door.

The plain methods fuse by rank. A source cannot be switched off there, so the other one gets a
weight of next to nothing: it only orders what the first did not find. Stages without a switch stay.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from recollect.config import Config
from recollect.errors import ConfigError

#: A vote that never outweighs another source's.
NEXT_TO_NOTHING = 1e-6


@dataclass(frozen=True, slots=True)
class Method:
    """A name, what it stands for, and what `recall` is told."""

    name: str
    about: str
    overrides: Mapping[str, Any] = field(default_factory=dict)


def _by_rank(*, keyword: float, vector: float) -> dict[str, Any]:
    weights = {"rrf.weights.keyword": keyword, "rrf.weights.vector": vector}
    return {"fusion": "rrf", "rrf.k": 60, **weights}


RECOLLECT = Method("Recollect", "the configuration in force")
PLAIN = (
    Method(
        "BM25",
        "keywords; vectors only order what no keyword found",
        _by_rank(keyword=1.0, vector=NEXT_TO_NOTHING),
    ),
    Method(
        "vector",
        "cosine; keywords only order what no vector found",
        _by_rank(keyword=NEXT_TO_NOTHING, vector=1.0),
    ),
    Method(
        "plain RRF",
        "both with equal votes, k = 60",
        _by_rank(keyword=1.0, vector=1.0),
    ),
)


def offered(config: Config) -> list[Method]:
    """The methods that this configuration can express, Recollect first."""
    return [RECOLLECT, *(method for method in PLAIN if _is_offered(config, method))]


def _is_offered(config: Config, method: Method) -> bool:
    try:
        config.override(method.overrides)
    except ConfigError:
        return False
    return True
