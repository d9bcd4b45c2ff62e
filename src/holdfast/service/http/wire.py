"""What travels over HTTP to the hand-written routes: bodies, query strings, and their mistakes.

Other systems' clients send what is theirs to know: a field that is not listed here is ignored, and
one that is null or, of those that may be left out, empty counts as left out. Our own verbs are
strict (`arguments.py`). The rules of a value (limits, times, metadata) are the core's own, the same
in every door.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

from holdfast.border.reserved import Labelled
from holdfast.errors import InvalidInput
from holdfast.service.http.conversation import messages_of

MOST_HITS = 200
_MOST_BUDGET_TOKENS = 200_000
_EXTERNAL_CHARS = 256
#: The seed's words for who may see a memory, in ours.
_VISIBILITIES: Mapping[str | None, str | None] = {
    None: None, "agent_only": "agent_only", "restricted": "agent_only", "workspace": None,
}  # fmt: skip


def _needed(value: object) -> str:
    # A string of the seed that is empty counts as missing.
    if not isinstance(value, str) or not value:
        raise PydanticCustomError("needed", "(string) is required")
    return value


def _whose(value: object) -> str | None:
    return None if value is None else _needed(value)


def _optional(value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise PydanticCustomError("text", "must be a string")
    return value


def _object(value: object) -> dict[str, Any] | None:
    if value is not None and not isinstance(value, dict):
        raise PydanticCustomError("object", "must be an object")
    return value


def _texts(value: object) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise PydanticCustomError("texts", "(string[]) is required")
    return value


def _agents(value: object) -> str | list[str] | None:
    if isinstance(value, list):
        return _texts(value)
    return _optional(value)


def _shape(*types: str, **more: Any) -> WithJsonSchema:
    return WithJsonSchema({"type": list(types) if len(types) > 1 else types[0], **more})


# Not pydantic's own `str`: it refuses lone surrogates, which the core turns into U+FFFD.
Needed = Annotated[str, PlainValidator(_needed), _shape("string", minLength=1)]
#: Who is meant; a key of one user need not say it.
Whose = Annotated[str | None, PlainValidator(_whose), _shape("string", "null", minLength=1)]
Text = Annotated[str | None, PlainValidator(_optional), _shape("string", "null")]
Texts = Annotated[list[str], PlainValidator(_texts), _shape("array", items={"type": "string"})]
Object = Annotated[dict[str, Any] | None, PlainValidator(_object), _shape("object", "null")]
AgentScope = Annotated[
    str | list[str] | None,
    PlainValidator(_agents),
    _shape("string", "array", "null", items={"type": "string"}),
]


class Scoped(BaseModel):
    """What every request says: whose memory is meant."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    user_id: Whose = None
    #: Only to repeat the key's own workspace; a key cannot reach another.
    workspace_id: Text = None
    agent_id: Text = None

    @model_validator(mode="before")
    @classmethod
    def _without_nothing(cls, sent: Any) -> Any:
        """What is said without what says nothing. Whose it is must be said, or left out."""
        if not isinstance(sent, dict):
            return sent
        named = {"user_id"} | {
            name for name, each in cls.model_fields.items() if each.is_required()
        }
        return {
            name: value
            for name, value in sent.items()
            if value is not None and (value != "" or name in named)
        }


class Asked(Scoped):
    """What a query string says."""


class Sent(Scoped):
    """What a body says."""

    model_config = ConfigDict(strict=True)


class Body(Sent):
    """A body of the two verbs that the rest stands on."""

    session_id: Text = None
    #: Settings for this request alone; see override.py.
    config_override: Object = None


class IngestBody(Body):
    """Messages to remember."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"user_id": "ann", "conversation": "user: I moved to Lisbon."}]
        }
    )

    #: One text, split into turns by conversation.py ...
    conversation: Text = None
    #: ... or messages as `remember` takes them.
    messages: list[Any] | None = None
    source_site: Text = None
    source_url: Text = None
    metadata: Object = None
    #: What it is called where it comes from: told twice it is stored once.
    external_id: Text = None
    #: Answer when the background work for these messages is done, 60 s at most.
    wait: bool = False
    #: Keep it as it is: nothing is drawn from it.
    skip_extraction: bool = False
    #: "agent_only": seen by agent_id alone. The seed's other words are understood; see `seen_by`.
    visibility: Text = None

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
        came_from = {
            "source_site": self.source_site,
            "source_url": self.source_url,
            "externalId": self.external_id,
        }
        told = {name: value for name, value in came_from.items() if value}
        return Labelled(self.metadata or {}, told) or None

    def seen_by(self) -> str | None:
        """Who may see it, in our word. The seed's "workspace" is everybody who may read the user's
        memory, as usual; "restricted" is for agents that were granted it: here nobody is, so it
        is for this agent alone."""
        if self.visibility not in _VISIBILITIES:
            known = ", ".join(each for each in _VISIBILITIES if each)
            raise InvalidInput(
                f"visibility must be one of {known}, not {str(self.visibility)[:64]!r}",
                field="visibility",
            )
        return _VISIBILITIES[self.visibility]

    def external(self) -> str | None:
        """The id of the caller's own, by its field or in the metadata."""
        named = (self.metadata or {}).get("externalId")
        inside = named if isinstance(named, str) and named else None
        found = self.external_id or inside
        if found is None:
            return None
        if inside not in (None, found):
            raise InvalidInput(
                "external_id and metadata.externalId differ: send one of them", field="external_id"
            )
        if len(found) > _EXTERNAL_CHARS:
            raise InvalidInput(
                f"external_id has {len(found)} characters, the limit is {_EXTERNAL_CHARS}",
                field="external_id",
            )
        return found


class SearchBody(Body):
    """A question."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"user_id": "ann", "query": "Where do I live?"}]}
    )

    query: Needed
    limit: int = Field(10, ge=1, le=MOST_HITS)
    #: Only what had been said by then; "" counts as absent.
    as_of: Text = None
    #: For `injection_text`; default: the setting contextBudgetTokens.
    token_budget: int | None = Field(None, ge=0, le=_MOST_BUDGET_TOKENS)
    #: Leave out memories that score less; also in the place of the setting relevanceFloor.
    threshold: float | None = Field(None, ge=0.0, le=1.0)
    #: Only memories stored with this source_site, or this namespace, out of the 200 best.
    source_site: Text = None
    namespace_scope: Text = None
    #: Whose: all, self, others, an agent or several.
    agent_scope: AgentScope = None
    #: How `injection_text` is written.
    format: Literal["safe", "astra", "deerflow"] = "safe"
    retrieval_mode: Literal["flat", "tiered", "abstract-aware"] = "flat"
    #: Of the seed; there is nothing to repair here.
    skip_repair: bool = False


class HealthAnswer(BaseModel):
    """How the service is, in one word."""

    status: Literal["ok", "degraded"]


#: What pydantic calls a mistake, in the words of our errors.
_WORDS: Mapping[str, str] = {
    "missing": "(string) is required",
    "extra_forbidden": "is not a field of this request",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "bool_parsing": "must be true or false",
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
