"""Versions of one thing, one after another: the last holds, each other one until the next began.

So it is when they are stored. When one of them is forgotten or comes back it is made so again: what
holds now, and at any time in the past, is said by one version alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from itertools import pairwise

from holdfast.store.protocols import Store
from holdfast.types import Record, Scope

_BACK = "what replaced it was forgotten"
_OVER = "what replaces it is there"
Parts = Callable[[Record], Sequence[str]]


def line_up(
    store: Store,
    scope: Scope,
    versions: Sequence[Record],
    *,
    now: datetime,
    over: Collection[str] = (),
    parts: Parts = lambda record: (record.id,),
) -> None:
    """Line up the versions that are there, in their order. Those that are `over` were taken back
    and do not hold again; `parts` are the ids of what begins and ends with a version."""
    for this, following in pairwise(versions):
        until = following.valid_from
        if is_open(this):
            store.end(scope, parts(this), at=now, valid_to=until, action="superseded", reason=_OVER)
        elif this.valid_to is not None and this.valid_to > until:
            store.shorten(scope, parts(this), at=now, valid_to=until, reason=_OVER)
    standing = [each for each in versions if each.id not in over]
    if standing and standing[-1] is versions[-1] and not is_open(standing[-1]):
        _open_again(store, scope, standing[-1], parts(standing[-1]), now)


def is_open(record: Record) -> bool:
    """Whether a record holds without an end."""
    return record.known_to is None and record.valid_to is None


def was_taken_back(store: Store, scope: Scope, record: Record) -> bool:
    """Whether a record ended because somebody said so, not because of another one."""
    if record.known_to is None:
        return False
    acts = [line.action for line in store.history(scope, record.id)]
    ends = [each for each in acts if each in ("superseded", "invalidated")]
    return bool(ends) and ends[-1] == "invalidated"


def _open_again(
    store: Store, scope: Scope, record: Record, ids: Sequence[str], now: datetime
) -> None:
    if record.known_to is None and record.valid_to is not None:
        # Told when it was over already: its end is that of what was forgotten.
        store.end(scope, ids, at=now, valid_to=record.valid_to, action="superseded", reason=_OVER)
    store.reopen(scope, ids, at=now, reason=_BACK)
