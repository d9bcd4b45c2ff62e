"""The life of records: used, praised and blamed, put aside, ended, and all of it undone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import apsw

from holdfast.store.sqlite.derived import HistoryLine, end_one, shorten_one
from holdfast.store.sqlite.records import EVENT_OF, READABLE, RECORD, to_record
from holdfast.store.sqlite.rows import (
    StorePart,
    known_ids,
    next_changes,
    owner_of,
    to_us,
    write_history,
)
from holdfast.types import Record, Scope

_DAY = 86_400_000_000
#: One step for one record of an owner; whether it changed.
_Step = Callable[[apsw.Connection, int, bytes], bool]


class SqliteLife(StorePart):
    """`RecordLife` on SQLite."""

    def touch(
        self,
        scope: Scope,
        ids: Sequence[str],
        *,
        at: datetime,
        action: str,
        strength: Callable[[Record], float | None],
    ) -> list[str]:
        act = HistoryLine(to_us(at), action)
        return self._each(scope, ids, lambda c, owner, raw: _touch(c, owner, raw, act, strength))

    def archive(
        self,
        scope: Scope,
        ids: Sequence[str],
        *,
        at: datetime,
        reason: str = "",
        undo: bool = False,
    ) -> list[str]:
        act = HistoryLine(to_us(at), "unarchived" if undo else "archived", reason)
        return self._each(scope, ids, lambda c, owner, raw: _put_aside(c, owner, raw, act))

    def end(
        self,
        scope: Scope,
        ids: Sequence[str],
        *,
        at: datetime,
        valid_to: datetime | None,
        reason: str = "",
        action: str = "invalidated",
    ) -> list[str]:
        if valid_to is None:
            back = HistoryLine(to_us(at), "reopened", reason)
            return self._each(scope, ids, lambda c, owner, raw: _reopen(c, owner, raw, back))
        act, until = HistoryLine(to_us(at), action, reason), to_us(valid_to)
        return self._each(
            scope, ids, lambda c, owner, raw: end_one(c, owner, raw, act, valid_to=until)
        )

    def shorten(
        self, scope: Scope, ids: Sequence[str], *, at: datetime, valid_to: datetime, reason: str
    ) -> list[str]:
        act, until = HistoryLine(to_us(at), "", reason), to_us(valid_to)
        return self._each(scope, ids, lambda c, owner, raw: shorten_one(c, owner, raw, act, until))

    def _each(self, scope: Scope, ids: Sequence[str], step: _Step) -> list[str]:
        """Do one step for each record that is there, each once; which of them changed."""

        def work(connection: apsw.Connection) -> list[str]:
            owner = owner_of(connection, scope)
            if owner is None:
                return []
            return [
                raw.hex()
                for raw in dict.fromkeys(known_ids(ids))
                if _is_there(connection, owner, raw) and step(connection, owner, raw)
            ]

        return self._writer.run(work)


def _is_there(connection: apsw.Connection, owner: int, record: bytes) -> bool:
    found = connection.execute(
        "SELECT 1 FROM records WHERE owner = ? AND id = ? AND forgotten_at IS NULL", (owner, record)
    )
    return found.get is not None


def _touch(
    connection: apsw.Connection,
    owner: int,
    record: bytes,
    act: HistoryLine,
    strength: Callable[[Record], float | None],
) -> bool:
    row: Any = connection.execute(
        f"SELECT r.used, {RECORD} FROM records r{EVENT_OF}"
        f" WHERE r.owner = ? AND r.id = ? AND{READABLE}",
        (owner, record),
    ).fetchone()
    today = act.at // _DAY
    is_use = act.action == "used"
    if row is None or (is_use and row[0] == today):
        return False
    said = strength(to_record(row[1:]))
    change = (
        next_changes(connection, owner, 1)
        if is_use
        else write_history(connection, owner, record, act.action, act.at)
    )
    connection.execute(
        "UPDATE records SET strength = coalesce(?, strength), change = ?, uses = uses + ?,"
        " used = coalesce(?, used), seen = max(coalesce(seen, known_from), ?)"
        " WHERE owner = ? AND id = ?",
        (said, change, is_use, today if is_use else None, act.at, owner, record),
    )
    return True


def _put_aside(connection: apsw.Connection, owner: int, record: bytes, act: HistoryLine) -> bool:
    """Archive a record or bring it back."""
    archive = act.action == "archived"
    is_archived = connection.execute(
        "SELECT archived IS NOT NULL FROM records WHERE owner = ? AND id = ?", (owner, record)
    ).get
    if bool(is_archived) == archive:
        return False
    change = write_history(connection, owner, record, act.action, act.at, act.reason)
    connection.execute(
        "UPDATE records SET archived = ?, change = ? WHERE owner = ? AND id = ?",
        (act.at if archive else None, change, owner, record),
    )
    return True


def _reopen(connection: apsw.Connection, owner: int, record: bytes, act: HistoryLine) -> bool:
    is_ended = connection.execute(
        "SELECT known_to IS NOT NULL FROM records WHERE owner = ? AND id = ?", (owner, record)
    ).get
    if not is_ended:
        return False
    change = write_history(connection, owner, record, act.action, act.at, act.reason)
    connection.execute(
        "UPDATE records SET known_to = NULL, valid_to = NULL, change = ?"
        " WHERE owner = ? AND id = ?",
        (change, owner, record),
    )
    return True
