"""The relevance floor: a plain question is not answered with what has nothing to do with it.

A candidate whose cosine with the question is below the bar is dropped, unless
- it is protected (holds a literal of the question, is a standing instruction);
- its words speak for it: it holds at least half of what the question's words weigh, where a word
  weighs its inverse document frequency, and one that no memory holds weighs the most;
- its cosine is not a number: it has no vector yet, and what was just said must not vanish.
If all would go, the first candidate that holds a word of the question stays.

The bar: what the caller asks for, always; 0 is an answer, too, and switches the floor off for that
call. Without a word of the caller it is the setting (0 = off, the default; 0.30 is the seed's), for
simple and medium questions alone: the parts of an answer to a broad one need not look like the
question, and who names a filter or a time has already said what is wanted.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from holdfast.recall.stages.stage import Candidate

#: Classes of questions that the setting applies to.
PLAIN = frozenset({"simple", "medium"})
#: Share of the weight of the question's words from which they outweigh a low cosine.
STRONG = 0.5


def bar(*, floor: float, threshold: float | None, kind: str, narrowed: bool) -> float:
    """The cosine that is asked for; 0 = any. `threshold` is the caller's, `floor` the setting;
    `narrowed`: the caller named filters or a time."""
    if threshold is not None:
        return threshold
    return floor if kind in PLAIN and not narrowed else 0.0


def relevant(
    candidates: list[Candidate],
    *,
    cosines: NDArray[np.float32] | None,
    holders: Mapping[str, NDArray[np.int32]],
    size: int,
    bar: float,
    protected: Collection[int] = (),
) -> list[Candidate]:
    """Those at the bar or above, and the exceptions; the very same list where all stay.

    `cosines` of every document with the question, None when it has no vector; `holders` the
    documents of each of its words, ascending; `size` the number of documents that can be seen.
    """
    if not candidates or cosines is None or bar <= 0:
        return candidates
    docs = [each.doc for each in candidates]
    low = cosines[docs] < np.float32(bar)  # Not a number is not low.
    low &= np.array([doc not in protected for doc in docs])
    if not low.any():
        return candidates
    held = coverage(docs, holders, size)
    low &= held < STRONG
    if low.all() and held.any():
        low[np.flatnonzero(held)[0]] = False
    if not low.any():
        return candidates
    return [each for each, drop in zip(candidates, low.tolist(), strict=True) if not drop]


def coverage(
    docs: Sequence[int], holders: Mapping[str, NDArray[np.int32]], size: int
) -> NDArray[np.float64]:
    """The share of the weight of the question's words that each document holds, 0..1."""
    asked = np.asarray(docs)
    held = np.zeros(len(docs))
    total = 0.0
    for having in holders.values():
        count = len(having)
        weight = math.log(1.0 + max(size - count + 0.5, 0.5) / (count + 0.5))
        total += weight
        if count:
            places = np.minimum(np.searchsorted(having, asked), count - 1)
            held[having[places] == asked] += weight
    return held / total if total else held
