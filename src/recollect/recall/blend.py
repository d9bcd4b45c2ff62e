"""The default fusion: a weighted sum of what each source says of every document.

score(d) = sum over features f of weight(f) * f(d) / max f, divided by the sum of the weights, so
that a document that is best everywhere scores 1. The features:

    window    BM25 over the turn and its two neighbours on either side, neighbours counting less
    people    BM25 over what people said, with the statistics of their turns alone
    session   BM25 over whole sessions: where was this talked about at all
    vector    cosine of the turn's best passage
    around    the same, averaged with the turns before and after
    role      said by a person, not by a machine
    speaker   said by someone the question names
    time      mentions a time, where the question asks for one

Ranks throw away how sure a source is, which is why this beats reciprocal rank fusion; see
docs/decisions/0006.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recollect.index.resident import View
from recollect.recall.bm25 import postings, weighed
from recollect.recall.query import Query
from recollect.text import fold, terms

Scores = NDArray[np.float32]
Postings = Sequence[tuple[NDArray[np.int32], NDArray[np.uint8]]]

#: What a neighbour's words count in a window: one turn away, two turns away.
_NEAR, _FAR = 0.7, 0.49
#: What a neighbour's cosine counts beside the turn's own.
_BESIDE = 0.5
#: So many documents are compared by meaning because of their keywords.
_LIKELY = 256
#: Words of a text that tells a time: relative ones, days, months, years, days of a month.
_TIME_WORDS = terms(
    "yesterday today tonight tomorrow ago last next week weekend month year "
    "monday tuesday wednesday thursday friday saturday sunday "
    "january february march april june july august september october november december "
    + " ".join(str(number) for number in (*range(1, 32), *range(1900, 2101)))
)
#: Names that say "not a person" for turns of the assistant, the system or a tool.
_MACHINES = frozenset({"", "assistant", "agent", "ai", "bot", "model", "system", "tool"})


@dataclass(frozen=True, slots=True)
class Blended:
    """Every document's score and what it is made of."""

    scores: Scores
    features: Mapping[str, Scores]
    #: Cosines as they are, where there are any.
    cosines: Scores | None
    #: The documents that hold each query term.
    holders: Mapping[str, NDArray[np.int32]]


def blend(
    view: View,
    query: Query,
    vector: NDArray[np.float32] | None,
    visible: NDArray[np.bool_] | None,
    *,
    weights: Mapping[str, float],
) -> Blended:
    """Score every document. What nothing speaks for but its role or speaker scores 0."""
    found = postings(view, query.terms, visible)
    around = _neighbours(view, visible)
    features = {
        "window": _window(view, found, visible, around),
        "people": _people(view, found, visible),
        "session": _sessions(view, found, visible),
    }
    # Neighbours lend weight, never relevance: something of its own must speak for a document.
    relevant = np.zeros(len(view), dtype=np.bool_)
    for docs, _ in found:
        relevant[docs] = True
    cosines = None
    if vector is not None and view.vectors is not None:
        likely = _likely(features["window"], around)
        cosines = view.vectors.by_document(vector, len(view), also=likely)
        if visible is not None:
            cosines *= visible
        features |= {"vector": cosines, "around": _averaged(view, cosines, around, visible)}
        relevant |= cosines > 0
    features |= {"role": persons(view), "speaker": _named(view, query)}
    if query.asks_when:
        features["time"] = _timed(view)
    total = np.zeros(len(view), dtype=np.float32)
    for name, values in features.items():
        features[name] = _share(values, visible)
        total += np.float32(weights[name]) * features[name]
    total[~relevant] = 0.0
    if visible is not None:
        total[~visible] = 0.0
    holders = {term: docs for term, (docs, _) in zip(query.terms, found, strict=True)}
    total /= np.float32(sum(weights[name] for name in features) or 1.0)
    return Blended(total, features, cosines, holders)


def _share(values: Scores, visible: NDArray[np.bool_] | None) -> Scores:
    """Values as a share of the highest one that may be seen."""
    seen = values if visible is None else values[visible]
    top = float(seen.max(initial=0.0))
    return values / np.float32(top) if top > 0 else np.zeros_like(values)


def _neighbours(view: View, visible: NDArray[np.bool_] | None) -> NDArray[np.int32]:
    """(4, n): the turns one and two before, one and two after, in the same session, in order of
    arrival, of those that may be seen; n where there is none. Only turns have neighbours."""
    if visible is None and "neighbours" in view.kept:
        kept: NDArray[np.int32] = view.kept["neighbours"]
        return kept
    n = len(view)
    docs = np.arange(n) if visible is None else np.flatnonzero(visible)
    if view.has_derived:
        docs = docs[_turns(view)[docs]]
    docs = docs[np.lexsort((view.order[docs], view.sessions[docs]))]
    around = np.full((4, n), n, dtype=np.int32)
    for row, step in ((0, 1), (1, 2)):
        same = view.sessions[docs[step:]] == view.sessions[docs[:-step]]
        around[row, docs[step:][same]] = docs[:-step][same]
        around[row + 2, docs[:-step][same]] = docs[step:][same]
    if visible is None:
        view.kept["neighbours"] = around
    return around


def _turns(view: View) -> NDArray[np.bool_]:
    """What was said, not what was derived from it."""
    if "turns" not in view.kept:
        view.kept["turns"] = view.tiers == view.codes.get("session", -2)
    turns: NDArray[np.bool_] = view.kept["turns"]
    return turns


def _window(
    view: View, found: Postings, visible: NDArray[np.bool_] | None, around: NDArray[np.int32]
) -> Scores:
    n = len(view)
    docs_of = [_spread(docs, counts, around, n) for docs, counts in found]
    return weighed(docs_of, _window_lengths(view, visible, around), visible, n)


def _window_lengths(
    view: View, visible: NDArray[np.bool_] | None, around: NDArray[np.int32]
) -> Scores:
    """What cannot be seen has no length either."""
    if visible is None and "window_lengths" in view.kept:
        kept: Scores = view.kept["window_lengths"]
        return kept
    own = view.lengths if visible is None else view.lengths * visible
    padded = np.append(own, np.float32(0.0))
    near = padded[around[0]] + padded[around[2]]
    far = padded[around[1]] + padded[around[3]]
    lengths: Scores = own + np.float32(_NEAR) * near + np.float32(_FAR) * far
    if visible is None:
        view.kept["window_lengths"] = lengths
    return lengths


def _spread(
    docs: NDArray[np.int32], counts: NDArray[np.uint8], around: NDArray[np.int32], n: int
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Documents in whose window a term occurs, and how much of it there is."""
    places = np.concatenate([docs, *(row[docs] for row in around)])
    weights = np.concatenate([counts, _NEAR * counts, _FAR * counts, _NEAR * counts, _FAR * counts])
    dense = np.bincount(places, weights, minlength=n + 1)[:n].astype(np.float64, copy=False)
    there = np.flatnonzero(dense)
    return there, dense[there]


def _people(view: View, found: Postings, visible: NDArray[np.bool_] | None) -> Scores:
    person = persons(view) > 0
    if person.all():
        return weighed(found, view.lengths, visible, len(view))
    seen = person if visible is None else person & visible
    kept = [(docs[person[docs]], counts[person[docs]]) for docs, counts in found]
    return weighed(kept, view.lengths, seen, len(view))


def _sessions(view: View, found: Postings, visible: NDArray[np.bool_] | None) -> Scores:
    """Every turn gets the score of its session; one session tells nothing apart."""
    if view.has_derived:
        turns = _turns(view)
        visible = turns if visible is None else turns & visible
        found = [(docs[turns[docs]], counts[turns[docs]]) for docs, counts in found]
    if "sessions" not in view.kept:
        codes, numbers = np.unique(view.sessions, return_inverse=True)
        view.kept["sessions"] = (numbers, len(codes))
    numbers, count = view.kept["sessions"]
    seen = None
    if visible is not None:
        seen = np.bincount(numbers, visible, minlength=count) > 0
    if count < 2 or (seen is not None and np.count_nonzero(seen) < 2):
        return np.zeros(len(view), dtype=np.float32)
    own = view.lengths if visible is None else view.lengths * visible
    lengths = np.bincount(numbers, own, minlength=count).astype(np.float32)
    kept = []
    for docs, counts in found:
        dense = np.bincount(numbers[docs], counts, minlength=len(lengths))
        there = np.flatnonzero(dense)
        kept.append((there, dense[there]))
    scores: Scores = weighed(kept, lengths, seen, len(lengths))[numbers]
    return scores * _turns(view) if view.has_derived else scores


def _likely(window: Scores, around: NDArray[np.int32]) -> NDArray[np.integer]:
    """The documents that keywords speak for most, and those beside them."""
    most = min(_LIKELY, len(window))
    best = np.argpartition(window, len(window) - most)[len(window) - most :]
    best = best[window[best] > 0]
    near = np.unique(np.concatenate([best, around[0, best], around[2, best]]))
    return near[near < len(window)]


def _averaged(
    view: View, cosines: Scores, around: NDArray[np.int32], visible: NDArray[np.bool_] | None
) -> Scores:
    n = len(cosines)
    shares = view.kept.get("shares") if visible is None else None
    if shares is None:
        present = (around[0] < n).astype(np.float32) + (around[2] < n)
        shares = (1.0 / (1.0 + _BESIDE * present)).astype(np.float32)
        if visible is None:
            view.kept["shares"] = shares
    padded = np.append(cosines, np.float32(0.0))
    beside = padded[around[0]] + padded[around[2]]
    averaged: Scores = (cosines + np.float32(_BESIDE) * beside) * shares
    return averaged


def persons(view: View) -> Scores:
    """1 where a person speaks, 0 where a machine does."""
    if "persons" not in view.kept:
        texts = {code: text for text, code in view.codes.items()}
        machine_roles = [view.codes.get(role, -2) for role in ("assistant", "system", "tool")]
        codes = np.unique(view.names).tolist()
        machine_names = [c for c in codes if fold(texts.get(c, "")) in _MACHINES]
        machine = np.isin(view.roles, machine_roles) & np.isin(view.names, machine_names)
        view.kept["persons"] = (~machine).astype(np.float32)
    persons: Scores = view.kept["persons"]
    return persons


def _named(view: View, query: Query) -> Scores:
    """Who has no name of their own is the user whose memory this is."""
    asked = frozenset(query.terms)
    named = [code for code, words in _speakers(view).items() if words & asked]
    spoken = np.isin(view.names, named)
    if asked & frozenset(terms(query.scope.user)):
        spoken |= (view.names < 0) & (view.roles == view.codes.get("user", -2))
    return spoken.astype(np.float32)


def _speakers(view: View) -> dict[int, frozenset[str]]:
    """Code of a speaker's name -> the words of it."""
    if "speakers" not in view.kept:
        texts = {code: text for text, code in view.codes.items()}
        codes = [code for code in np.unique(view.names).tolist() if code >= 0]
        view.kept["speakers"] = {code: frozenset(terms(texts[code])) for code in codes}
    kept: dict[int, frozenset[str]] = view.kept["speakers"]
    return kept


def _timed(view: View) -> Scores:
    if "timed" not in view.kept:
        timed = np.zeros(len(view), dtype=np.float32)
        for docs, _ in postings(view, _TIME_WORDS, None):
            timed[docs] = 1.0
        view.kept["timed"] = timed
    kept: Scores = view.kept["timed"]
    return kept
