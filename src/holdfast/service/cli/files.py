"""New files that appear whole or not at all, and that only their owner may read."""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from holdfast.border import private
from holdfast.errors import HoldfastError

#: What SQLite keeps beside a database.
BESIDE = ("-wal", "-shm", "-journal")
#: How the name of a file ends that is not whole yet.
_PART = ".holdfast.part"


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
    private.create_private(part)
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
