"""The command `mcp`: a memory for clients that start a program and speak MCP with it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.doors.cli.options import Agent, ConfigFile, Db, Workspace
from recollect.errors import Closed, ConfigError, ModelError

if TYPE_CHECKING:
    from recollect.memory import Memory

#: Whose memory a file holds when nobody says.
DEFAULT_USER = "default"


_User = Annotated[
    str | None,
    typer.Option(
        "--user",
        "-u",
        metavar="NAME",
        show_default=False,
        help=f"Whose memory. Default: {DEFAULT_USER}; of a service, the user of its key.",
    ),
]
_Tools = Annotated[
    str,
    typer.Option(
        "--tools",
        metavar="A,B",
        show_default=False,
        help="Offer only these tools. Default: all.",
    ),
]
_ReadOnly = Annotated[bool, typer.Option("--read-only", help="Offer only tools that read.")]


def mcp(
    *,
    user: _User = None,
    workspace: Workspace = "default",
    agent: Agent = None,
    tools: _Tools = "",
    read_only: _ReadOnly = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """Speak MCP on stdin and stdout, for Claude, editors and other clients; logs go to stderr.

    Example: recollect mcp --db recollect.db --user ann
    """
    from recollect.config import default_db, load_for_command_line  # noqa: PLC0415
    from recollect.wiring import is_address, open  # noqa: PLC0415

    asker, stdio = _machinery()
    url, settings = db or default_db(), load_for_command_line(config)
    far = is_address(url)
    listed = asker.allowed(settings.mcp.tools.split(","), stdio.ALL, "mcp.tools")
    who = asker.Asker(
        workspace=workspace,
        user=user if far else user or DEFAULT_USER,
        agent=agent,
        role="read" if read_only else "write",
        tools=asker.both(listed, asker.allowed(tools.split(","), stdio.ALL, "--tools")),
    )
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    with open(url) if far else open(url, config=settings) as memory, _warmed(memory, far=far):
        stdio.run(memory, who, most_bytes=settings.limits.body_bytes)


def _machinery() -> tuple[Any, Any]:
    try:
        from recollect.doors.mcp import asker, stdio  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("recollect"):
            raise
        raise ConfigError(
            f"MCP needs the package {error.name}: pip install 'recollect[mcp]'"
        ) from error
    return asker, stdio


@contextmanager
def _warmed(memory: Memory, *, far: bool) -> Iterator[None]:
    """Load the model meanwhile, so that the first question does not wait for it."""
    if far:
        yield
        return
    warming = threading.Thread(target=_warm, args=[memory], name="recollect-warm-up")
    warming.start()
    try:
        yield
    finally:
        warming.join()  # A process that ends while a model is being loaded crashes.


def _warm(memory: Memory) -> None:
    with suppress(Closed, ModelError):
        memory.warm()
