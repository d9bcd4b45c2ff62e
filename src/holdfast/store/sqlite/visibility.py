"""Hiding records, bringing them back, removing them; what was derived goes with its sources."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

import apsw

from holdfast.store.protocols import FOREVER_US
from holdfast.store.sqlite.rows import (
    WRITTEN,
    chunks,
    known_ids,
    marks,
    next_changes,
    owner_of,
    split_ids,
    to_us,
    write_history,
)
from holdfast.types import Scope

#: Whether a record is a merge that was undone.
_UNDONE = "tier = 'graph' AND kind = 'merge' AND (valid_to IS NOT NULL OR known_to IS NOT NULL)"


def set_forgotten(
    connection: apsw.Connection, scope: Scope, ids: Sequence[str], at: datetime, *, forgotten: bool
) -> list[str]:
    """Hide records or bring them back, with what depends on them; which of them changed. What is
    not there, or is so already, is passed over."""
    changed, owner, moment = [], owner_of(connection, scope), to_us(at)
    for raw in dict.fromkeys(known_ids(ids)):
        is_other = connection.execute(
            "SELECT (forgotten_at IS NULL) = ? FROM records WHERE owner = ? AND id = ?",
            (forgotten, owner, raw),
        ).get
        if owner is not None and is_other:
            mark(connection, owner, raw, moment, forgotten=forgotten)
            follow_source(connection, owner, raw, moment, forgotten=forgotten)
            changed.append(raw.hex())
    return changed


def mark(
    connection: apsw.Connection,
    owner: int,
    record: bytes,
    at: int,
    *,
    forgotten: bool,
    along: bool = False,
) -> None:
    """Hide one record or bring it back, with a line in its history."""
    change = write_history(connection, owner, record, "forgotten" if forgotten else "restored", at)
    connection.execute(
        "UPDATE records SET forgotten_at = ?, along = ?, change = ? WHERE owner = ? AND id = ?",
        (at if forgotten else None, along, change, owner, record),
    )


def follow_source(
    connection: apsw.Connection,
    owner: int,
    event: bytes,
    at: int,
    *,
    forgotten: bool,
    known_by: int = FOREVER_US,
) -> None:
    """What was derived from an event hides with its last source and comes back with the first.

    `known_by` leaves out what was learned later: for acts that are told again.
    """
    for each in _derived_from(connection, owner, event, known_by):
        if each.along and not forgotten:
            mark(connection, owner, each.record, at, forgotten=False)
        elif not forgotten or each.hidden or each.written:
            continue
        elif all_forgotten(connection, owner, each.sources) is not None:
            mark(connection, owner, each.record, at, forgotten=True, along=True)


def all_forgotten(connection: apsw.Connection, owner: int, sources: Sequence[bytes]) -> int | None:
    """When the last of these events was forgotten; None while one of them is there."""
    times: list[int | None] = []
    for some in chunks(sources):
        times += [
            row[0]
            for row in connection.execute(
                f"SELECT forgotten_at FROM records WHERE owner = ? AND id IN ({marks(len(some))})",
                (owner, *some),
            )
        ]
    hidden = [time for time in times if time is not None]
    return max(hidden) if hidden and len(hidden) == len(times) else None


def wipe_forgotten(connection: apsw.Connection, before: datetime) -> int:
    """Physically remove what was forgotten before a time; how many records."""
    gone: list[Any] = connection.execute(
        "SELECT owner, id, tier = 'session', along FROM records WHERE forgotten_at < ?",
        (to_us(before),),
    ).fetchall()
    wiped: set[tuple[int, bytes]] = set()
    for owner, record, turn, along in gone:
        if (owner, record) in wiped:
            continue
        if turn:
            orphans = _without_source(connection, owner, record)
            wiped.update((owner, orphan) for orphan in orphans)
        remove(connection, owner, record, whole=bool(turn or along))
        wiped.add((owner, record))
    return len(wiped)


def remove(connection: apsw.Connection, owner: int, record: bytes, *, whole: bool) -> None:
    """Physically remove one record and all that hangs on it.

    `whole` False leaves its history, ids and times alone: whoever derives again from a source that
    is still there sees that this was not wanted. That of a merge that was undone always stays: the
    next turns that name both would make it again.
    """
    row: Any = connection.execute(
        f"SELECT sources, {_UNDONE} FROM records WHERE owner = ? AND id = ?", (owner, record)
    ).fetchone()
    sources, is_undone = row or (None, False)
    connection.executemany(
        "DELETE FROM provenance WHERE owner = ? AND event = ? AND record = ?",
        ((owner, source, record) for source in split_ids(sources)),
    )
    for table, column in (
        ("records", "id"),
        ("events", "id"),
        ("vectors", "record"),
        ("jobs", "subject"),
        *((("journal", "record"),) if whole and not is_undone else ()),
    ):
        connection.execute(f"DELETE FROM {table} WHERE owner = ? AND {column} = ?", (owner, record))
    connection.execute("UPDATE owners SET epoch = epoch + 1 WHERE owner = ?", (owner,))


def _without_source(connection: apsw.Connection, owner: int, event: bytes) -> list[bytes]:
    """Take an event from the sources of what was derived; what has none left is removed: which."""
    removed = []
    for each in _derived_from(connection, owner, event):
        left = [source for source in each.sources if source != event]
        if left or each.written:
            connection.execute(
                "UPDATE records SET sources = ?, change = ? WHERE owner = ? AND id = ?",
                (b"".join(left), next_changes(connection, owner, 1), owner, each.record),
            )
        else:
            remove(connection, owner, each.record, whole=True)
            removed.append(each.record)
    connection.execute("DELETE FROM provenance WHERE owner = ? AND event = ?", (owner, event))
    return removed


class _DerivedIds(NamedTuple):
    """What was derived from an event."""

    record: bytes
    sources: list[bytes]
    hidden: bool
    #: Hidden for want of a source.
    along: bool
    #: Somebody wrote it: it stands without any turn.
    written: bool


def _derived_from(
    connection: apsw.Connection, owner: int, event: bytes, known_by: int = FOREVER_US
) -> list[_DerivedIds]:
    rows: list[Any] = connection.execute(
        f"SELECT r.id, r.sources, r.forgotten_at IS NOT NULL, r.along, {WRITTEN} FROM provenance p"
        " JOIN records r ON r.owner = p.owner AND r.id = p.record"
        " WHERE p.owner = ? AND p.event = ? AND r.known_from <= ? ORDER BY p.record",
        (owner, event, known_by),
    ).fetchall()
    return [_DerivedIds(row[0], split_ids(row[1]), *map(bool, row[2:])) for row in rows]
