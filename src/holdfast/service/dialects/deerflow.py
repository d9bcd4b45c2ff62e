"""DeerFlow's memory routes under /api/memory, on our data. See docs/reference/deerflow-http.md.

The document is the user's profile: six summaries, and the facts that hold. Whose it is says the
key, the header X-Holdfast-User or `user_id`.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from holdfast.errors import Conflict, InvalidInput
from holdfast.language.statements.values import CATEGORIES, Fact
from holdfast.memory.memory import Memory
from holdfast.recall.context.pack import RESERVE_TOKENS
from holdfast.service.dialects.deerflow_document import (
    Document,
    cleared,
    document,
    ids_of,
    imported,
    same,
)
from holdfast.service.http.auth import Reader, Writer, header_text, narrowed
from holdfast.service.http.deps import Held, told
from holdfast.service.http.strict import StrictRoute
from holdfast.service.http.wire import Asked, Needed, Text
from holdfast.service.whole import forget_fact
from holdfast.types import Scope

routes = APIRouter(prefix="/api/memory", route_class=StrictRoute, tags=["deerflow"])
_OBJECT = dict[str, Any]
#: What DeerFlow gives a fact that was added by hand.
_CONFIDENCE = 0.5


async def _asked(
    query: Annotated[Asked, Query()],
    user: Annotated[str | None, Header(alias="X-Holdfast-User")] = None,
) -> Asked:
    if not user:
        return query
    named = header_text(user, "X-Holdfast-User")
    if query.user_id not in (None, named):
        raise InvalidInput("user_id and X-Holdfast-User differ: send one of them", field="user_id")
    return query.model_copy(update={"user_id": named})


Whose = Annotated[Asked, Depends(_asked)]


@routes.get("", response_model=_OBJECT)
@routes.get("/export", response_model=_OBJECT)
def read(*, whose: Whose, key: Reader, memory: Held) -> Response:
    """The memory document."""
    return told(document(memory, narrowed(key, whose)))


@routes.post("/reload", response_model=_OBJECT)
def reload(*, whose: Whose, key: Reader, memory: Held) -> Response:
    """The document; it is always made of what is stored, so there is nothing to load again."""
    return told(document(memory, narrowed(key, whose)))


@routes.get("/config", response_model=_OBJECT)
def config(*, key: Reader, memory: Held) -> Response:
    """How memory is set up, in DeerFlow's words."""
    return told(_config(memory))


@routes.get("/status", response_model=_OBJECT)
def status(*, whose: Whose, key: Reader, memory: Held) -> Response:
    """Both."""
    return told({"config": _config(memory), "data": document(memory, narrowed(key, whose))})


@routes.delete("", response_model=_OBJECT)
def clear(*, whose: Whose, key: Writer, memory: Held) -> Response:
    """Forget every fact, summary and field of the profile; what was said stays."""
    scope = narrowed(key, whose)
    cleared(memory, scope)
    return told(document(memory, scope))


@routes.post("/import", response_model=_OBJECT)
def import_document(*, body: Document, whose: Whose, key: Writer, memory: Held) -> Response:
    """Put a document in the place of the one there is."""
    scope = narrowed(key, whose)
    imported(memory, scope, body)
    return told(document(memory, scope))


class NewFact(BaseModel):
    """A fact to add."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        frozen=True,
        json_schema_extra={"examples": [{"content": "I work as a nurse."}]},
    )

    content: Needed
    category: Text = "context"
    confidence: float = Field(_CONFIDENCE, ge=0.0, le=1.0)


@routes.post("/facts", response_model=_OBJECT)
def add_fact(*, body: NewFact, whose: Whose, key: Writer, memory: Held) -> Response:
    """Add a fact by hand."""
    scope = narrowed(key, whose)
    category, labels = known_category(body.category)
    made = memory.facts.add(
        body.content,
        user=scope.user, workspace=scope.workspace, agent=scope.agent,
        category=category, confidence=body.confidence, metadata=labels,
    )  # fmt: skip
    if made.outcome == "noop":
        raise Conflict("a fact with the same content already exists")
    if made.outcome == "clarify":
        raise Conflict(
            "it may contradict a fact that is known, and waits for an answer:"
            " see GET /v1/clarifications"
        )
    return told(document(memory, scope))


class ChangedFact(BaseModel):
    """What is to be another; what is left out stays."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        frozen=True,
        json_schema_extra={"examples": [{"confidence": 0.9}]},
    )

    content: Text = None
    category: Text = None
    confidence: float | None = Field(None, ge=0.0, le=1.0)


@routes.patch("/facts/{id}", response_model=_OBJECT)
def change_fact(*, id: str, body: ChangedFact, whose: Whose, key: Writer, memory: Held) -> Response:
    """Change a fact: a new version takes its place, under the same id."""
    scope = narrowed(key, whose)
    fact = _in_force(memory, scope, id)
    content = fact.content if body.content is None else body.content.strip()
    if not content:
        raise InvalidInput("content is blank", field="content")
    if same(content) != same(fact.content) and _is_there(memory, scope, content):
        raise Conflict("a fact with the same content already exists")
    category = None if body.category is None else known_category(body.category)[0]
    # Who says how sure a fact is has not said the fact.
    origin = fact.origin if same(content) == same(fact.content) else "user"
    memory.facts.update(
        fact.id, content, user=scope.user, workspace=scope.workspace, agent=scope.agent,
        category=category, confidence=body.confidence, origin=origin,
    )  # fmt: skip
    return told(document(memory, scope))


@routes.delete("/facts/{id}", response_model=_OBJECT)
def remove_fact(*, id: str, whose: Whose, key: Writer, memory: Held) -> Response:
    """Forget a fact in all its versions; restorable."""
    scope = narrowed(key, whose)
    fact = _in_force(memory, scope, id)
    forget_fact(memory, fact.id, user=scope.user, workspace=scope.workspace, agent=scope.agent)
    return told(document(memory, scope))


def known_category(name: str | None) -> tuple[str, dict[str, str] | None]:
    """A category of a fact, and what is kept with it: one that we do not know is `other`."""
    if name is None or not name.strip():
        return "context", None
    word = name.strip().lower()
    return (word, None) if word in CATEGORIES else ("other", {"categoryExtension": name.strip()})


def _in_force(memory: Memory, scope: Scope, id: str) -> Fact:
    """A fact that holds, by its id in the document or by that of its record; Conflict for a version
    that another took the place of."""
    profile = memory.profile(user=scope.user, workspace=scope.workspace, agent=scope.agent)
    of_record = {shown: own for own, shown in ids_of(profile).items()}
    fact = memory.facts.get(
        of_record.get(id, id), user=scope.user, workspace=scope.workspace, agent=scope.agent
    )
    if fact.status != "active":
        raise Conflict(f"the fact {id} is {fact.status}: reload, and change the one that holds")
    return fact


def _is_there(memory: Memory, scope: Scope, content: str) -> bool:
    profile = memory.profile(user=scope.user, workspace=scope.workspace, agent=scope.agent)
    return any(same(each.content) == same(content) for each in profile.facts)


def _config(memory: Memory) -> dict[str, Any]:
    return {
        "enabled": True,
        "mode": "middleware",
        "injection_enabled": True,
        "shutdown_flush_timeout_seconds": 30.0,
        "manager_class": "holdfast",
        "retrieval_strategy": "relevance",
        "retrieval_relevance_weight": 0.6,
        "retrieval_confidence_weight": 0.4,
        "retrieval_diversity_weight": 0.0,
        "retrieval_top_k": None,
        "retrieval_duplicate_threshold": 1.0,
        "backend_config": {
            "max_injection_tokens": memory.config.context_budget_tokens,
            "fact_confidence_threshold": memory.config.min_confidence,
            "debounce_seconds": memory.config.extraction.quiet_seconds,
            "guaranteed_token_budget": RESERVE_TOKENS,
            "token_counting": "tiktoken",
        },
    }
