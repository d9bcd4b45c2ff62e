"""Which documents hold which term: sorted arrays, merged like the levels of a log-structured tree.

A document's terms are packed once, when it is stored, as 64-bit term ids, each with its count.
A `Segment` holds the postings of many documents, sorted by term. This module knows nothing about
scores.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast.language.terms import term_id

#: A term in a packed row: its id and how often it occurs.
_TERM = np.dtype([("id", "<u8"), ("count", "u1")])
_MOST = 255


def packed(terms: Sequence[str]) -> tuple[bytes, int]:
    """The index row of a text: its distinct term ids and their counts, and the number of terms."""
    counts = Counter(terms)
    row = np.empty(len(counts), dtype=_TERM)
    row["id"] = [term_id(term) for term in counts]
    row["count"] = [min(count, _MOST) for count in counts.values()]
    return row.tobytes(), len(terms)


@dataclass(frozen=True, slots=True)
class Segment:
    """Postings of a set of documents, sorted by term."""

    terms: NDArray[np.uint64]
    #: Postings of term i are docs[starts[i] : starts[i + 1]], ascending.
    starts: NDArray[np.int64]
    docs: NDArray[np.int32]
    counts: NDArray[np.uint8]
    documents: int

    def find(self, terms: NDArray[np.uint64]) -> list[tuple[NDArray[np.int32], NDArray[np.uint8]]]:
        """For each term the documents that hold it, and how often."""
        if not len(self.terms):
            return [(self.docs, self.counts)] * len(terms)
        places = np.minimum(np.searchsorted(self.terms, terms), len(self.terms) - 1)
        there = self.terms[places] == terms
        first, last = self.starts[places].tolist(), self.starts[places + there].tolist()
        return [
            (self.docs[start:end], self.counts[start:end])
            for start, end in zip(first, last, strict=True)
        ]

    @property
    def size_bytes(self) -> int:
        arrays = (self.terms, self.starts, self.docs, self.counts)
        return sum(array.nbytes for array in arrays)


def segment(numbers: Sequence[int], rows: Sequence[bytes]) -> Segment:
    """Index documents, given their numbers (ascending) and their packed rows."""
    sizes = np.array([len(row) for row in rows], dtype=np.int64) // _TERM.itemsize
    flat = np.frombuffer(b"".join(rows), dtype=_TERM)
    docs = np.repeat(np.asarray(numbers, dtype=np.int32), sizes)
    # Copies: the fields of a packed row lie at odd places.
    return _sorted(flat["id"].astype(np.uint64), docs, flat["count"].astype(np.uint8), len(rows))


def merged(segments: Iterable[Segment]) -> Segment:
    """One segment instead of several; their documents must not overlap and must ascend."""
    parts = list(segments)
    flat = [np.repeat(part.terms, np.diff(part.starts)) for part in parts]
    return _sorted(
        np.concatenate(flat),
        np.concatenate([part.docs for part in parts]),
        np.concatenate([part.counts for part in parts]),
        sum(part.documents for part in parts),
    )


def _sorted(
    flat: NDArray[np.uint64], docs: NDArray[np.int32], counts: NDArray[np.uint8], documents: int
) -> Segment:
    # Stable: the documents of one term stay in ascending order.
    order = np.argsort(flat, kind="stable")
    terms, first = np.unique(flat[order], return_index=True)
    starts = np.append(first, len(flat)).astype(np.int64)
    return Segment(terms, starts, docs[order], counts[order], documents)
