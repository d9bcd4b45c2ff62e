"""How alike two texts are by their vectors, asked only when words alone do not decide."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import ModelError

log = logging.getLogger(__name__)

#: Texts to unit vectors, in their order: the embedder of the memory.
Embed = Callable[[list[str]], NDArray[np.float32]]
#: Vectors that are kept.
_MOST_KEPT = 4_096


class Alike:
    """The cosine of two texts. Threads may share it."""

    def __init__(self, embed: Embed | None) -> None:
        self._embed = embed
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, NDArray[Any]] = OrderedDict()

    def likeness(self, one: str, other: str) -> float | None:
        """-1..1, the model is waited for; None without an embedder, or when it cannot be reached:
        then nothing is ended or left out for being alike."""
        return self.at_hand(one, other) if self.fetch((one, other)) else None

    def at_hand(self, one: str, other: str) -> float | None:
        """The same by the vectors that are kept, for who must not wait; None where one is not."""
        with self._lock:
            vectors = self._kept.get(one), self._kept.get(other)
        if vectors[0] is None or vectors[1] is None:
            return None
        return float(vectors[0] @ vectors[1])

    def missing(self, texts: Iterable[str]) -> list[str]:
        """The texts whose vectors are not kept and can be asked for."""
        with self._lock:
            missing = [text for text in dict.fromkeys(texts) if text not in self._kept]
        return [] if self._embed is None else missing

    def fetch(self, texts: Iterable[str]) -> bool:
        """Have the vectors of some texts kept; False when the model cannot give them."""
        if self._embed is None:
            return False
        wanted = list(dict.fromkeys(texts))
        missing = self.missing(wanted)
        try:
            made = dict(zip(missing, self._embed(missing), strict=True)) if missing else {}
        except ModelError as error:
            # Its kind alone: its text may quote what was compared.
            log.warning("facts: compared without vectors: %s", type(error).__name__)
            return False
        with self._lock:
            for text in wanted:
                if text in made:
                    self._kept[text] = made[text]
                if text in self._kept:
                    self._kept.move_to_end(text)
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        return True
