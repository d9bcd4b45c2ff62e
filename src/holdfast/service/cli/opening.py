"""From --db and --config to an open memory or store. Imports the machinery: only when needed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from holdfast import wiring
from holdfast.border.address import is_address
from holdfast.config import default_db, load_for_command_line
from holdfast.errors import HoldfastError
from holdfast.memory.memory import Memory
from holdfast.store.protocols import Store


@contextmanager
def memory_at(
    db: str | None,
    config: Path | None,
    *,
    must_exist: bool = True,
    here: bool = False,
    way: str = "",
) -> Iterator[Memory]:
    """The memory, without a background thread: a command does its work and ends.

    Of a service a client, with the key of HOLDFAST_API_KEY; `here` refuses one, and says in which
    `way` a service does the same.
    """
    url = db or default_db()
    settings = load_for_command_line(config)
    if here:
        check_here(url, way)
    if is_address(url):
        with wiring.connect(url) as client:
            yield client
        return
    if must_exist:
        _check_exists(url)
    with wiring.open(url, config=settings, worker=False) as memory:
        yield memory


@contextmanager
def store_at(
    db: str | None, config: Path | None, *, must_exist: bool = True, way: str = ""
) -> Iterator[Store]:
    """The store alone, for the operator's commands: no model is touched and no job is queued."""
    url = db or default_db()
    check_here(url, way)
    load_for_command_line(config)  # A wrong setting is told here as everywhere.
    if must_exist:
        _check_exists(url)
    store = wiring.make_store(url)
    try:
        yield store
    finally:
        store.close()


def check_here(url: str, way: str = "") -> None:
    """Refuse a service, for what works on the file itself; `way`: a request that does the same."""
    if is_address(url):
        other = f", or ask the service: {way}" if way else ""
        raise HoldfastError(
            "this command needs the file of the memory, not a service: run it where the file is"
            + other
        )


def is_far(memory: Memory) -> bool:
    """Whether a memory is behind a service, which has a worker of its own."""
    return not isinstance(memory, Memory)


def settle(memory: Memory) -> None:
    """Do what waits, so that what was just stored is found by meaning. A service does it itself."""
    if not is_far(memory):
        memory.drain()


def file_of(url: str) -> Path | None:
    """The file behind a path or sqlite:///path; None for what lies elsewhere."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        return Path(url)
    return Path(rest.removeprefix("/")) if scheme == "sqlite" else None


def _check_exists(url: str) -> None:
    """Reading must not leave an empty database behind where a name was mistyped."""
    path = file_of(url)
    if path is not None and not path.exists():
        raise HoldfastError(
            f"no memory at {path}: store something with `holdfast remember`,"
            " or name another file with --db"
        )
