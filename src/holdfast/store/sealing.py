"""Backups that notice any damage: one file, sealed with the digest of all that it holds.

A sealed backup is a copy of a store in which the first 16 bytes, by which SQLite knows its files,
are ours, with 32 bytes more at the end: the SHA-256 of everything before. So no change of a bit
anywhere, not even in the mark, makes a sealed backup one of the plain copies that older versions
made; and nobody opens one by mistake and changes it.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from holdfast.errors import NotAStore

_MARK = b"Holdfast backup\0"
_SQLITE = b"SQLite format 3\0"
_DIGEST_BYTES = 32
_PIECE_BYTES = 1 << 20


def seal(path: Path) -> None:
    """Make a sealed backup of a plain copy, in its place."""
    with path.open("r+b") as file:
        file.write(_MARK)
        file.seek(0)
        digest = hashlib.file_digest(file, "sha256").digest()
        file.seek(0, 2)
        file.write(digest)


def is_sealed(path: Path) -> bool:
    """Whether a file says that it is a sealed backup."""
    try:
        with path.open("rb") as file:
            return file.read(len(_MARK)) == _MARK
    except OSError:
        return False


def unseal(backup: Path, target: Path) -> bool:
    """Write the plain copy; NotAStore if the backup is not what was sealed. False: it is a plain
    copy itself, and nobody can tell whether it was changed."""
    with backup.open("rb") as file, target.open("wb") as out:
        mark = file.read(len(_MARK))
        if mark not in (_MARK, _SQLITE):
            raise NotAStore(f"{backup} is not a backup of Holdfast, or its beginning is damaged")
        out.write(_SQLITE)
        left = backup.stat().st_size - len(_MARK)
        sealed = hashlib.sha256(mark) if mark == _MARK else None
        left -= _DIGEST_BYTES if sealed else 0
        while left > 0 and (piece := file.read(min(left, _PIECE_BYTES))):
            left -= len(piece)
            out.write(piece)
            if sealed:
                sealed.update(piece)
        if sealed and sealed.digest() != file.read():
            raise NotAStore(
                f"{backup} is damaged: it is not what was backed up (its checksum differs);"
                " take another backup, or copy this one again from where it came"
            )
        return sealed is not None
