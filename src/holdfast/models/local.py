"""The embedder that ships with Holdfast: all-MiniLM-L6-v2 in int8, on the processor, offline.

Nothing is loaded before the first text. Texts run in batches of exactly equal token length: no
padding is computed, and a text gets the same vector, bit for bit, alone or in any batch (with
padding, the rounding of int8 turned differences of 1e-7 into 1e-2).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import ModelError
from holdfast.models.base import check_vectors
from holdfast.models.wordpiece import WordPiece

FOLDER = Path(__file__).with_name("minilm")
MAX_TOKENS = 256  # as the model was trained; what is longer is cut
BATCH_TEXTS = 8  # more is no faster on a processor and takes more memory
MAX_THREADS = 4  # two gave 1.8 times the texts of one; more than two were not measured


@dataclass(frozen=True, slots=True)
class _Parts:
    words: WordPiece
    session: Any  # onnxruntime.InferenceSession, which comes without types
    faults: tuple[type[Exception], ...]  # what it raises


class LocalEmbedder:
    """Embeds on this machine; `threads` is how many cores one call may use."""

    model_id = "all-MiniLM-L6-v2-int8"
    dim = 384

    def __init__(self, *, folder: Path = FOLDER, threads: int | None = None) -> None:
        self._folder = folder
        self._threads = threads or min(MAX_THREADS, len(os.sched_getaffinity(0)))
        self._lock = threading.Lock()
        self._parts: _Parts | None = None

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        """Unit vectors of shape (len(texts), 384), in the order of the texts."""
        vectors = np.empty((len(texts), self.dim), dtype=np.float32)
        if not texts:
            return vectors
        parts = self._load()
        tokens = [parts.words.encode(text, max_tokens=MAX_TOKENS) for text in texts]
        for rows in equal_lengths(tokens):
            vectors[rows] = run(parts, [tokens[row] for row in rows])
        return check_vectors(vectors, count=len(texts), dim=self.dim)

    def count_tokens(self, text: str) -> int:
        """How many of this model's tokens the whole text is, with the two marks around it."""
        return len(self._load().words.encode(text))

    def _load(self) -> _Parts:
        with self._lock:
            if self._parts is None:
                self._parts = load(self._folder, self._threads)
            return self._parts


def equal_lengths(tokens: list[list[int]]) -> Iterator[list[int]]:
    """Row numbers in batches of equal token length."""
    order = sorted(range(len(tokens)), key=lambda row: len(tokens[row]))
    for _, group in groupby(order, key=lambda row: len(tokens[row])):
        rows = list(group)
        for start in range(0, len(rows), BATCH_TEXTS):
            yield rows[start : start + BATCH_TEXTS]


def run(parts: _Parts, tokens: list[list[int]]) -> NDArray[np.float32]:
    """The vectors of one batch of equal lengths."""
    ids = np.array(tokens, dtype=np.int64)
    inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
    vectors: NDArray[np.float32]
    try:
        (vectors,) = parts.session.run(None, inputs)
    except parts.faults as error:
        raise ModelError(f"the local model failed on {ids.shape} tokens: {error}") from error
    return vectors


def load(folder: Path, threads: int) -> _Parts:
    """The tokeniser and the session; onnxruntime takes 0.2 s to import, so only now."""
    import onnxruntime  # noqa: PLC0415
    from onnxruntime.capi import onnxruntime_pybind11_state as state  # noqa: PLC0415

    # They share no base but Exception.
    faults = (
        state.Fail,
        state.InvalidArgument,
        state.InvalidGraph,
        state.InvalidProtobuf,
        state.NotImplemented,
        state.RuntimeException,
    )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    # Waiting threads sleep: spinning ones would burn a core between two calls.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        words = WordPiece.from_file(folder / "vocab.txt")
        model = (folder / "model.onnx").read_bytes()
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except (OSError, ValueError, KeyError, *faults) as error:
        raise ModelError(
            f"the local model in {folder} cannot be loaded, reinstall holdfast: {error}"
        ) from error
    return _Parts(words, session, faults)
