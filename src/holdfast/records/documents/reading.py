"""Any document as sections: which format it has, and the reader for it."""

from __future__ import annotations

import codecs
import re
from pathlib import PurePath

from holdfast.border.validate import storable
from holdfast.errors import InvalidInput
from holdfast.language.regex import regex
from holdfast.records.documents.html import charset, read_html
from holdfast.records.documents.pdf import read_pdf
from holdfast.records.documents.values import Deadline, Outline, ReadDocument, ReadLimits, Section

# ----------------------------------------------------------------------
# Bytes as text, and plain text as one section.
# ----------------------------------------------------------------------

#: Beginnings of files that are no text, whatever they are called.
_MAGIC = {
    b"%PDF-": "a PDF",
    b"PK\x03\x04": "a zip archive (as docx, xlsx, odt and epub are)",
    b"PK\x05\x06": "an empty zip archive",
    b"\x1f\x8b": "compressed with gzip",
    b"BZh": "compressed with bzip2",
    b"\xfd7zXZ\x00": "compressed with xz",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"\xd0\xcf\x11\xe0": "an old Office document",
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"\x7fELF": "a program",
    b"SQLite format 3\x00": "a SQLite database",
}
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
#: More of these than one character in twenty is no text. Tab, line ends and form feed are.
_CONTROL = regex("[\x00-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f]")
_MOST_CONTROL = 0.05
_LOOKED_AT = 65_536
_BLANK = "\ufffd\ufeff \t\n\r\f\v"


def decode(data: bytes, name: str, warnings: list[str], charset: str | None = None) -> str:
    """Bytes as text: by their byte order mark, by the charset they declare, else UTF-8, else
    Windows-1252, which any bytes can be read as and so is worth a warning."""
    for magic, what in _MAGIC.items():
        if data.startswith(magic):
            raise InvalidInput(f"{name} is {what}, not text", field="source")
    text = _by_mark(data, name, warnings)
    if text is None and charset is not None:
        text = _strictly(data, charset)
    if text is None:
        text = _strictly(data, "utf-8")
    if text is None:
        text = data.decode("cp1252", "replace")
        warnings.append(f"{name} is not UTF-8: read as Windows-1252 (Latin-1)")
    return clean(text, name, warnings)


def clean(text: str, name: str, warnings: list[str]) -> str:
    """A text with line feeds only and nothing that cannot be stored; refused if it is none."""
    sample = text[:_LOOKED_AT]
    if len(_CONTROL.findall(sample)) > len(sample) * _MOST_CONTROL:
        raise InvalidInput(
            f"{name} is not text: more than {_MOST_CONTROL:.0%} of it are control characters",
            field="source",
        )
    kept = storable(text, name, warnings)
    kept = kept.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if not kept.strip(_BLANK):
        raise InvalidInput(f"{name} is blank: there is no text in it", field="source")
    return kept


def read_text(text: str) -> ReadDocument:
    """Plain text has no headings; a form feed begins another block."""
    return ReadDocument("", (Section((), text.replace("\f", "\n\n").strip()),))


def _by_mark(data: bytes, name: str, warnings: list[str]) -> str | None:
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            text = _strictly(data, encoding)
            if text is None:
                warnings.append(f"{name} is damaged {encoding}: some characters became U+FFFD")
                text = data.decode(encoding, "replace")
            return text
    return None


def _strictly(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None


# ----------------------------------------------------------------------
# Markdown: sections by its headings; code blocks, lists and tables stay as they are written.
# ----------------------------------------------------------------------

# ----------------------------------------------------------------------
# Where a block of code begins and ends in text: lines of three or more backticks or tildes.
# ----------------------------------------------------------------------

_OPENING = regex(r"\s{0,40}(`{3,}|~{3,})")


def opening_fence(line: str) -> str:
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

_SETEXT = regex(r" {0,3}(=+|-+)[ \t]*$")
#: A list, a quotation, a table or indented code: a line of dashes under it makes no heading.
_NO_TITLE = regex(r" {0,3}(?:[-*+>|]|\d{1,9}[.)])(?:\s|$)|\t| {4}|\|")
_RULE = regex(r" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$")
_ANCHOR = regex(r"(?<!\s)\s*+\{#[^{}]{0,100}\}$")
_FRONT = regex(r"([A-Za-z][\w-]{0,60}):[ \t]+(\S.*)$")


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
        fence = opening_fence(line)
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


FORMATS = ("text", "markdown", "html", "pdf")
_EXTENSIONS = {
    ".txt": "text", ".text": "text", ".log": "text", ".csv": "text", ".rst": "text",
    ".md": "markdown", ".markdown": "markdown", ".mkd": "markdown",
    ".html": "html", ".htm": "html", ".xhtml": "html",
    ".pdf": "pdf",
}  # fmt: skip
_PAGE = regex(r"\s*(?:<!--.{0,500}?-->\s*)?<(?:!doctype\s+html|html)\b", re.I | re.S)


def format_of(data: bytes | str, name: str, given: object = None) -> str:
    """The format that was given, else that of the name's ending, else that of the beginning."""
    if given is not None:
        if given not in FORMATS:
            raise InvalidInput(
                f"format must be one of {', '.join(FORMATS)}, not {str(given)[:64]!r}",
                field="format",
            )
        return str(given)
    by_name = _EXTENSIONS.get(PurePath(name).suffix.lower())
    if by_name is not None:
        return by_name
    if isinstance(data, str):
        return "html" if _PAGE.match(data[:1024]) else "text"
    if b"%PDF-" in data[:1024]:
        return "pdf"
    return "html" if _PAGE.match(data[:1024].decode("latin-1").lstrip("ï»¿")) else "text"


def read_document(
    data: bytes | str, name: str, format: str, *, limits: ReadLimits, deadline: Deadline
) -> ReadDocument:
    """What a document says, or an error that says why it cannot be read."""
    if not data:
        raise InvalidInput(f"{name} is empty", field="source")
    if format == "pdf":
        if isinstance(data, str):
            raise InvalidInput(f"{name} is a text: a PDF is given as bytes", field="source")
        return read_pdf(data, name, limits, deadline)
    warnings: list[str] = []
    if isinstance(data, str):
        text = clean(data, name, warnings)
    else:
        declared = charset(data) if format == "html" else None
        text = decode(data, name, warnings, declared)
    found = _by_format(text, format, deadline)
    if not found.sections:
        raise InvalidInput(f"{name} is blank: there is no text in it", field="source")
    return ReadDocument(found.title, found.sections, found.about, tuple(dict.fromkeys(warnings)))


def _by_format(text: str, format: str, deadline: Deadline) -> ReadDocument:
    if format == "markdown":
        return read_markdown(text, deadline)
    if format == "html":
        return read_html(text, deadline)
    return read_text(text)
