"""Where a memory comes from, what came of it, and how present it is: for people who look at one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from holdfast.index.view import ViewPart
from holdfast.recall.hits import Kept, to_kept
from holdfast.records.fading import strength, until
from holdfast.records.parts import seen
from holdfast.settings import Decay
from holdfast.store.protocols import Store, claim_of
from holdfast.types import Record, Scope

#: So many turns before and after a source are told, of so many sources, and so many memories that
#: were made of a turn.
_REACH, _SOURCES, _DERIVED = 3, 8, 200


@dataclass(frozen=True, slots=True)
class Trace:
    """What surrounds a memory."""

    id: str
    #: How present it is now, 0..1.
    strength: float
    #: When it was last told, used or judged; None: not since it was learned.
    seen_at: datetime | None
    #: In how many contexts it was told, counted once a day.
    uses: int
    #: From this time on it is left out, unless something touches it; None: it does not fade.
    hidden_at: datetime | None
    #: All its versions, also those that hold no longer, those learned first first; () where it has
    #: no others by its kind, as a turn has none.
    versions: tuple[Kept, ...] = ()
    #: The turns that it comes from, each with those around it, in the order they were said.
    turns: tuple[Kept, ...] = ()
    #: What was derived from it, those learned first first; of a turn alone.
    derived: tuple[Kept, ...] = ()


def trace_of(
    store: Store, scope: Scope, record: Record, part: ViewPart, *, now: datetime, decay: Decay
) -> Trace:
    """Of what is somebody else's only how present it is: the turns are not the asker's."""
    is_own = part.scope == scope
    around: dict[str, Record] = {}
    for source in record.sources[:_SOURCES] if is_own else ():
        around |= {each.id: each for each in store.turns_around(scope, source, reach=_REACH)}
    claim = claim_of(record)
    versions = store.versions(scope, claim) if is_own and claim is not None else []
    derived = store.derived_from(scope, record.id, limit=_DERIVED) if is_own else []
    turns = sorted(around.values(), key=lambda each: (each.valid_from, each.id))
    return Trace(
        record.id,
        round(strength(record, now, decay), 6),
        record.seen_at,
        record.uses,
        until(record, decay),
        _shown(versions, scope),
        _shown(turns, scope),
        _shown(derived, scope),
    )


def _shown(records: Iterable[Record], scope: Scope) -> tuple[Kept, ...]:
    return tuple(to_kept(each) for each in seen(records, scope))
