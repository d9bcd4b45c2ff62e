"""One voice among others: who writes a lot about a matter does not fill the answers about it.

Of every ten places one writer gets at most a share (`writerShare`, 0.3: three of ten), as long as
others say something that is about as relevant; what is over comes after them. Who scores less than
`WORTH` of a text does not go before it, and where the question names a code or quotes something
that nobody else holds, what holds it stays. Nothing is dropped.

What the user said is not counted, and neither are the assistant's turns, the other half of the
user's conversations: as one writer they would cost two points of recall@10 on long chats. All else
is: tools, agents that write through the verbs, whatever origin they give, documents, pages, and the
words of other people, by team or by share. Also what the asker wrote for the team: the author of an
entry is a label that its writer chose.

A writer is told by what the channel gave a record and never by its text: its owner, its agent, and
who is named as speaker, author or document; another workspace that shares is one. How trusted it
says it is makes no difference, or one writer would be several. Those without an agent and a name
are one writer.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.index.resident import View
from holdfast.recall.query import Query
from holdfast.recall.sources.search import Ranking, best, border
from holdfast.recall.stages.stage import Candidate, Moment

#: A share is a share of so many places.
PAGE = 10
#: Who scores at least this much of somebody's text has something to say beside it. What has nothing
#: to do with a question gets a third of what answers it, and what is on its matter two thirds of
#: texts that were made for it.
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
            each = each.scored(min(each.score, lowest), "writers", "after others")
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
    scores were halved (literal.py)."""
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
    if "writers" not in view.kept:
        size = len(view.codes) + 1
        names = np.where(_one_of(view, view.tiers, _SIGNED), view.names, -1)
        shared = np.array([bool(part.shares) for part in view.parts], dtype=np.bool_)[view.owners]
        who = np.where(shared, 0, (view.agents.astype(np.int64) + 1) * size + names + 1)
        numbers = view.owners.astype(np.int64) * size**2 + who
        numbers[_is_own(view) | _is_answer(view)] = _NOBODY
        view.kept["writers"] = numbers
    kept: NDArray[np.int64] = view.kept["writers"]
    return kept


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
    return view.is_one_of(column, [view.codes.get(text, -2) for text in texts])
