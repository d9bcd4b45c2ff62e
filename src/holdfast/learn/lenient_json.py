"""JSON as models write it: find the values in a text and read them although they are broken.

Read as if they were right: prose and code fences around a value, single or curly quotation marks,
quotation marks inside a string, raw line breaks in a string, keys without quotation marks, trailing
and missing commas, comments, True / None / NaN, a wrong closing bracket. A value that the end of
the text cuts off keeps what was complete: half an item says something that nobody meant.

Nothing is raised but `ValueError` inside this module: what is no value is not found.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import NamedTuple

from holdfast.language.regex import regex

_MOST_STARTS = 200
#: A value that is cut off reaches to the end of the text; looking inside it is done this often.
_MOST_CUT = 8
_DEEPEST = 32

_SKIP = regex(r"(?:[\s,]|//[^\n]*|/\*[^*]*\*/)*")
_BLANK = regex(r"\s*")
_START = regex(r"[{\[]")
_NUMBER = regex(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,4})?")
_WORD = regex(r"-?[^\W\d][\w.$-]*")
_LITERALS = {
    **{"true": True, "false": False, "yes": True, "no": False},
    **dict.fromkeys(("null", "none", "nan", "undefined", "infinity", "-infinity", "-nan")),
}
#: Quotation mark that opens -> those that close.
_QUOTES = {'"': '"', "'": "'", "\u201c": "\u201d", "\u2018": "\u2019", "`": "`"}
_OPENING = {"}": "{", "]": "["}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_ESCAPED = regex(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)


class FoundValue(NamedTuple):
    """A value in a text; not `whole` when the text ended before it did."""

    value: object
    whole: bool


def find_values(text: str) -> list[FoundValue]:
    """The objects and arrays in a text, outermost, in their order."""
    return list(_find(text))


def _find(text: str) -> Iterator[FoundValue]:
    at = 0
    cut = 0
    for _ in range(_MOST_STARTS):
        start = _START.search(text, at)
        if start is None or cut >= _MOST_CUT:
            return
        reader = _ValueReader(text, start.start())
        try:
            value, whole = reader.value(0)
        except ValueError:
            at = start.end()
            continue
        yield FoundValue(value, whole)
        # What stands in a value that was cut off may be the value that was meant.
        at = reader.at if whole else start.end()
        cut += not whole


class _ValueReader:
    """Reads one value from a place of a text; ValueError where none can be meant."""

    def __init__(self, text: str, at: int) -> None:
        self._text = text
        self.at = at
        #: The brackets that are open here.
        self._open: list[str] = []

    def value(self, depth: int) -> tuple[object, bool]:
        """A value, and whether it is whole."""
        mark = self._peek()
        if mark == "{":
            return self._object(depth + 1)
        if mark == "[":
            return self._array(depth + 1)
        if mark in _QUOTES:
            return self._string()
        return self._scalar()

    def _object(self, depth: int) -> tuple[object, bool]:
        self._enter(depth)
        read: dict[str, object] = {}
        while True:
            mark = self._next()
            if mark in {"", "}", "]"}:
                return read, self._leave(mark, "}")
            key, whole = self._key(mark)
            if not whole or not self._colon():
                return read, False
            value, whole = self.value(depth)
            if whole or isinstance(value, dict | list):
                _add(read, key, value)
            if not whole:
                return read, False

    def _array(self, depth: int) -> tuple[object, bool]:
        self._enter(depth)
        read: list[object] = []
        while True:
            mark = self._next()
            if mark in {"", "}", "]"}:
                return read, self._leave(mark, "]")
            value, whole = self.value(depth)
            if not whole:
                return read, False
            read.append(value)

    def _key(self, mark: str) -> tuple[str, bool]:
        if mark in _QUOTES:
            return self._string()
        word = _WORD.match(self._text, self.at) or _NUMBER.match(self._text, self.at)
        if word is None:
            raise ValueError("no key")
        self.at = word.end()
        return word.group(), True

    def _colon(self) -> bool:
        """Step over the colon; False at the end of the text."""
        self._blank()
        mark = self._peek()
        if mark not in {":", "=", ""}:
            raise ValueError("no colon")
        self.at += len(mark)
        self._blank()
        return bool(self._peek())

    def _string(self) -> tuple[str, bool]:
        """A string up to the mark that can be its end; marks inside it are part of it."""
        close = _QUOTES[self._text[self.at]]
        begin = end = self.at + 1
        while True:
            end = self._text.find(close, end)
            if end < 0:
                self.at = len(self._text)
                return "", False
            if not self._is_escaped(end, begin) and self._ends(end + 1):
                self.at = end + 1
                return _unescape(self._text[begin:end]), True
            end += 1

    def _is_escaped(self, at: int, begin: int) -> bool:
        back = at
        while back > begin and self._text[back - 1] == "\\":
            back -= 1
        return (at - back) % 2 == 1

    def _ends(self, at: int) -> bool:
        """Whether a string can end here: before a comma, a bracket, a colon or another line."""
        blank = _BLANK.match(self._text, at)
        after = blank.end() if blank else at
        return self._text[after : after + 1] in {"", ",", "}", "]", ":", "/"} or (
            "\n" in self._text[at:after]
        )

    def _scalar(self) -> tuple[object, bool]:
        number = _NUMBER.match(self._text, self.at)
        if number is not None:
            self.at = number.end()
            # At the very end of the text more digits may be missing.
            return _number(number.group()), self.at < len(self._text)
        word = _WORD.match(self._text, self.at)
        if word is None or word.group().lower() not in _LITERALS:
            if word is not None and word.end() == len(self._text):
                return None, False
            raise ValueError("no value")
        self.at = word.end()
        return _LITERALS[word.group().lower()], True

    def _enter(self, depth: int) -> None:
        if depth > _DEEPEST:
            raise ValueError("nested too deeply")
        self._open.append(self._peek())
        self.at += 1

    def _leave(self, mark: str, own: str) -> bool:
        """Whether a value ends here and not with the text.

        The bracket of one around it ends it too; whoever it belongs to takes it.
        """
        self._open.pop()
        self.at += mark == own
        return mark != ""

    def _next(self) -> str:
        """The next mark that means something here; a closing bracket of nothing means nothing."""
        while True:
            skipped = _SKIP.match(self._text, self.at)
            self.at = skipped.end() if skipped else self.at
            mark = self._peek()
            if mark not in _OPENING or _OPENING[mark] in self._open:
                return mark
            self.at += 1

    def _blank(self) -> None:
        blank = _BLANK.match(self._text, self.at)
        self.at = blank.end() if blank else self.at

    def _peek(self) -> str:
        return self._text[self.at : self.at + 1]


def _add(read: dict[str, object], key: str, value: object) -> None:
    """A key that is there twice keeps both lists; of other values the last."""
    before = read.get(key)
    both = isinstance(before, list) and isinstance(value, list)
    read[key] = [*before, *value] if both else value  # type: ignore[misc]


def _number(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text

    def plain(match: re.Match[str]) -> str:
        if match[1]:
            return chr(int(match[1], 16))
        return _ESCAPES.get(match[2], match[2])

    whole = _ESCAPED.sub(plain, text)
    # Two halves of a pair become one character, a lone half the mark of a lost one.
    return whole.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
