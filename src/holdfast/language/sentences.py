"""Where sentences end: the marks that end one, and the cut itself; what one denies.

Whoever cuts a text or stops at the end of a sentence does it with these. A line that somebody says
is cut by `cut_sentences`, a text as it is written by `sentence_spans`. What is stored in pieces
(passages, chunks, summaries) has a border of its own, made of the same marks, since another cut
would make other records of the same text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from holdfast.language.lexicon import MONTHS, SEASONS, WEEKDAYS, any_of
from holdfast.language.regex import regex

#: The marks that end a sentence; in a pattern `[{STOPS}]`, and `[^{STOPS}]` goes on to the next.
STOPS = ".!?"
#: The same in scripts without spaces: nothing needs to follow them.
DENSE_STOPS = "。！？"
#: What may follow the mark and still belongs to its sentence.
_CLOSING = r"\"')\]"

#: "No. 5" is one, "No. Five will do." are two.
_ENDS = rf"(?<=[{STOPS}])(?!(?<=\b(?i:no)\.)\s+\d)[{_CLOSING}]*\s+|(?<=[{DENSE_STOPS}；])"
_END = regex(_ENDS)
#: What stands right before one: it is found faster than what must stand behind it.
_STOP = regex(rf"[{STOPS}{DENSE_STOPS}；]")
_END_OR_DASH = regex(rf"{_ENDS}|(?<!\s)\s++[-–—]{{1,2}}\s+")
#: A full stop after one of these, or after a single letter, ends nothing.
_ABBREVIATED = regex(r"\b(?:dr|mr|mrs|ms|prof|st|vs|e\.g|i\.e|etc|approx|[a-z])\.$", re.I)
#: So many characters before the end of a sentence tell whether it is an abbreviation.
_BEHIND = 8
_SENTENCE = regex(rf"[^{STOPS}\n]+[{STOPS}]?")
# A full stop after a title or an initial, or within a word, ends no sentence.
_SENTENCE_OF_NAMES = regex(
    rf"(?:[^{STOPS}\n]|(?<=\b[A-Z])\.|(?<=\b[DMS][rst])\.|(?<=\bMrs)\.|\.(?=\w))+[{STOPS}]?"
)


@lru_cache(maxsize=64)
def sentence_spans(text: str, *, names: bool = False) -> tuple[tuple[int, int], ...]:
    """Where the sentences of a text as it is written begin and end, each with its mark; with
    `names`, those of "Dr. Bell" and "J. Ode" go on, and so does "plan B. Then ..."."""
    pattern = _SENTENCE_OF_NAMES if names else _SENTENCE
    return tuple(found.span() for found in pattern.finditer(text))


def cut_sentences(line: str, *, dashes: bool = False) -> Iterator[tuple[int, int]]:
    """Where the sentences of a line begin and end; with `dashes`, one between blanks ends them."""
    begin = 0
    for end in _END_OR_DASH.finditer(line) if dashes else _ends(line):
        near = max(0, end.start() - _BEHIND)
        if not (end.group() and _ABBREVIATED.search(line, near, end.start())):
            yield begin, end.start()
            begin = end.end()
    yield begin, len(line)


def _ends(line: str) -> Iterator[re.Match[str]]:
    ends = (_END.match(line, stop.end()) for stop in _STOP.finditer(line))
    return filter(None, ends)


# ----------------------------------------------------------------------
# Whether what a sentence says is denied, and where a clause of its own begins.
# ----------------------------------------------------------------------

_DENIED = regex(
    r"\b(?:not|never|nobody|none|neither|nor|no one|no longer|cannot|hardly|barely|rarely|seldom"
    r"|without|nothing|far from|fail(?:s|ed)? to|refus(?:e|es|ed) to)\b|n['’]t\b|\bno (?=[a-z])",
    re.I,
)
#: Where a clause begins that stands by itself: what is denied before it is another's.
_CLAUSE = regex(r"[;:–—(\n]|, (?=(?:and|but|so|I|we|he|she|they)\b)|\bbut\b|,? yet\b", re.I)
#: What may stand before "I" or "we" where they begin a clause; after another word they only tell
#: which thing is meant ("the games I love"), or ask ("how can I").
_BEFORE_CLAUSE = regex(
    r"(?:^|[^\w\s]|\d|\b(?:and|but|because|so|that|since|as|why|how|what|though|although|while|when|after"
    r"|before|then|plus|or|yes|much|more|well|oh|now|also|too|anymore|think|know|say|said|guess|mean|believe|suppose|feel|admit"
    r"|until|once|ago|here|there|again|once|later|today|yesterday|tomorrow|tonight|sometimes|often"
    r"|always|just|years?|months?|weeks?|weekends?|days?|nights?|mornings?|evenings?|afternoons?"
    rf"|{any_of(MONTHS, WEEKDAYS, SEASONS)}|[a-z]+ly))\s*\Z",
    re.I,
)
_LONGEST_CLAUSE = 300
#: Words that join one part of a sentence to another, in a pattern.
JOINING = "(?:and|but|so|und|aber|y|pero|et|mais|e|ma|mas|en|maar)"
#: Where a part of a sentence ends and another begins: "a flat in Leeds, second floor, and my share
#: is 540".
_PART_ENDS = regex(
    rf"(?<![,;:()–—])[,;:()–—]+\s+(?:-\s+)?|[(){DENSE_STOPS}，；、]"
    rf"|(?<!\s)\s+(?:-\s+|(?={JOINING}\s))",
    re.I,
)
#: What stands between parts, and what joins a part to what stands before or behind it.
_BETWEEN = " ,;:-–—"
_JOINT = regex(rf"^{JOINING}\s+|(?<!\s)\s++(?:{JOINING}|because)$", re.I)
_SAYS = regex(r"\w")
#: A word, or a sign of a script without spaces; so many make a statement.
_WORD = regex(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_]+")
_FEWEST_WORDS = 3


def parts_of(statement: str) -> list[tuple[int, int]]:
    """Where the parts of a statement begin and end that may be so without the others."""
    spans = list[tuple[int, int]]()
    for begin, end in cut_sentences(statement):
        cuts = [place for cut in _PART_ENDS.finditer(statement, begin, end) for place in cut.span()]
        spans += zip([begin, *cuts[1::2]], [*cuts[::2], end], strict=True)
    return [span for span in spans if _SAYS.search(statement, *span)]


def without_joints(part: str) -> str:
    """A part of a statement without what joined it to the others."""
    return _JOINT.sub("", part.strip(_BETWEEN)).strip(_BETWEEN)


def may_stand_alone(part: str) -> bool:
    """Whether a part of a statement can be one: a name alone is none."""
    return len(_WORD.findall(part)) >= _FEWEST_WORDS


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
