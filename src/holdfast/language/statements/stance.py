"""What a speaker likes, dislikes and has decided, told by the words that say so.

Only plain statements of the speaker count: a question, a wish ("I'd love to") or somebody else's
taste is none. The texts are verbatim parts of the turn.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from holdfast.language.sentences import STOPS


@dataclass(frozen=True, slots=True)
class Preference:
    """What somebody likes or dislikes."""

    holder: str
    #: What it is about, verbatim.
    target: str
    likes: bool
    #: The clause that says so, and where it stands.
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Decision:
    """What somebody has decided."""

    holder: str
    text: str
    start: int
    end: int


_SENTENCE = re.compile(rf"[^{STOPS}\n]+[{STOPS}]?")
_ADVERB = (
    r"(?:(?:really|absolutely|truly|always|totally|also|just|still|actually|definitely|much|so"
    r"|usually|generally|mostly|particularly|especially|kinda|simply|do|even) )*"
)
# What ends the object of a taste: the next clause.
_TARGET = (
    r"(?P<target>(?!(?:it|that|this|them|you|him|her|how|what|when|your|is|are|was|to see|to hear"
    rf"|to say|to think|hearing|seeing that)\b)[^{STOPS},;:\n–—()]{{2,80}}?)"
    rf"(?=\s*(?:[{STOPS},;:\n–—()]|\s-\s|\s(?:because|since|but|so|and (?:I|it|we|he|she|they)|when"
    r"|as it|which|although|though|while|even)\b|$))"
)
_I = r"(?:^|(?<=[\s\"“(]))(?:I|we)"
_LIKES = re.compile(
    rf"{_I} (?:{_ADVERB}(?:love|like|enjoy|adore|prefer|appreciate|favou?r)|am {_ADVERB}(?:fond of"
    rf"|a (?:big |huge )?fan of|into|passionate about|crazy about|keen on)) {_TARGET}"
    rf"|(?:^|\bI)['’]m {_ADVERB}(?:fond of|a (?:big |huge )?fan of|passionate about|crazy about"
    rf"|keen on|really into) {_TARGET.replace('target', 'being')}",
    re.I,
)
_DISLIKES = re.compile(
    rf"{_I} (?:{_ADVERB}(?:hate|dislike|loathe|detest|can['’]?t stand|cannot stand|can['’]?t bear"
    r"|avoid)|(?:really )?(?:don['’]t|do not|never|didn['’]t) (?:really |much )?(?:like|enjoy|care"
    rf" for|love|eat|drink)) {_TARGET}"
    rf"|\bI(?: am|['’]m) (?:not (?:a (?:big |huge )?fan of|into|keen on|fond of)|allergic to|sick"
    rf" of|tired of) {_TARGET.replace('target', 'being')}",
    re.I,
)
_FAVOURITE = re.compile(
    r"\b[Mm]y (?:all-time )?(?P<what>favou?rite [\w -]{2,40}?) (?:is|are|has to be|was) "
    rf"(?P<target>(?!when\b|how\b|that\b)[^{STOPS},;\n]{{2,60}})"
)
_WISH = re.compile(r"\b(?:would|['’]d|if|wish)\b", re.I)
_DECIDES = re.compile(
    r"(?:^|(?<=[\s\"“(]))(?:I|we)(?:['’]ve| have)?(?: (?:just|finally|also|both|already|recently"
    r"|actually|all|now))* (?:decided|chose|chosen|agreed|settled on|picked|opted|resolved"
    r"|made up (?:my|our) minds?|committed to|concluded|went with)\b"
    r"|\b(?:I|we)(?:['’]re|['’]m| are| am|['’]ll| will)(?: definitely)? (?:go(?:ing)? with"
    r"|sticking with|switching to)\b"
    r"|\b(?:let['’]s|let us) (?:go with|stick with|settle on)\b"
    r"|\b(?:the|our|my) (?:final )?decision is\b|^(?:decision|decided):?\s",
    re.I,
)
_UNDECIDED = re.compile(
    r"\b(?:have|has|had|did)(?:n['’]t| not| yet to)\b|\bnot (?:yet )?decided|\bif\b", re.I
)


def preferences(text: str, holder: str) -> Iterator[Preference]:
    """What the speaker likes and dislikes."""
    if not holder:
        return
    for start, sentence in _statements(text):
        if _WISH.search(sentence):
            continue
        for pattern, likes in ((_DISLIKES, False), (_LIKES, True), (_FAVOURITE, True)):
            if found := pattern.search(sentence):
                groups = found.groupdict()
                target = (groups.get("target") or groups.get("being") or "").strip()
                where = start + found.start(), start + found.end()
                yield Preference(holder, target, likes, text[slice(*where)].strip(), *where)
                break


def decisions(text: str, holder: str) -> Iterator[Decision]:
    """What the speaker has decided, each as its whole sentence."""
    if not holder:
        return
    for start, sentence in _statements(text):
        if _DECIDES.search(sentence) and not _UNDECIDED.search(sentence):
            begin = start + len(sentence) - len(sentence.lstrip())
            end = start + len(sentence.rstrip())
            yield Decision(holder, text[begin:end], begin, end)


def _statements(text: str) -> Iterator[tuple[int, str]]:
    for found in _SENTENCE.finditer(text):
        if not found.group().endswith("?"):
            yield found.start(), found.group()
