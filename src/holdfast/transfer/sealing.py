"""Exports that notice any damage: the last line holds the digest of all lines before it.

The header names the format and the closing line itself, so that neither can be lost, or changed in
a bit, without the other telling: the whole file is looked at before anything of it is stored.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, cast

from holdfast.errors import InvalidInput
from holdfast.transfer.fields import CLOSING, FORMAT, FORMATS, FORMER_HEADER, HEADER, to_line

#: A header has a number for each type of line; a closing line is shorter.
_LONGEST = 4096
_PIECE_BYTES = 1 << 20
_CLOSES = f'\n{{"{CLOSING}":'.encode()
_HOW_ON = "take another export, or what can still be read of it with `holdfast import --salvage`"


class Sealing:
    """Writes lines to a file, and at last the one that closes it."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._digest = hashlib.sha256()
        self._lines = 0

    def write(self, piece: bytes) -> None:
        """Lines, or parts of them."""
        self._digest.update(piece)
        self._lines += piece.count(b"\n")
        self._out.write(piece)

    def close(self) -> None:
        """Write the closing line."""
        self._out.write(to_line({CLOSING: self._lines, "sha256": self._digest.hexdigest()}))


@contextmanager
def check_seal(source: BinaryIO, *, salvage: bool = False) -> Iterator[BinaryIO]:
    """The same file, once it is known to be whole; InvalidInput says what is wrong with it.

    Of files without a header and a closing line nobody can tell. `salvage`: only the format must be
    one that we know.
    """
    with _seekable(source) as file:
        start = file.tell()
        header = _object(file.readline(_LONGEST))
        _check_format(header)
        where, closing = _closing(file, start)
        if not salvage and (closing is not None or header.get(HEADER) == FORMAT):
            file.seek(start)
            _check_digest(file, where - start, closing, is_headed=header.get(HEADER) == FORMAT)
        file.seek(start)
        yield file


@contextmanager
def _seekable(source: BinaryIO) -> Iterator[BinaryIO]:
    if source.seekable():
        yield source
        return
    with tempfile.TemporaryFile() as file:
        shutil.copyfileobj(source, file)
        file.seek(0)
        yield cast("BinaryIO", file)


def _check_format(header: dict[str, Any]) -> None:
    version = header.get(HEADER, header.get(FORMER_HEADER))
    if {HEADER, FORMER_HEADER} & {*header} and (
        version not in FORMATS or isinstance(version, bool)
    ):
        known = " and ".join(map(str, FORMATS))
        raise InvalidInput(
            f"this is an export of format {str(version)[:16]}, this version of Holdfast reads"
            f" {known}: upgrade Holdfast, or export again"
        )


def _closing(file: BinaryIO, start: int) -> tuple[int, dict[str, Any] | None]:
    """Where the line that closes an export begins, and what it says. It should be the last."""
    file.seek(start)
    at, before, found = start, b"\n", -1
    while piece := file.read(_PIECE_BYTES):
        seen = before + piece
        place = seen.rfind(_CLOSES)
        if place >= 0:
            found = at - len(before) + place + 1
        at += len(piece)
        before = seen[-len(_CLOSES) :]
    if found < 0:
        return at, None
    file.seek(found)
    return found, _object(file.read(_LONGEST))


def _check_digest(
    file: BinaryIO, size: int, closing: dict[str, Any] | None, *, is_headed: bool
) -> None:
    if not closing:
        raise InvalidInput(f"the export is cut, or its last line is damaged: {_HOW_ON}")
    if not is_headed:
        raise InvalidInput(f"the first line of the export is lost or damaged: {_HOW_ON}")
    digest, lines = hashlib.sha256(), 0
    while size and (piece := file.read(min(size, _PIECE_BYTES))):
        size -= len(piece)
        lines += piece.count(b"\n")
        digest.update(piece)
    if closing.get("sha256") != digest.hexdigest() or closing.get(CLOSING) != lines:
        said = (
            f"its last line speaks of {str(closing.get(CLOSING))[:20]} lines before it, there are"
        )
        why = f"{said} {lines}" if closing.get(CLOSING) != lines else "its checksum differs"
        raise InvalidInput(f"the export is damaged: it is not what was exported ({why}): {_HOW_ON}")


def _object(line: bytes) -> dict[str, Any]:
    """The JSON object of a line; {} for anything else."""
    try:
        value = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
