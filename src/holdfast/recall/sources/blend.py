"""The default fusion: a weighted sum of what each source says of every document.

score(d) = sum over features f of weight(f) * f(d), divided by the sum of the weights, so that a
document that is best everywhere scores 1. Features are shares of the best document's value:

    window    BM25 over the turn and its two neighbours on either side, neighbours counting less
    people    BM25 over what people said, with the statistics of their turns alone
    session   BM25 over whole sessions: where was this talked about at all
    cover     how much of the question's words, weighed by rarity, the turn itself holds
    vector    cosine of the turn's best passage
    around    the same, averaged with the turns before and after
    theme     the best cosine in the turn's session
    role      said by those whose words are asked for (language/questions.py), mostly people
    graph     reached from the entities of the question (graph.py), where there is a graph
    speaker   said by someone the question names
    time      mentions a time, where the question asks for one
    taste     tells what somebody likes, where the question asks for advice
    length    has something to say: logarithm of the number of words, up to a full sentence or two

What has no vector yet has at least its `cover` for vector, around and theme.

Ranks throw away how sure a source is, which is why this beats reciprocal rank fusion; see
docs/decisions/0006.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.config import Blend, Config
from holdfast.index.view import K1, View
from holdfast.language.lexicon import SURE_MONTHS, WEEKDAYS
from holdfast.language.questions import whose
from holdfast.language.terms import fold, terms
from holdfast.recall.candidates import border
from holdfast.recall.query import Query
from holdfast.recall.sources.keywords import (
    LengthNorms,
    Postings,
    Rarity,
    Scores,
    bm25_scores,
    cached_for,
    holders,
    length_norms,
    neighbours,
    postings,
    rarity,
    rarity_of,
    turns,
    window_scores,
)

# ----------------------------------------------------------------------
# What is known of a document beside the words of the question: who said it, and what it tells.
#
# Each trait is one number in 0..1 for every document, a feature of the sum.
# ----------------------------------------------------------------------

#: What a machine's turn counts where its words are asked for; a person's where people's are: 1.
#: This and `_LONG` are of docs/decisions/0008.
_MACHINE = 0.5
#: Terms beyond which a longer turn is no better.
_LONG = 40
#: Words of a text that tells a time: relative ones, days, months, years, days of a month.
_TIME_WORDS = terms(
    "yesterday today tonight tomorrow ago last next week weekend month year "
    f"{WEEKDAYS} {SURE_MONTHS} "
    + " ".join(str(number) for number in (*range(1, 32), *range(1900, 2101)))
)
#: Words of a text that tells a taste; "like" and "want" tell too little.
_TASTE_WORDS = terms("prefer favorite favourite favor favour rather enjoy love hate dislike")
#: Names that say "not a person" for turns of the assistant, the system or a tool.
_MACHINES = frozenset({"", "assistant", "agent", "ai", "bot", "model", "system", "tool"})


def traits(view: View, query: Query) -> dict[str, Scores]:
    """The traits that this question asks for."""
    found = {
        "role": _speaker_scores(view, query),
        "speaker": _name_scores(view, query),
        "length": _fullness(view),
    }
    if query.asks_when:
        found["time"] = _holds_any(view, "timed", _TIME_WORDS)
    if query.asks_advice:
        found["taste"] = _holds_any(view, "tastes", _TASTE_WORDS) * persons(view)
    return found


def _fullness(view: View) -> Scores:
    def make() -> Scores:
        full = np.log1p(view.lengths) / np.float32(np.log1p(_LONG))
        return np.minimum(full, np.float32(1.0))

    return view.once("fullness", make)


def persons(view: View) -> Scores:
    """1 where a person speaks, 0 where a machine does."""
    return view.once("persons", lambda: (~_machines(view)).astype(np.float32))


def _machines(view: View) -> NDArray[np.bool_]:
    texts, codes = view.texts(), view.codes_in(view.names)
    roles = [view.code(role) for role in ("assistant", "system", "tool")]
    names = [code for code in codes if fold(texts.get(code, "")) in _MACHINES]
    # What was derived is nobody's turn: it must not pay for who wrote it down.
    return turns(view) & view.is_one_of(view.roles, roles) & view.is_one_of(view.names, names)


def _speaker_scores(view: View, query: Query) -> Scores:
    """How far each turn's speaker is the one whose words are asked for."""
    person, machine = map(np.float32, role_shares(query.text))
    if person:
        return persons(view)
    return (np.float32(1.0) - persons(view)) * machine


def role_shares(text: str) -> tuple[float, float]:
    """What it counts for a question that a person speaks, and that a machine does."""
    said_by = whose(text)
    return float(said_by == "people"), _MACHINE if said_by == "machine" else 0.0


def _name_scores(view: View, query: Query) -> Scores:
    """Who has no name of their own is the user whose memory this is."""
    asked = frozenset(query.terms)
    named = [code for code, words in _speakers(view).items() if not words.isdisjoint(asked)]
    spoken = view.is_one_of(view.names, named) if named else np.zeros(len(view), dtype=np.bool_)
    if asked & frozenset(terms(query.scope.user)):
        spoken |= (view.names < 0) & (view.roles == view.code("user"))
    return spoken.astype(np.float32)


def _speakers(view: View) -> dict[int, frozenset[str]]:
    """Code of a speaker's name -> the words of it."""

    def make() -> dict[int, frozenset[str]]:
        texts, codes = view.texts(), view.codes_in(view.names)
        return {code: frozenset(terms(texts[code])) for code in codes if code >= 0}

    return view.once("speakers", make)


def _holds_any(view: View, name: str, words: Sequence[str]) -> Scores:
    """1 where a document holds one of the words."""

    def make() -> Scores:
        holding = np.zeros(len(view), dtype=np.float32)
        holding[postings(view, words, None).docs] = 1.0
        return holding

    return view.once(name, make)


#: What a neighbour's cosine counts beside the turn's own (docs/decisions/0006).
_BESIDE = 0.5
#: So many documents are compared by meaning because of their keywords: for speed, by hand.
_LIKELY = 256
#: Features that are shares of something already.
_SHARES = frozenset({"cover", "graph", "length", "role", "speaker", "taste", "time"})


#: How the features are told: by source, each as a share of the best document's.
_SOURCES = {
    "keyword": ("window", "people", "session", "cover"),
    "vector": ("vector", "around", "theme"),
    "graph": ("graph",),
    "who": ("role", "speaker"),
    "what": ("time", "taste"),
}


@dataclass(frozen=True, slots=True)
class Fused:
    """Every document's score in 0..1, 0 where nothing speaks for it, and how to explain one."""

    scores: NDArray[np.floating[Any]]
    #: Cosine of every document with the question, where there is an embedding.
    cosines: Scores | None
    #: The documents that hold each query term.
    holders: Mapping[str, NDArray[np.int32]]
    why: Callable[[Sequence[int]], list[dict[str, Any]]]


def fuse_by_sum(
    view: View,
    query: Query,
    vector: NDArray[np.float32] | None,
    visible: NDArray[np.bool_] | None,
    *,
    config: Config,
    graph: Scores | None = None,
) -> Fused:
    """Score every document. What nothing speaks for but its role or speaker scores 0.

    `graph` is what a traversal from the question's entities says of every document.
    """
    found = postings(view, query.terms, visible)
    around = neighbours(view, visible)
    features: dict[str, Scores] = {
        "window": window_scores(view, found, visible, rarity_of(view, "windows", query.terms)),
        "people": _people(view, found, visible, rarity_of(view, "people", query.terms)),
        "session": _sessions(view, found, visible, rarity_of(view, "sessions", query.terms)),
        "cover": _cover(view, found, visible, rarity_of(view, "documents", query.terms)),
    }
    # Neighbours lend weight, never relevance: something of its own must speak for a document.
    relevant = np.zeros(len(view), dtype=np.bool_)
    relevant[found.docs] = True
    cosines = None
    if vector is not None and view.vectors is not None:
        cosines = view.vectors.by_document(
            vector, len(view), also=lambda: _likely(view, features["window"], around)
        )
        if visible is not None:
            cosines *= visible
        features |= {
            "vector": cosines,
            "around": _with_neighbours(view, cosines, around, visible),
            "theme": _theme(view, cosines),
        }
        relevant |= cosines > 0
    if graph is not None:
        features["graph"] = graph
        relevant |= graph > 0
    features |= traits(view, query)
    if visible is not None:
        relevant &= visible
    compared = _Compared(features, _tops(features, visible))
    docs = np.flatnonzero(relevant)
    scores = np.zeros(len(view), dtype=np.float32)
    shares = _by_words(compared.shares_of(docs), compared.names, view, docs)
    scores[docs] = _weighted_sum(shares, compared.names, _weights(config.blend))
    held = holders(query.terms, found)
    return Fused(scores, cosines, held, lambda some: _why(some, compared, cosines))


class _Compared(NamedTuple):
    """What each feature says of every document, and what it is a share of."""

    features: Mapping[str, Scores]
    tops: Scores

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.features)

    def shares_of(self, docs: NDArray[np.intp]) -> Scores:
        """The features of these documents as shares: a row for each feature."""
        table = np.empty((len(self.features), len(docs)), dtype=np.float32)
        for values, row in zip(self.features.values(), table, strict=True):
            np.take(values, docs, out=row, mode="clip")
        table /= self.tops[:, None]
        return table


def _tops(features: Mapping[str, Scores], visible: NDArray[np.bool_] | None) -> Scores:
    """The highest value of each feature that may be seen; some are shares already, and where the
    highest is nothing all are none."""
    tops = [
        1.0
        if name in _SHARES
        else float((values if visible is None else values[visible]).max(initial=0.0))
        for name, values in features.items()
    ]
    return np.array([top if top > 0 else np.inf for top in tops], dtype=np.float32)


def _by_words(shares: Scores, names: tuple[str, ...], view: View, docs: NDArray[np.intp]) -> Scores:
    """The shares where what has no vector yet means what its words say: what was just written must
    not come after what is embedded."""
    vectors = view.vectors
    if vectors is None or "vector" not in names:
        return shares
    lacking = view.once("lacking", lambda: vectors.without(len(view)))
    here = np.flatnonzero(lacking[docs]) if lacking.any() else ()
    if len(here):
        covered = shares[names.index("cover"), here]
        for name in ("vector", "around", "theme"):
            row = shares[names.index(name)]
            row[here] = np.maximum(row[here], covered)
    return shares


def _why(docs: Sequence[int], compared: _Compared, cosines: Scores | None) -> list[dict[str, Any]]:
    """What each feature says of these documents, where it says anything."""
    sources = _told_rows(compared.names)
    shares = compared.shares_of(np.array(docs, dtype=np.intp)).T
    whys: list[dict[str, Any]] = []
    # Rounded all at once: by value it took a thirtieth of a search.
    for values, told in zip((shares > 0).tolist(), _rounded(shares, 4), strict=True):
        why: dict[str, Any] = {}
        for source, rows in sources:
            if found := {name: told[row] for row, name in rows if values[row]}:
                why[source] = found
        whys.append(why)
    if cosines is not None:
        for why, cosine in zip(whys, _rounded(cosines[docs], 6), strict=True):
            if "vector" in why:
                why["vector"]["score"] = cosine
    return whys


def _rounded(values: Scores, digits: int) -> list[Any]:
    rounded: list[Any] = np.round(values.astype(np.float64), digits).tolist()
    return rounded


@lru_cache(maxsize=64)
def _told_rows(names: tuple[str, ...]) -> list[tuple[str, list[tuple[int, str]]]]:
    """Of each source the rows and names of its features that are told, in the order of telling."""
    return [
        (source, [(names.index(name), name) for name in some if name in names])
        for source, some in _SOURCES.items()
    ]


@lru_cache(maxsize=64)
def _weights(group: Blend) -> Mapping[str, float]:
    """The weights by name; walking over a dataclass costs more than a feature."""
    return asdict(group)


def _weighted_sum(shares: Scores, names: tuple[str, ...], weights: Mapping[str, float]) -> Scores:
    own = [weights[name] for name in names]
    total = np.zeros(shares.shape[1], dtype=np.float32)
    # Row by row: a sum over all of them at once may add in another order, which rounds otherwise.
    for row, weight in zip(shares, own, strict=True):
        total += row * np.float32(weight)
    total /= np.float32(sum(own) or 1.0)
    return total


def _people(
    view: View, found: Postings, visible: NDArray[np.bool_] | None, known: Rarity | None
) -> Scores:
    def make() -> LengthNorms:
        seen = person if visible is None else person & visible
        return length_norms(view.lengths, visible if is_all else seen, known)

    person = view.once("is person", lambda: persons(view) > 0)
    is_all = view.once("all are persons", lambda: bool(person.all()))
    lengths = cached_for(view, visible, "lengths of persons", make)
    return bm25_scores(found if is_all else found.among(person), lengths, known)


def _sessions(
    view: View, found: Postings, visible: NDArray[np.bool_] | None, known: Rarity | None
) -> Scores:
    """Every turn gets the score of its session; one session tells nothing apart."""
    parts = cached_for(view, visible, "sessions", lambda: _session_parts(view, visible, known))
    if parts.lengths.total < 2:
        return np.zeros(len(view), dtype=np.float32)
    terms, size = len(found.starts) - 1, len(parts.lengths.norms) + 1
    cells = np.repeat(np.arange(0, terms * size, size), found.sizes()) + parts.of[found.docs]
    held = np.bincount(cells, found.counts, minlength=terms * size).astype(np.float32)
    tf = held.reshape(terms, size)[:, :-1]
    counts = np.count_nonzero(tf, axis=1).tolist() if known is None else known.holders
    idfs = [rarity(parts.lengths.total, count) * (K1 + 1.0) for count in counts]
    scores = np.zeros(size, dtype=np.float32)
    for gained in np.array(idfs, dtype=np.float32)[:, None] * tf / (tf + parts.lengths.norms):
        scores[:-1] += gained
    return _whole_sessions(view, scores[parts.of])


def _whole_sessions(view: View, scores: Scores) -> Scores:
    """The same; where only some turns of a session are here, as it was told of all of them."""
    told = view.population.sessions if view.population is not None else {}
    if not told:
        return scores
    of_each = zip(view.ids, scores.tolist(), strict=True)
    return np.array([told.get(id, score) for id, score in of_each], dtype=np.float32)


class _SessionParts(NamedTuple):
    """The session of each turn (the last number + 1 for what is no turn), and what the words of
    each do in BM25 over those that have any that may be seen."""

    of: NDArray[np.intp]
    lengths: LengthNorms


def _session_parts(
    view: View, visible: NDArray[np.bool_] | None, known: Rarity | None
) -> _SessionParts:
    said = turns(view)
    codes, numbers = np.unique(view.sessions, return_inverse=True)
    of = np.where(said, numbers, len(codes))
    shown = said if visible is None else said & visible
    words = np.bincount(of, view.lengths * shown, minlength=len(codes) + 1)[:-1]
    seen = np.bincount(of, shown, minlength=len(codes) + 1)[:-1] > 0
    return _SessionParts(of, length_norms(words.astype(np.float32), seen, known))


def _cover(
    view: View, found: Postings, visible: NDArray[np.bool_] | None, known: Rarity | None
) -> Scores:
    if known is None:
        count = len(view) if visible is None else int(np.count_nonzero(visible))
        rarities = [rarity(count, size) for size in found.sizes()]
    else:
        rarities = [rarity(known.total, holders) for holders in known.holders]
    covered = np.zeros(len(view), dtype=np.float32)
    np.add.at(covered, found.docs, found.each(rarities))
    return covered / np.float32(sum(rarities) or 1.0)


def _theme(view: View, cosines: Scores) -> Scores:
    """Every turn gets the best cosine of its session."""
    order, firsts, sizes = view.once("by_session", lambda: _by_session(view))
    theme = np.zeros(len(view), dtype=np.float32)
    if len(order):
        theme[order] = np.repeat(
            np.maximum.reduceat(cosines.take(order, mode="clip"), firsts), sizes
        )
    return theme


def _by_session(view: View) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """The documents session by session, where each session begins, and its size."""
    order = np.argsort(view.sessions, kind="stable")
    firsts = np.flatnonzero(np.diff(view.sessions[order], prepend=-2))
    return order, firsts, np.diff(firsts, append=len(order))


def _likely(view: View, window: Scores, around: NDArray[np.int32]) -> NDArray[np.integer]:
    """The documents that keywords speak for most, those beside them, and all rules: they compete
    among themselves."""
    best = border(window, _LIKELY)
    best = best[window[best] > 0]
    derived = np.flatnonzero(view.tiers == view.code("procedure"))
    near = np.unique(np.concatenate([best, around[0, best], around[1, best], derived]))
    return near[near < len(window)]


def _with_neighbours(
    view: View, cosines: Scores, around: NDArray[np.int32], visible: NDArray[np.bool_] | None
) -> Scores:
    n = len(cosines)

    def make() -> Scores:
        present = (around[0] < n).astype(np.float32) + (around[1] < n)
        shares: Scores = (1.0 / (1.0 + _BESIDE * present)).astype(np.float32)
        return shares

    shares = cached_for(view, visible, "shares", make)
    padded = np.zeros(n + 1, dtype=np.float32)
    padded[:-1] = cosines
    before, after = padded.take(around, mode="clip")  # A third of the time of `padded[around]`.
    averaged: Scores = (cosines + np.float32(_BESIDE) * (before + after)) * shares
    return averaged
