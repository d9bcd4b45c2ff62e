"""Embedder: what turns text into vectors, and the promises every one of them keeps."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import ModelError


class Embedder(Protocol):
    """Texts to vectors.

    - One row per text, in the order of the texts; an empty list gives shape (0, dim).
    - Rows are finite, of unit length, float32.
    - The same text gives the same row, whatever stands beside it in the list, to within 1e-2 (some
      processors multiply one row in another way than many: a cosine above 0.999).
    - Any text will do: empty, very long (what does not fit is cut), of any script.
    - Several threads may call it at once.
    - `ModelError` when it cannot; never a row that means nothing.
    """

    @property
    def model_id(self) -> str:
        """Which model, in which form: vectors of different ids must not be compared."""

    @property
    def dim(self) -> int:
        """The length of a vector."""

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        """Unit vectors of shape (len(texts), dim)."""


def check_vectors(answer: object, *, count: int, dim: int) -> NDArray[np.float32]:
    """`answer` as contiguous float32 of unit length, or `ModelError` naming what is wrong."""
    try:
        vectors = np.asarray(answer)
    except (TypeError, ValueError) as error:
        raise ModelError(f"the model gave no array of numbers: {error}") from error
    if vectors.shape != (count, dim):
        raise ModelError(f"the model gave vectors of shape {vectors.shape}, not ({count}, {dim})")
    try:
        wide = vectors.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ModelError(f"the model gave {vectors.dtype} values, not numbers") from error
    refuse_row(np.asarray(~np.isfinite(wide).all(axis=1)), "holds a value that is not finite")
    # In double precision, by the largest value first: no number of float32 over- or underflows.
    largest = np.abs(wide).max(axis=1, initial=0.0, keepdims=True)
    refuse_row(largest[:, 0] == 0, "is all zeros")
    wide /= largest
    unit = wide / np.linalg.norm(wide, axis=1, keepdims=True)
    return np.ascontiguousarray(unit, dtype=np.float32)


def refuse_row(wrong: NDArray[np.bool_], fault: str) -> None:
    """Raise for the first row marked as wrong."""
    if wrong.any():
        raise ModelError(f"the model's vector {int(wrong.argmax())} {fault}")
