"""Nearest vectors: exact for most owners, a sign-bit prefilter with exact rescoring for large ones.

Every row is a passage of a document; a document scores as its best passage. Rows are unit vectors,
so a product is a cosine. One product over 100,000 rows of 384 floats reads 150 MB; comparing their
sign bits first reads 5 MB, and only the best few thousand are multiplied.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Up to this many passages a full product is faster than filtering.
EXACT_UP_TO = 4_000
#: Share of the passages that the filter lets through, and the least number.
_SHARE = 0.04
_LEAST = 500
#: and how many times the number asked for.
_FACTOR = 8


class Vectors:
    """A growing matrix of passages. Appending never disturbs a slice handed out before."""

    def __init__(self, dim: int, capacity: int = 64) -> None:
        self.dim = dim
        self.count = 0
        self._rows: NDArray[np.float32] = np.empty((capacity, dim), dtype=np.float32)
        self._docs: NDArray[np.int32] = np.empty(capacity, dtype=np.int32)
        self._bits: NDArray[np.uint64] | None = None

    def extend(self, docs: NDArray[np.int32], data: bytes) -> None:
        """Add passages: their documents and their float32 rows one after another."""
        rows = np.frombuffer(data, dtype="<f4").reshape(len(docs), self.dim)
        end = self.count + len(docs)
        if end > len(self._docs):
            self._grow(max(end, len(self._docs) * 3 // 2))
        self._rows[self.count : end] = rows
        self._docs[self.count : end] = docs
        if self._bits is not None:
            self._bits[:, self.count : end] = _sign_bits(rows)
        self.count = end
        if self._bits is None and end > EXACT_UP_TO:
            self._bits = np.empty((_words(self.dim), len(self._docs)), dtype=np.uint64)
            self._bits[:, :end] = _sign_bits(self._rows[:end])

    def view(self) -> VectorView:
        """What is there now, unaffected by what comes later."""
        bits = None if self._bits is None else self._bits[:, : self.count]
        return VectorView(self._rows[: self.count], self._docs[: self.count], bits)

    @property
    def size_bytes(self) -> int:
        bits = 0 if self._bits is None else self._bits.nbytes
        return self._rows.nbytes + self._docs.nbytes + bits

    def _grow(self, capacity: int) -> None:
        # Copies, not resize(): views of the old arrays stay valid.
        rows = np.empty((capacity, self.dim), dtype=np.float32)
        rows[: self.count] = self._rows[: self.count]
        docs = np.empty(capacity, dtype=np.int32)
        docs[: self.count] = self._docs[: self.count]
        self._rows, self._docs = rows, docs
        if self._bits is not None:
            bits = np.empty((len(self._bits), capacity), dtype=np.uint64)
            bits[:, : self.count] = self._bits[:, : self.count]
            self._bits = bits


class VectorView:
    """A moment of `Vectors`, for searching."""

    def __init__(
        self,
        rows: NDArray[np.float32],
        docs: NDArray[np.int32],
        bits: NDArray[np.uint64] | None,
    ) -> None:
        self._rows = rows
        self._docs = docs
        self._bits = bits
        self._by_doc: tuple[NDArray[np.intp], NDArray[np.int32]] | None = None

    def by_document(
        self, query: NDArray[np.float32], documents: int, *, also: NDArray[np.integer]
    ) -> NDArray[np.float32]:
        """The cosine of each document's best passage; 0 where it is negative or there is none.

        Of a large matrix only the passages near the query and those of the documents in `also`
        are looked at; the others count as far away.
        """
        best = np.zeros(documents, dtype=np.float32)
        if self._bits is None:
            docs, cosines = self._docs, _products(self._rows, query)
        else:
            passages = np.concatenate([self._near(query, None, 0), self._passages_of(also)])
            docs, cosines = self._docs[passages], _products(self._rows[passages], query)
        np.maximum.at(best, docs, cosines)
        return best

    def first_of(self, docs: NDArray[np.intp]) -> NDArray[np.float32]:
        """The first passage of each document, a row each; not a number where there is none."""
        if not len(self._docs):
            return np.full((len(docs), self._rows.shape[1]), np.nan, dtype=np.float32)
        order, sorted_docs = self._sorted()
        places = np.minimum(np.searchsorted(sorted_docs, docs), len(sorted_docs) - 1)
        rows: NDArray[np.float32] = self._rows[order[places]]
        rows[sorted_docs[places] != docs] = np.nan
        return rows

    def _sorted(self) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
        """Passages in order of their documents."""
        if self._by_doc is None:
            order = np.argsort(self._docs, kind="stable")
            self._by_doc = (order, self._docs[order])
        return self._by_doc

    def _passages_of(self, docs: NDArray[np.integer]) -> NDArray[np.intp]:
        order, sorted_docs = self._sorted()
        first = np.searchsorted(sorted_docs, docs, side="left")
        last = np.searchsorted(sorted_docs, docs, side="right")
        counts = last - first
        # All places first[i] .. last[i] - 1, without a loop.
        starts = np.repeat(first - np.append(0, np.cumsum(counts)[:-1]), counts)
        places: NDArray[np.intp] = order[starts + np.arange(counts.sum())]
        return places

    def cosines(
        self, query: NDArray[np.float32], wanted: NDArray[np.bool_] | None, *, depth: int
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """(document, cosine) of the passages worth ranking for the `depth` nearest documents;
        `wanted` says which documents count."""
        if self._bits is None:
            docs, cosines = self._docs, _products(self._rows, query)
        else:
            near = self._near(query, wanted, depth)
            docs, cosines = self._docs[near], _products(self._rows[near], query)
        if wanted is not None:
            keep = wanted[docs]
            docs, cosines = docs[keep], cosines[keep]
        return docs, cosines

    def _near(
        self, query: NDArray[np.float32], wanted: NDArray[np.bool_] | None, depth: int
    ) -> NDArray[np.intp]:
        """The passages whose sign bits differ least from the query's."""
        bits = self._bits
        assert bits is not None  # The caller looked.
        probe = _sign_bits(query[None, :])[:, 0]
        distance = np.bitwise_count(bits ^ probe[:, None]).sum(axis=0, dtype=np.uint16)
        if wanted is not None:
            distance[~wanted[self._docs]] = np.iinfo(np.uint16).max
        keep = max(_LEAST, _FACTOR * depth, int(_SHARE * len(distance)))
        # Few distances are possible: counting them finds the border faster than sorting.
        reach = int(np.searchsorted(np.cumsum(np.bincount(distance)), keep))
        return np.flatnonzero(distance <= min(reach, self._rows.shape[1]))


def _products(rows: NDArray[np.float32], query: NDArray[np.float32]) -> NDArray[np.float32]:
    # Not `rows @ query`: BLAS takes every core for it and stalls when they are busy (p90 12x), and
    # its last digits depend on where a row lies; this gives a row the same cosine anywhere.
    product: NDArray[np.float32] = np.einsum("ij,j->i", rows, query)
    return product


def _words(dim: int) -> int:
    return (dim + 63) // 64


def _sign_bits(rows: NDArray[np.float32]) -> NDArray[np.uint64]:
    """(words, rows): the sign of each dimension as one bit."""
    bits = np.packbits(rows > 0, axis=1)
    padded = np.zeros((len(rows), _words(rows.shape[1]) * 8), dtype=np.uint8)
    padded[:, : bits.shape[1]] = bits
    return np.ascontiguousarray(padded.view(np.uint64).T)
