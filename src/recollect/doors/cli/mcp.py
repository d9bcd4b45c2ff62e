"""The command `mcp`: a memory for clients that start a program and speak MCP with it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.doors.cli.options import Agent, ConfigFile, Db, Workspace
from recollect.doors.cli.show import note
from recollect.errors import Closed, ConfigError, ModelError, Unavailable

if TYPE_CHECKING:
    from recollect.client.identity import Identity
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
    list[str] | None,
    typer.Option(
        "--tools",
        metavar="A,B",
        show_default=False,
        help="Offer only these tools; may be repeated. Default: all.",
    ),
]
_ReadOnly = Annotated[bool, typer.Option("--read-only", help="Offer only tools that read.")]


def mcp(
    *,
    user: _User = None,
    workspace: Workspace = "default",
    agent: Agent = None,
    tools: _Tools = None,
    read_only: _ReadOnly = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """Speak MCP on stdin and stdout, for Claude, editors and other clients; logs go to stderr.

    Example: recollect mcp --db recollect.db --user ann
    """
    from recollect.config import default_db, load_for_command_line  # noqa: PLC0415
    from recollect.doors.toolnames import split_names  # noqa: PLC0415
    from recollect.wiring import is_address, open  # noqa: PLC0415

    asker, stdio = _machinery()
    url, settings = db or default_db(), load_for_command_line(config)
    far = is_address(url)
    key = _known(url) if far else None
    listed = asker.allowed(settings.mcp.tools.split(","), stdio.ALL, "mcp.tools")
    agents = asker.by_agent(settings.mcp.agent_tools, stdio.ALL, "mcp.agentTools")
    listed = asker.both(listed, asker.of_agent(agents, agent))
    who = asker.Asker(
        workspace=workspace,
        user=user or (DEFAULT_USER if not far else key.user if key else None),
        agent=agent,
        role="read" if read_only else "write",
        relays=settings.mcp.user_words,
        tools=asker.both(listed, asker.allowed(split_names(tools or ()), stdio.ALL, "--tools")),
        names_user=not user and key is not None and key.user is None,
    )
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    with open(url) if far else open(url, config=settings) as memory, _warmed(memory, far=far):
        stdio.run(memory, who, most_bytes=settings.limits.body_bytes)


def _known(url: str) -> Identity | None:
    """Whose key this is. A wrong one is told now: a client shows little of what a tool answers."""
    from recollect.client.identity import whoami  # noqa: PLC0415

    try:
        return whoami(url)
    except Unavailable as error:  # It may come back; every call will tell.
        note(str(error))
        return None


def _machinery() -> tuple[Any, Any]:
    try:
        from recollect.doors.mcp import asker, stdio  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("recollect"):
            raise
        raise ConfigError(
            f"MCP needs the package {error.name}: install Recollect with the extra [mcp]:"
            " in its checkout, pip install '.[mcp]'"
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
