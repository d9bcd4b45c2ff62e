"""BERT's uncased WordPiece tokeniser: text to token ids.

Clean, lower-case, strip accents, cut at spaces, punctuation and CJK characters, then take the
longest known piece from the left of each word. `tests/models/test_wordpiece.py` holds it equal to
the `tokenizers` library, which at run time would pull in ten packages; only some 550 characters
younger than Unicode 8 differ, none of which the vocabulary knows. Names of special tokens in a text
("[SEP]") are ordinary text here: a message must not steer the model.
"""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

MAX_WORD_CHARS = 100
CACHED_WORDS = 50_000  # about 8 MB
CACHED_CHARACTERS = 20_000

_ASCII_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_ASCII_WORD = re.compile(r"[a-z0-9]+|[^a-z0-9\s]")
_ASCII_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_CJK = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),  # BERT's own table starts at 2B820; the library we equal does not
    (0x2F800, 0x2FA1F),
)


class WordPiece:
    """Token ids of a text, with [CLS] before and [SEP] behind."""

    def __init__(self, vocabulary: list[str]) -> None:
        self._ids = {token: number for number, token in enumerate(vocabulary)}
        self._first, self._last = self._ids["[CLS]"], self._ids["[SEP]"]
        self._unknown = (self._ids["[UNK]"],)
        self._longest = max(map(len, vocabulary))
        self._words: dict[str, tuple[int, ...]] = {}

    @classmethod
    def from_file(cls, path: Path) -> WordPiece:
        """Read a `vocab.txt`: one token a line, its id is the number of the line."""
        return cls(path.read_text(encoding="utf-8").rstrip("\n").split("\n"))

    def encode(self, text: str, *, max_tokens: int | None = None) -> list[int]:
        """The ids, cut so that there are at most `max_tokens` with the two marks."""
        room = None if max_tokens is None else max_tokens - 2
        ids = [self._first]
        for word in split_words(text):
            ids += self._pieces(word)
            if room is not None and len(ids) > room:
                del ids[room + 1 :]
                break
        ids.append(self._last)
        return ids

    def _pieces(self, word: str) -> tuple[int, ...]:
        known = self._words.get(word)
        if known is not None:
            return known
        pieces = self._cut(word) if len(word) <= MAX_WORD_CHARS else self._unknown
        if len(self._words) >= CACHED_WORDS:
            self._words.clear()
        self._words[word] = pieces
        return pieces

    def _cut(self, word: str) -> tuple[int, ...]:
        """Longest match from the left; a word with a part that is not known is unknown whole."""
        pieces: list[int] = []
        start, prefix = 0, ""
        while start < len(word):
            end = min(len(word), start + self._longest)
            while (number := self._ids.get(prefix + word[start:end])) is None:
                end -= 1
                if end == start:
                    return self._unknown
            pieces.append(number)
            start, prefix = end, "##"
        return tuple(pieces)


def split_words(text: str) -> list[str]:
    """Words and single punctuation marks, lower-case and without accents."""
    if text.isascii():
        return _ASCII_WORD.findall(_ASCII_CONTROL.sub("", text).lower())
    text = unicodedata.normalize("NFD", text.translate(_CLEANED))
    # Python alone turns a capital sigma at the end of a word into another letter.
    text = text.replace("Σ", "σ").translate(_BARE).lower()
    return text.translate(_SPLIT).split()


class _Table(dict[int, str]):
    """Character to what it becomes, worked out when first met."""

    def __missing__(self, point: int) -> str:
        result = self.replace(chr(point))
        if len(self) < CACHED_CHARACTERS:
            self[point] = result
        return result

    def replace(self, character: str) -> str:
        raise NotImplementedError


class _Cleaned(_Table):
    """Without control characters, every space the same, CJK characters as words of their own."""

    def replace(self, character: str) -> str:
        if character in "\t\n\r":
            return " "
        if character == "\ufffd" or unicodedata.category(character) in {"Cc", "Cf", "Co", "Cs"}:
            return ""
        if character.isspace():
            return " "
        point = ord(character)
        if any(low <= point <= high for low, high in _CJK):
            return f" {character} "
        return character


class _Bare(_Table):
    """Without the accents that NFD has set apart."""

    def replace(self, character: str) -> str:
        return "" if unicodedata.category(character) == "Mn" else character


class _Split(_Table):
    """With spaces around punctuation."""

    def replace(self, character: str) -> str:
        if character in _ASCII_PUNCTUATION or unicodedata.category(character)[0] == "P":
            return f" {character} "
        return character


_CLEANED, _BARE, _SPLIT = _Cleaned(), _Bare(), _Split()
