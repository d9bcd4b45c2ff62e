"""feedback, compact, decay and erase: what becomes of memories in time."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import orjson
import typer

from holdfast.errors import HoldfastError, InvalidInput, NotFound
from holdfast.service.cli.options import Agent, AsJson, ConfigFile, Db, MemoryId, User, Workspace
from holdfast.service.cli.show import columns, day, document, line, note, several

if TYPE_CHECKING:
    from holdfast.upkeep.acts import Done
    from holdfast.upkeep.preview import Fading

#: As many days as a share may last: a hundred years.
_MOST_DAYS = 36_500.0
_WORDS = {"good": 1, "+1": 1, "1": 1, "bad": -1, "-1": -1}


def feedback(
    *,
    id: MemoryId,
    value: Annotated[str, typer.Argument(metavar="good|bad", help="Whether it helped.")],
    user: User,
    workspace: Workspace = "default",
    agent: Agent = None,
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """Say whether a memory helped: it decides between near equals, and what fades.

    Example: holdfast feedback 019aaf3e5c1b0000d0a1b2c3d4e5f607 good --user ann
    """
    from holdfast.service.cli.opening import memory_at  # noqa: PLC0415

    if value not in _WORDS:
        raise InvalidInput(f"value must be good or bad, not {value[:64]!r}", field="value")
    with memory_at(db, config) as memory:
        strength = memory.feedback(id, _WORDS[value], user=user, workspace=workspace, agent=agent)
    document({"id": id, "strength": strength}) if json else line(f"strength {strength:.2f}")


def compact(
    *,
    session: Annotated[str, typer.Option(metavar="NAME", help="Which session.")],
    user: User,
    keep_turns: Annotated[int, typer.Option(help="Leave the last ones out.")] = 10,
    workspace: Workspace = "default",
    agent: Agent = None,
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """Sum up a session; its turns stay as they are.

    Example: holdfast compact --session monday --user ann
    """
    from holdfast.service.cli.opening import memory_at, settle  # noqa: PLC0415

    with memory_at(db, config) as memory:
        made = memory.compact(
            session=session, user=user, workspace=workspace, agent=agent, keep_turns=keep_turns
        )
        settle(memory)
    if json:
        document(made)
    elif made.summary_id is None:
        line(f"nothing to sum up: {several(made.kept, 'turn', 'turns')}")
    else:
        line(made.summary)
        line()
        line(
            f"{several(made.turns, 'turn', 'turns')} summed up, {made.kept} left as they are:"
            f" {made.tokens_before:,} -> {made.tokens_after:,} tokens"
        )


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
    """Show what fades, and what the nightly round would put aside. Nothing is ever deleted.

    Example: holdfast decay --user ann --days 90
    """
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
    """Remove everything of a user from the store, physically and for good; prints a signed receipt.

    Example: holdfast erase --user ann --yes > receipt.json
    """
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
        document([_told(one) for one in done])
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


def _told(one: Done) -> dict[str, object]:
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
