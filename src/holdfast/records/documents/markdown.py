"""Markdown: sections by its headings; code blocks, lists and tables stay as they are written."""

from __future__ import annotations

import re

from holdfast.records.documents.values import Deadline, Outline, ReadDocument

# ----------------------------------------------------------------------
# Where a block of code begins and ends in text: lines of three or more backticks or tildes.
# ----------------------------------------------------------------------

_OPENING = re.compile(r"\s{0,40}(`{3,}|~{3,})")


def opening(line: str) -> str:
    """The fence that a line begins a block of code with; an empty text if it does not."""
    found = _OPENING.match(line)
    return found[1] if found else ""


def is_closing(line: str, fence: str) -> bool:
    """Whether a line ends the block that a fence began."""
    said = line.strip()
    return said.startswith(fence) and not said.strip(fence[0])


#: Lines between two looks at the clock.
_LOOK_EVERY = 20_000
#: Front matter that does not end within so many lines is none.
_MOST_FRONT_LINES = 200
_MOST_FRONT_CHARS = 500
_MOST_FRONT_KEYS = 32

_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*$")
#: A list, a quotation, a table or indented code: a line of dashes under it makes no heading.
_NO_TITLE = re.compile(r" {0,3}(?:[-*+>|]|\d{1,9}[.)])(?:\s|$)|\t| {4}|\|")
_RULE = re.compile(r" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$")
_ANCHOR = re.compile(r"(?<!\s)\s*+\{#[^{}]{0,100}\}$")
_FRONT = re.compile(r"([A-Za-z][\w-]{0,60}):[ \t]+(\S.*)$")


def read_markdown(text: str, deadline: Deadline) -> ReadDocument:
    """The sections of a Markdown text; front matter is about the document, not of it."""
    lines = text.split("\n")
    about, start = _front_matter(lines)
    reader = _MarkdownReader()
    for number in range(start, len(lines)):
        if number % _LOOK_EVERY == 0:
            deadline.check()
        reader.line(lines[number])
    reader.end()
    return ReadDocument(about.get("title", ""), reader.outline.sections(), about)


class _MarkdownReader:
    """Takes line after line."""

    def __init__(self) -> None:
        self.outline = Outline()
        self._lines: list[str] = []
        #: What opened the block of code we are in.
        self._fence = ""

    def line(self, line: str) -> None:
        if self._fence:
            self._in_code(line)
            return
        fence = opening(line)
        heading = _heading(line)
        if fence:
            self.end()
            self._fence = fence
            self._lines = [line.rstrip()]
        elif heading is not None:
            self.end()
            self.outline.heading(*heading)
        elif not line.strip():
            self.end()
        else:
            self._in_text(line)

    def end(self) -> None:
        """A block ends here."""
        self.outline.block("\n".join(self._lines))
        self._lines = []
        self._fence = ""

    def _in_code(self, line: str) -> None:
        self._lines.append(line.rstrip())
        if is_closing(line, self._fence):
            self.end()

    def _in_text(self, line: str) -> None:
        underline = _SETEXT.match(line) if len(line) < 200 else None
        if underline and self._lines and not _NO_TITLE.match(self._lines[0]):
            title = " ".join(self._lines)
            self._lines = []
            self.outline.heading(1 if underline[1][0] == "=" else 2, title)
        elif len(line) < 200 and _RULE.match(line):
            self.end()
        else:
            self._lines.append(line.rstrip())


def _heading(line: str) -> tuple[int, str] | None:
    """The level and the title of a line such as "## Install"."""
    said = line.lstrip(" ")
    if not said.startswith("#") or len(line) - len(said) > 3:
        return None
    title = said.lstrip("#")
    level = len(said) - len(title)
    if level > 6 or (title and title[0] not in " \t"):
        return None
    title = title.strip()
    bare = title.rstrip("#")
    if not bare or bare[-1] in " \t":
        title = bare.rstrip()
    return level, _ANCHOR.sub("", title) if len(title) < 1000 else title


def _front_matter(lines: list[str]) -> tuple[dict[str, str], int]:
    """What stands between two lines of dashes at the very beginning, and where the text begins."""
    if lines[0].rstrip() != "---":
        return {}, 0
    about: dict[str, str] = {}
    for number, line in enumerate(lines[1:_MOST_FRONT_LINES], start=1):
        if line.rstrip() in ("---", "..."):
            return about, number + 1
        found = _FRONT.match(line[:_MOST_FRONT_CHARS])
        if found and len(about) < _MOST_FRONT_KEYS:
            about[found[1].lower()] = found[2].strip().strip("\"'")
    return {}, 0
