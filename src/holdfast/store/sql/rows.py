"""Between Python values and SQLite columns; and the connection that all parts share."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, TypeVar

import orjson

from holdfast.errors import DamagedRow, NotFound, StoreError
from holdfast.store.sql.engine import Connection, Pool, TransactionRunner
from holdfast.store.sql.turns import Turns
from holdfast.store.values import LISTED
from holdfast.types import Metadata, Scope

T = TypeVar("T")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_ID_BYTES = 16
_MOST_LOOKS = 5
#: SQLite's own limit of bound values is higher; this keeps statements few and cacheable.
_IDS_AT_ONCE = 200
#: Whether a record `r` is `is_heard`.
#: (One bad row must not end a statement over all: what is no JSON is not heard.)
HEARD = (
    "(r.tier = 'graph' AND"
    " iif(json_valid(r.data), coalesce(json_type(r.data, '$.heard'), '') = 'true', FALSE))"
)
#: Whether a record `r` is no document: neither searched nor embedded.
SILENT = f"(r.quiet = {LISTED} OR {HEARD})"
#: Whether somebody wrote a record `r`, so that it stands without any turn.
WRITTEN = f"iif(r.tier = 'graph', NOT {HEARD}, r.written = 1)"
#: The number of a new job out of the first of `job_ids`, for rows in this order.
JOB_NUMBER = "CAST(? AS BIGINT) + row_number() OVER (ORDER BY {order}) - 1"


class StorePart(ABC):
    """What every part of the store works with."""

    #: What the store is called in messages.
    _path: str
    #: What the engine raises.
    _errors: tuple[type[Exception], ...]
    _pool: Pool
    _writer: TransactionRunner
    _turns: Turns


def owner_of(connection: Connection, scope: Scope) -> int | None:
    """The number of (workspace, user), None when nothing was ever stored for it."""
    connection.narrow(scope)
    return connection.find_owner(scope)


def ensure_owner(connection: Connection, scope: Scope) -> int:
    """The number of (workspace, user), made when new. For the writer only."""
    connection.narrow(scope)
    for _ in range(_MOST_LOOKS):
        found = connection.find_owner(scope)
        if found is not None:
            return found
        connection.execute(  # Another may do so at the same time, and yet another erase it.
            "INSERT INTO owners (owner, workspace, user, epoch) VALUES (?, ?, ?, ?)"
            " ON CONFLICT DO NOTHING",
            (connection.new_owner(scope), scope.workspace, scope.user, first_epoch(connection)),
        )
    raise StoreError("the number of this user is another's: choose another id for it")


def first_epoch(connection: Connection) -> int:
    """The epoch of an owner of whom there is nothing: one that nobody erased ever had."""
    found: int | None = connection.execute("SELECT value FROM counters WHERE name = 'epoch'").get
    return found or 0


def next_changes(connection: Connection, owner: int, count: int) -> int:
    """Take `count` change numbers of an owner; the first of them."""
    last: int = connection.execute(
        "UPDATE owners SET change = change + ? WHERE owner = ? RETURNING change", (count, owner)
    ).get
    return last - count + 1


def raise_epoch(connection: Connection, owner: int, *, removed: bool = True) -> None:
    """Every index of an owner starts over. When rows were `removed`, what an index has written down
    goes with them; where only words changed it is still good, for the feed tells of these."""
    connection.execute("UPDATE owners SET epoch = epoch + 1 WHERE owner = ?", (owner,))
    if removed:
        connection.execute("DELETE FROM kept_index WHERE owner = ?", (owner,))
    else:
        connection.execute(
            "UPDATE kept_index SET epoch = epoch + 1 WHERE owner = ? AND piece = 0", (owner,)
        )


def write_history(  # noqa: PLR0917 (the parts of a line)
    connection: Connection, owner: int, record: bytes, action: str, at: int, note: str = ""
) -> int:
    """Write a line of a record's history; the change number it took."""
    change = next_changes(connection, owner, 1)
    connection.execute(
        "INSERT INTO journal (owner, record, change, action, at, note) VALUES (?, ?, ?, ?, ?, ?)",
        (owner, record, change, action, at, note or None),
    )
    return change


def to_us(moment: datetime) -> int:
    """Microseconds since 1970, exactly."""
    return (moment - _EPOCH) // _MICROSECOND


@lru_cache(maxsize=16384)
def from_us(value: int) -> datetime:
    try:
        return _EPOCH + timedelta(microseconds=value)
    except OverflowError:
        raise DamagedRow from None


def maybe_from_us(value: int | None) -> datetime | None:
    return None if value is None else from_us(value)


def maybe_us(moment: datetime | None) -> int | None:
    return None if moment is None else to_us(moment)


def to_id(text: str) -> bytes:
    """The 16 bytes of a hex id; what is no id is an id that does not exist."""
    try:
        raw = bytes.fromhex(text)
    except (ValueError, TypeError):
        raw = b""
    if len(raw) != _ID_BYTES:
        raise NotFound(f"there is no memory {text!r} in this scope")
    return raw


def known_ids(texts: Iterable[str]) -> list[bytes]:
    """Those that can be ids at all."""
    ids = []
    for text in texts:
        try:
            ids.append(to_id(text))
        except NotFound:
            continue
    return ids


def split_ids(joined: bytes | None) -> list[bytes]:
    """Ids that were kept one after another."""
    raw = joined or b""
    if len(raw) % _ID_BYTES:
        raise DamagedRow
    return [raw[i : i + _ID_BYTES] for i in range(0, len(raw), _ID_BYTES)]


def to_json(metadata: Metadata | None) -> str | None:
    return orjson.dumps(dict(metadata)).decode() if metadata else None


def to_data(data: Metadata) -> str | None:
    """JSON with sorted keys: the same fields are the same text."""
    return orjson.dumps(dict(data), option=orjson.OPT_SORT_KEYS).decode() if data else None


def from_json(text: str | None) -> Metadata:
    try:
        read = orjson.loads(text) if text else {}
    except orjson.JSONDecodeError:
        raise DamagedRow from None
    if not isinstance(read, dict):
        raise DamagedRow
    return read


def list_of(text: str) -> tuple[str, ...]:
    """A list of words that is kept as JSON."""
    try:
        return tuple(orjson.loads(text))
    except (orjson.JSONDecodeError, TypeError):
        raise DamagedRow from None


def chunks(values: Sequence[T], size: int = _IDS_AT_ONCE) -> Iterator[Sequence[T]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]


def matching(columns: Mapping[str, object | None]) -> tuple[str, list[Any]]:
    """What these columns are, as a condition and its values; None: whatever it is."""
    asked = {name: value for name, value in columns.items() if value is not None}
    return " AND ".join(["TRUE", *(f"{name} = ?" for name in asked)]), [*asked.values()]


def marks(count: int) -> str:
    """Question marks for an IN list."""
    return ", ".join("?" * count)
