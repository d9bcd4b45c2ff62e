"""What travels over HTTP: request and response bodies, and how they become calls and types.

A field that is not listed here is refused by its name: nothing is ignored in silence, but for two
switches of the seed's API (`skip_extraction`, `skip_repair`) that change nothing here.
The rules of a value (limits, times, metadata) are the core's own, the same in every door.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainValidator
from pydantic_core import PydanticCustomError

from recollect.doors.conversation import messages_of
from recollect.errors import InvalidInput
from recollect.recall.pack import Packed
from recollect.types import Hit, Hits, Metadata, Receipt, Scope, State

_MOST_HITS = 200
_MOST_BUDGET_TOKENS = 200_000


def _needed(value: object) -> str:
    # A string of the seed that is empty counts as missing.
    if not isinstance(value, str) or not value:
        raise PydanticCustomError("needed", "(string) is required")
    return value


def _optional(value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise PydanticCustomError("text", "must be a string")
    return value


def _object(value: object) -> dict[str, Any] | None:
    if value is not None and not isinstance(value, dict):
        raise PydanticCustomError("object", "must be an object")
    return value


# Not pydantic's own `str`: it refuses lone surrogates, which the core turns into U+FFFD.
Needed = Annotated[str, PlainValidator(_needed)]
Text = Annotated[str | None, PlainValidator(_optional)]
Object = Annotated[dict[str, Any] | None, PlainValidator(_object)]


class Body(BaseModel):
    """What every request says: whose memory is meant."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    user_id: Needed
    #: Only to repeat the key's own workspace; a key cannot reach another.
    workspace_id: Text = None
    agent_id: Text = None
    session_id: Text = None
    #: Settings for this request alone; see doors/override.py.
    config_override: Object = None


class IngestBody(Body):
    """Messages to remember."""

    #: One text, split into turns by doors/conversation.py ...
    conversation: Text = None
    #: ... or messages as `remember` takes them.
    messages: list[Any] | None = None
    source_site: Text = None
    source_url: Text = None
    metadata: Object = None
    #: Answer when the background work for these messages is done, 60 s at most.
    wait: bool = False
    #: Of the seed; nothing is extracted yet.
    skip_extraction: bool = False

    def turns(self) -> list[Any]:
        """The messages, as `remember` takes them."""
        if self.messages is not None and self.conversation is not None:
            raise InvalidInput("conversation and messages: send one of the two", field="messages")
        if self.messages is not None:
            return self.messages
        if not self.conversation:
            raise InvalidInput("conversation (string) is required", field="conversation")
        if not self.conversation.strip():
            raise InvalidInput("conversation is blank", field="conversation")
        return messages_of(self.conversation)

    def labels(self) -> dict[str, Any] | None:
        """The metadata of every message, with where it came from."""
        came_from = {"source_site": self.source_site, "source_url": self.source_url}
        told = {name: value for name, value in came_from.items() if value}
        return {**(self.metadata or {}), **told} or None


class SearchBody(Body):
    """A question."""

    query: Needed
    limit: int = Field(10, ge=1, le=_MOST_HITS)
    #: Only what had been said by then; "" counts as absent.
    as_of: Text = None
    #: For `injection_text`; default: the setting contextBudgetTokens.
    token_budget: int | None = Field(None, ge=0, le=_MOST_BUDGET_TOKENS)
    #: Leave out memories that score less.
    threshold: float = Field(0.0, ge=0.0, le=1.0)
    #: Only memories stored with this source_site, out of the 200 best.
    source_site: Text = None
    #: How `injection_text` is written.
    format: Literal["safe", "astra", "deerflow"] = "safe"
    retrieval_mode: Literal["flat"] = "flat"
    #: Of the seed; there is nothing to repair here.
    skip_repair: bool = False

    @property
    def depth(self) -> int:
        """How many memories to ask for, so that enough are left after `chosen`."""
        return _MOST_HITS if self.source_site else self.limit

    def chosen(self, hits: Sequence[Hit]) -> list[Hit]:
        """The hits that the caller's own conditions leave."""
        fit = [hit for hit in hits if hit.score >= self.threshold]
        if self.source_site:
            fit = [hit for hit in fit if hit.metadata.get("source_site") == self.source_site]
        return fit[: self.limit]


class HealthAnswer(BaseModel):
    """How the service is, in one word."""

    status: Literal["ok", "degraded"]


class IngestAnswer(BaseModel):
    """What is on disk now. The counts are of this moment: background work may add to them."""

    event_ids: list[str]
    state: State
    duplicate: bool
    episode_id: str
    memories_stored: int
    stored_memory_ids: list[str]
    facts_extracted: int = 0
    memories_updated: int = 0
    updated_memory_ids: list[str] = []
    memories_deleted: int = 0
    memories_skipped: int = 0
    links_created: int = 0
    composites_created: int = 0
    warnings: list[str]

    @classmethod
    def of(cls, receipt: Receipt, state: State) -> IngestAnswer:
        ids = list(receipt.events)
        return cls(
            event_ids=ids,
            state=state,
            duplicate=receipt.duplicate,
            episode_id=ids[0],
            memories_stored=len(ids),
            stored_memory_ids=ids,
            # A warning names the metadata key it is about, which may itself be unprintable.
            warnings=[text.encode("utf-8", "replace").decode() for text in receipt.warnings],
        )


class FoundMemory(BaseModel):
    """One memory that was found."""

    id: str
    content: str
    score: float
    tier: str
    kind: str
    confidence: float
    created_at: datetime
    metadata: dict[str, Any]
    role: str
    name: str | None
    session_id: str | None
    source_site: str | None
    #: Cosine with the question; null when only keywords found it.
    semantic_similarity: float | None
    sources: list[str]

    @classmethod
    def of(cls, hit: Hit) -> FoundMemory:
        return cls(
            id=hit.id,
            content=hit.content,
            score=hit.score,
            tier=hit.tier,
            kind=hit.kind,
            confidence=hit.confidence,
            created_at=hit.created_at,
            metadata=dict(hit.metadata),
            role=hit.role,
            name=hit.name,
            session_id=hit.session,
            source_site=_text_or_none(hit.metadata, "source_site"),
            semantic_similarity=hit.why.get("vector", {}).get("score"),
            sources=list(hit.sources),
        )


class SearchedScope(BaseModel):
    """Whose memory was searched."""

    workspace_id: str
    user_id: str
    agent_id: str | None
    session_id: str | None


class SearchAnswer(BaseModel):
    """The memories found, best first, and a block of them for a prompt."""

    count: int
    retrieval_mode: Literal["flat"] = "flat"
    scope: SearchedScope
    memories: list[FoundMemory]
    #: Fits into the budget; a memory in it cannot break out of it.
    injection_text: str
    #: Ids of the memories in `injection_text`, best first; the number n in it is the n-th of these.
    citations: list[str]
    estimated_context_tokens: int
    #: True when a memory found did not fit into the budget.
    budget_constrained: bool
    #: Parts of the search that could not be asked, with the reason; [] is the normal case.
    degraded: list[str]

    @classmethod
    def of(
        cls,
        scope: Scope,
        found: Hits,
        chosen: Sequence[Hit],
        packed: Packed,
    ) -> SearchAnswer:
        return cls(
            count=len(chosen),
            scope=SearchedScope(
                workspace_id=scope.workspace,
                user_id=scope.user,
                agent_id=scope.agent,
                session_id=scope.session,
            ),
            memories=[FoundMemory.of(hit) for hit in chosen],
            injection_text=packed.text,
            citations=[hit.id for hit in packed.hits],
            estimated_context_tokens=packed.tokens,
            budget_constrained=bool(packed.dropped),
            # The part alone: the reason may name an endpoint that is the operator's business.
            degraded=[part.split(":")[0] for part in found.degraded],
        )


#: What pydantic calls a mistake, in the words of our errors.
_WORDS: Mapping[str, str] = {
    "missing": "(string) is required",
    "extra_forbidden": "is not a field of this request",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
}


def complaint(mistake: Mapping[str, Any]) -> tuple[str, str]:
    """(message, field) for one of pydantic's errors."""
    field = ".".join(str(part) for part in mistake["loc"][1:])
    if not field:
        return "the body must be a JSON object, sent with content-type: application/json", ""
    limits = mistake.get("ctx") or {}
    if "ge" in limits:
        words = f"must be at least {limits['ge']}"
    elif "le" in limits:
        words = f"must be at most {limits['le']}"
    elif "expected" in limits:
        words = f"must be {limits['expected']}"
    else:
        words = _WORDS.get(mistake["type"], mistake["msg"])
    return f"{field} {words}", field


def _text_or_none(metadata: Metadata, name: str) -> str | None:
    value = metadata.get(name)
    return value if isinstance(value, str) else None
