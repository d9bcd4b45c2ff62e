"""Facts without a language model: which sentences of a person state something that lasts.

    own words   without code, quotations and pasted material   language/instructions/own_words.py
    clauses     one claim each, cut only where both sides stand for themselves         clauses.py
    category    by the words that state it                                    cues.py, states.py
    gates       what may be kept at all                                                  gates.py
    draft       headline, keywords, names, by when                 words.py, language/dates/plans.py

The text of a fact is verbatim: it quotes its turn. In doubt there is no fact: the turn itself is
kept and found anyway, while a fact that nobody stated would be believed. Assistants state none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import islice, pairwise

from holdfast.border.validate import storable
from holdfast.language.dates.plans import Planned, planned
from holdfast.language.extraction import Extracted
from holdfast.language.instructions.handed import shows
from holdfast.language.names.matching import same
from holdfast.language.names.spans import Mention
from holdfast.language.statements import cues, doubts, states
from holdfast.language.statements.clauses import (
    Clause,
    clauses,
    inside,
    is_asked,
    is_main,
    sentences,
)
from holdfast.language.statements.corrections import corrected, objection
from holdfast.language.statements.gates import entity_novelty, novelty, refused
from holdfast.language.statements.importance import importance
from holdfast.language.statements.stance import decisions
from holdfast.language.statements.values import BY_USER, USERS_OWN, FactDraft
from holdfast.language.statements.words import headline, keywords
from holdfast.language.terms import fold, terms
from holdfast.types import Event

#: Characters of a sentence beyond which it is no claim, and of a fact.
_LONGEST_SENTENCE, _LONGEST = 600, 400
_MOST_PER_TURN, _NAME_CHARS = 16, 200
#: How one who bears no name is called while the text is read.
_NAMELESS = "user"
_MOST_ENTITIES, _LEAST_TERMS = 8, 2
_HEDGED = 0.6
_SHORT = frozenset({"identity", "correction", "decision", "behavior"})
_UNSAFE = frozenset({"injection", "grant", "authority"})
#: Categories whose statement is about the one who speaks, not the one who is spoken to.
_ADDRESSED = frozenset({"decision", "preference", "goal", "context", "behavior", "other"})
_UNDATED = frozenset({"preference", "behavior"})

#: Points at what was said before it.
_BACK = re.compile(r"\b(?:it|its|this|that|these|those|them|they|their|he|him|his|she|her|there)\b")
_POINTS_AWAY = re.compile(
    r"\b(?:that|this|those|these|one)\b(?! (?:week|month|year|summer|winter|spring|autumn|fall"
    r"|weekend|evening))"
)
_LOST = re.compile(r"\b(?:love|like|enjoy|hate|adore|prefer) (?:their|his|her|its)\b")
_THANKS = re.compile(r"\bappreciate\b", re.IGNORECASE)
#: Whose life is worth keeping, beside the speaker's.
_OF_OTHERS = frozenset({"person", "organization"})
_YOU = re.compile(r"\byou(?:r|rs|'re|'ve|'d|'ll)?\b")
_A_DAY = timedelta(days=1)
_NO_ANTECEDENT = (doubts.SUPPOSED, doubts.IDLE, _YOU)
#: "She's a nurse, they're nice": who "she" is was said nowhere near.
_UNTOLD = re.compile(r"(?:and |but |so )?(?:he|she|they)\b")
_JOINED = re.compile(r"^(?:oh )?(?:and|but),? (?=\w)")
_NOBODY = frozenset({"place", "organization", "event", "date"})
_PLAIN = re.compile(r"[A-Z][a-z]+")
_TOLD_OF_NAMED = (cues.OTHERS, states.OF_NAMED, states.TOLD)
_IN_PASSING = (
    ("constraint", states.LIMIT),
    ("decision", states.CHOSEN),
    ("context", states.NEVER),
    ("behavior", states.NOT),
    ("preference", states.WANTED),
    ("context", states.DONE),
    ("context", states.PRICE),
    ("identity", states.OF_FAMILY),
    ("context", states.OF_KIN),
    ("other", states.OF_THING),
)
_BEFORE_NAME = re.compile(
    r"(?:(?:and|but|so|also|well|oh|hey|by the way|btw|yes|yeah|fyi|note that|update|then|now)"
    r"[, ]+)*(?:(?:[a-z]+ ){0,2}[a-z]+[,:] |option \w+:? )?"
    r"(?:(?:my|our|the|your) (?:[a-z-]+ ){1,2}|[a-z]+ is )?"
)


def facts_of(
    turns: Sequence[Event],
    found: Sequence[Extracted],
    *,
    user: str,
    known: Callable[[str], bool] = lambda _: False,
) -> list[FactDraft]:
    """The facts that people state in these turns, in order; the same statement once.

    `found` is what an extractor found in each turn. `user` is the name of the user's own entity;
    `known` tells of a name whether it is known already: what is new matters more."""
    kept: dict[tuple[str, str | None, str], FactDraft] = {}
    for event, extracted in zip(turns, found, strict=True):
        if event.role != "user":
            continue
        drafts = _Drafts(event, extracted, event.name or user, known)
        for draft in drafts.all():
            # Per origin: what an import repeats must not lower what the user said.
            key = (fold(draft.text).rstrip(".!。！ "), draft.name, draft.origin)
            before = kept.get(key)
            kept[key] = draft if before is None else _joined(before, draft)
    return list(kept.values())


def _joined(before: FactDraft, draft: FactDraft) -> FactDraft:
    """The same words from two turns: as sure as the surer, and as important."""
    return replace(
        before,
        sources=tuple(dict.fromkeys((*before.sources, *draft.sources))),
        confidence=max(before.confidence, draft.confidence),
        importance=max(before.importance, draft.importance),
    )


@dataclass(frozen=True, slots=True)
class _Stated:
    """What a clause states."""

    clause: Clause
    category: str
    avoid: str = ""


class _Drafts:
    """The facts of one turn."""

    def __init__(
        self, event: Event, extracted: Extracted, speaker: str, known: Callable[[str], bool]
    ) -> None:
        self._event = event
        self._extracted = extracted.in_order()
        self._speaker = speaker
        self._known = known

    def all(self) -> Iterator[FactDraft]:
        found: list[_Stated] = []
        before: Clause | None = None
        for line, sentence in sentences(self._event.content):
            if len(sentence.text) > _LONGEST_SENTENCE:
                before = None
                continue
            parts = clauses(sentence)
            if self._may_state(sentence):
                is_near = before is not None and before.start >= line.start
                self._read(found, (line, sentence), parts, before if is_near else None)
            before = parts[-1]
        drafts = filter(None, map(self._draft, found))
        return islice(drafts, _MOST_PER_TURN)

    def _may_state(self, sentence: Clause) -> bool:
        """Whether it is worth a closer look: most sentences speak of nobody."""
        return bool(
            doubts.FIRST_PERSON.search(sentence.low)
            or self._mentions(sentence)
            or cues.DATED.search(sentence.low)
            or states.WORTH.search(sentence.low)
            or corrected(sentence.text, sentence.low) is not None
        )

    def _read(
        self,
        found: list[_Stated],
        place: tuple[Clause, Clause],
        parts: Sequence[Clause],
        before: Clause | None,
    ) -> None:
        """Add what a sentence states; `place` is its line and itself, `before` the clause that was
        said before it."""
        line, sentence = place
        unsafe = refused(sentence.text, origin=self._event.origin) in _UNSAFE
        if unsafe or doubts.quotes_somebody(line.text):  # Cutting must not make it harmless.
            return
        count = len(found)
        for known, clause in pairwise((before, *parts)):
            if clause is None:
                continue
            if states.BACK.match(clause.low):
                self._add_back(found, line, clause, known)
            elif stated := self._judged(clause):
                whole = self._whole(stated, line, sentence, known)
                found += [whole] if whole else []
        if len(found) == count and len(parts) > 1 and not any(map(is_asked, parts)):
            stated_whole = self._judged(sentence)
            found += [stated_whole] if stated_whole else []

    def _add_back(
        self, found: list[_Stated], line: Clause, clause: Clause, known: Clause | None
    ) -> None:
        """A clause about "she" or "it" is told together with the one that says who that is."""
        if known is None or not self._is_state(clause) or not self._names_whom(clause, known):
            return
        last = found[-1] if found and found[-1].clause.end == known.end else None
        if last is not None and line.start <= last.clause.start:
            found[-1] = replace(last, clause=line.span(last.clause, clause))
        elif not _UNTOLD.match(known.low):
            own = states.FAMILY.search(known.low) is not None
            found.append(_Stated(line.span(known, clause), "identity" if own else "other"))

    def _is_state(self, clause: Clause) -> bool:
        """Whether a clause about "she" or "it" says something that lasts."""
        low = clause.low
        if is_asked(clause) or doubts.SUPPOSED.search(low) or _YOU.search(low):
            return False
        if states.BACK_STATE.match(low):
            return True
        return not low.startswith("it") and self._planned(clause).due is not None

    def _names_whom(self, clause: Clause, known: Clause) -> bool:
        """Whether the clause before names the one that a pronoun points at."""
        low = known.low
        if is_asked(known) or any(cue.search(low) for cue in _NO_ANTECEDENT):
            return False
        who = states.BACK.match(clause.low)
        is_person = who is not None and who["who"] in ("he", "she")
        if is_person and states.SOMEBODY.match(known.text):
            return True
        if any(not is_person or mention.type not in _NOBODY for mention in self._mentions(known)):
            return True
        return (states.WHO if is_person else states.WHAT).search(known.low) is not None

    def _whole(
        self, stated: _Stated, line: Clause, sentence: Clause, known: Clause | None
    ) -> _Stated | None:
        """With what comes before it, where it speaks of that: "... and I love their work"; None
        where that stands nowhere near."""
        clause = stated.clause
        if clause.start == sentence.start:
            return None if _LOST.search(clause.low) else stated
        if self._mentions(clause) or not _BACK.search(clause.low):
            return stated
        if known is None or is_asked(known):
            return stated
        return replace(stated, clause=line.span(known, clause))

    def _judged(self, clause: Clause) -> _Stated | None:
        low = clause.low
        if len(clause.text) > _LONGEST or is_asked(clause) or doubts.SUPPOSED.search(low):
            return None
        avoid = corrected(clause.text, low)
        if avoid is not None:
            return _Stated(clause, "correction", avoid)
        if begin := objection(low):
            after = clause.part(begin, len(low))
            return _Stated(clause, "correction") if self._category(after) else None
        category = self._category(clause)
        return _Stated(clause, category) if category else None

    def _category(self, clause: Clause) -> str | None:
        low = clause.low
        if doubts.IDLE.search(low):
            return None
        category = self._of_speaker(clause) if doubts.FIRST_PERSON.search(low) else None
        if category is None and (category := self._of_plan(clause)):
            return None if _YOU.search(low) else category  # A day says enough of "it".
        category = category or self._of_others(clause) or self._in_passing(clause)
        if category in _ADDRESSED and (_YOU.search(low) or doubts.POINTS.search(low)):
            return None
        return category

    def _of_speaker(self, clause: Clause) -> str | None:
        decided = any(decisions(clause.text, self._speaker))
        tastes = any(
            is_main(clause, each.start) and not _THANKS.search(each.text)
            for each in inside(clause, self._extracted.preferences)
        )
        tests = (
            ("constraint", cues.CONSTRAINT, False),
            ("decision", cues.DECISION, decided),
            ("goal", cues.GOAL, False),
            ("identity", cues.IDENTITY, cues.NAMED.search(clause.text) is not None),
            ("preference", cues.PREFERENCE, tastes),
            ("behavior", cues.BEHAVIOR, False),
            ("context", cues.CONTEXT, False),
        )
        for name, cue, told in tests:
            said = None if told else cue.search(clause.low)
            if told or (said and is_main(clause, clause.start + said.start())):
                return name
        return None

    def _of_plan(self, clause: Clause) -> str | None:
        """Something with a day ahead: "the deadline is next Friday", "I fly on the 18th"."""
        own = doubts.FIRST_PERSON.search(clause.low) is not None
        fixed = cues.DATED.search(clause.low)
        will = states.PLANS.search(clause.low) if own else None
        cue = fixed or will or states.BEGINS.search(clause.low) or states.ELIDED.match(clause.low)
        if cue is None or not is_main(clause, clause.start + cue.start()):
            return None
        if _POINTS_AWAY.search(clause.low) and not self._mentions(clause):
            return None
        if len(terms(self._undated(clause))) < _LEAST_TERMS:
            return None  # "I'm starting next month": what?
        due = self._planned(clause).due
        is_later = due is not None and (fixed is not None or due - self._event.at > _A_DAY)
        return "context" if is_later else None

    def _undated(self, clause: Clause) -> str:
        """What it says beside when."""
        low = clause.low
        for each in inside(clause, self._extracted.dates):
            low = low.replace(each.text.lower(), " ")
        return low

    def _of_others(self, clause: Clause) -> str | None:
        for mention in self._mentions(clause)[:1]:
            begin, end = mention.start - clause.start, mention.end - clause.start
            if not _BEFORE_NAME.fullmatch(clause.low, 0, begin):
                return None
            cues_of = _TOLD_OF_NAMED if self._is_sure(mention) else (states.EVENT_OF_NAMED,)
            if any(cue.match(clause.low, end) for cue in cues_of):
                return "identity" if states.FAMILY.search(clause.low) else "other"
            if states.THEY_PLAN.search(clause.low, end) and self._planned(clause).due is not None:
                return "context"
        return None

    def _is_sure(self, mention: Mention) -> bool:
        """Whether it is a name: in "Dance is my passion" the capital is that of every sentence."""
        near = max(0, mention.start - _LONGEST)
        before = self._event.content[near : mention.start].rstrip()[-1:]
        is_inside = before.isalnum() or before in (",", ":", "(")
        is_known = mention.type in _OF_OTHERS or not _PLAIN.fullmatch(mention.text)
        return is_known or (before != "" and is_inside)

    def _in_passing(self, clause: Clause) -> str | None:
        """What has few words of its own: a limit, a choice, what became of something."""
        for category, cue in _IN_PASSING:
            said = cue.search(clause.low)
            if said and is_main(clause, clause.start + said.start()):
                return category
        if states.OF_MINE.match(clause.text):
            return "identity" if states.FAMILY.search(clause.low) else "context"
        if states.SOMEBODY_DID.match(clause.text):
            return "other"
        named = states.IS_NAMED.match(clause.low)
        if named and any(m.start == clause.start + named.end() for m in self._mentions(clause)):
            return "context"
        return None

    def _mentions(self, clause: Clause) -> Sequence[Mention]:
        return inside(clause, self._extracted.mentions)

    def _planned(self, clause: Clause) -> Planned:
        return planned(clause.low, inside(clause, self._extracted.dates), self._event.at)

    def _draft(self, stated: _Stated) -> FactDraft | None:
        clause, event = stated.clause, self._event
        text = " ".join(_JOINED.sub("", clause.text, count=1).split())
        if refused(text, origin=event.origin) is not None or len(text) > _LONGEST:
            return None
        if len(terms(text)) < _LEAST_TERMS and stated.category not in _SHORT:
            return None
        if stated.category in USERS_OWN and shows(event.content):
            return None  # In a text that is handed over "I" is not the user.
        category = stated.category
        if category in USERS_OWN and event.origin not in BY_USER:
            category = "other"
        names = self._names(clause)
        new = entity_novelty(names, [name for name in names if self._is_known(name)])
        times = self._planned(clause) if category not in _UNDATED else Planned()
        return FactDraft(
            text=text,
            category=category,
            sources=(event.id,),
            origin=event.origin,
            at=event.at,
            headline=headline(text),
            keywords=keywords(text),
            entities=names,
            confidence=_HEDGED if doubts.HEDGED.search(clause.low) else 1.0,
            importance=importance(text, novelty=novelty(new, 1.0), entities=len(names)).score,
            on=times.on,
            due=times.due,
            avoid=" ".join(stated.avoid.split()),
            role=event.role,
            name=event.name,
        )

    def _names(self, clause: Clause) -> tuple[str, ...]:
        """Who is spoken of: the speaker first, if by "I", then names in their order."""
        own = [self._speaker] if doubts.FIRST_PERSON.search(clause.low) else []
        for mention in self._mentions(clause):
            name = " ".join(storable(mention.text, "name", []).split())
            is_speaker = self._event.name is None and same(name) == _NAMELESS
            if 0 < len(name) <= _NAME_CHARS and not is_speaker:
                own.append(name)
        names = {same(name): name for name in reversed(own)}
        return tuple(names.values())[::-1][:_MOST_ENTITIES]

    def _is_known(self, name: str) -> bool:
        return same(name) == same(self._speaker) or self._known(same(name))
