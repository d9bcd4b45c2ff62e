"""Sections cut into chunks: small enough to be found and told by themselves, each with the headings
it stands under in front.

Cuts fall between paragraphs, code blocks or tables; in one that is too long between its lines or
sentences, then between words, then anywhere. Every character that is not a space comes into exactly
one chunk, in order. The same sections give the same chunks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from holdfast.errors import TooLarge
from holdfast.language.regex import regex
from holdfast.language.sentences import DENSE_STOPS, STOPS
from holdfast.language.tokens import count_tokens
from holdfast.records.documents.reading import is_closing, opening_fence
from holdfast.records.documents.values import Deadline, Section

#: Tokens of a chunk with its headings, and of the headings alone. By hand, not measured.
MOST_TOKENS = 320
MOST_PATH_TOKENS = 80
#: Two texts side by side can have a few tokens more than each for itself.
_SLACK = 4
#: Units between two looks at the clock.
_LOOK_EVERY = 5_000

_SENTENCE = regex(rf"(?<=[{STOPS}…])[\"'”’)\]]{{0,3}}\s+|(?<=[{DENSE_STOPS}])\s*(?=\S)|\n")
_WORD = regex(r"\S+")
#: What reads better on a line of its own.
_LINES = ("```", "~~~", "|", "- ")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document."""

    headings: tuple[str, ...]
    page: int | None
    #: What is stored and searched: the headings, then the text.
    content: str
    #: Where in it the text begins.
    start: int
    tokens: int

    @property
    def text(self) -> str:
        return self.content[self.start :]


@dataclass(frozen=True, slots=True)
class _Unit:
    """Text that is not cut, and what stood before it."""

    text: str
    before: str
    tokens: int


def chunks(
    sections: Iterable[Section], *, title: str = "", most: int, deadline: Deadline
) -> list[Chunk]:
    """All chunks of a document, in order. What stands under no heading stands under the title."""
    found: list[Chunk] = []
    for section in sections:
        deadline.check()
        path, text = _path(section, title)
        for chunk in _packed(section, path, text, deadline):
            found.append(chunk)
            if len(found) > most:
                raise TooLarge(f"source has more than {most} chunks, the limit", field="source")
    return found


def _path(section: Section, title: str) -> tuple[str, str]:
    """The headings as they stand in front, and the text. The outermost ones go if there are too
    many; one that is too long by itself is text."""
    headings = section.headings or ((title,) if title else ())
    for first in range(len(headings)):
        path = " > ".join(headings[first:])
        if count_tokens(path) <= MOST_PATH_TOKENS:
            return path, section.text
    if section.headings:
        return "", f"{section.headings[-1]}\n\n{section.text}"
    return "", section.text


def _packed(section: Section, path: str, text: str, deadline: Deadline) -> Iterator[Chunk]:
    room = MOST_TOKENS - (count_tokens(f"{path}: ") + _SLACK if path else 0)
    waiting: list[_Unit] = []
    size = 0
    for number, unit in enumerate(_units(text, room)):
        if number % _LOOK_EVERY == 0:
            deadline.check()
        if waiting and size + unit.tokens > room:
            yield from _made(section, path, waiting)
            waiting, size = [], 0
        waiting.append(unit)
        size += unit.tokens
    if waiting:
        yield from _made(section, path, waiting)


def _made(section: Section, path: str, units: list[_Unit]) -> Iterator[Chunk]:
    """The chunk of some units; two, should it have become too long by being put together."""
    first, *others = units
    text = first.text + "".join(unit.before + unit.text for unit in others)
    border = ":\n" if first.text.lstrip().startswith(_LINES) else ": "
    front = path + border if path else ""
    tokens = count_tokens(front + text)
    if tokens > MOST_TOKENS and others:
        middle = len(units) // 2
        yield from _made(section, path, units[:middle])
        yield from _made(section, path, units[middle:])
    else:
        yield Chunk(section.headings, section.page, front + text, len(front), tokens)


def _units(text: str, room: int) -> Iterator[_Unit]:
    for block in _blocks(text):
        tokens = count_tokens(block)
        if tokens <= room:
            yield _Unit(block, "\n\n", tokens)
        else:
            yield from _parts(block, room)


def _parts(block: str, room: int) -> Iterator[_Unit]:
    """A block that is too long, in lines or sentences, and these in words if they are too long."""
    is_lines = block.lstrip().startswith(_LINES)
    before = "\n\n"
    for part in block.split("\n") if is_lines else _sentences(block):
        said = part.rstrip() if is_lines else part.strip()
        tokens = count_tokens(said)
        if not said.strip():
            continue
        if tokens <= room:
            yield _Unit(said, before, tokens + 1)
        else:
            yield from _words(said, before, room)
        before = "\n" if is_lines or "\n" in part[len(part.rstrip()) :] else " "


def _sentences(block: str) -> Iterator[str]:
    start = 0
    for border in _SENTENCE.finditer(block):
        yield block[start : border.end()]
        start = border.end()
    yield block[start:]


def _words(text: str, before: str, room: int) -> Iterator[_Unit]:
    for found in _WORD.finditer(text):
        word = found[0]
        tokens = count_tokens(f" {word}")
        if tokens <= room:
            yield _Unit(word, before, tokens)
        else:
            yield from _cut(word, before, room)
        before = " "


def _cut(word: str, before: str, room: int) -> Iterator[_Unit]:
    """A word that is longer than a chunk, in pieces that fit."""
    start = 0
    while start < len(word):
        size = min(room, len(word) - start)
        tokens = count_tokens(word[start : start + size])
        while tokens > room and size > 1:
            size = max(1, size * room // tokens - 1)
            tokens = count_tokens(word[start : start + size])
        yield _Unit(word[start : start + size], before, tokens + 1)
        start += size
        before = ""


def _blocks(text: str) -> Iterator[str]:
    """Paragraphs, lists, tables, and code blocks whole with the empty lines in them."""
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        begun = "" if fence else opening_fence(line)
        is_border = not fence and not line.strip()
        if (begun or is_border) and lines:
            yield "\n".join(lines)
            lines = []
        if not is_border:
            lines.append(line)
        if fence and is_closing(line, fence):
            yield "\n".join(lines)
            lines, fence = [], ""
        fence = begun or fence
    if lines:
        yield "\n".join(lines)
