"""A memory as it is kept, for those who look through them: also what holds no longer."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from holdfast.index.view import Part
from holdfast.recall.hits import hit
from holdfast.types import Metadata, Record


@dataclass(frozen=True, slots=True)
class Kept:
    """One memory of any tier, with its times."""

    id: str
    content: str
    tier: str
    kind: str
    #: Whose word it is: user, agent, tool, document, ...
    origin: str
    role: str
    name: str | None
    agent: str | None
    session: str | None
    confidence: float
    importance: float
    #: Since when and until when it holds; None: without an end.
    created_at: datetime
    valid_to: datetime | None
    #: When it was learned, and when it was learned that it holds no longer.
    known_from: datetime
    known_to: datetime | None
    #: Since when it is put aside.
    archived_at: datetime | None = None
    #: Event ids, most relevant first.
    sources: tuple[str, ...] = ()
    metadata: Metadata = field(default_factory=dict)
    #: Of `metadata`, the names that a door put there, not the caller: where it came from.
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """Memories, and where the next ones begin."""

    memories: tuple[Kept, ...]
    #: What `list` takes as `cursor`; None: there are no more.
    next: str | None = None


def kept(record: Record, part: Part | None = None) -> Kept:
    """What a caller is shown of a record; `part` says whose it is, where it is not their own."""
    shown = hit(record, score=1.0, part=part)
    is_lent = part is not None and bool(part.shares) and not part.is_team
    return Kept(
        id=record.id,
        content=record.content,
        tier=record.tier,
        kind=record.kind,
        origin=record.origin,
        role=record.role,
        name=shown.name,
        agent=None if is_lent else record.agent,
        session=shown.session,
        confidence=record.confidence,
        importance=record.importance,
        created_at=record.valid_from,
        valid_to=record.valid_to,
        known_from=record.known_from,
        known_to=record.known_to,
        archived_at=record.archived_at,
        sources=shown.sources,
        metadata=shown.metadata,
        labels=() if is_lent else record.labels,
    )
