"""The commands, in the order `holdfast --help` shows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from holdfast import __version__
from holdfast.service.cli import (
    bench,
    facts,
    graph,
    knowledge,
    memory,
    notes,
    recall,
    serve,
    team,
    upkeep,
)
from holdfast.service.cli.show import MEMORIES, RUNNING, UPKEEP

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
    "remember": memory.remember,
    "recall": recall.recall,
    "context": recall.context,
    "explain": recall.explain,
    "status": memory.status,
    "forget": memory.forget,
    "history": memory.history,
    "feedback": memory.feedback,
    "profile": notes.profile,
    "compact": memory.compact,
}
_UPKEEP: dict[str, Command] = {
    "doctor": upkeep.doctor,
    "import": upkeep.import_,
    "export": upkeep.export,
    "backup": upkeep.backup,
    "restore": upkeep.restore,
    "decay": memory.decay,
    "erase": memory.erase,
}
_RUNNING: dict[str, Command] = {
    "worker": serve.worker,
    "serve": serve.serve,
    "mcp": serve.mcp,
}

for panel, commands in ((MEMORIES, _MEMORIES), (UPKEEP, _UPKEEP), (RUNNING, _RUNNING)):
    for name, command in commands.items():
        *_, example = (command.__doc__ or "").strip().splitlines()
        about = (command.__doc__ or "").replace(example, "")
        app.command(name, help=about, epilog=example.strip(), rich_help_panel=panel)(command)

app.add_typer(graph.graph, name="graph", rich_help_panel=MEMORIES)
app.add_typer(facts.facts, name="facts", rich_help_panel=MEMORIES)
app.add_typer(notes.notes, name="notes", rich_help_panel=MEMORIES)
app.add_typer(notes.procedures, name="procedures", rich_help_panel=MEMORIES)
app.add_typer(knowledge.knowledge, name="knowledge", rich_help_panel=MEMORIES)
app.add_typer(team.team, name="team", rich_help_panel=MEMORIES)
app.add_typer(team.shares, name="shares", rich_help_panel=MEMORIES)
app.add_typer(team.agents, name="agents", rich_help_panel=MEMORIES)
app.add_typer(serve.jobs, name="jobs", rich_help_panel=UPKEEP)
app.add_typer(serve.keys, name="keys", rich_help_panel=RUNNING)
app.add_typer(bench.bench, name="bench", rich_help_panel=UPKEEP)
