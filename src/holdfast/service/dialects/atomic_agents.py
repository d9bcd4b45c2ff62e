"""AtomicMemory's routes under /v1/agents: trust, and what agents disagree about."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from pydantic import ConfigDict

from holdfast.errors import NotFound
from holdfast.language.statements.values import Dispute
from holdfast.memory.memory import Memory
from holdfast.records.agents import USUAL_TRUST
from holdfast.records.facts.follow import CONFLICT
from holdfast.records.facts.reading import MOST_LISTED
from holdfast.service.dialects.atomic_entities import users
from holdfast.service.dialects.atomic_rows import conflict
from holdfast.service.http.auth import Reader, Writer, check_within, may, narrowed
from holdfast.service.http.deps import Held, told
from holdfast.service.http.strict import StrictRoute
from holdfast.service.http.wire import Asked, Needed, Scoped, Sent, Text
from holdfast.types import ApiKey, Scope

routes = APIRouter(prefix="/v1/agents", route_class=StrictRoute, tags=["atomicmemory"])
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


@routes.put("/trust", response_model=_OBJECT)
def set_trust(*, body: TrustBody, key: Writer, memory: Held) -> Response:
    """Say how much an agent is trusted, by everybody in the workspace."""
    may(key, "admin", whole=True)
    _check(key, body)
    level = memory.agents.set_trust(body.agent_id, body.trust_level, workspace=key.workspace)
    return told({"agent_id": body.agent_id, "trust_level": level})


@routes.get("/trust", response_model=_OBJECT)
def trust(*, query: Annotated[Asked, Query()], key: Reader, memory: Held) -> Response:
    """How much one agent is trusted; without its name, what was said of all of them."""
    may(key, "read", whole=True)
    _check(key, query)
    levels = memory.agents.trust(key.workspace)
    if query.agent_id is None:
        return told({"trust": levels})
    level = levels.get(query.agent_id, USUAL_TRUST)
    return told({"agent_id": query.agent_id, "trust_level": level, "trust": levels})


@routes.get("/conflicts", response_model=_OBJECT)
def conflicts(*, query: Annotated[Asked, Query()], key: Reader, memory: Held) -> Response:
    """What two agents hold differently and nobody has settled, newest first."""
    scope = narrowed(key, query)
    levels = memory.agents.trust(scope.workspace)
    found = memory.facts.conflicts(
        user=scope.user, workspace=scope.workspace, agent=scope.agent, limit=MOST_LISTED
    )
    return told(
        {"conflicts": [conflict(scope, each, levels) for each in found], "count": len(found)}
    )


class ResolveBody(Sent):
    """Which of the two holds."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"user_id": "ann", "resolution": "resolved_new"}]}
    )

    resolution: Literal["resolved_new", "resolved_existing", "resolved_both"]


@routes.put("/conflicts/{id}/resolve", response_model=_OBJECT)
def resolve(*, id: str, body: ResolveBody, key: Writer, memory: Held) -> Response:
    """Settle a conflict by hand; its id alone says whose it is."""
    scope = _whose(memory, key, body, id)
    keep = "both"
    if body.resolution != "resolved_both":
        facts = _conflict(memory, scope, id).facts
        keep = facts[-1 if body.resolution == "resolved_new" else 0].id
    memory.facts.resolve(
        id, keep=keep, user=scope.user, workspace=scope.workspace, agent=scope.agent
    )
    return told({"id": id, "status": body.resolution})


class WhoseConflicts(Sent):
    """Whose."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"user_id": "ann"}]})


@routes.post("/conflicts/auto-resolve", response_model=_OBJECT)
def auto_resolve(*, body: WhoseConflicts, key: Writer, memory: Held) -> Response:
    """Decide by trust what nobody has settled for a day."""
    return told({"resolved": len(memory.facts.settle(narrowed(key, body)))})


def _whose(memory: Memory, key: ApiKey, body: ResolveBody, id: str) -> Scope:
    """Whose conflict is meant: who is named, or else whoever of the workspace has this one."""
    if body.user_id is not None or key.user is not None:
        return narrowed(key, body)
    owners = [
        owner.user
        for owner in users(memory, key)
        if any(each.kind == CONFLICT for each in memory.store.get(owner, [id]))
    ]
    if not owners:
        raise _no_conflict(id)
    # Should two have the same one, nobody is guessed at: then it must be said.
    named = {"user_id": owners[0]} if len(owners) == 1 else {}
    return narrowed(key, body.model_copy(update=named))


def _conflict(memory: Memory, scope: Scope, id: str) -> Dispute:
    found = memory.facts.conflicts(
        user=scope.user, workspace=scope.workspace, agent=scope.agent, status="all",
        limit=MOST_LISTED,
    )  # fmt: skip
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
        narrowed(key, asked)
