"""What must not be done twice, under a key of the caller: the second time it is not done.

The store notes that it was done in the transaction that does it, so it holds across a crash. What
is noted is a text by which the same answer can be given again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from holdfast.border import validate
from holdfast.store.protocols import Answered, Store
from holdfast.types import Scope


@contextmanager
def once(
    store: Store, scope: Scope, key: str | None, verb: str, *, note: str, at: datetime, **asked: Any
) -> Iterator[str | None]:
    """What was noted when it was done before, or None: then do it, and `note` is kept with it.

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
