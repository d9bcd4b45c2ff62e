"""The embeddings of the task profiles' phrases, made once per model.

Those of the shipped model come with the package (`scripts/make_trigger_vectors.py`); another model
embeds the phrases at its first question. If it cannot, words alone decide for a while.
"""

from __future__ import annotations

import logging
import threading
import time
from hashlib import blake2b
from pathlib import Path

import numpy as np

from holdfast.errors import ModelError
from holdfast.models.base import Embedder
from holdfast.models.call import embedded
from holdfast.profiles import Profiles
from holdfast.recall.profile import Vectors, phrases

log = logging.getLogger("holdfast")

SHIPPED = Path(__file__).with_name("trigger_vectors.npz")
_AGAIN_SECONDS = 300.0
#: While one asks the model, others wait for so long: a model that hangs must not hold all of them.
_WAIT_SECONDS = 1.0


class TriggerVectors:
    """Phrase -> vector, by model and profiles. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[tuple[str, Profiles], Vectors] = {}
        self._failed_at: float | None = None

    def get(self, embedder: Embedder, profiles: Profiles) -> Vectors | None:
        """The vectors, or None while the model cannot be asked."""
        key = (embedder.model_id, profiles)
        if key not in self._kept and self._lock.acquire(timeout=_WAIT_SECONDS):
            try:
                self._make(embedder, key)
            finally:
                self._lock.release()
        return self._kept.get(key)

    def _make(self, embedder: Embedder, key: tuple[str, Profiles]) -> None:
        if key in self._kept or self._resting():
            return
        texts = phrases(key[1])
        try:
            self._kept[key] = shipped(embedder.model_id, texts) or made(embedder, texts)
        except ModelError as error:
            self._failed_at = time.monotonic()
            log.warning("task profiles by words alone: %s", type(error).__name__)

    def _resting(self) -> bool:
        return self._failed_at is not None and time.monotonic() < self._failed_at + _AGAIN_SECONDS


def shipped(model_id: str, texts: list[str]) -> Vectors | None:
    """The vectors that come with the package, if they are of this model and these phrases."""
    with np.load(SHIPPED) as file:
        if str(file["model"]) != model_id or bytes(file["digest"]) != digest(texts):
            return None
        rows = file["rows"].astype(np.float32)
    return Vectors(tuple(texts), rows / np.linalg.norm(rows, axis=1, keepdims=True))


def made(embedder: Embedder, texts: list[str]) -> Vectors:
    """The vectors by the model itself; raises ModelError."""
    return Vectors(tuple(texts), embedded(embedder, texts))


def digest(texts: list[str]) -> bytes:
    """Tells one list of phrases from another."""
    return blake2b("\n".join(texts).encode(), digest_size=16).digest()
