"""Records as hits: what a caller is told of a memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recollect.types import Event, Hit, Metadata, Record


def hit(
    record: Record,
    *,
    score: float,
    why: Mapping[str, Any] | None = None,
    sources: Mapping[str, Event] | None = None,
) -> Hit:
    """The hit for a record. `sources` are events by id, for records that have several.

    What the system knows of a derived record stands beside what the caller gave with its source;
    the system's keys win.
    """
    metadata = {**record.metadata, **record.data} if record.data else record.metadata
    return Hit(
        id=record.id,
        content=record.content,
        tier=record.tier,
        kind=record.kind,
        score=score,
        confidence=record.confidence,
        created_at=record.valid_from,
        metadata=metadata,
        sources=record.sources,
        source_metadata=_source_metadata(record, sources or {}),
        why=why or {},
        role=record.role,
        name=record.name,
        session=record.session,
        origin=record.origin,
    )


def _source_metadata(record: Record, sources: Mapping[str, Event]) -> tuple[Metadata, ...]:
    if len(record.sources) <= 1:
        return (record.metadata,) * len(record.sources)
    return tuple(sources[each].metadata if each in sources else {} for each in record.sources)
