"""What becomes of a memory: status, forget, history."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from recollect.doors.cli.options import AsJson, ConfigFile, Db, MemoryId, User, Workspace
from recollect.doors.cli.show import columns, day, document, line, told
from recollect.errors import InvalidInput


def status(
    *,
    id: Annotated[
        str | None,
        typer.Argument(
            metavar="ID", help="A memory; without: the whole store.", show_default=False
        ),
    ] = None,
    user: Annotated[
        str | None,
        typer.Option("--user", "-u", metavar="NAME", help="Whose memory.", show_default=False),
    ] = None,
    workspace: Workspace = "default",
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """Say how far a memory has come, or what the whole store holds.

    Example: recollect status
    """
    if id is None:
        _store_status(db, config, json=json)
        return
    if user is None:
        raise InvalidInput("user is missing: say whose memory is meant with --user", field="user")
    from recollect.doors.cli.opening import memory_at  # noqa: PLC0415

    with memory_at(db, config) as memory:
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

    Example: recollect forget 019aaf3e5c1b0000d0a1b2c3d4e5f607 --user ann
    """
    from recollect.doors.cli.opening import memory_at  # noqa: PLC0415

    with memory_at(db, config) as memory:
        verb = memory.restore if undo else memory.forget
        changed = verb(id, user=user, workspace=workspace)
        days = memory.config.forget_days
    if json:
        document({"id": id, "forgotten": not undo, "changed": changed})
    elif undo:
        line("restored" if changed else "nothing to do: it was not forgotten")
    elif changed:
        line(f"forgotten; for {days} days `recollect forget {id} --user {user} --undo` restores it")
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

    Example: recollect history 019aaf3e5c1b0000d0a1b2c3d4e5f607 --user ann
    """
    from recollect.doors.cli.opening import memory_at  # noqa: PLC0415

    with memory_at(db, config) as memory:
        versions = memory.history(id, user=user, workspace=workspace)
    if json:
        document({"id": id, "versions": versions})
        return
    rows = [(day(each.at), each.action) for each in versions]
    columns(rows, heading=("when (UTC)", "what"))
    content = versions[-1].content
    line()
    line(content if content is not None else "(its content is withheld while it is forgotten)")


def _store_status(db: str | None, config: Path | None, *, json: bool) -> None:
    from recollect.doors.cli.opening import store_at  # noqa: PLC0415

    with store_at(db, config) as store:
        stats, spaces = store.stats(), store.spaces()
    if json:
        document({**stats, "spaces": spaces})
        return
    if not stats["events"]:
        line("nothing remembered yet")
        return
    line(f"memories   {stats['events']} ({stats['forgotten']} of them forgotten)")
    line(f"owners     {stats['owners']} (users, each in a workspace)")
    line(f"vectors    {stats['vectors']}")
    line(f"jobs       {stats['ready']} ready, {stats['running']} running, {stats['dead']} dead")
    for space in spaces:
        if space.state != "retired":
            line(f"model      {space.model} ({space.dim} dimensions, {space.state})")
