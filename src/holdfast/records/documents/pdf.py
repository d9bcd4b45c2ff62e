"""PDF: its pages as text, under the headings of its outline.

A PDF is a program of sorts, and one that was made to harm can unpack without end. So it is read in
a process of its own (`pdf_child.py`) that has little memory and is ended when its time is over.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from holdfast.border.validate import storable
from holdfast.errors import InvalidInput, TooLarge
from holdfast.records.documents.values import (
    MIB,
    MOST_HEADING,
    Deadline,
    ReadDocument,
    ReadLimits,
    Section,
)

_CHILD = Path(__file__).with_name("pdf_child.py")
#: Killed by the limit on its processor time, or for its memory.
_KILLED = (-signal.SIGXCPU, -signal.SIGKILL)
_DEEPEST = 6


def read_pdf(data: bytes, name: str, limits: ReadLimits, deadline: Deadline) -> ReadDocument:
    """The pages of a PDF."""
    if b"%PDF-" not in data[:1024]:
        raise InvalidInput(f"{name} is no PDF: its beginning does not say so", field="source")
    found = _run_child(data, name, limits, deadline)
    _refuse(found, name, limits)
    warnings = [f"{name}: {each}" for each in found["warnings"]]
    pages = [storable(page, name, warnings) for page in found["pages"]]
    sections = _sections(pages, found["outline"])
    if not sections:
        raise InvalidInput(
            f"{name} holds no text on {len(pages)} pages: a scanned PDF needs text recognition"
            " before it is added",
            field="source",
        )
    title = " ".join(storable(found["title"], name, warnings).split())
    return ReadDocument(title[:500], tuple(sections), warnings=tuple(dict.fromkeys(warnings)))


def _run_child(data: bytes, name: str, limits: ReadLimits, deadline: Deadline) -> dict[str, Any]:
    deadline.check()
    asked = {
        "pages": limits.pages,
        "characters": limits.bytes,
        "memory": limits.memory_bytes,
        "seconds": int(deadline.left) + 1,
    }
    try:
        # Its own folder must not be searched for modules: it has an html.py.
        done = subprocess.run(
            [sys.executable, "-P", str(_CHILD), json.dumps(asked)],
            input=data, capture_output=True, timeout=deadline.left, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise deadline.over() from None
    if done.returncode in _KILLED:
        raise deadline.over()
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().rsplit("\n", 1)[-1][:200]
        raise InvalidInput(f"{name}: the reader of PDFs failed: {said}", field="source")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _refuse(found: dict[str, Any], name: str, limits: ReadLimits) -> None:
    error = found.get("error")
    if error is None:
        return
    if error == "encrypted":
        raise InvalidInput(
            f"{name} is encrypted: save it without its password and add that", field="source"
        )
    if error == "broken":
        raise InvalidInput(f"{name} is a broken PDF: it cannot be read", field="source")
    over = {
        "pages": f"has more than {limits.pages} pages, the limit",
        "characters": f"holds more than {limits.bytes} characters, the limit",
        "memory": f"needs more memory than the limit of {limits.memory_bytes // MIB} MiB",
        "limit": f"unpacks to more than a PDF may: {found.get('detail')}",
    }
    raise TooLarge(f"{name} {over[error]}", field="source")


def _sections(pages: list[str], outline: list[tuple[int, str, int]]) -> list[Section]:
    """A section per page, and per heading of the outline that is found on it."""
    found: list[Section] = []
    path: list[str] = []
    for number, page in enumerate(pages, start=1):
        start = 0
        for level, title, begins in outline:
            if begins != number:
                continue
            at = _line_of(page, title, start)
            _add(found, path, page[start:at], number)
            path = [*path[: min(level, _DEEPEST) - 1], " ".join(title.split())[:MOST_HEADING]]
            start = at
        _add(found, path, page[start:], number)
    return found


def _add(found: list[Section], path: list[str], text: str, page: int) -> None:
    if text.strip():
        found.append(Section(tuple(path), text.strip("\n"), page))


def _line_of(page: str, title: str, start: int) -> int:
    """Where the line begins that says a heading; where we are if there is none."""
    wanted = "".join(title.split()).casefold()
    at = start
    for line in page[start:].splitlines(keepends=True):
        said = "".join(line.split()).casefold()
        if wanted and said.endswith(wanted) and len(said) <= len(wanted) + 10:
            return at
        at += len(line)
    return start
