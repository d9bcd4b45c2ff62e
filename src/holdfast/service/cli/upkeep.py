"""Commands for the operator: doctor, import, export, backup, restore."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from holdfast.errors import HoldfastError
from holdfast.service.cli.command import top
from holdfast.service.cli.files import beside, is_database, whole_file
from holdfast.service.cli.show import (
    Agent,
    AsJson,
    ConfigFile,
    Db,
    Session,
    Workspace,
    columns,
    document,
    line,
    note,
    progress,
    several,
)

if TYPE_CHECKING:
    from holdfast.store.protocols import Store
    from holdfast.transfer import Imported, Problem
    from holdfast.types import Finding

#: More bad lines than this are counted, not listed, on the screen.
_SHOWN_PROBLEMS = 20

Force = Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")]


@top.command("doctor", epilog="Example: holdfast doctor --rebuild")
def doctor(
    *,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Mend what is derived: index, vectors, jobs.")
    ] = False,
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> int:
    """Check every invariant of the store; exit code 1 when something is wrong."""
    from holdfast.records.entries import index_row  # noqa: PLC0415
    from holdfast.service.cli.opening import store_at  # noqa: PLC0415

    mended = 0
    with store_at(db, config, way="GET /v1/doctor") as store:
        if rebuild:
            with progress("rebuilding"):
                mended = store.rebuild(index_row, steps=_steps(store))
        with progress("checking"):
            findings = store.check(index_row)
    well = all(each.ok for each in findings)
    if json:
        document({"ok": well, "mended": mended, "findings": findings})
        return 0 if well else 1
    if rebuild:
        line(f"mended {several(mended, 'row', 'rows')}")
    _show_findings(findings)
    return 0 if well else 1


@top.command("import", epilog="Example: holdfast import chat.jsonl --user ann")
def import_(  # noqa: PLR0913 (the options of the command)
    *,
    file: Annotated[str, typer.Argument(help="JSON lines; - reads stdin.")],
    user: Annotated[
        str | None,
        typer.Option(
            "--user", "-u", metavar="NAME", help="For lines that name none.", show_default=False
        ),
    ] = None,
    workspace: Workspace = "default",
    agent: Agent = None,
    session: Session = None,
    salvage: Annotated[
        bool, typer.Option("--salvage", help="Of a damaged export, take the lines that are good.")
    ] = False,
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> int:
    """Read an export, or plain messages as JSON lines; exit code 1 when lines were refused.

    A plain line is {"content": ..., "role"?, "name"?, "at"?, "metadata"?, "user"?, "workspace"?,
    "agent"?, "session"?}. A bad line is listed and does not stop the others. An export is
    checked first: one that is damaged is refused as a whole.
    """
    from holdfast.service.cli.opening import memory_at  # noqa: PLC0415
    from holdfast.transfer import import_from  # noqa: PLC0415

    opened = memory_at(db, config, must_exist=False, here=True, way="POST /v1/import")
    with _reading(file) as (source, size), opened as memory:
        with progress("importing") as step:
            done = import_from(
                memory,
                source,
                user=user,
                workspace=workspace,
                agent=agent,
                session=session,
                salvage=salvage,
                progress=lambda read: step(read, size),
            )
        waiting = memory.store.counts().ready
    if json:
        document(done)
    else:
        _show_import(done, waiting)
    return 1 if done.failed else 0


@top.command("export", epilog="Example: holdfast export memories.jsonl")
def export(
    *,
    file: Annotated[str, typer.Argument(help="A new file; - writes to stdout.")] = "-",
    no_vectors: Annotated[
        bool, typer.Option("--no-vectors", help="Smaller: the importing side embeds anew.")
    ] = False,
    force: Force = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """Write all memories as JSON lines that import to the identical store.

    Jobs and API keys are left out.
    """
    from holdfast.service.cli.opening import store_at  # noqa: PLC0415
    from holdfast.transfer import export_to  # noqa: PLC0415

    if is_database(Path(file)):
        raise HoldfastError(f"{file} is a database: an export never overwrites one")
    with (
        store_at(db, config, way="GET /v1/export") as store,
        progress("exporting") as step,
    ):
        vectors = not no_vectors
        if file == "-":
            counts = export_to(store, sys.stdout.buffer, vectors=vectors, progress=step)
            sys.stdout.buffer.flush()
        else:
            with whole_file(Path(file), overwrite=force) as part, part.open("wb") as out:
                folder = part.parent
                counts = export_to(store, out, vectors=vectors, spool=folder, progress=step)
    note(f"exported {several(counts['event'], 'memory', 'memories')}, {counts['vectors']} embedded")


@top.command("backup", epilog="Example: holdfast backup memories.backup")
def backup(
    *,
    file: Annotated[Path, typer.Argument(help="A new file.")],
    force: Force = False,
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """Copy the store to a new file while it is in use, and verify the copy."""
    from holdfast.config import default_db  # noqa: PLC0415
    from holdfast.service.cli.opening import file_of, store_at  # noqa: PLC0415

    source = file_of(db or default_db())
    if source is not None and file.exists() and file.samefile(source):
        raise HoldfastError(f"{file} is the memory itself: name another file for its backup")
    if file.is_file() and any(other.exists() for other in beside(file)):
        # The log of one store beside the file of another would be played into it.
        raise HoldfastError(f"{file} is a store in use, or was not closed: name another file")
    with store_at(db, config) as store, whole_file(file, overwrite=force) as part:
        with progress("backing up") as step:
            store.backup(part, progress=step)
        size = part.stat().st_size
    if json:
        document({"file": str(file), "bytes": size, "verified": True})
    else:
        line(f"backed up to {file}: {size:,} bytes, verified")


@top.command("restore", epilog="Example: holdfast restore memories.backup --db holdfast.db")
def restore(
    *,
    file: Annotated[Path, typer.Argument(help="A file that `holdfast backup` wrote.")],
    force: Annotated[
        bool, typer.Option("--force", help="Replace an existing memory; nobody may have it open.")
    ] = False,
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """Put a backup in the place of --db; it is verified before anything is changed."""
    from holdfast.config import default_db, load_for_command_line  # noqa: PLC0415
    from holdfast.service.cli.restore import restore_file  # noqa: PLC0415

    load_for_command_line(config)
    with progress("restoring"):
        done = restore_file(file, db or default_db(), force=force)
    events = done.stats["events"]
    if json:
        document(
            {
                "db": str(done.file),
                "events": events,
                "verified": done.was_sealed,
                "findings": done.findings,
            }
        )
        return
    line(f"restored {several(events, 'memory', 'memories')} to {done.file}")
    if not done.was_sealed:
        note(f"{file} has no checksum: whether it was damaged since it was made nobody can tell")
    if wrong := [each for each in done.findings if not each.ok]:
        note("run `holdfast doctor`: " + "; ".join(each.detail for each in wrong))


def _steps(store: Store) -> list[str]:
    """What must be done for every record: embed it in the newest space in use."""
    spaces = [space for space in store.spaces() if space.state != "retired"]
    building = [space for space in spaces if space.state == "building"]
    return [f"embed:{space.id}" for space in (building or spaces)[-1:]]


def _show_findings(findings: Sequence[Finding]) -> None:
    rows = [
        (
            each.check,
            "ok" if each.ok else "WRONG",
            each.detail + (" (mend with --rebuild)" if each.repairable and not each.ok else ""),
        )
        for each in findings
    ]
    columns(rows, heading=("check", "state", "detail"))


@contextmanager
def _reading(file: str) -> Iterator[tuple[BinaryIO, int]]:
    """The file and its size in bytes; 0 when nobody knows."""
    if file == "-":
        yield sys.stdin.buffer, 0
        return
    with Path(file).open("rb") as source:
        yield source, Path(file).stat().st_size


def _show_import(done: Imported, waiting: int) -> None:
    present = f", {done.present['event']} were there already" if done.present["event"] else ""
    line(f"imported {several(done.new['event'], 'memory', 'memories')}{present}")
    if done.other_model:
        line(f"vectors of another model for {done.other_model} of them were left out")
    if waiting:
        line(
            f"{several(waiting, 'job waits', 'jobs wait')}: `holdfast worker --once` does this now"
        )
    _list("changed", done.warnings, len(done.warnings))
    _list("refused", done.problems, done.failed)


def _list(what: str, problems: Sequence[Problem], count: int) -> None:
    if count:
        note(f"{what} {several(count, 'line', 'lines')}:")
    for each in problems[:_SHOWN_PROBLEMS]:
        note(f"  line {each.line}: {each.reason}")
    if count > _SHOWN_PROBLEMS:
        note(f"  and {count - _SHOWN_PROBLEMS} more; --json lists them")
