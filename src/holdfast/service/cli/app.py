"""The commands, in the order `holdfast --help` shows them."""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast import __version__
from holdfast.service.cli import bench, graph, memory, recall, records, serve, upkeep
from holdfast.service.cli.command import Group, top
from holdfast.service.cli.show import MEMORIES, RUNNING, UPKEEP

app = typer.Typer(
    name="holdfast",
    cls=Group,
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


#: Those that belong to no group.
_ORDER = {
    MEMORIES: "remember recall context explain status forget history feedback profile compact",
    UPKEEP: "doctor import export backup restore decay erase",
    RUNNING: "worker serve mcp",
}
_COMMANDS = {each.name: each for each in top.registered_commands}

for panel, names in _ORDER.items():
    for name in names.split():
        _COMMANDS[name].rich_help_panel = panel
        app.registered_commands.append(_COMMANDS[name])

for panel, groups in {
    MEMORIES: {
        "graph": graph.graph,
        "facts": records.facts,
        "notes": records.notes,
        "procedures": records.procedures,
        "knowledge": records.knowledge,
        "team": records.team,
        "shares": records.shares,
        "agents": records.agents,
    },
    UPKEEP: {"jobs": serve.jobs},
    RUNNING: {"keys": serve.keys},
}.items():
    for name, group in groups.items():
        app.add_typer(group, name=name, rich_help_panel=panel)
app.add_typer(bench.bench, name="bench", rich_help_panel=UPKEEP)

__all__ = ["app", "memory", "recall", "upkeep"]
