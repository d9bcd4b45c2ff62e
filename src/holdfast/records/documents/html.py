"""HTML: headings, paragraphs, lists, tables and code as text; what a reader never sees is dropped.

Written for pages as they are, with tags left open or closed twice. The stack is a list, so depth
costs nothing. How a page falls into tags: `Tag`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from html import unescape
from typing import NamedTuple

from holdfast.language.regex import regex
from holdfast.records.documents.values import Deadline, Outline, ReadDocument

# ----------------------------------------------------------------------
# HTML as a row of tags and texts, in one pass: no input makes it look at the same place again and
# again, as the parser of the standard library did (its older versions need hours for a megabyte).
# ----------------------------------------------------------------------

#: What is in these is no markup, up to their end.
_RAW = ("iframe", "noembed", "noframes", "script", "style", "textarea", "title", "xmp")
_RAW_ENDS = {name: regex(f"</{name}", re.IGNORECASE) for name in _RAW}
_NAME = regex(r"</?([A-Za-z][^\s/>]{0,60})")
_STOP = regex("[>\"']")
_ATTRIBUTE = regex(r"""([^\s"'<>/=]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]*))?""")
_MOST_ATTRIBUTES = 2_000  # Characters; what hides a text stands there.
#: No character has a number that long.
_FAR_NUMBER = regex("&#[xX]?[0-9a-fA-F]{9,};?")


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


#: Tags and texts between two looks at the clock.
_LOOK_EVERY = 10_000
_VOID_TAGS = "area base br col embed hr img input link meta param source track wbr"
_DROPPED_TAGS = """
button canvas head iframe math nav noscript object script select style svg template
"""
_BLOCK_TAGS = """
address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption
figure footer form h1 h2 h3 h4 h5 h6 header hr html li main ol p pre section summary table tbody
tfoot thead tr ul
"""
_VOID = frozenset(_VOID_TAGS.split())
#: Not shown, or about the site and not about its subject.
_DROPPED = frozenset(_DROPPED_TAGS.split())
_BLOCKS = frozenset(_BLOCK_TAGS.split())
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
#: Blocks inside of these are no borders.
_WHOLE = frozenset({"pre", "td", "th", *_HEADINGS})
#: One of these ends one that was left open.
_SIBLINGS = frozenset({"p", "li", "dt", "dd", "tr", "td", "th", "option"})
_HIDING = regex(r"display\s{0,9}:\s{0,9}none|visibility\s{0,9}:\s{0,9}hidden", re.IGNORECASE)
_TICKS = regex("`{3,}")
_CHARSET = re.compile(rb"""<meta[^>]{0,200}charset\s{0,9}=\s{0,9}["']?([\w-]{1,40})""", re.I)
_CHARSETS = regex(
    r"utf-8|us-ascii|iso-8859-\d{1,2}|windows-125\d|koi8-[ru]|shift_jis|euc-(?:jp|kr)|big5|gb\w+"
)


def charset(data: bytes) -> str | None:
    """The charset that a page declares, if it is one in use on the web."""
    found = _CHARSET.search(data[:4096])
    name = found[1].decode("ascii").lower() if found else ""
    known = {"gb2312", "gbk", "gb18030"}
    is_known = _CHARSETS.fullmatch(name) and (not name.startswith("gb") or name in known)
    return name if is_known else None


def read_html(text: str, deadline: Deadline) -> ReadDocument:
    """The sections of a page."""
    reader = _HtmlReader()
    for number, token in enumerate(tokens(text)):
        if number % _LOOK_EVERY == 0:
            deadline.check()
        if isinstance(token, str):
            reader.text(token)
        elif token.is_end:
            reader.close(token.name)
        else:
            reader.open(token)
    reader.end(deadline)
    return ReadDocument(" ".join("".join(reader.title).split())[:500], reader.outline.sections())


class _HtmlReader:
    """Takes tags and texts as they come."""

    def __init__(self) -> None:
        self.outline = Outline()
        self.title: list[str] = []
        #: Open tags, whether each hides what is in it, and how many there are of each.
        self._stack: list[tuple[str, bool]] = []
        self._open: Counter[str] = Counter()
        self._hidden = 0
        #: How many of the open tags are of those inside of which there are no borders.
        self._whole = 0
        self._text: list[str] = []
        #: The cells of the row we are in.
        self._cells: list[str] = []
        #: The rows, or the items, that belong to one block.
        self._rows: list[str] = []

    def open(self, tag: Tag) -> None:
        name = tag.name
        if name in _VOID:
            if name in ("br", "hr"):
                self._text.append("\n")
            return
        if name == "body":  # A head that was left open ends here.
            self.close("head")
        if self._stack and self._is_ended_by(name):
            self.close(self._stack[-1][0])
        if name in _BLOCKS:
            self._break(name)
        hides = name in _DROPPED or _is_hidden(tag)
        self._stack.append((name, hides))
        self._open[name] += 1
        self._whole += name in _WHOLE
        self._hidden += hides
        if tag.closes_itself:
            self.close(name)

    def text(self, text: str) -> None:
        if self._stack and self._stack[-1][0] == "title" and not self._open["svg"]:
            self.title.append(text)
        elif not self._hidden:
            self._text.append(text if self._open["pre"] else " ".join(_spaced(text)))

    def end(self, deadline: Deadline) -> None:
        """The page ends, also where tags are open."""
        while self._stack:
            if len(self._stack) % _LOOK_EVERY == 0:
                deadline.check()
            self.close(self._stack[-1][0])
        self._break("body")
        self._flush()

    def _is_ended_by(self, tag: str) -> bool:
        last = self._stack[-1][0]
        if last in _HEADINGS:
            return tag in _HEADINGS
        return (tag in _SIBLINGS and last == tag) or (last == "p" and tag in _BLOCKS)

    def close(self, tag: str) -> None:
        """Close a tag and what was left open in it; a tag that is not open closes nothing."""
        while self._open[tag]:
            last, hides = self._stack.pop()
            self._open[last] -= 1
            self._whole -= last in _WHOLE
            self._shut(last)
            self._hidden -= hides
            if last == tag:
                return

    def _shut(self, tag: str) -> None:
        if tag in _HEADINGS and not self._hidden:
            title = self._taken()
            self._flush()
            self.outline.heading(_HEADINGS[tag], title)
        elif tag == "pre":
            self._code()
        elif tag in ("td", "th") and not self._hidden:
            self._cells.append(" ".join(self._taken().split()).replace("|", "\\|"))
        elif tag in _BLOCKS:
            self._break(tag)

    def _break(self, tag: str) -> None:
        """A block begins or ends. Rows and items are kept together; a cell or a heading is one."""
        if self._whole:
            self._text.append(" ")
            return
        said = self._taken()
        if self._cells:
            self._rows.append(f"| {' | '.join(self._cells)} |" if any(self._cells) else "")
            self._cells = []
        if not said:
            if tag in ("table", "ul", "ol", "dl") or tag in _HEADINGS or tag == "p":
                self._flush()
        elif self._open["li"] or tag == "li":
            self._rows.append(f"- {said}")
        else:
            self._flush()
            self.outline.block(said)

    def _code(self) -> None:
        code = "".join(self._text).strip("\n")
        self._text = []
        if not code.strip():
            return
        ticks = "`" * max([2, *map(len, _TICKS.findall(code))]) + "`"
        self._flush()
        self.outline.block(f"{ticks}\n{code}\n{ticks}")

    def _taken(self) -> str:
        """The text since the last border, its lines trimmed."""
        lines = "".join(self._text).split("\n")
        self._text = []
        return "\n".join(said for line in lines if (said := " ".join(line.split())))

    def _flush(self) -> None:
        self.outline.block("\n".join(row for row in self._rows if row))
        self._rows = []


def _spaced(data: str) -> list[str]:
    """Words, with an empty one at an end that had a space: joined, the space is there again."""
    words = data.split()
    if not words:
        return ["", ""] if data else []
    before = [""] if data[0].isspace() else []
    return [*before, *words, *([""] if data[-1].isspace() else [])]


def _is_hidden(tag: Tag) -> bool:
    if not tag.inside:
        return False
    given = tag.attributes()
    if "hidden" in given or given.get("aria-hidden") == "true":
        return True
    return _HIDING.search(given.get("style", "")) is not None
