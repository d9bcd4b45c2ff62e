"""What becomes of a memory: status, forget, history."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer

from holdfast.errors import HoldfastError, InvalidInput, NotFound
from holdfast.service.cli.command import Call, Option, top, verb
from holdfast.service.cli.show import (
    Agent,
    AsJson,
    ConfigFile,
    Db,
    MemoryId,
    Session,
    User,
    Workspace,
    columns,
    day,
    document,
    line,
    note,
    pairs,
    progress,
    several,
    status_text,
)

if TYPE_CHECKING:
    from holdfast.memory.memory import Memory
    from holdfast.records.stats import Stats
    from holdfast.records.summaries import Compaction
    from holdfast.types import Version
    from holdfast.upkeep.acts import Done
    from holdfast.upkeep.preview import Fading


_ID = "019aaf3e5c1b0000d0a1b2c3d4e5f607"

# ----------------------------------------------------------------------
# remember: a text becomes a memory.
# ----------------------------------------------------------------------

#: How long to wait for the embedding; after that it is left to the next worker.
_PATIENCE_SECONDS = 60.0
_LOOK_AGAIN_SECONDS = 0.02

Text = Annotated[
    str | None, typer.Argument(help="What to remember; - reads stdin.", show_default=False)
]
File = Annotated[
    Path | None,
    typer.Option("--file", metavar="FILE", help="Remember a text file.", show_default=False),
]
Role = Annotated[str, typer.Option(help="Who spoke: user, assistant, system or tool.")]
Name = Annotated[str | None, typer.Option(help="The speaker's name.", show_default=False)]
At = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="When it was said: ISO 8601 with a zone. Default: now.",
        show_default=False,
    ),
]
Metadata = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="Kept with it; may be repeated.", show_default=False),
]
Key = Annotated[
    str | None,
    typer.Option(help="Idempotency key: a retry stores nothing twice.", show_default=False),
]
NoWait = Annotated[
    bool, typer.Option("--no-wait", help="Do not embed now: leave it to the worker.")
]


@top.command(
    "remember", epilog='Example: holdfast remember "I moved to Lisbon." --user ann --session s1'
)
def remember(  # noqa: PLR0913 (one per option)
    *,
    text: Text = None,
    user: User,
    file: File = None,
    workspace: Workspace = "default",
    agent: Agent = None,
    session: Session = None,
    role: Role = "user",
    name: Name = None,
    at: At = None,
    metadata: Metadata = None,
    key: Key = None,
    no_wait: NoWait = False,
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """Store a text durably; it is found by keyword at once, by meaning when this returns."""
    from holdfast.service.cli.opening import is_far, memory_at  # noqa: PLC0415

    message: dict[str, Any] = {"role": role, "content": _content(text, file)}
    # Only what was given is sent: a retry with the same key must look the same.
    given = {"name": name, "at": at, "metadata": pairs(metadata, "--metadata") or None}
    message |= {field: value for field, value in given.items() if value is not None}
    with memory_at(db, config, must_exist=False) as memory:
        receipt = memory.remember(
            message, user=user, workspace=workspace, agent=agent, session=session, key=key
        )
        event = receipt.events[0]
        if not no_wait:
            with progress("embedding"):
                _embed(memory, event, user, workspace, far=is_far(memory))
        state = memory.status(event, user=user, workspace=workspace)
    if json:
        document(asdict(receipt) | {"state": state.state, "error": state.error})
        return
    for warning in receipt.warnings:
        note(f"note: {warning.removeprefix('messages[0].')}")
    again = " already (same key)" if receipt.duplicate else ""
    line(f"remembered{again} {event} ({status_text(state)})")


def _content(text: str | None, file: Path | None) -> str:
    if (text is None) == (file is None):
        raise InvalidInput("give a text, or - for stdin, or --file FILE", field="text")
    if file is not None:
        return file.read_bytes().decode("utf-8", "replace")
    if text == "-":
        # `echo text | holdfast remember -` means the text, not the line break that echo adds.
        return sys.stdin.buffer.read().decode("utf-8", "replace").removesuffix("\n")
    return text or ""


def _embed(memory: Memory, event: str, user: str, workspace: str, *, far: bool) -> None:
    """Work, or let a service work, until this event is embedded, has failed, or patience ends."""
    ends = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < ends:
        claimed = 0 if far else memory.worker.step()
        status = memory.status(event, user=user, workspace=workspace)
        if status.state in ("failed", "dead") or "embed" not in status.pending:
            return
        if not claimed:  # Another worker has it.
            time.sleep(_LOOK_AGAIN_SECONDS)


# ----------------------------------------------------------------------
# feedback, compact, decay and erase: what becomes of memories in time.
# ----------------------------------------------------------------------

#: As many days as a share may last: a hundred years.
_MOST_DAYS = 36_500.0
_WORDS = {"good": 1, "+1": 1, "1": 1, "bad": -1, "-1": -1}


def _praise(word: str) -> int:
    if word not in _WORDS:
        raise InvalidInput(f"value must be good or bad, not {word[:64]!r}", field="value")
    return _WORDS[word]


@verb(
    top, "feedback", "id value user workspace agent", f"{_ID} good --user ann",
    data=lambda strength, call: {"id": call["id"], "strength": strength},
    value=Option("Whether it helped.", "good|bad", type=str, read=_praise),
)  # fmt: skip
def _feedback(strength: float, _: Call) -> None:
    """Say whether a memory helped: it decides between near equals, and what fades."""
    line(f"strength {strength:.2f}")


@verb(
    top, "compact", "session user keep_turns workspace agent", "--session monday --user ann",
    settles=True, session=Option("Which session.", "NAME"), keep_turns="Leave the last ones out.",
)  # fmt: skip
def _compact(made: Compaction, _: Call) -> None:
    """Sum up a session; its turns stay as they are."""
    if made.summary_id is None:
        line(f"nothing to sum up: {several(made.kept, 'turn', 'turns')}")
        return
    line(made.summary)
    line()
    line(
        f"{several(made.turns, 'turn', 'turns')} summed up, {made.kept} left as they are:"
        f" {made.tokens_before:,} -> {made.tokens_after:,} tokens"
    )


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
        str | None,
        typer.Option(metavar="RUN", help="Bring back what a run changed.", show_default=False),
    ] = None,
    workspace: Workspace = "default",
    agent: Agent = None,
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """Show what fades, and what the nightly round would put aside. Nothing is ever deleted."""
    from holdfast.border import validate  # noqa: PLC0415
    from holdfast.service.cli.opening import memory_at  # noqa: PLC0415
    from holdfast.upkeep.nightly import JOBS  # noqa: PLC0415
    from holdfast.upkeep.preview import decay_preview  # noqa: PLC0415

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
        found = decay_preview(memory.store, asker, now=now, days=days)
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
        typer.Option(
            metavar="FILE", help="Erase nothing: check a receipt of this user.", show_default=False
        ),
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


@top.command("status", epilog="Example: holdfast status")
def status(
    *,
    id: Annotated[
        str | None,
        typer.Argument(
            metavar="ID",
            help="A memory; without: all of a user, or the whole store.",
            show_default=False,
        ),
    ] = None,
    user: Annotated[
        str | None,
        typer.Option("--user", "-u", metavar="NAME", help="Whose memory.", show_default=False),
    ] = None,
    session: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Without an id: how full this session is.", show_default=False
        ),
    ] = None,
    workspace: Workspace = "default",
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """Say how far a memory has come, or what a user or the whole store holds."""
    if id is None and user is None and session is None:
        _store_status(db, config, json=json)
        return
    if user is None:
        raise InvalidInput("user is missing: say whose memory is meant with --user", field="user")
    from holdfast.service.cli.opening import memory_at  # noqa: PLC0415

    with memory_at(db, config) as memory:
        if id is None:
            _user_status(memory.stats(user=user, workspace=workspace, session=session), json=json)
            return
        found = memory.status(id, user=user, workspace=workspace)
    if json:
        document(found)
    else:
        line(f"{id}: {status_text(found)}")


@top.command(
    "forget", epilog="Example: holdfast forget 019aaf3e5c1b0000d0a1b2c3d4e5f607 --user ann"
)
def forget(
    *,
    id: MemoryId,
    user: User,
    undo: Annotated[bool, typer.Option("--undo", help="Bring a forgotten memory back.")] = False,
    workspace: Workspace = "default",
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """Hide a memory from every read at once; restorable for a while, then wiped."""
    from holdfast.service.cli.opening import is_far, memory_at  # noqa: PLC0415

    with memory_at(db, config) as memory:
        verb = memory.restore if undo else memory.forget
        changed = verb(id, user=user, workspace=workspace)
        long = "a while" if is_far(memory) else f"{memory.config.forget_days} days"
    if json:
        document({"id": id, "forgotten": not undo, "changed": changed})
    elif undo:
        line("restored" if changed else "nothing to do: it was not forgotten")
    elif changed:
        line(f"forgotten; for {long} `holdfast forget {id} --user {user} --undo` restores it")
    else:
        line("nothing to do: it was forgotten already")


@verb(
    top, "history", "id user workspace", f"{_ID} --user ann",
    data=lambda versions, call: {"id": call["id"], "versions": versions},
)  # fmt: skip
def _history(versions: Sequence[Version], _: Call) -> None:
    """List what happened to a memory, oldest first."""
    if len({each.record for each in versions}) > 1:  # A fact in several versions.
        texts = [(day(e.at), e.action, e.content or "", e.note or "") for e in versions]
        columns(texts, heading=("when (UTC)", "what", "version", "why"))
        return
    rows = [(day(each.at), each.action, each.note or "") for each in versions]
    columns(rows, heading=("when (UTC)", "what", "why"))
    content = versions[-1].content
    line()
    line(content if content is not None else "(its content is withheld while it is forgotten)")


def _user_status(found: Stats, *, json: bool) -> None:
    if json:
        document(found)
        return
    columns(list(found.tiers.items()), heading=("tier", "memories"))
    if found.session is None:
        return
    full = found.session
    left = "" if full.turns_left is None else f", {full.turns_left:,} turns until it is full"
    line()
    line(f"session {full.session}: {full.tokens:,} of {full.max_context_tokens:,} tokens{left}")


def _store_status(db: str | None, config: Path | None, *, json: bool) -> None:
    from holdfast.service.cli.opening import store_at  # noqa: PLC0415

    with store_at(db, config) as store:
        stats, spaces = store.stats(), store.spaces()
    if json:
        document({**stats, "spaces": spaces})
        return
    if not stats["events"] and not stats["records"]:
        line("nothing remembered yet")
        return
    line(f"memories   {stats['events']} ({stats['forgotten']} of them forgotten)")
    line(f"derived    {stats['records']} (facts, notes, the graph and what else is no turn)")
    line(f"owners     {stats['owners']} (users, each in a workspace)")
    line(f"vectors    {stats['vectors']}")
    line(f"jobs       {stats['ready']} ready, {stats['running']} running, {stats['dead']} dead")
    for space in spaces:
        if space.state != "retired":
            line(f"model      {space.model} ({space.dim} dimensions, {space.state})")
