"""Resources: what a client may show or attach without calling a tool.

Each is one tool's view of the memory, so who is not allowed the tool does not see it either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from mcp import types

from holdfast.catalogue.codec import dumps
from holdfast.errors import NotFound
from holdfast.service.mcp.asker import Asker
from holdfast.service.mcp.tool import GRAPH, INSTRUCTIONS, NOTES, PROFILE
from holdfast.service.mcp.tools import ALL, hit_of

_JSON = "application/json"
_MOST_RULES = 100
#: How many turns of a session are shown, and how many are looked through for what is known.
_MOST_TURNS = 100
_MOST_LOOKED_AT = 1000


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


@dataclass(frozen=True, slots=True)
class Template:
    """A family of resources, one for each value of its argument."""

    #: What stands before the value.
    start: str
    argument: str
    name: str
    title: str
    about: str
    #: The tool whose permission it needs.
    tool: str
    read: Callable[[Any, Asker, str], Any]
    #: The values there are, the likely ones first.
    known: Callable[[Any, Asker], Iterable[str]]

    @property
    def uri(self) -> str:
        """As a client is shown it (RFC 6570)."""
        return f"{self.start}{{{self.argument}}}"


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
        lambda memory, who: ALL["read_graph"].run(memory, who, {}),
    ),
    Resource(
        PROFILE,
        "profile",
        "Profile of the user",
        "Who the user is: fields and summaries.",
        "profile",
        lambda memory, who: ALL["profile"].run(memory, who, {}),
    ),
    Resource(
        NOTES,
        "notes",
        "Recent notes",
        "The last 50 notes, newest first.",
        "notes",
        lambda memory, who: ALL["notes"].run(memory, who, {}),
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


def one_memory(memory: Any, who: Asker, id: str) -> Any:
    """A memory with its sources."""
    (hit,) = memory.expand([id], **who.scope())
    return {**hit_of(hit), "sources": hit.sources}


def entity(memory: Any, who: Asker, name: str) -> Any:
    """An entity and those it is related to."""
    found = ALL["graph_traverse"].run(memory, who, {"start": name, "depth": 1})
    if not found["entities"]:
        raise NotFound(f"there is no entity {name[:200]}")
    return found


def session(memory: Any, who: Asker, id: str) -> Any:
    """The last turns of a conversation, in their order."""
    page = memory.list(**who.scope(), session=id, tiers=["session"], limit=_MOST_TURNS)
    if not page.memories:
        raise NotFound(f"there is no session {id[:200]}")
    turns = [
        {"id": e.id, "role": e.role, "content": e.content, "at": e.created_at}
        for e in reversed(page.memories)
    ]
    return {"session_id": id, "turns": turns, "is_whole": page.next is None}


def _ids(memory: Any, who: Asker) -> Iterable[str]:
    return (each.id for each in memory.list(**who.scope(), limit=_MOST_LOOKED_AT).memories)


def _names(memory: Any, who: Asker) -> Iterable[str]:
    return sorted(each.name for each in memory.graph.entities(**who.scope(), limit=_MOST_LOOKED_AT))


def _sessions(memory: Any, who: Asker) -> Iterable[str]:
    page = memory.list(**who.scope(), tiers=["session"], limit=_MOST_LOOKED_AT)
    return dict.fromkeys(each.session for each in page.memories if each.session)


ENTITY = Template(
    "holdfast://entity/",
    "name",
    "entity",
    "One entity",
    "Somebody or something by its name, with what it is related to.",
    "graph_traverse",
    entity,
    _names,
)
TEMPLATES: tuple[Template, ...] = (
    Template(
        "holdfast://memory/",
        "id",
        "memory",
        "One memory",
        "A memory by its id, whole, with its sources.",
        "recall",
        one_memory,
        _ids,
    ),
    ENTITY,
    Template(
        "holdfast://session/",
        "id",
        "session",
        "One conversation",
        f"The last {_MOST_TURNS} turns of a conversation, by its id.",
        "recall",
        session,
        _sessions,
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
    return [
        types.ResourceTemplate(
            uri_template=each.uri,
            name=each.name,
            title=each.title,
            description=each.about,
            mime_type=_JSON,
        )
        for each in TEMPLATES
        if who.may("read", each.tool)
    ]


def template(who: Asker, uri: str) -> Template:
    """A family by its address; NotFound for one that is not there, or not theirs to read."""
    who.certain()
    for each in TEMPLATES:
        if each.uri == uri and who.may("read", each.tool):
            return each
    raise NotFound(f"there is no resource template {uri[:200]}")


def read_resource(memory: Any, who: Asker, uri: str) -> types.ReadResourceResult:
    """What a resource holds now; NotFound for one that is not there, or not theirs to read."""
    who.certain()
    text = dumps(_value(memory, who, uri)).decode()
    held = types.TextResourceContents(uri=uri, mime_type=_JSON, text=text)
    return types.ReadResourceResult(contents=[held])


def _value(memory: Any, who: Asker, uri: str) -> Any:
    for each in RESOURCES:
        if each.uri == uri and who.may("read", each.tool):
            return each.read(memory, who)
    for family in TEMPLATES:
        value = unquote(uri.removeprefix(family.start))
        if uri.startswith(family.start) and value and who.may("read", family.tool):
            return family.read(memory, who, value)
    raise NotFound(f"there is no resource {uri[:200]}")
