"""A statement in short: its headline, and the words that carry it."""

from __future__ import annotations

import re

from holdfast.language.terms import STOP_WORDS, fold, terms

_HEADLINE_WORDS = 10
_HEADLINE_CHARS = 80
_MOST_KEYWORDS = 8
_OPENER = re.compile(
    r"^(?:(?:well|so|yes|yeah|yep|oh|hey|hi|actually|also|and|but|ok|okay|btw|by the way|anyway|ah"
    r"|wow|honestly|no)[,!.]? )+",
    re.IGNORECASE,
)
_CUT = re.compile(r"[,;:(]| - | (?:and|but|because|so that|which|who|since|although)\b")
_WORD = re.compile(r"[^\W_]+(?:['’.:@+#-][^\W_]+)*")
_DENSE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


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
