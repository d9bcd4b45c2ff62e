"""Relations between names: what a verb phrase says, which way it points, and who "I" is.

The verb phrase is kept as it was said; its type is the nearest of the graph's own. A phrase that
says the reverse of a type ("causes") gives the relation the other way round. How subjects and
objects are found is left to parse.py (with a parse) and patterns.py (without).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from holdfast.language.names.spans import Mention

# ----------------------------------------------------------------------
# Closed classes that decide whether a clause states something, and of what.
# ----------------------------------------------------------------------

#: Labels of a model for what is counted or measured, never a name.
NUMBER_LABELS = frozenset(("DATE", "TIME", "CARDINAL", "ORDINAL", "QUANTITY", "PERCENT", "MONEY"))
IF = frozenset(("if", "unless", "whether", "whenever"))

_MODALS = "would could should might may can must ca wo 'd ’d"
_DOUBTS = "never hardly maybe perhaps possibly barely"
_WISHES = (
    "hope want wish plan like need try expect intend consider dream wonder ask refuse fail let"
)
_LOOSE = """
after as before beyond by despite during for like off over per since than under unlike until within
without
"""
_VAGUE = """
amount anyone anything assistance back best bit blast boost break bunch bye call care case chance
congrats control couple day deal decision difference direction doubt effort end error evening
everyone everything eye fan favorite favourite feeling few fun go good great haha hand head heart
hello help hour hunt idea joy kind lease life look lookout lot luck magic middle mind minute
moment month morning night nothing number one other part people piece place point progress reality
reason rest sense side someone something sort start step stuff support thank thanks thing thought
time today tomorrow ton top touch trouble try use way week while word work world year yesterday
"""
#: Short forms as they are kept in a phrase.
FULL = {
    mark + short: full
    for mark in "'’"
    for short, full in {"m": "am", "re": "are", "ve": "have", "ll": "will", "s": "is"}.items()
}
MODALS = frozenset(_MODALS.split())
DOUBTS = frozenset(_DOUBTS.split())
#: Verbs after which nothing has happened yet, or ever will.
WISHES = frozenset(_WISHES.split())
#: Prepositions that say when, how or why, not what; after them only a name counts.
LOOSE = frozenset(_LOOSE.split())
#: Nouns that name nothing one would look up.
VAGUE = frozenset(_VAGUE.split())


ANY_RELATION = "related_to"


@dataclass(frozen=True, slots=True)
class MentionedRelation:
    """Two things and what was said of them; an end that is no mention is a concept."""

    source: str
    type: str
    target: str
    #: The verb phrase as it was said, read between source and target.
    original: str
    start: int
    end: int
    confidence: float


@dataclass(frozen=True, slots=True)
class Speakers:
    """Who speaks, and to whom; `other` is None unless exactly two are named."""

    speaker: str
    other: str | None = None

    def person(self, word: str) -> str | None:
        """The name behind a pronoun or a possessive."""
        low = word.lower()
        if low in _FIRST:
            return self.speaker or None
        return self.other if low in _SECOND else None


_FIRST = frozenset(("i", "me", "my", "mine", "myself", "we", "us", "our", "ours"))
_SECOND = frozenset(("you", "your", "yours"))

_BE = r"(?:am|is|are|was|were|be|been|being|'m|'s|'re|got|get|gets|’m|’s|’re)"
# (type, whether the phrase says its reverse, pattern); the first that fits counts.
_TYPES: tuple[tuple[str, bool, re.Pattern[str]], ...] = tuple(
    (kind, turned, re.compile(rf"(?:^|\b)(?:{pattern})$", re.I))
    for kind, turned, pattern in (
        (
            "plays_for",
            False,
            r"(?:work(?:s|ed|ing)?(?: as .{0,80})?|intern(?:s|ed|ing)?) (?:at|for)"
            r"|play(?:s|ed|ing)? (?:for|in)|(?:hired|employed) (?:by|at)",
        ),
        ("caused_by", False, r"caused by|due to|because(?: of)?|result(?:s|ed)? from|triggered by"),
        (
            "caused_by",
            True,
            r"caus(?:e|es|ed|ing)|(?:lead|leads|led) to|result(?:s|ed)? in|trigger(?:s|ed)?",
        ),
        (
            "contradicts",
            False,
            r"contradict(?:s|ed|ing)?|(?:conflict|disagree)(?:s|d|ed)? with|refut(?:e|es|ed)"
            r"|disprov(?:e|es|ed)",
        ),
        (
            "supports",
            False,
            r"support(?:s|ed|ing)?|confirm(?:s|ed)?|back(?:s|ed)? up|agree(?:s|d)? with",
        ),
        (
            "part_of",
            False,
            r"(?:part|member|subset|branch) of|belong(?:s|ed)? to|located in"
            rf"|{_BE} (?:in|within|inside)",
        ),
        ("preceded_by", True, r"followed by|preced(?:e|es)"),
        ("preceded_by", False, r"preceded by|follow(?:s|ed)|(?:come|comes|came) after"),
        ("correlated_with", False, r"(?:correlat|associat|link)(?:es|ed)? (?:with|to)"),
        ("mentioned_in", False, r"(?:mentioned|cited|described|quoted) in|appear(?:s|ed)? in"),
    )
)

_OWNER = r"(?P<owner>\b(?:[Mm]y|[Yy]our|[Oo]ur)\b)"
# Its last word is no verb: "our team uses Postgres" gives no role.
_ROLE = r"(?P<role>(?:[a-z][\w-]* ){0,2}[a-z][\w-]*(?:[^\W\ds]|ss))(?<!ed)(?<!ing)"
# "my sister Clara", "Tania's band Velvet Moth": the role stands right before the name.
_OWN_BEFORE = re.compile(rf"{_OWNER} {_ROLE},? \Z")
_NAME_BEFORE = re.compile(rf"['’]s {_ROLE},? \Z")
# "Viktor, my neighbour,": after it.
_OWN_AFTER = re.compile(rf",? (?:is )?{_OWNER} {_ROLE}(?=[,.!;]|$)")
_NO_ROLE = re.compile(
    r"\b(?:and|or|in|on|at|to|of|for|from|with|by|is|was|are|were|has|had|like|about|the|a|an|as"
    r"|own|than|that|called|named|favou?rite|name|when|if|while|because|but|so|then|not|also)\b"
)
_ROLE_CONFIDENCE = 0.85


def typed(
    source: str, phrase: str, target: str, span: tuple[int, int], confidence: float
) -> MentionedRelation:
    """A relation from what was said, turned round where its type reads the other way."""
    for kind, turned, pattern in _TYPES:
        if pattern.search(phrase):
            if turned:
                source, target, phrase = target, source, f"{kind.replace('_', ' ')} ({phrase})"
            return MentionedRelation(source, kind, target, phrase, *span, confidence)
    return MentionedRelation(source, ANY_RELATION, target, phrase, *span, confidence)


def roles(text: str, mentions: Sequence[Mention], who: Speakers) -> Iterator[MentionedRelation]:
    """Who is whose: "my sister Clara", "Clara, my sister", "Tania's band Velvet Moth"."""
    for mention in mentions:
        before = _OWN_BEFORE.search(text, max(0, mention.start - 60), mention.start)
        after = _OWN_AFTER.match(text, mention.end)
        found = before or after
        if found and (owner := who.person(found["owner"])) and not _NO_ROLE.search(found["role"]):
            yield _role(mention, found["role"], owner, found)
    yield from _roles_of_names(text, mentions)


def _roles_of_names(text: str, mentions: Sequence[Mention]) -> Iterator[MentionedRelation]:
    for owner, mention in pairwise(mentions):
        found = _NAME_BEFORE.fullmatch(text, owner.end, mention.start)
        if found and not _NO_ROLE.search(found["role"]):
            yield _role(mention, found["role"], owner.text, found)


def _role(mention: Mention, role: str, owner: str, found: re.Match[str]) -> MentionedRelation:
    start, end = min(found.start(), mention.start), max(found.end(), mention.end)
    original = f"is {role.strip()} of"
    return MentionedRelation(
        mention.text, ANY_RELATION, owner, original, start, end, confidence=_ROLE_CONFIDENCE
    )


def distinct(found: Iterable[MentionedRelation]) -> list[MentionedRelation]:
    """Each claim once, the surest first of its kind; nothing is related to itself."""
    kept: dict[tuple[str, str, str], MentionedRelation] = {}
    for relation in found:
        if relation.source.lower() == relation.target.lower():
            continue
        key = (relation.source, relation.type, relation.target)
        known = kept.get(key)
        if known is None:
            kept[key] = relation
        elif relation.confidence > known.confidence:
            kept[key] = replace(known, confidence=relation.confidence)
    return list(kept.values())
