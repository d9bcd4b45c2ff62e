"""How alike two texts are by their vectors, asked only when words alone do not decide."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import ModelError

log = logging.getLogger(__name__)

#: Texts to unit vectors, in their order: the embedder of the memory.
Embed = Callable[[list[str]], NDArray[np.float32]]
#: What to do for vectors that are not there: see `Alike.by`.
Compare = Literal["asking", "needing", "kept"]
#: Vectors that are kept.
_MOST_KEPT = 4_096


class Unembedded(Exception):
    """Two texts are to be compared that have no vectors yet: see `Alike.by`."""


class Alike:
    """The cosine of two texts. Threads may share it."""

    def __init__(self, embed: Embed | None) -> None:
        self._embed = embed
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, NDArray[Any]] = OrderedDict()

    def by(self, compare: Compare) -> Callable[[str, str], float | None]:
        """How alike two texts are. Asking: the model is waited for. For who holds a lock, or must
        not wait: kept: None where it would be asked; needing: `Unembedded` there."""
        if compare == "asking":
            return self.likeness
        return lambda one, other: self._kept_likeness(one, other, needed=compare == "needing")

    def _kept_likeness(self, one: str, other: str, *, needed: bool) -> float | None:
        with self._lock:
            vectors = self._kept.get(one), self._kept.get(other)
        if vectors[0] is not None and vectors[1] is not None:
            return float(vectors[0] @ vectors[1])
        if needed and self._embed is not None:
            raise Unembedded
        return None

    def likeness(self, one: str, other: str) -> float | None:
        """-1..1; None without an embedder, or when it cannot be reached: then nothing is ended
        or left out for being alike."""
        if self._embed is None:
            return None
        try:
            vectors = self._vectors(self._embed, [one, other])
        except ModelError as error:
            # Its kind alone: its text may quote what was compared.
            log.warning("facts: compared without vectors: %s", type(error).__name__)
            return None
        return float(vectors[0] @ vectors[1])

    def _vectors(self, embed: Embed, texts: Sequence[str]) -> list[NDArray[Any]]:
        with self._lock:
            there = {text: self._kept[text] for text in texts if text in self._kept}
        missing = [text for text in dict.fromkeys(texts) if text not in there]
        if missing:
            there.update(zip(missing, embed(missing), strict=True))
        with self._lock:
            for text in texts:
                self._kept[text] = there[text]
                self._kept.move_to_end(text)
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        return [there[text] for text in texts]
