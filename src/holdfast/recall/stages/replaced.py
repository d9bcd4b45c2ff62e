"""What was said later of the same thing stands first: for a question about now.

A turn whose statement another one replaced says what was so. Its successor takes the place before
it, found or not, and the turn is marked (`why["replaced"]`): by which memory, and until when it was
so. A turn of which nothing else holds goes further down. Where nobody is sure that it was replaced
the later word comes first all the same (`why["revised"]`), and both are told. Who asks about then
("in February") is told what was so then before what was so at other times; `as_of` and `known_at`
hide what was not.

Facts know what replaced what (`records/facts/follow.py`); a fact knows its turns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from holdfast.language.dates import TimeSpan
from holdfast.language.terms import terms
from holdfast.recall.candidates import Candidate, Moment
from holdfast.recall.stages.times import named_times
from holdfast.records.facts.follow import OwnerFacts
from holdfast.types import Record

#: What a turn keeps of its score of which nothing holds any more.
LOWERED = 0.7
#: Candidates that are looked at: what stands further down does no harm.
_LOOKED_AT = 30
#: A value that was replaced again and again.
_LONGEST_CHAIN = 20


@dataclass(frozen=True, slots=True)
class Successor:
    """What took the place of something that a turn says, or may have taken it."""

    #: The turn that says what is so now.
    turn: str
    #: Since when; the words of what was replaced, and of what took its place.
    since: datetime
    words: frozenset[str]
    #: Since when what was replaced had been so, and since when that is so which the turn says.
    began: datetime
    settled: datetime
    #: Whether it surely took its place.
    is_sure: bool = True
    #: Whether what was replaced is what was left of a statement that another one replaced in part.
    is_of_rest: bool = False


@dataclass(frozen=True, slots=True)
class Standing:
    """What became of the statements of a turn."""

    successors: tuple[Successor, ...]
    #: The words of each statement that still holds.
    held: tuple[frozenset[str], ...]


#: Since when and until when something was so; None: it is.
_Held = tuple[datetime, datetime | None]
#: The id of a turn to what became of its statements; None: all of them hold.
Standings = Callable[[str], Standing | None]


def standings(facts: OwnerFacts) -> Standings:
    """What became of the turns of an owner."""

    def of(turn: str) -> Standing | None:
        said = facts.of_source(turn)
        if not said:
            return None
        gone = [each for each in said if each.known_to is not None or each.valid_to is not None]
        held = [each for each in said if each not in gone]
        found = [one for each in gone for one in _successors(each, facts)]
        found += [one for each in held if (one := _reviser(each, facts)) is not None]
        if not found:
            return None
        return Standing(tuple(found), tuple(frozenset(terms(each.content)) for each in held))

    return of


def _successors(fact: Record, facts: OwnerFacts) -> list[Successor]:
    """The turns that say what is so in the place of a fact, in the end: of what took its place a
    part may be so still, and something else in the place of the others."""
    first = _instead(fact, facts)
    ahead, found = [*first], list[Successor]()
    for _ in range(_LONGEST_CHAIN):
        if not ahead:
            break
        last = ahead.pop()
        rest = [
            each for each in facts.of_source(last.sources[0]) if each.data.get("rest_of") == last.id
        ]
        if later := [*_instead(last, facts), *rest]:
            ahead += later
        elif made := _made(fact, last, first[0].valid_from, is_sure=True):
            found.append(made)
    return found


def _instead(fact: Record, facts: OwnerFacts) -> list[Record]:
    """What took the place of a fact, if a turn says it."""
    return [each for each in facts.instead_of(fact.id) if each.sources][-1:]


def _reviser(fact: Record, facts: OwnerFacts) -> Successor | None:
    """The turn of the last fact that may have taken the place of one."""
    later = [each for each in facts.revised_by(fact.id) if each.sources]
    if not later:
        return None
    last = max(later, key=lambda each: (each.valid_from, each.id))
    return _made(fact, last, last.valid_from, is_sure=False)


def _made(fact: Record, last: Record, since: datetime, *, is_sure: bool) -> Successor | None:
    if last.sources[0] in fact.sources:
        return None
    words = frozenset(terms(fact.content)) | frozenset(terms(last.content))
    is_rest = "rest_of" in fact.data
    return Successor(
        last.sources[0], since, words, fact.valid_from, last.valid_from, is_sure, is_rest
    )


def newest_first(candidates: list[Candidate], moment: Moment) -> list[Candidate]:
    """The candidates with what is so now before what was so; for a question that names a time, what
    was so then before the rest."""
    query = moment.query
    if moment.standings is None or query.as_of or query.known_at:
        return candidates
    asked = frozenset(query.terms)
    found: dict[int, tuple[Standing, Successor]] = {}
    for each in candidates[:_LOOKED_AT]:
        standing = moment.standings(moment.view.ids[each.doc])
        if standing and (successor := _meant(standing, asked)) is not None:
            found[each.doc] = (standing, successor)
    if not found:
        return candidates
    if named := named_times(query):
        return _then_first(
            candidates,
            {doc: each for doc, (_, each) in found.items() if each.is_sure},
            named,
            moment,
        )
    return _ordered(candidates, found, moment)


def _then_first(
    candidates: Sequence[Candidate],
    replaced: Mapping[int, Successor],
    named: Sequence[TimeSpan],
    moment: Moment,
) -> list[Candidate]:
    """Of the turns that say what one thing was at several times, those of the named times take the
    first of the places that these turns have."""
    placed = list(candidates)
    places = {each.doc: place for place, each in enumerate(placed)}
    for last in dict.fromkeys(each.turn for each in replaced.values()):
        held: dict[int, _Held] = {
            doc: (each.began, each.since) for doc, each in replaced.items() if each.turn == last
        }
        newest = moment.view.numbers.get(last)
        if newest is not None and newest in places and newest not in held:
            held[newest] = (max(replaced[doc].settled for doc in held), None)
        taken = sorted(places[doc] for doc in held)
        were_so = [candidates[place] for place in taken]
        were_so.sort(key=lambda each: not _was_so(held[each.doc], named))
        for place, each in zip(taken, were_so, strict=True):
            is_same = candidates[place].doc == each.doc
            score = candidates[place].score
            placed[place] = (
                each if is_same else each.with_score(score, "then", _told(held[each.doc]))
            )
    return placed


def _was_so(held: _Held, named: Sequence[TimeSpan]) -> bool:
    began, ended = held
    return any(began < span.end and (ended is None or ended > span.start) for span in named)


def _told(held: _Held) -> dict[str, str]:
    began, ended = held
    until = {"until": ended.date().isoformat()} if ended else {}
    return {"from": began.date().isoformat(), **until}


def _meant(standing: Standing, asked: frozenset[str]) -> Successor | None:
    """The successor of the statement that a question is about; None where it is about another
    statement of the turn, which holds."""
    best = max(
        standing.successors,
        key=lambda each: (len(each.words & asked), each.is_sure, not each.is_of_rest, each.since),
    )
    beside = max((len(words & asked) for words in standing.held), default=0)
    return best if len(best.words & asked) >= beside else None


def _ordered(
    candidates: Sequence[Candidate],
    found: Mapping[int, tuple[Standing, Successor]],
    moment: Moment,
) -> list[Candidate]:
    there = {each.doc: each for each in candidates}
    placed: dict[int, Candidate] = {}
    lowered: list[Candidate] = []
    for each in candidates:
        if each.doc in placed:
            continue
        if each.doc not in found:
            placed[each.doc] = each
            continue
        standing, successor = found[each.doc]
        new = _visible(successor.turn, moment)
        if new is not None and new not in placed:
            now = there.get(new, Candidate(new, each.score))
            placed[new] = now.with_score(each.score, "replaces", moment.view.ids[each.doc])
        if not successor.is_sure:
            placed[each.doc] = each.with_note("revised", {"by": successor.turn})
            continue
        note = {"by": successor.turn, "until": successor.since.date().isoformat()}
        if standing.held or new is None:
            placed[each.doc] = each.with_note("replaced", {**note, "partly": bool(standing.held)})
        else:
            lowered.append(each.with_score(each.score * LOWERED, "replaced", note))
    return _merged(list(placed.values()), lowered)


def _merged(kept: list[Candidate], lowered: list[Candidate]) -> list[Candidate]:
    """Both in order of their scores; nothing passes what stands before it."""
    scores: list[Any] = [each.score for each in kept]
    for each in lowered:
        at = next((n for n, score in enumerate(scores) if score < each.score), len(scores))
        kept.insert(at, each)
        scores.insert(at, each.score)
    return kept


def _visible(turn: str, moment: Moment) -> int | None:
    """The document of a turn, if the asker may see it."""
    doc = moment.view.numbers.get(turn)
    if doc is None or doc >= len(moment.view) or not moment.view.alive[doc]:
        return None
    if moment.wanted is not None and not moment.wanted[doc]:
        return None
    return None if moment.seen is not None and not moment.seen[doc] else int(doc)
