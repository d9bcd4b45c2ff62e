"""notes, profile and procedures: what was noted, who the user is, how things are done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.service.cli.show import (
    Agent,
    AsJson,
    ConfigFile,
    Db,
    MemoryId,
    User,
    Workspace,
    columns,
    day,
    document,
    line,
    note,
    pairs,
    several,
)

if TYPE_CHECKING:
    from holdfast.records.notes import Note
    from holdfast.records.procedures import Procedure
    from holdfast.records.profile_values import Profile

notes = typer.Typer(
    help="Notes by day: decisions, outcomes, strategies.",
    epilog="Example: holdfast notes day 2026-03-01 --user ann",
    no_args_is_help=True,
)
procedures = typer.Typer(
    help="Procedures: how things are done, and whether that worked.",
    epilog="Example: holdfast procedures list --user ann",
    no_args_is_help=True,
)

Content = Annotated[str, typer.Argument(metavar="TEXT", help="What is to be noted.")]
Category = Annotated[str, typer.Option(help="decision, outcome, strategy, note or interaction.")]
OnlyCategory = Annotated[
    str | None, typer.Option("--category", help="Only of this category.", show_default=False)
]
Day = Annotated[str, typer.Argument(metavar="DAY", help="As 2026-03-01.")]
Zone = Annotated[str, typer.Option("--tz", metavar="ZONE", help="Whose midnight counts.")]
Faded = Annotated[bool, typer.Option("--faded", help="Those that have faded, too.")]
Limit = Annotated[int, typer.Option("--limit", "-n", help="At most so many.")]
Title = Annotated[str, typer.Argument(metavar="TITLE", help="What it is called.")]
Steps = Annotated[
    list[str], typer.Option("--step", metavar="TEXT", help="One step; may be repeated.")
]
Trigger = Annotated[str, typer.Option(help="When to think of it.", show_default=False)]
Tags = Annotated[
    list[str] | None, typer.Option("--tag", help="May be repeated.", show_default=False)
]
Tag = Annotated[str | None, typer.Option("--tag", help="Only with this tag.", show_default=False)]


@notes.command("add", epilog='Example: holdfast notes add "We ship on Friday." --user ann')
def _add_note(
    *,
    content: Content,
    user: User,
    category: Category = "note",
    workspace: Workspace = "default",
    agent: Agent = None,
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """Write a note for today."""
    from holdfast.service.cli.opening import memory_at, settle  # noqa: PLC0415

    with memory_at(db, config, must_exist=False) as memory:
        made = memory.notes.add(
            content, category=category, user=user, workspace=workspace, agent=agent
        )
        settle(memory)
    document(made) if json else line(f"noted as {made.category} ({made.id})")


@notes.command("day", epilog="Example: holdfast notes day 2026-03-01 --user ann")
def _day(
    *,
    day: Day,
    user: User,
    tz: Zone = "UTC",
    workspace: Workspace = "default",
    agent: Agent = None,
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """Show the notes of one day, in order; also those that have faded."""
    from holdfast.service.cli.opening import memory_at  # noqa: PLC0415

    with memory_at(db, config) as memory:
        found = memory.notes.day(day, user=user, workspace=workspace, agent=agent, tz=tz)
    _show_notes(found, json=json)


@notes.command("list", epilog="Example: holdfast notes list --user ann --category decision")
def _list_notes(  # noqa: PLR0913 (one per option)
    *,
    user: User,
    category: OnlyCategory = None,
    faded: Faded = False,
    limit: Limit = 100,
    workspace: Workspace = "default",
    agent: Agent = None,
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """List notes, newest first."""
    from holdfast.service.cli.opening import memory_at  # noqa: PLC0415

    with memory_at(db, config) as memory:
        found = memory.notes.list(
            user=user, workspace=workspace, agent=agent, category=category,
            faded=faded, limit=limit,
        )  # fmt: skip
    _show_notes(found, json=json)


def profile(  # noqa: PLR0913 (one per option)
    *,
    user: User,
    set: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="FIELD=VALUE", help="Set a field by hand.", show_default=False
        ),
    ] = None,
    clear: Annotated[
        list[str] | None,
        typer.Option(
            "--clear", metavar="FIELD", help="Take back what was set.", show_default=False
        ),
    ] = None,
    as_of: Annotated[
        str | None,
        typer.Option("--as-of", metavar="TIME", help="What held then.", show_default=False),
    ] = None,
    known_at: Annotated[
        str | None,
        typer.Option("--known-at", metavar="TIME", help="As known then.", show_default=False),
    ] = None,
    workspace: Workspace = "default",
    agent: Agent = None,
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """Show what is known of a user: fields with their sources, and six summaries.

    Example: holdfast profile --user ann
    """
    from holdfast.service.cli.opening import memory_at, settle  # noqa: PLC0415

    given = pairs(set, "--set")
    with memory_at(db, config, must_exist=not given) as memory:
        for name, value in given.items():
            memory.profiles.set(name, value, user=user, workspace=workspace, agent=agent)
        for name in clear or ():
            if not memory.profiles.clear(name, user=user, workspace=workspace, agent=agent):
                note(f"note: {name} was not set by hand")
        settle(memory)
        found = memory.profile(
            user=user, workspace=workspace, agent=agent, as_of=as_of, known_at=known_at
        )
    if json:
        document(found)
    else:
        _show_profile(found)


@procedures.command(
    "add",
    epilog='Example: holdfast procedures add "Release" --step "Run the tests."'
    ' --step "Tag it." --user ann',
)
def _add_procedure(  # noqa: PLR0913 (one per option)
    *,
    title: Title,
    step: Steps,
    user: User,
    trigger: Trigger = "",
    tag: Tags = None,
    workspace: Workspace = "default",
    agent: Agent = None,
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """Write down how something is done."""
    from holdfast.service.cli.opening import memory_at, settle  # noqa: PLC0415

    with memory_at(db, config, must_exist=False) as memory:
        made = memory.procedures.add(
            title, steps=step, trigger=trigger, tags=tag or (), user=user, workspace=workspace,
            agent=agent,
        )  # fmt: skip
        settle(memory)
    document(made) if json else line(
        f"{made.title}: {several(len(made.steps), 'step', 'steps')} ({made.id})"
    )


@procedures.command("list", epilog="Example: holdfast procedures list --user ann --tag release")
def _list_procedures(
    *,
    user: User,
    tag: Tag = None,
    workspace: Workspace = "default",
    agent: Agent = None,
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """List procedures with their steps and how often they worked."""
    from holdfast.service.cli.opening import memory_at  # noqa: PLC0415

    with memory_at(db, config) as memory:
        found = memory.procedures.list(user=user, workspace=workspace, agent=agent, tag=tag)
    if json:
        document(found)
    elif not found:
        line("no procedures: `holdfast procedures add` makes one")
    for each in [] if json else found:
        _show_procedure(each)


@procedures.command(
    "used",
    epilog="Example: holdfast procedures used 019aaf3e5c1b0000d0a1b2c3d4e5f607 --user ann",
)
def _used(
    *,
    id: MemoryId,
    user: User,
    failed: Annotated[bool, typer.Option("--failed", help="It did not work.")] = False,
    workspace: Workspace = "default",
    agent: Agent = None,
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """Note that a procedure was followed, and whether it worked."""
    from holdfast.service.cli.opening import memory_at  # noqa: PLC0415

    with memory_at(db, config) as memory:
        made = memory.procedures.used(
            id, worked=not failed, user=user, workspace=workspace, agent=agent
        )
    document(made) if json else _show_procedure(made)


def _show_notes(found: Sequence[Note], *, json: bool) -> None:
    if json:
        document(found)
    elif not found:
        line("no notes: `holdfast notes add` makes one")
    else:
        rows = [
            (each.id, day(each.at), each.category, f"{each.weight:.2f}", each.content)
            for each in found
        ]
        columns(rows, heading=("id", "when (UTC)", "category", "weight", "note"))


def _show_profile(found: Profile) -> None:
    if not found.fields and not any(each.text for each in found.summaries.values()):
        line(f"nothing is known of user {found.user} yet")
        return
    rows = [
        (name, f"{each.confidence:.2f}", len(each.sources), each.value)
        for name, each in sorted(found.fields.items())
    ]
    columns(rows, heading=("field", "sure", "turns", "value"))
    for name, summary in found.summaries.items():
        if summary.text:
            line()
            line(f"{name}: {summary.text}")


def _show_procedure(each: Procedure) -> None:
    line(f"{each.title} ({each.kind}, {each.worked} worked, {each.failed} failed)  {each.id}")
    if each.trigger:
        line(f"  when: {each.trigger}")
    for number, step in enumerate(each.steps, start=1):
        line(f"  {number}. {step}")
