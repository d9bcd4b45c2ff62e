"""The process that reads one PDF: its bytes come in, its pages go out as JSON.

It is run as a file of its own and knows nothing of Holdfast, so it starts fast. The library bounds
what a stream may unpack to; this process bounds memory and time. What is wrong with one page costs
that page alone.
"""

from __future__ import annotations

import json
import logging
import resource
import struct
import sys
import zlib
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import pypdf
from pypdf import errors

_MOST_ENTRIES = 5_000
_DEEPEST = 6
#: What a file that breaks the rules makes the library raise.
_BROKEN = (
    errors.PyPdfError, ArithmeticError, AssertionError, AttributeError, LookupError,
    NotImplementedError, OSError, RecursionError, TypeError, ValueError, struct.error, zlib.error,
)  # fmt: skip


class _TooLargeError(Exception):
    """Over a limit, which it names."""


def main() -> None:
    """Read from standard input, write to standard output."""
    limits = json.loads(sys.argv[1])
    logging.disable(logging.CRITICAL)
    resource.setrlimit(resource.RLIMIT_AS, (limits["memory"], limits["memory"]))
    resource.setrlimit(resource.RLIMIT_CPU, (limits["seconds"], limits["seconds"] + 1))
    try:
        answer = _read(sys.stdin.buffer.read(), limits)
    except _TooLargeError as error:
        answer = {"error": str(error)}
    except MemoryError:
        answer = {"error": "memory"}
    except errors.LimitReachedError as error:
        answer = {"error": "limit", "detail": str(error)[:200]}
    except _BROKEN:
        answer = {"error": "broken"}
    sys.stdout.write(json.dumps(answer))


def _read(data: bytes, limits: dict[str, int]) -> dict[str, Any]:
    reader = pypdf.PdfReader(BytesIO(data))
    if reader.is_encrypted and not _is_opened(reader):
        return {"error": "encrypted"}
    # What it says is quick to read but may be wrong.
    if _declared(reader) > limits["pages"] or len(reader.pages) > limits["pages"]:
        return {"error": "pages"}
    warnings: list[str] = []
    pages = list(_pages(reader, limits["characters"], warnings))
    return {
        "title": _title(reader),
        "pages": pages,
        "outline": _outline(reader, warnings),
        "warnings": warnings,
    }


def _declared(reader: pypdf.PdfReader) -> int:
    """How many pages it says that it has; 0 if it does not."""
    tree: Any = reader.root_object.get("/Pages")
    count = tree.get_object().get("/Count") if tree is not None else None
    return count if isinstance(count, int) else 0


def _is_opened(reader: pypdf.PdfReader) -> bool:
    """Whether it opens without a password, as one does that only forbids to print."""
    try:
        return bool(reader.decrypt(""))
    except (errors.DependencyError, NotImplementedError):
        return False


def _pages(reader: pypdf.PdfReader, most: int, warnings: list[str]) -> Iterator[str]:
    size = 0
    for number, page in enumerate(reader.pages, start=1):
        try:
            text = page.extract_text()
        except errors.LimitReachedError:
            raise
        except _BROKEN:
            warnings.append(f"page {number} cannot be read")
            text = ""
        size += len(text)
        if size > most:
            raise _TooLargeError("characters")
        yield text


def _title(reader: pypdf.PdfReader) -> str:
    try:
        title = reader.metadata.title if reader.metadata else None
    except _BROKEN:
        title = None
    return str(title or "")


def _outline(reader: pypdf.PdfReader, warnings: list[str]) -> list[tuple[int, str, int]]:
    """(level, title, page) of the headings, in order; both count from 1."""
    found: list[tuple[int, str, int]] = []
    try:
        for level, entry in _entries(reader.outline, 1):
            page = reader.get_destination_page_number(entry)
            if page is not None and page >= 0 and entry.title:
                found.append((level, str(entry.title), page + 1))
            if len(found) >= _MOST_ENTRIES:
                break
    except _BROKEN:
        warnings.append("its outline cannot be read")
    return found


def _entries(outline: Any, level: int) -> Iterator[tuple[int, Any]]:
    for each in outline:
        if not isinstance(each, list):
            yield level, each
        elif level < _DEEPEST:
            yield from _entries(each, level + 1)


if __name__ == "__main__":
    main()
