"""Files and folders that only their owner may read: they hold what people said.

Nothing is left to the umask, which on most machines lets everybody read what a program writes.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

_FILE = 0o600
_FOLDER = 0o700
_GROUP_READS = 0o040
_GROUP_WRITES = 0o020
_OTHERS = 0o007


def create_private(path: str | Path) -> bool:
    """Make an empty file if there is none; whether it was made."""
    try:
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, _FILE)
    except FileExistsError:
        return False
    os.close(handle)
    return True


def write(path: Path, content: bytes) -> None:
    """Write a file; one that was there keeps no more readers than it should have had."""
    create_private(path)
    path.write_bytes(content)
    tighten(path)


def folder(path: Path) -> None:
    """Make a folder, and those above it that are missing."""
    for each in reversed([path, *path.parents]):
        if not each.exists():
            each.mkdir(mode=_FOLDER, exist_ok=True)


def tighten(path: str | Path) -> bool:
    """Take from a file the readers that nobody chose; whether there were any.

    Who may only read a store cannot use it: SQLite writes beside it even for that. So such rights
    come from an umask, and go. A group that may write was chosen by somebody, and stays.
    """
    try:
        mode = stat.S_IMODE(os.stat(path).st_mode)
        if mode == _narrowed(mode):
            return False
        os.chmod(path, _narrowed(mode))
    except OSError:  # There is none, or it is somebody else's: `readers` tells.
        return False
    return True


def readers(path: str | Path) -> str:
    """Who but its owner may read a file: "", "its group" or "everybody"."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return ""
    if mode & _OTHERS:
        return "everybody"
    return "its group" if mode & _GROUP_READS else ""


def _narrowed(mode: int) -> int:
    if mode & _GROUP_WRITES:
        return mode & ~_OTHERS
    return mode & (stat.S_IRUSR | stat.S_IWUSR)
