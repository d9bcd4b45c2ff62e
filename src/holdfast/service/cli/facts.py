"""facts: what is known, what it replaced, and what waits for an answer."""

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
)

if TYPE_CHECKING:
    from holdfast.language.statements.values import Fact

facts = typer.Typer(
    help="Facts: list them, change them, answer what is unclear.",
    epilog="Example: holdfast facts list --user ann",
    no_args_is_help=True,
)

Text = Annotated[str, typer.Argument(metavar="TEXT", help="One claim, in words.")]
Category = Annotated[
    str | None, typer.Option(help="Only facts of this category.", show_default=False)
]
Status = Annotated[
    str, typer.Option(help="active, superseded, invalidated, unclear, archived or all.")
]
Limit = Annotated[int, typer.Option("--limit", "-n", help="At most so many.")]
AsOf = Annotated[
    str | None,
    typer.Option("--as-of", metavar="TIME", help="What held then.", show_default=False),
]
KnownAt = Annotated[
    str | None,
    typer.Option(
        "--known-at", metavar="TIME", help="What was known to hold then.", show_default=False
    ),
]
Keep = Annotated[str, typer.Option(help="new, old or both.")]
KeepOne = Annotated[str, typer.Option(metavar="ID|both", help="The id of a fact, or both.")]
Reason = Annotated[str, typer.Option(help="Why; it stays in its history.", show_default=False)]


@facts.command("list", epilog="Example: holdfast facts list --user ann --category preference")
def _list(  # noqa: PLR0913 (one per option)
    *,
    user: User,
    category: Category = None,
    status: Status = "active",
    as_of: AsOf = None,
    known_at: KnownAt = None,
    limit: Limit = 100,
    workspace: Workspace = "default",
    agent: Agent = None,
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """List facts, those said last first."""
    from holdfast.service.cli.opening import memory_at  # noqa: PLC0415

    with memory_at(db, config) as memory:
        found = memory.facts.list(
            user=user, workspace=workspace, agent=agent, category=category, status=status,
            as_of=as_of, known_at=known_at, limit=limit,
        )  # fmt: skip
    _print_facts(found, json=json, nothing=f"no such facts of user {user}")


@facts.command("add", epilog='Example: holdfast facts add "I live in Lisbon." --user ann')
def _add(
    *,
    text: Text,
    user: User,
    category: Annotated[str, typer.Option(help="What it is about.")] = "context",
    workspace: Workspace = "default",
    agent: Agent = None,
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """Store a fact as far as it is new, and say what became of it."""
    from holdfast.service.cli.opening import memory_at, settle  # noqa: PLC0415

    with memory_at(db, config, must_exist=False) as memory:
        made = memory.facts.add(
            text, user=user, workspace=workspace, agent=agent, category=category
        )
        settle(memory)
    if json:
        document(made)
    else:
        line(f"{made.outcome}: {made.content} ({made.id})")
        if made.reason:
            line(f"because: {made.reason}")


@facts.command(
    "update",
    epilog='Example: holdfast facts update 019aaf3e5c1b0000d0a1b2c3d4e5f607 "..." --user ann',
)
def _update(
    *,
    id: MemoryId,
    text: Text,
    user: User,
    workspace: Workspace = "default",
    agent: Agent = None,
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """Put another text in the place of a fact; the old one stays in its history."""
    from holdfast.service.cli.opening import memory_at, settle  # noqa: PLC0415

    with memory_at(db, config) as memory:
        made = memory.facts.update(id, text, user=user, workspace=workspace, agent=agent)
        settle(memory)
    document(made) if json else line(f"now {made.id}: {made.content}")


@facts.command(
    "invalidate",
    epilog="Example: holdfast facts invalidate 019aaf3e5c1b0000d0a1b2c3d4e5f607 --user ann",
)
def _invalidate(
    *,
    id: MemoryId,
    user: User,
    reason: Reason = "",
    workspace: Workspace = "default",
    agent: Agent = None,
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """Take a fact back: it holds no longer, and stays in its history."""
    from holdfast.service.cli.opening import memory_at  # noqa: PLC0415

    with memory_at(db, config) as memory:
        made = memory.facts.invalidate(
            id, reason=reason, user=user, workspace=workspace, agent=agent
        )
    document(made) if json else line(f"{made.status}: {made.content}")


@facts.command("unclear", epilog="Example: holdfast facts unclear --user ann")
def _unclear(
    *,
    user: User,
    workspace: Workspace = "default",
    agent: Agent = None,
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """List what would end a known fact, but not for certain; `facts answer` settles it."""
    from holdfast.service.cli.opening import memory_at  # noqa: PLC0415

    with memory_at(db, config) as memory:
        found = memory.facts.clarifications(user=user, workspace=workspace, agent=agent)
    if json:
        document(found)
    elif not found:
        line("nothing is unclear")
    for each in [] if json else found:
        line(f"{each.id}  {each.question}")


@facts.command(
    "answer",
    epilog="Example: holdfast facts answer 019aaf3e5c1b0000d0a1b2c3d4e5f607 --keep new --user ann",
)
def _answer(
    *,
    id: MemoryId,
    keep: Keep,
    user: User,
    workspace: Workspace = "default",
    agent: Agent = None,
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """Say which fact holds where it was unclear."""
    from holdfast.service.cli.opening import memory_at, settle  # noqa: PLC0415

    with memory_at(db, config) as memory:
        made = memory.facts.answer(id, keep=keep, user=user, workspace=workspace, agent=agent)
        settle(memory)
    document(made) if json else line(f"holds: {made.content}")


@facts.command("contradictions", epilog="Example: holdfast facts contradictions --user ann")
def _contradictions(
    *,
    user: User,
    workspace: Workspace = "default",
    agent: Agent = None,
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """List pairs of facts that cannot both be so."""
    from holdfast.service.cli.opening import memory_at  # noqa: PLC0415

    with memory_at(db, config) as memory:
        found = memory.facts.contradictions(user=user, workspace=workspace, agent=agent)
    if json:
        document(found)
    elif not found:
        line("no contradictions")
    for each in [] if json else found:
        for fact in (each.earlier, each.later):
            line(f"{fact.id}  {day(fact.valid_from)}  {fact.content}")
        line()


@facts.command("conflicts", epilog="Example: holdfast facts conflicts --user ann")
def _conflicts(
    *,
    user: User,
    status: Annotated[str, typer.Option(help="open, resolved or all.")] = "open",
    workspace: Workspace = "default",
    agent: Agent = None,
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """List where two agents hold different things; `facts resolve` settles one."""
    from holdfast.service.cli.opening import memory_at  # noqa: PLC0415

    with memory_at(db, config) as memory:
        found = memory.facts.conflicts(user=user, workspace=workspace, agent=agent, status=status)
    if json:
        document(found)
    elif not found:
        line("no conflicts")
    for each in [] if json else found:
        line(f"{each.id}  {each.slot} ({each.status})")
        for whose, fact in zip(each.agents, each.facts, strict=True):
            line(f"  {whose or 'no agent'}: {fact.content} ({fact.id})")


@facts.command(
    "resolve",
    epilog="Example: holdfast facts resolve 019aaf3e5c1b0000d0a1b2c3d4e5f607"
    " --keep both --user ann",
)
def _resolve(
    *,
    id: MemoryId,
    keep: KeepOne,
    user: User,
    workspace: Workspace = "default",
    agent: Agent = None,
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """Settle what two agents disagree about: keep one fact, by its id, or both."""
    from holdfast.service.cli.opening import memory_at  # noqa: PLC0415

    with memory_at(db, config) as memory:
        made = memory.facts.resolve(id, keep=keep, user=user, workspace=workspace, agent=agent)
    document(made) if json else line(made.note or made.status)


def _print_facts(found: Sequence[Fact], *, json: bool, nothing: str) -> None:
    if json:
        document(found)
        return
    if not found:
        line(nothing)
        return
    rows = [
        (each.id, day(each.valid_from), each.category, each.status, each.content) for each in found
    ]
    columns(rows, heading=("id", "said (UTC)", "category", "status", "fact"))
