"""Extraction by rules alone: names, relations, dates, preferences and decisions of turns.

The default where no model is installed, and the frame that the one with a model fills in: only
names and relations differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from holdfast.language.names.spans import Kinds, KnownNames, Mention, Names, Span, Turn
from holdfast.language.relations import patterns
from holdfast.language.relations.phrases import MentionedRelation, Speakers, distinct
from holdfast.language.statements.stance import Decision, Preference, decisions, preferences


class NamedTime(Protocol):
    """A time that a text names: from `start` up to but not including `end`."""

    @property
    def start(self) -> datetime:
        """When it begins."""

    @property
    def end(self) -> datetime:
        """When it is over."""

    @property
    def phrase(self) -> str:
        """The words that name it."""

    @property
    def exact(self) -> bool:
        """False where the words are vague."""


#: The times that a text names, as it was said at a time; `dates.spans` is one.
ReadDates = Callable[[str, datetime], Sequence[NamedTime]]


@dataclass(frozen=True, slots=True)
class Date:
    """A time as a text names it, and the half-open interval that it stands for."""

    text: str
    start: int
    end: int
    from_: datetime
    to: datetime
    exact: bool


@dataclass(frozen=True, slots=True)
class Extracted:
    """What one turn says."""

    mentions: tuple[Mention, ...] = ()
    relations: tuple[MentionedRelation, ...] = ()
    preferences: tuple[Preference, ...] = ()
    decisions: tuple[Decision, ...] = ()
    dates: tuple[Date, ...] = ()

    def in_order(self) -> Extracted:
        """The same, each kind in the order of the text."""

        def start(each: Mention | MentionedRelation | Preference | Decision | Date) -> int:
            return each.start

        return Extracted(
            tuple(sorted(self.mentions, key=start)),
            self.relations,
            tuple(sorted(self.preferences, key=start)),
            tuple(sorted(self.decisions, key=start)),
            tuple(sorted(self.dates, key=start)),
        )


class Extractor(Protocol):
    """Reads turns of one conversation, in order.

    Promises of every extractor: one result per turn, in the order of the turns; offsets are into
    the text of that turn; the same turns give the same results; no text makes it raise.
    """

    def extract(self, turns: Sequence[Turn]) -> list[Extracted]:
        """What each turn says, names told by all of them together."""


class RulesExtractor:
    """Extraction without a model."""

    def __init__(self, *, dates: ReadDates) -> None:
        self._dates = dates

    def extract(self, turns: Sequence[Turn]) -> list[Extracted]:
        """What each turn says, names told by all of them together."""
        people = speakers(turns)
        names = Names([turn.text for turn in turns], people)
        spans = propagated(turns, [names.runs(turn.text) for turn in turns], people)
        mentions = mentioned(turns, spans, people)
        return [
            assembled(
                turn,
                found,
                patterns.find(turn.text, found, whose(turn, people)),
                self._dates,
            )
            for turn, found in zip(turns, mentions, strict=True)
        ]


def speakers(turns: Sequence[Turn]) -> tuple[str, ...]:
    """The named speakers, in the order of their first turns."""
    return tuple(dict.fromkeys(turn.speaker for turn in turns if turn.speaker))


def whose(turn: Turn, people: Sequence[str]) -> Speakers:
    """Who "I" and "you" are in a turn; "you" only where exactly two speak."""
    others = [name for name in people if name != turn.speaker]
    return Speakers(turn.speaker, others[0] if len(people) == 2 and len(others) == 1 else None)


def propagated(
    turns: Sequence[Turn], spans: Sequence[Sequence[Span]], people: Sequence[str]
) -> list[list[Span]]:
    """The spans, and wherever else in the group one of these names or a speaker's stands."""
    names = {turn.text[a:b] for turn, found in zip(turns, spans, strict=True) for a, b in found}
    known = KnownNames(names | set(people))
    return [
        sorted([*found, *known.spread(turn.text, found)])
        for turn, found in zip(turns, spans, strict=True)
    ]


def mentioned(
    turns: Sequence[Turn],
    spans: Sequence[Sequence[Span]],
    people: Sequence[str],
    labels: Sequence[dict[Span, str]] | None = None,
) -> list[tuple[Mention, ...]]:
    """The spans with their types; one name has one type in the whole group."""
    kinds = Kinds(people)
    for place, (turn, found) in enumerate(zip(turns, spans, strict=True)):
        for span in found:
            kinds.see(turn.text, *span, labels[place].get(span) if labels else None)
    return [
        tuple(Mention(turn.text[a:b], a, b, kinds.of(turn.text[a:b])) for a, b in found)
        for turn, found in zip(turns, spans, strict=True)
    ]


def assembled(
    turn: Turn,
    mentions: tuple[Mention, ...],
    relations: Iterable[MentionedRelation],
    dates: ReadDates,
) -> Extracted:
    """Everything that one turn says."""
    return Extracted(
        mentions,
        tuple(distinct(relations)),
        tuple(preferences(turn.text, turn.speaker)),
        tuple(decisions(turn.text, turn.speaker)),
        tuple(_dates(turn, dates)),
    )


def _dates(turn: Turn, read: ReadDates) -> Iterator[Date]:
    at = 0
    for time in read(turn.text, turn.at):
        start = turn.text.find(time.phrase, at)
        if start < 0:  # Not in the order of the text.
            start = turn.text.find(time.phrase)
        if start >= 0:
            at = start + len(time.phrase)
            yield Date(time.phrase, start, at, time.start, time.end, time.exact)
