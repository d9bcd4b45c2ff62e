"""Versions of one thing, one after another: the last holds, each other one until the next began.

What they are versions of is their claim, by which the store finds them (`Store.listed`). A new
one ends the one before in the transaction that stores it (`Derived.supersedes`). When one of them
is forgotten or comes back, `line_up` makes it so again: what holds now, and at any time in the
past, is said by one version alone.

Others write at the same time: a plan is made of what is known at a moment (`attempts`), and
`Store.put` and `Store.learn` store it only if nothing of its tiers has changed since, so no update
is lost. What a caller sends under a key is done once (`once`), also across a crash.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from typing import Any

from holdfast.border import validate
from holdfast.errors import NotFound, StoreBusy
from holdfast.store.protocols import Answered, Store, claim_of
from holdfast.types import Record, Scope, Version

#: Plans that are thrown away before a caller is told. Each failure is the success of another.
MOST_TRIES = 50
#: After so many of them each waits a little, at most this many seconds longer every time.
_AT_ONCE = 5
_PAUSE_SECONDS = 0.005

_BACK = "what replaced it was forgotten"
_OVER = "what replaces it is there"
Parts = Callable[[Record], Sequence[str]]


def attempts(store: Store, scope: Scope) -> Iterator[int]:
    """The moments that plans are made of, to be given to the store as `since`: leave the loop when
    one was stored. StoreBusy when others were always faster."""
    for number in range(MOST_TRIES):
        if number >= _AT_ONCE:
            time.sleep(random.uniform(0, _PAUSE_SECONDS * (number - _AT_ONCE + 1)))
        yield store.head(scope).change
    raise StoreBusy(f"other writers were faster {MOST_TRIES} times; try again")


@contextmanager
def once(
    store: Store, scope: Scope, key: str | None, verb: str, *, note: str, at: datetime, **asked: Any
) -> Iterator[str | None]:
    """What was noted when it was done before, or None: then do it, and `note` is kept with it in
    the transaction that does it, to give the same answer again.

    Without a key it is always None. `asked` is what must be the same when it comes again; Conflict
    when it is not.
    """
    name = validate.idempotency_key(key)
    if name is None:
        yield None
        return
    noted = Answered(validate.body_digest(agent=scope.agent, **asked), 0, note.encode())
    with store.once(scope, f"{verb} {name}", noted, at=at) as before:
        yield None if before is None else before.answer.decode()


def exists(store: Store, scope: Scope, id: str) -> bool:
    """Whether there is a record with this id, forgotten or not."""
    try:
        store.history(scope, id)
    except NotFound:
        return False
    return True


def first_id(record: Record) -> str:
    """The id of the first version of what a record is a version of."""
    first = record.data.get("claim")
    return first if isinstance(first, str) and first else record.id


def chain_data(id: str, before: Sequence[Record]) -> dict[str, Any]:
    """What the data of a new version says of those that it replaces."""
    if not before:
        return {"claim": id}
    return {"claim": first_id(before[-1]), "replaces": [each.id for each in before]}


def versions_of(store: Store, scope: Scope, record: Record) -> list[Record]:
    """All versions of what a record is a version of, oldest first."""
    claim = claim_of(record) or record.id
    return store.listed(scope, claim=claim, current=False, archived=True)


def newest(store: Store, scope: Scope, claim: str) -> Record | None:
    """The version that holds now; None when none does."""
    return next(reversed(store.listed(scope, claim=claim, archived=True)), None)


def history_of(store: Store, scope: Scope, versions: Iterable[Record]) -> list[Version]:
    """What happened to some versions, oldest first; each line says to which."""
    lines = [
        replace(line, record=each.id) for each in versions for line in store.history(scope, each.id)
    ]
    return sorted(lines, key=lambda line: line.at)


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
            store.end(scope, parts(this), at=now, valid_to=until, reason=_OVER, ended=True)
    standing = [each for each in versions if each.id not in over]
    if standing and standing[-1] is versions[-1] and not is_open(standing[-1]):
        _open_again(store, scope, standing[-1], parts(standing[-1]), now)


def is_open(record: Record) -> bool:
    """Whether a record holds without an end."""
    return record.known_to is None and record.valid_to is None


def was_taken_back(store: Store, scope: Scope, record: Record) -> bool:
    """Whether a record ended because somebody said so, not because of another one."""
    return record.known_to is not None and last_end(store, scope, record) == "invalidated"


def last_end(store: Store, scope: Scope, record: Record) -> str:
    """How a record that ended did so the last time: superseded or invalidated."""
    acts = [line.action for line in store.history(scope, record.id)]
    ends = [each for each in acts if each in ("superseded", "invalidated")]
    return ends[-1] if ends else "superseded"


def _open_again(
    store: Store, scope: Scope, record: Record, ids: Sequence[str], now: datetime
) -> None:
    if record.known_to is None and record.valid_to is not None:
        # Told when it was over already: its end is that of what was forgotten.
        store.end(scope, ids, at=now, valid_to=record.valid_to, action="superseded", reason=_OVER)
    store.end(scope, ids, valid_to=None, at=now, reason=_BACK)
