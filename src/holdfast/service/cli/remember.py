"""remember: a text becomes a memory."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.errors import InvalidInput
from holdfast.service.cli.options import (
    Agent,
    AsJson,
    ConfigFile,
    Db,
    Session,
    User,
    Workspace,
    pairs,
)
from holdfast.service.cli.show import document, line, note, progress, told

if TYPE_CHECKING:
    from holdfast.memory.memory import Memory

#: How long to wait for the embedding; after that it is left to the next worker.
_PATIENCE_SECONDS = 60.0
_LOOK_AGAIN_SECONDS = 0.02

Text = Annotated[
    str | None, typer.Argument(help="What to remember; - reads stdin.", show_default=False)
]
File = Annotated[
    Path | None,
    typer.Option("--file", metavar="FILE", help="Remember a text file.", show_default=False),
]
Role = Annotated[str, typer.Option(help="Who spoke: user, assistant, system or tool.")]
Name = Annotated[str | None, typer.Option(help="The speaker's name.", show_default=False)]
At = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="When it was said: ISO 8601 with a zone. Default: now.",
        show_default=False,
    ),
]
Metadata = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="Kept with it; may be repeated.", show_default=False),
]
Key = Annotated[
    str | None,
    typer.Option(help="Idempotency key: a retry stores nothing twice.", show_default=False),
]
NoWait = Annotated[
    bool, typer.Option("--no-wait", help="Do not embed now: leave it to the worker.")
]


def remember(  # noqa: PLR0913 (one per option)
    *,
    text: Text = None,
    user: User,
    file: File = None,
    workspace: Workspace = "default",
    agent: Agent = None,
    session: Session = None,
    role: Role = "user",
    name: Name = None,
    at: At = None,
    metadata: Metadata = None,
    key: Key = None,
    no_wait: NoWait = False,
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """Store a text durably; it is found by keyword at once, by meaning when this returns.

    Example: holdfast remember "I moved to Lisbon." --user ann --session s1
    """
    from holdfast.service.cli.opening import is_far, memory_at  # noqa: PLC0415

    message: dict[str, Any] = {"role": role, "content": _content(text, file)}
    # Only what was given is sent: a retry with the same key must look the same.
    given = {"name": name, "at": at, "metadata": pairs(metadata, "--metadata") or None}
    message |= {field: value for field, value in given.items() if value is not None}
    with memory_at(db, config, must_exist=False) as memory:
        receipt = memory.remember(
            message, user=user, workspace=workspace, agent=agent, session=session, key=key
        )
        event = receipt.events[0]
        if not no_wait:
            with progress("embedding"):
                _embed(memory, event, user, workspace, far=is_far(memory))
        state = memory.status(event, user=user, workspace=workspace)
    if json:
        document(asdict(receipt) | {"state": state.state, "error": state.error})
        return
    for warning in receipt.warnings:
        note(f"note: {warning.removeprefix('messages[0].')}")
    again = " already (same key)" if receipt.duplicate else ""
    line(f"remembered{again} {event} ({told(state)})")


def _content(text: str | None, file: Path | None) -> str:
    if (text is None) == (file is None):
        raise InvalidInput("give a text, or - for stdin, or --file FILE", field="text")
    if file is not None:
        return file.read_bytes().decode("utf-8", "replace")
    if text == "-":
        # `echo text | holdfast remember -` means the text, not the line break that echo adds.
        return sys.stdin.buffer.read().decode("utf-8", "replace").removesuffix("\n")
    return text or ""


def _embed(memory: Memory, event: str, user: str, workspace: str, *, far: bool) -> None:
    """Work, or let a service work, until this event is embedded, has failed, or patience ends."""
    ends = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < ends:
        claimed = 0 if far else memory.worker.step()
        status = memory.status(event, user=user, workspace=workspace)
        if status.state in ("failed", "dead") or "embed" not in status.pending:
            return
        if not claimed:  # Another worker has it.
            time.sleep(_LOOK_AGAIN_SECONDS)
