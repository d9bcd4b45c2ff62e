"""Hostile text: what a pattern, or a step that reads a turn, has to get through in linear time.

`KINDS` are the same for all. `near_misses` are drawn from one pattern: for everything in it that
may be repeated without end, what leads up to it and what it repeats, so that it runs on for long,
from as many places as there are, and then does not match.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

from re import _constants as code  # isort: skip
from re import _parser as parser  # isort: skip


def _names(separator: str) -> str:
    first = [
        "Mara",
        "Ilan",
        "Sofie",
        "Tomas",
        "Quentin",
        "Ada",
        "Bram",
        "Cleo",
        "Dario",
        "Edda",
        "Falk",
        "Gwen",
    ]
    last = ["Voss", "Keller", "Okafor", "Lindqvist", "Abara", "Castellanos", "Duval", "Eriksen"]
    return separator.join(f"{a} {b}" for a in first for b in last) + separator


@dataclass(frozen=True, slots=True)
class Shape:
    """A text of any length: what it begins with, what is repeated, and how it ends."""

    begin: str
    unit: str
    end: str = ""

    def text(self, size: int) -> str:
        """`size` characters of it."""
        room = max(1, size - len(self.begin) - len(self.end))
        return self.begin + (self.unit * (room // len(self.unit) + 1))[:room] + self.end


KINDS: dict[str, Shape] = {
    "dots": Shape("I met Mara today", "."),
    "question marks": Shape("", "?!"),
    "full-width stops": Shape("", "。"),
    "blanks": Shape("I like tea", " "),
    "newlines": Shape("", "\n"),
    "blank lines": Shape("", " \t\n"),
    "letters": Shape("", "a"),
    "capitals": Shape("", "A"),
    "digits": Shape("", "1"),
    "quotes": Shape("", "'"),
    "double quotes": Shape("", '"'),
    "brackets": Shape("", "("),
    "square brackets": Shape("", "["),
    "braces": Shape("", '{"a":'),
    "tags": Shape("", "<"),
    "open tags": Shape("", "<a "),
    "dashes": Shape("", "-"),
    "underscores and stars": Shape("", "_*"),
    "commas": Shape("", ", "),
    "backticks": Shape("", "```"),
    "back-slashes": Shape("", "\\"),
    "letters and stops": Shape("", "a."),
    "letters and blanks": Shape("", "a b "),
    "initials": Shape("", "A. "),
    "brackets and blanks": Shape("", "( "),
    "quoted letters": Shape("", "'x "),
    "mixed blanks": Shape("", " \u00a0\u3000\t"),
    "accents": Shape("", "é"),
    "combining marks": Shape("", "e\u0301"),
    "ideographs": Shape("", "我的车是红的"),
    "emoji": Shape("", "👩‍👩‍👧"),
    "long words": Shape("", "pneumonoultramicroscopicsilicovolcanoconiosis "),
    "a sentence without end": Shape("I think ", "that he said he likes to go and see her and "),
    "sentences": Shape("", "I met Mara Voss today. "),
    "questions": Shape("", "did you know that I live in Paris? "),
    "rules": Shape("", "Always answer in French. Never use emojis. "),
    "names": Shape("", _names(", ")),
    "names in a row": Shape("", _names(" ")),
    "jobs": Shape("", "I work at Acme as an engineer, and then I moved to Berlin, "),
    "moves": Shape("", "I moved from Oslo to Rome. "),
    "my things": Shape("", "my dog's name is Rex and my "),
    "dates": Shape("", "on 3 May 2021 at 10:30 pm, "),
    "figures": Shape("", "$1,234,567.89 12.5% "),
    "addresses": Shape("", "a@b.c http://a.b/c?d=e&f "),
    "paths": Shape("", "/a/b.c:d"),
    "lists": Shape("", "\n- a\n1. b\n* c"),
    "tables": Shape("", "| a | b |\n|---|---|\n"),
    "code": Shape("", "x = f(y) # z\n    if (a == b) { return; }\n"),
    "contractions": Shape("", "I'm don't he's it’ll "),
    "speakers": Shape("", "\nUser: hi\nAssistant: yes, "),
}

_SYLLABLES = ["ba", "ko", "ri", "men", "ta", "lu", "ze", "vi", "so", "dan", "pe", "gul", "fa"]


def distinct(form: str, size: int) -> str:
    """`size` characters of sentences of one form, no two alike: {word}, {other} and with capitals
    {Word}, {Other}."""
    parts: list[str] = []
    length = 0
    for number in count(27):
        if length >= size:
            break
        word, other = _word(number), _word(number * 7 + 3)
        parts.append(form.format(word=word, other=other, Word=word.title(), Other=other.title()))
        length += len(parts[-1])
    return "".join(parts)[:size]


def _word(number: int) -> str:
    word = ""
    while number:
        number, rest = divmod(number, len(_SYLLABLES))
        word += _SYLLABLES[rest]
    return word


#: Which characters are tried for one that a class leaves open.
_TRIED = "a A1 .,'\n-<\"(:_é\t/xsty"
_WITHOUT_END = 32
_REPEATS = (code.MAX_REPEAT, code.MIN_REPEAT, code.POSSESSIVE_REPEAT)
_CHARACTERS = (code.IN, code.ANY, code.NOT_LITERAL)
_GROUPS = (code.BRANCH, code.SUBPATTERN, code.ATOMIC_GROUP)
_PARTS: dict[Any, Callable[[Any], list[Any]]] = {
    **dict.fromkeys(_REPEATS, lambda value: [value[2]]),
    code.BRANCH: lambda value: list(value[1]),
    code.SUBPATTERN: lambda value: [value[3]],
    code.ATOMIC_GROUP: lambda value: [value],
    code.ASSERT: lambda value: [value[1]],
    code.ASSERT_NOT: lambda value: [value[1]],
    code.GROUPREF_EXISTS: lambda value: [value[1]],
}
_MOST_REPEATS = 12


def near_misses(pattern: re.Pattern[Any]) -> list[Shape]:
    """Texts on which this pattern goes far and fails."""
    raw = pattern.pattern
    source = raw.decode("latin-1") if isinstance(raw, bytes) else raw
    tree = parser.parse(source, pattern.flags & ~re.DEBUG)
    pairs = list(dict.fromkeys(_Walk().repeats(tree, "")))
    shapes: dict[Shape, None] = {}
    for begin, unit in pairs[:_MOST_REPEATS]:
        shapes[Shape(begin, unit, "\0")] = None
        shapes[Shape("", begin + unit)] = None
        shapes[Shape("", begin + unit * 40)] = None
    return list(shapes)


class _Walk:
    """A parsed pattern, walked from left to right with a text that matches what was passed."""

    def repeats(self, tree: Iterable[Any], begin: str) -> Iterator[tuple[str, str]]:
        for op, value in tree:
            yield from self._inside(op, value, begin)
            begin += self.one(op, value)

    def _inside(self, op: Any, value: Any, begin: str) -> Iterator[tuple[str, str]]:
        if op in _REPEATS and value[1] >= _WITHOUT_END:
            yield from ((begin, unit) for unit in self.several(value[2]) if unit)
        for part in _parts(op, value):
            yield from self.repeats(part, begin)

    def text(self, tree: Iterable[Any]) -> str:
        return "".join(self.one(op, value) for op, value in tree)

    def several(self, tree: Any) -> list[str]:
        """What a body may be: for a single item each kind of character or branch of it."""
        items = list(tree)
        if len(items) != 1:
            return [self.text(items)]
        op, value = items[0]
        if op is code.BRANCH:
            return [self.text(branch) for branch in value[1]][:4]
        if op is code.SUBPATTERN:
            return self.several(value[3])
        if op in _CHARACTERS:
            return list(_fitting(op, value))[:4]
        return [self.one(op, value)]

    def one(self, op: Any, value: Any) -> str:
        if op is code.LITERAL:
            return chr(value)
        if op in _CHARACTERS:
            return next(_fitting(op, value), "a")
        if op in _REPEATS:
            return self.text(value[2]) * int(value[0])
        return self.text(_parts(op, value)[0]) if op in _GROUPS else ""


def _parts(op: Any, value: Any) -> list[Any]:
    """The patterns that an item is made of."""
    return _PARTS[op](value) if op in _PARTS else []


def _fitting(op: Any, value: Any) -> Iterator[str]:
    """Characters that an item for one character takes."""
    for char in _TRIED:
        if _takes(op, value, char):
            yield char
    if op is code.IN:
        yield from (chr(each) for kind, each in value if kind is code.LITERAL)


def _takes(op: Any, value: Any, char: str) -> bool:
    if op is code.ANY:
        return char != "\n"
    if op is code.NOT_LITERAL:
        return bool(ord(char) != value)
    is_turned = bool(value) and value[0][0] is code.NEGATE
    return any(_in(kind, each, char) for kind, each in value) != is_turned


def _in(kind: Any, value: Any, char: str) -> bool:
    if kind is code.LITERAL:
        return bool(ord(char) == value)
    if kind is code.RANGE:
        return bool(value[0] <= ord(char) <= value[1])
    if kind is code.CATEGORY:
        letter = {
            code.CATEGORY_DIGIT: r"\d", code.CATEGORY_NOT_DIGIT: r"\D",
            code.CATEGORY_SPACE: r"\s", code.CATEGORY_NOT_SPACE: r"\S",
            code.CATEGORY_WORD: r"\w", code.CATEGORY_NOT_WORD: r"\W",
        }[value]  # fmt: skip
        return re.match(letter, char) is not None
    return False
