"""An answer of many voices: copies are told once, the alike and the talkative step back.

`distinct`   copies of one text give way
`diverse`    the next memory should say something that those before it did not
`spread`     of every ten places one writer gets at most a share
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from holdfast.index.resident import View
from holdfast.language.terms import fold, terms
from holdfast.recall.candidates import Candidate, Moment, Ranking, ReadContent, best, border
from holdfast.recall.query import Query

# ----------------------------------------------------------------------
# Near-duplicate removal: who said the same thing twice is quoted once.
#
# Two candidates are copies if the same speaker said the same words in the same order; case,
# accents, punctuation at the ends of a word, and words that change nothing ("the") do not count. A
# question mark does. Nothing less will do: "on 12 June" and "on 13 June", "I eat meat" and "I do
# not eat meat" are neighbours by meaning and share most of their words, and the later one is often
# the correction of the other. What is merely alike is moved down by `diverse`, not removed. And a
# text that tells a time relative to when it was said ("today") says another thing on another day.
#
# Texts are read from the store, so only those that can be copies are read: the same terms, as the
# index keeps them. The words decide; the terms only spare us reading.
#
# Of copies the best stays, at the same score the newest; how many went is noted on it.
# ----------------------------------------------------------------------

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
    words = said.said[docs].tolist()
    if len(set(words)) == len(words):
        return []
    groups: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    columns = (said.roles[docs].tolist(), said.names[docs].tolist(), words)
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
            key = int(said.roles[doc]), int(said.names[doc]), _wording(texts[doc])
            groups[key].append((place, doc))
    copies: list[list[int]] = []
    for members in groups.values():
        if len(members) > 1:
            copies += _by_day(members, said, texts[members[0][1]])
    return copies


def _wording(text: str) -> str:
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
        each.with_note("similar", {"also": also[place]}) if place in also else each
        for place, each in enumerate(candidates)
        if place not in gone
    ]


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

#: How much relevance counts against novelty; the seed's. It lowers all sets
#: (docs/decisions/0008), so it is off by default.
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
    moved = [_move(window, place, old) for place, old in enumerate(places)]
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


def _move(window: list[Candidate], place: int, old: int) -> Candidate:
    if place == old:
        return window[old]
    note = {"before": old + 1, "score": window[old].score}
    return window[old].with_score(window[place].score, "diverse", note)


# ----------------------------------------------------------------------
# One voice among others: who writes a lot about a matter does not fill the answers about it.
#
# Of every ten places one writer gets at most a share (`writerShare`, 0.3: three of ten), as long as
# others say something that is about as relevant; what is over comes after them. Who scores less
# than `WORTH` of a text does not go before it, and where the question names a code or quotes
# something that nobody else holds, what holds it stays. Nothing is dropped.
#
# What the user said is not counted, and neither are the assistant's turns, the other half of the
# user's conversations: as one writer they would cost two points of recall@10 on long chats. All
# else is: tools, agents that write through the verbs, whatever origin they give, documents, pages,
# and the words of other people, by team or by share. Also what the asker wrote for the team: the
# author of an entry is a label that its writer chose.
#
# A writer is told by what the channel gave a record and never by its text: its owner, its agent,
# and who is named as speaker, author or document; another workspace that shares is one. How trusted
# it says it is makes no difference, or one writer would be several. Those without an agent and a
# name are one writer.
# ----------------------------------------------------------------------

#: A share is a share of so many places.
PAGE = 10
#: Who scores at least this much of somebody's text has something to say beside it. What has nothing
#: to do with a question gets a third of what answers it, and what is on its matter two thirds of
#: texts that were made for it (docs/howto/trust.md; `scripts/poisoning.py` counts).
WORTH = 0.55
#: Tiers in which a name says who speaks; elsewhere it says what a record is about.
_SIGNED = ("session", "fact", "note", "knowledge", "workspace")
_BY_USER = ("user", "user_confirmed")
#: Writers that fill the pool one after another are set aside so many times.
_ROUNDS = 8
_NOBODY = -1


def spread(
    candidates: list[Candidate],
    writers: Sequence[int],
    *,
    share: float,
    limit: int,
    stays: Collection[int] = (),
) -> list[Candidate]:
    """The candidates with what is over a writer's share behind what others say; the very same list
    where nothing moves. `writers` has a number for each, -1 for those that are not counted; the
    documents of `stays` give way to nobody.

    Scores stay in order: who comes later than its score says takes that of the place before.
    """
    most = places(share, limit)
    counts = Counter(writers)
    if all(count <= most for writer, count in counts.items() if writer != _NOBODY):
        return candidates
    order = _order(candidates, writers, stays, most)
    if order == list(range(len(candidates))):
        return candidates
    found: list[Candidate] = []
    lowest, last = math.inf, -1
    for old in order:
        each = candidates[old]
        if old < last:  # Somebody who stood behind it has gone before.
            each = each.with_score(min(each.score, lowest), "writers", "after others")
        lowest, last = min(lowest, each.score), max(last, old)
        found.append(each)
    return found


def places(share: float, limit: int) -> int:
    """How many of ten places, or of a shorter list, are a share: one part of a place is a place."""
    return math.ceil(round(share * min(limit, PAGE), 9))


def _order(
    candidates: Sequence[Candidate], writers: Sequence[int], stays: Collection[int], most: int
) -> list[int]:
    """The old places in their new order, ten at a time: of each ten every writer gets `most`, and
    more where those behind have too little to say to go before."""
    order: list[int] = []
    told: Counter[int] = Counter()
    bars = [WORTH * _worth(each) for each in candidates]
    left = list(range(len(writers)))
    allowed = 0
    while left:
        allowed += most
        page: list[int] = []
        over: deque[int] = deque()
        for at, place in enumerate(left):
            each, writer = candidates[place], writers[place]
            while over and bars[over[0]] > each.score and len(page) < PAGE:
                told[writers[over[0]]] += 1
                page.append(over.popleft())
            if len(page) == PAGE:
                over.extend(left[at:])
                break
            if writer != _NOBODY and told[writer] >= allowed and each.doc not in stays:
                over.append(place)
            else:
                told[writer] += 1
                page.append(place)
        order += page
        if len(page) < PAGE:  # Nobody else has anything to say.
            return order + list(over)
        left = list(over)
    return order


def _worth(candidate: Candidate) -> float:
    """What a candidate scores by its words: a literal alone gave it a place above all others, whose
    scores were halved (guaranteed.py)."""
    return 2 * candidate.score - 1.5 if "literal" in candidate.notes else candidate.score


def alone(candidates: Sequence[Candidate], writers: Sequence[int], named: set[str]) -> set[int]:
    """Documents that hold a literal of the question which nobody but their writer holds.

    Only what was `named` counts, so no rare word: and no number, which is a year at times.
    """
    whose: dict[str, set[int]] = {}
    holding = [
        (each.doc, writer, named.intersection(each.notes["literal"]))
        for each, writer in zip(candidates, writers, strict=True)
        if "literal" in each.notes
    ]
    for _, writer, literals in holding:
        for literal in literals:
            whose.setdefault(literal, set()).add(writer)
    return {doc for doc, _, literals in holding if any(len(whose[each]) == 1 for each in literals)}


def quoted_or_codes(query: Query) -> set[str]:
    """What a question quotes, and its codes."""
    return {*query.quoted, *(each for each in query.coded if not each.isdecimal())}


def with_others(moment: Moment, scores: NDArray[np.floating[Any]], pool: Ranking) -> Ranking:
    """The pool of candidates; where one writer fills it, also the best of the others."""
    if not is_bounded(moment):
        return pool
    view, limit = moment.view, moment.query.limit
    most = places(moment.config.writer_share, limit)
    bar = WORTH * min(pool.scores, default=0.0)
    crowd: set[int] = set()
    for _ in range(_ROUNDS):
        there = writers_of(moment, pool.docs)
        crowd |= {each for each, count in Counter(there).items() if count > most} - {_NOBODY}
        if not crowd or sum(each not in crowd for each in there) >= limit:
            return pool
        rest = np.where(np.isin(_writers(moment), list(crowd)), 0.0, scores)
        more = border(rest, limit)
        more = np.setdiff1d(more[(rest[more] > 0) & (rest[more] >= bar)], pool.docs)
        if not len(more):
            return pool
        docs = np.concatenate([np.array(pool.docs, dtype=np.intp), more])
        pool = best(view, docs, scores[docs], len(docs))
    return pool


def is_bounded(moment: Moment) -> bool:
    """Whether shares count. Who looks into the knowledge base alone wants the document."""
    tiers = moment.query.tiers
    is_lookup = tiers is not None and set(tiers) == {"knowledge"}
    return moment.config.writer_share < 1.0 and not is_lookup


def writers_of(moment: Moment, docs: Sequence[int]) -> list[int]:
    """The writers of documents as numbers; -1: not counted."""
    numbers: list[int] = _writers(moment)[np.array(docs, dtype=np.intp)].tolist()
    return numbers


def _writers(moment: Moment) -> NDArray[np.int64]:
    """The writer of every document, made once for a moment of the index, which has one asker."""
    view = moment.view

    def make() -> NDArray[np.int64]:
        size = len(view.codes) + 1
        names = np.where(_one_of(view, view.tiers, _SIGNED), view.names, -1)
        shared = np.array([bool(part.shares) for part in view.parts], dtype=np.bool_)[view.owners]
        who = np.where(shared, 0, (view.agents.astype(np.int64) + 1) * size + names + 1)
        numbers = view.owners.astype(np.int64) * size**2 + who
        numbers[_is_own(view) | _is_answer(view)] = _NOBODY
        return numbers

    return view.once("writers", make)


def _is_own(view: View) -> NDArray[np.bool_]:
    """The asker's own words: their turns, what was understood of these, and what they wrote
    themselves. What an agent writes through the verbs is the agent's, whose word it may say it is.
    """
    said = _one_of(view, view.tiers, ("session",)) | (view.source != -1) | (view.agents == -1)
    mine: NDArray[np.bool_] = said & (view.owners == 0) & _one_of(view, view.origins, _BY_USER)
    return mine


def _is_answer(view: View) -> NDArray[np.bool_]:
    """The assistant's side of the asker's own conversations."""
    answers: NDArray[np.bool_] = (
        _one_of(view, view.roles, ("assistant",))
        & _one_of(view, view.origins, ("agent",))
        & _one_of(view, view.tiers, ("session",))
        & (view.owners == 0)
    )
    return answers


def _one_of(view: View, column: NDArray[np.int32], texts: Sequence[str]) -> NDArray[np.bool_]:
    return view.is_one_of(column, [view.code(text) for text in texts])
