"""The nine tools of the reference memory server, to the letter, on the same data as all others.

That is @modelcontextprotocol/server-memory 0.6.3. Names are exact and count with their case. What
conversations told is in the graph as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import orjson

from holdfast.service.mcp import tool
from holdfast.service.mcp.asker import Asker
from holdfast.service.mcp.tool import GRAPH, Given, Schema, Tool

_ENTITY = tool.record(
    {
        "name": tool.text("The name of the entity"),
        "entityType": tool.text("The type of the entity"),
        "observations": tool.texts("What was observed of it, one text for each"),
    },
    ["name", "entityType", "observations"],
)
_RELATION = tool.record(
    {
        "from": tool.text("The name of the entity where the relation starts"),
        "to": tool.text("The name of the entity where the relation ends"),
        "relationType": tool.text("The type of the relation, in active voice"),
    },
    ["from", "to", "relationType"],
)
_ADDED = tool.record(
    {"entityName": {"type": "string"}, "addedObservations": tool.texts("What was new")},
    ["entityName", "addedObservations"],
)
_GRAPH = tool.record(
    {"entities": tool.array("", _ENTITY), "relations": tool.array("", _RELATION)},
    ["entities", "relations"],
)
_DONE = tool.record(
    {"success": {"type": "boolean"}, "message": {"type": "string"}}, ["success", "message"]
)


def create_entities(memory: Any, who: Asker, given: Given) -> Any:
    """Only those that are new come back."""
    sent = [
        {"name": e["name"], "type": e["entityType"], "observations": e["observations"]}
        for e in given["entities"]
    ]
    made = memory.observations.create(sent, **who.scope())
    return {"entities": [_entity(each) for each in made.entities]}


def create_relations(memory: Any, who: Asker, given: Given) -> Any:
    """Only those that are new come back; their ends need not exist."""
    made = memory.observations.create((), _links(given["relations"]), **who.scope())
    return {"relations": [_relation(each) for each in made.relations]}


def add_observations(memory: Any, who: Asker, given: Given) -> Any:
    """For each entity what was new."""
    sent = [{"entity": e["entityName"], "contents": e["contents"]} for e in given["observations"]]
    added = memory.observations.add(sent, **who.scope())
    return {
        "results": [
            {"entityName": each.entity, "addedObservations": each.observations} for each in added
        ]
    }


def delete_entities(memory: Any, who: Asker, given: Given) -> Any:
    """With their observations and relations."""
    memory.observations.delete(given["entityNames"], **who.scope())
    return {"success": True, "message": "Entities deleted successfully"}


def delete_observations(memory: Any, who: Asker, given: Given) -> Any:
    """By their exact texts."""
    sent = [{"entity": e["entityName"], "contents": e["observations"]} for e in given["deletions"]]
    memory.observations.delete(observations=sent, **who.scope())
    return {"success": True, "message": "Observations deleted successfully"}


def delete_relations(memory: Any, who: Asker, given: Given) -> Any:
    """By both ends and the type."""
    memory.observations.delete(relations=_links(given["relations"]), **who.scope())
    return {"success": True, "message": "Relations deleted successfully"}


def read_graph(memory: Any, who: Asker, _: Given) -> Any:
    """All of it."""
    return _graph(memory.observations.read(**who.scope()))


def search_nodes(memory: Any, who: Asker, given: Given) -> Any:
    """By a part of the name, the type or an observation."""
    return _graph(memory.observations.read(query=given["query"], **who.scope()))


def open_nodes(memory: Any, who: Asker, given: Given) -> Any:
    """By their exact names."""
    return _graph(memory.observations.read(names=given["names"], **who.scope()))


def _links(sent: Sequence[Given]) -> list[dict[str, str]]:
    return [{"source": e["from"], "type": e["relationType"], "target": e["to"]} for e in sent]


def _graph(known: Any) -> dict[str, Any]:
    return {
        "entities": [_entity(each) for each in known.entities],
        "relations": [_relation(each) for each in known.relations],
    }


def _entity(each: Any) -> dict[str, Any]:
    return {"name": each.name, "entityType": each.type, "observations": each.observations}


def _relation(each: Any) -> dict[str, str]:
    return {"from": each.source, "to": each.target, "relationType": each.type}


def _as_text(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()


def _bare(value: dict[str, Any]) -> str:
    """The list alone: only as data it is in an object."""
    (listed,) = value.values()
    return _as_text(listed)


def _message(value: dict[str, Any]) -> str:
    return str(value["message"])


def _takes(name: str, about: str, items: Schema) -> Schema:
    return tool.record({name: tool.array(about, items)}, [name])


def _names(name: str, about: str) -> Schema:
    return tool.record({name: tool.texts(about)}, [name])


def _gives(name: str, items: Schema) -> Schema:
    return tool.record({name: {"type": "array", "items": items}}, [name])


_TOLD = tool.record(
    {
        "entityName": tool.text("The name of the entity that it was observed of"),
        "contents": tool.texts("The observations to add, one text for each"),
    },
    ["entityName", "contents"],
)
_TAKEN_BACK = tool.record(
    {
        "entityName": tool.text("The name of the entity that has the observations"),
        "observations": tool.texts("The observations to delete, each as it was given"),
    },
    ["entityName", "observations"],
)

_RELATION_NAMES = {
    "relations.source": "relations.from",
    "relations.type": "relations.relationType",
    "relations.target": "relations.to",
}
_DELETION_NAMES = {
    "observations": "deletions",
    "observations.entity": "deletions.entityName",
    "observations.contents": "deletions.observations",
}

_exact = partial(Tool, exact=True)
_creates = partial(_exact, role="write", idempotent=False, touches=(GRAPH,), text=_bare)
_deletes = partial(
    _exact, gives=_DONE, role="write", destructive=True, touches=(GRAPH,), text=_message
)
_reads = partial(_exact, gives=_GRAPH, text=_as_text)

TOOLS: tuple[Tool, ...] = (
    _creates(
        "create_entities",
        "Create Entities",
        "Create new entities in the knowledge graph, each with a type and what was observed of it."
        " Names are exact; one that exists already is left as it is.",
        create_entities,
        _takes("entities", "The entities to create", _ENTITY),
        gives=_gives("entities", _ENTITY),
        names={"entities.type": "entities.entityType"},
    ),
    _creates(
        "create_relations",
        "Create Relations",
        "Create new relations between entities in the knowledge graph, in active voice. One that"
        " exists already is left as it is.",
        create_relations,
        _takes("relations", "The relations to create", _RELATION),
        gives=_gives("relations", _RELATION),
        names=_RELATION_NAMES,
    ),
    _creates(
        "add_observations",
        "Add Observations",
        "Add observations to entities that exist in the knowledge graph.",
        add_observations,
        _takes("observations", "What to add, by entity", _TOLD),
        gives=_gives("results", _ADDED),
        names={"observations.entity": "observations.entityName"},
    ),
    _deletes(
        "delete_entities",
        "Delete Entities",
        "Delete entities from the knowledge graph, with their observations and relations.",
        delete_entities,
        _names("entityNames", "The names of the entities to delete"),
        names={"entities": "entityNames"},
    ),
    _deletes(
        "delete_observations",
        "Delete Observations",
        "Delete single observations from entities in the knowledge graph.",
        delete_observations,
        _takes("deletions", "What to delete, by entity", _TAKEN_BACK),
        names=_DELETION_NAMES,
    ),
    _deletes(
        "delete_relations",
        "Delete Relations",
        "Delete relations from the knowledge graph.",
        delete_relations,
        _takes("relations", "The relations to delete", _RELATION),
        names=_RELATION_NAMES,
    ),
    _reads(
        "read_graph",
        "Read Graph",
        "Read the whole knowledge graph. For a large one, search_nodes and open_nodes are better.",
        read_graph,
    ),
    _reads(
        "search_nodes",
        "Search Nodes",
        "Find entities whose name, type or observations hold a text, whatever its case, and the"
        " relations that touch them.",
        search_nodes,
        tool.record({"query": tool.text("The text to look for")}, ["query"]),
    ),
    _reads(
        "open_nodes",
        "Open Nodes",
        "Open entities of the knowledge graph by their exact names, with the relations that touch"
        " them.",
        open_nodes,
        _names("names", "The names of the entities to open"),
    ),
)
