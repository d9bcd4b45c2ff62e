"""Weighted reciprocal rank fusion (Cormack, Clarke and Büttcher 2009).

score(d) = sum over sources s of v(s) * w(tier(d)) / (k + rank_s(d)), ranks from 1.

w(tier(d)) is common to all terms of a document's sum: the pipeline multiplies by it afterwards.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

K = TypeVar("K", bound=Hashable)


def fuse(
    rankings: Mapping[str, Sequence[K]],
    *,
    k: int,
    weights: Mapping[str, float],
) -> list[tuple[K, float]]:
    """(document, score) of all rankings, best first; of equals the one that a source saw first."""
    scores: dict[K, float] = {}
    for source, ranking in rankings.items():
        weight = weights[source]
        for rank, key in enumerate(ranking, start=1):
            scores[key] = scores.get(key, 0.0) + weight / (k + rank)
    return sorted(scores.items(), key=lambda pair: -pair[1])


def highest(k: int, weights: Mapping[str, float]) -> float:
    """The score of a document that is first everywhere."""
    return sum(weight / (k + 1) for weight in weights.values())
