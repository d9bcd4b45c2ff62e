"""Restore: a verified copy of a backup takes the place of a store, in one step."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NamedTuple

from holdfast import wiring
from holdfast.border import private
from holdfast.errors import HoldfastError, NotAStore
from holdfast.records.entries import index_row
from holdfast.service.cli.files import beside, whole_file
from holdfast.service.cli.opening import file_of
from holdfast.store.sealing import unseal
from holdfast.types import Finding


class Restored(NamedTuple):
    """What a backup became."""

    file: Path
    stats: dict[str, int]
    #: What doctor says of it.
    findings: list[Finding]
    #: False: the backup has no checksum, as those of older versions and plain copies of a store.
    was_sealed: bool


def restore_file(backup: Path, db: str, *, force: bool) -> Restored:
    """Put a copy of a backup in the place of a store.

    The copy is opened and checked under another name first: a backup of another program, of a newer
    version or with damage is refused while the old store still stands.
    """
    target = file_of(db)
    if target is None:
        raise HoldfastError(f"restore writes a file, not {db!r}: name a path with --db")
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
    return Restored(target, stats, findings, was_sealed)


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
