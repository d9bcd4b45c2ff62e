"""Which rows are damaged, and setting them aside.

Looked at is what the schema cannot promise: that a text is UTF-8, that what should be JSON is, that
ids have their length, that times can be times. A damaged row is moved, byte for byte, to the table
`set_aside`, which is made when it is first needed. Rows that others lean on (owners, vector spaces)
stay, with what could be read of their texts; the row as it was is set aside as well.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import apsw
import orjson

from holdfast.errors import DamagedRow
from holdfast.store.sqlite.rows import from_us, split_ids

_SET_ASIDE = (
    "CREATE TABLE IF NOT EXISTS set_aside ("
    " id INTEGER PRIMARY KEY,"
    " owner INTEGER,"  # Whose it was, to be erased with them; NULL: nobody's.
    " source TEXT NOT NULL,"  # The table.
    " reason TEXT NOT NULL,"
    " row TEXT NOT NULL"  # JSON by column; bytes, and texts that are none, as {"base64": ...}.
    ") STRICT"
)
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


def damaged(connection: apsw.Connection) -> Iterator[Damaged]:
    """Every row that is not what its columns say, table by table."""
    tables = connection.execute(
        "SELECT name, wr FROM pragma_table_list WHERE schema = 'main' AND type = 'table'"
        " AND name NOT LIKE 'sqlite_%' AND name != 'set_aside' ORDER BY name"
    ).fetchall()
    for table, without_rowid in tables:
        yield from _of_table(connection, str(table), bool(without_rowid))


def set_damage_aside(connection: apsw.Connection) -> int:
    """Move damaged rows away, or mend them where they stand; how many."""
    found = list(damaged(connection))
    for each in found:
        _keep(connection, each)
        if each.table in _LEANED_ON:
            _mend(connection, each)
        else:
            connection.execute(f"DELETE FROM {each.table} WHERE {each.where}", each.values)
    return len(found)


def keep_record(connection: apsw.Connection, owner: int, record: bytes, reason: str) -> None:
    """Set a copy of a record aside."""
    where, values = "owner = ? AND id = ?", (owner, record)
    row = next(_rows(connection, "records", [], f" WHERE {where}", values), None)
    if row is not None:
        _keep(connection, Damaged("records", where, values, row, reason))


def count_aside(connection: apsw.Connection) -> int:
    """How many rows were set aside so far."""
    if not has_aside(connection):
        return 0
    found: int = connection.execute("SELECT count(*) FROM set_aside").get
    return found


def has_aside(connection: apsw.Connection) -> bool:
    """Whether a row was ever set aside."""
    found = connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'set_aside'").get
    return found is not None


def _of_table(connection: apsw.Connection, table: str, without_rowid: bool) -> Iterator[Damaged]:
    columns = _columns(connection, table)
    keys = [name for name, _, key in columns if key] if without_rowid else []
    texts = {name for name, kind, _ in columns if kind == "TEXT"}
    rowid = [] if without_rowid else ["rowid"]
    for row in _rows(connection, table, rowid, "", ()):
        reason = _wrong(table, row, texts)
        if reason is None:
            continue
        if without_rowid:
            where = " AND ".join(
                f"CAST({key} AS BLOB) IS ?" if key in texts else f"{key} IS ?" for key in keys
            )
            values = tuple(_raw(row[key]) if key in texts else row[key] for key in keys)
        else:
            where, values = "rowid = ?", (row.pop("rowid"),)
        yield Damaged(table, where, values, row, reason)


def _columns(connection: apsw.Connection, table: str) -> list[tuple[str, str, int]]:
    rows = connection.execute("SELECT name, type, pk FROM pragma_table_info(?)", (table,))
    return [(str(name), str(kind), int(key)) for name, kind, key in rows]


def _rows(
    connection: apsw.Connection,
    table: str,
    more: Sequence[str],
    which: str,
    values: tuple[Any, ...],
) -> Iterator[dict[str, Any]]:
    """Rows by column; a text that is none comes as bytes."""
    columns = _columns(connection, table)
    asked = [*more]
    asked += [f"CAST({n} AS BLOB)" if kind == "TEXT" else n for n, kind, _ in columns]
    names = [*more, *(name for name, _, _ in columns)]
    texts = [index + len(more) for index, column in enumerate(columns) if column[1] == "TEXT"]
    for found in connection.execute(f"SELECT {', '.join(asked)} FROM {table}{which}", values):
        row = list(found)
        for index in texts:
            row[index] = _text(row[index])
        yield dict(zip(names, row, strict=True))


def _text(raw: bytes | None) -> str | bytes | None:
    try:
        return None if raw is None else raw.decode()
    except UnicodeDecodeError:
        return raw


def _raw(text: str | bytes | None) -> bytes | None:
    return text.encode() if isinstance(text, str) else text


def _wrong(table: str, row: dict[str, Any], texts: set[str]) -> str | None:
    """What is wrong with a row, None if nothing is."""
    for name, value in row.items():
        if value is None:
            continue
        if name in texts and isinstance(value, bytes):
            return f"{name} is not UTF-8"
        for column, is_broken, words in _CHECKS:
            if column(table, name) and is_broken(value):
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


def _keep(connection: apsw.Connection, each: Damaged) -> None:
    connection.execute(_SET_ASIDE)
    connection.execute(
        "INSERT INTO set_aside (owner, source, reason, row) VALUES (?, ?, ?, ?)",
        (
            _owner(connection, each),
            each.table,
            each.reason,
            orjson.dumps({name: _told(value) for name, value in each.row.items()}).decode(),
        ),
    )


def _owner(connection: apsw.Connection, each: Damaged) -> int | None:
    """Whose row it was: also of keys and webhooks, which name a user."""
    if isinstance(each.row.get("owner"), int):
        return int(each.row["owner"])
    found: int | None = connection.execute(
        "SELECT owner FROM owners WHERE workspace = ? AND user = ?",
        (each.row.get("workspace"), each.row.get("user")),
    ).get
    return found


def _told(value: Any) -> Any:
    return {"base64": base64.b64encode(value).decode()} if isinstance(value, bytes) else value


def _mend(connection: apsw.Connection, each: Damaged) -> None:
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
