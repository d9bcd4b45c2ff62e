"""Files and folders that only their owner may read: they hold what people said. A new file appears
whole or not at all.

Nothing is left to the umask, which on most machines lets everybody read what a program writes.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from holdfast.errors import HoldfastError

_FILE = 0o600
_FOLDER = 0o700
_GROUP_READS = 0o040
_GROUP_WRITES = 0o020
_OTHERS = 0o007


#: What SQLite keeps beside a database.
BESIDE = ("-wal", "-shm", "-journal")
#: How the name of a file ends that is not whole yet.
_PART = ".holdfast.part"


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


@contextmanager
def whole_file(path: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """An empty file beside `path` to write to; on leaving it is flushed to the disk and becomes
    `path`.

    After an error nothing is left behind and `path` is as it was. What one that was killed left
    behind is removed by the next.
    """
    if path.is_dir():
        raise HoldfastError(f"{path} is a folder: name a file")
    if path.exists() and not overwrite:
        raise HoldfastError(f"{path} exists already: name another file, or overwrite with --force")
    if not path.resolve().parent.is_dir():
        raise HoldfastError(f"the folder {path.resolve().parent} does not exist")
    _sweep(path)
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}{_PART}")
    create_private(part)
    handle = os.open(part, os.O_RDONLY)
    try:
        # Whoever holds this lock is alive: numbers of processes say nothing between containers.
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield part
        _sync(part)
        part.replace(path)
        _sync(path.resolve().parent)
    finally:
        _remove(part)
        os.close(handle)


def is_database(path: Path) -> bool:
    """Whether an SQLite database lies there."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(16) == b"SQLite format 3\0"


def beside(path: Path) -> list[Path]:
    """The files that SQLite may keep beside a database."""
    return [path.with_name(path.name + ending) for ending in BESIDE]


def _sweep(path: Path) -> None:
    """Remove what we began in its folder and nobody is writing any more, under whatever name."""
    for part in path.resolve().parent.glob(f".*{_PART}"):
        handle = os.open(part, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(part)
        except BlockingIOError:
            pass
        finally:
            os.close(handle)


def _remove(part: Path) -> None:
    for leftover in (part, *beside(part)):
        leftover.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
