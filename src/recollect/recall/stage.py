"""What a stage of the pipeline gets and gives.

A stage is a pure function `(candidates, moment) -> candidates` in its own file. It may reorder,
rescore, add or drop; what it does to a candidate it notes in `notes`, under its own name, so that
`why` can tell. Candidates come best first and are given back best first. The order of the stages
is in pipeline.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from recollect.config import Config
from recollect.index.resident import View
from recollect.recall.query import Query

ReadContent = Callable[[Sequence[int]], Mapping[int, str]]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A document on its way to the answer."""

    #: Its number in the view.
    doc: int
    #: 0..1, comparable within one call.
    score: float
    #: Stage or source -> what it said of this document.
    notes: Mapping[str, Any] = field(default_factory=dict)

    def scored(self, score: float, stage: str, note: Any) -> Candidate:
        """The same document with another score, and why."""
        return replace(self, score=score, notes={**self.notes, stage: note})

    def noted(self, stage: str, note: Any) -> Candidate:
        """The same document with a note."""
        return replace(self, notes={**self.notes, stage: note})


@dataclass(frozen=True, slots=True)
class Moment:
    """Everything a stage may look at."""

    view: View
    query: Query
    config: Config
    #: The question's embedding, if there is one.
    vector: NDArray[np.float32] | None
    #: Cosine of every document with the question, where there is an embedding.
    cosines: NDArray[np.float32] | None
    #: Documents the asker can know of; None = all.
    seen: NDArray[np.bool_] | None
    #: Those of them that pass the caller's filters, too; None = all.
    wanted: NDArray[np.bool_] | None
    #: Reads the text of a few documents from the store: slow, for stages that must.
    content: ReadContent


class Stage(Protocol):
    """One step after the fusion."""

    def __call__(self, candidates: list[Candidate], moment: Moment) -> list[Candidate]:
        """The candidates after this step, best first."""


def by_score(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Best first; equals stay in the order they came."""
    return sorted(candidates, key=lambda each: -each.score)
