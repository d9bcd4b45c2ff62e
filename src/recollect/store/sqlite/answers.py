"""Answers that were given under an idempotency key."""

from __future__ import annotations

from datetime import datetime

import apsw

from recollect.store.base import Answered
from recollect.store.sqlite.rows import Part, owner_made, owner_of, to_us
from recollect.types import Scope


class SqliteAnswers(Part):
    """`Answers` on SQLite."""

    def answer(self, scope: Scope, key: str) -> Answered | None:
        with self._pool.reader() as connection:
            return _kept(connection, owner_of(connection, scope), key)

    def keep_answer(self, scope: Scope, key: str, answered: Answered, *, at: datetime) -> Answered:
        def work(connection: apsw.Connection) -> Answered:
            owner = owner_made(connection, scope)
            connection.execute(
                "INSERT INTO answers (owner, key, body, status, answer, at)"
                " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (owner, key) DO NOTHING",
                (owner, key, answered.body, answered.status, answered.answer, to_us(at)),
            )
            return _kept(connection, owner, key) or answered

        return self._writer.run(work)


def _kept(connection: apsw.Connection, owner: int | None, key: str) -> Answered | None:
    row = connection.execute(
        "SELECT body, status, answer FROM answers WHERE owner = ? AND key = ?", (owner, key)
    ).fetchone()
    return Answered(*row) if row else None
