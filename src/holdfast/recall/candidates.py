"""Which documents take part in an answer: those that the asker may see, and the best of them.

A stage of the pipeline is a pure function `(candidates, moment) -> candidates`. It may reorder,
rescore, add or drop; what it does to a candidate it notes in `notes`, under its own name, so that
`why` can tell. Candidates come best first and are given back best first. The order of the stages
is in pipeline.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from holdfast.config import Config
from holdfast.index.resident import View
from holdfast.recall.query import Query
from holdfast.records.fading import notes_until
from holdfast.records.graph.adjacency import edges_until, entities_until
from holdfast.settings import DECAY, Decay
from holdfast.store.protocols import FOREVER_US

if TYPE_CHECKING:
    from holdfast.recall.stages.replaced import Standings
    from holdfast.recall.stages.rerank import Reranker

ReadContent = Callable[[Sequence[int]], Mapping[int, str]]


#: Of all that have none: nobody writes into notes, whoever adds one makes them anew.
_NO_NOTES: Mapping[str, Any] = {}


class Candidate(NamedTuple):
    """A document on its way to the answer. Every search makes a hundred: a tuple is made in a third
    of the time of a dataclass."""

    #: Its number in the view.
    doc: int
    #: 0..1, comparable within one call.
    score: float
    #: Stage or source -> what it said of this document.
    notes: Mapping[str, Any] = _NO_NOTES

    def with_score(self, score: float, stage: str, note: Any) -> Candidate:
        """The same document with another score, and why."""
        return Candidate(self.doc, score, {**self.notes, stage: note})

    def with_note(self, stage: str, note: Any) -> Candidate:
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
    #: What became of what a turn says; None: nobody knows.
    standings: Standings | None = None
    #: What could not be asked; told with the answer.
    degraded: list[str] = field(default_factory=list)


class Stage(Protocol):
    """One step after the fusion."""

    def __call__(self, candidates: list[Candidate], moment: Moment) -> list[Candidate]:
        """The candidates after this step, best first."""


def by_score(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Best first; equals stay in the order they came."""
    return sorted(candidates, key=lambda each: -each.score)


def raise_scores(
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
            each.with_score(score, stage, note)
            if gain > 0 and score > 0
            else Candidate(each.doc, score, each.notes)
            for each, score, gain, note in zip(
                candidates, scores.tolist(), gains.tolist(), notes, strict=True
            )
        ]
    )


#: Of values of which more than this share differ from the lowest, all are parted.
_MOSTLY = 0.9


@dataclass(frozen=True, slots=True)
class Ranking:
    """Documents of one source, best first, with that source's own scores."""

    docs: tuple[int, ...]
    scores: tuple[float, ...]


def border(values: NDArray[np.float32], most: int) -> NDArray[np.intp]:
    """Places of the `most` highest values and of all that equal the last of them."""
    if len(values) <= most:
        return np.arange(len(values))
    # For most documents nothing speaks: thousands of equal values would take ten times as long to
    # part as different ones.
    above = values > values.min()
    count = int(np.count_nonzero(above))
    if count < most:
        return np.arange(len(values))
    if count > _MOSTLY * len(values):
        return np.flatnonzero(values >= _nth(values, most))
    high = np.flatnonzero(above)
    return high[values[high] >= _nth(values[high], most)]


def _nth(values: NDArray[np.float32], most: int) -> np.float32:
    cut = len(values) - most
    nth: np.float32 = np.partition(values, cut)[cut]
    return nth


def best(
    view: View, docs: NDArray[np.integer[Any]], values: NDArray[np.float32], depth: int
) -> Ranking:
    """The `depth` best documents; of equals the newest, the same on every machine."""
    top = border(values, depth)
    docs, values = docs[top], values[top]
    order = np.lexsort((-view.order[docs], -values))[:depth]
    return Ranking(tuple(docs[order].tolist()), tuple(values[order].tolist()))


# ----------------------------------------------------------------------
# Who may be seen.
# ----------------------------------------------------------------------

#: One document that was just born and that nobody has touched.
_BIRTH = np.zeros(1, dtype=np.int64)
_UNTOUCHED = np.full(1, -1.0, dtype=np.float32)


def visible_mask(view: View, query: Query) -> NDArray[np.bool_] | None:
    """Documents the asker can know of: alive, said and known by the asked times and valid then,
    of this agent. None = all of them. The usual mask is made once for a moment of the index."""
    usual = query.as_of is None and query.known_at is None and query.scope.agent is None
    usual = usual and not query.archived and _us(query.now.timestamp()) >= _last_end(view)
    if usual and "seen" in view.kept:
        kept: NDArray[np.bool_] = view.kept["seen"]
        return kept
    masks = _masks(view, query)
    if not masks:
        return None
    mask: NDArray[np.bool_] = np.logical_and.reduce(masks)
    if usual:
        view.kept["seen"] = mask
    return mask


def _last_end(view: View) -> int:
    """When the last document ended, or will; what is seen does not change after that."""
    if not view.has_ends:
        return -FOREVER_US
    return view.once("last end", lambda: _latest([view.until_us, view.known_until_us]))


def _latest(ends: list[NDArray[np.int64]]) -> int:
    every = np.concatenate(ends)
    return int(every[every < FOREVER_US].max())


def _masks(view: View, query: Query) -> list[NDArray[np.bool_]]:
    masks = []
    if view.has_dead:
        # What was put aside later was not at an earlier known time: then it is shown in any case.
        also = query.archived or query.known_at is not None
        masks.append(view.alive | view.archived if also and view.has_archived else view.alive)
    if view.has_ends:
        masks.append(_still_valid(view, query))
    if query.as_of is not None:
        masks.append(view.at_us <= _us(query.as_of.timestamp()))
    if query.known_at is not None:
        masks.append(view.known_us <= _us(query.known_at.timestamp()))
    if query.scope.agent is not None:
        own = view.code(query.scope.agent)
        masks.append((view.agents == own) | (view.agents == -1))
    if view.has_private:
        own = -2 if query.scope.agent is None else view.code(query.scope.agent)
        masks.append(~view.private | (view.agents == own))
    return masks


def _still_valid(view: View, query: Query) -> NDArray[np.bool_]:
    """Documents that had not ended: at `as_of`, as was known at `known_at`; without both, now.

    An end that was learned after `known_at` was none then.
    """
    valid_at = _us((query.as_of or query.now).timestamp())
    known_at = _us((query.known_at or query.now).timestamp())
    ended: NDArray[np.bool_] = view.until_us <= valid_at
    was_known = view.known_until_us <= known_at
    if query.as_of is None:
        # One that was told late had ended when it was told: nothing was learned of its end later.
        told_late = (view.until_us <= known_at) & (view.known_until_us == FOREVER_US)
        ended = was_known | told_late if query.known_at is not None else ended | was_known
    elif query.known_at is not None:
        ended &= was_known | (view.known_until_us == FOREVER_US)
    return ~ended


def wanted_mask(
    view: View, query: Query, seen: NDArray[np.bool_] | None, decay: Decay = DECAY
) -> NDArray[np.bool_] | None:
    """The visible documents that pass the caller's filters and have not faded. Statistics follow
    neither: what is found does not change its score because something else grows old."""
    columns = {
        "agent": view.agents,
        "kind": view.kinds,
        "name": view.names,
        "role": view.roles,
        "session": view.sessions,
    }
    masks = [columns[name] == view.code(text) for name, text in query.filters.items()]
    if query.tiers is not None:
        masks.append(np.isin(view.tiers, [view.code(tier) for tier in query.tiers]))
    if (unfaded := unfaded_mask(view, query, decay)) is not None:
        masks.append(unfaded)
    if seen is not None:
        masks.append(seen)
    if len(masks) < 2:
        return masks[0] if masks else None
    both: NDArray[np.bool_] = np.logical_and.reduce(masks)
    return both


def unfaded_mask(view: View, query: Query, decay: Decay = DECAY) -> NDArray[np.bool_] | None:
    """The documents that have not faded by the asked time; None = all of them.

    What was seen again after `known_at` was not known then: only births count, so that the same
    question has the same answer.
    """
    if query.faded or not view.has_derived:
        return None
    name = "present" if query.known_at is None else "present by birth"
    by_birth = query.known_at is not None
    # All questions to a view come with the settings of one memory: once is enough.
    ends, first = view.once(name, lambda: _presence(view, decay, by_birth=by_birth))
    asked = _us((query.known_at or query.as_of or query.now).timestamp())
    if asked <= first:
        return None
    mask: NDArray[np.bool_] = ends >= asked
    return mask


def _presence(view: View, decay: Decay, *, by_birth: bool) -> tuple[NDArray[np.int64], int]:
    """Until when each document is shown, and when the first of them is hidden."""
    ends = np.full(len(view), FOREVER_US, dtype=np.int64)
    graph = view.tiers == view.code("graph")
    alone = by_birth or not view.has_touched
    for those, last in (
        (view.tiers == view.code("note"), notes_until),
        (graph & (view.kinds == view.code("relation")), partial(_edges_until, decay)),
        (graph & (view.kinds == view.code("entity")), partial(_entities_until, decay)),
    ):
        if not those.any():
            continue
        if alone:  # All of a kind are shown for as long, most of the time: no formula for each.
            life = last(_BIRTH, _BIRTH, _UNTOUCHED)[0]
            np.add(view.known_us if by_birth else view.seen_us, life, out=ends, where=those)
        else:
            ends[those] = last(view.known_us[those], view.seen_us[those], view.strength[those])
    return ends, int(ends.min(initial=FOREVER_US))


def _edges_until(
    decay: Decay, _known: NDArray[np.int64], seen: NDArray[np.int64], full: NDArray[np.float32]
) -> NDArray[np.int64]:
    return edges_until(seen, np.where(full < 0, 1.0, full.astype(np.float64)), decay=decay)


def _entities_until(
    decay: Decay, _known: NDArray[np.int64], seen: NDArray[np.int64], full: NDArray[np.float32]
) -> NDArray[np.int64]:
    """How many turns speak of an entity is not known here: it is taken for one of many."""
    return entities_until(seen, np.where(full < 0, 1.0, full.astype(np.float64)), decay=decay)


def _us(seconds: float) -> int:
    return round(seconds * 1_000_000)
