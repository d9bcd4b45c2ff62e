"""Writing safely beside others: `attempts`, optimistic concurrency; `once`, idempotency keys.

A plan is made of what is known at a moment. `Store.put` and `Store.learn` store it only if nothing
of its tiers has changed since that moment, so no update is lost, whoever else writes. What a caller
sends under a key is done once, also across a crash.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from holdfast.border import validate
from holdfast.errors import NotFound, StoreBusy
from holdfast.store.protocols import Answered, Store
from holdfast.types import Scope

#: Plans that are thrown away before a caller is told. Each failure is the success of another.
MOST_TRIES = 50
#: After so many of them each waits a little, at most this many seconds longer every time.
_AT_ONCE = 5
_PAUSE_SECONDS = 0.005


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
