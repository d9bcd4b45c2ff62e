"""Keys of the service.

In the column `tools` stands the list of a key's tools, or, with a limit, an object that holds both:
a version that knows of no limits takes it for a list of tools that do not exist.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from typing import Any

import apsw
import orjson

from holdfast.errors import Conflict, DamagedRow, StoreBusy
from holdfast.store.protocols import Answered, Spent, StoredKey
from holdfast.store.sqlite.reading import readable
from holdfast.store.sqlite.rows import (
    StorePart,
    from_us,
    marks,
    matching,
    maybe_from_us,
    maybe_us,
    owner_made,
    owner_of,
    to_us,
)
from holdfast.types import ApiKey, Scope

# ----------------------------------------------------------------------
# Answers that were given under an idempotency key, and what was done under one.
# ----------------------------------------------------------------------

#: Before the keys of what was done; no key of an answer begins like this.
_DONE = "\x01done "
_MEANWHILE = "the same is being done under this key: try again"


class SqliteAnswers(StorePart):
    """`Answers` on SQLite."""

    def answer(self, scope: Scope, key: str) -> Answered | None:
        with self._pool.reader() as connection:
            return _kept_answer(connection, owner_of(connection, scope), key)

    def keep_answer(self, scope: Scope, key: str, answered: Answered, *, at: datetime) -> Answered:
        def work(connection: apsw.Connection) -> Answered:
            owner = owner_made(connection, scope)
            if (known := _kept_answer(connection, owner, key)) is not None:
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
            if _kept_answer(connection, owner, place) is not None:
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


def _kept_answer(connection: apsw.Connection, owner: int | None, key: str) -> Answered | None:
    row = connection.execute(
        "SELECT body, status, answer FROM answers WHERE owner = ? AND key = ?", (owner, key)
    ).fetchone()
    return Answered(*row) if row else None


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


class SqliteSpending(StorePart):
    """`Spending` on SQLite."""

    def spent(self, payer: Scope | str | None, day: date) -> Spent:
        if isinstance(payer, str):
            return self._spent_by_keys(day, payer).get(payer, Spent())
        sums = ", ".join(f"coalesce(sum({name}), 0)" for name in _SUMS[:-1])
        with self._pool.snapshot() as connection:
            which, whose = "", list[int | None]()
            if payer is not None:
                which, whose = " AND owner = ?", [owner_of(connection, payer)]
            row: Any = connection.execute(
                f"SELECT {sums}, total(cost) FROM spend WHERE day = ?{which}",
                (day.isoformat(), *whose),
            ).fetchone()
        return Spent(*row)

    def spent_by_keys(self, day: date) -> dict[str, Spent]:
        return self._spent_by_keys(day, None)

    def _spent_by_keys(self, day: date, only: str | None) -> dict[str, Spent]:
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


def _charge_owner(connection: apsw.Connection, scope: Scope, day: date, more: _Sums) -> None:
    owner = owner_made(connection, scope)
    connection.execute(
        f"INSERT INTO spend (owner, day, {', '.join(_SUMS)}) VALUES (?, ?, 0, 0, 0, 0.0)"
        " ON CONFLICT (owner, day) DO NOTHING",
        (owner, day.isoformat()),
    )
    sums = ", ".join(f"{name} = max(0, {name} + ?)" for name in _SUMS)
    connection.execute(
        f"UPDATE spend SET {sums} WHERE owner = ? AND day = ?", (*more, owner, day.isoformat())
    )


def _charge_key(connection: apsw.Connection, key_id: str, day: date, more: _Sums) -> None:
    old = f"{_OF_KEYS}{(day - timedelta(days=_KEPT_DAYS)).isoformat()}"
    connection.execute("DELETE FROM counters WHERE name >= ? AND name < ?", (_OF_KEYS, old))
    *whole, cost = more
    for kind, added in zip(_SUMS, (*whole, round(cost * _BILLION)), strict=True):
        if added:
            connection.execute(
                "INSERT INTO counters (name, value) VALUES (?, max(0, ?))"
                " ON CONFLICT (name) DO UPDATE SET value = max(0, value + ?)",
                (f"{_OF_KEYS}{day.isoformat()} {key_id} {kind}", added, added),
            )


_KEY = "id, workspace, user, role, created_at, expires_at, revoked_at, label, tools"


class SqliteKeys(StorePart):
    """`Keys` on SQLite."""

    def put_key(self, key: StoredKey, *, was: StoredKey | None = None) -> bool:
        new = key.key
        row = (
            new.id, new.workspace, new.user, new.role, to_us(new.created_at),
            maybe_us(new.expires_at), maybe_us(new.revoked_at), new.label, _limits(new), key.digest,
        )  # fmt: skip

        def work(connection: apsw.Connection) -> bool:
            if was is None:
                connection.execute(
                    f"INSERT INTO api_keys ({_KEY}, digest) VALUES ({marks(10)})"
                    " ON CONFLICT DO NOTHING",
                    row,
                )
            else:
                connection.execute(
                    "UPDATE api_keys SET digest = ?, revoked_at = ?"
                    " WHERE id = ? AND digest = ? AND revoked_at IS ?",
                    (key.digest, row[6], new.id, was.digest, maybe_us(was.key.revoked_at)),
                )
            return connection.changes() > 0

        return self._writer.run(work)

    def api_keys(self, *, id: str | None = None, digest: bytes | None = None) -> list[StoredKey]:
        which, values = matching({"id": id, "digest": digest})
        with self._pool.reader() as connection:
            rows = connection.execute(
                f"SELECT {_KEY}, digest FROM api_keys WHERE {which} ORDER BY created_at, id", values
            )
            return list(readable(lambda row: StoredKey(_to_key(row), row[-1]), rows))


def _limits(key: ApiKey) -> str | None:
    if key.tokens_a_day is not None:
        both = {"tools": key.tools, "tokens_a_day": key.tokens_a_day}
        return orjson.dumps(both).decode()
    return None if key.tools is None else orjson.dumps(key.tools).decode()


def _to_key(row: Sequence[Any]) -> ApiKey:
    try:
        read = None if row[8] is None else orjson.loads(row[8])
    except orjson.JSONDecodeError:
        raise DamagedRow from None
    limits = read if isinstance(read, dict) else {"tools": read}
    tools = limits["tools"]
    return ApiKey(
        id=row[0],
        workspace=row[1],
        user=row[2],
        role=row[3],
        created_at=from_us(row[4]),
        expires_at=maybe_from_us(row[5]),
        revoked_at=maybe_from_us(row[6]),
        label=row[7],
        tools=None if tools is None else tuple(tools),
        tokens_a_day=limits.get("tokens_a_day"),
    )
