"""New files that appear whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from recollect.errors import RecollectError

#: What SQLite keeps beside a database.
BESIDE = ("-wal", "-shm", "-journal")


@contextmanager
def whole_file(path: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """A name beside `path` to write to; on leaving it is flushed to the disk and becomes `path`.

    After an error nothing is left behind and `path` is as it was.
    """
    if path.is_dir():
        raise RecollectError(f"{path} is a folder: name a file")
    if path.exists() and not overwrite:
        raise RecollectError(f"{path} exists already: name another file, or overwrite with --force")
    if not path.resolve().parent.is_dir():
        raise RecollectError(f"the folder {path.resolve().parent} does not exist")
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield part
        _sync(part)
        part.replace(path)
        _sync(path.resolve().parent)
    finally:
        for leftover in (part, *beside(part)):
            leftover.unlink(missing_ok=True)


def is_database(path: Path) -> bool:
    """Whether an SQLite database lies there."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(16) == b"SQLite format 3\0"


def beside(path: Path) -> list[Path]:
    """The files that SQLite may keep beside a database."""
    return [path.with_name(path.name + ending) for ending in BESIDE]


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
