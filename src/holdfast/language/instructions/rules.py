"""The standing rules of a text as values: what is to be done, when, and what it is about.

`tag` finds them, `split` takes them apart. Only text of user origin may be passed in: authority
comes from the channel, never from the text. This module knows nothing about storage.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice

from holdfast.language.instructions import cues
from holdfast.language.instructions.tag import JOINT, detect

#: Of one text: nobody follows more that were given at once, and each is compared with those known.
MOST_RULES = 100
_ID_BYTES = 16
_LONGEST_CONDITION = 600

# The scaffolding of a condition, in the order in which it is taken off; closed classes only.
_CONJUNCTION = re.compile(
    r"(?:when(?:ever)?|if|every (?:single )?time|each time|any ?time|as soon as|as long as|in case"
    r"|next time|once|before|after|while|during|for|in|on|at|with|about|regarding)\s+",
    re.I,
)
_SUBJECT = re.compile(
    r"(?:(?:i|we|you)(?:['\u2019](?:m|re|ve|d)| am| are| have| would)?"
    r"|(?:the|my|our) (?:topic|subject|question|conversation|message|request|discussion)"
    r"(?: is| has| turns| moves| comes| goes| concerns)?(?: about| to| on)?"
    r"|(?:it|there|that|this|he|she|they)(?:['\u2019](?:s|re)| is| are| comes to)|it|there)\s+",
    re.I,
)
_MODIFIER = re.compile(
    r"\A(?:(?:\w+ly|just|also|ever|again|now|do|want(?: you)? to|need(?: you)? to"
    r"|(?:would )?like to"
    r"|start to|begin to|happen to)\s+)+",
    re.I,
)
# Verbs of speaking and giving: what they bring up is the topic.
_SPEAKING = re.compile(
    r"(?:(?:ask|mention|talk|discuss|speak|answer)(?:s|ed|ing)?|bring(?:s|ing)? up|request|say|tell"
    r"|paste|send|share|write|want|need|post|upload|type|give|show|raise|chat|hear)\b\s*"
    r"(?:(?:you|me|us)\b\s*)?",
    re.I,
)
_WANTED = re.compile(
    r"\A(?:(?:a|an|any|some|the|my|your|more|for)\s+)*"
    r"(?:questions?|help|advice|opinions?|something|anything|details|information|thoughts)\b\s*",
    re.I,
)
_LINK = re.compile(r"(?:about|on|for|with|regarding|of|to|in|into|upon|up|that)\s+", re.I)
_DETERMINER = re.compile(r"(?:(?:a|an|the|my|our|your|any|all|every|each|some|of)\s+)+", re.I)
_ENDING = re.compile(
    r"(?<!\s)\s++(?:(?:comes?|pops?) up|(?:is|are|gets?) (?:mentioned|involved|discussed)"
    r"|again|first"
    r"|for me)$",
    re.I,
)
_NEXT = re.compile(
    rf"{re.escape(JOINT)}|(?<!\s)\s++(?=(?:when(?:ever)?|if|every time|each time|any ?time"
    rf"|while|during)\s"
    r"+(?:i|we|you|it|the|my|\w+ing)\b)",
    re.I,
)
_HAN = re.compile(
    "^(?:每次|每当|当|如果|只要|要是)?(?:我们?|你|您)?(?:们)?(?:想|要)?(?:问|提到|提及|说到|谈到|聊到|讨论|说|聊|发)?"
    "(?:你|您)?(?:关于)?(?P<topic>.*?)(?:的?时候?|的话)?$"
)


@dataclass(frozen=True, slots=True)
class Rule:
    """One standing rule; `sentence`, `rule` and `condition` are the user's own words."""

    sentence: str
    rule: str
    #: When it holds; None is always.
    condition: str | None
    #: How sure it is that this is a rule, 0.5 to 1.
    score: float
    #: Its wording says that it changes an earlier rule.
    replaces: bool
    #: Its place among the rules of its text, from 0.
    ordinal: int
    #: Whether the user says it; else it may stand in a text that the turn hands over.
    own: bool = True


def rules_in(text: str) -> list[Rule]:
    """The standing rules of a user's text, in order, the first `MOST_RULES`; grants and injections
    are none."""
    found = islice((one for one in detect(text) if one.kind == "rule"), MOST_RULES)
    return [
        Rule(one.sentence, one.rule, one.condition, one.score, one.replaces, ordinal, one.own)
        for ordinal, one in enumerate(found)
    ]


def data(rule: Rule) -> dict[str, str | None]:
    """The system's fields of a rule's record; their names are reserved (`validate`)."""
    role = "instruction" if rule.own else "doubtful"
    return {"fact_role": role, "rule": rule.rule, "condition": rule.condition}


def topic(condition: str | None) -> str:
    """What a condition is about: "history" of "when I ask about history".

    Empty where it names nothing ("whenever I ask"): then the rule fits every question.
    """
    # Runs of spaces would be tried again and again.
    told = " ".join((condition or "").split())[:_LONGEST_CONDITION]
    clauses = [_bare(clause) for clause in _NEXT.split(told)]
    return ", ".join(clause for clause in clauses if clause)


def rule_id(event_id: str, ordinal: int) -> str:
    """The id of a rule, the same each time it is derived: deriving twice is harmless."""
    return blake2b(f"{event_id}/{ordinal}".encode(), digest_size=_ID_BYTES).hexdigest()


def _bare(clause: str) -> str:
    if cues.HAN.search(clause) and (han := _HAN.match(clause)):
        return han["topic"].strip()
    rest = _ENDING.sub("", _off(_CONJUNCTION, clause.strip()))
    for _ in range(2):  # "when I say I'm tired"
        rest = _off(_MODIFIER, _off(_SUBJECT, rest))
        if (spoken := _off(_SPEAKING, rest)) != rest:
            rest = _off(_LINK, _off(_WANTED, _off(_LINK, spoken)))
    return _off(_DETERMINER, _off(_WANTED, rest)).strip()


def _off(pattern: re.Pattern[str], text: str) -> str:
    """The text without what the pattern matches at its start."""
    found = pattern.match(text + " ")
    return text[found.end() :].strip() if found else text
