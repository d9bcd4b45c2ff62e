"""What a stage of the pipeline gets and gives.

A stage is a pure function `(candidates, moment) -> candidates` in its own file. It may reorder,
rescore, add or drop; what it does to a candidate it notes in `notes`, under its own name, so that
`why` can tell. Candidates come best first and are given back best first. The order of the stages
is in pipeline.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from holdfast.config import Config
from holdfast.index.resident import View
from holdfast.recall.query import Query

if TYPE_CHECKING:
    from holdfast.recall.stages.rerank import Reranker

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
        return Candidate(self.doc, score, {**self.notes, stage: note})

    def noted(self, stage: str, note: Any) -> Candidate:
        """The same document with a note."""
        return Candidate(self.doc, self.score, {**self.notes, stage: note})


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
    #: The score of every document after the fusion.
    scores: NDArray[np.floating[Any]]
    #: The documents that hold each query term.
    holders: Mapping[str, NDArray[np.int32]] = field(default_factory=dict)
    reranker: Reranker | None = None
    #: What could not be asked; told with the answer.
    degraded: list[str] = field(default_factory=list)


class Stage(Protocol):
    """One step after the fusion."""

    def __call__(self, candidates: list[Candidate], moment: Moment) -> list[Candidate]:
        """The candidates after this step, best first."""


def by_score(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Best first; equals stay in the order they came."""
    return sorted(candidates, key=lambda each: -each.score)


def raised(
    candidates: Sequence[Candidate],
    gains: NDArray[np.floating[Any]],
    stage: str,
    notes: Sequence[Any],
) -> list[Candidate]:
    """Each score times 1 + its gain, best first; those that gain are noted.

    Where one would pass 1, all are scaled down together: the order is that of the formula.
    """
    scores = np.array([each.score for each in candidates]) * (1.0 + gains)
    scores /= max(1.0, float(scores.max(initial=0.0)))
    return by_score(
        [
            each.scored(score, stage, note)
            if gain > 0 and score > 0
            else Candidate(each.doc, score, each.notes)
            for each, score, gain, note in zip(
                candidates, scores.tolist(), gains.tolist(), notes, strict=True
            )
        ]
    )
