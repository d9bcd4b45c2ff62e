"""Tell the rule from its condition: "Use tabs in Python" is "Use tabs", "in Python".

A condition says when a rule holds: a clause ("when I ask about history") or a situation ("in
emails", "during reviews") before or after the request. What only limits the rule ("unless I say
so", "if possible") stays with it: as a condition it would match the very opposite. "In French" is
how to answer, not when; the difference is made by what follows the preposition.
"""

from __future__ import annotations

import re

from holdfast.language.instructions import cues

Span = tuple[int, int]

_EDGES = " ,;:.!?"
#: Between two conditions of one rule that do not stand side by side.
JOINT = "; "

# Said of the whole sentence, not of its condition.
_CLOSING = re.compile(
    r"(?<![\s,])(?:[\s,]++(?:from (?:now|here|today|this point) on(?:wards?)?|going forward"
    r"|in (?:the )?future"
    r"|again|any ?more|please|instead|too)){1,6}\W*$"
)
_SHORTEST_RULE = 3  # Characters; a condition cannot begin before the request has.
# No condition but manners of speaking: they stay with the rule.
_LIMIT = re.compile(
    r"(?:unless|only (?:when|if)|instead of|rather than)\b|(?:when(?:ever)?|if|where(?:ver)?) "
    r"(?:at all )?(?:possible|needed|necessary|appropriate|applicable|relevant|you can|useful"
    r"|required)\b(?! by)"
)
_CLAUSE = re.compile(
    r"(?<=\s)(?:when(?:ever)?|if|every (?:single )?time|each time|any ?time|as soon as|in case"
    r"|as long as|before|while|once|unless)\s+(?=\S)"
)
# The clause is what is asked or wished: "check if I ...", "I'd like it if you ...".
_ASKED = re.compile(
    r"\b(?:(?:ask|check|see|know|wonder|say)(?: me)?|(?:appreciate|like|love|prefer|hate|enjoy|help"
    r"|helps|bothers|annoys|great|nice|good|helpful|important)(?: it| me)*|even|only)\s+$"
)
# "before" and "once" open a clause only with a subject or a verb: "the cause before the fix".
_NEEDS_SUBJECT = re.compile(r"(?:before|once)\s+(?!(?:i|we|you|any|each|every|i'm|\w+ing)\b)")
_PREPOSITION = re.compile(r"(?<=\s)(in|for|during|on|at|about|regarding)\s+")
_TIMES = re.compile(r"(?:\w+days|weekends|holidays|vacation|work|night|home|school)\b")
_ANSWER_TO = re.compile(
    r"\b(?:answers?|repl(?:y|ies)|responses?|explanations?|questions?|summar(?:y|ies)|advice)\s+$"
)
_OBJECT_FOR = re.compile(
    r"(?:^|\b(?:ask|asking|check|look|wait|search|apologi[sz]e|apologi[sz]ing|account|aim|go|opt"
    r"|write|thank|sorry))\s+$"
)
_NO_SITUATION = re.compile(
    r"(?:me|you|us|him|her|them|it|now|good|free|short|example|instance|sure|once|ever|granted"
    r"|clarity|emphasis|the|this|that|these|those|a|an|your|general|detail|full|brief|total|mind"
    r"|advance|order|future|turn|addition|between|front|bold|italics|quotes|one|two|three|four"
    r"|five|terms of|capital|block|small|lower|upper|\d\S*)\b"
)
_COMPLEMENT = re.compile(r"(?<!\s)\s++(?:to|from|with|of|that|i|we|you|about|for|and|please)\b")
_DETERMINERS = re.compile(r"(?:(?:all|any|every|each|of|my|our|future)\s+)+")
# How to answer, although it is a plural or a name.
_FORM_WORDS = """
brackets case chunks columns csv degrees format gmt hours millions minutes order parts pdf
percentages person pieces points rows seconds sections stages steps style terms thousands utc xml
"""
_FORMS = frozenset(_FORM_WORDS.split())
_MASS = frozenset({"class", "code", "conversation", "private", "prose", "public", "writing"})
_EVERYTHING = frozenset({"answers", "messages", "output", "replies", "responses"})
_APPLIES = re.compile(
    r"(?:\w+ )?(?:use|avoid|no|add|put|skip|prefer|don't|never|stop|leave|keep)\b"
)


def parts(sentence: str, low: str, at: int, openings: list[Span]) -> tuple[str, str | None]:
    """(rule, condition), verbatim; `low` is the sentence in lower case with quotations blanked.

    `at` is where the request begins, `openings` are the clauses before it.
    """
    conditions = [span for span in openings if not _LIMIT.match(low, span[0])]
    limits = [span[0] for span in openings if _LIMIT.match(low, span[0])]
    end = _condition_start(low, at, sentence)
    if end < len(low):
        closing = _CLOSING.search(low, end)
        conditions.append((end, closing.start() if closing else len(low)))
    rule = sentence[min([at, *limits]) : end].strip(_EDGES)
    found = [sentence[slice(*span)].strip(_EDGES) for span in conditions]
    return rule, JOINT.join(found) or None


def _condition_start(low: str, at: int, sentence: str) -> int:
    """Where the conditions after the request begin, or the end of the sentence."""
    end = _clause_start(low, at)
    limit = low.find(" unless ", at)
    if 0 <= limit < end:
        return len(low)
    return _situation_start(low, at, end, sentence)


def _clause_start(low: str, at: int) -> int:
    for clause in _CLAUSE.finditer(low, at + _SHORTEST_RULE):
        start = clause.start()
        if _LIMIT.match(low, start):
            break
        if _NEEDS_SUBJECT.match(low, start):
            continue
        if clause.group().startswith(("if ", "when ")) and _ASKED.search(low[at:start]):
            continue
        return start
    return len(low)


def _situation_start(low: str, at: int, end: int, sentence: str) -> int:
    for found in _PREPOSITION.finditer(low, at + _SHORTEST_RULE, end):
        start, after = found.span()
        phrase = low[after:end].strip(_EDGES)
        if _is_situation(found[1], low[at:start], phrase, capital=sentence[after].isupper()):
            return start
    return end


def _is_situation(preposition: str, before: str, phrase: str, *, capital: bool) -> bool:
    if preposition == "during":
        return True
    if preposition in ("on", "at"):
        return _TIMES.match(phrase) is not None
    if preposition in ("about", "regarding"):
        return _ANSWER_TO.search(before) is not None
    if not phrase or _NO_SITUATION.match(phrase):
        return False
    if preposition == "for":
        return " " in before.strip() and _OBJECT_FOR.search(before) is None
    return _is_place(before, phrase, capital=capital)


def _is_place(before: str, phrase: str, *, capital: bool) -> bool:
    """Whether "in ..." says where: kinds of text ("emails"), or a name after "use ..."."""
    kind = _DETERMINERS.sub("", phrase)
    noun_phrase = _COMPLEMENT.split(kind)[0]
    words = noun_phrase.split()
    bare = noun_phrase == kind
    if not words or (bare and words[-1] in _EVERYTHING | _FORMS):
        return False
    if words[-1] in _MASS:
        return True
    if words[-1] not in _EVERYTHING and not cues.MANNER.isdisjoint(words):
        return False
    if words[-1].endswith("s") and not words[-1].endswith("ss"):
        return True
    return capital and _APPLIES.match(before) is not None
