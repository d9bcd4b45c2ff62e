"""Calling an embedder that we did not write: what it raises or returns is ours to judge."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recollect.errors import ModelError, ModelUnavailable
from recollect.models.base import Embedder, check_vectors


def embedded(embedder: Embedder, texts: list[str]) -> NDArray[np.float32]:
    """Unit vectors, one row a text; ModelError when the embedder fails or answers nonsense."""
    if not texts:
        return np.empty((0, 0), dtype=np.float32)
    try:
        vectors = embedder.embed(texts)
    except ModelError:
        raise
    except (OSError, TimeoutError) as error:
        raise ModelUnavailable(f"{embedder.model_id}: {_said(error)}") from error
    except Exception as error:
        raise ModelError(f"{embedder.model_id}: {_said(error)}") from error
    return check_vectors(vectors, count=len(texts), dim=embedder.dim)


def known_dim(embedder: Embedder) -> int:
    """The embedder's dimension; 0 when a server would have to be asked for it.

    Nobody who opens a memory or stores a turn may wait for a server.
    """
    known = getattr(embedder, "known_dim", None)
    return known if isinstance(known, int) else embedder.dim


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:500]
