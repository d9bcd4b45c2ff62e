"""Expand: the whole memory behind an id, for a context that told only a headline of it."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.errors import NotFound
from recollect.recall.hits import hit
from recollect.store.base import Records
from recollect.types import Hit, Record, Scope


def expand(store: Records, scope: Scope, ids: Sequence[str]) -> list[Hit]:
    """The memories with these ids, in that order; NotFound for one that the asker cannot see."""
    found = {record.id: record for record in store.get(scope, ids) if _is_seen(record, scope)}
    for each in ids:
        if each not in found:
            raise NotFound(f"there is no memory {each!r} in this scope")
    # Asked for by name: nothing fits better.
    return [hit(found[each], score=1.0) for each in ids]


def _is_seen(record: Record, scope: Scope) -> bool:
    return scope.agent is None or record.agent in (None, scope.agent)
