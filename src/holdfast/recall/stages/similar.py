"""Near-duplicate removal: who said the same thing twice is quoted once.

Two candidates are copies if the same speaker said the same words in the same order; case, accents,
punctuation at the ends of a word, and words that change nothing ("the") do not count. A question
mark does. Nothing less will do: "on 12 June" and "on 13 June", "I eat meat" and "I do not eat meat"
are neighbours by meaning and share most of their words, and the later one is often the correction
of the other. What is merely alike is moved down by diverse.py, not removed. And a text that tells a
time relative to when it was said ("today") says another thing on another day.

Texts are read from the store, so only those that can be copies are read: the same terms, as the
index keeps them. The words decide; the terms only spare us reading.

Of copies the best stays, at the same score the newest; how many went is noted on it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from holdfast.language.terms import fold, terms
from holdfast.recall.stages.stage import Candidate, ReadContent

# ----------------------------------------------------------------------
# Diversity: the next memory should say something that those before it did not.
#
# Maximal marginal relevance (Carbonell and Goldstein, 1998): each place goes to the candidate with
# the highest
#     balance * score(d) - (1 - balance) * max(0, highest cosine of d with those already placed)
# Balance 0.85 by default, the seed's; 1.0 is no diversity at all. Only the first `limit` places are
# given out anew, among the first 2 * `limit` candidates: what stands further down is too weak to be
# worth its place for being different.
#
# Places keep their scores: whoever moves takes the score of the new place. So the scores stay in
# order, and protected candidates, which do not move, keep theirs.
# ----------------------------------------------------------------------

#: How much relevance counts against novelty.
BALANCE = 0.85
#: Candidates looked at, for each place.
_REACH = 2


def diverse(
    candidates: list[Candidate],
    *,
    rows: NDArray[np.float32] | None,
    limit: int,
    protected: Collection[int] = (),
    balance: float = BALANCE,
) -> list[Candidate]:
    """The candidates in the new order; the very same list where nothing moves.

    `rows` are the unit vectors of the candidates (or of the first 2 * `limit`), a row each, not a
    number where there is none: such a candidate is like no other.
    """
    reach = min(len(candidates), _REACH * limit)
    if rows is None or balance >= 1.0 or reach < 3:  # The best is first anyway.
        return candidates
    window = candidates[:reach]
    fixed = np.array([each.doc in protected for each in window])
    scores = np.array([each.score for each in window])
    places = _places(scores, np.nan_to_num(rows[:reach]), fixed, limit=limit, balance=balance)
    if places == list(range(reach)):
        return candidates
    moved = [_moved(window, place, old) for place, old in enumerate(places)]
    return moved + candidates[reach:]


def _places(
    scores: NDArray[np.float64],
    rows: NDArray[np.float32],
    fixed: NDArray[np.bool_],
    *,
    limit: int,
    balance: float,
) -> list[int]:
    """For every place who takes it, by the old places."""
    left = ~fixed
    likeness = np.zeros(len(scores))
    places: list[int] = []
    for place in range(min(limit, len(scores))):
        worth = balance * scores - (1.0 - balance) * likeness
        chosen = place if fixed[place] else int(np.where(left, worth, -np.inf).argmax())
        left[chosen] = False
        places.append(chosen)
        np.maximum(likeness, np.einsum("ij,j->i", rows, rows[chosen]), out=likeness)
    rest = iter(np.flatnonzero(left).tolist())
    places += [place if fixed[place] else next(rest) for place in range(limit, len(scores))]
    return places


def _moved(window: list[Candidate], place: int, old: int) -> Candidate:
    if place == old:
        return window[old]
    note = {"before": old + 1, "score": window[old].score}
    return window[old].scored(window[place].score, "diverse", note)


#: Words without which a sentence says the same. All of them are stop words, so that copies have the
#: same terms. No negation, pronoun or preposition is harmless.
_HARMLESS = frozenset({"a", "also", "an", "and", "so", "the", "very"})
_EDGES = ".,;:!\"'()[]…“”‘’«»。，、！"
#: English only; in other languages the same words on two days count as copies.
_RELATIVE = frozenset(
    terms(
        "today tonight yesterday tomorrow ago last next morning afternoon evening night day week "
        "weekend month year monday tuesday wednesday thursday friday saturday sunday"
    )
)
_DAY_US = 86_400_000_000


class SpeakerColumns(Protocol):
    """Who said what, and when: columns of the view."""

    @property
    def roles(self) -> NDArray[np.int32]: ...
    @property
    def names(self) -> NDArray[np.int32]: ...
    @property
    def said(self) -> NDArray[np.int64]: ...
    @property
    def order(self) -> NDArray[np.int64]: ...
    @property
    def at_us(self) -> NDArray[np.int64]: ...


def distinct(
    candidates: list[Candidate],
    *,
    said: SpeakerColumns,
    content: ReadContent,
    protected: Collection[int] = (),
) -> list[Candidate]:
    """The candidates without copies; the very same list where there are none.

    `protected` are never removed.
    """
    suspects = [place for places in _alike(candidates, said) for place in places]
    if not suspects:
        return candidates
    texts = content([candidates[place].doc for place in suspects])
    best_first = sorted(suspects, key=lambda place: _rank(candidates[place], said))
    gone: dict[int, int] = {}  # Place of a copy -> place of the one that stays.
    for first, *others in _copies(
        [(place, candidates[place].doc) for place in best_first], said, texts
    ):
        gone |= {each: first for each in others if candidates[each].doc not in protected}
    return _without(candidates, gone) if gone else candidates


def _alike(candidates: Sequence[Candidate], said: SpeakerColumns) -> Iterable[list[int]]:
    """Places of candidates of one speaker and the same terms, where there are several."""
    docs = [each.doc for each in candidates]
    groups: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    columns = (said.roles[docs].tolist(), said.names[docs].tolist(), said.said[docs].tolist())
    for place, key in enumerate(zip(*columns, strict=True)):
        groups[key].append(place)
    return [places for places in groups.values() if len(places) > 1]


def _rank(candidate: Candidate, said: SpeakerColumns) -> tuple[float, int]:
    """To sort by: the best first, of equals the newest."""
    return -candidate.score, -int(said.order[candidate.doc])


def _copies(
    suspects: Iterable[tuple[int, int]], said: SpeakerColumns, texts: Mapping[int, str]
) -> list[list[int]]:
    """The places of those that say the same, from (place, document), in the given order."""
    groups: dict[tuple[int, int, str], list[tuple[int, int]]] = defaultdict(list)
    for place, doc in suspects:
        if doc in texts:
            key = int(said.roles[doc]), int(said.names[doc]), _telling(texts[doc])
            groups[key].append((place, doc))
    copies: list[list[int]] = []
    for members in groups.values():
        if len(members) > 1:
            copies += _by_day(members, said, texts[members[0][1]])
    return copies


def _telling(text: str) -> str:
    """What of a text counts."""
    folded = fold(text)
    words = [word.strip(_EDGES) for word in folded.split()]
    return " ".join(word for word in words if word and word not in _HARMLESS) or folded


def _by_day(members: list[tuple[int, int]], said: SpeakerColumns, text: str) -> list[list[int]]:
    """Places of one day together; all of them where the text does not depend on the day."""
    if _RELATIVE.isdisjoint(terms(text)):
        return [[place for place, _ in members]]
    days: dict[int, list[int]] = defaultdict(list)
    for place, doc in members:
        days[int(said.at_us[doc]) // _DAY_US].append(place)
    return list(days.values())


def _without(candidates: Sequence[Candidate], gone: dict[int, int]) -> list[Candidate]:
    also: dict[int, int] = defaultdict(int)
    for stays in gone.values():
        also[stays] += 1
    return [
        each.noted("similar", {"also": also[place]}) if place in also else each
        for place, each in enumerate(candidates)
        if place not in gone
    ]
