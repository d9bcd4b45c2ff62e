"""From what an extractor found to drafts for the graph: what may be kept, and how sure it is.

- A relation counts if its sentence states something: a question, a wish for this one time, a
  permission or an order of somebody else is none (`gates`).
- What an assistant says makes no entity: a page of advice would fill the graph with names that
  nobody cares about. What it says of two that the user speaks of is kept as its word.
- What somebody likes or dislikes is a relation to what it is about, a decision a relation to an
  outcome.
- A relation holds since the one past time that its sentence names, else since it was said.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import accumulate, pairwise
from typing import TypeVar

from holdfast.border.validate import least, storable
from holdfast.language.extraction import Extracted, Extractor, is_read
from holdfast.language.lexicon import GRANDPARENTS, KIN, any_of
from holdfast.language.mentions import Mention, Span, Turn, starting_between
from holdfast.language.names import same
from holdfast.language.regex import regex
from holdfast.language.relations import PEOPLE, MentionedRelation
from holdfast.language.sentences import DENSE_STOPS, STOPS
from holdfast.language.statements.facts import facts_of
from holdfast.language.statements.gates import entity_novelty, importance, novelty, refusal
from holdfast.language.statements.values import FactDraft
from holdfast.language.terms import fold
from holdfast.language.vocabulary import (
    ANY_ENTITY,
    ANY_RELATION,
    ENTITY_TYPES,
    RELATION_TYPES,
    Typed,
    key,
)
from holdfast.records.graph.check import EntityDraft, RelationDraft
from holdfast.records.rules import RuleDraft
from holdfast.types import Event

T = TypeVar("T", EntityDraft, RelationDraft)

#: The speaker of a turn of the user that bears no name, while the text is read.
_NAMELESS = "User"
_NAME_CHARS = 200
_TYPE_CHARS = 64
#: Of one group: who lists thousands of names speaks of none of them.
_MOST_ENTITIES = 500
#: What somebody likes is told in so many words at most; longer is a clause, not a thing.
_TASTE_WORDS = 5
_OUTCOME_CHARS = 80
#: By hand, not measured.
_TASTE_CONFIDENCE = 0.8
_DECISION_CONFIDENCE = 0.8
# An end is looked for from the first mark of a run: from each it would be read again and again.
_SENTENCE_END = regex(
    rf"(?<![{STOPS}{DENSE_STOPS}])[{STOPS}{DENSE_STOPS}]++[\"'”’)]*+\s+|\n+|(?<=[{DENSE_STOPS}])"
)
_ARTICLE = regex(r"^(?:the|a|an|my|our|some|to) ", re.IGNORECASE)
#: "We have finally decided to": what was decided follows, to the end of its clause.
_DECIDED = regex(
    r"\b(?:I|we)(?:(?:['’]ve| have)?(?: \w+)? (?:decided|chosen|chose|agreed|settled|opted)"
    r"(?: to| on| that| for)?"
    r"|(?:['’]re|['’]m|['’]ll| are| am| will)(?: definitely)? (?:go(?:ing)? with|sticking with"
    r"|switching to)"
    r"|(?:['’]ve| have)?(?: \w+)? (?:picked|went with|committed to))"
    r" (?P<what>.+?)(?=,? (?:because|since|so that|which|but)\b|, (?:and|so)\b|;|$)",
    re.IGNORECASE,
)
_NO_OUTCOME = regex(
    r"(?:and|or|but|your?|this|that|those|these|it|them|him|her|one|in|at|from|by)\b", re.IGNORECASE
)
#: Politeness is no taste; what only points at something names nothing.
_COURTESY = regex(r"\bappreciate\b", re.IGNORECASE)
_POINTING = regex(
    r"\b(?:this|that|those|these|such|it|him|her|them|their|you|your|same)\b", re.IGNORECASE
)
_BESIDES = regex(r" (?:too|as well|so much|a lot|sometimes|again|anymore|most)\Z", re.IGNORECASE)
#: Words of a time that is surely over, or has a year: "17 June" may be the next one.
_PAST = regex(r"\b(?:(?:19|20)\d\d|last|ago|yesterday|since)\b", re.IGNORECASE)
#: That somebody says something relates nobody to what was said.
_SAYING = regex(
    r"(?:\w+ )?(?:say|says|said|saying|tells?|told|mentions?|mentioned|thinks?|thought|asks?|asked"
    r"|means?|meant|knows?|knew|hears?|heard|guess(?:es|ed)?)",
    re.IGNORECASE,
)
_KIN = regex(rf"is (?:[\w-]+ )*(?:{any_of(KIN, GRANDPARENTS, PEOPLE)}) of")
#: What a note calls turns whose names and relations are not looked for.
UNREAD = "a language that the rules do not read"
#: Reasons for which not even the names of a sentence are kept.
UNSAFE = frozenset({"injection", "grant"})


@dataclass(frozen=True, slots=True)
class Drafts:
    """What was understood of one group of turns."""

    entities: tuple[EntityDraft, ...] = ()
    relations: tuple[RelationDraft, ...] = ()
    facts: tuple[FactDraft, ...] = ()
    #: Rules that the patterns do not see at once, and lines that end rules.
    rules: tuple[RuleDraft, ...] = ()
    #: What was left out and why, without quoting any of it.
    notes: tuple[str, ...] = ()
    #: The answer was cut off, or named mostly what nobody said: a second reader may find more.
    partial: bool = False

    def also(self, other: Drafts) -> Drafts:
        """With what another reader of the same turns found. Of one entity or relation both drafts
        stand, for the graph joins them; of facts that say the same with the same authority the
        first."""
        told = {_claim(fact) for fact in self.facts}
        more = tuple(fact for fact in other.facts if _claim(fact) not in told)
        return replace(
            self,
            entities=self.entities + other.entities,
            relations=self.relations + other.relations,
            facts=self.facts + more,
        )


def _claim(fact: FactDraft) -> tuple[str, str]:
    return fold(fact.text).rstrip(".!。！ "), fact.origin


def read_turns(
    turns: Sequence[Event],
    extractor: Extractor,
    *,
    user: str,
    earlier: Sequence[Event] = (),
    known: Callable[[str], bool] = lambda _: False,
) -> Drafts:
    """What a group of turns says. `user` is the name of the user's own entity; `earlier` helps to
    tell names and is not learned from; `known` tells whether the graph has an entity of this name:
    what is new matters more. What is known decides nothing else, so that reading twice gives the
    same."""
    people = [event for event in turns if event.role == "user"]
    before = [event for event in earlier if event.role == "user" and is_read(event.content)]
    foreign = {event.id: event for event in people if not is_read(event.content)}
    readable = [event for event in people if event.id not in foreign]
    reading = _GroupDrafts(user, known, frozenset(turn.name for turn in turns))
    found = extractor.extract([_turn(event) for event in (*before, *readable)])[len(before) :]
    for event, extracted in zip(readable, found, strict=True):
        reading.take(event, extracted)
    facts = facts_of(people, _in_order(people, readable, found, foreign), user=user, known=known)
    answers = [
        event
        for event in _about(turns, [entity.name for entity in reading.entities.values()])
        if is_read(event.content)
    ]
    found = extractor.extract([_turn(event) for event in answers]) if answers else []
    for event, extracted in zip(answers, found, strict=True):
        reading.take(event, extracted)
    entities, relations = reading.entities.values(), reading.relations.values()
    notes = (f"{len(foreign)} turns in {UNREAD}",) if foreign else ()
    return Drafts(tuple(entities), tuple(relations), tuple(facts), notes=notes)


def _in_order(
    people: Sequence[Event],
    readable: Sequence[Event],
    found: Sequence[Extracted],
    foreign: Mapping[str, Event],
) -> list[Extracted]:
    """What was found in each turn; in one that is not read nothing."""
    read = {event.id: each for event, each in zip(readable, found, strict=True)}
    return [Extracted() if each.id in foreign else read[each.id] for each in people]


def _about(turns: Sequence[Event], names: Sequence[str]) -> Iterator[Event]:
    """What assistants say of two names that were spoken: those sentences, and no others."""
    for event in turns if len(names) > 1 else ():
        if event.role == "user":
            continue
        ends = [match.end() for match in _SENTENCE_END.finditer(event.content)]
        sentences = [event.content[a:b] for a, b in pairwise([0, *ends, len(event.content)])]
        kept = [each for each in sentences if sum(name in each for name in names) > 1]
        if kept:
            yield replace(event, content="".join(kept))


def _turn(event: Event) -> Turn:
    nameless = _NAMELESS if event.role == "user" else ""
    return Turn(event.name or nameless, event.role, event.content, event.at)


@dataclass(frozen=True, slots=True)
class _Statement:
    """A sentence of a turn: whether it may be kept, and how much it matters."""

    text: str
    refused: str | None
    matters: float


class _TurnSentences:
    """One turn, asked for the sentences that something stands in."""

    def __init__(self, event: Event, extracted: Extracted, known: Callable[[str], bool]) -> None:
        self._event = event
        self._extracted = extracted.in_order()
        self._known = known
        ends = [match.end() for match in _SENTENCE_END.finditer(event.content)]
        self._starts = [0, *ends]
        self._made: dict[int, _Statement] = {}

    def sentence(self, at: int) -> _Statement:
        number = bisect_right(self._starts, at) - 1
        if number not in self._made:
            self._made[number] = self._statement(*self._span(number))
        return self._made[number]

    def when(self, at: int) -> datetime:
        """Since when a sentence holds: the one past time that it names, else when it was said."""
        start, end = self._span(bisect_right(self._starts, at) - 1)
        dates = starting_between(self._extracted.dates, start, end)
        past = [each for each in dates if each.exact and _PAST.search(each.text)]
        past = [each for each in past if each.from_ <= self._event.at]
        return past[0].from_ if len(dates) == len(past) == 1 else self._event.at

    def _span(self, number: int) -> tuple[int, int]:
        more = self._starts[number + 1 : number + 2]
        return self._starts[number], more[0] if more else len(self._event.content)

    def _statement(self, start: int, end: int) -> _Statement:
        text = self._event.content[start:end].strip()
        names = {same(each.text) for each in starting_between(self._extracted.mentions, start, end)}
        new = entity_novelty(names, [name for name in names if self._known(name)])
        matters = importance(text, novelty=novelty(new, 1.0), entities=len(names))
        reason = refusal(text, origin=self._event.origin)
        return _Statement(text, reason, matters.score)


@dataclass(slots=True)
class _GroupDrafts:
    """The drafts of one group."""

    user: str
    known: Callable[[str], bool]
    #: The names of those who speak.
    speakers: frozenset[str | None] = frozenset()
    #: By name as it is compared.
    entities: dict[str, EntityDraft] = field(default_factory=dict)
    relations: dict[tuple[str, str, str], RelationDraft] = field(default_factory=dict)

    def take(self, event: Event, extracted: Extracted) -> None:
        said = _TurnSentences(event, extracted, self._is_known)
        for mention in extracted.mentions if event.role == "user" else ():
            told = said.sentence(mention.start)
            if told.refused not in UNSAFE:
                self._mention(event, mention, told)
        for claim in self._claims(extracted):
            told = said.sentence(claim.start)
            if told.refused is None:
                self._claim(event, claim, told, said.when(claim.start))

    def _claims(self, extracted: Extracted) -> Iterator[MentionedRelation]:
        """Relations, tastes and decisions; what a taste says is not said again as a relation, and
        what a relation says not again as a decision."""
        tastes = _TextRanges((each.start, each.end) for each in extracted.preferences)
        relations = [
            each
            for each in extracted.relations
            if not tastes.hold(each.start, each.end)
            and not _SAYING.fullmatch(each.original)
            and each.telling
        ]
        told = _TextRanges((each.start, each.end) for each in relations)
        yield from relations
        for taste in extracted.preferences:
            thing = _BESIDES.sub("", _ARTICLE.sub("", taste.target, count=1).strip())
            if taste.verb and _is_thing(thing) and not _COURTESY.search(taste.text):
                yield MentionedRelation(
                    taste.holder, "related_to", thing, taste.verb, taste.start, taste.end,
                    _TASTE_CONFIDENCE,
                )  # fmt: skip
        for choice in extracted.decisions:
            if told.lie_in(choice.start, choice.end):
                continue
            if outcome := _outcome(choice.text):
                yield MentionedRelation(
                    choice.holder, "related_to", outcome, "decided", choice.start, choice.end,
                    _DECISION_CONFIDENCE,
                )  # fmt: skip

    def _mention(self, event: Event, mention: Mention, told: _Statement) -> None:
        name = self._name(event, mention.text)
        if name is None or same(name) == same(_NAMELESS):
            return
        type = mention.type if mention.type in ENTITY_TYPES else ANY_ENTITY
        self._entity(name, type, event, told)

    def _claim(
        self, event: Event, claim: MentionedRelation, told: _Statement, at: datetime
    ) -> None:
        source, target = self._name(event, claim.source), self._name(event, claim.target)
        if source is None or target is None or same(source) == same(target):
            return
        for end in (source, target):
            if event.role == "user":
                self._entity(end, self._type(end, claim, target), event, told)
            elif same(end) not in {*self.entities, same(self.user)}:
                return
        original = " ".join(storable(claim.original, "original", []).split())[:_TYPE_CHARS]
        type = claim.type if claim.type in RELATION_TYPES else ANY_RELATION
        typed = Typed(type, original or None)
        found = key(typed.original or typed.type)
        before = self.relations.get((same(source), found, same(target)))
        draft = RelationDraft(
            source=source,
            type=typed,
            target=target,
            confidence=_confidence(claim.confidence),
            at=at,
            sources=(event.id,),
            origin=event.origin,
            importance=told.matters,
        )
        if before is not None:
            draft = _join(before, draft)
        self.relations[same(source), found, same(target)] = draft

    def _entity(self, name: str, type: str, event: Event, told: _Statement) -> None:
        before = self.entities.get(same(name))
        if before is None and len(self.entities) >= _MOST_ENTITIES:
            return
        draft = EntityDraft(
            name=name if before is None else before.name,
            type=Typed(type),
            sources=(event.id,),
            origin=event.origin,
            importance=told.matters,
        )
        if before is not None:
            type = before.type.type if before.type.type != ANY_ENTITY else type
            draft = replace(_join(before, draft), type=Typed(type))
        self.entities[same(name)] = draft

    def _type(self, name: str, claim: MentionedRelation, target: str) -> str:
        if same(name) == same(self.user) or name in self.speakers:
            return "person"
        if _KIN.fullmatch(claim.original):
            return "person"
        is_outcome = claim.original == "decided" and name == target
        return "outcome" if is_outcome else ANY_ENTITY

    def _name(self, event: Event, name: str) -> str | None:
        """A name as the graph knows it: the user's own for the one who speaks without a name."""
        plain = " ".join(storable(name, "name", []).split())
        if not same(plain).strip("\ufffd "):
            return None
        if event.role == "user" and not event.name and same(plain) == same(_NAMELESS):
            return self.user
        if self._is_namesake(plain):
            return None
        return plain if 0 < len(plain) <= _NAME_CHARS else None

    def _is_namesake(self, name: str) -> bool:
        """Whether somebody is called as the user's own entity is, and does not speak: the user, or
        another of that name. Nobody knows, so nothing is learned of either."""
        return same(name) == same(self.user) and same(name) not in {
            same(each) for each in self.speakers if each
        }

    def _is_known(self, name: str) -> bool:
        return name in self.entities or name == same(self.user) or self.known(name)


def _join(before: T, draft: T) -> T:
    """Two drafts of one thing as one; it is trusted as far as the least of those who told it."""
    return replace(
        draft,
        sources=tuple(dict.fromkeys((*before.sources, *draft.sources))),
        origin=least(filter(None, (before.origin, draft.origin))),
        importance=max(before.importance or 0.0, draft.importance or 0.0),
    )


def _confidence(confidence: float) -> float | None:
    """A confidence in 0..1; None for what is none, whoever made it."""
    is_number = isinstance(confidence, int | float)
    return float(confidence) if is_number and 0 <= confidence <= 1 else None


class _TextRanges:
    """Parts of a text, asked whether one of them holds another part, or lies in it."""

    def __init__(self, spans: Iterable[Span]) -> None:
        ordered = sorted(spans)
        self._starts = [start for start, _ in ordered]
        #: How far those reach that begin no later, and the first end of those that begin no sooner.
        self._reach = list(accumulate((end for _, end in ordered), max))
        self._first = list(accumulate((end for _, end in reversed(ordered)), min))[::-1]

    def hold(self, start: int, end: int) -> bool:
        number = bisect_right(self._starts, start)
        return number > 0 and end <= self._reach[number - 1]

    def lie_in(self, start: int, end: int) -> bool:
        number = bisect_left(self._starts, start)
        return number < len(self._starts) and self._first[number] <= end


def _is_thing(thing: str) -> bool:
    """Whether what somebody likes names something by itself."""
    return 0 < len(thing.split()) <= _TASTE_WORDS and not _POINTING.search(thing)


def _outcome(text: str) -> str | None:
    """What was decided; None where the sentence does not say it in so many words."""
    found = _DECIDED.search(" ".join(text.split()).rstrip(".!。！ "))
    plain = found["what"].strip() if found else ""
    if " " not in plain or _NO_OUTCOME.match(plain):
        return None
    if len(plain) <= _OUTCOME_CHARS:
        return plain
    end = plain.rfind(" ", 0, _OUTCOME_CHARS)
    return plain[: end if end > 0 else _OUTCOME_CHARS] + "…"
