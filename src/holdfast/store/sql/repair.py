"""What is wrong with rows, and how it is made right; every invariant is looked at in check.py."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import orjson

from holdfast.errors import DamagedRow
from holdfast.store.protocols import Derive, Derived
from holdfast.store.sql.derived import Writing, add, leave_sources, remove, trace
from holdfast.store.sql.engine import (
    SILENT,
    WRITTEN,
    Connection,
    TableShape,
    from_us,
    next_changes,
    raise_epoch,
    readable,
    split_ids,
    to_us,
)
from holdfast.store.sql.log import EVENT, to_event
from holdfast.store.sql.records import NO_EVENT, RECORD, to_record
from holdfast.types import Event

# ----------------------------------------------------------------------
# Which rows are damaged, and setting them aside.
#
# Looked at is what the schema cannot promise: that a text is UTF-8, that what should be JSON is,
# that ids have their length, that times can be times. A damaged row is moved, byte for byte, to
# the table `set_aside`. Rows that others lean on (owners,
# vector spaces) stay, with what could be read of their texts; the row as it was is set aside as
# well.
# ----------------------------------------------------------------------

#: Rows that others refer to are mended in their place.
_LEANED_ON = ("owners", "spaces")
#: A space in which nobody knows what to do: its vectors are made anew.
_INSTEAD = {("spaces", "state"): "retired"}
_JSON = {
    ("events", "metadata"),
    ("records", "data"),
    ("records", "metadata"),
    ("shares", "segments"),
    ("api_keys", "tools"),
    ("webhooks", "events"),
}
_IDS = {
    ("records", "sources"),
    ("idempotency", "events"),
    *((table, "record") for table in ("journal", "provenance", "vectors")),
    ("provenance", "event"),
    ("jobs", "subject"),
}
_TIMES = frozenset(
    {
        "at", "known_at", "valid_from", "valid_to", "known_from", "known_to", "forgotten_at",
        "used_at", "created_at", "expires_at", "revoked_at", "said_from", "seen", "archived",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Damaged:
    """A row, and what is wrong with it."""

    table: str
    #: SQL that is true of this row alone, and its values.
    where: str
    values: tuple[Any, ...]
    row: dict[str, Any]
    reason: str

    def __str__(self) -> str:
        id = self.row.get("id", self.row.get("name", self.row.get("key")))
        named = id.hex() if isinstance(id, bytes) else id
        owner = f" of owner {self.row['owner']}" if "owner" in self.row else ""
        which = f"{named!r}" if named is not None else f"where {self.where} {self.values!r}"
        return f"{self.table} {which}{owner}: {self.reason}"


def find_damage(connection: Connection) -> Iterator[Damaged]:
    """Every row that is not what its columns say, table by table."""
    for table in connection.tables():
        yield from _of_table(connection, table)


def set_damage_aside(connection: Connection) -> int:
    """Move damaged rows away, or mend them where they stand; how many."""
    found = list(find_damage(connection))
    for each in found:
        _keep(connection, each)
        if each.table in _LEANED_ON:
            _mend(connection, each)
        else:
            connection.execute(f"DELETE FROM {each.table} WHERE {each.where}", each.values)
    if found:
        connection.execute("DELETE FROM kept_index")
    return len(found)


def keep_record(connection: Connection, owner: int, record: bytes, reason: str) -> None:
    """Set a copy of a record aside."""
    where, values = "owner = ? AND id = ?", (owner, record)
    table = next(each for each in connection.tables() if each.name == "records")
    row = next(_damaged_rows(connection, table, f" WHERE {where}", values), None)
    if row is not None:
        _keep(connection, Damaged("records", where, values, row, reason))


def count_aside(connection: Connection) -> int:
    """How many rows were set aside so far."""
    found: int = connection.execute("SELECT count(*) FROM set_aside").get
    return found


def _of_table(connection: Connection, table: TableShape) -> Iterator[Damaged]:
    for row in _damaged_rows(connection, table, "", ()):
        reason = _wrong(table, row)
        if reason is None:
            continue
        where = " AND ".join(
            f"{connection.as_bytes(key) if table.columns.get(key) else key} = ?"
            for key in table.keys
        )
        values = tuple(_raw(row[key]) if table.columns.get(key) else row[key] for key in table.keys)
        shown = {name: value for name, value in row.items() if name in table.columns}
        yield Damaged(table.name, where, values, shown, reason)


def _damaged_rows(
    connection: Connection, table: TableShape, which: str, values: tuple[Any, ...]
) -> Iterator[dict[str, Any]]:
    """Rows by column; a text that is none comes as bytes."""
    names = [*table.columns, *(key for key in table.keys if key not in table.columns)]
    is_text = [bool(table.columns.get(name)) for name in names]
    asked = ", ".join(
        connection.as_bytes(name) if text else name
        for name, text in zip(names, is_text, strict=True)
    )
    for found in connection.stream(f"SELECT {asked} FROM {table.name}{which}", values):
        row = [_text(each) if text else each for each, text in zip(found, is_text, strict=True)]
        yield dict(zip(names, row, strict=True))


def _text(raw: bytes | None) -> str | bytes | None:
    try:
        return None if raw is None else raw.decode()
    except UnicodeDecodeError:
        return raw


def _raw(text: str | bytes | None) -> bytes | None:
    return text.encode() if isinstance(text, str) else text


def _wrong(table: TableShape, row: dict[str, Any]) -> str | None:
    """What is wrong with a row, None if nothing is."""
    for name, value in row.items():
        if value is None:
            continue
        if table.columns.get(name) and isinstance(value, bytes):
            return f"{name} is not UTF-8"
        for column, is_broken, words in _CHECKS:
            if column(table.name, name) and is_broken(value):
                return f"{name} {words}"
    return None


def _no_json(value: str) -> bool:
    try:
        orjson.loads(value)
    except ValueError:
        return True
    return False


def _no_ids(value: bytes) -> bool:
    try:
        split_ids(value)
    except DamagedRow:
        return True
    return False


def _no_time(value: int) -> bool:
    try:
        from_us(value)
    except DamagedRow:
        return True
    return False


_CHECKS: tuple[tuple[Callable[[str, str], bool], Callable[[Any], bool], str], ...] = (
    (lambda table, name: (table, name) in _JSON, _no_json, "is not JSON"),
    (lambda table, name: (table, name) in _IDS, _no_ids, "is not made of ids"),
    (lambda table, name: name in _TIMES and table != "chores", _no_time, "is no time"),
)


def _keep(connection: Connection, each: Damaged) -> None:
    connection.execute(
        "INSERT INTO set_aside (id, owner, source, reason, row) VALUES"
        " ((SELECT coalesce(max(id), 0) + 1 FROM set_aside), ?, ?, ?, ?)",
        (
            _owner(connection, each),
            each.table,
            each.reason,
            orjson.dumps({name: _plain_value(value) for name, value in each.row.items()}).decode(),
        ),
    )


def _owner(connection: Connection, each: Damaged) -> int | None:
    """Whose row it was: also of keys and webhooks, which name a user."""
    if isinstance(each.row.get("owner"), int):
        return int(each.row["owner"])
    found: int | None = connection.execute(
        "SELECT owner FROM owners WHERE workspace = ? AND user = ?",
        (each.row.get("workspace"), each.row.get("user")),
    ).get
    return found


def _plain_value(value: Any) -> Any:
    return {"base64": base64.b64encode(value).decode()} if isinstance(value, bytes) else value


def _mend(connection: Connection, each: Damaged) -> None:
    """Let what can be read of its texts stand for them."""
    taken = " " + ", ".join(map(str, each.values))  # So that no two become one.
    texts = {
        name: _INSTEAD.get((each.table, name)) or value.decode(errors="replace") + taken
        for name, value in each.row.items()
        if isinstance(value, bytes)
    }
    for name, text in texts.items():
        connection.execute(
            f"UPDATE {each.table} SET {name} = ? WHERE {each.where}", (text, *each.values)
        )


# ----------------------------------------------------------------------
# What differs from what the events give, and how it is made right.
# ----------------------------------------------------------------------

#: SQL: who may see the turn of an event `e`; see border/write_options.py.
WHO_SEES = (
    "iif(json_valid(e.metadata), coalesce(json_extract(e.metadata, '$.holdfast.visibility'),"
    " json_extract(e.metadata, '$.recollect.visibility')), NULL)"
)
#: (terms, length, kind, owner, id) of a record as it should be.
Stale = tuple[bytes, int, str, int, bytes]


@dataclass(slots=True)
class Differences:
    """Where the records are not what their texts give."""

    stale: list[Stale] = field(default_factory=list)
    #: (owner, the event it follows from, the record).
    missing: list[tuple[int, Event, Derived]] = field(default_factory=list)


def differences(connection: Connection, derive: Derive) -> Differences:
    """Compare every event and every derived record with what is kept of it."""
    found = Differences()
    there = _derived_ids(connection)
    columns = ", ".join("e." + column for column in EVENT.split(", "))
    events = connection.stream(
        f"SELECT e.owner, r.terms, r.length, r.kind, {columns}"
        " FROM events e JOIN records r ON r.owner = e.owner AND r.id = e.id"
    )
    for row, event in readable(lambda row: (row, to_event(row[4:])), events):
        owner, made = row[0], derive(event)
        if made[:3] != row[1:4]:
            found.stale.append((*made[:3], owner, row[4]))
        found.missing += [
            (owner, event, each)
            for each in made.derived
            if (owner, bytes.fromhex(each.id)) not in there
        ]
    records = connection.stream(
        f"SELECT r.owner, r.terms, r.length, {RECORD} FROM records r{NO_EVENT}"
        " WHERE r.tier != 'session'"
    )
    for row, record in readable(lambda row: (row, to_record(row[3:])), records):
        made = derive(record)
        if made[:3] != (*row[1:3], record.kind):
            found.stale.append((*made[:3], row[0], row[3]))
    return found


def _derived_ids(connection: Connection) -> set[tuple[int, bytes]]:
    """(owner, id) of what is there, and of what was forgotten for its own sake and wiped."""
    ids = set(connection.execute("SELECT owner, id FROM records WHERE tier != 'session'"))
    ids |= set(
        connection.execute(
            "SELECT owner, record FROM journal j WHERE NOT EXISTS"
            " (SELECT 1 FROM records r WHERE r.owner = j.owner AND r.id = j.record)"
            " AND action = 'forgotten' AND NOT EXISTS (SELECT 1 FROM journal k"
            " WHERE k.owner = j.owner AND k.record = j.record AND k.change > j.change"
            " AND k.action = 'restored')"
        )
    )
    return ids


def index_rows(rows: Sequence[Stale]) -> Callable[[Connection], None]:
    """Work that writes index rows anew."""

    def work(connection: Connection) -> None:
        for terms, length, kind, owner, record in rows:
            change = next_changes(connection, owner, 1)
            connection.execute(
                "UPDATE records SET terms = ?, length = ?, kind = ?, change = ?"
                " WHERE owner = ? AND id = ?",
                (terms, length, kind, change, owner, record),
            )
        for owner in sorted({row[3] for row in rows}):
            raise_epoch(connection, owner)

    return work


def add_missing(
    rows: Sequence[tuple[int, Event, Derived]],
) -> Callable[[Connection], None]:
    """Work that stores derived records that are missing, as their turn would have."""

    def work(connection: Connection) -> None:
        spaces = connection.execute("SELECT id FROM spaces WHERE state != 'retired'")
        steps = [f"embed:{row[0]}" for row in spaces]
        for owner, event, derived in rows:
            known = to_us(event.known_at)
            add(connection, Writing(owner, event.agent, event.session, known, steps), derived)
            _close_as_told(connection, owner, bytes.fromhex(derived.id))

    return work


def _close_as_told(connection: Connection, owner: int, record: bytes) -> None:
    """A record that was superseded before it was lost is no longer valid now, either."""
    last: Any = connection.execute(
        "SELECT action, at FROM journal WHERE owner = ? AND record = ?"
        " AND action IN ('superseded', 'invalidated', 'reopened') ORDER BY change DESC LIMIT 1",
        (owner, record),
    ).fetchone()
    if last is not None and last[0] != "reopened":
        connection.execute(
            "UPDATE records SET known_to = ?, valid_to = max(valid_from, ?)"
            " WHERE owner = ? AND id = ? AND known_to IS NULL",
            (last[1], last[1], owner, record),
        )


def untraced_records(connection: Connection) -> list[tuple[int, bytes]]:
    """(owner, id) of derived records whose traces are not their sources, or lead nowhere."""
    traces: dict[tuple[int, bytes], set[bytes]] = {}
    for owner, event, record in connection.execute(
        "SELECT p.owner, p.event, p.record FROM provenance p"
        " JOIN events e ON e.owner = p.owner AND e.id = p.event"
    ):
        traces.setdefault((owner, record), set()).add(event)
    rows = connection.execute(
        # Bytes that are no ids are damage, which is told of its own.
        "SELECT owner, id, sources FROM records WHERE tier != 'session'"
        " AND coalesce(length(sources), 0) % 16 = 0"
    )
    return [
        (owner, record)
        for owner, record, sources in rows
        if traces.get((owner, record), set()) != set(split_ids(sources))
    ]


def bad_vectors(connection: Connection) -> list[tuple[int, bytes]]:
    """(owner, record) of vectors of the wrong size, not finite, or not of unit length."""
    rows = connection.stream(
        "SELECT v.owner, v.record, v.data, s.dim FROM vectors v JOIN spaces s ON s.id = v.space"
    )
    bad = []
    for owner, record, data, dim in rows:
        vector = np.frombuffer(data, dtype="<f4") if len(data) == 4 * dim else None
        if vector is None or not abs(float(np.linalg.norm(vector)) - 1.0) < 1e-3:
            bad.append((owner, record))
    return bad


def without_vectors(rows: Sequence[tuple[int, bytes]]) -> Callable[[Connection], None]:
    """Work that removes the vectors of these records."""

    def work(connection: Connection) -> None:
        connection.executemany("DELETE FROM vectors WHERE owner = ? AND record = ?", rows)
        for owner in sorted({owner for owner, _ in rows}):
            raise_epoch(connection, owner)

    return work


def misfiled(job: str) -> str:
    """SQL: whether a job of a conversation names another one than its event, or has no event."""
    return (
        f"{job}.step NOT LIKE '%:%' AND NOT EXISTS (SELECT 1 FROM events e"
        f" WHERE e.owner = {job}.owner AND e.id = {job}.subject"
        f" AND e.at IS NOT DISTINCT FROM {job}.at"
        f" AND e.session IS NOT DISTINCT FROM {job}.session"
        f" AND e.agent IS NOT DISTINCT FROM {job}.agent)"
    )


def mend_rows(connection: Connection) -> int:
    """Records from events, visibility from the journal, and no derived row without its source."""
    before = connection.total_changes()
    connection.execute(
        "INSERT INTO records (owner, id, change, tier, kind, valid_from, known_from, confidence,"
        " origin, length, terms, visibility) SELECT owner, id, 0, 'session', 'turn', at, known_at,"
        f" 1.0, origin, 0, ?, {WHO_SEES} FROM events e WHERE NOT EXISTS"
        " (SELECT 1 FROM records r WHERE r.owner = e.owner AND r.id = e.id)",
        (b"",),
    )
    connection.execute(
        "DELETE FROM records WHERE tier = 'session' AND NOT EXISTS"
        " (SELECT 1 FROM events e WHERE e.owner = records.owner AND e.id = records.id)"
    )
    _mend_private(connection)
    _mend_sources(connection)
    for table, column in (("vectors", "record"), ("jobs", "subject")):
        connection.execute(
            f"DELETE FROM {table} WHERE NOT EXISTS (SELECT 1 FROM records r"
            f" WHERE r.owner = {table}.owner AND r.id = {table}.{column})"
        )
    connection.execute(
        "DELETE FROM vectors WHERE NOT EXISTS"
        " (SELECT 1 FROM spaces s WHERE s.id = vectors.space AND s.state != 'retired')"
    )
    _mend_jobs(connection)
    _mend_heard(connection)
    connection.execute("UPDATE records SET seen = NULL WHERE seen < known_from")
    connection.execute(
        "UPDATE records SET seen = known_from WHERE strength IS NOT NULL AND seen IS NULL"
    )
    connection.execute("DELETE FROM shares WHERE owner NOT IN (SELECT owner FROM owners)")
    connection.execute("DELETE FROM webhook_heads WHERE webhook NOT IN (SELECT id FROM webhooks)")
    _mend_visibility(connection)
    mended = connection.total_changes() - before
    if mended:
        # Whoever follows the feed must start over.
        connection.execute("UPDATE owners SET epoch = epoch + 1")
        connection.execute("DELETE FROM kept_index")
    return mended


def _mend_private(connection: Connection) -> None:
    """Who may see a turn is what its event says; the feed knows it by `seen`."""
    connection.execute(
        f"UPDATE records SET visibility = {WHO_SEES} FROM events e WHERE tier = 'session'"
        " AND e.owner = records.owner AND e.id = records.id"
        f" AND visibility IS DISTINCT FROM {WHO_SEES}"
    )
    connection.execute(
        "UPDATE records SET seen = known_from"
        " WHERE tier = 'session' AND visibility IS NOT NULL AND seen IS NULL"
    )


def _mend_jobs(connection: Connection) -> None:
    """File jobs under the conversation of their event; without one there is nothing to do."""
    connection.execute(
        "UPDATE jobs SET at = e.at, session = e.session, agent = e.agent FROM events e"
        f" WHERE e.owner = jobs.owner AND e.id = jobs.subject AND {misfiled('jobs')}"
    )
    connection.execute(f"DELETE FROM jobs WHERE {misfiled('jobs')}")


def _mend_heard(connection: Connection) -> None:
    """What is only heard or listed is no document: no vectors, nothing to do."""
    for table, column in (("vectors", "record"), ("jobs", "subject")):
        connection.execute(
            f"DELETE FROM {table} WHERE EXISTS (SELECT 1 FROM records r"
            f" WHERE r.owner = {table}.owner AND r.id = {table}.{column} AND {SILENT})"
        )


def _mend_sources(connection: Connection) -> None:
    """Sources that are gone are left out; what has none left goes, too; traces follow."""
    for owner, record in untraced_records(connection):
        sources = _sources(connection, owner, record)
        left = [each for each in sources if _is_event(connection, owner, each)]
        if sources and not left and not _is_written(connection, owner, record):
            keep_record(connection, owner, record, "none of its sources is left")
            remove(connection, owner, record, whole=True)
            continue
        leave_sources(connection, owner, record, left)
        trace(connection, owner, record, left)
    traces: list[Any] = connection.execute("SELECT owner, event, record FROM provenance").fetchall()
    stray = [row for row in traces if row[1] not in _sources(connection, row[0], row[2])]
    connection.executemany(
        "DELETE FROM provenance WHERE owner = ? AND event = ? AND record = ?", stray
    )


def _is_event(connection: Connection, owner: int, event: bytes) -> bool:
    found = connection.execute("SELECT 1 FROM events WHERE owner = ? AND id = ?", (owner, event))
    return found.get is not None


def _is_written(connection: Connection, owner: int, record: bytes) -> bool:
    found = connection.execute(
        f"SELECT {WRITTEN} FROM records r WHERE owner = ? AND id = ?", (owner, record)
    )
    return bool(found.get)


def _sources(connection: Connection, owner: int, record: bytes) -> list[bytes]:
    return split_ids(
        connection.execute(
            "SELECT sources FROM records WHERE owner = ? AND id = ?", (owner, record)
        ).get
    )


def _mend_visibility(connection: Connection) -> None:
    """What is hidden or put aside is so because its journal says so last."""
    for column, done, undone in (
        ("forgotten_at", "forgotten", "restored"),
        ("archived", "archived", "unarchived"),
    ):
        last = (
            " FROM journal j WHERE j.owner = records.owner AND j.record = records.id"
            f" AND action IN ('{done}', '{undone}') ORDER BY change DESC LIMIT 1"
        )
        connection.execute(
            f"UPDATE records SET {column} = (SELECT CASE action WHEN '{done}' THEN at END{last})"
            f" WHERE ({column} IS NOT NULL) != coalesce((SELECT action = '{done}'{last}), FALSE)"
        )
