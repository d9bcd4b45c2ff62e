"""Names of tools of the MCP server, checked where a key is made: a wrong one would open nothing."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec

from holdfast.errors import InvalidInput


def split_names(given: Iterable[str]) -> list[str]:
    """["recall,context", "notes"] as ["recall", "context", "notes"]."""
    return [name.strip() for each in given for name in each.split(",") if name.strip()]


def checked_tools(given: Iterable[str] | None) -> list[str] | None:
    """The tools that a list names, one by one or with commas between; None stays None: all."""
    if given is None:
        return None
    texts = list(given)
    names = split_names(texts)
    if texts and not names:
        raise InvalidInput("tools names no tool", field="tools")
    # Without the package nobody knows the names, nor can anybody use them.
    if names and find_spec("mcp") is not None:
        from holdfast.service.mcp.tools import ALL  # noqa: PLC0415 (a second, seldom needed)

        for name in names:
            if name not in ALL:
                known = ", ".join(ALL)
                raise InvalidInput(
                    f"tools: there is no tool {name!r:.64}; known: {known}", field="tools"
                )
    return names
