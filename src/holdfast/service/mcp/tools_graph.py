"""Tools for the knowledge graph as we keep it, and for what a team shares."""

from __future__ import annotations

from typing import Any

from holdfast.records.team import TYPES
from holdfast.service.mcp import answers, tool
from holdfast.service.mcp.asker import Asker
from holdfast.service.mcp.tool import GRAPH, Tool
from holdfast.service.mcp.tools_memory import Given, hits_of

_ENTITY = tool.record(
    {
        "name": tool.text("Its usual name."),
        "type": tool.text("person, organization, place, event, concept, ... or any word."),
        "aliases": tool.texts("Other names of it."),
        "summary": tool.text("One or two sentences about it."),
    },
    ["name"],
)
_RELATION = tool.record(
    {
        "source": tool.text("The name of the entity it starts from."),
        "type": tool.text("In active voice: works_at, lives_in, part_of, ..."),
        "target": tool.text("The name of the entity it leads to."),
        "confidence": tool.share("How sure you are."),
        "at": tool.text("Since when it holds: ISO 8601 with a zone."),
    },
    ["source", "type", "target"],
)


def graph_write(memory: Any, who: Asker, given: Given) -> Any:
    """Store entities and relations."""
    return memory.graph.write(
        given.get("entities", ()),
        given.get("relations", ()),
        **who.scope(given.get("user_id")),
        origin="agent",
    )


def graph_traverse(memory: Any, who: Asker, given: Given) -> Any:
    """Walk around an entity."""
    names = ("depth", "relation_types", "entity_types", "direction", "limit", "as_of")
    more = {name: given[name] for name in names if name in given}
    found = memory.graph.traverse(given["start"], **who.scope(given.get("user_id")), **more)
    called = {node.id: node.name for node in found.nodes}
    return {
        "entities": [
            {
                "id": node.id,
                "name": node.name,
                "type": node.subtype or node.type,
                "aliases": node.aliases,
                "summary": node.summary,
                "depth": node.depth,
            }
            for node in found.nodes
        ],
        "relations": [
            {
                "id": edge.id,
                "source": called.get(edge.source, edge.source),
                "type": edge.original or edge.type,
                "target": called.get(edge.target, edge.target),
                "content": edge.content,
                "confidence": edge.confidence,
            }
            for edge in found.edges
        ],
        "truncated": found.truncated,
    }


def team_write(memory: Any, who: Asker, given: Given) -> Any:
    """Write something down for a workspace. It is the word of an agent, whoever asked for it, and
    shown with the name of the one who asks: a model chooses none."""
    author = who.user or who.agent or "assistant"
    return memory.team.write(
        given["content"],
        type=given.get("type", "note"),
        title=given.get("title", ""),
        tags=given.get("tags", ()),
        author=author,
        workspace=who.workspace,
        agent=who.agent,
    )


def team_search(memory: Any, who: Asker, given: Given) -> Any:
    """Search what a workspace shares."""
    hits = memory.team.search(
        given["query"],
        types=given.get("types"),
        limit=given.get("limit", 10),
        workspace=who.workspace,
        agent=who.agent,
    )
    return {"hits": hits_of(hits), "count": len(hits)}


TOOLS: tuple[Tool, ...] = (
    Tool(
        "graph_write",
        "Write to the knowledge graph",
        "Store entities and how they are related. Names are resolved: an alias or a shorter name of"
        " somebody known is taken for them. Use it when you learn how people, projects, places or"
        " things are connected. Writing the same again changes nothing.",
        graph_write,
        tool.record(
            {
                "entities": tool.listed("Entities to store.", _ENTITY),
                "relations": tool.listed(
                    "Relations; an end that nobody knows becomes an entity.", _RELATION
                ),
            }
        ),
        role="write",
        touches=(GRAPH,),
        gives=answers.GRAPH_WRITE,
    ),
    Tool(
        "graph_traverse",
        "Walk the knowledge graph",
        "What lies around an entity: those it is related to, up to five steps away, nearest first."
        " Use it for questions about how things hang together.",
        graph_traverse,
        tool.record(
            {
                "start": tool.text("A name, an alias or an id."),
                "depth": tool.whole("How many steps.", 1, 5, default=2),
                "direction": tool.choice(
                    "Along relations, against them, or both.", ("out", "in", "both"), default="both"
                ),
                "relation_types": tool.texts("Only along these."),
                "entity_types": tool.texts("Only to these."),
                "limit": tool.whole("At most so many entities.", 1, 1000, default=50),
                "as_of": tool.text("What held at a time: ISO 8601 with a zone."),
            },
            ["start"],
        ),
        gives=answers.GRAPH_TRAVERSE,
    ),
    Tool(
        "workspace_memory_write",
        "Write for the whole team",
        "Write something down for everybody in this workspace: a decision, an incident, a standup."
        " Use it only for what the whole team should know; nothing personal.",
        team_write,
        tool.record(
            {
                "content": tool.text("The text, Markdown if you like."),
                "type": tool.choice("What it is.", TYPES, default="note"),
                "title": tool.text("One line."),
                "tags": tool.texts("Words to find it by."),
            },
            ["content"],
        ),
        role="write",
        idempotent=False,
        gives=answers.TEAM_WRITE,
    ),
    Tool(
        "workspace_memory_search",
        "Search what the team wrote down",
        "Search the entries that everybody in this workspace shares. Use it for questions about how"
        " the team works and what it decided.",
        team_search,
        tool.record(
            {
                "query": tool.text("A question or keywords."),
                "types": tool.listed("Only these.", {"type": "string", "enum": [*TYPES]}),
                "limit": tool.whole("At most so many.", 1, 200, default=10),
            },
            ["query"],
        ),
        gives=answers.TEAM_SEARCH,
    ),
)
