"""Taking a whole store out and in: dump, load, online backup, counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import groupby
from pathlib import Path

import apsw

from recollect.errors import StoreError
from recollect.store.base import (
    Derive,
    Dumped,
    DumpedAct,
    DumpedEvent,
    DumpedKey,
    DumpedRecord,
    DumpedVectors,
    KeyUse,
    Progress,
    is_heard,
)
from recollect.store.sqlite.connection import connect, errors_of
from recollect.store.sqlite.derived import Writing, add, arrival_of, enqueue, existing, trace
from recollect.store.sqlite.log import EVENT, all_current, enqueue_turns, to_event
from recollect.store.sqlite.records import RECORD, to_record
from recollect.store.sqlite.rows import (
    HEARD,
    Part,
    from_us,
    marks,
    maybe_from_us,
    next_changes,
    noted,
    owner_made,
    split_ids,
    to_data,
    to_json,
    to_us,
)
from recollect.store.sqlite.visibility import follow_source
from recollect.types import Record, Scope

_PAGES_AT_ONCE = 256
#: What a record is made of besides its times, its sources and its data.
_AS_IT_IS = (
    "tier", "kind", "content", "origin", "confidence", "importance", "agent", "session", "name",
    "role",
)  # fmt: skip
_IN_ORDER = "ORDER BY o.workspace, o.user"


class SqliteTransfer(Part):
    """The moving half of `Upkeep` on SQLite."""

    def backup(self, path: Path, *, progress: Progress | None = None) -> None:
        if path.exists():
            raise StoreError(f"{path} exists already: a backup never overwrites a file")
        target = connect(str(path))
        try:
            with self._pool.reader() as source, errors_of(str(path)):
                with target.backup("main", source, "main") as copy:
                    while not copy.done:
                        copy.step(_PAGES_AT_ONCE)
                        if progress:
                            progress(copy.page_count - copy.remaining, copy.page_count)
                verdict = target.execute("PRAGMA integrity_check").get
                if verdict != "ok":
                    raise StoreError(f"the backup {path} is damaged: {verdict}")
                # One plain file, complete without a -wal beside it.
                target.execute("PRAGMA journal_mode = DELETE")
        finally:
            target.close()

    def dump(self, *, vectors: bool = True) -> Iterator[Dumped]:
        with self._pool.snapshot() as connection:
            yield from _dump_events(connection)
            yield from _dump_records(connection)
            yield from _dump_acts(connection)
            yield from _dump_keys(connection)
            if vectors:
                yield from _dump_vectors(connection)

    def load(self, rows: Sequence[Dumped], derive: Derive, *, steps: Sequence[str]) -> list[bool]:
        def work(connection: apsw.Connection) -> list[bool]:
            return [_loaded(connection, row, derive, steps) for row in rows]

        return self._writer.run(work)

    def stats(self) -> dict[str, int]:
        with self._pool.snapshot() as connection:
            counts = {
                name: connection.execute(f"SELECT count(*) FROM {table}").get
                for name, table in (
                    ("owners", "owners"),
                    ("events", "events"),
                    ("forgotten", "records WHERE forgotten_at IS NOT NULL AND tier = 'session'"),
                    ("records", "records WHERE tier != 'session'"),
                    ("vectors", "vectors"),
                )
            }
            for state in ("ready", "running", "dead"):
                counts[state] = connection.execute(
                    "SELECT count(*) FROM jobs WHERE state = ?", (state,)
                ).get
        return counts


def _dump_events(connection: apsw.Connection) -> Iterator[DumpedEvent]:
    columns = ", ".join("e." + column for column in EVENT.split(", "))
    for row in connection.execute(
        f"SELECT o.workspace, o.user, r.forgotten_at, {columns} FROM owners o"
        " JOIN events e ON e.owner = o.owner"
        " LEFT JOIN records r ON r.owner = e.owner AND r.id = e.id"
        f" {_IN_ORDER}, e.arrival"
    ):
        event = to_event(row[3:])
        scope = Scope(row[0], row[1], event.agent, event.session)
        yield DumpedEvent(scope, event, maybe_from_us(row[2]))


def _dump_records(connection: apsw.Connection) -> Iterator[DumpedRecord]:
    # No event is joined: what a record shows of its first source is not its own.
    rows = connection.execute(
        f"SELECT o.workspace, o.user, r.forgotten_at, r.along, r.said_from, {RECORD} FROM owners o"
        " JOIN records r ON r.owner = o.owner AND r.tier != 'session'"
        f" LEFT JOIN events e ON FALSE {_IN_ORDER}, r.known_from, r.id"
    )
    for workspace, user, forgotten, along, said_from, *columns in rows:
        record = to_record(columns)
        scope = Scope(workspace, user, record.agent, record.session)
        yield DumpedRecord(
            scope, record, maybe_from_us(forgotten), bool(along), maybe_from_us(said_from)
        )


def _dump_acts(connection: apsw.Connection) -> Iterator[DumpedAct]:
    for row in connection.execute(
        "SELECT o.workspace, o.user, j.record, row_number() OVER"
        " (PARTITION BY j.owner, j.record ORDER BY j.change), j.action, j.at FROM owners o"
        # What was wiped has lines left that are of no use elsewhere.
        " JOIN journal j ON j.owner = o.owner"
        " JOIN records r ON r.owner = j.owner AND r.id = j.record"
        f" {_IN_ORDER}, j.change"
    ):
        yield DumpedAct(Scope(row[0], row[1]), row[2].hex(), row[3], row[4], from_us(row[5]))


def _dump_keys(connection: apsw.Connection) -> Iterator[DumpedKey]:
    for row in connection.execute(
        "SELECT o.workspace, o.user, k.key, k.body, k.events, k.used_at FROM owners o"
        f" JOIN idempotency k ON k.owner = o.owner {_IN_ORDER}, k.key"
    ):
        events = tuple(each.hex() for each in split_ids(row[4]))
        yield DumpedKey(Scope(row[0], row[1]), KeyUse(row[2], row[3]), events, from_us(row[5]))


def _dump_vectors(connection: apsw.Connection) -> Iterator[DumpedVectors]:
    rows = connection.execute(
        "SELECT o.workspace, o.user, s.model, s.dim, s.recipe, v.record, v.digest, v.data"
        " FROM owners o JOIN vectors v ON v.owner = o.owner"
        " JOIN spaces s ON s.id = v.space AND s.state != 'retired'"
        f" {_IN_ORDER}, s.model, s.dim, s.recipe, v.record, v.passage"
    )
    for (workspace, user, model, dim, recipe, record), group in groupby(rows, lambda r: r[:6]):
        passages = tuple((row[6], row[7]) for row in group)
        yield DumpedVectors(Scope(workspace, user), model, dim, recipe, record.hex(), passages)


def _loaded(connection: apsw.Connection, row: Dumped, derive: Derive, steps: Sequence[str]) -> bool:
    owner = owner_made(connection, row.scope)
    match row:
        case DumpedEvent():
            return _load_event(connection, owner, row, derive, steps)
        case DumpedRecord():
            return _load_record(connection, owner, row, derive, steps)
        case DumpedAct():
            return _load_act(connection, owner, row)
        case DumpedKey():
            ids = b"".join(bytes.fromhex(each) for each in row.events)
            connection.execute(
                "INSERT OR IGNORE INTO idempotency (owner, key, body, events, used_at)"
                " VALUES (?, ?, ?, ?, ?)",
                (owner, row.key.key, row.key.body, ids, to_us(row.used_at)),
            )
            return connection.changes() > 0
        case DumpedVectors():
            return _load_vectors(connection, owner, row)


def _load_event(
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
            event.origin, event.name, event.agent, event.session, to_json(event.metadata),
        ),
    )  # fmt: skip
    terms, length, kind, derived = derive(event)
    connection.execute(
        "INSERT INTO records (owner, id, change, tier, kind, valid_from, known_from, confidence,"
        " origin, forgotten_at, length, terms)"
        " VALUES (?, ?, ?, 'session', ?, ?, ?, 1.0, ?, ?, ?, ?)",
        (
            owner, raw, next_changes(connection, owner, 1), kind, to_us(event.at),
            to_us(event.known_at), event.origin, _maybe_us(row.forgotten_at), length, terms,
        ),
    )  # fmt: skip
    current = all_current(connection, steps)
    writing = Writing(owner, event.agent, event.session, to_us(event.known_at), current)
    enqueue_turns(connection, writing, [(raw, to_us(event.at))], due=0)
    for each in derived:
        add(connection, writing, each)
    return True


def _load_record(
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
    if record.sources and not sources:
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
        "data": to_data(record.data),
        **{name: getattr(record, name) for name in _AS_IT_IS},
        **{name: _maybe_us(moment) for name, moment in _moments(row, record).items()},
    }
    connection.execute(
        f"INSERT INTO records ({', '.join(values)}) VALUES ({marks(len(values))})",
        tuple(values.values()),
    )
    trace(connection, owner, raw, sources)
    if not is_heard(record.tier, record.data):
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
    }


def _maybe_us(moment: datetime | None) -> int | None:
    return None if moment is None else to_us(moment)


def _load_act(connection: apsw.Connection, owner: int, row: DumpedAct) -> bool:
    raw = bytes.fromhex(row.record)
    known: int = connection.execute(
        "SELECT count(*) FROM journal WHERE owner = ? AND record = ?", (owner, raw)
    ).get
    if row.number <= known:
        return False
    at, forgotten = to_us(row.at), row.action == "forgotten"
    change = noted(connection, owner, raw, row.action, at)
    if forgotten or row.action == "restored":
        connection.execute(
            "UPDATE records SET forgotten_at = ?, along = along AND ?, change = ?"
            " WHERE owner = ? AND id = ?",
            (at if forgotten else None, forgotten, change, owner, raw),
        )
        follow_source(connection, owner, raw, at, forgotten=forgotten, known_by=at)
    return True


def _load_vectors(connection: apsw.Connection, owner: int, row: DumpedVectors) -> bool:
    """Vectors of a space this store uses; those of any other are made anew by the worker."""
    raw = bytes.fromhex(row.record)
    space = connection.execute(
        "SELECT id FROM spaces WHERE model = ? AND dim = ? AND recipe = ? AND state != 'retired'",
        (row.model, row.dim, row.recipe),
    ).get
    known = connection.execute(
        f"SELECT 1 FROM records r WHERE owner = ? AND id = ? AND NOT {HEARD}", (owner, raw)
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
