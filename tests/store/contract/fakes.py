"""Deterministic stand-ins for models."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from holdfast.language.terms import terms


class HashEmbedder:
    """Adds up one pseudo-random vector per term: texts that share terms lie near each other."""

    is_stand_in = True

    def __init__(self, dim: int = 64, model_id: str = "hash") -> None:
        self.dim = dim
        self.model_id = f"{model_id}-{dim}"

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        rows = np.zeros((len(texts), self.dim), dtype=np.float32)
        for index, text in enumerate(texts):
            for term in terms(text) or [text]:
                rows[index] += self._direction(term)
        return rows

    def _direction(self, term: str) -> NDArray[np.float32]:
        seed = int.from_bytes(blake2b(term.encode("utf-8", "replace"), digest_size=8).digest())
        return np.random.default_rng(seed).standard_normal(self.dim).astype(np.float32)
