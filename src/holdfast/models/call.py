"""Calling an embedder that we did not write: what it raises or returns is ours to judge."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import ModelError, ModelUnavailable
from holdfast.models.base import Embedder, check_vectors


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
        raise ModelUnavailable(f"{model_id}: {_said(error)}") from error
    except Exception as error:
        raise ModelError(f"{model_id}: {_said(error)}") from error


def known_dim(embedder: Embedder) -> int:
    """The embedder's dimension; 0 when a server would have to be asked for it.

    Nobody who opens a memory or stores a turn may wait for a server.
    """
    known = getattr(embedder, "known_dim", None)
    return known if isinstance(known, int) else embedder.dim


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:500]
