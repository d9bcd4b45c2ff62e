"""Facts without a language model: which sentences of a person state something that lasts.

    own words   without code, quotations and pasted material   language/instructions/own_words.py
    clauses     one claim each, cut only where both sides stand for themselves
    category    by the words that state it                                                cues.py
    gates       what may be kept at all                                                  gates.py
    draft       headline, keywords, names, by when

The text of a fact is verbatim: it quotes its turn. In doubt there is no fact: the turn itself is
kept and found anyway, while a fact that nobody stated would be believed. Assistants state none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import lru_cache
from itertools import islice, pairwise

from holdfast.border.validate import storable
from holdfast.language.dates import PlanDates, plan_dates
from holdfast.language.extraction import Extracted, decisions
from holdfast.language.instructions.own_words import said_by_user, shows
from holdfast.language.lexicon import WEEKDAY
from holdfast.language.mentions import Mention, P, starting_between
from holdfast.language.names import same
from holdfast.language.regex import regex
from holdfast.language.sentences import STOPS, cut_sentences
from holdfast.language.statements import cues
from holdfast.language.statements.gates import entity_novelty, importance, novelty, refusal
from holdfast.language.statements.values import BY_USER, USERS_OWN, FactDraft
from holdfast.language.terms import STOP_WORDS, fold, terms
from holdfast.types import Event

# ----------------------------------------------------------------------
# A statement in short: its headline, and the words that carry it.
# ----------------------------------------------------------------------

_HEADLINE_WORDS = 10
_HEADLINE_CHARS = 80
_MOST_KEYWORDS = 8
_OPENER = regex(
    r"^(?:(?:well|so|yes|yeah|yep|oh|hey|hi|actually|also|and|but|ok|okay|btw|by the way|anyway|ah"
    r"|wow|honestly|no)[,!.]? )+",
    re.IGNORECASE,
)
_CUT = regex(r"[,;:(]| - | (?:and|but|because|so that|which|who|since|although)\b")
_WORD = regex(r"[^\W_]+(?:['’.:@+#-][^\W_]+)*")
_DENSE = regex(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def headline(text: str) -> str:
    """A statement in at most ten words, cut where a part of it ends."""
    plain = _OPENER.sub("", text, count=1).rstrip(" .!。！,;")
    words = plain.split()
    if len(words) <= _HEADLINE_WORDS and len(plain) <= _HEADLINE_CHARS:
        return plain[:1].upper() + plain[1:]
    short = " ".join(words[:_HEADLINE_WORDS])[:_HEADLINE_CHARS]
    cuts = [found.start() for found in _CUT.finditer(short) if found.start() > len(short) // 2]
    short = short[: cuts[-1]] if cuts else short
    return (short[:1].upper() + short[1:]).rstrip(" .,;:-")


def keywords(text: str) -> tuple[str, ...]:
    """The words that carry a statement, folded, in their order; at most eight."""
    words = [fold(found.group().replace("\u2019", "'")) for found in _WORD.finditer(text)]
    content: list[str] = []
    for word in words:
        if _DENSE.search(word):
            content += terms(word)
        elif word.partition("'")[0] not in STOP_WORDS and len(word) > 1:
            content.append(word.removesuffix("'s"))
    return tuple(dict.fromkeys(content))[:_MOST_KEYWORDS]


# ----------------------------------------------------------------------
# What a person says, cut into clauses: one claim each, and only where both sides stand alone.
#
# In chat a comma often stands where a full stop would: "email please, I hate phoning". A comma,
# an "and" or a colon ends a clause where both sides have a subject and a finite verb of their
# own. What depends on a condition is never cut from it: "if it rains, I stay" states nothing.
# ----------------------------------------------------------------------

#: Characters of a turn beyond which it is pasted.
_MOST_CHARS = 20_000
_FINITE_VERBS = """
is are was were has have had can can't cannot could will won't would does doesn't don't did didn't
lives live works work starts start ends goes go plays play likes like loves love hates hate wants
want needs need died runs run teaches studies comes come leaves left speaks speak owns own moved
moves gets get got takes took says said writes wrote told charges sells sold makes made costs keeps
brings brought picks pays paid approved signed quit bought broke found sent gave went came asked
showed agreed confirmed cancelled called finished started stopped signs handles visits hurts uses
use drives eats sleeps handed opened closed failed passed retired married changed fixed joined
launched adopted ordered booked hired cut turned isn't aren't wasn't haven't hasn't fly flies
"""
_FINITE = "|".join(sorted(_FINITE_VERBS.split(), key=len, reverse=True))
#: "... and my son" goes on with a list, "... and my son plays" begins a claim.
_BEGINS = (
    r"(?:i|i'm|i've|i'd|i'll|we|we're|we've|we'll)\b"
    rf"|(?:my|our) (?:[\w'-]+ ){{1,3}}?(?:{_FINITE})\b"
    rf"|the (?:[\w'-]+ ){{1,3}}?(?:{_FINITE})\b"
    r"|on (?:the )?[\w']+(?: \d{1,2})? (?:i|i'm|we|we're)\b"
    rf"|(?:he|she|it|they)(?:'s|'re|'ll|'ve|'d| (?:{_FINITE}|[a-z]+s|only|also|never|always))\b"
)
_JOINT = regex(
    rf"(?:[,;]? (?:and|but|so|bc|because|cause)|[,;]| (?:tbh|lol|btw)) (?={_BEGINS})"
    r"|: (?=(?:i'm|i am|i've|my|we're|our|sent|ordered|booked|paid)\b)"
    r"|,? (?:(?:and|so|but|then) )?(?=(?:can|could|would|will|do|did|are|have) you\b|(?:how|what"
    r"|which|where|why|should i|should we|is there|any (?:tips|advice|ideas))\b[^?]{0,300}\?"
    r"|(?:how|what|which) (?:can|do|should|would|could) (?:i|we)\b)"
    r"|,? (?=(?:otherwise|or else)\b)|, so (?=[a-z]+ (?:should|will|can|can't|must|is|are)\b)"
)
#: Of somebody by name; looked for in the text as it is written.
_OF_NAME = regex(
    rf"(?:[,;] (?:(?:and|but|so) )?| (?:and|but|so) )(?=(?:[A-Z][\w'’.&-]* )"
    rf"{{1,3}}(?:only |also |still |never |already |just )?(?:{_FINITE})\b)"
    r"|, (?=(?:the |my |our )?[a-z]+ is (?:Dr\. |Mr\.? |Mrs\.? |Ms\.? )?[A-Z])"
)
_VERB = regex(rf"\b(?:{_FINITE}|[a-z]+ed)\b|'(?:s|m|re|ve|ll|d)\b")
_SAYS_WHO = regex(r"\b(?:i|we|you|he|she|it|they|my|our)\b")
#: What is said under it must not be cut from it.
_CONDITION = regex(
    r"\b(?:if|unless|suppose|supposing|imagine|pretend|assuming|whether|would|might|wish)\b"
)
#: A clause that only says when, why or where the next one is so.
_SUBORDINATE = regex(
    r"^(?:(?:and|but|so) )?(?:when|whenever|while|although|though|because|since|as|after|before"
    r"|once|until|till|where|that|which|who|whose|like|even)\b"
)
#: Says when, where or for what the rest is so: "at my old job, ...", "starting next year, ...".
_FRAME = regex(
    r"^(?:(?:and|but|so) )?(?:for|at|in|on|during|starting|beginning|from|as of|until|by|before"
    r"|after|under|within|next|last|hypothetically|theoretically|temporarily|eventually|someday)\b"
)
#: Takes something back: what follows is not cut from it.
_OBJECTING = regex(r"(?:(?:oh|hm+|well|and|but) )?(?:actually|no|nope|wait|sorry|correction)[,.]?")
#: "..., but as of May" belongs to what follows it.
_TAIL = regex(
    r"(?:,| -)?(?: (?:and|but|so)),? (?=(?:with|since|as|because|when|while|after|before|now"
    r"|of course|given|considering|in|on|at|if|by) [^,]{2,60}(?:, \d{4})?$)|,? but, of course$"
)
_REASON = regex(r"\b(?:bc|because|cause)\b")
_ASKS = regex(r"(?:can|could|would|will|do|did|are|have) you\b|what if\b|how\b|which\b")
_DEPENDS = regex(
    r"\b(?:why|how|what|that|which|who|whose|whom|because|cause|when|where|if|as|than|like|said"
    r"|says|told|asked|you|to|reason|things?|everything|someone|people)\b"
    r"|\b(?:on|in|at|of|with|for|from|by|about|into|under|over) $"
)
_LEAD_WORDS = 7
_BLANKS = {ord(char): " " for char in "\t\xa0\u3000"}


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a turn: where it stands, verbatim, and in lower case with quotations blanked."""

    start: int
    text: str
    low: str

    @property
    def end(self) -> int:
        """Where it ends in the turn."""
        return self.start + len(self.text)

    def part(self, begin: int, end: int) -> Clause:
        """A part of it, without blanks around it."""
        text = self.text[begin:end]
        begin += len(text) - len(text.lstrip())
        end = begin + len(text.strip())
        return Clause(self.start + begin, self.text[begin:end], self.low[begin:end])

    def span(self, first: Clause, last: Clause) -> Clause:
        """From the one part of it to the end of the other."""
        return self.part(first.start - self.start, last.end - self.start)


def sentences(text: str) -> Iterator[tuple[Clause, Clause]]:
    """What is said, sentence by sentence, each with the line that it stands in."""
    for start, verbatim, lowered in said_by_user(text[:_MOST_CHARS]):
        low = lowered.translate(_BLANKS)
        line = Clause(start, verbatim[: len(low)], low)
        for begin, end in cut_sentences(low, dashes=True):
            if (sentence := line.part(begin, end)).text:
                yield line, sentence


def clauses(sentence: Clause) -> list[Clause]:
    """The clauses of a sentence, in order."""
    joints = sorted(
        {found.span() for found in _JOINT.finditer(sentence.low)}
        | {found.span() for found in _OF_NAME.finditer(sentence.text)}
    )
    found: list[Clause] = []
    begin = 0
    for start, end in joints:
        clause = sentence.part(begin, max(start, begin))
        if start < begin or not _stands_alone(clause, sentence.low[start:end]):
            continue
        tail = _TAIL.search(clause.low)
        found.append(clause.part(0, tail.start()) if tail else clause)
        begin = clause.start - sentence.start + tail.end() if tail else end
    last = sentence.part(begin, len(sentence.low))
    return [*found, last] if last.text else found


def _stands_alone(clause: Clause, joint: str) -> bool:
    """Whether a clause may end here: "Jonas and I" is one subject, "if ..." is no statement."""
    low = clause.low
    if not low or _CONDITION.search(low):
        return False
    if _OBJECTING.fullmatch(low):
        return False
    is_comma = joint.lstrip()[:1] in (",", ";", ":")
    if _REASON.search(joint):
        # "Bit tight bc ..."; else the reason is told with what it is for.
        return not (_VERB.search(low) or _SAYS_WHO.search(low))
    if not is_comma and not _VERB.search(low):
        return False
    is_frame = _FRAME.match(low) and not _VERB.search(low)
    return not (is_comma and (_SUBORDINATE.match(low) or is_frame))


def is_asked(clause: Clause) -> bool:
    """Whether it is a question."""
    return clause.low.endswith(("?", "？")) or _ASKS.match(clause.low) is not None


def is_main(clause: Clause, at: int) -> bool:
    """Whether what stands there is what the clause states, not a part of something else: near its
    beginning, and behind no word that makes it depend on another ("the reason why I started")."""
    if not clause.start <= at < clause.end:
        return False
    before = clause.low[: at - clause.start]
    return before.count(" ") <= _LEAD_WORDS and not _DEPENDS.search(before)


def inside(clause: Clause, placed: Sequence[P]) -> Sequence[P]:
    """What begins within a clause, of things in the order of their text."""
    return starting_between(placed, clause.start, clause.end)


# ----------------------------------------------------------------------
# What somebody asks to be kept: "please remember that I am vegan". What follows is the statement,
# as if it had been said alone.
# ----------------------------------------------------------------------

#: Without "that" or a colon a statement must begin behind it: "remember my flight is at nine"
#: states something, "remember to call" and "remember when we met?" do not.
_STATES = (
    rf"(?=(?:i|i'?m|i'?ve|we|we're|we've|it'?s|there(?:'s| is| are)|(?:my|our|the"
    rf"|this) (?:[\w'-]+ )"
    rf"{{1,4}}?(?:{_FINITE})|(?:my|our) [\w-]+'s)\b)"
)
_TO_KEEP = regex(
    r"^(?:(?:and|also|so|oh|ok|okay|hey|hi|btw|by the way|one more thing|please|pls|just)[,:]? )*"
    r"(?:(?:can|could|would|will) you (?:please )?|i(?:'d| would)? (?:want|like|need) you to )?"
    r"(?:(?:always )?(?:remember|note|keep in mind|bear in mind|take note|make a note"
    r"|write down|know"
    r"|write this down|do not forget|don'?t (?:ever )?forget|never forget)(?: this)?"
    rf"(?:,? that |: ?|, (?=i\b|i'|im\b|my\b|we\b|our\b)| {_STATES})"
    r"|(?:fyi|for (?:your information|the record)|(?:just )?so (?:that )?you know"
    r"|just so you're aware)(?: that |[,:]? | - )"
    r"|(?:a |just a |quick |friendly )*(?:reminder|note|heads[- ]up)(?: that |: ?|, | - ))"
    r"(?P<what>\S)"
)


def told_to_keep(sentence: Clause) -> Clause | None:
    """What a sentence asks to be kept; None where it asks for nothing of the kind."""
    found = _TO_KEEP.match(sentence.low)
    if found is None:
        return None
    is_request = sentence.low.endswith("?") and " you " in sentence.low[: found.start("what")]
    return sentence.part(found.start("what"), len(sentence.low) - is_request)


def without_request(text: str) -> str:
    """What a statement says without the words that ask for it to be kept."""
    low = text.lower()
    kept = told_to_keep(Clause(0, text, low)) if len(low) == len(text) else None
    return kept.text if kept else text


# ----------------------------------------------------------------------
# Corrections: what was said is wrong, and what is right instead.
#
# "No, that's wrong" alone corrects nothing that can be kept: the right thing must be told, too.
# Where the wrong one is named ("the 14th, not the 15th") it is given as `avoid`. "It's the
# journey, not the goal" is a saying; without a word that objects, both sides must be names or
# numbers.
# ----------------------------------------------------------------------

_LONGEST_CORRECTION = 300
#: Somebody objects, or takes back what they said.
_OBJECTS = regex(
    r"^(?:(?:hm+|wait|sorry|oh|well|ah|hey)[,!.]? )*(?:(?P<strong>(?:no[,.!]? )?(?:that|this"
    r"|it)(?:'s| is| was) (?:\w+ )?(?:wrong|incorrect|not (?:right"
    r"|correct|true|quite right|accurate))|correction|incorrect|wrong|scratch that|my mistake"
    r"|my bad|i (?:misspoke|mistyped|was wrong|made a (?:mistake|typo))|you(?:'ve| have)? (?:got"
    r"|have|had|put) (?:\w+ ){1,4}wrong)\b|(?P<said>i (?:said|meant|mean|told you|asked for))\b"
    r"|(?P<no>no(?:pe)?)[,.!]? (?=it'?s|it is|that'?s|he|she|they|my|our|the|not|i (?:live|work"
    r"|said|meant|have|am)|i'm|we)|(?P<actually>actually),? (?=it'?s|it is|my|our|the|that'?s"
    r"|i(?:'m| am| live| work| meant| have)))"
)
#: "It's been hard", "it's fine": said in talk, and corrects nothing.
_TALK = regex(
    r"^[\s,:.]*(?:it|that|this)(?:'s| is| was) (?:been|fine|ok|okay|good|all|enough|so|very|really"
    r"|pretty|quite|a (?:bit|lot|great|good)|not (?:easy|bad|that|too|really|a)|just|cool|great"
    r"|hard|nice|kind of|been)\b"
)
_NOT_AFTER = regex(
    r"(?:,| and| but) not (?P<avoid>(?!only\b|just\b|to\b|.{1,60} but\b)"
    rf"[^{STOPS},;:]{{1,60}})[.!]?$"
)
_NOT_BEFORE = regex(
    r"^not (?P<avoid>(?!only\b|just\b|sure\b|yet\b|really\b|at\b|to\b|a\b|even\b)"
    rf"[^{STOPS},;:]{{1,40}}), (?:but )?(?P<right>[^{STOPS},;:]{{1,40}})[.!]?$"
    rf"|\bnot (?P<avoided>(?!only\b|just\b)[^{STOPS},;:]{{1,60}}?),?"
    rf" but (?P<instead>[^{STOPS},;:]{{1,60}})[.!]?$"
)
_ZH = regex(
    r"不是(?P<avoid>[^，,。]{1,12})[，,]\s*(?:而)?是[^，。]|[，,]\s*(?:而)?不是(?P<avoided>[^，,。吗]{1,12})[。！]?$"
)
_PARTICULAR = regex(rf"\d|\b[A-Z][a-z]|\b{WEEKDAY}\b|(?:一|二|三|四|五|六|七|八|九|十)")


def find_correction(text: str, low: str) -> str | None:
    """What a statement says was wrong, verbatim; "" where it only tells the right thing, None where
    it corrects nothing. `low` is the text in lower case, of the same length."""
    if len(text) > _LONGEST_CORRECTION:
        return None
    if not low.isascii() and (found := _ZH.search(low)):
        return text[slice(*found.span("avoid" if found["avoid"] else "avoided"))].strip()
    objects = _OBJECTS.match(low)
    rest = low[objects.end() :] if objects else low
    if _TALK.match(rest):
        return None
    named = _right_and_wrong(text, low)
    if named is not None and objects and len(named[0]) <= objects.end():
        return None  # "Nope, not yet": nothing is said instead.
    if named is not None and (objects or all(map(_PARTICULAR.search, named))):
        return named[1]
    return "" if objects and _tells(objects, text) else None


def objection_end(low: str) -> int:
    """Where what follows "that's wrong, " or "actually, " begins; 0 where there is none."""
    found = _OBJECTS.match(low)
    return found.end() if found and not found["said"] else 0


def _right_and_wrong(text: str, low: str) -> tuple[str, str] | None:
    """What is right and what was wrong, verbatim."""
    if found := _NOT_AFTER.search(low):
        right = text[: found.start()]
        first = right.partition(" ")[0]  # Its capital is that of every sentence.
        right = right[len(first) :] or right
        return right, text[slice(*found.span("avoid"))].strip()
    if found := _NOT_BEFORE.search(low):
        pair = ("right", "avoid") if found["avoid"] else ("instead", "avoided")
        right, wrong = (text[slice(*found.span(each))].strip() for each in pair)
        return right, wrong
    return None


def _tells(objects: re.Match[str], text: str) -> bool:
    """Whether after a soft objection something particular is told; a strong one is judged by what
    follows it, as a fact of its own."""
    rest = text[objects.end() :]
    if objects["actually"] or objects["no"]:
        return bool(_PARTICULAR.search(rest)) and len(rest.split()) > 1
    return bool(objects["said"] and _PARTICULAR.search(rest))


#: Characters of a sentence beyond which it is no claim, and of a fact.
_LONGEST_SENTENCE, _LONGEST = 600, 400
_MOST_PER_TURN, _NAME_CHARS = 16, 200
#: How one who bears no name is called while the text is read.
_NAMELESS = "user"
_MOST_ENTITIES, _LEAST_TERMS = 8, 2
#: By hand, not measured.
_HEDGED = 0.6
_SHORT = frozenset({"identity", "correction", "decision", "behavior"})
_UNSAFE = frozenset({"injection", "grant", "authority"})
#: Categories whose statement is about the one who speaks, not the one who is spoken to.
_ADDRESSED = frozenset({"decision", "preference", "goal", "context", "behavior", "other"})
_UNDATED = frozenset({"preference", "behavior"})

#: Points at what was said before it.
_BACK = regex(r"\b(?:it|its|this|that|these|those|them|they|their|he|him|his|she|her|there)\b")
_POINTS_AWAY = regex(
    r"\b(?:that|this|those|these|one)\b(?! (?:week|month|year|summer|winter|spring|autumn|fall"
    r"|weekend|evening))"
)
_LOST = regex(r"\b(?:love|like|enjoy|hate|adore|prefer) (?:their|his|her|its)\b")
_THANKS = regex(r"\bappreciate\b", re.IGNORECASE)
#: Whose life is worth keeping, beside the speaker's.
_OF_OTHERS = frozenset({"person", "organization"})
_YOU = regex(r"\byou(?:r|rs|'re|'ve|'d|'ll)?\b")
_A_DAY = timedelta(days=1)
_NO_ANTECEDENT = (cues.SUPPOSED, cues.IDLE, _YOU)
#: "She's a nurse, they're nice": who "she" is was said nowhere near.
_SOMEBODY_DOES = regex(r"(?:i|we) [a-z]+ \w")
_UNTOLD = regex(r"(?:and |but |so )?(?:he|she|they)\b")
_JOINED = regex(r"^(?:oh )?(?:and|but),? (?=\w)")
_NOBODY = frozenset({"place", "organization", "event", "date"})
_PLAIN = regex(r"[A-Z][a-z]+")
_TOLD_OF_NAMED = (cues.OTHERS, cues.OF_NAMED, cues.TOLD)
_IN_PASSING = (
    ("constraint", cues.LIMIT),
    ("decision", cues.CHOSEN),
    ("context", cues.NEVER),
    ("behavior", cues.NOT),
    ("preference", cues.WANTED),
    ("context", cues.DONE),
    ("context", cues.PRICE),
    ("identity", cues.OF_FAMILY),
    ("context", cues.OF_KIN),
    ("other", cues.OF_THING),
)
_BEFORE_NAME = regex(
    r"(?:(?:and|but|so|also|well|oh|hey|by the way|btw|yes|yeah|fyi|note that|update|then|now)"
    r"[, ]+)*(?:(?:[a-z]+ ){0,2}[a-z]+[,:] |option \w+:? )?"
    r"(?:(?:my|our|the|your) (?:[a-z-]+ ){1,2}|[a-z]+ is )?"
)


_QUOTED = regex(
    r"\"[^\"]{2,}(?:\"|$)|\u201c[^\u201d]{2,}(?:\u201d|$)|\u00ab[^\u00bb]{2,}(?:\u00bb|$)|「[^」]+」?"
)
_SPEAKS = regex(rf"\b(?:i|i'm|i've|i'd|i'll|my|me|mine|we|our|us|you|your)\b|[{STOPS}]\W*$", re.I)


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
        drafts = _TurnFacts(event, extracted, event.name or user, known)
        for draft in drafts.all():
            # Per origin: what an import repeats must not lower what the user said.
            key = (fold(draft.text).rstrip(".!。！ "), draft.name, draft.origin)
            before = kept.get(key)
            kept[key] = draft if before is None else _join_drafts(before, draft)
    return list(kept.values())


def _join_drafts(before: FactDraft, draft: FactDraft) -> FactDraft:
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


class _TurnFacts:
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
        for line, whole in sentences(self._event.content):
            if len(whole.text) > _LONGEST_SENTENCE:
                before = None
                continue
            kept = told_to_keep(whole)
            sentence = kept or whole
            parts = clauses(sentence)
            # Cutting must not make it harmless.
            is_safe = refusal(whole.text, origin=self._event.origin) not in _UNSAFE
            if is_safe and (kept or self._may_state(sentence)):
                is_near = before is not None and before.start >= line.start
                count = len(found)
                self._read_sentence(found, (line, sentence), parts, before if is_near else None)
                if kept and len(found) == count and _is_told(kept):
                    found.append(_Stated(kept, "context"))
            before = parts[-1]
        drafts = filter(None, map(self._draft, found))
        return islice(drafts, _MOST_PER_TURN)

    def _may_state(self, sentence: Clause) -> bool:
        """Whether it is worth a closer look: most sentences speak of nobody."""
        return bool(
            cues.FIRST_PERSON.search(sentence.low)
            or self._mentions(sentence)
            or cues.DATED.search(sentence.low)
            or cues.WORTH.search(sentence.low)
            or find_correction(sentence.text, sentence.low) is not None
        )

    def _read_sentence(
        self,
        found: list[_Stated],
        place: tuple[Clause, Clause],
        parts: Sequence[Clause],
        before: Clause | None,
    ) -> None:
        """Add what a sentence states; `place` is its line and itself, `before` the clause that was
        said before it."""
        line, sentence = place
        if _quotes_somebody(line.text):
            return
        count = len(found)
        for known, clause in pairwise((before, *parts)):
            if clause is None:
                continue
            if cues.BACK.match(clause.low):
                self._add_back(found, line, clause, known)
            elif stated := self._judge(clause):
                whole = self._with_antecedent(stated, line, sentence, known)
                found += [whole] if whole else []
        if len(found) == count and len(parts) > 1 and not any(map(is_asked, parts)):
            stated_whole = self._judge(sentence)
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
            own = cues.FAMILY.search(known.low) is not None
            found.append(_Stated(line.span(known, clause), "identity" if own else "other"))

    def _is_state(self, clause: Clause) -> bool:
        """Whether a clause about "she" or "it" says something that lasts."""
        low = clause.low
        if is_asked(clause) or cues.SUPPOSED.search(low) or _YOU.search(low):
            return False
        if cues.BACK_STATE.match(low):
            return True
        return not low.startswith("it") and self._plan_dates(clause).due is not None

    def _names_whom(self, clause: Clause, known: Clause) -> bool:
        """Whether the clause before names the one that a pronoun points at."""
        low = known.low
        if is_asked(known) or any(cue.search(low) for cue in _NO_ANTECEDENT):
            return False
        who = cues.BACK.match(clause.low)
        is_person = who is not None and who["who"] in ("he", "she")
        if is_person and cues.SOMEBODY.match(known.text):
            return True
        if any(not is_person or mention.type not in _NOBODY for mention in self._mentions(known)):
            return True
        return (cues.WHO if is_person else cues.WHAT).search(known.low) is not None

    def _with_antecedent(
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

    def _judge(self, clause: Clause) -> _Stated | None:
        low = clause.low
        if len(clause.text) > _LONGEST or is_asked(clause) or cues.SUPPOSED.search(low):
            return None
        avoid = find_correction(clause.text, low)
        if avoid is not None:
            return _Stated(clause, "correction", avoid)
        if begin := objection_end(low):
            after = clause.part(begin, len(low))
            return _Stated(clause, "correction") if self._category(after) else None
        category = self._category(clause)
        return _Stated(clause, category) if category else None

    def _category(self, clause: Clause) -> str | None:
        low = clause.low
        if cues.IDLE.search(low):
            return None
        category = self._category_of_speaker(clause) if cues.FIRST_PERSON.search(low) else None
        if category is None and (category := self._category_of_plan(clause)):
            return None if _YOU.search(low) else category  # A day says enough of "it".
        category = category or self._category_of_others(clause) or self._category_in_passing(clause)
        if category in _ADDRESSED and (_YOU.search(low) or cues.POINTS.search(low)):
            return None
        return category

    def _category_of_speaker(self, clause: Clause) -> str | None:
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

    def _category_of_plan(self, clause: Clause) -> str | None:
        """Something with a day ahead: "the deadline is next Friday", "I fly on the 18th"."""
        own = cues.FIRST_PERSON.search(clause.low) is not None
        fixed = cues.DATED.search(clause.low)
        will = cues.PLANS.search(clause.low) if own else None
        cue = fixed or will or cues.BEGINS.search(clause.low) or cues.ELIDED.match(clause.low)
        if cue is None or not is_main(clause, clause.start + cue.start()):
            return None
        if _POINTS_AWAY.search(clause.low) and not self._mentions(clause):
            return None
        if len(terms(self._without_dates(clause))) < _LEAST_TERMS:
            return None  # "I'm starting next month": what?
        due = self._plan_dates(clause).due
        is_later = due is not None and (fixed is not None or due - self._event.at > _A_DAY)
        return "context" if is_later else None

    def _without_dates(self, clause: Clause) -> str:
        """What it says beside when."""
        low = clause.low
        for each in inside(clause, self._extracted.dates):
            low = low.replace(each.text.lower(), " ")
        return low

    def _category_of_others(self, clause: Clause) -> str | None:
        for mention in self._mentions(clause)[:1]:
            begin, end = mention.start - clause.start, mention.end - clause.start
            if not _BEFORE_NAME.fullmatch(clause.low, 0, begin):
                return None
            cues_of = _TOLD_OF_NAMED if self._is_sure(mention) else (cues.EVENT_OF_NAMED,)
            if any(cue.match(clause.low, end) for cue in cues_of):
                return "identity" if cues.FAMILY.search(clause.low) else "other"
            if cues.THEY_PLAN.search(clause.low, end) and self._plan_dates(clause).due is not None:
                return "context"
        return None

    def _is_sure(self, mention: Mention) -> bool:
        """Whether it is a name: in "Dance is my passion" the capital is that of every sentence."""
        near = max(0, mention.start - _LONGEST)
        before = self._event.content[near : mention.start].rstrip()[-1:]
        is_inside = before.isalnum() or before in (",", ":", "(")
        is_known = mention.type in _OF_OTHERS or not _PLAIN.fullmatch(mention.text)
        return is_known or (before != "" and is_inside)

    def _category_in_passing(self, clause: Clause) -> str | None:
        """What has few words of its own: a limit, a choice, what became of something."""
        for category, cue in _IN_PASSING:
            said = cue.search(clause.low)
            if said and is_main(clause, clause.start + said.start()):
                return category
        if cues.OF_MINE.match(clause.text):
            return "identity" if cues.FAMILY.search(clause.low) else "context"
        if cues.SOMEBODY_DID.match(clause.text):
            return "other"
        named = cues.IS_NAMED.match(clause.low)
        if named and any(m.start == clause.start + named.end() for m in self._mentions(clause)):
            return "context"
        return None

    def _mentions(self, clause: Clause) -> Sequence[Mention]:
        return inside(clause, self._extracted.mentions)

    def _plan_dates(self, clause: Clause) -> PlanDates:
        return plan_dates(clause.low, inside(clause, self._extracted.dates), self._event.at)

    def _draft(self, stated: _Stated) -> FactDraft | None:
        clause, event = stated.clause, self._event
        text = " ".join(_JOINED.sub("", clause.text, count=1).split())
        if refusal(text, origin=event.origin) is not None or len(text) > _LONGEST:
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
        times = self._plan_dates(clause) if category not in _UNDATED else PlanDates()
        return FactDraft(
            text=text,
            category=category,
            sources=(event.id,),
            origin=event.origin,
            at=event.at,
            headline=headline(text),
            keywords=keywords(text),
            entities=names,
            confidence=_HEDGED if cues.HEDGED.search(clause.low) else 1.0,
            importance=importance(text, novelty=novelty(new, 1.0), entities=len(names)).score,
            on=times.on,
            due=times.due,
            avoid=" ".join(stated.avoid.split()),
            role=event.role,
            name=event.name,
        )

    def _names(self, clause: Clause) -> tuple[str, ...]:
        """Who is spoken of: the speaker first, if by "I", then names in their order."""
        own = [self._speaker] if cues.FIRST_PERSON.search(clause.low) else []
        for mention in self._mentions(clause):
            name = " ".join(storable(mention.text, "name", []).split())
            is_speaker = self._event.name is None and same(name) == _NAMELESS
            if 0 < len(name) <= _NAME_CHARS and not is_speaker:
                own.append(name)
        names = {same(name): name for name in reversed(own)}
        return tuple(names.values())[::-1][:_MOST_ENTITIES]

    def _is_known(self, name: str) -> bool:
        return same(name) == same(self._speaker) or self._known(same(name))


def _is_told(clause: Clause) -> bool:
    """Whether what somebody asks to be kept is a statement, not a deed or a question."""
    low = clause.low
    is_open = is_asked(clause) or cues.SUPPOSED.search(low) or _YOU.search(low)
    says = _VERB.search(low) or _SOMEBODY_DOES.match(low)
    return not is_open and says is not None and not _UNTOLD.match(low)


# Asked of a line for each of its sentences.
@lru_cache(maxsize=16)
def _quotes_somebody(text: str) -> bool:
    """Whether somebody else's words stand in it: a quotation that speaks, not the title of a book.
    Who they are about nobody can tell."""
    return any(_SPEAKS.search(found[0][1:-1]) for found in _QUOTED.finditer(text))
