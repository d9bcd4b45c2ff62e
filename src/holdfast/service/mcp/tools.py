"""All tools, in the order in which they are listed, and those that somebody is offered."""

from __future__ import annotations

from holdfast.service.mcp import reference, tools_facts, tools_graph, tools_memory
from holdfast.service.mcp.asker import Asker
from holdfast.service.mcp.tool import Tool

ALL: dict[str, Tool] = {
    each.name: each
    for group in (tools_memory, tools_graph, tools_facts, reference)
    for each in group.TOOLS
}


def offered(who: Asker) -> list[Tool]:
    """The tools that somebody may call."""
    return [each for each in ALL.values() if who.may(each.role, each.name)]
