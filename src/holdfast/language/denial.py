"""Whether what a sentence says is denied, and where a clause of its own begins."""

from __future__ import annotations

import re

from holdfast.language.lexicon import MONTHS, SEASONS, WEEKDAYS, any_of
from holdfast.language.sentences import sentence_spans

_DENIED = re.compile(
    r"\b(?:not|never|nobody|none|neither|nor|no one|no longer|cannot|hardly|barely|rarely|seldom"
    r"|without|nothing|far from|fail(?:s|ed)? to|refus(?:e|es|ed) to)\b|n['’]t\b|\bno (?=[a-z])",
    re.I,
)
#: Where a clause begins that stands by itself: what is denied before it is another's.
_CLAUSE = re.compile(r"[;:–—(\n]|, (?=(?:and|but|so|I|we|he|she|they)\b)|\bbut\b|,? yet\b", re.I)
#: What may stand before "I" or "we" where they begin a clause; after another word they only tell
#: which thing is meant ("the games I love"), or ask ("how can I").
_BEFORE_CLAUSE = re.compile(
    r"(?:^|[^\w\s]|\d|\b(?:and|but|because|so|that|since|as|why|how|what|though|although|while|when|after"
    r"|before|then|plus|or|yes|much|more|well|oh|now|also|too|anymore|think|know|say|said|guess|mean|believe|suppose|feel|admit"
    r"|until|once|ago|here|there|again|once|later|today|yesterday|tomorrow|tonight|sometimes|often"
    r"|always|just|years?|months?|weeks?|weekends?|days?|nights?|mornings?|evenings?|afternoons?"
    rf"|{any_of(MONTHS, WEEKDAYS, SEASONS)}|[a-z]+ly))\s*\Z",
    re.I,
)
_LONGEST_CLAUSE = 300


def is_denied(text: str, start: int, end: int) -> bool:
    """Whether what stands here is denied, there or earlier in its clause: "I never got used to",
    "I don't think I like"."""
    for begin, stop in sentence_spans(text, names=True):
        if begin <= start < stop:
            break
    else:
        return False
    begin = max(begin, start - _LONGEST_CLAUSE)
    for border in _CLAUSE.finditer(text, begin, start):
        begin = border.end()
    return _DENIED.search(text, begin, end) is not None


def opens_clause(text: str, start: int) -> bool:
    """Whether "I" or "we" that stands here begins a clause of its own."""
    return _BEFORE_CLAUSE.search(text, max(0, start - 40), start) is not None
