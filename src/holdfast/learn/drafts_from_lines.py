"""What the model that reads makes of turns: statements to facts, rules, and the end of rules.

The model says what a line is (`models/reader.py`); what may be kept is not its to say. What is
marked as quoted or pasted is not the user's own; what speaks to the model about its instructions,
or permits deeds, is not kept at all (`gates`). A rule that may be another's, as the model or the
patterns say (`_is_in_doubt`), is in doubt, and nobody obeys it. What the patterns have found
in a line is not found again.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace

from holdfast.language.extraction import is_read
from holdfast.language.instructions.own_words import (
    Place,
    all_lines,
    is_handed,
    orders_rest,
    said_by_user,
    shows,
)
from holdfast.language.instructions.rules import Rule, rules_in
from holdfast.language.regex import regex
from holdfast.language.sentences import (
    DENSE_STOPS,
    STOPS,
    may_stand_alone,
    parts_of,
    without_joints,
)
from holdfast.language.statements.clear import explaining
from holdfast.language.statements.facts import headline, keywords
from holdfast.language.statements.gates import importance, refusal
from holdfast.language.statements.values import USERS_OWN, FactDraft
from holdfast.language.terms import fold
from holdfast.models.reader import LineReader, ReadLine, states_something
from holdfast.records.rules import RuleDraft, is_most_of
from holdfast.types import Event

log = logging.getLogger("holdfast.learn")

#: From which probability on a line is what the model says, by the development part of `training/`.
FACT, RULE, WITHDRAW = 0.5, 0.35, 0.4
#: From which on a line may end a rule, if it is compared with that one.
_MAY_END = 0.1
#: From which on it is somebody else's word, and from which on even if the patterns say otherwise.
_ANOTHERS, _SURELY_ANOTHERS = 0.5, 0.9
#: Below which a rule may be the user's own. With what else is asked (`_is_in_doubt`) 6 of
#: 200 pastes gain authority and 198 of 200 rules are kept (`tests/trust/heldout_*`, `unseen_*`).
_OWN = 0.2
#: From which on a line is a quotation, and its turn hands something over; how sure a rule must be
#: beside one, and in a language that the patterns do not read.
_SHOWN, _SURE, _SURE_UNREAD = 0.4, 0.9, 0.8
#: Characters around a line that may explain which rule it means.
_AROUND = 200
#: From which on a rule beside something quoted is plainly the user's, and how much of what is
#: quoted must stand in marks for that; of so much in marks a line states nothing itself.
_PLAINLY, _MUCH = 0.99, 0.5
#: What of a line stands in quotation marks if all of it does, but for a mark or a bracket.
_ALL_MARKED = 0.9
_PARAGRAPH, _SENTENCE_ENDS = regex(r"\n\s*\n"), f"{STOPS}{DENSE_STOPS}\n"
#: What only repeats or asks is no statement.
_LEAST_CHARS, _MOST_CHARS = 3, 600
#: Words of what is hardly a sentence.
_SCRAP_WORDS = 3
#: From which on a line asks for something.
_ASKED = 0.5
#: Who states more in one turn pastes: each fact costs comparisons.
_MOST_PER_TURN = 60
#: Facts by their kinds, in the words of the categories that there are; none of those with which a
#: user speaks for themselves (`USERS_OWN`): what a model says of a line gives it no authority.
_CATEGORIES = {"preference": "preference", "plan": "goal", "decision": "decision"}
#: Lines are numbered apart from the rules that the patterns find in a turn.
OF_LINES = 1_000
_UNSAFE = frozenset({"injection", "grant", "authority", "meta"})


def read_lines(
    turns: Sequence[Event],
    reader: LineReader,
    found: Sequence[FactDraft],
    *,
    earlier: Sequence[Event] = (),
) -> tuple[list[FactDraft], list[FactDraft], list[RuleDraft]]:
    """What the user states in these turns: of the facts that were `found` those that are not surely
    somebody else's word; the facts and the rules that were not found. `earlier`: turns before."""
    facts: list[FactDraft] = []
    rules: list[RuleDraft] = []
    told: dict[str, list[str]] = {}
    anothers: dict[str, list[str]] = {}
    for fact in found:
        for source in fact.sources:
            told.setdefault(source, []).append(fact.text)
    heard = earlier[-1].content if earlier and earlier[-1].role == "assistant" else ""
    for event in turns:
        if event.role == "user" and event.content.strip():
            turn = _TurnReader(event, reader, told.get(event.id, ()), heard)
            turn.read()
            facts += turn.facts
            rules += turn.rules
            anothers[event.id] = turn.anothers
        heard = event.content if event.role == "assistant" else ""
    own = [fact for fact in found if not _is_anothers_fact(fact, anothers)]
    return own, facts, rules


class _TurnReader:
    """One turn of the user."""

    def __init__(self, event: Event, reader: LineReader, told: Sequence[str], heard: str) -> None:
        self._event = event
        self._reader = reader
        #: What was said to the user just before.
        self._heard = heard
        self._lines = lines = reader.lines(event.content)
        #: What the patterns found in it, the longest first.
        self._told = sorted(told, key=len, reverse=True)
        # Who hands over a text in a turn may hand over all of it.
        self._is_handed = any(line.tags["quote"] >= _SHOWN for line in lines)
        self._is_read = is_read(event.content)
        self._shows = shows(event.content)
        self._orders_rest = orders_rest(event.content)
        # What a label says somebody else said is blanked to the end of its line.
        said = said_by_user(event.content)
        self._own = [(each.start, each.low.rstrip("_")) for each in said]
        by_patterns = [rule for rule in rules_in(event.content) if rule.own]
        self._by_patterns = [fold(rule.sentence) for rule in by_patterns]
        self.facts: list[FactDraft] = []
        self.rules: list[RuleDraft] = []
        #: Lines that are surely somebody else's word.
        self.anothers: list[str] = []
        self._left_out = 0

    def read(self) -> None:
        """What all lines give."""
        said = list[list[ReadLine]]()
        for line in self._lines:
            is_said = self._take(line)
            if is_said and said and said[-1] and _goes_with(said[-1][-1], line):
                said[-1].append(line)
            else:
                said.append([line] if is_said else [])
        behind: list[ReadLine] = []
        for some in said:
            self._add_facts(some, behind[-1] if behind else None)
            behind = some
        if self._left_out:
            log.warning(
                "turn %s states %d things more than the %d that become facts of one turn",
                self._event.id, self._left_out, _MOST_PER_TURN,
            )  # fmt: skip

    def _take(self, line: ReadLine) -> bool:
        """The rules of a line; whether the user says it, and it may be part of a statement."""
        text, tags = " ".join(line.text.split()), line.tags
        is_quoted = tags["quote"] >= _SURELY_ANOTHERS and self._is_beside_another(line)
        if is_quoted and len(text) >= _LEAST_CHARS:
            self._disown(line, text)
        if not _LEAST_CHARS <= len(text) <= _MOST_CHARS:
            return False
        is_anothers = _anothers(line) >= _ANOTHERS or not self._is_own(line)
        if is_anothers or refusal(text, origin=self._event.origin) in _UNSAFE:
            return False
        is_rule = tags["rule"] >= RULE or tags["withdraw"] >= _MAY_END
        if is_rule and self._event.origin == "user":
            self._add_rule(line, text)
        return not self._has_marks(line)

    def _add_facts(self, lines: Sequence[ReadLine], behind: ReadLine | None) -> None:
        """What lines state that say more of the same: one fact, if it is not too long and nothing
        is asked for between them. `behind`: the line before them, if the user says it."""
        stated = [line for line in lines if line.tags["fact"] >= FACT]
        if not stated:
            return
        text = " ".join(self._event.content[lines[0].start : lines[-1].end].split())
        if len(text) <= _MOST_CHARS and all(
            line in stated or _asks_nothing(line) for line in lines
        ):
            surest = max(stated, key=lambda line: line.tags["fact"])
            self._add_fact(replace(surest, before=lines[0].before), text, behind)
            return
        for last, line in zip([behind, *lines], lines, strict=False):
            if line in stated:
                self._add_fact(line, " ".join(line.text.split()), last)

    def _add_rule(self, line: ReadLine, text: str) -> None:
        low = fold(text)
        rule = Rule(
            sentence=text,
            rule=text,
            condition=line.condition or None,
            score=line.tags["rule"],
            replaces=line.tags["withdraw"] >= WITHDRAW,
            ordinal=OF_LINES + line.start,
            own=not self._is_in_doubt(line),
        )
        is_stored = any(each in low or low in each for each in self._by_patterns)
        is_end = line.tags["rule"] < RULE
        ends = line.tags["withdraw"]
        ways = self._ways(line, text)
        self.rules.append(RuleDraft(self._event, rule, ways, ends, is_end, is_stored))

    def _ways(self, line: ReadLine, text: str) -> list[tuple[str, str]]:
        """Ways to read a line. What somebody else said in the turn explains nothing."""
        place = self._lines.index(line)
        before, after = (
            " ".join(word for each in some if _anothers(each) < _OWN for word in each.text.split())
            for some in (self._lines[:place][-1:], self._lines[place + 1 :][:1])
        )
        is_own = all(_anothers(each) < _OWN for each in self._lines[:place])
        turn = self._event.content[: line.start].strip() if is_own else before
        return ways_to_read(text, before=before, after=after, turn=turn, heard=self._heard)

    def _disown(self, line: ReadLine, text: str) -> None:
        """What the patterns may have taken from a line is not the user's."""
        low = fold(text)
        self.anothers.append(low)
        rule = Rule(text, text, None, line.tags["rule"], False, OF_LINES + line.start, own=False)
        draft = RuleDraft(self._event, rule, (), 0.0, False, True, is_disowned=True)
        if any(is_most_of(low, each) for each in self._by_patterns):
            self.rules.append(draft)

    def _is_beside_another(self, line: ReadLine) -> bool:
        """Whether another line asks something, or is surely a quotation too: who hands over a text
        says what for, or hands over more than a rule."""
        return any(
            each.tags["ask"] >= _SHOWN or each.tags["quote"] >= _SURELY_ANOTHERS
            for each in self._lines
            if each is not line
        )

    def _explaining(self, behind: ReadLine | None, text: str) -> str:
        """The line before a fact that is not clear without it, if the user states something there:
        nothing that may be another's, or that may be withdrawn as a rule."""
        if behind is None or self._is_handed or _anothers(behind) >= _OWN:
            return ""
        is_stated = behind.tags["fact"] >= FACT and _asks_nothing(behind)
        return explaining(" ".join(behind.text.split()), text) if is_stated else ""

    def _add_fact(self, line: ReadLine, text: str, behind: ReadLine | None) -> None:
        if len(self.facts) >= _MOST_PER_TURN:
            self._left_out += 1
            return
        low = fold(text).rstrip(".!")
        if any(is_most_of(fold(each).rstrip(".!"), low) for each in self._told):
            return
        if not (text := self._untold(text)):
            return
        self.facts.append(
            FactDraft(
                text=text,
                category=_CATEGORIES.get(line.kind, "context"),
                sources=(self._event.id,),
                origin=self._event.origin,
                at=self._event.at,
                headline=headline(text),
                keywords=keywords(text),
                confidence=round(line.tags["fact"], 3),
                importance=importance(text, novelty=1.0, entities=0).score,
                role=self._event.role,
                name=self._event.name,
                before=" ".join(line.before.split()),
                shown_before=self._explaining(behind, text),
            )
        )

    def _untold(self, text: str) -> str:
        """A line up to what the patterns have found at its end; nothing, if that states nothing by
        itself. What stands behind what was found may belong to it: then the line stays whole."""
        for each in self._told:
            before, found, after = text.partition(each.rstrip(".!"))
            if found and before and not without_joints(after.lstrip(".!")):
                rest = without_joints(before)
                parts = [rest[start:end] for start, end in parts_of(rest)]
                is_fact = any(
                    may_stand_alone(part) and states_something(part, self._reader) for part in parts
                )
                return rest if is_fact else ""
        return text

    def _is_in_doubt(self, line: ReadLine) -> bool:
        """Whether a rule may be another's. So the model says of the line or of what its sentence
        begins with; or the patterns are sure that a text is handed over; or the model is not sure
        of a rule beside what it takes for a quotation. The patterns also have a say beside a
        quotation, in a message with paragraphs, and where the model is not sure in a language that
        they do not read."""
        if max(_anothers(line), self._sentence_begins(line)) >= _OWN or self._is_shown(line):
            return True
        surest = max(line.tags["rule"], line.tags["withdraw"])
        if self._is_handed and surest < _SURE:
            return True
        is_sure = self._is_read or surest >= _SURE_UNREAD
        has_paragraphs = _PARAGRAPH.search(self._event.content.strip())
        if is_sure and not has_paragraphs and (not self._is_handed or self._is_outside(line)):
            return False
        place = Place(line.start, line.text.lower(), 0, 0)
        return self._shows or is_handed(all_lines(self._event.content), [place])

    def _is_shown(self, line: ReadLine) -> bool:
        """Whether the patterns are sure that the turn hands over a text beside a line, or that the
        line is what hands it over."""
        if self._orders_rest:
            return True
        if not self._shows or len(self._lines) < 2:
            return False
        rest = f"{self._event.content[: line.start]} {self._event.content[line.end :]}"
        return shows(rest) or shows(line.text)

    def _is_outside(self, line: ReadLine) -> bool:
        """Whether a rule surely stands outside of what is handed over: behind that, which is
        mostly in marks, and nothing is asked about it."""
        shown = [each for each in self._lines if each.tags["quote"] >= _SHOWN]
        asks = any(each.tags["ask"] >= _SHOWN for each in self._lines)
        is_plain = line.tags["rule"] >= _PLAINLY and line.tags["quote"] < 1 - _PLAINLY
        is_behind = all(each.end <= line.start and self._has_marks(each) for each in shown)
        return is_plain and not asks and is_behind

    def _has_marks(self, line: ReadLine) -> bool:
        """Whether much of a line stands in quotation marks."""
        blanked = sum(
            low[max(0, line.start - start) : max(0, line.end - start)].count("_")
            for start, low in all_lines(self._event.content)
        )
        return blanked >= _MUCH * (line.end - line.start)

    def _sentence_begins(self, line: ReadLine) -> float:
        """How likely the line before is somebody else's word, where the sentence goes on."""
        place = self._lines.index(line)
        # Behind a closing quotation mark, too: what follows may be more of the same.
        gap = self._event.content[: line.start].rstrip(" ")[-1:]
        return _anothers(self._lines[place - 1]) if place and gap not in _SENTENCE_ENDS else 0.0

    def _is_own(self, line: ReadLine) -> bool:
        """Whether the line lies in what the user says, not shows, and not all in marks."""
        middle = (line.start + line.end) // 2
        for start, low in self._own:
            if start <= middle < start + len(low):
                part = low[max(0, line.start - start) : line.end - start]
                return part.count("_") < _ALL_MARKED * len(part)
        return False


def ways_to_read(
    text: str, *, before: str, after: str, turn: str, heard: str
) -> list[tuple[str, str]]:
    """A line alone; behind the line before it, behind all of its turn before it, and behind the end
    of what was said to the user; with the line before it, and with the next. Each: a text, and what
    stood before that."""
    return [
        (text, ""),
        (text, before),
        (text, turn[-_AROUND:]),
        (f"{before} {text}".strip(), ""),
        (f"{text} {after}".strip(), ""),
        (text, heard[-_AROUND:]),
    ]


def _is_anothers_fact(fact: FactDraft, anothers: Mapping[str, Sequence[str]]) -> bool:
    """Whether a fact with which a user speaks for themselves was said by somebody else."""
    low = fold(fact.text).rstrip(".!")
    lines = [line for source in fact.sources for line in anothers.get(source, ())]
    return fact.category in USERS_OWN and any(is_most_of(line, low) for line in lines)


def _goes_with(before: ReadLine, line: ReadLine) -> bool:
    """Whether two lines say something only together: "passed. 91st percentile"."""
    fewest = min(len(before.text.split()), len(line.text.split()))
    return line.goes_on and fewest <= _SCRAP_WORDS


def _asks_nothing(line: ReadLine) -> bool:
    """Whether a line is neither a rule nor a request: it may stand within a statement."""
    return max(line.tags[each] for each in ("rule", "withdraw", "ask")) < _ASKED


def _anothers(line: ReadLine) -> float:
    """How likely a line is somebody else's word."""
    return max(line.tags["quote"], line.tags["others"])
