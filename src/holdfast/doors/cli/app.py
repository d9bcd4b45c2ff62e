"""The commands, in the order `holdfast --help` shows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from holdfast import __version__
from holdfast.doors.cli import (
    benching,
    claims,
    explaining,
    finding,
    graphing,
    knowing,
    living,
    mcp,
    memories,
    noting,
    remembering,
    running,
    sharing,
    upkeep,
)
from holdfast.doors.cli.options import MEMORIES, RUNNING, UPKEEP

Command = Callable[..., Any]

app = typer.Typer(
    name="holdfast",
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


_MEMORIES: dict[str, Command] = {
    "remember": remembering.remember,
    "recall": finding.recall,
    "context": finding.context,
    "explain": explaining.explain,
    "status": memories.status,
    "forget": memories.forget,
    "history": memories.history,
    "feedback": living.feedback,
    "profile": noting.profile,
    "compact": living.compact,
}
_UPKEEP: dict[str, Command] = {
    "doctor": upkeep.doctor,
    "import": upkeep.import_,
    "export": upkeep.export,
    "backup": upkeep.backup,
    "restore": upkeep.restore,
    "decay": living.decay,
    "erase": living.erase,
}
_RUNNING: dict[str, Command] = {
    "worker": running.worker,
    "serve": running.serve,
    "mcp": mcp.mcp,
}

for panel, commands in ((MEMORIES, _MEMORIES), (UPKEEP, _UPKEEP), (RUNNING, _RUNNING)):
    for name, command in commands.items():
        *_, example = (command.__doc__ or "").strip().splitlines()
        about = (command.__doc__ or "").replace(example, "")
        app.command(name, help=about, epilog=example.strip(), rich_help_panel=panel)(command)

app.add_typer(graphing.graph, name="graph", rich_help_panel=MEMORIES)
app.add_typer(claims.facts, name="facts", rich_help_panel=MEMORIES)
app.add_typer(noting.notes, name="notes", rich_help_panel=MEMORIES)
app.add_typer(noting.procedures, name="procedures", rich_help_panel=MEMORIES)
app.add_typer(knowing.knowledge, name="knowledge", rich_help_panel=MEMORIES)
app.add_typer(sharing.team, name="team", rich_help_panel=MEMORIES)
app.add_typer(sharing.shares, name="shares", rich_help_panel=MEMORIES)
app.add_typer(sharing.agents, name="agents", rich_help_panel=MEMORIES)
app.add_typer(running.jobs, name="jobs", rich_help_panel=UPKEEP)
app.add_typer(running.keys, name="keys", rich_help_panel=RUNNING)
app.add_typer(benching.bench, name="bench", rich_help_panel=UPKEEP)
