"""Answers that were given under an idempotency key, and what was done under one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

import apsw

from holdfast.errors import Conflict, StoreBusy
from holdfast.store.base import Answered
from holdfast.store.sqlite.rows import Part, owner_made, owner_of, to_us
from holdfast.types import Scope

#: Before the keys of what was done; no key of an answer begins like this.
_DONE = "\x01done "
_MEANWHILE = "the same is being done under this key: try again"


class SqliteAnswers(Part):
    """`Answers` on SQLite."""

    def answer(self, scope: Scope, key: str) -> Answered | None:
        with self._pool.reader() as connection:
            return _kept(connection, owner_of(connection, scope), key)

    def keep_answer(self, scope: Scope, key: str, answered: Answered, *, at: datetime) -> Answered:
        def work(connection: apsw.Connection) -> Answered:
            owner = owner_made(connection, scope)
            if (known := _kept(connection, owner, key)) is not None:
                return known
            _keep(connection, owner, key, answered, at)
            return answered

        return self._writer.run(work)

    @contextmanager
    def once(
        self, scope: Scope, key: str, noted: Answered, *, at: datetime
    ) -> Iterator[Answered | None]:
        place = _DONE + key
        known = self.answer(scope, place)
        if known is not None:
            if known.body != noted.body:
                raise Conflict
            yield known
            return

        def note(connection: apsw.Connection) -> None:
            owner = owner_made(connection, scope)
            if _kept(connection, owner, place) is not None:
                raise StoreBusy(_MEANWHILE)
            _keep(connection, owner, place, noted, at)

        with self._writer.along(note):
            yield None


def _keep(
    connection: apsw.Connection, owner: int, key: str, answered: Answered, at: datetime
) -> None:
    connection.execute(
        "INSERT INTO answers (owner, key, body, status, answer, at) VALUES (?, ?, ?, ?, ?, ?)",
        (owner, key, answered.body, answered.status, answered.answer, to_us(at)),
    )


def _kept(connection: apsw.Connection, owner: int | None, key: str) -> Answered | None:
    row = connection.execute(
        "SELECT body, status, answer FROM answers WHERE owner = ? AND key = ?", (owner, key)
    ).fetchone()
    return Answered(*row) if row else None
