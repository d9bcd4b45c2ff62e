"""`Idempotency-Key` for what stores no turn: the same request again gets the same answer.

The first answer is kept with a digest of what was asked. Sent again, it comes back byte for byte
and nothing is done; with another request under the same key it is a 409. Turns have this in the
store itself (`Memory.remember`), in the transaction that stores them.

A process may die between the act and its answer. Then the act is asked for once more, and each verb
sees to it that this changes nothing: docs/reference/retries.md says how.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any

from fastapi import Header, HTTPException, Request, Response

from holdfast.border import validate
from holdfast.catalogue.codec import dumps
from holdfast.errors import Conflict
from holdfast.memory.memory import Memory
from holdfast.store.protocols import Answered
from holdfast.types import Scope

#: Requests under the same key wait for each other, so long and so many; others wait for nobody.
_WAIT_SECONDS = 5.0
_MOST_WAITING = 16
_UNDER_WAY = "this request is under way (the same Idempotency-Key): try again"
#: Under what an attempt is noted that did not come to its answer.
_BEGUN = "\x01begun "

Act = Callable[[Mapping[str, Any]], bytes]
#: For the documentation of routes that are written by hand.
IdempotencyKey = Annotated[str | None, Header(alias="Idempotency-Key")]


class _KeyedLock:
    """A lock for each name: requests under the same key wait for each other."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        #: Held while one is at it, and how many hold it or want to.
        self._names: dict[tuple[str, ...], tuple[threading.Lock, int]] = {}

    @contextmanager
    def of(self, name: tuple[str, ...]) -> Iterator[None]:
        """Wait for one's turn, but not for long: a thread that waits is missed elsewhere."""
        turn = self._join(name)
        try:
            if not turn.acquire(timeout=_WAIT_SECONDS):
                raise _under_way()
            try:
                yield
            finally:
                turn.release()
        finally:
            self._leave(name)

    def _join(self, name: tuple[str, ...]) -> threading.Lock:
        with self._lock:
            turn, many = self._names.get(name) or (threading.Lock(), 0)
            if many > _MOST_WAITING:
                raise _under_way()
            self._names[name] = (turn, many + 1)
            return turn

    def _leave(self, name: tuple[str, ...]) -> None:
        with self._lock:
            turn, many = self._names.pop(name)
            if many > 1:
                self._names[name] = (turn, many - 1)


def _under_way() -> HTTPException:
    return HTTPException(503, _UNDER_WAY, headers={"retry-after": "1"})


_turns = _KeyedLock()


def answer_once(
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
    with _turns.of((scope.workspace, scope.user, name)):
        known = memory.store.answer(scope, name)
        if known is None:
            settled = _with_first_time(memory, scope, name, digest, arguments)
            new = Answered(digest, 200, act(settled))
            known = memory.store.answer(scope, name, new, at=memory.now()) or new
            if known.body == digest:
                return known.answer, known.answer != new.answer
        if known.body != digest:
            raise Conflict
        return known.answer, True


def _with_first_time(
    memory: Memory, scope: Scope, name: str, digest: bytes, arguments: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The arguments, with the time of the first attempt where one is to be filled in."""
    if "at" not in arguments or arguments["at"] is not None:
        return arguments
    now = memory.now()
    # By what was asked, too: an attempt that was refused stands in the way of nothing.
    place = f"{_BEGUN}{digest.hex()} {name}"
    begun = Answered(digest, 0, now.isoformat().encode())
    first = memory.store.answer(scope, place, begun, at=now) or begun
    return {**arguments, "at": first.answer.decode()}


@contextmanager
def make_once(
    request: Request, scope: Scope, what: str, id: str, asked: Mapping[str, Any]
) -> Iterator[Response | None]:
    """For what is made with a secret, under this id: made once under one key.

    Gives the answer to a repetition, a 409 that names what was made: its secret was shown, and is
    kept nowhere. None: make it.
    """
    name = validate.idempotency_key(request.headers.get("idempotency-key"))
    if name is None:
        yield None
        return
    memory = request.app.state.memory
    noted = Answered(validate.body_digest(asked=asked), 201, id.encode())
    with (
        _turns.of((scope.workspace, scope.user, what, name)),
        memory.store.once(scope, f"{what} {name}", noted, at=memory.now()) as before,
    ):
        yield None if before is None else _shown_before(what, before.answer.decode())


def _shown_before(what: str, id: str) -> Response:
    words = (
        f"this request made the {what} {id} before: its secret was shown then and is kept nowhere;"
        f" if it did not reach you, remove this {what} and make another under a new Idempotency-Key"
    )
    told = {"error": words, "id": id}
    return Response(dumps(told), 409, {"x-holdfast-error": "Conflict"}, "application/json")
