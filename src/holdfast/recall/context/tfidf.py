"""How alike a text and a context are: the cosine of their TF-IDF vectors, 0..1.

    weight(t, d) = count of t in d * idf(t)
    idf(t)       = ln((1 + n) / (1 + df(t))) + 1

n counts the texts and the context, df those of them that hold the term. Smoothed like this, a term
that all share still counts and a single text has a meaningful cosine. Terms are those of the
index, so accents, inflections and scripts without spaces are treated as in search.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from holdfast.language.terms import terms


def similarities(texts: Sequence[str], context: str) -> list[float]:
    """The cosine of each text with the context; 0 where one of the two has no terms."""
    counts = [Counter(terms(text)) for text in (*texts, context)]
    idf = inverse_frequencies(counts)
    *vectors, wanted = [_unit({t: c * idf[t] for t, c in one.items()}) for one in counts]
    return [_dot(vector, wanted) for vector in vectors]


def inverse_frequencies(counts: Sequence[Mapping[str, int]]) -> dict[str, float]:
    """The idf of every term in the documents, each given as its term counts."""
    frequency = Counter(term for one in counts for term in one)
    return {term: math.log((1 + len(counts)) / (1 + df)) + 1 for term, df in frequency.items()}


def _unit(vector: dict[str, float]) -> dict[str, float]:
    length = math.hypot(*vector.values())
    return {term: weight / length for term, weight in vector.items()}


def _dot(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    # fsum does not depend on the order of terms. Rounding must not lift a perfect match above 1.
    return min(1.0, math.fsum(weight * other.get(term, 0.0) for term, weight in one.items()))
