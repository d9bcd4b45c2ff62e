"""Find the standing rules in what a user says, in any wording, without a model.

A turn is read sentence by sentence. Code, quotations, pasted material (`spoken`) and what others
are said to have said never count: there the user does not speak to the assistant. What is left is
scored by three questions, each a few weights:

    form        is it a request to the assistant ("use ...", "I'd rather you ...", "no ... please")?
    generality  does it hold beyond this turn ("whenever", "when I ask", "emojis", "in French")?
    occasion    does it point at the thing at hand ("this", "below", "tonight", "a poem")?

    score = form + generality - occasion;    a rule from 2.0 upwards

The weights are set by hand: 2 is enough alone, 1 needs a companion. English, and a few cues of
Chinese; the words are in `cues`. This module knows nothing about roles or storage.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from recollect.write import cues
from recollect.write.split import Span, parts
from recollect.write.spoken import spoken

Kind = Literal["rule", "action_grant", "injection"]

THRESHOLD = 2.0
_LONGEST_SENTENCE = 600  # Characters; what runs longer is pasted text, not a rule.
# A rule in the middle of a megabyte is no rule: of a long text only both ends are read.
HEAD, TAIL = 16_000, 8_000
_LONG_WORDS = 30  # Rules are short: a longer sentence must be more explicit.

_END = re.compile(r"(?<=[.!?])['\")\]]*\s+|(?<=[。！？；])")
_ABBREVIATED = re.compile(r"\b(?:dr|mr|mrs|ms|prof|st|vs|e\.g|i\.e|etc|[a-z])\.$", re.I)
_WORD = re.compile(r"[a-z][a-z'_-]*")


@dataclass(frozen=True, slots=True)
class Found:
    """One instruction in a text; `rule`, `condition` and `sentence` are verbatim parts of it.

    Two conditions that do not stand side by side are joined by `split.JOINT`.
    """

    kind: Kind
    rule: str
    condition: str | None
    sentence: str
    #: From 0.5, just enough, to 1.
    score: float
    #: It changes an earlier rule ("you can use emojis again"): look for the one it ends.
    replaces: bool = False


def detect(text: str) -> list[Found]:
    """The instructions in a text, in order.

    Pass text of user origin only: authority comes from the channel, never from the text. The same
    words from a tool, a document or the assistant are data, whatever they claim to be.
    """
    found = (_read(sentence, low) for sentence, low in _sentences(text))
    return [one for one in found if one]


def _sentences(text: str) -> Iterator[tuple[str, str]]:
    for start, said, low in spoken(text):
        for at, sentence, plain in _split(said, low):
            if start + at < HEAD or start + at >= len(text) - TAIL:
                yield sentence, plain


def _split(said: str, low: str) -> Iterator[tuple[int, str, str]]:
    """The sentences of what is said: where each starts, verbatim and plain."""
    start = 0
    for end in _END.finditer(low):
        if not _ABBREVIATED.search(low[max(start, end.start() - 6) : end.start()]):
            yield start, *_trimmed(said, low, start, end.start())
            start = end.end()
    yield start, *_trimmed(said, low, start, len(said))


def _trimmed(line: str, low: str, start: int, end: int) -> tuple[str, str]:
    start += len(line[start:end]) - len(line[start:end].lstrip())
    sentence = line[start:end].rstrip()
    return sentence, low[start : start + len(sentence)]


def _read(sentence: str, low: str) -> Found | None:
    if not 3 < len(sentence) <= _LONGEST_SENTENCE:
        return None
    if kind := _whole(low):
        return Found(kind, sentence, None, sentence, 1.0, replaces=kind == "rule")
    if cues.HAN.search(low):
        return _read_chinese(sentence, low)
    if _is_question(low) or cues.OWN_LIFE.match(low) or cues.REPORTED.search(low):
        return None
    return _scored(sentence, low)


def _whole(low: str) -> Kind | None:
    """The kind of a sentence that one pattern settles; as a rule, it ends an earlier one."""
    if cues.ENDS_ALL.match(low):
        return "rule"  # Of one's own rules one may take back all; that is no attack.
    if any(hint in low for hint in cues.INJECTION_HINTS) and cues.INJECTION.search(low):
        return "injection"
    if _is_grant(low):
        return "action_grant"
    return "rule" if cues.ENDS.match(low) else None


def _is_grant(low: str) -> bool:
    if low.endswith("?"):
        return False
    if cues.GRANT.search(low) or cues.GRANTED.search(low):
        return True
    return bool(cues.UNASKED.search(low) and cues.ACTS.search(low))


def _is_question(low: str) -> bool:
    return low.endswith("?") and bool(cues.ASKS.match(low) or not cues.REQUEST.search(low))


def _scored(sentence: str, low: str) -> Found | None:
    start, conditions, weight = _openings(low)
    form, at = _best_form(low, start, firm=weight >= 2)
    if form is None:
        return None
    if at > start and cues.PERSONAL.match(low):
        weight += 0.5  # "I'm dyslexic, so ...": a lasting reason.
    if tail := cues.TAIL.search(low, at + 3):
        weight += _condition_weight(low[tail.start() :])
    if form < 0 and weight < 2 and not cues.GENERAL.search(low):
        return None  # "Could you ...?" is about now, unless it says otherwise.
    score = form + weight + _generality(low, at) - _occasion(low, at, weight)
    if score < THRESHOLD:
        return None
    rule, condition = parts(sentence, low, at, conditions)
    replaces = cues.REPLACES.search(low) is not None
    return Found("rule", rule, condition, sentence, min(1.0, score / (2 * THRESHOLD)), replaces)


def _openings(low: str) -> tuple[int, list[Span], float]:
    """Where the request starts, the spans of its conditions, and how general its openings are."""
    at, weight = 0, 0.0
    conditions: list[Span] = []
    for _ in range(4):
        if filler := cues.FILLER.match(low, at):
            at = filler.end()
        if onward := cues.ONWARD.match(low, at):
            at = onward.end()
        elif reason := cues.REASON.match(low, at):
            at = reason.end()
            weight += 1
        elif clause := cues.CONDITION.match(low, at):
            span = clause.span(1) if clause[1] else clause.span(2)
            weight += _condition_weight(low[slice(*span)])
            conditions.append(span)
            at = clause.end()
        else:
            break
    return at, conditions, weight


def _condition_weight(clause: str) -> float:
    if cues.ONCE_WHEN.match(clause):
        return -1.5
    if cues.STRONG_WHEN.match(clause):
        return 2.0
    return 1.0 if cues.WEAK_WHEN.match(clause) else 0.0


def _best_form(low: str, start: int, *, firm: bool) -> tuple[float | None, int]:
    """The strongest request in the sentence and where it begins; None where there is none."""
    best, best_at = _form(low, start), start
    reason = cues.PERSONAL.match(low) is not None
    if best is None and firm and cues.ANY_VERB.match(low, start):
        best = 0.5  # After "whenever I ask ..." any verb is a request.
    if best is None and firm and low.startswith("i mean ", start):
        best = 1.0
    for turn in cues.TURNS.finditer(low, start):
        form = _form(low, turn.end())
        if form is not None and (best is None or form > best or (reason and form == best)):
            best, best_at = form, turn.end()
    return best, best_at


def _form(low: str, at: int) -> float | None:
    for weight, pattern in cues.FORMS:
        if pattern.match(low, at):
            return weight
    return None


def _generality(low: str, at: int) -> float:
    words = _WORD.findall(low)
    general = 2.0 if cues.GENERAL.search(low) else 0.0
    manner = 1.0 if not cues.MANNER.isdisjoint(words) else 0.0
    classes = 1.0 if cues.CLASSES.search(low, at) else 0.0
    plural = 0.5 if cues.PLURAL.search(low, at) else 0.0
    return general + manner + classes + plural - (1.5 if len(words) > _LONG_WORDS else 0.0)


def _occasion(low: str, at: int, condition: float) -> float:
    """How much points at the thing at hand; under a condition, less of it counts."""
    bound = condition >= 1
    at_hand = cues.AT_HAND.search(low, at) is not None
    definite = any(m[1] not in cues.MANNER for m in cues.DEFINITE.finditer(low, at))
    made = 0.0
    if not bound and cues.MAKES.match(low, at):
        made = 3.0
    elif not bound and not cues.GENERAL.search(low):
        made = 2.0 if cues.SHOWS.match(low, at) else 1.0 if cues.ONE.match(low, at) else 0.0
    return at_hand * (1.0 if bound else 2.0) + definite * (0.5 if bound else 1.0) + made


def _read_chinese(sentence: str, low: str) -> Found | None:
    if cues.HAN_LIFE.search(low) or not (cues.HAN_RULE.search(low) and cues.HAN_ASK.search(low)):
        return None
    when = cues.HAN_WHEN.search(low)
    rule = sentence[when.end() :] if when and when.start() < 4 else sentence
    return Found(
        "rule",
        rule.strip(" ,，。！!"),
        sentence[slice(*when.span())] if when else None,
        sentence,
        0.75,
        bool(cues.HAN_REPLACES.search(low)),
    )
