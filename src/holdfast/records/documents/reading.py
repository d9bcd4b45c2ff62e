"""Any document as sections: which format it has, and the reader for it."""

from __future__ import annotations

import re
from pathlib import PurePath

from holdfast.errors import InvalidInput
from holdfast.records.documents import plain
from holdfast.records.documents.html import charset, read_html
from holdfast.records.documents.markdown import read_markdown
from holdfast.records.documents.pdf import read_pdf
from holdfast.records.documents.values import Deadline, ReadDocument, ReadLimits

FORMATS = ("text", "markdown", "html", "pdf")
_EXTENSIONS = {
    ".txt": "text", ".text": "text", ".log": "text", ".csv": "text", ".rst": "text",
    ".md": "markdown", ".markdown": "markdown", ".mkd": "markdown",
    ".html": "html", ".htm": "html", ".xhtml": "html",
    ".pdf": "pdf",
}  # fmt: skip
_PAGE = re.compile(r"\s*(?:<!--.{0,500}?-->\s*)?<(?:!doctype\s+html|html)\b", re.I | re.S)


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
        text = plain.cleaned(data, name, warnings)
    else:
        declared = charset(data) if format == "html" else None
        text = plain.decoded(data, name, warnings, declared)
    found = _by_format(text, format, deadline)
    if not found.sections:
        raise InvalidInput(f"{name} is blank: there is no text in it", field="source")
    return ReadDocument(found.title, found.sections, found.about, tuple(dict.fromkeys(warnings)))


def _by_format(text: str, format: str, deadline: Deadline) -> ReadDocument:
    if format == "markdown":
        return read_markdown(text, deadline)
    if format == "html":
        return read_html(text, deadline)
    return plain.read_text(text)
