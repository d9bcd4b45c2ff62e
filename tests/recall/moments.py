"""A moment of a small index for tests of stages: documents that have nothing but their times."""

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

from holdfast.config import Config
from holdfast.index.resident import View
from holdfast.recall.candidates import Candidate, Moment
from holdfast.recall.query import query
from holdfast.store.protocols import FOREVER_US
from holdfast.types import Scope

NOW = datetime(2024, 5, 15, 10, 30, tzinfo=UTC)


def a_view(days: Sequence[str]) -> View:
    """Documents 0, 1, ... said on these days, in this order of arrival."""
    n = len(days)
    moments = [datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp() for day in days]
    at_us = np.array([round(each * 1_000_000) for each in moments], dtype=np.int64)
    codes = np.full(n, -1, dtype=np.int32)
    return View(
        ids=[f"r{number}" for number in range(n)],
        numbers={},
        alive=np.ones(n, dtype=np.bool_),
        has_dead=False,
        has_ends=False,
        has_derived=False,
        order=np.arange(n, dtype=np.int64),
        at_us=at_us,
        known_us=at_us,
        until_us=np.full(n, FOREVER_US),
        known_until_us=np.full(n, FOREVER_US),
        confidence=np.ones(n, dtype=np.float32),
        lengths=np.ones(n, dtype=np.float32),
        said=np.arange(n, dtype=np.int64),
        roles=codes,
        names=codes,
        agents=codes,
        sessions=codes,
        kinds=codes,
        tiers=codes,
        source=codes,
        codes={},
        segments=(),
        vectors=None,
    )


def a_moment(text: str, days: Sequence[str]) -> Moment:
    """A question asked at `NOW` of documents said on these days."""
    asked = query(
        text, Scope("w", "ann"), limit=10, now=NOW, as_of=None, known_at=None, filters=None
    )
    return Moment(
        view=a_view(days), query=asked, config=Config(), vector=None, cosines=None, seen=None,
        wanted=None, content=lambda docs: {}, scores=np.zeros(len(days)),
    )  # fmt: skip


def scored(*scores: float) -> list[Candidate]:
    """Documents 0, 1, ... with these scores, which come best first."""
    return [Candidate(doc, score) for doc, score in enumerate(scores)]
