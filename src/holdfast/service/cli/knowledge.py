"""knowledge: documents that are searched piece by piece, and values under keys."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from holdfast.service.cli.show import (
    AsJson,
    ConfigFile,
    Db,
    MemoryId,
    Workspace,
    columns,
    day,
    document,
    line,
    note,
    pairs,
    several,
)

knowledge = typer.Typer(
    help="The knowledge base: documents, and values under keys.",
    epilog="Example: holdfast knowledge list",
    no_args_is_help=True,
)

File = Annotated[Path, typer.Argument(metavar="FILE", help="A text, Markdown, HTML or PDF file.")]
Key = Annotated[str, typer.Argument(metavar="KEY", help="What the value is known by.")]
Value = Annotated[str, typer.Argument(metavar="VALUE", help="What stands there.")]
Whose = Annotated[
    str | None,
    typer.Option(
        "--user", "-u", metavar="NAME", help="Whose; without: everybody's in the workspace.",
        show_default=False,
    ),
]  # fmt: skip
Name = Annotated[
    str | None,
    typer.Option(help="What it is known by. Default: the name of the file.", show_default=False),
]
Format = Annotated[
    str | None,
    typer.Option(help="text, markdown, html or pdf. Default: what it looks like.",
                 show_default=False),
]  # fmt: skip
Metadata = Annotated[
    list[str] | None,
    typer.Option("--metadata", metavar="NAME=VALUE", help="May be repeated.", show_default=False),
]
Prefix = Annotated[str, typer.Option(help="Only keys that begin so.", show_default=False)]
Limit = Annotated[int, typer.Option("--limit", "-n", help="At most so many of each.")]


@knowledge.command("add", epilog="Example: holdfast knowledge add handbook.md")
def _add(  # noqa: PLR0913 (one per option)
    *,
    file: File,
    name: Name = None,
    format: Format = None,
    metadata: Metadata = None,
    user: Whose = None,
    workspace: Workspace = "default",
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """Add a document, or a new version of one that has this name."""
    from holdfast.service.cli.opening import memory_at, settle  # noqa: PLC0415

    given = pairs(metadata, "--metadata") or None
    with memory_at(db, config, must_exist=False) as memory:
        made = memory.knowledge.add(
            file, name=name, format=format, user=user, workspace=workspace, metadata=given
        )
        settle(memory)
    for warning in made.warnings:
        note(f"note: {warning}")
    if json:
        document(made)
    elif made.duplicate:
        line(f"nothing to do: {made.name} is there already ({made.id})")
    else:
        pieces = several(made.chunks, "piece", "pieces")
        line(f"{made.name}: {made.format}, {pieces}, {made.tokens:,} tokens ({made.id})")


@knowledge.command("list", epilog="Example: holdfast knowledge list --user ann")
def _list(
    *,
    prefix: Prefix = "",
    limit: Limit = 100,
    user: Whose = None,
    workspace: Workspace = "default",
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """List documents, newest first, and entries by their keys."""
    from holdfast.service.cli.opening import memory_at  # noqa: PLC0415

    with memory_at(db, config) as memory:
        documents = memory.knowledge.documents(user=user, workspace=workspace, limit=limit)
        entries = memory.knowledge.entries(
            prefix=prefix, user=user, workspace=workspace, limit=limit
        )
    if json:
        document({"documents": documents, "entries": entries})
        return
    if not documents and not entries:
        line("the knowledge base is empty")
    if documents:
        rows = [(e.id, day(e.added_at), e.format, e.chunks, e.name) for e in documents]
        columns(rows, heading=("id", "added (UTC)", "format", "pieces", "document"))
    if entries:
        if documents:
            line()
        found = [(e.id, day(e.at), e.key, e.value) for e in entries]
        columns(found, heading=("id", "set (UTC)", "key", "value"))


@knowledge.command("set", epilog='Example: holdfast knowledge set office.wifi "lighthouse"')
def _set(
    *,
    key: Key,
    value: Value,
    user: Whose = None,
    workspace: Workspace = "default",
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """Keep a value under a key; another value takes its place."""
    from holdfast.service.cli.opening import memory_at, settle  # noqa: PLC0415

    with memory_at(db, config, must_exist=False) as memory:
        made = memory.knowledge.set(key, value, user=user, workspace=workspace)
        settle(memory)
    document(made) if json else line(f"{made.key}: {made.value} ({made.id})")


@knowledge.command("get", epilog="Example: holdfast knowledge get office.wifi")
def _get(
    *,
    key: Key,
    user: Whose = None,
    workspace: Workspace = "default",
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """Print the value under a key."""
    from holdfast.service.cli.opening import memory_at  # noqa: PLC0415

    with memory_at(db, config) as memory:
        found = memory.knowledge.get(key, user=user, workspace=workspace)
    document(found) if json else line(found.value)


@knowledge.command(
    "remove", epilog="Example: holdfast knowledge remove 019aaf3e5c1b0000d0a1b2c3d4e5f607"
)
def _remove(
    *,
    id: MemoryId,
    user: Whose = None,
    workspace: Workspace = "default",
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """Forget a document or an entry with all its versions."""
    from holdfast.service.cli.opening import memory_at  # noqa: PLC0415

    with memory_at(db, config) as memory:
        done = memory.knowledge.remove(id, user=user, workspace=workspace)
    document({"id": id, "changed": done}) if json else line(
        "removed" if done else "nothing to do: it was removed already"
    )
