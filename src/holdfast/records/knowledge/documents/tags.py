"""HTML as a row of tags and texts, in one pass: no input makes it look at the same place again and
again, as the parser of the standard library did (its older versions need hours for a megabyte).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import NamedTuple

#: What is in these is no markup, up to their end.
_RAW = ("iframe", "noembed", "noframes", "script", "style", "textarea", "title", "xmp")
_RAW_ENDS = {name: re.compile(f"</{name}", re.IGNORECASE) for name in _RAW}
_NAME = re.compile(r"</?([A-Za-z][^\s/>]{0,60})")
_STOP = re.compile("[>\"']")
_ATTRIBUTE = re.compile(r"""([^\s"'<>/=]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]*))?""")
_MOST_ATTRIBUTES = 2_000  # Characters; what hides a text stands there.
#: No character has a number that long.
_FAR_NUMBER = re.compile("&#[xX]?[0-9a-fA-F]{9,};?")


class Tag(NamedTuple):
    """A tag as it was met."""

    name: str
    #: What stands in it after the name.
    inside: str
    is_end: bool

    @property
    def closes_itself(self) -> bool:
        return self.inside.endswith("/")

    def attributes(self) -> dict[str, str]:
        """By their names in lower case."""
        found = _ATTRIBUTE.findall(self.inside[:_MOST_ATTRIBUTES])
        return {name.lower(): value.strip("\"'") for name, value in found}


def tokens(text: str) -> Iterator[Tag | str]:
    """Tags and the texts between them, character references resolved; comments are left out."""
    return _Scanner(text).scan()


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._place = 0
        #: Quotes of which there is none after this place: looked for in vain once is enough.
        self._gone: set[str] = set()

    def scan(self) -> Iterator[Tag | str]:
        text = self._text
        while self._place < len(text):
            start = text.find("<", self._place)
            start = len(text) if start < 0 else start
            if start > self._place:
                yield plain(text[self._place : start])
            self._place = start
            found = _NAME.match(text, start)
            if found:
                yield from self._tag(found)
            elif text.startswith(("<!", "<?", "</"), start):
                self._skip(start)
            elif start < len(text):
                self._place += 1
                yield "<"

    def _skip(self, start: int) -> None:
        """Go past a comment or a declaration; one without an end is the rest of the page."""
        end = "-->" if self._text.startswith("<!--", start) else ">"
        at = self._text.find(end, start + 2)
        self._place = len(self._text) if at < 0 else at + len(end)

    def _tag(self, found: re.Match[str]) -> Iterator[Tag | str]:
        end = self._end_of_tag(found.end())
        self._place = min(end + 1, len(self._text))
        if end >= len(self._text):  # It never ends: a page that was cut off.
            return
        is_end = self._text[found.start() + 1] == "/"
        tag = Tag(found[1].lower(), self._text[found.end() : end], is_end)
        yield tag
        if tag.name in _RAW_ENDS and not is_end and not tag.closes_itself:
            close = _RAW_ENDS[tag.name].search(self._text, self._place)
            stop = close.start() if close else len(self._text)
            yield plain(self._text[self._place : stop])
            self._place = stop

    def _end_of_tag(self, place: int) -> int:
        """Where the bracket is that ends a tag: not one inside of a quoted value."""
        text = self._text
        while stop := _STOP.search(text, place):
            quote = stop[0]
            if quote == ">":
                return stop.start()
            place = stop.end()
            if quote in self._gone or not text[max(0, place - 20) : place - 1].rstrip().endswith(
                "="
            ):
                continue
            close = text.find(quote, place)
            if close < 0:
                self._gone.add(quote)
            else:
                place = close + 1
        return len(text)


def plain(text: str) -> str:
    """A text with its character references resolved."""
    return unescape(_FAR_NUMBER.sub("\ufffd", text)) if "&" in text else text
