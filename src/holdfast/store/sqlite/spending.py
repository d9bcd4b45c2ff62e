"""What models have cost, by owner and day, and by key and day.

A key is nobody's: what was charged to it stands among the counters of the store, as
`spend 2026-03-01 <id of the key> <kind>`, the cost in billionths.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import apsw

from holdfast.store.base import Spent
from holdfast.store.sqlite.rows import Part, owner_made, owner_of
from holdfast.types import Scope

_SUMS = ("calls", "prompt_tokens", "answer_tokens", "cost")
_OF_KEYS = "spend "
_BILLION = 1_000_000_000
#: What was charged to a key before is forgotten.
_KEPT_DAYS = 31


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

    def spent_by_keys(self, day: date, *, only: str | None = None) -> dict[str, Spent]:
        begins = f"{_OF_KEYS}{day.isoformat()} " + ("" if only is None else f"{only} ")
        with self._pool.reader() as connection:
            rows: Any = connection.execute(
                "SELECT name, value FROM counters WHERE name >= ? AND name < ?",
                (begins, begins[:-1] + "!"),  # The sign after a space.
            ).fetchall()
        found: dict[str, dict[str, int]] = {}
        for name, value in rows:
            _, _, key_id, kind = name.split(" ")
            found.setdefault(key_id, dict.fromkeys(_SUMS, 0))[kind] = value
        return {
            key_id: Spent(
                sums["calls"], sums["prompt_tokens"], sums["answer_tokens"], sums["cost"] / _BILLION
            )
            for key_id, sums in found.items()
        }

    def charge_key(
        self,
        key_id: str,
        day: date,
        *,
        calls: int = 0,
        prompt_tokens: int = 0,
        answer_tokens: int = 0,
        cost: float = 0.0,
    ) -> None:
        added = (calls, prompt_tokens, answer_tokens, round(cost * _BILLION))
        old = f"{_OF_KEYS}{(day - timedelta(days=_KEPT_DAYS)).isoformat()}"

        def work(connection: apsw.Connection) -> None:
            connection.execute("DELETE FROM counters WHERE name >= ? AND name < ?", (_OF_KEYS, old))
            for kind, more in zip(_SUMS, added, strict=True):
                if more:
                    connection.execute(
                        "INSERT INTO counters (name, value) VALUES (?, max(0, ?))"
                        " ON CONFLICT (name) DO UPDATE SET value = max(0, value + ?)",
                        (f"{_OF_KEYS}{day.isoformat()} {key_id} {kind}", more, more),
                    )

        self._writer.run(work)
