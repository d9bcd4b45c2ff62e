"""What people see: text that cannot trick a terminal, aligned columns, JSON, progress on stderr."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from holdfast.errors import InvalidInput
from holdfast.types import Status

# ----------------------------------------------------------------------
# Options that many commands share, said once.
# ----------------------------------------------------------------------

MEMORIES = "Memories"
UPKEEP = "Upkeep"
RUNNING = "Running"

Db = Annotated[
    str | None,
    typer.Option(
        "--db",
        metavar="PATH|URL",
        help="The memory: a file, postgresql://host/database, or the http:// address of a service"
        " (its key: HOLDFAST_API_KEY)."
        " Default: HOLDFAST_DB, then holdfast.db.",
        show_default=False,
        is_eager=True,  # Read before --user, which it may answer.
    ),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config", metavar="FILE", help="Settings. Default: HOLDFAST_CONFIG, then holdfast.yml."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def _whose(context: typer.Context, given: str | None) -> str:
    """Who is meant when nobody is named: of a service, the user of the key."""
    if given is not None:
        return given
    from holdfast.border.validate import is_address  # noqa: PLC0415
    from holdfast.config import default_db  # noqa: PLC0415

    url = context.params.get("db") or default_db()
    if not is_address(url):
        raise InvalidInput("Missing option '--user' / '-u'.", field="user")
    from holdfast.client.remote import whoami  # noqa: PLC0415

    user = whoami(url).user
    if user is None:
        words = f"the key of {url} is of every user"
        raise InvalidInput(f"Missing option '--user' / '-u': {words}", field="user")
    return user


User = Annotated[
    str,
    typer.Option(
        "--user",
        "-u",
        metavar="NAME",
        help="Whose memory. Required, but for a service whose key is of one user.",
        default_factory=lambda: None,
        callback=_whose,
        show_default=False,
    ),
]
Workspace = Annotated[str, typer.Option("--workspace", metavar="NAME", help="Of which workspace.")]
Agent = Annotated[
    str | None, typer.Option("--agent", metavar="NAME", help="On behalf of which agent.")
]
Session = Annotated[str | None, typer.Option("--session", metavar="NAME", help="In which session.")]


def pairs(given: Sequence[str] | None, option: str) -> dict[str, str]:
    """["a=1"] as {"a": "1"}."""
    found: dict[str, str] = {}
    for each in given or ():
        name, equals, value = each.partition("=")
        if not equals or not name:
            raise InvalidInput(f"{option} must look like name=value, not {each!r}", field=option)
        found[name] = value
    return found


# Colours, cursor moves and bidirectional tricks in a stored text are shown, not obeyed.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")

Step = Callable[[int, int], None]


def line(text: str = "") -> None:
    """One line, or several, on stdout."""
    typer.echo(_encodable(safe(text), sys.stdout.encoding))


def note(text: str) -> None:
    """Something beside the result: on stderr."""
    typer.echo(_encodable(safe(text), sys.stderr.encoding), err=True)


def error_line(text: str) -> None:
    """What went wrong, in one line on stderr."""
    # A command sends one message: its number says nothing.
    note("error: " + " ".join(text.replace("messages[0].", "").split()))


def document(value: Any) -> None:
    """A value as JSON on stdout; dataclasses and times are understood."""
    options = orjson.OPT_INDENT_2 | orjson.OPT_UTC_Z | orjson.OPT_APPEND_NEWLINE
    typer.echo(orjson.dumps(value, option=options), nl=False)


def safe(text: str) -> str:
    """The text with control characters written out."""
    return _UNSAFE.sub(lambda match: ascii(match.group())[1:-1], text)


def day(moment: datetime | None) -> str:
    """A time as people read it, in UTC, to the minute."""
    return "-" if moment is None else f"{moment:%Y-%m-%d %H:%M}"


def status_text(status: Status) -> str:
    """How far a memory has come, in words."""
    if status.pending == ("extract",):  # Found by meaning, too: what is left concerns the graph.
        why = f": {status.error}" if status.error else ""
        return f"{status.state}: found by keyword and by meaning, not learned from yet{why}"
    match status.state:
        case "done":
            return "done"
        case "failed":
            return f"kept and found by keyword; to be embedded again: {status.error}"
        case "dead":
            return f"kept and found by keyword; could not be embedded, see `jobs`: {status.error}"
    return f"{status.state}: found by keyword, not embedded yet"


def several(count: int, one: str, many: str) -> str:
    """1 memory, 2 memories."""
    return f"{count:,} {one if count == 1 else many}"


def columns(rows: Sequence[Sequence[object]], *, heading: Sequence[str]) -> None:
    """Rows below their headings, each column as wide as its widest cell; the last may run on."""
    cells = [list(heading), *([" ".join(str(cell).split()) for cell in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(heading) - 1)]
    for row in cells:
        padded = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        line("  ".join([*padded, row[-1]]).rstrip())


@contextmanager
def progress(label: str) -> Iterator[Step]:
    """A bar on stderr that `step(done, total)` moves; total 0: unknown; no terminal: no bar."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich.console import Console  # noqa: PLC0415 (only who has a terminal pays for it)
    from rich.progress import Progress  # noqa: PLC0415

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total or None)


def _encodable(text: str, encoding: str | None) -> str:
    encoding = encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)
