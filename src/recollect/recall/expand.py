"""Expand: the whole memory behind an id, for a context that told only a headline of it."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.errors import InvalidInput, NotFound
from recollect.store.base import Records
from recollect.types import Hit, Record, Scope


def expand(store: Records, scope: Scope, ids: Sequence[str]) -> list[Hit]:
    """The memories with these ids, in that order; NotFound for one that the asker cannot see."""
    if isinstance(ids, str) or not all(isinstance(each, str) for each in ids):
        raise InvalidInput("ids must be a list of memory ids", field="ids")
    found = {record.id: record for record in store.get(scope, ids) if _is_seen(record, scope)}
    for each in ids:
        if each not in found:
            raise NotFound(f"there is no memory {each!r} in this scope")
    return [_hit(found[each]) for each in ids]


def _is_seen(record: Record, scope: Scope) -> bool:
    return scope.agent is None or record.agent in (None, scope.agent)


def _hit(record: Record) -> Hit:
    return Hit(
        id=record.id,
        content=record.content,
        tier=record.tier,
        kind=record.kind,
        score=1.0,  # Asked for by name: nothing fits better.
        confidence=record.confidence,
        created_at=record.valid_from,
        metadata=record.metadata,
        sources=record.sources,
        source_metadata=(record.metadata,),
        role=record.role,
        name=record.name,
        session=record.session,
        origin=record.origin,
    )
