"""From --db and --config to an open memory or store. Imports the machinery: only when needed."""

from __future__ import annotations

import shutil
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from holdfast import wiring
from holdfast.border import private
from holdfast.border.private import beside, whole_file
from holdfast.border.validate import check_file, is_address, without_password
from holdfast.config import default_db, load_for_command_line
from holdfast.errors import HoldfastError, NotAStore
from holdfast.memory.memory import Memory
from holdfast.records.entries import index_row
from holdfast.service.cli.show import note
from holdfast.store.protocols import Store
from holdfast.store.sealing import unseal
from holdfast.types import Finding


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
        check_exists(url)
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
        check_exists(url)
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


def show_page(address: str) -> None:
    """Open a page in the user's browser (BROWSER names another); where there is none, say so."""
    note(f"opening {address}")
    if not webbrowser.open(address):
        note("there is no browser here: open that address in one")


def check_exists(url: str) -> None:
    """Reading must not leave an empty database behind where a name was mistyped."""
    path = file_of(url)
    if "://" not in url:
        check_file(url)
    if path is not None and not path.exists():
        raise HoldfastError(
            f"no memory at {path}: store something with `holdfast remember`,"
            " or name another file with --db"
        )


# ----------------------------------------------------------------------
# Restore: a verified copy of a backup takes the place of a store, in one step.
# ----------------------------------------------------------------------


class Restored(NamedTuple):
    """What a backup became."""

    #: Where it is, without any password.
    place: str
    stats: dict[str, int]
    #: What doctor says of it.
    findings: list[Finding]
    #: False: the backup has no checksum, as those of older versions and plain copies of a store.
    was_sealed: bool


def restore_file(backup: Path, db: str, *, force: bool) -> Restored:
    """Put a copy of a backup in the place of a store, or into a database that is empty.

    The copy is opened and checked under another name first: a backup of another program, of a newer
    version or with damage is refused while the old store still stands.
    """
    target = file_of(db)
    if target is None:
        if force:
            raise HoldfastError(
                "--force is for a file: a server is restored into an empty database"
            )
        return _restore_server(backup, db)
    _check_source(backup, target)
    with whole_file(target, overwrite=force) as part:
        was_sealed = unseal(backup, part)
        if target.exists():
            shutil.copymode(target, part)  # A group that shares it shares what replaces it.
            private.tighten(part)
        try:
            stats, findings = _verified(part)
        except HoldfastError as error:
            raise type(error)(str(error).replace(str(part), str(backup))) from error
        _retire(target)
    return Restored(str(target), stats, findings, was_sealed)


def _restore_server(backup: Path, url: str) -> Restored:
    """Copy a backup into an empty database."""
    if is_address(url):
        raise HoldfastError("a service is restored where its store is: name that with --db")
    wiring.make_store(url).close()  # Whether it can be reached is told first.
    if not backup.is_file():
        raise HoldfastError(f"{backup}: no such file")
    place = without_password(url)
    with TemporaryDirectory() as folder:
        part = Path(folder) / "restored.db"
        was_sealed = unseal(backup, part)
        private.tighten(part)
        stats, findings = _verified(part)
        done = wiring.migrate(part, url, finish=True)
        if done.behind or done.different:
            raise HoldfastError(f"the copy in {place} differs from {backup}: do not use it")
    return Restored(place, stats, findings, was_sealed)


def _verified(part: Path) -> tuple[dict[str, int], list[Finding]]:
    store = wiring.make_store(part)
    try:
        findings, stats = store.check(index_row), store.stats()
    finally:
        store.close()
    for each in findings:
        if each.check == "integrity" and not each.ok:
            raise NotAStore(f"{part} is damaged: {each.detail}")
    return stats, findings


def _check_source(backup: Path, target: Path) -> None:
    if not backup.is_file():
        raise HoldfastError(f"{backup}: no such file")
    if target.exists() and target.samefile(backup):
        raise HoldfastError(f"{backup} is the memory itself: name the backup first, --db for it")
    for other in beside(backup):
        if other.exists() and other.stat().st_size:
            raise HoldfastError(
                f"{other} lies beside it: {backup} is a store in use, not a backup;"
                " make one with `holdfast backup`"
            )
    with backup.open("rb") as file:
        header = file.read(100)
    # Where SQLite keeps the mark of the program: an empty database of anyone would open as ours.
    if header[68:72] != b"RECL":
        raise NotAStore(f"{backup} is not a backup of Holdfast")


def _retire(target: Path) -> None:
    """Make sure that nobody has the old store open, and that no log of it outlives it: the log of
    one store beside the file of another would damage it."""
    if not target.exists():
        _remove_logs(target)
        return
    try:
        # The last one to close a store folds its log into the file and removes the log.
        wiring.make_store(target).close()
    except HoldfastError:
        _remove_logs(target)  # It cannot be opened: that is why a backup is restored.
        return
    if any(other.exists() for other in beside(target)):
        raise HoldfastError(
            f"another process has {target} open: stop every server and worker first"
        )


def _remove_logs(target: Path) -> None:
    for other in beside(target):
        other.unlink(missing_ok=True)
