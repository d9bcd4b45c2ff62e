"""Rows of a dump into a store; what is there already is left as it is."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import apsw

from holdfast.border.reserved import joined
from holdfast.store.base import (
    Derive,
    Dumped,
    DumpedAct,
    DumpedEvent,
    DumpedKey,
    DumpedRecord,
    DumpedShare,
    DumpedTrust,
    DumpedVectors,
    is_document,
)
from holdfast.store.sqlite.derived import Writing, add, arrival_of, enqueue, existing, trace
from holdfast.store.sqlite.dumping import to_day
from holdfast.store.sqlite.log import EVENT, all_current, enqueue_turns, marked_seen
from holdfast.store.sqlite.rows import (
    SILENT,
    marks,
    maybe_us,
    next_changes,
    noted,
    owner_made,
    to_data,
    to_json,
    to_us,
)
from holdfast.store.sqlite.sharing import store_share
from holdfast.store.sqlite.visibility import follow_source
from holdfast.types import Record

#: What a record is made of besides its times, its sources and its data.
_AS_IT_IS = (
    "tier", "kind", "content", "origin", "confidence", "importance", "agent", "session", "name",
    "role", "quiet", "strength", "uses", "visibility",
)  # fmt: skip


def loaded(  # noqa: PLR0911 (a table)
    connection: apsw.Connection, row: Dumped, derive: Derive, steps: Sequence[str]
) -> bool:
    """Store one row; whether it was new."""
    if isinstance(row, DumpedTrust):
        return _trust(connection, row)
    owner = owner_made(connection, row.scope)
    match row:
        case DumpedEvent():
            return _event(connection, owner, row, derive, steps)
        case DumpedRecord():
            return _record(connection, owner, row, derive, steps)
        case DumpedAct():
            return _act(connection, owner, row)
        case DumpedKey():
            return _key(connection, owner, row)
        case DumpedShare():
            return store_share(connection, owner, row.share)
        case DumpedVectors():
            return _vectors(connection, owner, row)


def _event(
    connection: apsw.Connection,
    owner: int,
    row: DumpedEvent,
    derive: Derive,
    steps: Sequence[str],
) -> bool:
    event, raw = row.event, bytes.fromhex(row.event.id)
    if connection.execute("SELECT 1 FROM events WHERE owner = ? AND id = ?", (owner, raw)).get:
        return False
    arrival = connection.execute(
        "UPDATE owners SET arrival = arrival + 1 WHERE owner = ? RETURNING arrival", (owner,)
    ).get
    connection.execute(
        f"INSERT INTO events (owner, {EVENT}) VALUES (?, {marks(11)})",
        (
            owner, raw, arrival, event.role, event.content, to_us(event.at), to_us(event.known_at),
            event.origin, event.name, event.agent, event.session,
            to_json(joined(event.metadata, event.data)),
        ),
    )  # fmt: skip
    terms, length, kind, derived = derive(event)
    values = {
        "owner": owner,
        "id": raw,
        "change": next_changes(connection, owner, 1),
        "tier": "session",
        "kind": kind,
        "valid_from": to_us(event.at),
        "known_from": to_us(event.known_at),
        "confidence": 1.0,
        "origin": event.origin,
        "forgotten_at": maybe_us(row.forgotten_at),
        "length": length,
        "terms": terms,
        "visibility": event.data.get("visibility"),
        **_lived(row),
    }
    if values["seen"] is None:
        values["seen"] = marked_seen(values["visibility"], values["known_from"])
    _insert(connection, values)
    current = all_current(connection, steps)
    writing = Writing(owner, event.agent, event.session, to_us(event.known_at), current)
    enqueue_turns(connection, writing, [(raw, to_us(event.at))], due=0)
    for each in derived:
        add(connection, writing, each)
    return True


def _lived(row: DumpedEvent) -> dict[str, Any]:
    lived = row.lived
    return {
        "valid_to": maybe_us(lived.valid_to),
        "known_to": maybe_us(lived.known_to),
        "seen": maybe_us(lived.seen_at),
        "archived": maybe_us(lived.archived_at),
        "strength": lived.strength,
        "uses": lived.uses,
        "used": None if lived.used_on is None else to_day(lived.used_on),
    }


def _record(
    connection: apsw.Connection,
    owner: int,
    row: DumpedRecord,
    derive: Derive,
    steps: Sequence[str],
) -> bool:
    record, raw = row.record, bytes.fromhex(row.record.id)
    if connection.execute("SELECT 1 FROM records WHERE owner = ? AND id = ?", (owner, raw)).get:
        return False
    sources = existing(connection, owner, record.sources)
    if record.sources and not sources and not row.written:
        return False
    made = derive(record)
    values = {
        "owner": owner,
        "id": raw,
        "change": next_changes(connection, owner, 1),
        "along": row.along,
        "length": made.length,
        "terms": made.terms,
        "sources": b"".join(sources),
        "arrival": arrival_of(connection, owner, sources),
        "written": row.written or not record.sources,
        "data": to_data(record.data),
        "metadata": to_json(record.metadata),
        "used": None if row.used_on is None else to_day(row.used_on),
        **{name: getattr(record, name) for name in _AS_IT_IS},
        **{name: maybe_us(moment) for name, moment in _moments(row, record).items()},
    }
    _insert(connection, values)
    trace(connection, owner, raw, sources)
    if is_document(record.tier, record.data, record.quiet):
        enqueue(connection, owner, raw, all_current(connection, steps), 0)
    return True


def _moments(row: DumpedRecord, record: Record) -> dict[str, datetime | None]:
    return {
        "valid_from": record.valid_from,
        "valid_to": record.valid_to,
        "known_from": record.known_from,
        "known_to": record.known_to,
        "forgotten_at": row.forgotten_at,
        "said_from": row.said_from,
        "seen": record.seen_at,
        "archived": record.archived_at,
    }


def _insert(connection: apsw.Connection, values: dict[str, Any]) -> None:
    connection.execute(
        f"INSERT INTO records ({', '.join(values)}) VALUES ({marks(len(values))})",
        tuple(values.values()),
    )


def _act(connection: apsw.Connection, owner: int, row: DumpedAct) -> bool:
    raw = bytes.fromhex(row.record)
    known: int = connection.execute(
        "SELECT count(*) FROM journal WHERE owner = ? AND record = ?", (owner, raw)
    ).get
    if row.number <= known:
        return False
    at = to_us(row.at)
    change = noted(connection, owner, raw, row.action, at, row.note or "")
    if row.action in ("forgotten", "restored"):
        forgotten = row.action == "forgotten"
        connection.execute(
            "UPDATE records SET forgotten_at = ?, along = along AND ?, change = ?"
            " WHERE owner = ? AND id = ?",
            (at if forgotten else None, forgotten, change, owner, raw),
        )
        follow_source(connection, owner, raw, at, forgotten=forgotten, known_by=at)
    if row.action in ("archived", "unarchived"):
        connection.execute(
            "UPDATE records SET archived = ?, change = ? WHERE owner = ? AND id = ?",
            (at if row.action == "archived" else None, change, owner, raw),
        )
    return True


def _key(connection: apsw.Connection, owner: int, row: DumpedKey) -> bool:
    ids = b"".join(bytes.fromhex(each) for each in row.events)
    connection.execute(
        "INSERT OR IGNORE INTO idempotency (owner, key, body, events, used_at)"
        " VALUES (?, ?, ?, ?, ?)",
        (owner, row.key.key, row.key.body, ids, to_us(row.used_at)),
    )
    return connection.changes() > 0


def _trust(connection: apsw.Connection, row: DumpedTrust) -> bool:
    connection.execute(
        "INSERT OR IGNORE INTO agents (workspace, agent, trust, at) VALUES (?, ?, ?, ?)",
        (row.workspace, row.agent, row.trust, to_us(row.at)),
    )
    return connection.changes() > 0


def _vectors(connection: apsw.Connection, owner: int, row: DumpedVectors) -> bool:
    """Vectors of a space this store uses; those of any other are made anew by the worker."""
    raw = bytes.fromhex(row.record)
    space = connection.execute(
        "SELECT id FROM spaces WHERE model = ? AND dim = ? AND recipe = ? AND state != 'retired'",
        (row.model, row.dim, row.recipe),
    ).get
    known = connection.execute(
        f"SELECT 1 FROM records r WHERE owner = ? AND id = ? AND NOT {SILENT}", (owner, raw)
    ).get
    if space is None or not known:
        return False
    change = next_changes(connection, owner, len(row.passages))
    connection.executemany(
        "INSERT OR IGNORE INTO vectors (owner, space, record, passage, change, digest, data)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            (owner, space, raw, passage, change + passage, digest, data)
            for passage, (digest, data) in enumerate(row.passages)
        ),
    )
    new = connection.changes() > 0
    connection.execute(
        "DELETE FROM jobs WHERE owner = ? AND subject = ? AND step = ?",
        (owner, raw, f"embed:{space}"),
    )
    return new
