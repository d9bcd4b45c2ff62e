"""Names: when two are the same, and which of them a text speaks of."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from holdfast.language.terms import STOP_WORDS, fold

#: Words of a text that are looked at, words of a name that are compared, names found in a text.
_MOST_WORDS = 512
MOST_NAME_WORDS = 12
_MOST_FOUND = 8

# Scripts without spaces between words: each character is a word by itself here. "+" and "#" are
# parts of a name such as "C++".
_DENSE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
)
_WORD = re.compile(rf"[{_DENSE}]|(?:[^\W_{_DENSE}]|[+#])+")
#: Who has no other name is called so; a text that says it speaks of users in general.
_ANYBODY = ("user",)
_ONE_DENSE = re.compile(f"[{_DENSE}]")


class Spoken(NamedTuple):
    """A name as a text speaks of it."""

    words: tuple[str, ...]
    #: As it is written, where only that tells it from an ordinary word: "May", "US".
    exactly: str | None = None


class Borne(NamedTuple):
    """Who bears a name, and its `exactly`."""

    number: int
    exactly: str | None = None


#: The words of a name -> who bears it.
Bearers = Mapping[tuple[str, ...], Sequence[Borne]]


@lru_cache(maxsize=65536)
def same(name: str) -> str:
    """A name as it is compared with others."""
    return " ".join(fold(name).split())


@lru_cache(maxsize=65536)
def borne(name: str, *, heard: bool = False) -> Spoken | None:
    """How a text speaks of a name; None when no text can be said to name it.

    Of what was only heard a common word ("issues") is no name, and one in capitals ("KEY") is only
    as it is written: nobody chose it as a name.
    """
    words = tuple(_WORD.findall(fold(name)))[:MOST_NAME_WORDS]
    if not words or (len(words) == 1 and _ONE_DENSE.fullmatch(words[0])):
        return None
    if words == _ANYBODY:
        return None
    if len(words) == 1 and words[0] in STOP_WORDS:
        return None if name.islower() else Spoken(words, name)
    if heard and len(words) == 1 and name.isascii() and (name.islower() or name.isupper()):
        return None if name.islower() else Spoken(words, name)
    return Spoken(words)


def spoken_of(text: str, known: Bearers) -> list[int]:
    """Whom a text names: the names it holds as whole words, the longest at each place."""
    words = _WORD.findall(fold(text))[:_MOST_WORDS]
    found: dict[int, None] = {}
    place = 0
    while place < len(words) and len(found) < _MOST_FOUND:
        size, bearers = _longest(text, words[place : place + MOST_NAME_WORDS], known)
        found.update(dict.fromkeys(bearers))
        place += size
    return list(found)[:_MOST_FOUND]


def _longest(text: str, words: Sequence[str], known: Bearers) -> tuple[int, list[int]]:
    for size in range(len(words), 0, -1):
        bearers = [
            each.number
            for each in known.get(tuple(words[:size]), ())
            if each.exactly is None or _stands_in(text, each.exactly)
        ]
        if bearers:
            return size, bearers
    return 1, []


def _stands_in(text: str, exactly: str) -> bool:
    """Whether a text holds these very letters as whole words."""
    return re.search(rf"(?<!\w){re.escape(exactly)}(?!\w)", text) is not None
