"""Reranking: a model reads the question and each of the best candidates together.

It is asked about the first `depth` candidates; those are put in the order of its scores, equals as
they were, and the others stay behind them. Places keep their scores: whoever moves takes the score
of the new place, because a model's scores may be logits of any size, not comparable with ours; what
it said is noted with the old place.

It is not asked where the answer is clear: the best candidate has at least 0.85 and leads by at
least 0.05 (the seed's rule).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import ModelError
from holdfast.models.base import typed_errors
from holdfast.recall.candidates import Candidate, ReadContent

#: The best candidate is beyond doubt with this score and this lead over the second; the seed's.
SURE = 0.85
LEAD = 0.05

#: Documents -> how well each answers the question.
ScoresOf = Callable[[Sequence[int]], Sequence[float]]


class Reranker(Protocol):
    """A question and texts to scores.

    - One finite number a text, in the order of the texts; higher is better; any range.
    - Several threads may call it at once.
    - `ModelError` when it cannot.
    """

    @property
    def model_id(self) -> str:
        """Which model, in which form."""

    def rerank(self, query: str, texts: list[str]) -> Sequence[float]:
        """How well each text answers the question."""


def scores_by(reranker: Reranker, query: str, content: ReadContent) -> ScoresOf:
    """Scores of documents by this model; `ModelError` when it fails or answers nonsense."""

    def scores_of(docs: Sequence[int]) -> Sequence[float]:
        texts = content(docs)
        # A text that was wiped meanwhile reads as empty; its record will not be found either.
        asked = [texts.get(doc, "") for doc in docs]
        with typed_errors(reranker.model_id):
            return reranker.rerank(query, asked)

    return scores_of


def rerank(
    candidates: list[Candidate],
    scores_of: ScoresOf,
    *,
    depth: int,
    sure: float | None = SURE,
    lead: float = LEAD,
) -> list[Candidate]:
    """The candidates in the model's order; the very same list where it is not asked.

    `sure` None asks in every case. `ModelError` when the answer is nonsense: the candidates are as
    they were, and the caller can go on with them.
    """
    head = candidates[:depth]
    if len(head) < 2 or (sure is not None and _clear(head, sure, lead)):
        return candidates
    scores = _check_scores(scores_of([each.doc for each in head]), len(head))
    order = np.argsort(-scores, kind="stable").tolist()
    moved = [
        head[old].with_score(
            head[place].score, "rerank", {"before": old + 1, "score": float(scores[old])}
        )
        for place, old in enumerate(order)
    ]
    return moved + candidates[depth:]


def _clear(head: Sequence[Candidate], sure: float, lead: float) -> bool:
    best, second = head[0].score, head[1].score
    # 0.85 - 0.80 is a little less than 0.05 in binary.
    return best >= sure and round(best - second, 9) >= lead


def _check_scores(answer: object, count: int) -> NDArray[np.float64]:
    try:
        scores = np.asarray(answer)
    except (TypeError, ValueError) as error:
        raise ModelError(f"the reranker gave no list of numbers: {error}") from error
    if scores.shape != (count,):
        raise ModelError(f"the reranker gave scores of shape {scores.shape}, not ({count},)")
    if scores.dtype.kind not in "fiu":
        raise ModelError(f"the reranker gave {scores.dtype} values, not numbers")
    if not np.isfinite(scores).all():
        raise ModelError("the reranker gave a score that is not finite")
    return scores.astype(np.float64)
