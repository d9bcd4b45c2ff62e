"""Token counts as the large models count them: cl100k_base, exact and offline.

The count decides what fits a budget, so an estimate will not do (characters / 4 is 10 % off). The
table is part of the package (`cl100k/`) and loaded at the first count; nothing is ever fetched.

A text is counted word by word, since most of its words were counted before, and most others are
one token. A cut is made only where cl100k_base makes one itself, whatever stands on either side:
before white space that follows a word, unless a line ends in it (what ends a sentence takes the
line ends along), then behind the last line end of it. Within a word, pieces are cut as the model
cuts them and merged by byte pairs: the pair of lowest rank first, of equals the leftmost.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from functools import cache, lru_cache
from heapq import heapify, heappop, heappush
from pathlib import Path

from holdfast.language.regex import regex

_FOLDER = Path(__file__).parent / "cl100k"
#: What Unicode calls white space. Python's own `\s` means four control characters more.
_SPACE = r"\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_words = regex(rf"[{_SPACE}]*+[^{_SPACE}]++(?:[{_SPACE}]*[\r\n])?|[{_SPACE}]++").findall
# The same for a text of ASCII alone, a third faster.
_ascii_words = regex(r"\s*+\S++(?:\s*[\r\n])?|\s++", re.ASCII).findall

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
        return sum(map(_count_word, words))


def _count_word(word: str) -> int:
    """Tokens of a word; short ones are remembered."""
    count = _known.get(word)
    if count is None:
        if len(word) > _LONGEST_WORD:
            return _count_long(word)
        count = count_whole(word)
        if len(_known) >= _MOST_WORDS:
            _known.clear()  # the common ones are back after a few texts
        _known[word] = count
    return count


@lru_cache(maxsize=64)
def _count_long(word: str) -> int:
    """Text without a blank takes long, and packing counts it again in every detail it tries."""
    return count_whole(word)


def count_whole(text: str) -> int:
    """The same count, of the text as one: without cuts, and nothing is remembered."""
    ranks = _ranks()
    tokens = 0
    for piece in _pieces(text.isascii())(text):
        raw = _utf8(piece)
        tokens += 1 if raw in ranks else _merge_pairs(raw, ranks)
    return tokens


def _utf8(piece: str) -> bytes:
    try:
        return piece.encode()
    except UnicodeEncodeError:
        # Half a surrogate pair, as broken JSON escapes leave it, has no UTF-8 form.
        return piece.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _merge_pairs(raw: bytes, ranks: dict[bytes, int]) -> int:
    """How many tokens are left when no two neighbours can be joined any more."""
    size = len(raw)
    after = list(range(1, size + 1))
    before = list(range(-1, size - 1))
    # By where a part starts, the end of the pair that it makes with the next one.
    ends = [min(start + 2, size) for start in range(size)]
    pairs = [
        (rank, start, start + 2)
        for start in range(size - 1)
        if (rank := ranks.get(raw[start : start + 2])) is not None
    ]
    heapify(pairs)
    left = size
    while pairs:
        _, start, end = heappop(pairs)
        if ends[start] != end or after[start] >= size:
            continue  # one of the two was joined with another meanwhile
        gone = after[start]
        following = after[gone]
        ends[gone] = 0
        after[start] = following
        if following < size:
            before[following] = start
        left -= 1
        for first in (before[start], start):
            if first >= 0 and after[first] < size:
                ends[first] = until = after[after[first]]
                if (rank := ranks.get(raw[first:until])) is not None:
                    heappush(pairs, (rank, first, until))
    return left


@cache
def _ranks() -> dict[bytes, int]:
    """Every token with its rank: 100,256 of them, 12 MB, only when needed."""
    table = zlib.decompress((_FOLDER / "cl100k.bin").read_bytes())
    tokens: list[bytes] = []
    place = 0
    while place < len(table):
        end = place + 1 + table[place]
        tokens.append(table[place + 1 : end])
        place = end
    return {token: rank for rank, token in enumerate(tokens)}


def _pieces(is_ascii: bool) -> Callable[[str], list[str]]:
    """How cl100k_base cuts a text before it merges bytes."""
    return _ascii_pieces if is_ascii else _unicode_pieces()


@cache
def _unicode_pieces() -> Callable[[str], list[str]]:
    return regex(_cuts(*_classes(), _SPACE)).findall


def _classes() -> tuple[str, str]:
    """The letters and the numbers of Unicode, as sets of characters."""
    letters, numbers = (_FOLDER / "classes.txt").read_text(encoding="ascii").splitlines()
    return letters[2:], numbers[2:]


def _cuts(letter: str, digit: str, space: str) -> str:
    return (
        r"'(?i:[sdmt]|ll|ve|re)"
        rf"|[^\r\n{letter}{digit}]?+[{letter}]++"
        rf"|[{digit}]{{1,3}}+"
        rf"| ?[^{space}{letter}{digit}]++[\r\n]*+"
        rf"|[{space}]*[\r\n]"
        rf"|[{space}]+(?![^{space}])"
        rf"|[{space}]+"
    )


_ascii_pieces = regex(_cuts("a-zA-Z", "0-9", r"\t-\r ")).findall
