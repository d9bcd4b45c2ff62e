"""DeerFlow's memory routes under /api/memory, on our data. See docs/reference/deerflow-http.md.

The document is the user's profile: six summaries, and the facts that hold. Whose it is says the
key, the header X-Holdfast-User or `user_id`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from holdfast.border import validate
from holdfast.border.validate import least
from holdfast.border.write_options import AGENT_ONLY
from holdfast.errors import Conflict, InvalidInput
from holdfast.language.statements.values import BY_USER, CATEGORIES, USERS_OWN, Fact, FactDraft
from holdfast.memory.memory import Memory
from holdfast.recall.context.pack import RESERVE_TOKENS
from holdfast.records import parts
from holdfast.records.facts.follow import CONFLICT
from holdfast.records.profile_fields import SECTIONS, USER_SECTIONS, Profile
from holdfast.records.versions import first_id
from holdfast.service.http.auth import Reader, Writer, header_text, scope_args, scope_of
from holdfast.service.http.wire import (
    ClosedBody,
    Held,
    Needed,
    QueryString,
    StrictRoute,
    Text,
    json_response,
)
from holdfast.types import Record, Scope

# DeerFlow's memory document: made of a profile, cleared, and put in its place.
#
# An import is all checked before anything is changed; then the new facts are stored in one piece,
# and what was there is forgotten last: an end in between loses nothing. A fact whose text is
# known stays the word of the one who said it; the others are imported, which is nobody's word.
# What an agent keeps to itself says so in the document, and stays its own on the way back.
#
# A fact has one id for all its versions: the one it was imported with, or that of its first
# version.

_SUMMARY_CHARS = 4_000
_MOST_FACTS = 1_000
#: Of a fact that does not say how sure it is.
_CONFIDENCE = 0.5
_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")
#: Whose word a fact is that came with a document and was not known.
_IMPORT = "import"
#: Whose facts carry a summary of an import: an agent's do not.
_CARRYING = (*sorted(BY_USER), _IMPORT)


class Section(BaseModel):
    """One of the six summaries."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    summary: Text = ""
    updatedAt: Text = ""
    visibility: Text = None


class ImportedFact(BaseModel):
    """A fact of a document; what we do not keep is left out."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    content: Needed
    category: Text = "context"
    categoryExtension: Text = None
    confidence: float = Field(_CONFIDENCE, ge=0.0, le=1.0)
    createdAt: Text = ""
    visibility: Text = None
    #: Kept as they are, where they are texts; others are none of DeerFlow's.
    id: Any = None
    source: Any = None
    sourceError: Any = None

    def foreign_fields(self) -> dict[str, str]:
        """What comes back with the fact and means nothing here."""
        id = self.id if isinstance(self.id, str) and _ID.fullmatch(self.id) else None
        told = {"id": id, "source": self.source, "sourceError": self.sourceError}
        return {name: each for name, each in told.items() if isinstance(each, str) and each}


class Document(BaseModel):
    """A memory document."""

    model_config = ConfigDict(
        strict=True,
        extra="ignore",
        frozen=True,
        json_schema_extra={"examples": [{"facts": [{"content": "I like trains."}]}]},
    )

    version: Text = "1.0"
    user: dict[str, Section] = {}
    history: dict[str, Section] = {}
    facts: list[ImportedFact] = Field([], max_length=_MOST_FACTS)


def document(memory: Memory, scope: Scope) -> dict[str, Any]:
    """The document of a user as it is now."""
    profile = memory.profile(**scope_args(scope))
    made = profile.as_deerflow()
    first = {each.id: each.sources[0] for each in profile.facts if each.sources}
    threads = {
        event.id: event.session
        for event in memory.store.events(scope, list(dict.fromkeys(first.values())))
    }
    extensions = {each.id: each.metadata.get("categoryExtension") for each in profile.facts}
    ids, kept = ids_of(profile), {each.id: _kept_source(each) for each in profile.facts}
    for fact in made["facts"]:
        # A fact is of everybody who told it; it comes from the session where it was told first.
        if thread := threads.get(first.get(fact["id"], "")):
            fact["source"] = thread
        if isinstance(extensions[fact["id"]], str):
            fact["categoryExtension"] = extensions[fact["id"]]
        fact |= {**kept[fact["id"]], "id": ids[fact["id"]]}
    for name, section in _imported_summaries(memory, scope, profile.facts).items():
        made["user" if name in USER_SECTIONS else "history"][name] = section
    return made


def ids_of(profile: Profile) -> dict[str, str]:
    """The ids of facts as the document has them, by those of their records."""
    found: dict[str, str] = {}
    for record in profile.facts:
        id = _kept_source(record).get("id") or first_id(record)
        # Of one claim two may hold: the second is called by its own id.
        found[record.id] = record.id if id in found.values() else id
    return found


def _kept_source(record: Record) -> Mapping[str, str]:
    kept = record.metadata.get("deerflow")
    return kept if isinstance(kept, Mapping) else {}


def _sections_of(made: Mapping[str, Any]) -> list[dict[str, str]]:
    return [*made["user"].values(), *made["history"].values()]


def _imported_summaries(
    memory: Memory, scope: Scope, facts: Sequence[Record]
) -> dict[str, dict[str, str]]:
    """The summaries that came with facts of an import: shown in the document while those hold, in
    no prompt, for nobody vouches for them."""
    there = {each.id for each in facts if each.origin in _CARRYING}
    written = parts.seen(memory.store.listed(scope, tier="profile"), scope)
    return {
        each.kind: {
            "summary": each.content,
            "updatedAt": each.known_from.isoformat().replace("+00:00", "Z"),
            **({} if each.visibility is None else {"visibility": each.visibility}),
        }
        for each in written
        if each.kind in SECTIONS and each.data.get("facts") and there.issuperset(each.data["facts"])
    }


def clear_document(memory: Memory, scope: Scope) -> int:
    """Forget what the document is made of: facts with all their versions, fields that were set and
    summaries that were written; how many. Turns stay, and so does everything else."""
    return _forget_all(memory, scope, _document_ids(memory, scope))


def _document_ids(memory: Memory, scope: Scope) -> list[str]:
    """The ids of what the document is made of."""
    return [
        record.id
        for tier in ("fact", "profile")
        # Those learned first first: so no version comes back for want of the one after it.
        for record in memory.store.listed(scope, tier=tier, current=False, archived=True)
        if _is_seen(record, scope)
    ]


def _forget_all(memory: Memory, scope: Scope, ids: Sequence[str]) -> int:
    return sum(memory.forget(id, user=scope.user, workspace=scope.workspace) for id in ids)


def import_into(memory: Memory, scope: Scope, sent: Document) -> None:
    """Put a document in the place of the one there is."""
    if not sent.model_fields_set & {"user", "history", "facts"}:
        raise InvalidInput("a document has user, history or facts: this has none", field="facts")
    private = _private(memory, scope)
    sections = _sections(sent)
    hidden = _hidden(sent, sections, scope, private)
    facts = _check_facts(memory, scope, _document_facts(sent, sections, hidden), private)
    before = _document_ids(memory, scope)
    made = memory.facts.anew(scope, facts)
    holding = [fact.id for fact in made if fact.origin in _CARRYING] or [fact.id for fact in made]
    for name, text in sections.items():
        if holding:
            memory.profiles.write_summary(
                name, text, facts=holding, **scope_args(scope),
                visibility=AGENT_ONLY if name in hidden else None,
            )  # fmt: skip
    _forget_all(memory, scope, before)


def same(text: str) -> str:
    """A text without what makes no difference: case and spaces."""
    return " ".join(text.split()).casefold()


def _document_facts(
    sent: Document, sections: Mapping[str, str], hidden: Collection[str]
) -> list[tuple[str, ImportedFact]]:
    """The facts of a document with their places. A summary stands on facts; alone it is one."""
    if sent.facts:
        return [(f"facts.{place}.", fact) for place, fact in enumerate(sent.facts)]
    alone = {
        name: ImportedFact(
            content=text, confidence=_CONFIDENCE, visibility=AGENT_ONLY if name in hidden else None
        )
        for name, text in sections.items()
    }
    return [(f"{name}.", fact) for name, fact in alone.items()]


def _check_facts(
    memory: Memory,
    scope: Scope,
    facts: Sequence[tuple[str, ImportedFact]],
    private: Collection[str],
) -> list[tuple[FactDraft, dict[str, Any]]]:
    """These facts as they may be stored, those learned first first."""
    now = memory.now()
    origins = _origins(memory, scope)
    drafts = []
    for place, fact in facts:
        origin = origins.get(same(fact.content), _IMPORT)
        category, extension = _category(fact, origin)
        kept = fact.foreign_fields()
        metadata = {
            **({"categoryExtension": extension} if extension else {}),
            **({"deerflow": kept} if kept else {}),
        }
        draft, labels = memory.facts.checked(
            fact.content, at=_at(fact, place, now), confidence=fact.confidence, category=category,
            origin=origin, metadata=metadata, name=f"{place}content",
        )  # fmt: skip
        if _is_private(fact.visibility, fact.content, f"{place}visibility", scope, private):
            draft = replace(draft, visibility=AGENT_ONLY)
        drafts.append((draft, labels))
    return sorted(drafts, key=lambda each: each[0].at)


def _origins(memory: Memory, scope: Scope) -> dict[str, str]:
    """Whose word the facts are that hold, by their texts; of two, the less trusted one."""
    found: dict[str, str] = {}
    profile = memory.profile(**scope_args(scope))
    for fact in profile.facts:
        text = same(fact.content)
        found[text] = least([fact.origin, found.get(text, fact.origin)])
    return found


def _private(memory: Memory, scope: Scope) -> set[str]:
    """The texts of the document as it is that nobody else sees. A summary is made of any facts."""
    profile = memory.profile(**scope_args(scope))
    shared = {same(fact.content) for fact in profile.facts if fact.visibility is None}
    now = document(memory, scope)
    marked = [fact["content"] for fact in now["facts"] if "visibility" in fact]
    marked += [each["summary"] for each in _sections_of(now) if "visibility" in each]
    return {same(text) for text in marked} - shared


def _hidden(
    sent: Document, sections: Mapping[str, str], scope: Scope, private: Collection[str]
) -> set[str]:
    """The summaries that are for this agent alone."""
    given = {**sent.user, **sent.history}
    return {
        name
        for name, text in sections.items()
        if _is_private(given[name].visibility, text, f"{name}.visibility", scope, private)
    }


def _is_private(
    said: str | None, text: str, name: str, scope: Scope, private: Collection[str]
) -> bool:
    """Whether a part of a document is for this agent alone: it says so, or was so until now."""
    if said not in (None, "", AGENT_ONLY):
        raise InvalidInput(
            f"{name} must be {AGENT_ONLY} or left out, not {str(said)[:64]!r}", field=name
        )
    if said and scope.agent is None:
        raise InvalidInput(f"{name} {AGENT_ONLY} needs an agent", field=name)
    return bool(said) or same(text) in private


def _category(fact: ImportedFact, origin: str) -> tuple[str, str | None]:
    """A category of ours, and what it was called where it is none or only the user's to say."""
    word = (fact.category or "context").strip().lower()
    is_ours = word in CATEGORIES and (word not in USERS_OWN or origin in BY_USER)
    extension = fact.categoryExtension or (None if is_ours else word)
    return word if is_ours else "other", extension


def _sections(sent: Document) -> dict[str, str]:
    """The summaries by name, those that say something."""
    given = {**sent.user, **sent.history}
    for name in given:
        if name not in SECTIONS:
            raise InvalidInput(f"{name[:64]} is not a summary of this document", field=name[:64])
    texts = {name: (section.summary or "").strip() for name, section in given.items()}
    for name, text in texts.items():
        if len(text) > _SUMMARY_CHARS:
            raise InvalidInput(
                f"{name} has {len(text)} characters, the limit is {_SUMMARY_CHARS}", field=name
            )
    return {name: parts.text(text, name, _SUMMARY_CHARS) for name, text in texts.items() if text}


def _at(fact: ImportedFact, place: str, now: datetime) -> datetime:
    """When a fact was learned; without a zone it is in UTC, as DeerFlow writes it."""
    text = (fact.createdAt or "").strip()
    if not text:
        return now
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        at = None
    name = f"{place}createdAt"
    if at is not None and at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    return min(now, validate.moment(at or text, name))


def _is_seen(record: Record, scope: Scope) -> bool:
    is_shared_conflict = record.kind == CONFLICT and record.visibility is None
    return is_shared_conflict or parts.is_seen(record, scope.agent)


routes = APIRouter(prefix="/api/memory", route_class=StrictRoute, tags=["deerflow"])
_OBJECT = dict[str, Any]


async def _query_string(
    query: Annotated[QueryString, Query()],
    user: Annotated[str | None, Header(alias="X-Holdfast-User")] = None,
) -> QueryString:
    if not user:
        return query
    named = header_text(user, "X-Holdfast-User")
    if query.user_id not in (None, named):
        raise InvalidInput("user_id and X-Holdfast-User differ: send one of them", field="user_id")
    return query.model_copy(update={"user_id": named})


Whose = Annotated[QueryString, Depends(_query_string)]


@routes.get("", response_model=_OBJECT)
@routes.get("/export", response_model=_OBJECT)
def read(*, whose: Whose, key: Reader, memory: Held) -> Response:
    """The memory document."""
    return json_response(document(memory, scope_of(key, whose)))


@routes.post("/reload", response_model=_OBJECT)
def reload(*, whose: Whose, key: Reader, memory: Held) -> Response:
    """The document; it is always made of what is stored, so there is nothing to load again."""
    return json_response(document(memory, scope_of(key, whose)))


@routes.get("/config", response_model=_OBJECT)
def config(*, key: Reader, memory: Held) -> Response:
    """How memory is set up, in DeerFlow's words."""
    return json_response(_config(memory))


@routes.get("/status", response_model=_OBJECT)
def status(*, whose: Whose, key: Reader, memory: Held) -> Response:
    """Both."""
    return json_response(
        {"config": _config(memory), "data": document(memory, scope_of(key, whose))}
    )


@routes.delete("", response_model=_OBJECT)
def clear(*, whose: Whose, key: Writer, memory: Held) -> Response:
    """Forget every fact, summary and field of the profile; what was said stays."""
    scope = scope_of(key, whose)
    clear_document(memory, scope)
    return json_response(document(memory, scope))


@routes.post("/import", response_model=_OBJECT)
def import_document(*, body: Document, whose: Whose, key: Writer, memory: Held) -> Response:
    """Put a document in the place of the one there is."""
    scope = scope_of(key, whose)
    import_into(memory, scope, body)
    return json_response(document(memory, scope))


class NewFact(ClosedBody):
    """A fact to add."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"content": "I work as a nurse."}]})

    content: Needed
    category: Text = "context"
    confidence: float = Field(_CONFIDENCE, ge=0.0, le=1.0)


@routes.post("/facts", response_model=_OBJECT)
def add_fact(*, body: NewFact, whose: Whose, key: Writer, memory: Held) -> Response:
    """Add a fact by hand."""
    scope = scope_of(key, whose)
    category, labels = known_category(body.category)
    made = memory.facts.add(
        body.content,
        **scope_args(scope),
        category=category,
        confidence=body.confidence,
        metadata=labels,
    )
    if made.outcome == "noop":
        raise Conflict("a fact with the same content already exists")
    if made.outcome == "clarify":
        raise Conflict(
            "it may contradict a fact that is known, and waits for an answer:"
            " see GET /v1/clarifications"
        )
    return json_response(document(memory, scope))


class ChangedFact(ClosedBody):
    """What is to be another; what is left out stays."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"confidence": 0.9}]})

    content: Text = None
    category: Text = None
    confidence: float | None = Field(None, ge=0.0, le=1.0)


@routes.patch("/facts/{id}", response_model=_OBJECT)
def change_fact(*, id: str, body: ChangedFact, whose: Whose, key: Writer, memory: Held) -> Response:
    """Change a fact: a new version takes its place, under the same id."""
    scope = scope_of(key, whose)
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
        fact.id, content, **scope_args(scope),
        category=category, confidence=body.confidence, origin=origin,
    )  # fmt: skip
    return json_response(document(memory, scope))


@routes.delete("/facts/{id}", response_model=_OBJECT)
def remove_fact(*, id: str, whose: Whose, key: Writer, memory: Held) -> Response:
    """Forget a fact in all its versions; restorable."""
    scope = scope_of(key, whose)
    fact = _in_force(memory, scope, id)
    forget_fact(memory, fact.id, **scope_args(scope))
    return json_response(document(memory, scope))


def known_category(name: str | None) -> tuple[str, dict[str, str] | None]:
    """A category of a fact, and what is kept with it: one that we do not know is `other`."""
    if name is None or not name.strip():
        return "context", None
    word = name.strip().lower()
    return (word, None) if word in CATEGORIES else ("other", {"categoryExtension": name.strip()})


def _in_force(memory: Memory, scope: Scope, id: str) -> Fact:
    """A fact that holds, by its id in the document or by that of its record; Conflict for a version
    that another took the place of."""
    profile = memory.profile(**scope_args(scope))
    of_record = {shown: own for own, shown in ids_of(profile).items()}
    fact = memory.facts.get(of_record.get(id, id), **scope_args(scope))
    if fact.status != "active":
        raise Conflict(f"the fact {id} is {fact.status}: reload, and change the one that holds")
    return fact


def _is_there(memory: Memory, scope: Scope, content: str) -> bool:
    profile = memory.profile(**scope_args(scope))
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


def forget_fact(
    memory: Any, id: str, *, user: str | None, workspace: str, agent: str | None
) -> None:
    """Forget the fact that an id names, whichever of its versions that is; restorable. NotFound
    when there is none. `forget` hides one version, and then the one before it holds again: right
    for who takes a change back, wrong for who wants the fact gone."""
    lines = memory.facts.history(id, user=user, workspace=workspace, agent=agent)
    # Those learned first first: so no version comes back for want of the one after it.
    for each in dict.fromkeys(line.record or id for line in lines):
        memory.forget(each, user=user, workspace=workspace)
