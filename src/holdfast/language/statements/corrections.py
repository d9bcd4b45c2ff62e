"""Corrections: what was said is wrong, and what is right instead.

"No, that's wrong" alone corrects nothing that can be kept: the right thing must be told, too. Where
the wrong one is named ("the 14th, not the 15th") it is given as `avoid`. "It's the journey, not the
goal" is a saying; without a word that objects, both sides must be names or numbers.
"""

from __future__ import annotations

import re

_LONGEST = 300
#: Somebody objects, or takes back what they said.
_OBJECTS = re.compile(
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
_TALK = re.compile(
    r"^[\s,:.]*(?:it|that|this)(?:'s| is| was) (?:been|fine|ok|okay|good|all|enough|so|very|really"
    r"|pretty|quite|a (?:bit|lot|great|good)|not (?:easy|bad|that|too|really|a)|just|cool|great"
    r"|hard|nice|kind of|been)\b"
)
_NOT_AFTER = re.compile(
    r"(?:,| and| but) not (?P<avoid>(?!only\b|just\b|to\b|.{1,60} but\b)[^,.;:!?]{1,60})[.!]?$"
)
_NOT_BEFORE = re.compile(
    r"^not (?P<avoid>(?!only\b|just\b|sure\b|yet\b|really\b|at\b|to\b|a\b|even\b)[^,.;:!?]{1,40}),"
    r" (?:but )?(?P<right>[^,.;:!?]{1,40})[.!]?$|\bnot (?P<avoided>(?!only\b"
    r"|just\b)[^,.;:!?]{1,60}?),? but (?P<instead>[^,.;:!?]{1,60})[.!]?$"
)
_ZH = re.compile(
    r"不是(?P<avoid>[^，,。]{1,12})[，,]\s*(?:而)?是[^，。]|[，,]\s*(?:而)?不是(?P<avoided>[^，,。吗]{1,12})[。！]?$"
)
_PARTICULAR = re.compile(
    r"\d|\b[A-Z][a-z]|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|(?:一|二|三|四|五|六|七|八|九|十)"
)


def corrected(text: str, low: str) -> str | None:
    """What a statement says was wrong, verbatim; "" where it only tells the right thing, None where
    it corrects nothing. `low` is the text in lower case, of the same length."""
    if len(text) > _LONGEST:
        return None
    if not low.isascii() and (found := _ZH.search(low)):
        return text[slice(*found.span("avoid" if found["avoid"] else "avoided"))].strip()
    objects = _OBJECTS.match(low)
    rest = low[objects.end() :] if objects else low
    if _TALK.match(rest):
        return None
    named = _avoided(text, low)
    if named is not None and objects and len(named[0]) <= objects.end():
        return None  # "Nope, not yet": nothing is said instead.
    if named is not None and (objects or all(map(_PARTICULAR.search, named))):
        return named[1]
    return "" if objects and _tells(objects, text) else None


def objection(low: str) -> int:
    """Where what follows "that's wrong, " or "actually, " begins; 0 where there is none."""
    found = _OBJECTS.match(low)
    return found.end() if found and not found["said"] else 0


def _avoided(text: str, low: str) -> tuple[str, str] | None:
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
