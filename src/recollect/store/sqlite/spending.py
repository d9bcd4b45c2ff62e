"""What models have cost, by owner and day."""

from __future__ import annotations

from datetime import date

import apsw

from recollect.store.base import Spent
from recollect.store.sqlite.rows import Part, owner_made, owner_of
from recollect.types import Scope

_SUMS = ("calls", "prompt_tokens", "answer_tokens", "cost")


class SqliteSpending(Part):
    """`Spending` on SQLite."""

    def spent(self, scope: Scope, day: date) -> Spent:
        with self._pool.snapshot() as connection:
            row = connection.execute(
                f"SELECT {', '.join(_SUMS)} FROM spend WHERE owner = ? AND day = ?",
                (owner_of(connection, scope), day.isoformat()),
            ).fetchone()
        return Spent(*row) if row else Spent()

    def charge(
        self,
        scope: Scope,
        day: date,
        *,
        calls: int = 0,
        prompt_tokens: int = 0,
        answer_tokens: int = 0,
        cost: float = 0.0,
    ) -> None:
        added = (calls, prompt_tokens, answer_tokens, cost)
        sums = ", ".join(f"{name} = max(0, {name} + ?)" for name in _SUMS)

        def work(connection: apsw.Connection) -> None:
            owner = owner_made(connection, scope)
            connection.execute(
                f"INSERT INTO spend (owner, day, {', '.join(_SUMS)}) VALUES (?, ?, 0, 0, 0, 0.0)"
                " ON CONFLICT (owner, day) DO NOTHING",
                (owner, day.isoformat()),
            )
            connection.execute(
                f"UPDATE spend SET {sums} WHERE owner = ? AND day = ?",
                (*added, owner, day.isoformat()),
            )

        self._writer.run(work)
