"""Taking a whole store out and in: dump, load, online backup, counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from itertools import groupby
from typing import Any

from holdfast.border.validate import with_system_data
from holdfast.store.protocols import (
    Derive,
    Dumped,
    DumpedAct,
    DumpedEvent,
    DumpedKey,
    DumpedRecord,
    DumpedShare,
    DumpedTrust,
    DumpedVectors,
    KeyUse,
    Lived,
    claim_of,
    is_document,
)
from holdfast.store.sql.access import SHARE, store_share, to_share
from holdfast.store.sql.derived import (
    Writing,
    add,
    arrival_of,
    enqueue,
    existing,
    follow_source,
    trace,
)
from holdfast.store.sql.engine import (
    SILENT,
    Connection,
    StorePart,
    ensure_owner,
    from_us,
    marks,
    maybe_from_us,
    maybe_us,
    next_changes,
    readable,
    split_ids,
    to_data,
    to_json,
    to_us,
    write_history,
)
from holdfast.store.sql.log import EVENT, all_current, enqueue_turns, seen_of_new_turn, to_event
from holdfast.store.sql.records import NO_EVENT, RECORD, to_record
from holdfast.store.values import without_words
from holdfast.types import Record, Scope

# ----------------------------------------------------------------------
# Everything of a store, row by row, in a fixed order.
# ----------------------------------------------------------------------

_IN_ORDER = "ORDER BY o.workspace, o.user"
_LIVED = "r.valid_to, r.known_to, r.seen, r.archived, r.strength, r.uses, r.used"
_COUNT_LIVED = _LIVED.count(",") + 1
_FIRST_DAY = date(1970, 1, 1)
#: Of a turn to which nothing happened, as all but a few are.
_NOT_LIVED = Lived()


def dump_rows(connection: Connection, *, vectors: bool) -> Iterator[Dumped]:
    """All rows; those that others lean on come first."""
    yield from _events(connection)
    yield from _records(connection)
    yield from _acts(connection)
    yield from _keys(connection)
    yield from _shares(connection)
    yield from _dump_trust(connection)
    if vectors:
        yield from _dump_vectors(connection)


def to_day(day: date) -> int:
    """Days since 1970."""
    return (day - _FIRST_DAY).days


def _from_day(value: int | None) -> date | None:
    return None if value is None else _FIRST_DAY + timedelta(days=value)


def _events(connection: Connection) -> Iterator[DumpedEvent]:
    columns = ", ".join("e." + column for column in EVENT.split(", "))
    rows = connection.stream(
        f"SELECT o.workspace, o.user, r.forgotten_at, {_LIVED}, {columns} FROM owners o"
        " JOIN events e ON e.owner = o.owner"
        " LEFT JOIN records r ON r.owner = e.owner AND r.id = e.id"
        f" {_IN_ORDER}, e.arrival"
    )
    return readable(_to_event, rows)


def _to_event(columns: Sequence[Any]) -> DumpedEvent:
    workspace, user, forgotten, *row = columns
    event = to_event(row[_COUNT_LIVED:])
    scope = Scope(workspace, user, event.agent, event.session)
    lived = _life_columns(*row[:_COUNT_LIVED]) if any(row[:_COUNT_LIVED]) else _NOT_LIVED
    return DumpedEvent(scope, event, maybe_from_us(forgotten), lived)


def _life_columns(*row: Any) -> Lived:
    valid_to, known_to, seen, archived = map(maybe_from_us, row[:4])
    strength, uses, used = row[4:]
    return Lived(valid_to, known_to, seen, archived, strength, uses, _from_day(used))


def _records(connection: Connection) -> Iterator[DumpedRecord]:
    # No event is joined: what a record shows of its first source is not its own.
    rows = connection.stream(
        "SELECT o.workspace, o.user, r.forgotten_at, r.along, r.said_from, r.used, r.written,"
        f" {RECORD} FROM owners o JOIN records r ON r.owner = o.owner AND r.tier != 'session'"
        f"{NO_EVENT} {_IN_ORDER}, r.known_from, r.id"
    )
    return readable(_to_record, rows)


def _to_record(row: Sequence[Any]) -> DumpedRecord:
    workspace, user, forgotten, along, said_from, used, written, *columns = row
    record = to_record(columns)
    return DumpedRecord(
        scope=Scope(workspace, user, record.agent, record.session),
        record=record,
        forgotten_at=maybe_from_us(forgotten),
        along=bool(along),
        said_from=maybe_from_us(said_from),
        used_on=_from_day(used),
        written=bool(written),
    )


def _acts(connection: Connection) -> Iterator[DumpedAct]:
    rows = connection.stream(
        "SELECT o.workspace, o.user, j.record, row_number() OVER"
        " (PARTITION BY j.owner, j.record ORDER BY j.change), j.action, j.at, j.note FROM owners o"
        # What was wiped has lines left that are of no use elsewhere.
        " JOIN journal j ON j.owner = o.owner"
        " JOIN records r ON r.owner = j.owner AND r.id = j.record"
        f" {_IN_ORDER}, j.change"
    )
    return readable(_to_act, rows)


def _to_act(row: Sequence[Any]) -> DumpedAct:
    workspace, user, record, number, action, at, note = row
    return DumpedAct(Scope(workspace, user), record.hex(), number, action, from_us(at), note)


def _keys(connection: Connection) -> Iterator[DumpedKey]:
    rows = connection.stream(
        "SELECT o.workspace, o.user, k.key, k.body, k.events, k.used_at FROM owners o"
        f" JOIN idempotency k ON k.owner = o.owner {_IN_ORDER}, k.key"
    )
    return readable(_to_key, rows)


def _to_key(row: Sequence[Any]) -> DumpedKey:
    events = tuple(each.hex() for each in split_ids(row[4]))
    return DumpedKey(Scope(row[0], row[1]), KeyUse(row[2], row[3]), events, from_us(row[5]))


def _shares(connection: Connection) -> Iterator[DumpedShare]:
    rows = connection.execute(
        f"SELECT {SHARE} FROM owners o JOIN shares s ON s.owner = o.owner {_IN_ORDER}, s.id"
    )
    return map(DumpedShare, readable(to_share, rows))


def _dump_trust(connection: Connection) -> Iterator[DumpedTrust]:
    rows = connection.execute(
        "SELECT workspace, agent, trust, at FROM agents ORDER BY workspace, agent"
    )
    return readable(lambda row: DumpedTrust(row[0], row[1], row[2], from_us(row[3])), rows)


def _dump_vectors(connection: Connection) -> Iterator[DumpedVectors]:
    rows = connection.stream(
        "SELECT o.workspace, o.user, s.model, s.dim, s.recipe, v.record, v.digest, v.data"
        " FROM owners o JOIN vectors v ON v.owner = o.owner"
        " JOIN spaces s ON s.id = v.space AND s.state != 'retired'"
        f" {_IN_ORDER}, s.model, s.dim, s.recipe, v.record, v.passage"
    )
    for (workspace, user, model, dim, recipe, record), group in groupby(rows, lambda r: r[:6]):
        passages = tuple((row[6], row[7]) for row in group)
        yield DumpedVectors(Scope(workspace, user), model, dim, recipe, record.hex(), passages)


# ----------------------------------------------------------------------
# Rows of a dump into a store; what is there already is left as it is.
# ----------------------------------------------------------------------

#: What a record is made of besides its times, its sources and its data.
_AS_IT_IS = (
    "tier", "kind", "content", "origin", "confidence", "importance", "agent", "session", "name",
    "role", "quiet", "strength", "uses", "visibility",
)  # fmt: skip


def load_row(  # noqa: PLR0911 (a table)
    connection: Connection, row: Dumped, derive: Derive, steps: Sequence[str]
) -> bool:
    """Store one row; whether it was new."""
    if isinstance(row, DumpedTrust):
        return _trust(connection, row)
    owner = ensure_owner(connection, row.scope)
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
    connection: Connection,
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
            to_json(with_system_data(event.metadata, event.data)),
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
        **_columns_of_life(row),
    }
    if values["seen"] is None:
        values["seen"] = seen_of_new_turn(values["visibility"], values["known_from"])
    _insert(connection, values)
    current = all_current(connection, steps)
    writing = Writing(owner, event.agent, event.session, to_us(event.known_at), current)
    enqueue_turns(connection, writing, [(raw, to_us(event.at))], due=0)
    for each in derived:
        add(connection, writing, each)
    return True


def _columns_of_life(row: DumpedEvent) -> dict[str, Any]:
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
    connection: Connection,
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
    made, change = derive(record), next_changes(connection, owner, 1)
    is_whole = len(sources) == len(record.sources)
    data = record.data if is_whole else without_words(record.data)
    values = {
        "owner": owner,
        "id": raw,
        "change": change,
        "stored": change,
        "along": int(row.along),
        "length": made.length,
        "terms": made.terms,
        "sources": b"".join(sources),
        "arrival": arrival_of(connection, owner, sources),
        "written": int(row.written or not record.sources),
        "data": to_data(data),
        "claim": claim_of(record),
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


def _insert(connection: Connection, values: dict[str, Any]) -> None:
    connection.execute(
        f"INSERT INTO records ({', '.join(values)}) VALUES ({marks(len(values))})",
        tuple(values.values()),
    )


def _act(connection: Connection, owner: int, row: DumpedAct) -> bool:
    raw = bytes.fromhex(row.record)
    known: int = connection.execute(
        "SELECT count(*) FROM journal WHERE owner = ? AND record = ?", (owner, raw)
    ).get
    if row.number <= known:
        return False
    at = to_us(row.at)
    change = write_history(connection, owner, raw, row.action, at, row.note or "")
    if row.action in ("forgotten", "restored"):
        forgotten = row.action == "forgotten"
        connection.execute(
            "UPDATE records SET forgotten_at = ?, along = along * ?, change = ?"
            " WHERE owner = ? AND id = ?",
            (at if forgotten else None, int(forgotten), change, owner, raw),
        )
        follow_source(connection, owner, raw, at, forgotten=forgotten, known_by=at)
    if row.action in ("archived", "unarchived"):
        connection.execute(
            "UPDATE records SET archived = ?, change = ? WHERE owner = ? AND id = ?",
            (at if row.action == "archived" else None, change, owner, raw),
        )
    return True


def _key(connection: Connection, owner: int, row: DumpedKey) -> bool:
    ids = b"".join(bytes.fromhex(each) for each in row.events)
    connection.execute(
        "INSERT INTO idempotency (owner, key, body, events, used_at)"
        " VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (owner, row.key.key, row.key.body, ids, to_us(row.used_at)),
    )
    return connection.changes() > 0


def _trust(connection: Connection, row: DumpedTrust) -> bool:
    connection.execute(
        "INSERT INTO agents (workspace, agent, trust, at) VALUES (?, ?, ?, ?)"
        " ON CONFLICT DO NOTHING",
        (row.workspace, row.agent, row.trust, to_us(row.at)),
    )
    return connection.changes() > 0


def _vectors(connection: Connection, owner: int, row: DumpedVectors) -> bool:
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
        "INSERT INTO vectors (owner, space, record, passage, change, digest, data)"
        " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
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


class SqlTransfer(StorePart):
    """The moving half of `Upkeep`."""

    def dump(self, *, vectors: bool = True) -> Iterator[Dumped]:
        with self._pool.snapshot() as connection:
            yield from dump_rows(connection, vectors=vectors)

    def load(self, rows: Sequence[Dumped], derive: Derive, *, steps: Sequence[str]) -> list[bool]:
        def work(connection: Connection) -> list[bool]:
            return [load_row(connection, row, derive, steps) for row in rows]

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
