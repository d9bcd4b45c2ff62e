"""Write docs/reference/cli.md from the command line itself.

    python scripts/cli_docs.py

A test fails when the page and the commands differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from holdfast.service.cli.app import app
from holdfast.service.cli.command import whole

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "cli.md"

#: Explained once, on top, and left out of every table.
SHARED = ("--db", "--config", "--json", "--help")

HEAD = """# Command line

This page is written by `python scripts/cli_docs.py` from the commands themselves.

Every command takes:

| option | meaning |
|---|---|
| `--db PATH\\|URL` | A file, or the address of a service (key: `HOLDFAST_API_KEY`); see below. |
| `--config FILE` | Settings. Default: `HOLDFAST_CONFIG`, then `holdfast.yml` where you are. |
| `--json` | Where a command prints data: print it as JSON. |
| `--help` | Say what the command does, with an example. |

`--db` takes a path, `sqlite:///path`, or `http://host:3050`; the default is `HOLDFAST_DB`, then
`holdfast.db`.

`holdfast --version` prints the version. A command that only reads never creates
a database.

| exit code | meaning |
|---|---|
| 0 | Done. |
| 1 | Done, but not all is well: `doctor` found something, `import` refused lines. |
| 2 | An error; one line on stderr says what and how to mend it. |
| 130 | Ended by Ctrl-C. |
"""


def main() -> None:
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}")


def page() -> str:
    """The whole page."""
    sections = [section(name, command) for name, command in commands()]
    return HEAD + "".join(sections)


def commands() -> Iterator[tuple[str, Any]]:
    """Every command with its full name, in the order of the help."""
    for name, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        inner = getattr(command, "commands", {})
        if not inner or command.invoke_without_command:
            yield name, whole(command)
        for inner_name, inner_command in inner.items():
            yield f"{name} {inner_name}", whole(inner_command)


def section(name: str, command: Any) -> str:
    """Title, purpose, usage, options, example of one command."""
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    usage = " ".join(["holdfast", name, *map(argument_name, arguments), "[OPTIONS]"])
    about = "\n\n".join(
        " ".join(part.split()) for part in (command.help or "").split("\n\n") if part.strip()
    )
    rows = [row(each) for each in command.params if not set(each.opts) & set(SHARED)]
    table = "\n".join(["| | |", "|---|---|", *rows]) if rows else ""
    example = (command.epilog or "").removeprefix("Example: ")
    parts = [f"\n## {name}", about, f"```\n{usage}\n```", table, f"Example: `{example}`"]
    return "\n\n".join(part for part in parts if part) + "\n"


def row(param: Any) -> str:
    """One line of a table of options."""
    if param.param_type_name == "argument":
        shown = argument_name(param)
    else:
        value = str(param.metavar or param.name.upper())
        shown = ", ".join(param.opts) + ("" if param.is_flag else f" {value}")
    told = param.help or ""
    if param.required:
        told += " Required."
    elif param.default not in (None, False) and param.show_default is not False:
        told += f" Default: `{param.default}`."
    return f"| `{shown}` | {told} |".replace("PATH|URL", "PATH\\|URL")


def argument_name(param: Any) -> str:
    """QUERY, or [TEXT] when it may be left out."""
    name = str(param.metavar or param.name.upper())
    return name if param.required or name.startswith("[") else f"[{name}]"


if __name__ == "__main__":
    main()
