"""team, shares and agents: what a workspace knows, shows others, and whom it trusts."""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.errors import InvalidInput, NotFound
from holdfast.service.cli.show import (
    Agent,
    AsJson,
    ConfigFile,
    Db,
    Workspace,
    columns,
    day,
    document,
    line,
)

team = typer.Typer(
    help="The team's memory: seen by every user of a workspace.",
    epilog="Example: holdfast team list",
    no_args_is_help=True,
)
shares = typer.Typer(
    help="Let another workspace see a part of what a user or the team has here.",
    epilog="Example: holdfast shares list --user ann",
    no_args_is_help=True,
)
agents = typer.Typer(
    help="How far agents are trusted.",
    epilog="Example: holdfast agents trust",
    no_args_is_help=True,
)

Content = Annotated[str, typer.Argument(metavar="TEXT", help="What everybody is to know.")]
Type = Annotated[str, typer.Option(help="decision, adr, standup, retrospective, incident or note.")]
Types = Annotated[
    list[str] | None,
    typer.Option("--type", help="Only of this type; may be repeated.", show_default=False),
]
Title = Annotated[str, typer.Option(help="A heading.", show_default=False)]
Tags = Annotated[
    list[str] | None, typer.Option("--tag", help="May be repeated.", show_default=False)
]
Author = Annotated[str | None, typer.Option(help="Who wrote it.", show_default=False)]
Limit = Annotated[int, typer.Option("--limit", "-n", help="At most so many.")]
Query = Annotated[str, typer.Argument(help="What is asked.")]
ShareId = Annotated[str, typer.Argument(metavar="ID", help="Of the share.")]
Granting = Annotated[
    str | None,
    typer.Option(
        "--user", "-u", metavar="NAME", help="Whose memory; without: the team's.",
        show_default=False,
    ),
]  # fmt: skip


@team.command("write", epilog='Example: holdfast team write "We use Postgres." --type decision')
def _write(  # noqa: PLR0913 (one per option)
    *,
    content: Content,
    type: Type = "note",
    title: Title = "",
    tag: Tags = None,
    author: Author = None,
    workspace: Workspace = "default",
    agent: Agent = None,
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """Write something that every user of the workspace will find."""
    from holdfast.service.cli.opening import memory_at, settle  # noqa: PLC0415

    with memory_at(db, config, must_exist=False) as memory:
        made = memory.team.write(
            content, type=type, title=title, tags=tag or (), author=author,
            workspace=workspace, agent=agent, user=author,
        )  # fmt: skip
        settle(memory)
    document(made) if json else line(f"{made.type} {made.id}")


@team.command("list", epilog="Example: holdfast team list --type decision")
def _list(
    *,
    type: Types = None,
    limit: Limit = 100,
    workspace: Workspace = "default",
    agent: Agent = None,
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """List what the team knows, newest first."""
    from holdfast.service.cli.opening import is_far, memory_at  # noqa: PLC0415

    with memory_at(db, config) as memory:
        found = memory.team.list(types=type, workspace=workspace, agent=agent, limit=limit)
        # Of a service it is the workspace of the key, whatever it is called.
        where = "" if is_far(memory) else f" of workspace {workspace}"
    if json:
        document(found)
    elif not found:
        line(f"the team{where} has written nothing yet")
    else:
        rows = [(each.id, day(each.at), each.type, each.title or each.content) for each in found]
        columns(rows, heading=("id", "when (UTC)", "type", "entry"))


@team.command("search", epilog='Example: holdfast team search "which database"')
def _search(
    *,
    query: Query,
    type: Types = None,
    limit: Limit = 10,
    workspace: Workspace = "default",
    agent: Agent = None,
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """Find what the team knows of a question, best first."""
    from holdfast.service.cli.opening import memory_at  # noqa: PLC0415

    with memory_at(db, config) as memory:
        found = memory.team.search(query, types=type, limit=limit, workspace=workspace, agent=agent)
    if json:
        document(list(found))
    elif not found:
        line("nothing found")
    else:
        rows = [(f"{each.score:.3f}", each.kind, each.content) for each in found]
        columns(rows, heading=("score", "type", "entry"))


@shares.command(
    "grant", epilog="Example: holdfast shares grant --user ann --to lab --segment documents"
)
def _grant(  # noqa: PLR0913 (one per option)
    *,
    to: Annotated[str, typer.Option(metavar="WORKSPACE", help="Who may see it.")],
    segment: Annotated[
        list[str],
        typer.Option(
            help="profile, daily_memory, documents, graph, procedures or team; may be repeated."
        ),
    ],
    user: Granting = None,
    permission: Annotated[str, typer.Option(help="read, write or admin.")] = "read",
    hours: Annotated[
        float | None, typer.Option(help="It ends after so many hours.", show_default=False)
    ] = None,
    workspace: Workspace = "default",
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """Let another workspace see a part of what a user or the team has here."""
    from holdfast.service.cli.opening import memory_at  # noqa: PLC0415

    with memory_at(db, config) as memory:
        made = memory.shares.grant(
            user=user, workspace=workspace, to=to, segments=segment, permission=permission,
            expires_in=None if hours is None else 3600 * hours,
        )  # fmt: skip
    document(made) if json else line(f"granted: {made.id}")


@shares.command("revoke", epilog="Example: holdfast shares revoke ID --user ann")
def _revoke(
    *,
    id: ShareId,
    user: Granting = None,
    workspace: Workspace = "default",
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """End a share at once."""
    from holdfast.service.cli.opening import memory_at  # noqa: PLC0415

    with memory_at(db, config) as memory:
        done = memory.shares.revoke(id, user=user, workspace=workspace)
        granted = [each.id for each in memory.shares.list(user=user, workspace=workspace)]
    if id not in granted:
        raise NotFound(f"there is no share {id!r:.64}: `holdfast shares list` lists them")
    document({"id": id, "changed": done}) if json else line(
        "revoked" if done else "nothing to do: it was revoked already"
    )


@shares.command("list", epilog="Example: holdfast shares list --user ann")
def _list_shares(
    *,
    user: Granting = None,
    workspace: Workspace = "default",
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """List what a user or the team has granted, also what has ended."""
    from holdfast.service.cli.opening import memory_at  # noqa: PLC0415

    with memory_at(db, config) as memory:
        found = memory.shares.list(user=user, workspace=workspace)
    if json:
        document(found)
    elif not found:
        line("no shares: `holdfast shares grant` makes one")
    else:
        rows = [
            (
                each.id,
                each.to,
                each.permission,
                day(each.expires_at),
                day(each.revoked_at),
                ", ".join(each.segments),
            )
            for each in found
        ]
        columns(rows, heading=("id", "to", "permission", "expires", "revoked", "segments"))


@agents.command("trust", epilog="Example: holdfast agents trust --set researcher=0.8")
def _trust(
    *,
    set: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="AGENT=0..1", help="Trust an agent so far.", show_default=False
        ),
    ] = None,
    workspace: Workspace = "default",
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """Show how far agents are trusted; an agent that is not listed has 0.5."""
    from holdfast.service.cli.opening import memory_at  # noqa: PLC0415
    from holdfast.service.cli.show import pairs  # noqa: PLC0415

    given = {agent: _trusted(agent, text) for agent, text in pairs(set, "--set").items()}
    with memory_at(db, config, must_exist=not given) as memory:
        for agent, value in given.items():
            memory.agents.set_trust(agent, value, workspace=workspace)
        found = memory.agents.trust(workspace)
    if json:
        document(found)
    elif not found:
        line("no agent was given a trust of its own: all have 0.5")
    else:
        columns(sorted(found.items()), heading=("agent", "trust"))


def _trusted(agent: str, text: str) -> float:
    """Checked before anything is stored: of several all hold or none."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        message = f"the trust in {agent} must be a number in 0..1, not {text[:64]!r}"
        raise InvalidInput(message, field="set")
    return value
