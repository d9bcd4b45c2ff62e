"""The standing rules in what a user says, found in any wording, without a model.

A turn is read sentence by sentence. Code, quotations, pasted material (`own_words`) and what others
are said to have said never count: there the user does not speak to the assistant. What is left is
scored by three questions, each a few weights:

    form        is it a request to the assistant ("use ...", "I'd rather you ...", "no ... please")?
    generality  does it hold beyond this turn ("whenever", "when I ask", "emojis", "in French")?
    occasion    does it point at the thing at hand ("this", "below", "tonight", "a poem")?

    score = form + generality - occasion;    a rule from 2.0 upwards

The weights are set by hand: 2 is enough alone, 1 needs a companion. English, and a few cues of
Chinese; the words are in `cues`. Only text of user origin may be passed in: authority comes from
the channel, never from the text. This module knows nothing about roles or storage.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import islice
from typing import Literal, NamedTuple

from holdfast.language.instructions import cues
from holdfast.language.instructions.own_words import Place, all_lines, is_handed, said_by_user
from holdfast.language.lexicon import word_set
from holdfast.language.regex import regex
from holdfast.language.sentences import cut_sentences

# ----------------------------------------------------------------------
# Tell the rule from its condition: "Use tabs in Python" is "Use tabs", "in Python".
#
# A condition says when a rule holds: a clause ("when I ask about history") or a situation ("in
# emails", "during reviews") before or after the request. What only limits the rule ("unless I say
# so", "if possible") stays with it: as a condition it would match the very opposite. "In French"
# is how to answer, not when; the difference is made by what follows the preposition.
# ----------------------------------------------------------------------

Span = tuple[int, int]

_EDGES = " ,;:.!?"
#: Between two conditions of one rule that do not stand side by side.
JOINT = "; "

# Said of the whole sentence, not of its condition.
_CLOSING = regex(
    r"(?<![\s,])(?:[\s,]++(?:from (?:now|here|today|this point) on(?:wards?)?|going forward"
    r"|in (?:the )?future|again|any ?more|please|instead|too)){1,6}\W*$"
)
_SHORTEST_RULE = 3  # Characters; a condition cannot begin before the request has.
# No condition but manners of speaking: they stay with the rule.
_LIMIT = regex(
    r"(?:unless|only (?:when|if)|instead of|rather than)\b|(?:when(?:ever)?|if|where(?:ver)?) "
    r"(?:at all )?(?:possible|needed|necessary|appropriate|applicable|relevant|you can|useful"
    r"|required)\b(?! by)"
)
_CLAUSE = regex(
    r"(?<=\s)(?:when(?:ever)?|if|every (?:single )?time|each time|any ?time|as soon as|in case"
    r"|as long as|before|while|once|unless)\s+(?=\S)"
)
# The clause is what is asked or wished: "check if I ...", "I'd like it if you ...".
_ASKED = regex(
    r"\b(?:(?:ask|check|see|know|wonder|say)(?: me)?|(?:appreciate|like|love|prefer|hate|enjoy|help"
    r"|helps|bothers|annoys|great|nice|good|helpful|important)(?: it| me)*|even|only)\s+$"
)
# "before" and "once" open a clause only with a subject or a verb: "the cause before the fix".
_NEEDS_SUBJECT = regex(r"(?:before|once)\s+(?!(?:i|we|you|any|each|every|i'm|\w+ing)\b)")
_PREPOSITION = regex(r"(?<=\s)(in|for|during|on|at|about|regarding)\s+")
_TIMES = regex(r"(?:\w+days|weekends|holidays|vacation|work|night|home|school)\b")
_ANSWER_TO = regex(
    r"\b(?:answers?|repl(?:y|ies)|responses?|explanations?|questions?|summar(?:y|ies)|advice)\s+$"
)
_OBJECT_FOR = regex(
    r"(?:^|\b(?:ask|asking|check|look|wait|search|apologi[sz]e|apologi[sz]ing|account|aim|go|opt"
    r"|write|thank|sorry))\s+$"
)
_NO_SITUATION = regex(
    r"(?:me|you|us|him|her|them|it|now|good|free|short|example|instance|sure|once|ever|granted"
    r"|clarity|emphasis|the|this|that|these|those|a|an|your|general|detail|full|brief|total|mind"
    r"|advance|order|future|turn|addition|between|front|bold|italics|quotes|one|two|three|four"
    r"|five|terms of|capital|block|small|lower|upper|\d\S*)\b"
)
_COMPLEMENT = regex(r"(?<!\s)\s++(?:to|from|with|of|that|i|we|you|about|for|and|please)\b")
_DETERMINERS = regex(r"(?:(?:all|any|every|each|of|my|our|future)\s+)+")
# How to answer, although it is a plural or a name.
_FORMS = word_set("""
brackets case chunks columns csv degrees format gmt hours millions minutes order parts pdf
percentages person pieces points rows seconds sections stages steps style terms thousands utc xml
""")
_MASS = frozenset({"class", "code", "conversation", "private", "prose", "public", "writing"})
_EVERYTHING = frozenset({"answers", "messages", "output", "replies", "responses"})
_APPLIES = regex(r"(?:\w+ )?(?:use|avoid|no|add|put|skip|prefer|don't|never|stop|leave|keep)\b")


def split_condition(
    sentence: str, low: str, at: int, openings: list[Span]
) -> tuple[str, str | None]:
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


Kind = Literal["rule", "action_grant", "injection"]

#: By hand; tests/language/instructions.jsonl holds it to account.
THRESHOLD = 2.0
_NOTHING: Span = (0, 0)
#: What "the ..." may name in a rule: what is not wanted is a part of any answer.
_KNOWN = cues.MANNER | cues.PARTS | cues.ALL
_FIRM = 2.0  # A condition that alone makes a request general.
_LONGEST_SENTENCE = 600  # Characters; what runs longer is pasted text, not a rule.
# A rule in the middle of a megabyte is no rule: of a long text only both ends are read.
HEAD, TAIL = 16_000, 8_000
_LONG_WORDS = 30  # Rules are short: a longer sentence must be more explicit.

_WORD = regex(r"[a-z][a-z'_-]*")
_FIRST_WORD = regex(r"[a-z]+")


@dataclass(frozen=True, slots=True)
class FoundRule:
    """One instruction in a text; `rule`, `condition` and `sentence` are verbatim parts of it.

    Two conditions that do not stand side by side are joined by `JOINT`.
    """

    kind: Kind
    rule: str
    condition: str | None
    sentence: str
    #: From 0.5, just enough, to 1.
    score: float
    #: It changes an earlier rule ("you can use emojis again"): look for the one it ends.
    replaces: bool = False
    #: Whether the user says it; else it may be part of a text that the turn hands over.
    own: bool = True


def detect(text: str) -> list[FoundRule]:
    """The instructions in a text, in order.

    Pass text of user origin only: authority comes from the channel, never from the text. The same
    words from a tool, a document or the assistant are data, whatever they claim to be.
    """
    return _told_apart(text, _read(text))


class _ReadSentence(NamedTuple):
    #: Where it starts in its text.
    start: int
    verbatim: str
    low: str
    #: What it would give if it were neither an injection nor a grant.
    rule: FoundRule | None
    #: What stands between the openings and the thought that asks.
    asked: Span


def _read(text: str) -> list[_ReadSentence]:
    """The sentences of the user, each with the rule that it may give."""
    read = list[_ReadSentence]()
    for start, said, line in said_by_user(text):
        for begin, end in cut_sentences(line):
            if HEAD <= start + begin < len(text) - TAIL:
                continue
            sentence = said[begin:end].lstrip()
            at, sentence = end - len(sentence), sentence.rstrip()
            if 3 < len(sentence) <= _LONGEST_SENTENCE:
                low = _without_tag_question(line[at : at + len(sentence)])
                rule, asked = _rule_of(sentence, low) if _may_ask(low) else (None, _NOTHING)
                read.append(_ReadSentence(start + at, sentence, low, rule, asked))
    return read


def _told_apart(text: str, read: list[_ReadSentence]) -> list[FoundRule]:
    """The instructions of a text: rules, injections and grants."""
    found: list[FoundRule] = []
    places: list[Place] = []
    for start, sentence, low, rule, asked in read:
        if kind := _no_rule(low):
            found.append(FoundRule(kind, sentence, None, sentence, 1.0))
            places.append(Place(start, low, *_NOTHING))
        elif rule:
            found.append(rule)
            places.append(Place(start, low, *asked))
    if not any(one.kind == "rule" for one in found) or not is_handed(all_lines(text), places):
        return found
    return [replace(one, own=False) for one in found]


def _may_ask(low: str) -> bool:
    """Whether a sentence may give a rule. Most cannot: they begin with no word that opens a request
    and have no second thought, which is told faster than by the patterns of requests."""
    first = _FIRST_WORD.match(low)
    if (first is not None and first[0] in cues.ASKING_WORDS) or not low.isascii():
        return True
    return bool(cues.OPEN_FORM.match(low) or cues.REASONED.search(low))


def _rule_of(sentence: str, low: str) -> tuple[FoundRule | None, Span]:
    """What is asked for in a sentence, and what stands there between the openings and the thought
    that asks for it."""
    if cues.ENDS_ALL.match(low) or cues.ENDS.match(low):
        return FoundRule("rule", sentence, None, sentence, 1.0, replaces=True), _NOTHING
    if not low.isascii() and cues.HAN.search(low):
        return _read_chinese(sentence, low), _NOTHING
    requests = _requests(low)
    if not requests:
        return None, _NOTHING
    scored = [(_score(low, asked), asked) for asked in requests]
    score, asked = max(scored, key=lambda each: each[0])
    if score < THRESHOLD or _is_no_request(low):
        return None, _NOTHING
    rule, condition = split_condition(sentence, low, asked.at, asked.conditions)
    sure = min(1.0, score / (2 * THRESHOLD))
    replaces = cues.REPLACES.search(low) is not None
    return FoundRule("rule", rule, condition, sentence, sure, replaces), (asked.opened, asked.start)


def _is_no_request(low: str) -> bool:
    """Whether a sentence that has the form of a request is a question, told of somebody else, or of
    the user's own life. Asked of the few that have one: most sentences have none."""
    labelled = low.rstrip("_").endswith(":")  # Behind it stands what a speaker says.
    return bool(
        labelled or _is_question(low) or cues.OWN_LIFE.match(low) or cues.REPORTED.search(low)
    )


#: All that stands between words of ASCII becomes a space.
_SPACED = {code: " " for code in range(128) if not re.match(r"\w", chr(code))}


def _no_rule(low: str) -> Kind | None:
    """What a sentence is that one pattern settles to be no rule. Most sentences lack the words that
    a pattern needs, which is told faster than by the pattern."""
    words = low.translate(_SPACED).split() if low.isascii() else None
    if cues.ENDS_ALL.match(low):
        return None  # Of one's own rules one may take back all; that is no attack.
    may_inject = words is None or not cues.INJECTION_WORDS.isdisjoint(words)
    if (may_inject or "<" in low or "[" in low) and cues.INJECTION.search(low):
        return "injection"
    if (words is None or not cues.GRANTING_WORDS.isdisjoint(words)) and _is_grant(low):
        return "action_grant"
    return None


def _is_grant(low: str) -> bool:
    if low.endswith("?"):
        return False
    if cues.GRANT.search(low) or cues.GRANTED.search(low):
        return True
    return bool(cues.UNASKED.search(low) and cues.ACTS.search(low))


def _without_tag_question(low: str) -> str:
    """Without the question mark of "..., ok?": what is asked for is not asked."""
    tag = cues.TAG.search(low) if low.endswith("?") else None
    return low[: tag.start()] + "." * (len(low) - tag.start()) if tag else low


def _is_question(low: str) -> bool:
    return low.endswith("?") and bool(cues.ASKS.match(low) or not cues.REQUEST.search(low))


def _score(low: str, asked: _AskedFor) -> float:
    weight = asked.weight
    if asked.form > 0 and asked.start > asked.opened and cues.PERSONAL.match(low):
        # "I'm dyslexic, so ...": a lasting reason.
        weight += 1.5 if cues.REMINDS.match(low) else 1.0
    elif asked.form > 0 and cues.SINCE.search(low, asked.at):
        weight += 1.0
    if tail := cues.TAIL.search(low, asked.at + 3):
        weight += _condition_weight(low[tail.start() :])
    general = bool(
        cues.GENERAL.search(low, asked.start) or cues.GENERAL.search(low, 0, asked.opened)
    )
    if asked.form < 0 and weight < _FIRM and not general:
        return 0.0  # "Could you ...?" is about now, unless it says otherwise.
    occasion = _occasion(low, asked, weight, general)
    return asked.form + weight + _generality(low, asked.at, general) - occasion


class _AskedFor(NamedTuple):
    """What is asked for: its form, where it begins, and what stands before it."""

    form: float
    at: int
    #: Where the first thought of the sentence begins, behind its openings.
    opened: int
    #: Where the thought begins that asks: the same place, or further on.
    start: int
    conditions: list[Span]
    #: How general its openings are.
    weight: float


def _requests(low: str) -> list[_AskedFor]:
    """What may be a request in the sentence: its first thought, and each that follows."""
    found = list[_AskedFor]()
    start, conditions, weight = _openings(low, 0)
    firm = weight >= _FIRM or (start > 0 and cues.FROM_NOW.search(low, 0, start) is not None)
    form = _first_form(low, start, firm=firm, when=max(weight, float(firm)))
    if form is not None:
        found.append(_AskedFor(form, start, start, start, conditions, weight))
    reason = cues.PERSONAL.match(low) is not None
    for turn in (cues.REASONED if reason else cues.TURNS).finditer(low, start):
        at, more, also = _openings(low, turn.end())
        form = _first_form(low, at, firm=reason or also >= _FIRM, when=also)
        if form is not None:
            both = [*conditions, *more]
            found.append(_AskedFor(form, at, start, turn.end(), both, weight + also))
    return found


def _openings(low: str, at: int) -> tuple[int, list[Span], float]:
    """Where the request starts, the spans of its conditions, and how general its openings are."""
    weight = 0.0
    conditions: list[Span] = []
    for _ in range(4):
        first = _FIRST_WORD.match(low, at)
        if first is None or first[0] not in cues.OPENING_WORDS:
            break
        if filler := cues.FILLER.match(low, at):
            at = filler.end()
        if onward := cues.ONWARD.match(low, at):
            at = onward.end()
        elif reason := cues.REASON.match(low, at):
            at = reason.end()
            weight += 1
        elif clause := cues.CONDITION.match(low, at):
            span = clause.span(clause.lastindex or 0)
            weight += _condition_weight(low[slice(*span)])
            conditions.append(span)
            at = clause.end()
        else:
            break
    return at, conditions, weight


def _condition_weight(clause: str) -> float:
    if cues.ONCE_WHEN.match(clause):
        return -2.0
    if cues.STRONG_WHEN.match(clause):
        return 2.0
    return 1.0 if cues.WEAK_WHEN.match(clause) else 0.0


def _first_form(low: str, at: int, *, firm: bool, when: float) -> float | None:
    """The form of what stands here; behind a firm condition any verb is a request."""
    form = _form(low, at)
    if form is None and when >= 1 and cues.WANTS.match(low, at):
        return 1.0
    if form is not None or not firm:
        return form
    if cues.AGREED.match(low, at):
        return 1.0  # "When I say go, you start", "if I say quick I mean one word".
    return 0.5 if cues.ANY_VERB.match(low, at) else None


def _form(low: str, at: int) -> float | None:
    first = _FIRST_WORD.match(low, at)
    if (first is None or first[0] not in cues.FORM_WORDS) and not cues.OPEN_FORM.match(low, at):
        return None  # Most have none, which is told faster than by all forms.
    found = cues.FORM.match(low, at)
    return cues.FORM_WEIGHTS[found.lastindex or 0] if found else None


def _generality(low: str, at: int, general: bool) -> float:
    words = _WORD.findall(low)
    manner = 1.0 if not (cues.MANNER.isdisjoint(words) and cues.ALL.isdisjoint(words)) else 0.0
    classes = 1.0 if cues.CLASSES.search(low, at) or cues.LIMITS.search(low, at) else 0.0
    plural = 0.5 if cues.PLURAL.search(low, at) else 0.0
    if cues.NEGATES.match(low, at) and cues.MINE.search(low, at):
        plural = 0.5
    if cues.BARE.match(low, at):
        plural = max(plural, 1.0 - manner / 2)
    return 2.0 * general + manner + classes + plural - (1.5 if len(words) > _LONG_WORDS else 0.0)


def _occasion(low: str, asked: _AskedFor, condition: float, general: bool) -> float:
    """How much points at the thing at hand; under a condition, less of it counts."""
    at, bound = asked.at, condition >= 1
    end = reason.start() if (reason := cues.WHY.search(low, at)) else len(low)
    at_hand = cues.AT_HAND.search(low, at, end) is not None
    known = _KNOWN if cues.NEGATES.match(low, at) else cues.MANNER
    definite = any(m[1] not in known for m in cues.DEFINITE.finditer(low, at, end))
    made = 0.0
    if not bound and cues.MAKES.match(low, at):
        made = 3.0
    elif not bound and not general and cues.ORDERS.match(low, at):
        made = 2.0 if cues.SHOWS.match(low, at) else 1.0 if cues.ONE.match(low, at) else 0.0
    if condition >= _FIRM or asked.form >= _FIRM:
        return at_hand * (1.0 if bound else 2.0) + made  # One thing may be named in it.
    return at_hand * (1.0 if bound else 2.0) + definite * (0.5 if bound else 1.0) + made


def _read_chinese(sentence: str, low: str) -> FoundRule | None:
    if cues.HAN_LIFE.search(low) or not (cues.HAN_RULE.search(low) and cues.HAN_ASK.search(low)):
        return None
    when = cues.HAN_WHEN.search(low)
    rule = sentence[when.end() :] if when and when.start() < 4 else sentence
    return FoundRule(
        "rule",
        rule.strip(" ,，。！!"),
        sentence[slice(*when.span())] if when else None,
        sentence,
        0.75,
        bool(cues.HAN_REPLACES.search(low)),
    )


#: Of one text: nobody follows more that were given at once, and each is compared with those known.
MOST_RULES = 100
_ID_BYTES = 16
_LONGEST_CONDITION = 600

# The scaffolding of a condition, in the order in which it is taken off; closed classes only.
_CONJUNCTION = regex(
    r"(?:when(?:ever)?|if|every (?:single )?time|each time|any ?time|as soon as|as long as|in case"
    r"|next time|once|before|after|while|during|for|in|on|at|with|about|regarding)\s+",
    re.I,
)
_SUBJECT = regex(
    r"(?:(?:i|we|you)(?:['\u2019](?:m|re|ve|d)| am| are| have| would)?"
    r"|(?:the|my|our) (?:topic|subject|question|conversation|message|request|discussion)"
    r"(?: is| has| turns| moves| comes| goes| concerns)?(?: about| to| on)?"
    r"|(?:it|there|that|this|he|she|they)(?:['\u2019](?:s|re)| is| are| comes to)|it|there)\s+",
    re.I,
)
_MODIFIER = regex(
    r"\A(?:(?:\w+ly|just|also|ever|again|now|do|want(?: you)? to|need(?: you)? to"
    r"|(?:would )?like to|start to|begin to|happen to)\s+)+",
    re.I,
)
# Verbs of speaking and giving: what they bring up is the topic.
_SPEAKING = regex(
    r"(?:(?:ask|mention|talk|discuss|speak|answer)(?:s|ed|ing)?|bring(?:s|ing)? up|request|say|tell"
    r"|paste|send|share|write|want|need|post|upload|type|give|show|raise|chat|hear)\b\s*"
    r"(?:(?:you|me|us)\b\s*)?",
    re.I,
)
_WANTED = regex(
    r"\A(?:(?:a|an|any|some|the|my|your|more|for)\s+)*"
    r"(?:questions?|help|advice|opinions?|something|anything|details|information|thoughts)\b\s*",
    re.I,
)
_LINK = regex(r"(?:about|on|for|with|regarding|of|to|in|into|upon|up|that)\s+", re.I)
_DETERMINER = regex(r"(?:(?:a|an|the|my|our|your|any|all|every|each|some|of)\s+)+", re.I)
_ENDING = regex(
    r"(?<!\s)\s++(?:(?:comes?|pops?) up|(?:is|are|gets?) (?:mentioned|involved|discussed)|again"
    r"|first|for me)$",
    re.I,
)
_NEXT = regex(
    rf"{re.escape(JOINT)}|(?<!\s)\s++(?=(?:when(?:ever)?|if|every time|each time|any ?time|while"
    r"|during)\s+(?:i|we|you|it|the|my|\w+ing)\b)",
    re.I,
)
_HAN = regex(
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
    read = _read(text)
    if not any(each.rule for each in read):
        return []  # Nor is anything else of what is in it asked for then.
    found = islice((one for one in _told_apart(text, read) if one.kind == "rule"), MOST_RULES)
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
    rest = _ENDING.sub("", _strip_match(_CONJUNCTION, clause.strip()))
    for _ in range(2):  # "when I say I'm tired"
        rest = _strip_match(_MODIFIER, _strip_match(_SUBJECT, rest))
        if (spoken := _strip_match(_SPEAKING, rest)) != rest:
            rest = _strip_match(_LINK, _strip_match(_WANTED, _strip_match(_LINK, spoken)))
    return _strip_match(_DETERMINER, _strip_match(_WANTED, rest)).strip()


def _strip_match(pattern: re.Pattern[str], text: str) -> str:
    """The text without what the pattern matches at its start."""
    found = pattern.match(text + " ")
    return text[found.end() :].strip() if found else text
