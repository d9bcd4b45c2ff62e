"""The sources: what may be seen, and the rankings by keyword and by meaning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.index.resident import View
from recollect.recall.bm25 import bm25
from recollect.recall.query import Query
from recollect.store.base import FOREVER_US


@dataclass(frozen=True, slots=True)
class Ranking:
    """Documents of one source, best first, with that source's own scores."""

    docs: tuple[int, ...]
    scores: tuple[float, ...]


NOTHING = Ranking((), ())


@dataclass(frozen=True, slots=True)
class Found:
    """What the sources gave."""

    rankings: dict[str, Ranking]
    #: The visible documents that hold each query term.
    holders: dict[str, NDArray[np.int32]]
    #: Which documents may be seen; None = all of them.
    visible: NDArray[np.bool_] | None


def search(view: View, query: Query, vector: NDArray[np.float32] | None, *, depth: int) -> Found:
    """Ask every source. `vector` None: the question has no embedding just now."""
    seen = visible(view, query)
    wanted = filtered(view, query, seen)
    scores, holders = bm25(view, query.terms, seen)
    if wanted is not None:
        scores[~wanted] = 0.0
    matching = border(scores, depth)
    matching = matching[scores[matching] > 0]
    rankings = {"keyword": best(view, matching, scores[matching], depth)}
    if vector is not None:
        rankings["vector"] = _nearest(view, vector, wanted, depth)
    return Found(rankings, holders, wanted)


def visible(view: View, query: Query) -> NDArray[np.bool_] | None:
    """Documents the asker can know of: alive, said and known by the asked times and valid then,
    of this agent."""
    masks = []
    if view.has_dead:
        masks.append(view.alive)
    if view.has_ends:
        masks.append(_still_valid(view, query))
    if query.as_of is not None:
        masks.append(view.at_us <= _us(query.as_of.timestamp()))
    if query.known_at is not None:
        masks.append(view.known_us <= _us(query.known_at.timestamp()))
    if query.scope.agent is not None:
        own = view.codes.get(query.scope.agent, -2)
        masks.append((view.agents == own) | (view.agents == -1))
    return np.logical_and.reduce(masks) if masks else None


def _still_valid(view: View, query: Query) -> NDArray[np.bool_]:
    """Documents that had not ended: at `as_of`, as was known at `known_at`; without both, now.

    An end that was learned after `known_at` was none then.
    """
    valid_at = _us((query.as_of or query.now).timestamp())
    known_at = _us((query.known_at or query.now).timestamp())
    ended: NDArray[np.bool_] = view.until_us <= valid_at
    was_known = view.known_until_us <= known_at
    if query.as_of is None:
        ended = was_known if query.known_at is not None else ended | was_known
    elif query.known_at is not None:
        ended &= was_known | (view.known_until_us == FOREVER_US)
    return ~ended


def filtered(view: View, query: Query, seen: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
    """The visible documents that pass the caller's filters. Statistics do not follow filters."""
    columns = {
        "agent": view.agents,
        "name": view.names,
        "role": view.roles,
        "session": view.sessions,
    }
    masks = [columns[name] == view.codes.get(text, -2) for name, text in query.filters.items()]
    if seen is not None:
        masks.append(seen)
    return np.logical_and.reduce(masks) if masks else None


def _nearest(
    view: View, vector: NDArray[np.float32], wanted: NDArray[np.bool_] | None, depth: int
) -> Ranking:
    if view.vectors is None:
        return NOTHING
    docs, cosines = view.vectors.cosines(vector, wanted, depth=depth)
    # A document has several passages at times: take more passages until there are enough documents.
    most = depth
    while True:
        near = border(cosines, most)
        found = np.unique(docs[near])
        if len(found) >= min(depth, len(docs)) or len(near) == len(docs):
            break
        most *= 2
    cosine_of = np.full(len(found), -2.0, dtype=np.float32)
    np.maximum.at(cosine_of, np.searchsorted(found, docs[near]), cosines[near])
    return best(view, found, cosine_of, depth)


def border(values: NDArray[np.float32], most: int) -> NDArray[np.intp]:
    """Places of the `most` highest values and of all that equal the last of them."""
    if len(values) <= most:
        return np.arange(len(values))
    cut = len(values) - most
    return np.flatnonzero(values >= np.partition(values, cut)[cut])


def best(
    view: View, docs: NDArray[np.integer[Any]], values: NDArray[np.float32], depth: int
) -> Ranking:
    """The `depth` best documents; of equals the newest, the same on every machine."""
    top = border(values, depth)
    docs, values = docs[top], values[top]
    order = np.lexsort((-view.order[docs], -values))[:depth]
    return Ranking(tuple(docs[order].tolist()), tuple(values[order].tolist()))


def _us(seconds: float) -> int:
    return round(seconds * 1_000_000)
