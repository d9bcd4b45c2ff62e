"""Expand: the whole memory behind an id, for a context that told only a headline of it."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.errors import NotFound
from holdfast.index.view import Part
from holdfast.recall.hits import hit
from holdfast.store.base import Records
from holdfast.types import Hit, Record, Scope


def expand(
    store: Records, scope: Scope, ids: Sequence[str], *, also: Sequence[Part] = ()
) -> list[Hit]:
    """The memories with these ids, in that order; NotFound for one that the asker cannot see.

    `also`: what they see beside what is their own, as for a search.
    """
    found = seen(store, scope, ids, also=also)
    for each in ids:
        if each not in found:
            raise NotFound(f"there is no memory {each!r} in this scope")
    # Asked for by name: nothing fits better.
    return [hit(record, score=1.0, part=part) for record, part in (found[each] for each in ids)]


def seen(
    store: Records, scope: Scope, ids: Sequence[str], *, also: Sequence[Part] = ()
) -> dict[str, tuple[Record, Part]]:
    """Those of these memories that the asker can see, and whose each is; their own first."""
    found: dict[str, tuple[Record, Part]] = {}
    for part in (Part(scope), *also):
        wanted = [each for each in ids if each not in found]
        for record in store.get(part.scope, wanted) if wanted else ():
            if _is_seen(record, scope, part):
                found[record.id] = (record, part)
    return found


def _is_seen(record: Record, scope: Scope, part: Part) -> bool:
    is_private = record.visibility == "agent_only"
    if not part.shows(tier=record.tier, kind=record.kind, private=is_private, quiet=record.quiet):
        return False
    if is_private and record.agent != scope.agent:
        return False
    # An agent of another workspace is another one, also if it is called as ours.
    known = (None,) if part.shares else (None, scope.agent)
    return scope.agent is None or record.agent in known
