"""DeerFlow's memory document: made of a profile, cleared, and put in its place.

An import is all checked before anything is changed. Its facts come in as the user's word, told by
hand: so they can be changed by hand, and the composed summaries tell them.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from recollect.doors.http.wire import Needed, Text
from recollect.errors import InvalidInput
from recollect.facts.follow import CONFLICT
from recollect.facts.values import CATEGORIES
from recollect.memory import Memory
from recollect.tiers.profile_values import HISTORY_SECTIONS, USER_SECTIONS
from recollect.types import Record, Scope
from recollect.write import validate

_SUMMARY_CHARS = 4_000
_MOST_FACTS = 1_000
#: Of a fact that does not say how sure it is.
_CONFIDENCE = 0.5


class Section(BaseModel):
    """One of the six summaries."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    summary: Text = ""
    updatedAt: Text = ""


class ImportedFact(BaseModel):
    """A fact of a document; what we do not keep is left out."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    content: Needed
    category: Text = "context"
    categoryExtension: Text = None
    confidence: float = Field(_CONFIDENCE, ge=0.0, le=1.0)
    createdAt: Text = ""


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
    profile = memory.profile(user=scope.user, workspace=scope.workspace, agent=scope.agent)
    made = profile.as_deerflow()
    first = {each.id: each.sources[0] for each in profile.facts if each.sources}
    threads = {
        event.id: event.session
        for event in memory.store.events(scope, list(dict.fromkeys(first.values())))
    }
    extensions = {each.id: each.metadata.get("categoryExtension") for each in profile.facts}
    for fact in made["facts"]:
        # A fact is of everybody who told it; it comes from the session where it was told first.
        if thread := threads.get(first.get(fact["id"], "")):
            fact["source"] = thread
        if isinstance(extensions[fact["id"]], str):
            fact["categoryExtension"] = extensions[fact["id"]]
    return made


def cleared(memory: Memory, scope: Scope) -> int:
    """Forget what the document is made of: facts with all their versions, fields that were set and
    summaries that were written; how many. Turns stay, and so does everything else."""
    gone = 0
    for tier in ("fact", "profile"):
        # Those learned first first: so no version comes back for want of the one after it.
        for record in memory.store.listed(scope, tier=tier, current=False, archived=True):
            if _is_seen(record, scope):
                gone += memory.forget(record.id, user=scope.user, workspace=scope.workspace)
    return gone


def versions(memory: Memory, scope: Scope, id: str) -> list[str]:
    """The ids of all versions of a fact, those learned first first."""
    lines = memory.facts.history(id, user=scope.user, workspace=scope.workspace)
    return list(dict.fromkeys(line.record or id for line in lines))


def imported(memory: Memory, scope: Scope, sent: Document) -> None:
    """Clear the document, and fill it anew."""
    sections = _sections(sent)
    now = memory.now()
    facts = [(_at(fact, place, now), fact) for place, fact in enumerate(sent.facts)]
    if not facts:  # A summary stands on facts; alone it is one.
        facts = [
            (now, ImportedFact(content=text, confidence=_CONFIDENCE)) for text in sections.values()
        ]
    cleared(memory, scope)
    made = [_added(memory, scope, at, fact) for at, fact in sorted(facts, key=lambda each: each[0])]
    holding = [id for id in dict.fromkeys(made) if id is not None]
    for name, text in sections.items():
        if holding:
            memory.profiles.write_summary(
                name, text, facts=holding, user=scope.user, workspace=scope.workspace,
                agent=scope.agent,
            )  # fmt: skip


def _added(memory: Memory, scope: Scope, at: datetime, fact: ImportedFact) -> str | None:
    word = (fact.category or "context").strip().lower()
    known = word in CATEGORIES
    extension = fact.categoryExtension or (None if known else word)
    made = memory.facts.add(
        fact.content, at=at, confidence=fact.confidence, category=word if known else "other",
        user=scope.user, workspace=scope.workspace, agent=scope.agent,
        metadata={"categoryExtension": extension} if extension else None,
    )  # fmt: skip
    return made.id if made.status == "active" else None


def _sections(sent: Document) -> dict[str, str]:
    """The summaries by name, those that say something."""
    given = {**sent.user, **sent.history}
    for name in given:
        if name not in (*USER_SECTIONS, *HISTORY_SECTIONS):
            raise InvalidInput(f"{name[:64]} is not a summary of this document", field=name[:64])
    texts = {name: (section.summary or "").strip() for name, section in given.items()}
    for name, text in texts.items():
        if len(text) > _SUMMARY_CHARS:
            raise InvalidInput(
                f"{name} has {len(text)} characters, the limit is {_SUMMARY_CHARS}", field=name
            )
    return {name: text for name, text in texts.items() if text}


def _at(fact: ImportedFact, place: int, now: datetime) -> datetime:
    """When a fact was learned; without a zone it is in UTC, as DeerFlow writes it."""
    text = (fact.createdAt or "").strip()
    if not text:
        return now
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        at = None
    name = f"facts.{place}.createdAt"
    if at is not None and at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    return min(now, validate.moment(at or text, name))


def _is_seen(record: Record, scope: Scope) -> bool:
    return record.kind == CONFLICT or scope.agent is None or record.agent in (None, scope.agent)
