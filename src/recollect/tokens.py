"""Token counts as the large models count them: cl100k_base, exact and offline.

The count decides what fits a budget, so an estimate will not do (characters / 4 is 10 % off). The
table is part of the package (`cl100k/`) and loaded at the first count; nothing is ever fetched.

A text is counted word by word, since most of its words were counted before. A cut is made only
where cl100k_base makes one itself, whatever stands on either side: before white space that follows
a word, unless a line ends in it (what ends a sentence takes the line ends along), then behind the
last line end of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

_TABLE = Path(__file__).parent / "cl100k" / "cl100k.kit"
#: What Unicode calls white space. Python's own `\s` means four control characters more.
_SPACE = r"\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_words = re.compile(rf"[{_SPACE}]*+[^{_SPACE}]++(?:[{_SPACE}]*[\r\n])?|[{_SPACE}]++").findall
# The same for a text of ASCII alone, a third faster.
_ascii_words = re.compile(r"\s*+\S++(?:\s*[\r\n])?|\s++", re.ASCII).findall

#: How many words are known at a time, and how long one may be: some 8 MB at most.
_MOST_WORDS = 65_536
_LONGEST_WORD = 32
#: Tokens of a word that was counted before.
_known: dict[str, int] = {}


def count_tokens(text: str) -> int:
    """How many tokens `text` is; names of special tokens in it are ordinary text."""
    words = _ascii_words(text) if text.isascii() else _words(text)
    try:
        return sum(map(_known.__getitem__, words))
    except KeyError:
        return _count_new(words)


def _count_new(words: list[str]) -> int:
    """Tokens of words of which some are new: those are counted in one call, which frees the GIL."""
    new = list({word for word in words if word not in _known})
    try:
        counted = dict(zip(new, map(len, _encoder()(new)), strict=True))
    except UnicodeEncodeError:
        return _count_new([_whole(word) for word in words])
    tokens = sum(counted[word] if word in counted else _known[word] for word in words)
    if len(_known) > _MOST_WORDS:
        _known.clear()  # the common ones are back after a few texts
    _known.update((word, count) for word, count in counted.items() if len(word) <= _LONGEST_WORD)
    return tokens


def _whole(word: str) -> str:
    """Without half a surrogate pair, as broken JSON escapes leave it: it has no UTF-8 form."""
    return word.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@cache
def _encoder() -> Callable[[list[str]], list[list[int]]]:
    # 6 MB of code and a table of 1 MB: only when needed.
    from kitoken import Kitoken  # noqa: PLC0415

    return Kitoken.from_file(str(_TABLE)).encode_all
