"""Memories: reading them, hiding them, bringing them back, their history."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

import apsw

from recollect.errors import NotFound
from recollect.store.sqlite.rows import (
    Part,
    chunks,
    from_json,
    from_us,
    known_ids,
    marks,
    maybe_from_us,
    next_changes,
    owner_of,
    to_id,
    to_us,
)
from recollect.types import Record, Scope, Version

_RECORD = (
    "r.id, r.tier, r.kind, e.content, r.valid_from, r.valid_to, r.known_from, r.known_to, r.origin,"
    " r.confidence, e.role, e.name, e.agent, e.session, e.metadata"
)


class SqliteRecords(Part):
    """`Records` on SQLite."""

    def get(self, scope: Scope, ids: Sequence[str]) -> list[Record]:
        found: dict[str, Record] = {}
        with self._pool.reader() as connection:
            for some in chunks(known_ids(ids)):
                rows = connection.execute(_get_sql(len(some)), (scope.workspace, scope.user, *some))
                for row in rows:
                    found[row[0].hex()] = _to_record(row)
        return [found[each] for each in ids if each in found]

    def forget(self, scope: Scope, record: str, *, at: datetime) -> bool:
        return self._writer.run(lambda c: _set_forgotten(c, scope, record, at, forgotten=True))

    def restore(self, scope: Scope, record: str, *, at: datetime) -> bool:
        return self._writer.run(lambda c: _set_forgotten(c, scope, record, at, forgotten=False))

    def history(self, scope: Scope, record: str) -> list[Version]:
        with self._pool.snapshot() as connection:
            owner = owner_of(connection, scope)
            row = connection.execute(
                "SELECT r.known_from, r.forgotten_at, e.content FROM records r"
                " JOIN events e ON e.owner = r.owner AND e.id = r.id"
                " WHERE r.owner = ? AND r.id = ?",
                (owner, to_id(record)),
            ).fetchone()
            if row is None:
                raise NotFound(f"there is no memory {record!r} in this scope")
            acts: list[Any] = connection.execute(
                "SELECT action, at FROM journal WHERE owner = ? AND record = ? ORDER BY change",
                (owner, to_id(record)),
            ).fetchall()
        content = row[2] if row[1] is None else None
        first = Version("stored", from_us(row[0]), content)
        return [first, *(Version(act, from_us(at), content) for act, at in acts)]

    def wipe(self, *, forgotten_before: datetime) -> int:
        def work(connection: apsw.Connection) -> int:
            gone: list[Any] = connection.execute(
                "SELECT owner, id FROM records WHERE forgotten_at < ?", (to_us(forgotten_before),)
            ).fetchall()
            for owner, record in gone:
                wipe_one(connection, owner, record)
            return len(gone)

        return self._writer.run(work)


@lru_cache(maxsize=256)
def _get_sql(count: int) -> str:
    return (
        f"SELECT {_RECORD} FROM owners o JOIN records r ON r.owner = o.owner"
        " JOIN events e ON e.owner = r.owner AND e.id = r.id"
        f" WHERE o.workspace = ? AND o.user = ? AND r.id IN ({marks(count)})"
        " AND r.forgotten_at IS NULL"
    )


def wipe_one(connection: apsw.Connection, owner: int, record: bytes) -> None:
    """Physically remove one record and all that hangs on it."""
    for table, column in (
        ("records", "id"),
        ("events", "id"),
        ("journal", "record"),
        ("vectors", "record"),
        ("jobs", "subject"),
    ):
        connection.execute(f"DELETE FROM {table} WHERE owner = ? AND {column} = ?", (owner, record))
    connection.execute("UPDATE owners SET epoch = epoch + 1 WHERE owner = ?", (owner,))


def _set_forgotten(
    connection: apsw.Connection, scope: Scope, record: str, at: datetime, *, forgotten: bool
) -> bool:
    owner = owner_of(connection, scope)
    row = connection.execute(
        "SELECT forgotten_at FROM records WHERE owner = ? AND id = ?", (owner, to_id(record))
    ).fetchone()
    if owner is None or row is None:
        raise NotFound(f"there is no memory {record!r} in this scope")
    if (row[0] is not None) == forgotten:
        return False
    change = next_changes(connection, owner, 1)
    connection.execute(
        "UPDATE records SET forgotten_at = ?, change = ? WHERE owner = ? AND id = ?",
        (to_us(at) if forgotten else None, change, owner, to_id(record)),
    )
    connection.execute(
        "INSERT INTO journal (owner, record, change, action, at) VALUES (?, ?, ?, ?, ?)",
        (owner, to_id(record), change, "forgotten" if forgotten else "restored", to_us(at)),
    )
    return True


def _to_record(row: Sequence[Any]) -> Record:
    event = row[0].hex()
    return Record(
        id=event,
        tier=row[1],
        kind=row[2],
        content=row[3],
        valid_from=from_us(row[4]),
        valid_to=maybe_from_us(row[5]),
        known_from=from_us(row[6]),
        known_to=maybe_from_us(row[7]),
        origin=row[8],
        confidence=row[9],
        sources=(event,),
        role=row[10],
        name=row[11],
        agent=row[12],
        session=row[13],
        metadata=from_json(row[14]),
    )
