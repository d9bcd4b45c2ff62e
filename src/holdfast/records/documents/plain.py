"""Bytes as text, and plain text as one section."""

from __future__ import annotations

import codecs
import re

from holdfast.border.validate import storable
from holdfast.errors import InvalidInput
from holdfast.records.documents.values import ReadDocument, Section

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
_CONTROL = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f]")
_MOST_CONTROL = 0.05
_LOOKED_AT = 65_536
_BLANK = "\ufffd\ufeff \t\n\r\f\v"


def decoded(data: bytes, name: str, warnings: list[str], charset: str | None = None) -> str:
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
    return cleaned(text, name, warnings)


def cleaned(text: str, name: str, warnings: list[str]) -> str:
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
