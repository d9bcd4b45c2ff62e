"""Which documents hold which term: sorted arrays, merged like the levels of a log-structured tree.

A document's terms are packed once, when it is stored, as 64-bit term ids followed by their counts.
A `Segment` holds the postings of many documents, sorted by term. This module knows nothing about
scores.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recollect.text import term_id

_ID_BYTES = 8
_ROW_BYTES = _ID_BYTES + 1  # an id and its count
_MOST = 255


def packed(terms: Sequence[str]) -> tuple[bytes, int]:
    """The index row of a text: its distinct term ids and their counts, and the number of terms."""
    counts = Counter(terms)
    ids = np.fromiter((term_id(term) for term in counts), dtype="<u8", count=len(counts))
    times = bytes(min(count, _MOST) for count in counts.values())
    return ids.tobytes() + times, len(terms)


@dataclass(frozen=True, slots=True)
class Segment:
    """Postings of a set of documents, sorted by term."""

    terms: NDArray[np.uint64]
    #: Postings of term i are docs[starts[i] : starts[i + 1]], ascending.
    starts: NDArray[np.int64]
    docs: NDArray[np.int32]
    counts: NDArray[np.uint8]
    documents: int

    def find(self, term: int) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
        """Documents that hold a term, and how often."""
        at = int(np.searchsorted(self.terms, np.uint64(term)))
        if at == len(self.terms) or self.terms[at] != term:
            return self.docs[:0], self.counts[:0]
        window = slice(int(self.starts[at]), int(self.starts[at + 1]))
        return self.docs[window], self.counts[window]

    @property
    def size_bytes(self) -> int:
        arrays = (self.terms, self.starts, self.docs, self.counts)
        return sum(array.nbytes for array in arrays)


def segment(numbers: Sequence[int], rows: Sequence[bytes]) -> Segment:
    """Index documents, given their numbers (ascending) and their packed rows."""
    sizes = np.fromiter((len(row) // _ROW_BYTES for row in rows), dtype=np.int64, count=len(rows))
    ids = b"".join(row[: len(row) // _ROW_BYTES * _ID_BYTES] for row in rows)
    times = b"".join(row[len(row) // _ROW_BYTES * _ID_BYTES :] for row in rows)
    docs = np.repeat(np.asarray(numbers, dtype=np.int32), sizes)
    return _sorted(
        np.frombuffer(ids, dtype="<u8").astype(np.uint64, copy=False),
        docs,
        np.frombuffer(times, dtype=np.uint8),
        len(rows),
    )


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
