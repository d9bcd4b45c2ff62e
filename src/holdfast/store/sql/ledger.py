"""What was handed out and what it cost: contexts, noted behind the caller's back; models by day."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Any

from holdfast.store.protocols import ALL_KEYS, ContextNote, Spent
from holdfast.store.sql.engine import (
    Connection,
    StorePart,
    ensure_owner,
    from_us,
    owner_of,
    readable,
    to_id,
    to_us,
)
from holdfast.types import Scope

_NOTE = "id, at, query, digest, body, change"
#: The end of an id, at least as long as the index on it; 32 digits are the whole.
_END = re.compile("[0-9a-f]{6,32}")
_INDEXED_DIGITS = 6


#: More notes than these of one owner and the oldest go: whoever may only read must not be able to
#: fill the disk. Looked at now and then, so there may be a few more.
MOST_NOTES = 10_000
_TRIM_EVERY = 100
#: Nor by asking for users whom nobody knows: once so many owners are such, no note makes another.
MOST_UNKNOWN = 1_000


class SqlLedger(StorePart):
    """`Ledger`."""

    def note_context(self, scope: Scope, note: ContextNote) -> None:
        raw = to_id(note.id)

        def work(connection: Connection) -> None:
            connection.widen()  # The note before this one may have been of another owner.
            if connection.find_owner(scope) is None and _are_unknown(connection):
                return
            owner = ensure_owner(connection, scope)
            connection.execute(
                "INSERT INTO contexts (owner, id, at, query, digest, body, change)"
                " SELECT owner, ?, ?, CAST(? AS TEXT), ?, ?, change FROM owners WHERE owner = ?",
                (raw, to_us(note.at), note.query, note.digest, note.body, owner),
            )
            if int.from_bytes(raw[-4:], "big") % _TRIM_EVERY == 0:
                _trim(connection, owner)

        self._writer.later(work, f"the note of context {note.id}")

    def contexts(
        self, scope: Scope, *, since: datetime | None = None, limit: int = 100, end: str = ""
    ) -> list[ContextNote]:
        self._writer.settle()
        if end and not _END.fullmatch(end):
            return []
        which, values = "", list[Any]()
        if since is not None:
            which, values = " AND at >= ?", [to_us(since)]
        if end:
            which += " AND substr(id, 14, 3) = ? AND substr(lower(hex(id)), ?) = ?"
            values += [bytes.fromhex(end[-_INDEXED_DIGITS:]), 33 - len(end), end]
        with self._pool.snapshot() as connection:
            rows = connection.execute(
                f"SELECT {_NOTE} FROM contexts WHERE owner = ?{which}"
                " ORDER BY at DESC, id DESC LIMIT ?",
                (owner_of(connection, scope), *values, limit),
            )
            return list(readable(_to_note, rows))


def drop_contexts(connection: Connection, before: datetime) -> int:
    """Remove the notes older than a time; how many."""
    # By owner, because the index is.
    connection.execute(
        "DELETE FROM contexts WHERE owner IN (SELECT owner FROM owners) AND at < ?",
        (to_us(before),),
    )
    return connection.changes()


def _are_unknown(connection: Connection) -> bool:
    """Whether there are so many owners already for whom nothing was ever stored."""
    unknown: int = connection.execute(
        "SELECT count(*) FROM (SELECT 1 FROM owners WHERE change = 0 LIMIT ?) AS unknown",
        (MOST_UNKNOWN,),
    ).get
    return unknown == MOST_UNKNOWN


def _trim(connection: Connection, owner: int) -> None:
    last = connection.execute(
        "SELECT at FROM contexts WHERE owner = ? ORDER BY at DESC LIMIT 1 OFFSET ?",
        (owner, MOST_NOTES),
    ).get
    if last is not None:
        connection.execute("DELETE FROM contexts WHERE owner = ? AND at <= ?", (owner, last))


def _to_note(row: Sequence[Any]) -> ContextNote:
    return ContextNote(row[0].hex(), from_us(row[1]), row[2], row[3], row[4], row[5])


# ----------------------------------------------------------------------
# What models have cost, by owner and day, and by key and day.
#
# A key is nobody's: what was charged to it stands among the counters of the store, as `spend
# 2026-03-01 <id of the key> <kind>`, the cost in billionths.
# ----------------------------------------------------------------------

_SUMS = ("calls", "prompt_tokens", "answer_tokens", "cost")
_OF_KEYS = "spend "
_BILLION = 1_000_000_000
#: What was charged to a key before is forgotten.
_KEPT_DAYS = 31


class SqlSpending(StorePart):
    """`Spending`."""

    def spent(self, payer: Scope | str | None, day: date) -> Spent:
        if isinstance(payer, str):
            return self._spent_by_keys(payer, day)
        sums = ", ".join(f"CAST(coalesce(sum({name}), 0) AS BIGINT)" for name in _SUMS[:-1])
        with self._pool.snapshot() as connection:
            which, whose = "", list[int | None]()
            if payer is not None:
                which, whose = " AND owner = ?", [owner_of(connection, payer)]
            row: Any = connection.execute(
                f"SELECT {sums}, coalesce(sum(cost), 0.0) FROM spend WHERE day = ?{which}",
                (day.isoformat(), *whose),
            ).fetchone()
        return Spent(*row)

    def _spent_by_keys(self, which: str, day: date) -> Spent:
        begins = f"{_OF_KEYS}{day.isoformat()} " + ("" if which == ALL_KEYS else f"{which} ")
        with self._pool.reader() as connection:
            rows: Any = connection.execute(
                "SELECT name, value FROM counters WHERE name >= ? AND name < ?",
                (begins, begins[:-1] + "!"),  # The sign after a space.
            ).fetchall()
        sums = Counter[str]()
        for name, value in rows:
            sums[name.rsplit(" ", 1)[1]] += value
        return Spent(
            sums["calls"], sums["prompt_tokens"], sums["answer_tokens"], sums["cost"] / _BILLION
        )

    def charge(
        self,
        payer: Scope | str,
        day: date,
        *,
        calls: int = 0,
        prompt_tokens: int = 0,
        answer_tokens: int = 0,
        cost: float = 0.0,
    ) -> None:
        more = (calls, prompt_tokens, answer_tokens, cost)
        if isinstance(payer, str):
            key_id = payer
            self._writer.run(lambda connection: _charge_key(connection, key_id, day, more))
        else:
            owner = payer
            self._writer.run(lambda connection: _charge_owner(connection, owner, day, more))


_Sums = tuple[int, int, int, float]


def _charge_owner(connection: Connection, scope: Scope, day: date, more: _Sums) -> None:
    owner = ensure_owner(connection, scope)
    connection.execute(
        f"INSERT INTO spend (owner, day, {', '.join(_SUMS)}) VALUES (?, ?, 0, 0, 0, 0.0)"
        " ON CONFLICT (owner, day) DO NOTHING",
        (owner, day.isoformat()),
    )
    sums = ", ".join(f"{name} = max(0, {name} + ?)" for name in _SUMS)
    connection.execute(
        f"UPDATE spend SET {sums} WHERE owner = ? AND day = ?", (*more, owner, day.isoformat())
    )


def _charge_key(connection: Connection, key_id: str, day: date, more: _Sums) -> None:
    old = f"{_OF_KEYS}{(day - timedelta(days=_KEPT_DAYS)).isoformat()}"
    connection.execute("DELETE FROM counters WHERE name >= ? AND name < ?", (_OF_KEYS, old))
    *whole, cost = more
    for kind, added in zip(_SUMS, (*whole, round(cost * _BILLION)), strict=True):
        if added:
            connection.execute(
                "INSERT INTO counters (name, value) VALUES (?, max(0, ?))"
                " ON CONFLICT (name) DO UPDATE SET value = max(0, counters.value + ?)",
                (f"{_OF_KEYS}{day.isoformat()} {key_id} {kind}", added, added),
            )
