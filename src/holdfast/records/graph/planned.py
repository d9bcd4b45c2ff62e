"""What a call leaves of entities, relations and merges, and the records that this makes.

What was only heard is marked so and is no document of the search: recall finds the turns it was
heard in. What somebody wrote stays as written, however often it is heard of.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Any

from holdfast.border.origins import least
from holdfast.index.postings import packed
from holdfast.language.names.matching import same
from holdfast.language.terms import terms
from holdfast.language.vocabulary import ANY_ENTITY, Typed, sentence
from holdfast.records.graph.check import MOST_ALIASES, EntityDraft, RelationDraft
from holdfast.records.graph.elements import aliases
from holdfast.store.base import Derived, is_heard
from holdfast.types import Record

_ID_BYTES = 16
#: How sure we are of what the caller gave no number for: what the user said, and the rest.
_SAID, _TOLD = 1.0, 0.8
#: Aliases that an entity may gather over time.
_MOST_GATHERED = 4 * MOST_ALIASES
_IMPORTANCE = 0.5
#: Turns that are kept as sources of one record; from then on one a day, which keeps it present.
_MOST_SOURCES = 1_000
_DAY = timedelta(days=1)
#: Who speaks in a record of this origin.
_ROLES = {"user": "user", "user_confirmed": "user", "agent": "assistant"}


@dataclass(frozen=True, slots=True)
class Planned:
    """A record to store, and the one it is a new version of."""

    record: Derived
    before: Record | None


@dataclass(frozen=True, slots=True)
class Call:
    """What all records of one call share."""

    now: datetime
    origin: str
    agent: str | None
    heard: bool


@dataclass(slots=True)
class Told:
    """What the drafts of one call have in common that speak of one thing."""

    origins: list[str] = field(default_factory=list)
    sources: dict[str, None] = field(default_factory=dict)
    importance: float = 0.0
    signals: set[str] = field(default_factory=set)

    def add(self, draft: EntityDraft | RelationDraft, sources: tuple[str, ...], usual: str) -> None:
        """One more draft, as far as it was heard in these turns."""
        self.origins.append(draft.origin or usual)
        self.sources.update(dict.fromkeys(sources))
        given = _IMPORTANCE if draft.importance is None else draft.importance
        self.importance = max(self.importance, given)
        if isinstance(draft, RelationDraft):
            self.signals.update(draft.signals)

    def sources_beside(self, before: Record | None, now: datetime) -> tuple[str, ...]:
        """The turns to add to those that a record has already."""
        if before is None or len(before.sources) < _MOST_SOURCES:
            return tuple(self.sources)
        if now - (before.seen_at or before.known_from) < _DAY:
            return ()
        known = set(before.sources)
        return tuple(each for each in self.sources if each not in known)[:1]


@dataclass(slots=True)
class PlannedEntity:
    """An entity as this call leaves it."""

    name: str
    type: Typed
    aliases: list[str]
    summary: str
    since: datetime
    before: Record | None = None
    told: Told = field(default_factory=Told)

    def join(self, draft: EntityDraft, *, heard: bool) -> None:
        """What a draft adds to an entity."""
        if heard and is_written(self.before):
            return
        if self.type.type == ANY_ENTITY and self.type.original is None:
            self.type = draft.type  # Nothing better was known.
        first, second = (self.summary, draft.summary) if heard else (draft.summary, self.summary)
        self.summary = first or second
        there = {same(self.name), *map(same, self.aliases)}
        for name in (draft.name, *draft.aliases):
            if same(name) not in there and len(self.aliases) < _MOST_GATHERED:
                self.aliases.append(name)
                there.add(same(name))

    def record(self, id: str, call: Call) -> Planned:
        """The record of this entity."""
        if call.heard and self.before is not None and is_written(self.before):
            return Planned(
                again(self.before, sources=self.told.sources_beside(self.before, call.now)),
                self.before,
            )
        data: dict[str, Any] = {"name": self.name, "type": self.type.type}
        if self.type.original is not None:
            data["subtype"] = self.type.original
        data |= {"aliases": self.aliases, "summary": self.summary}
        also = f", also {', '.join(self.aliases)}" if self.aliases else ""
        told = f": {self.summary}" if self.summary else ""
        content = f"{self.name} ({self.type.original or self.type.type}){also}{told}"
        sure = max(usual(self.told.origins), self.before.confidence if self.before else 0.0)
        return _planned(id, "entity", content, data, sure, self.since, self.before, self.told, call)


@dataclass(slots=True)
class PlannedRelation:
    """A relation as this call leaves it."""

    source: str
    type: Typed
    target: str
    confidence: float
    #: When it began, if that was said.
    at: datetime | None
    before: Record | None = None
    told: Told = field(default_factory=Told)

    def record(self, id: str, names: tuple[str, str], call: Call) -> Planned:
        """The record of this relation between two that are called so."""
        if call.heard and self.before is not None and is_written(self.before):
            return Planned(
                again(self.before, sources=self.told.sources_beside(self.before, call.now)),
                self.before,
            )
        data: dict[str, Any] = {
            "source": self.source,
            "target": self.target,
            "type": self.type.type,
        }
        if signals := {*self.told.signals, *_signals(self.before)}:
            data["signals"] = sorted(signals)
        if self.type.original is not None:
            # One edge, however its type is spelled: the first spelling stays.
            old = self.before.data.get("original") if self.before else None
            data["original"] = old or self.type.original
        if self.at is not None:
            data["since"] = self.at.isoformat()
        since = self.at or (self.before.valid_from if self.before else call.now)
        content = sentence(names[0], *self.type, names[1])
        return _planned(
            id, "relation", content, data, self.confidence, since, self.before, self.told, call
        )


@dataclass(frozen=True, slots=True)
class PlannedMerge:
    """Two entities, by id and name, that are taken for one."""

    ids: tuple[str, str]
    names: tuple[str, str]
    score: float
    evidence: tuple[str, ...]
    by: str
    origin: str
    sources: tuple[str, ...] = ()

    def record(self, id: str, call: Call, before: Record | None = None) -> Planned:
        """The record of this merge: never a document, and nobody's own, whoever made it."""
        (a, _), (b, _) = sorted(zip(self.ids, self.names, strict=True))
        data = {
            "a": a,
            "b": b,
            "score": self.score,
            "evidence": list(self.evidence),
            "by": self.by,
            "heard": True,
        }
        made = Derived(
            id=id,
            tier="graph",
            kind="merge",
            content=f"{self.names[0]} is {self.names[1]}",
            data=data,
            confidence=self.score,
            importance=_IMPORTANCE,
            origin=self.origin,
            terms=b"",
            length=0,
            valid_from=call.now,
            sources=self.sources,
            role=_ROLES.get(self.origin, "tool"),
            shared=True,
        )
        return Planned(made, before)


def opened(draft: EntityDraft, before: Record | None, now: datetime) -> PlannedEntity:
    """An entity as it was before this call; new: as the draft calls it."""
    if before is None:
        return PlannedEntity(draft.name, draft.type, [], "", now)
    data = before.data
    type = Typed(data["type"], data.get("subtype"))
    summary = str(data.get("summary", ""))
    return PlannedEntity(
        data["name"], type, list(aliases(before)), summary, before.valid_from, before
    )


def usual(origins: list[str]) -> float:
    """How sure we are of what these have told."""
    return _SAID if least(origins) in ("user", "user_confirmed") else _TOLD


def is_written(record: Record | None) -> bool:
    """Whether somebody wrote it, so that hearing of it changes nothing but its sources."""
    return record is not None and not is_heard(record.tier, record.data)


def again(
    record: Record, *, sources: tuple[str, ...] = (), valid_to: datetime | None = None
) -> Derived:
    """A record as it is, to be stored again with more sources or with an end."""
    row, length = (b"", 0) if not is_written(record) else packed(terms(record.content))
    return Derived(
        id=record.id,
        tier=record.tier,
        kind=record.kind,
        content=record.content,
        data=record.data,
        confidence=record.confidence,
        importance=record.importance,
        origin=record.origin,
        terms=row,
        length=length,
        valid_from=record.valid_from,
        valid_to=valid_to,
        sources=sources,
        role=record.role,
        name=record.name,
        shared=record.agent is None,
    )


def digest(*parts: str) -> str:
    """An id that follows from what it is the id of."""
    joined = "\x00".join(parts)
    return blake2b(joined.encode(), digest_size=_ID_BYTES).hexdigest()


def merge_id(a: str, b: str, round: int = 0) -> str:
    """The id of the merge of two entities; a later round if that of an earlier one is taken."""
    again = (str(round),) if round else ()
    return digest("merge", *sorted((a, b)), *again)


def _signals(before: Record | None) -> list[str]:
    kept = before.data.get("signals") if before else None
    return [each for each in kept if isinstance(each, str)] if isinstance(kept, list) else []


def _planned(  # noqa: PLR0913, PLR0917 (the parts of a record)
    id: str, kind: str, content: str, data: dict[str, Any], confidence: float, since: datetime,
    before: Record | None, told: Told, call: Call,
) -> Planned:  # fmt: skip
    if call.heard:
        data["heard"] = True
    row, length = (b"", 0) if call.heard else packed(terms(content))
    origins, importance = list(told.origins), told.importance
    if before is not None:
        origins.append(before.origin)
        importance = max(importance, before.importance)
        # What two agents have told is nobody's own.
        if before.agent not in (None, call.agent) or before.data.get("shared"):
            data["shared"] = True
    origin = least(origins)
    made = Derived(
        id=id,
        tier="graph",
        kind=kind,
        content=content,
        data=data,
        confidence=confidence,
        importance=importance,
        origin=origin,
        terms=row,
        length=length,
        valid_from=since,
        sources=told.sources_beside(before, call.now),
        role=_ROLES.get(origin, "tool"),
        shared=before is not None and before.agent != call.agent,
    )
    return Planned(made, before)
