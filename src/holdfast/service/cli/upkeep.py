"""For the operator: doctor, import, export, backup, restore, migrate, decay, erase and bench."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import orjson
import typer

from holdfast.border.private import beside, is_database, whole_file
from holdfast.errors import HoldfastError, InvalidInput, NotFound
from holdfast.service.cli.command import group
from holdfast.service.cli.show import (
    Agent,
    AsJson,
    ConfigFile,
    Db,
    Session,
    User,
    Workspace,
    columns,
    day,
    document,
    line,
    note,
    progress,
    several,
)

if TYPE_CHECKING:
    from holdfast.bench.data import LabelledSet
    from holdfast.bench.run import SetResult
    from holdfast.config import Config
    from holdfast.models.base import Embedder
    from holdfast.records.stats import Fading
    from holdfast.store.protocols import Store
    from holdfast.store.sql.copy import Copied
    from holdfast.transfer import Imported, Problem
    from holdfast.types import Finding
    from holdfast.upkeep.plans import Done

#: The commands that belong to no group.
top = typer.Typer()

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
        str | None, typer.Option("--user", "-u", metavar="NAME", help="For lines that name none.")
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
    from holdfast.service.cli.opening import restore_file  # noqa: PLC0415

    load_for_command_line(config)
    with progress("restoring"):
        done = restore_file(file, db or default_db(), force=force)
    events = done.stats["events"]
    if json:
        document(
            {
                "db": done.place,
                "events": events,
                "verified": done.was_sealed,
                "findings": done.findings,
            }
        )
        return
    line(f"restored {several(events, 'memory', 'memories')} to {done.place}")
    if not done.was_sealed:
        note(f"{file} has no checksum: whether it was damaged since it was made nobody can tell")
    if wrong := [each for each in done.findings if not each.ok]:
        note("run `holdfast doctor`: " + "; ".join(each.detail for each in wrong))


@top.command(
    "migrate", epilog="Example: holdfast migrate holdfast.db postgresql://ann@db.example/memory"
)
def migrate(
    *,
    source: Annotated[str, typer.Argument(help="A path or postgresql://host/database.")],
    target: Annotated[str, typer.Argument(help="Another one, empty, or not finished before.")],
    finish: Annotated[
        bool,
        typer.Option(
            "--finish", help="Nobody writes to the source any more: let the copy be used."
        ),
    ] = False,
    json: AsJson = False,
    config: ConfigFile = None,
) -> None:
    """Copy a whole memory from a file to a server, or back, and verify every user of it.

    The source may be in use. Run it again to go on after it was cut short, and to copy who has
    changed since; with --finish once nobody writes to the source any more. Before that the copy
    cannot be used.
    """
    from holdfast import wiring  # noqa: PLC0415
    from holdfast.config import load_for_command_line  # noqa: PLC0415
    from holdfast.service.cli.opening import check_here, file_of  # noqa: PLC0415

    load_for_command_line(config)
    for url in (source, target):
        check_here(url)
    file = file_of(source)
    if file is not None and not file.exists():
        raise HoldfastError(f"no memory at {file}: name the source first, then the target")
    if source == target:
        raise HoldfastError("source and target are the same")
    with progress("copying users") as step:
        done = wiring.migrate(source, target, finish=finish, progress=step)
    if json:
        document(_of_copy(done))
    else:
        _show_copy(done, finish=finish)
    if done.different:
        raise HoldfastError(
            f"{several(len(done.different), 'user differs', 'users differ')} in the copy:"
            " do not use it"
        )


def _of_copy(done: Copied) -> dict[str, object]:
    return {
        "users": done.owners,
        "unchanged": done.skipped,
        "rows": done.rows,
        "behind": len(done.behind),
        "different": len(done.different),
        "verified": not done.behind and not done.different,
    }


def _show_copy(done: Copied, *, finish: bool) -> None:
    line(
        f"copied {several(done.owners, 'user', 'users')} ({done.rows:,} rows);"
        f" {done.skipped:,} were there already"
    )
    if done.behind:
        note(f"{several(len(done.behind), 'user has', 'users have')} changed meanwhile: run again")
    elif not done.different:
        line("verified: every user by a digest of all rows")
        if not finish:
            note("run it with --finish once nobody writes to the source any more")


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


# ----------------------------------------------------------------------
# decay and erase: what fades, and what is gone for good.
# ----------------------------------------------------------------------

#: As many days as a share may last: a hundred years.
_MOST_DAYS = 36_500.0


@top.command("decay", epilog="Example: holdfast decay --user ann --days 90")
def decay(  # noqa: PLR0913 (one per option)
    *,
    user: User,
    days: Annotated[float, typer.Option(help="What fades within so many days.")] = 30.0,
    run: Annotated[
        bool, typer.Option("--run", help="Show what the nightly round would do now.")
    ] = False,
    apply: Annotated[bool, typer.Option("--apply", help="With --run: do it.")] = False,
    undo: Annotated[
        str | None, typer.Option(metavar="RUN", help="Bring back what a run changed.")
    ] = None,
    workspace: Workspace = "default",
    agent: Agent = None,
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """Show what fades, and what the nightly round would put aside. Nothing is ever deleted."""
    from holdfast.border import validate  # noqa: PLC0415
    from holdfast.records.stats import decay_preview  # noqa: PLC0415
    from holdfast.service.cli.opening import memory_at  # noqa: PLC0415
    from holdfast.upkeep.nightly import JOBS  # noqa: PLC0415

    _check_decay(days, undo, run=run, apply=apply)
    scope = validate.scope(workspace=workspace, user=user)
    with memory_at(db, config, here=True) as memory:
        now = memory.now()
        if undo is not None:
            back = memory.life.undo(scope, undo, now=now)
            if not back:
                raise NotFound(f"there is nothing to bring back of a run {undo!r:.64}")
            document(back) if json else line(f"{several(len(back), 'memory', 'memories')} back")
            return
        if run:
            done = memory.life.run(now=now, names=JOBS, scope=scope, shadow=not apply)
            _round(done, json=json)
            return
        asker = validate.scope(workspace=workspace, user=user, agent=agent)
        found = decay_preview(memory.store, asker, now=now, days=days, decay=memory.config.decay)
    if json:
        document(found)
    else:
        _show_fading(found, days)


@top.command(
    "erase",
    help="Remove everything of a user from the store, physically and for good; prints a signed"
    " receipt.",
    epilog="Example: holdfast erase --user ann --yes > receipt.json",
)
def erase(
    *,
    user: User,
    workspace: Workspace = "default",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask. There is no undo.")] = False,
    verify: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Erase nothing: check a receipt of this user."),
    ] = None,
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    from holdfast.service.cli.opening import memory_at, store_at  # noqa: PLC0415
    from holdfast.upkeep.erasure import verify as verified  # noqa: PLC0415

    if verify is not None:
        with store_at(db, config) as store:
            good = verified(store, _receipt(verify), user=user)
        document({"valid": good}) if json else line("valid" if good else "not a receipt of this")
        raise typer.Exit(0 if good else 1)
    with memory_at(db, config) as memory:
        if not yes:  # On stderr: stdout is where the receipt goes.
            _ask(f"Erase everything of user {user} in {workspace}, for good?")
        made = memory.erase(user=user, workspace=workspace)
    document(made.as_dict())
    if not any(made.removed.values()):
        note(f"note: there was nothing of user {user} in {workspace}")


def _ask(question: str) -> None:
    """Go on only after a yes. Typer's own question leaves a blank on stdout."""
    note(f"{question} [y/N]")
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        note("nothing was erased")
        raise typer.Abort


def _check_decay(days: float, undo: str | None, *, run: bool, apply: bool) -> None:
    if apply and not run:
        raise InvalidInput("--apply needs --run: first look, then do", field="apply")
    if undo is not None and run:
        raise InvalidInput("--undo and --run contradict each other", field="undo")
    if not 0 <= days <= _MOST_DAYS:
        raise InvalidInput(f"days must lie in 0..{_MOST_DAYS:g}, not {days:g}", field="days")


def _show_fading(found: Sequence[Fading], days: float) -> None:
    if not found:
        line(f"nothing fades within {days:g} days")
        return
    rows = [
        (each.id, day(each.hidden_at), f"{each.strength:.2f}", each.tier, each.content)
        for each in found
    ]
    columns(rows, heading=("id", "hidden from (UTC)", "strength", "tier", "memory"))


def _round(done: Sequence[Done], *, json: bool) -> None:
    if json:
        document([_job_json(one) for one in done])
        return
    acts = [(one, act) for one in done for act in one.acts]
    if not acts:
        line("nothing to do")
        return
    rows = [(one.job, act.deed, len(act.ids), act.reason) for one, act in acts]
    columns(rows, heading=("job", "what", "memories", "why"))
    for one in done:
        if one.changed:
            line(f"{one.job}: done; undo it with --undo {one.run!r}")
    if any(one.shadow for one in done):
        line("nothing was changed; --run --apply does it")


def _job_json(one: Done) -> dict[str, object]:
    """What a job did as JSON knows it; of a merge the text that stands for the others, unless an
    agent keeps it to itself."""
    acts = [
        {
            "deed": act.deed,
            "ids": act.ids,
            "reason": act.reason,
            "content": act.record.content if act.record and not act.record.visibility else None,
        }
        for act in one.acts
    ]
    return {
        "run": one.run,
        "job": one.job,
        "at": one.at,
        "acts": acts,
        "changed": one.changed,
        "shadow": one.shadow,
    }


def _receipt(path: Path) -> dict[str, object]:
    try:
        found = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError) as error:
        raise HoldfastError(f"cannot read a receipt from {path}: {error}") from error
    if not isinstance(found, dict):
        raise HoldfastError(f"{path} holds no receipt")
    return found


# ----------------------------------------------------------------------
# bench: how good retrieval is on labelled conversations.
# ----------------------------------------------------------------------

bench = group("Measure how good retrieval is.", "holdfast bench retrieval")

_ON_SAMPLE = (
    "Measured on the small conversation that comes with Holdfast: good for a first look, too"
    " small to choose settings by. Name labelled sets with --data."
)


Data = Annotated[
    Path | None,
    typer.Option(
        "--data", metavar="DIR", help="A folder of labelled sets. Default: the sample conversation."
    ),
]
Sets = Annotated[
    str | None,
    typer.Option(
        "--sets",
        metavar="NAMES",
        help="Which sets, with commas; all: all there are. Default: locomo,beam-100k, if there.",
    ),
]
LimitQuestions = Annotated[
    int | None,
    typer.Option(
        "--limit-questions", metavar="N", min=1, help="Only the first N questions of a set."
    ),
]
AblationQuestions = Annotated[
    int,
    typer.Option(
        "--ablation-questions",
        metavar="N",
        min=1,
        help="Ask each variation about N questions of a set, evenly spread.",
    ),
]
NoAblation = Annotated[
    bool, typer.Option("--no-ablation", help="Do not switch the parts off one by one.")
]
Cache = Annotated[
    Path | None,
    typer.Option("--cache", metavar="FILE", help="Keep embeddings here for the next run."),
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out", metavar="DIR", help="Write the report here: Markdown, JSON, SVG, rankings."
    ),
]


@bench.command(
    "retrieval", epilog="Example: holdfast bench retrieval --data sets --cache vectors.db"
)
def _retrieval(  # noqa: PLR0913 (a parameter an option)
    *,
    data: Data = None,
    sets: Sets = None,
    limit_questions: LimitQuestions = None,
    ablation_questions: AblationQuestions = 200,
    no_ablation: NoAblation = False,
    cache: Cache = None,
    out: Out = None,
    json: AsJson = False,
    config: ConfigFile = None,
) -> None:
    """Ask labelled questions through the public API and tell how much of the evidence came back."""
    from holdfast.bench.page import WORDS, markdown  # noqa: PLC0415
    from holdfast.bench.report import report, write  # noqa: PLC0415
    from holdfast.config import load_for_command_line  # noqa: PLC0415

    settings = load_for_command_line(config)
    chosen = [each.first(limit_questions) for each in _labelled(data, sets)]
    notes = _notes(data, limit_questions)
    for each in notes:
        note(each)
    began = datetime.now(UTC)
    with ExitStack() as stack:
        embedder = _embedder(settings, cache, stack)
        ablated = 0 if no_ablation else ablation_questions
        results = _results(chosen, embedder, settings, ablated)
    seconds = (datetime.now(UTC) - began).total_seconds()
    told = report(
        results, config=settings, embedder=embedder, at=began, seconds=seconds, notes=notes
    )
    if json:
        document(told)
    else:
        line(markdown(told).partition(WORDS)[0].rstrip())
    if out is not None:
        for path in write(out, told, results):
            note(f"wrote {path}")


def _results(
    chosen: Sequence[LabelledSet], embedder: Embedder, settings: Config, ablated: int
) -> list[SetResult]:
    from holdfast.bench.run import run_set  # noqa: PLC0415

    results = []
    for labelled in chosen:
        with progress(labelled.name) as step:
            found = run_set(
                labelled, embedder=embedder, config=settings, ablated=ablated, progress=step
            )
        results.append(found)
    return results


def _labelled(data: Path | None, sets: str | None) -> list[LabelledSet]:
    from holdfast.bench.data import chosen_sets, read_set, sample_set  # noqa: PLC0415

    if data is None:
        if sets is not None:
            raise InvalidInput("--sets needs --data: the folder they are in", field="sets")
        return [sample_set()]
    names = None if sets is None else [name.strip() for name in sets.split(",") if name.strip()]
    return [read_set(data / name) for name in chosen_sets(data, names)]


def _notes(data: Path | None, limit_questions: int | None) -> list[str]:
    """What the reader of the figures must know."""
    notes = [] if data is not None else [_ON_SAMPLE]
    if limit_questions is not None:
        notes.append(f"Only the first {limit_questions} questions of a set were asked.")
    return notes


def _embedder(settings: Config, cache: Path | None, stack: ExitStack) -> Embedder:
    from holdfast.wiring import make_embedder  # noqa: PLC0415

    embedder = make_embedder(settings)
    if cache is None:
        return embedder
    from holdfast.bench.cache import CachedEmbedder  # noqa: PLC0415

    kept = CachedEmbedder(embedder, cache)
    stack.callback(kept.close)
    return kept
