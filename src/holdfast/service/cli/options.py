"""Options that many commands share, said once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from holdfast.errors import InvalidInput

MEMORIES = "Memories"
UPKEEP = "Upkeep"
RUNNING = "Running"

Db = Annotated[
    str | None,
    typer.Option(
        "--db",
        metavar="PATH|URL",
        help="The memory: a file, or the http:// address of a service (its key: HOLDFAST_API_KEY)."
        " Default: HOLDFAST_DB, then holdfast.db.",
        show_default=False,
        is_eager=True,  # Read before --user, which it may answer.
    ),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="Settings. Default: HOLDFAST_CONFIG, then holdfast.yml.",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def _whose(context: typer.Context, given: str | None) -> str:
    """Who is meant when nobody is named: of a service, the user of the key."""
    if given is not None:
        return given
    from holdfast.border.address import is_address  # noqa: PLC0415
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
    str | None,
    typer.Option("--agent", metavar="NAME", help="On behalf of which agent.", show_default=False),
]
Session = Annotated[
    str | None,
    typer.Option("--session", metavar="NAME", help="In which session.", show_default=False),
]
MemoryId = Annotated[str, typer.Argument(metavar="ID", help="The full id, 32 hex digits.")]


def pairs(given: Sequence[str] | None, option: str) -> dict[str, str]:
    """["a=1"] as {"a": "1"}."""
    found: dict[str, str] = {}
    for each in given or ():
        name, equals, value = each.partition("=")
        if not equals or not name:
            raise InvalidInput(f"{option} must look like name=value, not {each!r}", field=option)
        found[name] = value
    return found
