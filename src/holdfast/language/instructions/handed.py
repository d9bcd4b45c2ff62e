"""Whether a turn hands over a text that somebody else wrote, so that a rule in it may be theirs.

Whoever shows a text says so around it. What stands beside a rule is asked three questions:

    work    is something to be done with a text ("Translate to French.", "Which is clearer?")?
    source  is it told where a text comes from ("got this from the bank", "the poster says")?
    voice   does somebody else speak, or is spoken to ("Dear Ms Albrecht", "guests must ...")?

    doubt = the sum of what was found;    from 2.0 upwards the rule is not taken for the user's

One clear sign is enough, two faint ones are. What is not plainly the user's own talk is a faint
sign itself: in doubt it is asked back, and a rule can be said again. What is said of texts to come
counts for nothing ("when I forward you a mail, ..."). The words are in `frames`. This module knows
nothing about rules but where they stand.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from holdfast.language.instructions import frames
from holdfast.language.instructions.own_words import shown

#: From here on a rule is not taken for the user's own.
DOUBT = 2.0
CLEAR, FAINT = 2.0, 1.0
_FEW_WORDS, _MANY_WORDS = 3, 6
#: Of the words of an English sentence, how many are of the commonest.
_LEAST_ENGLISH = 0.15

# Whoever hands over a long text says so at one of its ends.
_HEAD, _TAIL = 4_000, 4_000
_AT_A_TEXT = re.compile(
    r"\b(?:sent(?: me| us)?|wrote|gave (?:me|us)|(?<!you )(?<!we )(?<!'ve )got|found|is|does|was"
    r"|about|saw|like) this\b(?! (?:is|week|year)\b)"
)
_LONGEST = 600  # Characters of a sentence that are looked at.

_END = re.compile(r"(?<=[.!?…])['\")\]]*\s+|\n+|(?<=[。！？；])")


class Place(NamedTuple):
    """A sentence with a request: where it begins, in lower case; where in it the openings end
    ("when I ask, ..."), and where the thought begins that holds the request."""

    start: int
    sentence: str
    opened: int
    asked: int


def is_handed(lines: Iterable[tuple[int, str]], rules: Sequence[Place]) -> bool:
    """Whether a turn with these lines (where each starts; in lower case, quotations blanked) hands
    over a text, so that the rules in it are in doubt."""
    total = sum(_opening(each.sentence[: each.opened]) for each in rules)
    total += sum(_frame(each.sentence[each.opened : each.asked]) for each in rules)
    total += sum(_announced(each.sentence) for each in rules)
    if total >= DOUBT:
        return True
    others = list(_others(list(lines), rules))
    if others or len(rules) > 1:
        total += sum(_asked_now(each.sentence) for each in rules)
    if others:
        total += sum(_voiced(each.sentence) for each in rules)
    for sentence in others:
        if total >= DOUBT:
            return True
        total += _beside(sentence)
    return total >= DOUBT


def _others(lines: Sequence[tuple[int, str]], rules: Sequence[Place]) -> Iterator[str]:
    """The sentences beside the rules, at both ends of a long turn."""
    size = lines[-1][0] + len(lines[-1][1])
    starts = [each.start for each in rules]
    for at, sentence in _sentences(lines):
        if _HEAD <= at < size - _TAIL:
            continue
        before = bisect_left(starts, at + len(sentence)) - 1
        if before < 0 or at >= starts[before] + len(rules[before].sentence):
            yield sentence[:_LONGEST]


def _announced(sentence: str) -> float:
    """The same of a request that follows a colon in its sentence: "Check my homework: ..."."""
    head, colon, _ = sentence.partition(": ")
    is_work = colon and frames.ACTS.match(head) and not frames.LASTING.search(head)
    return CLEAR if is_work else 0.0


def _asked_now(sentence: str) -> float:
    """The same of a request among other sentences, which may be work to be done on them."""
    return CLEAR if frames.WORK.match(sentence) and not frames.LASTING.search(sentence) else 0.0


def _voiced(sentence: str) -> float:
    """The same of whom a request is for: how to wash a mug is no matter of an assistant's."""
    is_talk = frames.TALKS.search(sentence) or not frames.TALK_WORDS.isdisjoint(
        frames.WORD.findall(sentence)
    )
    return FAINT if not is_talk or frames.OTHER_PEOPLE.search(sentence) else 0.0


def _beside(sentence: str) -> float:
    """How much a sentence beside a rule says that a text of another is there."""
    told = frames.TO_COME.sub(" ", sentence).strip()
    if _points(told) or frames.VOICE.search(told) or frames.HERE.search(told) or _is_foreign(told):
        return CLEAR
    if told.endswith("?") or frames.WONDERS.match(told):
        return FAINT if frames.ASKED_OF.search(told) else 0.0
    if (acts := frames.ACTS.search(told)) and not frames.NEW.match(told[acts.start() :]):
        return CLEAR
    is_own = frames.OWN.search(told) or told.count(" ") < _FEW_WORDS
    return 0.0 if is_own and not frames.TEXT.search(told) else FAINT


def _opening(before: str) -> float:
    """The same of what opens a request: "On the poster in the lift: ..."."""
    return CLEAR if _points(frames.TO_COME.sub(" ", before).strip()) else 0.0


def _frame(before: str) -> float:
    """The same of what stands before a request in its sentence: a reason of the user's ("I'm
    dyslexic, so ..."), or who says it."""
    told = frames.TO_COME.sub(" ", before).strip(" ,;-")
    head, colon, _ = told.partition(":")
    if frames.LABEL.match(head) or (not colon and told.count(" ") < _FEW_WORDS):
        return 0.0
    if _points(told) or frames.HERE.search(told):
        return CLEAR
    return 0.0 if (frames.ASKS_SELF if colon else frames.SELF).match(head) else CLEAR


def _is_foreign(told: str) -> bool:
    """Whether a sentence is in another language than English: around an English rule, or beside."""
    words = told.count(" ") + 1
    return words >= _MANY_WORDS and len(frames.ENGLISH.findall(told)) < words * _LEAST_ENGLISH


def _points(told: str) -> bool:
    return bool(frames.WORK.search(told) or frames.ABOUT.search(told) or frames.SOURCE.search(told))


def _sentences(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    for at, line in lines:
        start = 0
        for end in _END.finditer(line):
            if end.start() > start:
                yield at + start, line[start : end.start()]
            start = end.end()
        if line[start:].strip():
            yield at + start, line[start:]


def shows(text: str) -> bool:
    """Whether a turn surely hands over a text: who speaks of themselves in it need not be the user.
    Stricter than `is_handed`, which is asked only where there is a rule."""
    return any(_surely(sentence[:_LONGEST]) for _, sentence in _sentences(shown(text)))


def _surely(sentence: str) -> bool:
    told = frames.TO_COME.sub(" ", sentence).strip()
    if _AT_A_TEXT.search(told) and (frames.ABOUT.search(told) or frames.SOURCE.search(told)):
        return True
    if told.count(" ") > _MANY_WORDS * 2:
        return False
    if frames.SIGNED.search(told) or frames.ABOUT_TEXT.search(told):
        return True
    return bool(frames.WORK.match(told) and not frames.LASTING.search(told))
