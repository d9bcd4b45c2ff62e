"""Records as hits: what a caller is told of a memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from holdfast.border.reserved import RESERVED_METADATA, SYSTEM
from holdfast.index.view import Part
from holdfast.types import Event, Hit, Metadata, Record

_PLAIN_TIERS = frozenset({"graph", "workspace"})


def hit(
    record: Record,
    *,
    score: float,
    why: Mapping[str, Any] | None = None,
    sources: Mapping[str, Event] | None = None,
    part: Part | None = None,
) -> Hit:
    """The hit for a record. `sources` are events by id, for records that have several; `part` says
    whose it is, where it is not the asker's own.

    What the system knows of a derived record stands beside what the caller gave with its source,
    under keys that no caller can use. `why` names the share that shows what belongs to another
    workspace, and says so of what belongs to the team.
    """
    if part is not None and part.is_team:
        why = {**(why or {}), "team": True}
    elif part is not None and part.shares:
        why = {**(why or {}), "share": part.share_of(record.tier)}
        record = _lent(record, part.scope.user)
    return Hit(
        id=record.id,
        content=record.content,
        tier=record.tier,
        kind=record.kind,
        score=score,
        confidence=record.confidence,
        created_at=record.valid_from,
        metadata=_told(record),
        sources=record.sources,
        source_metadata=_source_metadata(record, sources or {}),
        why=why or {},
        role=record.role,
        name=record.name,
        session=record.session,
        origin=record.origin,
    )


def _told(record: Record) -> Metadata:
    """What the caller gave, and what the system knows: reserved keys as they are, the rest under
    one of them. In the graph and in the team's tier nobody gives metadata: there it is plain."""
    data = record.data
    if not data:
        return record.metadata
    if record.tier in _PLAIN_TIERS:
        return {**record.metadata, **data}
    known = {key: value for key, value in data.items() if key in RESERVED_METADATA}
    rest = {key: value for key, value in data.items() if key not in RESERVED_METADATA}
    return {**record.metadata, **known, **({SYSTEM: rest} if rest else {})}


def _lent(record: Record, owner: str) -> Record:
    """A record as another workspace is shown it: what it says, not the turns it comes from, nor
    what the caller gave with them. It has a name: without one it would read as the asker's word."""
    metadata = {} if record.sources else record.metadata
    name = record.name or owner or None
    return replace(record, sources=(), metadata=metadata, session=None, name=name)


def _source_metadata(record: Record, sources: Mapping[str, Event]) -> tuple[Metadata, ...]:
    if len(record.sources) <= 1:
        return (record.metadata,) * len(record.sources)
    return tuple(sources[each].metadata if each in sources else {} for each in record.sources)
