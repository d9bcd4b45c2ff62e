"""Lift what was said at the time the question names: "in March", "two weeks ago".

    score * (1 + GAIN * lift)

`lift` is 1 inside a named time and falls in a straight line to 0 beside it. People speak of a thing
some days before and after it happens, and longer if it lasts longer: on either side the slope is as
long as the time itself, at least 7 and at most 45 days. Since scores are multiplied, what does not
answer the question at all (score 0) is not lifted. Nothing was said in the future: a question
for tomorrow changes nothing, nor does one that names no time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.index.resident import View
from holdfast.language.dates import DAY, TimeSpan, spans
from holdfast.recall.query import Query

Scores = NDArray[np.floating[Any]]

#: At the named time a document passes one elsewhere that scores up to a third more.
GAIN = 0.35

_DAY_US = 86_400_000_000
_SHORTEST_SLOPE = 7 * _DAY_US
_LONGEST_SLOPE = 45 * _DAY_US


def lifted(scores: Scores, lifts: NDArray[np.float32]) -> Scores:
    """The scores of all documents, those of the named times raised; what scored 0 stays there.

    Where one would pass 1, all are scaled down together: the order is that of the formula.
    """
    raised = scores * (1.0 + GAIN * lifts)
    return raised / max(1.0, float(raised.max(initial=0.0)))


def times(query: Query) -> tuple[TimeSpan, ...]:
    """The times a question names at which something can have been said."""
    today = query.now.replace(hour=0, minute=0, second=0, microsecond=0)
    return tuple(
        span
        for span in spans(query.text, query.now)
        if span.start < today or span.end <= today + DAY
    )


def lift(view: View, named: Sequence[TimeSpan]) -> NDArray[np.float32]:
    """For every document how near it is to a named time: 1 inside, 0 far away or none named."""
    return _lifts(view.at_us, named)


def _lifts(at_us: NDArray[np.int64], named: Sequence[TimeSpan]) -> NDArray[np.float32]:
    best = np.zeros(len(at_us), dtype=np.float32)
    for span in named:
        start, end = _us(span.start.timestamp()), _us(span.end.timestamp())
        slope = min(max(end - start, _SHORTEST_SLOPE), _LONGEST_SLOPE)
        # The end is not part of the time: the microsecond before it is.
        away = np.maximum(start - at_us, at_us - (end - 1)) / slope
        np.maximum(best, 1.0 - np.clip(away, 0.0, 1.0), out=best, casting="same_kind")
    return best


def _us(seconds: float) -> int:
    return round(seconds * 1_000_000)
