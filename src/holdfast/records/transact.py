"""Read, plan, store; and plan again when another writer was faster.

A plan is made of what is known at a moment. `Store.put` and `Store.learn` store it only if nothing
of its tiers has changed since that moment, so no update is lost, whoever else writes.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

from holdfast.errors import StoreBusy
from holdfast.store.protocols import Store
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
