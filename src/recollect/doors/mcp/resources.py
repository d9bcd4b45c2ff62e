"""Resources: what a client may show or attach without calling a tool.

Each is one tool's view of the memory, so who is not allowed the tool does not see it either.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mcp import types

from recollect.api.codec import dumps
from recollect.doors.mcp import reference, tools_memory
from recollect.doors.mcp.asker import Asker
from recollect.doors.mcp.tool import GRAPH, INSTRUCTIONS, NOTES, PROFILE
from recollect.errors import NotFound

_JSON = "application/json"
_TEMPLATE = "recollect://memory/{id}"
_MEMORY = re.compile(r"recollect://memory/(?P<id>[0-9a-f]{1,64})")
_MOST_RULES = 100


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource."""

    uri: str
    name: str
    title: str
    about: str
    #: The tool whose permission it needs.
    tool: str
    read: Callable[[Any, Asker], Any]


def instructions(memory: Any, who: Asker) -> Any:
    """The user's standing instructions."""
    page = memory.list(**who.scope(), tiers=["procedure"], kind="instruction", limit=_MOST_RULES)
    # Nobody but the user gives instructions.
    rules = [each for each in reversed(page.memories) if each.origin in ("user", "user_confirmed")]
    told = [{"id": e.id, "content": e.content, "since": e.created_at} for e in rules]
    return {"instructions": told, "count": len(told)}


RESOURCES: tuple[Resource, ...] = (
    Resource(
        GRAPH,
        "knowledge-graph",
        "Knowledge graph",
        "All entities, what was observed of them, and their relations.",
        "read_graph",
        lambda memory, who: reference.read_graph(memory, who, {}),
    ),
    Resource(
        PROFILE,
        "profile",
        "Profile of the user",
        "Who the user is: fields and summaries.",
        "profile",
        lambda memory, who: tools_memory.profile(memory, who, {}),
    ),
    Resource(
        NOTES,
        "notes",
        "Recent notes",
        "The last 50 notes, newest first.",
        "notes",
        lambda memory, who: tools_memory.notes(memory, who, {}),
    ),
    Resource(
        INSTRUCTIONS,
        "instructions",
        "Standing instructions",
        "What the user wants to be kept to in every answer.",
        "recall",
        instructions,
    ),
)


def offered(who: Asker) -> list[types.Resource]:
    """The resources that somebody may read."""
    return [
        types.Resource(
            uri=each.uri,
            name=each.name,
            title=each.title,
            description=each.about,
            mime_type=_JSON,
        )
        for each in RESOURCES
        if who.may("read", each.tool)
    ]


def templates(who: Asker) -> list[types.ResourceTemplate]:
    """The families of resources that somebody may read."""
    if not who.may("read", "recall"):
        return []
    return [
        types.ResourceTemplate(
            uri_template=_TEMPLATE,
            name="memory",
            title="One memory",
            description="A memory by its id, whole, with its sources.",
            mime_type=_JSON,
        )
    ]


def read(memory: Any, who: Asker, uri: str) -> types.ReadResourceResult:
    """What a resource holds now; NotFound for one that is not there, or not theirs to read."""
    who.certain()
    text = dumps(_value(memory, who, uri)).decode()
    held = types.TextResourceContents(uri=uri, mime_type=_JSON, text=text)
    return types.ReadResourceResult(contents=[held])


def _value(memory: Any, who: Asker, uri: str) -> Any:
    for each in RESOURCES:
        if each.uri == uri and who.may("read", each.tool):
            return each.read(memory, who)
    named = _MEMORY.fullmatch(uri)
    if named is None or not who.may("read", "recall"):
        raise NotFound(f"there is no resource {uri[:200]}")
    (hit,) = memory.expand([named["id"]], **who.scope())
    return {**tools_memory.hit_of(hit), "sources": hit.sources}
