"""The command `mcp`: a memory for clients that start a program and speak MCP with it."""

from __future__ import annotations

import logging
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.errors import Closed, ConfigError, ModelError, Unavailable
from holdfast.service.cli.options import Agent, ConfigFile, Db, Workspace
from holdfast.service.cli.show import note

if TYPE_CHECKING:
    from holdfast.client.remote import Identity
    from holdfast.config import Config
    from holdfast.memory.memory import Memory

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

    Example: holdfast mcp --db holdfast.db --user ann
    """
    from holdfast.border.address import is_address  # noqa: PLC0415
    from holdfast.config import default_db, load_for_command_line  # noqa: PLC0415
    from holdfast.service.mcp.wire import Wire  # noqa: PLC0415
    from holdfast.service.toolnames import split_names  # noqa: PLC0415

    url, settings = db or default_db(), load_for_command_line(config)
    far = is_address(url)
    _check_installed()
    for each in (signal.SIGTERM, signal.SIGINT):  # Until there is a loop that hears them.
        signal.signal(each, _leave)
    wire = Wire(settings.limits.body_bytes)
    asker, stdio = _machinery()
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
    with _opening(url, None if far else settings) as opened:
        stdio.run(opened, who, wire)


def _leave(number: int, frame: FrameType | None) -> None:
    sys.exit(0)


def _known(url: str) -> Identity | None:
    """Whose key this is. A wrong one is told now: a client shows little of what a tool answers."""
    from holdfast.client.remote import whoami  # noqa: PLC0415

    try:
        return whoami(url)
    except Unavailable as error:  # It may come back; every call will tell.
        note(str(error))
        return None


def _check_installed() -> None:
    """Before a word is said: without the package nobody would hear the next one."""
    if find_spec("mcp") is None:
        raise _absent("mcp")


def _machinery() -> tuple[Any, Any]:
    try:
        from holdfast.service.mcp import asker, stdio  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("holdfast"):
            raise
        raise _absent(error.name) from error
    return asker, stdio


def _absent(package: str | None) -> ConfigError:
    return ConfigError(
        f"MCP needs the package {package}: install Holdfast with the extra [mcp]:"
        " in its checkout, pip install '.[mcp]'"
    )


@contextmanager
def _opening(url: str, settings: Config | None) -> Iterator[Future[Memory]]:
    """A memory that is opened meanwhile, and its model loaded, so that neither the first answer nor
    the first question waits for it. Without settings it is that of a service."""
    opened: Future[Memory] = Future()
    with ExitStack() as stack:
        thread = threading.Thread(
            target=_open, args=[url, settings, opened, stack], name="holdfast-warm-up"
        )
        thread.start()
        try:
            yield opened
        finally:
            thread.join()  # A process that ends while a model is being loaded crashes.
        opened.result()  # If it never came, this says why.


def _open(url: str, settings: Config | None, opened: Future[Memory], stack: ExitStack) -> None:
    from holdfast.wiring import open  # noqa: PLC0415

    try:
        memory = stack.enter_context(open(url) if settings is None else open(url, config=settings))
    except BaseException as error:  # noqa: BLE001 (it is raised where the result is asked for)
        opened.set_exception(error)
        return
    opened.set_result(memory)
    if settings is not None:
        with suppress(Closed, ModelError):
            memory.warm()
