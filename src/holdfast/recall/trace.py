"""What `explain=True` adds to the why of a hit: every source's rank, its tier's weight, and what
each step made of its score.

Nothing here changes a score or an order. It takes a full ranking by every source, also by those
without a vote, so it is done only when asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.recall.candidates import Candidate, Moment
from holdfast.recall.sources.blend import Fused
from holdfast.recall.sources.rrf import by_tier, search

_DIGITS = 6
#: Every source is asked; what its vote counts is another matter.
_ALL = {"keyword": 1.0, "hybrid": 1.0, "vector": 1.0, "graph": 1.0}

Steps = Mapping[str, NDArray[np.floating[Any]]]


def with_changes(stage: str, before: list[Candidate], after: list[Candidate]) -> list[Candidate]:
    """The candidates after a stage, with a note where it changed their score or brought them in."""
    was = {each.doc: each for each in before}
    return [_with_change(stage, was.get(each.doc), each) for each in after]


def with_notes(
    found: list[Candidate],
    moment: Moment,
    fused: Fused,
    steps: Steps,
    *,
    weights: Mapping[str, float],
    graph: NDArray[np.float32] | None,
) -> list[Candidate]:
    """The candidates with the notes `sources`, `score`, `tier` and `stages`.

    `steps` are the scores of all documents after the fusion and after each step that followed it,
    before the stages; `weights` those of the tiers, empty where they change nothing.
    """
    sources = _sources([each.doc for each in found], moment, fused, graph)
    tiers = moment.view.texts()
    told = []
    for each in found:
        first = next(iter(steps.values()))
        tier = tiers[int(moment.view.tiers[each.doc])]
        notes = {
            **each.notes,
            "sources": sources[each.doc],
            "score": {"fused": _round(first[each.doc]), "final": _round(each.score)},
            "tier": {"name": tier, "weight": round(weights.get(tier, 1.0), 4)},
            "stages": {**_steps(each.doc, steps), **each.notes.get("stages", {})},
        }
        told.append(each._replace(notes=notes))
    return told


def _with_change(stage: str, was: Candidate | None, now: Candidate) -> Candidate:
    # A stage may make a candidate anew, without the notes of those before it.
    changes = dict(was.notes.get("stages", {})) if was else {}
    if was is None or was.score != now.score:
        changes[stage] = _change(was.score if was else None, now.score)
    return now.with_note("stages", changes) if changes else now


def _steps(doc: int, steps: Steps) -> dict[str, Any]:
    """What the steps between the fusion and the stages made of a document's score."""
    names, scores = list(steps), [float(each[doc]) for each in steps.values()]
    return {
        name: _change(before, after)
        for name, before, after in zip(names[1:], scores, scores[1:], strict=False)
        if before != after
    }


def _change(before: float | None, after: float) -> dict[str, float | None]:
    return {"before": None if before is None else _round(before), "after": _round(after)}


def _sources(
    docs: list[int], moment: Moment, fused: Fused, graph: NDArray[np.float32] | None
) -> dict[int, dict[str, Any]]:
    """For each document its rank in every source that gives it anything, the source's own score,
    and v(s) / (k + rank); 0 where reciprocal rank fusion looked less deep."""
    view, rrf = moment.view, moment.config.rrf
    found = search(
        view, moment.query, moment.vector, moment.seen, moment.wanted,
        depth=len(view), weights=_ALL, graph=graph,
        vector_weight=by_tier(view, asdict(rrf.vector_weight)),
    )  # fmt: skip
    votes = asdict(rrf.weights)
    told: dict[int, dict[str, Any]] = {doc: {} for doc in docs}
    counted = None
    if moment.config.fusion == "rrf":
        counted = dict(zip(docs, fused.why(list(docs)), strict=True))
    for source, ranking in found.rankings.items():
        for rank, (doc, score) in enumerate(zip(ranking.docs, ranking.scores, strict=True), 1):
            if doc in told:
                term = votes[source] / (rrf.k + rank)
                if counted is not None and source not in counted[doc]:
                    term = 0.0
                told[doc][source] = {"rank": rank, "score": _round(score), "rrf": _round(term)}
    return told


def _round(number: float) -> float:
    return round(float(number), _DIGITS)
