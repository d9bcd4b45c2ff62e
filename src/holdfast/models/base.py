"""Embedders and language models: the promises that every one of them keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import ModelError, ModelUnavailable

# Calling an embedder that we did not write: what it raises or returns is ours to judge.


def embedded(embedder: Embedder, texts: list[str]) -> NDArray[np.float32]:
    """Unit vectors, one row a text; ModelError when the embedder fails or answers nonsense."""
    if not texts:
        return np.empty((0, 0), dtype=np.float32)
    with typed_errors(embedder.model_id):
        vectors = embedder.embed(texts)
    return check_vectors(vectors, count=len(texts), dim=embedder.dim)


@contextmanager
def typed_errors(model_id: str) -> Iterator[None]:
    """Whatever somebody else's model raises becomes a ModelError: one broken model must neither
    stop a worker nor fail a recall that has other sources."""
    try:
        yield
    except ModelError:
        raise
    except OSError as error:
        raise ModelUnavailable(f"{model_id}: {_message_of(error)}") from error
    except Exception as error:
        raise ModelError(f"{model_id}: {_message_of(error)}") from error


def known_dim(embedder: Embedder) -> int:
    """The embedder's dimension; 0 when a server would have to be asked for it.

    Nobody who opens a memory or stores a turn may wait for a server.
    """
    known = getattr(embedder, "known_dim", None)
    return known if isinstance(known, int) else embedder.dim


def _message_of(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:500]


def is_stand_in(embedder: Embedder) -> bool:
    """Whether it says that it stands in for a model, as in tests: then the model that reads, and
    what tells how alike two statements are, stay away as well."""
    return getattr(embedder, "is_stand_in", False) is True


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


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """What one call took, in tokens of the model."""

    prompt_tokens: int = 0
    answer_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Generated:
    """What the model wrote, and what it took."""

    text: str
    usage: TokenUsage
    #: The model stopped because the answer reached its limit.
    cut: bool = False
    #: The endpoint gave no usage that can be believed: it was counted with our own counter.
    estimated: bool = False


class Generator(Protocol):
    """Instructions and a text to an answer; `ModelError` when it cannot. Threads may share it."""

    @property
    def model_id(self) -> str:
        """Which model."""

    @property
    def max_answer_tokens(self) -> int:
        """The longest answer that is asked for."""

    def generate(
        self, system: str, text: str, *, schema: Mapping[str, Any] | None = None
    ) -> Generated:
        """The model's answer to `text` under the instructions `system`."""


# Who pays for what a model is asked while somebody waits; set by the door where they came in.

#: Takes the text that is to be sent; raises when it must not be.
Pay = Callable[[str], None]

_PAYING: ContextVar[Pay | None] = ContextVar("holdfast_paying", default=None)


@contextmanager
def paying(pay: Pay) -> Iterator[None]:
    """Around a request: what it makes a model do at once is paid so, on its threads too."""
    token = _PAYING.set(pay)
    try:
        yield
    finally:
        _PAYING.reset(token)


def pay_for(embedder: Embedder, text: str) -> None:
    """Pay before a text is sent to a model that costs; raises what the one who pays raises."""
    pay = _PAYING.get()
    if pay is not None and getattr(embedder, "is_remote", False):
        pay(text)
