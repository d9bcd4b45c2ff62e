"""AtomicMemory's routes under /v1/entities: the users of a workspace, what is known of each.

Of the three types of its entities only users stand for themselves here: agents and sessions are
labels of what users said, and are told as not there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, HTTPException, Query, Response
from pydantic import ConfigDict, Field

from holdfast.errors import NotFound
from holdfast.language.statements.values import Dispute
from holdfast.memory.memory import Memory
from holdfast.records.facts.follow import CONFLICT
from holdfast.records.facts.queries import MOST_LISTED
from holdfast.records.profile_fields import Profile, category
from holdfast.records.shares import USUAL_TRUST
from holdfast.service.dialects.atomic_rows import conflict, trail
from holdfast.service.http.auth import (
    AskedScope,
    Reader,
    Writer,
    check_within,
    require_role,
    scope_args,
    scope_of,
)
from holdfast.service.http.wire import (
    Held,
    Needed,
    QueryString,
    Scoped,
    Sent,
    StrictRoute,
    Text,
    json_response,
)
from holdfast.types import TEAM, ApiKey, Scope

# AtomicMemory's routes under /v1/agents: trust, and what agents disagree about.

agent_routes = APIRouter(prefix="/v1/agents", route_class=StrictRoute, tags=["atomicmemory"])
_OBJECT = dict[str, Any]


class TrustBody(Sent):
    """How much an agent is trusted."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"agent_id": "cook", "trust_level": 0.8}]}
    )

    agent_id: Needed
    #: 0..1; checked by the core.
    trust_level: float
    #: Of the seed; agents have no other name here.
    display_name: Text = None


@agent_routes.put("/trust", response_model=_OBJECT)
def set_trust(*, body: TrustBody, key: Writer, memory: Held) -> Response:
    """Say how much an agent is trusted, by everybody in the workspace."""
    require_role(key, "admin", whole=True)
    _check(key, body)
    level = memory.agents.set_trust(body.agent_id, body.trust_level, workspace=key.workspace)
    return json_response({"agent_id": body.agent_id, "trust_level": level})


@agent_routes.get("/trust", response_model=_OBJECT)
def trust(*, query: Annotated[QueryString, Query()], key: Reader, memory: Held) -> Response:
    """How much one agent is trusted; without its name, what was said of all of them."""
    require_role(key, "read", whole=True)
    _check(key, query)
    levels = memory.agents.trust(key.workspace)
    if query.agent_id is None:
        return json_response({"trust": levels})
    level = levels.get(query.agent_id, USUAL_TRUST)
    return json_response({"agent_id": query.agent_id, "trust_level": level, "trust": levels})


@agent_routes.get("/conflicts", response_model=_OBJECT)
def conflicts(*, scope: AskedScope, memory: Held) -> Response:
    """What two agents hold differently and nobody has settled, newest first."""
    levels = memory.agents.trust(scope.workspace)
    found = memory.facts.conflicts(**scope_args(scope), limit=MOST_LISTED)
    return json_response(
        {"conflicts": [conflict(scope, each, levels) for each in found], "count": len(found)}
    )


class ResolveBody(Sent):
    """Which of the two holds."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"user_id": "ann", "resolution": "resolved_new"}]}
    )

    resolution: Literal["resolved_new", "resolved_existing", "resolved_both"]


@agent_routes.put("/conflicts/{id}/resolve", response_model=_OBJECT)
def resolve(*, id: str, body: ResolveBody, key: Writer, memory: Held) -> Response:
    """Settle a conflict by hand; its id alone says whose it is."""
    scope = _whose(memory, key, body, id)
    keep = "both"
    if body.resolution != "resolved_both":
        facts = _conflict(memory, scope, id).facts
        keep = facts[-1 if body.resolution == "resolved_new" else 0].id
    memory.facts.resolve(id, keep=keep, **scope_args(scope))
    return json_response({"id": id, "status": body.resolution})


class WhoseConflicts(Sent):
    """Whose."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"user_id": "ann"}]})


@agent_routes.post("/conflicts/auto-resolve", response_model=_OBJECT)
def auto_resolve(*, body: WhoseConflicts, key: Writer, memory: Held) -> Response:
    """Decide by trust what nobody has settled for a day."""
    return json_response({"resolved": len(memory.facts.settle(scope_of(key, body)))})


def _whose(memory: Memory, key: ApiKey, body: ResolveBody, id: str) -> Scope:
    """Whose conflict is meant: who is named, or else whoever of the workspace has this one."""
    if body.user_id is not None or key.user is not None:
        return scope_of(key, body)
    owners = [
        owner.user
        for owner in users(memory, key)
        if any(each.kind == CONFLICT for each in memory.store.get(owner, [id]))
    ]
    if not owners:
        raise _no_conflict(id)
    # Should two have the same one, nobody is guessed at: then it must be said.
    named = {"user_id": owners[0]} if len(owners) == 1 else {}
    return scope_of(key, body.model_copy(update=named))


def _conflict(memory: Memory, scope: Scope, id: str) -> Dispute:
    found = memory.facts.conflicts(**scope_args(scope), status="all", limit=MOST_LISTED)
    for each in found:
        if each.id == id:
            return each
    raise _no_conflict(id)


def _no_conflict(id: str) -> NotFound:
    return NotFound(f"there is no conflict {id[:64]!r} in this scope")


def _check(key: ApiKey, asked: Scoped) -> None:
    """Trust is of the workspace: a user may be named, but need not be."""
    check_within(key, workspace=asked.workspace_id)
    if asked.user_id is not None:
        scope_of(key, asked)


routes = APIRouter(prefix="/v1/entities", route_class=StrictRoute, tags=["atomicmemory"])
_AT_ONCE = 1000
_MOST_EDGES = 50

Type = Literal["user", "agent", "session"]


def _user(*, entity_type: Type, entity_id: str, key: Reader, memory: Held) -> Scope:
    """The user whom a path names; agents and sessions are told as not there."""
    scope = scope_of(key, Scoped(user_id=entity_id))
    if entity_type != "user" or not memory.store.head(scope).change:
        raise NotFound(f"there is no {entity_type} {entity_id[:64]!r} in this scope")
    return scope


NamedUser = Annotated[Scope, Depends(_user)]


class EntitiesQuery(QueryString):
    """Which page."""

    entity_type: Type | None = None
    page: int = Field(1, ge=1, le=1_000_000)
    page_size: int = Field(50, ge=1, le=200)


@routes.get("", response_model=_OBJECT)
def entities(*, query: Annotated[EntitiesQuery, Query()], key: Reader, memory: Held) -> Response:
    """The users of the workspace, in the order of their names."""
    require_role(key, "admin", whole=True)
    found = [] if query.entity_type in ("agent", "session") else list(users(memory, key))
    first = (query.page - 1) * query.page_size
    shown = found[first : first + query.page_size]
    return json_response(
        {
            "entities": [_counts(memory, scope) for scope in shown],
            "total": len(found),
            "page": query.page,
            "page_size": query.page_size,
        }
    )


@routes.post("/merge", include_in_schema=False)
def no_merge(*, key: Reader) -> Response:
    """Users are not merged."""
    raise HTTPException(404, "users are not merged here: what each said stays their own")


@routes.get("/{entity_type}/{entity_id}", response_model=_OBJECT)
def entity(*, scope: NamedUser, memory: Held) -> Response:
    """What is known of a user: attributes, relations, summaries."""
    profile = memory.profile(user=scope.user, workspace=scope.workspace)
    graph = memory.graph.overview(user=scope.user, workspace=scope.workspace, limit=_MOST_EDGES)
    return json_response(
        {
            **_counts(memory, scope),
            "attributes": _attributes(profile),
            "relations": [
                {
                    "source_entity_id": edge.source,
                    "target_entity_id": edge.target,
                    "relation_type": edge.type,
                    "confidence": edge.confidence,
                    "valid_to": edge.valid_to,
                }
                for edge in graph.edges
            ],
            "recent_cards": [
                {
                    "entity_name": name,
                    "card_text": summary.text,
                    "version": profile.revision,
                    # One of what was set by hand alone has no time of its own.
                    "updated_at": summary.updated_at or profile.updated_at,
                }
                for name, summary in profile.summaries.items()
                if summary.text
            ],
            "updated_at": profile.updated_at,
        }
    )


@routes.get("/{entity_type}/{entity_id}/profile", response_model=_OBJECT)
def entity_profile(*, scope: NamedUser, memory: Held) -> Response:
    """A user in short."""
    profile = memory.profile(user=scope.user, workspace=scope.workspace)
    rules = memory.store.listed(scope, tier="procedure", kind="instruction")
    block = {
        "summary": " ".join(each.text for each in profile.summaries.values() if each.text),
        "preferences": _profile_lines(profile, "preference"),
        "instructions": [rule.content for rule in rules if rule.visibility is None],
        "open_commitments": _profile_lines(profile, "goal", "decision"),
    }
    return json_response(
        {
            **_counts(memory, scope),
            "profile": block if any(block.values()) else None,
            "attributes": _attributes(profile),
            "updated_at": profile.updated_at,
        }
    )


class AttributesQuery(QueryString):
    """Which of them."""

    attribute: Text = None
    entity: Text = None
    limit: int = Field(100, ge=1, le=1000)


@routes.get("/{entity_type}/{entity_id}/attributes", response_model=_OBJECT)
def entity_attributes(
    *, scope: NamedUser, query: Annotated[AttributesQuery, Query()], memory: Held
) -> Response:
    """The attributes of a user alone."""
    found = [
        each
        for each in _attributes(memory.profile(user=scope.user, workspace=scope.workspace))
        if query.attribute in (None, each["attribute"]) and query.entity in (None, each["entity"])
    ]
    return json_response({"attributes": found[: query.limit]})


@routes.get("/{entity_type}/{entity_id}/memories/{memory_id}/history", response_model=_OBJECT)
def memory_history(
    *, entity_type: Type, entity_id: str, memory_id: str, key: Reader, memory: Held
) -> Response:
    """What happened to one memory of a user, oldest first."""
    scope = _user(entity_type=entity_type, entity_id=entity_id, key=key, memory=memory)
    lines = memory.history(memory_id, user=scope.user, workspace=scope.workspace)
    history = [
        {
            "version_id": each["version_id"],
            "event": each["event"],
            "content": each["content"],
            "timestamp": each["created_at"],
            "superseded_by": each["superseded_by_version_id"],
        }
        for each in trail(memory_id, lines)
    ]
    return json_response({"memory_id": memory_id, "history": history})


@routes.delete("/{entity_type}/{entity_id}", response_model=_OBJECT)
def erase_entity(*, entity_type: Type, entity_id: str, key: Reader, memory: Held) -> Response:
    """Remove everything of a user for good; the receipt is signed. There is no undo."""
    require_role(key, "admin")
    scope = _user(entity_type=entity_type, entity_id=entity_id, key=key, memory=memory)
    done = memory.erase(user=scope.user, workspace=scope.workspace)
    others = ("entity_attributes", "profile", "entities", "entity_edges", "entity_cards")
    return json_response(
        {
            # Attributes, relations and cards are memories here like all others.
            "deleted": {"memories": done.removed.get("records", 0), **dict.fromkeys(others, 0)},
            "receipt": done.as_dict(),
        }
    )


def users(memory: Memory, key: ApiKey) -> Iterator[Scope]:
    """The users of a key's workspace, in the order of their names."""
    last = Scope(key.workspace, TEAM)
    while found := memory.store.owners(after=last, limit=_AT_ONCE):
        for owner in found:
            if owner.workspace != key.workspace:
                return
            yield owner
        last = found[-1]


def _counts(memory: Memory, scope: Scope) -> dict[str, Any]:
    last = memory.store.page(scope, now=memory.now(), limit=1)
    return {
        "entity_type": "user",
        "entity_id": scope.user,
        "memory_count": sum(each.holding for each in memory.store.growth(scope)),
        "last_active": last[0].known_from if last else None,
    }


def _attributes(profile: Profile) -> list[dict[str, Any]]:
    return [
        {
            "entity": profile.user,
            "attribute": name,
            "value": field.value,
            "type": "set" if field.is_set else "fact",
            "source_memory_id": field.facts[0] if field.facts else None,
            "observed_at": field.updated_at or profile.updated_at,
        }
        for name, field in profile.fields.items()
    ]


def _profile_lines(profile: Profile, *categories: str) -> list[str]:
    return [each.content for each in profile.facts if category(each) in categories]
