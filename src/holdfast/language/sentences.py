"""Where sentences end: the marks that end one, and the cut itself.

Whoever cuts a text or stops at the end of a sentence does it with these. A line that somebody says
is cut by `cut_sentences`, a text as it is written by `sentence_spans`. What is stored in pieces
(passages, chunks, summaries) has a border of its own, made of the same marks, since another cut
would make other records of the same text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

#: The marks that end a sentence; in a pattern `[{STOPS}]`, and `[^{STOPS}]` goes on to the next.
STOPS = ".!?"
#: The same in scripts without spaces: nothing needs to follow them.
DENSE_STOPS = "。！？"
#: What may follow the mark and still belongs to its sentence.
_CLOSING = r"\"')\]"

#: "No. 5" is one, "No. Five will do." are two.
_ENDS = rf"(?<=[{STOPS}])(?!(?<=\b(?i:no)\.)\s+\d)[{_CLOSING}]*\s+|(?<=[{DENSE_STOPS}；])"
_END = re.compile(_ENDS)
_END_OR_DASH = re.compile(rf"{_ENDS}|(?<!\s)\s++[-–—]{{1,2}}\s+")
#: A full stop after one of these, or after a single letter, ends nothing.
_ABBREVIATED = re.compile(r"\b(?:dr|mr|mrs|ms|prof|st|vs|e\.g|i\.e|etc|approx|[a-z])\.$", re.I)
#: So many characters before the end of a sentence tell whether it is an abbreviation.
_BEHIND = 8
_SENTENCE = re.compile(rf"[^{STOPS}\n]+[{STOPS}]?")
# A full stop after a title or an initial, or within a word, ends no sentence.
_SENTENCE_OF_NAMES = re.compile(
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
    for end in (_END_OR_DASH if dashes else _END).finditer(line):
        near = max(0, end.start() - _BEHIND)
        if not (end.group() and _ABBREVIATED.search(line, near, end.start())):
            yield begin, end.start()
            begin = end.end()
    yield begin, len(line)
