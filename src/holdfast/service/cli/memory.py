"""What becomes of a memory: status, forget, history."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.errors import InvalidInput
from holdfast.service.cli.options import AsJson, ConfigFile, Db, MemoryId, User, Workspace
from holdfast.service.cli.show import columns, day, document, line, told

if TYPE_CHECKING:
    from holdfast.records.stats import Stats


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
    """Say how far a memory has come, or what a user or the whole store holds.

    Example: holdfast status
    """
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
        line(f"{id}: {told(found)}")


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
    """Hide a memory from every read at once; restorable for a while, then wiped.

    Example: holdfast forget 019aaf3e5c1b0000d0a1b2c3d4e5f607 --user ann
    """
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


def history(
    *,
    id: MemoryId,
    user: User,
    workspace: Workspace = "default",
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """List what happened to a memory, oldest first.

    Example: holdfast history 019aaf3e5c1b0000d0a1b2c3d4e5f607 --user ann
    """
    from holdfast.service.cli.opening import memory_at  # noqa: PLC0415

    with memory_at(db, config) as memory:
        versions = memory.history(id, user=user, workspace=workspace)
    if json:
        document({"id": id, "versions": versions})
        return
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
