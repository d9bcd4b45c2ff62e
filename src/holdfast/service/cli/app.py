"""The commands, in the order `holdfast --help` shows them."""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast import __version__
from holdfast.service.cli import graph, memory, records, serve, upkeep
from holdfast.service.cli.command import CommandGroup
from holdfast.service.cli.show import MEMORIES, RUNNING, UPKEEP

app = typer.Typer(
    name="holdfast",
    cls=CommandGroup,
    help="Long-term memory for LLM agents that never loses an acknowledged write.",
    epilog='Example: holdfast remember "I moved to Lisbon." --user ann',
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        typer.echo(f"holdfast {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit


#: Those that belong to no group, in their order.
_ORDER = {
    MEMORIES: "remember recall context explain status forget forgotten history feedback profile"
    " compact users",
    UPKEEP: "doctor rebuild import export backup restore migrate decay erase",
    RUNNING: "worker serve mcp",
}
_COMMANDS = {
    each.name: each
    for module in (memory, records, upkeep, serve)
    for each in module.top.registered_commands
}

for panel, names in _ORDER.items():
    for name in names.split():
        _COMMANDS[name].rich_help_panel = panel
        app.registered_commands.append(_COMMANDS[name])

_GROUPS = {
    "graph": (MEMORIES, graph.graph),
    "facts": (MEMORIES, records.facts),
    "notes": (MEMORIES, records.notes),
    "procedures": (MEMORIES, records.procedures),
    "knowledge": (MEMORIES, records.knowledge),
    "team": (MEMORIES, records.team),
    "shares": (MEMORIES, records.shares),
    "agents": (MEMORIES, records.agents),
    "jobs": (UPKEEP, serve.jobs),
    "keys": (RUNNING, serve.keys),
    "bench": (UPKEEP, upkeep.bench),
}
for name, (panel, group) in _GROUPS.items():
    app.add_typer(group, name=name, rich_help_panel=panel)
