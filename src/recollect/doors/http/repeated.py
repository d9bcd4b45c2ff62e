"""`Idempotency-Key` for what stores no turn: the same request again gets the same answer.

The first answer is kept with a digest of what was asked. Sent again, it comes back byte for byte
and nothing is done; with another request under the same key it is a 409. Turns have this in the
store itself (`Memory.remember`), in the transaction that stores them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from recollect.errors import Conflict
from recollect.memory import Memory
from recollect.store.base import Answered
from recollect.types import Scope
from recollect.write import validate

#: Requests under the same key wait for each other; so many keys at once do not.
_LOCKS = tuple(threading.Lock() for _ in range(64))
#: Under what an attempt is noted that did not come to its answer.
_BEGUN = "\x01begun "

Act = Callable[[Mapping[str, Any]], bytes]


def answered_once(
    memory: Memory,
    scope: Scope,
    key: str,
    arguments: Mapping[str, Any],
    act: Act,
    *,
    asked: Mapping[str, Any],
) -> tuple[bytes, bool]:
    """The answer, and whether it was given before. `act` makes it of the arguments; `asked` is
    what must be the same when it comes again.

    What takes a time (`at`) that nobody gave takes that of the first attempt: if the answer was
    lost with a process that died, the second one stores the same, which is nothing new.
    """
    digest = validate.body_digest(asked=asked)
    name = validate.idempotency_key(key) or ""
    with _LOCKS[hash((scope.workspace, scope.user, name)) % len(_LOCKS)]:
        known = memory.store.answer(scope, name)
        if known is None:
            settled = _settled(memory, scope, name, digest, arguments)
            new = Answered(digest, 200, act(settled))
            known = memory.store.keep_answer(scope, name, new, at=memory.now())
            if known.body == digest:
                return known.answer, known.answer != new.answer
        if known.body != digest:
            raise Conflict
        return known.answer, True


def _settled(
    memory: Memory, scope: Scope, name: str, digest: bytes, arguments: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The arguments, with the time of the first attempt where one is to be filled in."""
    if "at" not in arguments or arguments["at"] is not None:
        return arguments
    now = memory.now()
    # By what was asked, too: an attempt that was refused stands in the way of nothing.
    place = f"{_BEGUN}{digest.hex()} {name}"
    begun = Answered(digest, 0, now.isoformat().encode())
    first = memory.store.keep_answer(scope, place, begun, at=now)
    return {**arguments, "at": first.answer.decode()}
