"""What every part of the store in SQL stands on: what a driver gives it, and its rows as values.

A driver gives connections that read this SQL, a pool of them, and a writer (`Connection`, `Pool`,
`TransactionRunner`); `StorePart` and the functions below it are between Python values and columns.

The SQL of this room is SQLite's as far as PostgreSQL can be taught it: a few functions (`iif`,
`hex`, `max` and `min` of two, `json_...`) are defined there by the schema, `INDEXED BY` is left
out, `?` and `:name` become the driver's own marks. What cannot be said alike is a method here.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import orjson

from holdfast.errors import DamagedRow, NotFound, StoreError
from holdfast.store.values import KEPT_FEED, KEPT_SKETCHES, LISTED
from holdfast.types import Metadata, Scope

if TYPE_CHECKING:
    from holdfast.store.sql.jobs import Turns

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


class Rows(Protocol):
    """What a statement gave."""

    @property
    def get(self) -> Any:
        """The first row, of one column that alone; None if there is no row."""

    def __iter__(self) -> Iterator[Any]: ...

    def fetchone(self) -> Any: ...

    def fetchall(self) -> list[Any]: ...

    def leave_out(self) -> None:
        """Say, once, that a row of this answer cannot be read."""


class TableShape(NamedTuple):
    """A table, as the check for damaged rows needs to know it."""

    name: str
    #: Every column, and whether it is a text.
    columns: dict[str, bool]
    #: What tells its rows apart.
    keys: Sequence[str]


class Connection(Protocol):
    """One connection, in a transaction or not."""

    def execute(self, sql: str, values: Any = (), /) -> Rows:
        """Done by the time that somebody looks at its rows, asks what changed, or commits: what a
        server is asked before it answers is asked in one message. In a read nobody looks at it may
        not be done at all."""

    def executemany(self, sql: str, values: Iterable[Sequence[Any]], /) -> Any: ...

    def stream(self, sql: str, values: Sequence[Any] = ()) -> Rows:
        """As `execute`, of more rows than should be held at once."""

    def many(self, sql: str, values: Sequence[Any]) -> list[Any]:
        """All rows, for an index that is loaded by the hundred thousand."""

    def joined(
        self, columns: Sequence[str], source: str, values: Sequence[Any], *, order: Sequence[str]
    ) -> list[bytes]:
        """Columns of bytes, all values of each one after another; the first of `order` is a
        number that grows with the rows."""

    def load(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> int:
        """Insert many rows; how many."""

    def changes(self) -> int:
        """How many rows the last statement changed."""

    def total_changes(self) -> int:
        """How many rows were changed so far."""

    def narrow(self, scope: Scope) -> None:
        """From here to the end of the transaction, rows of this owner alone are there."""

    def widen(self) -> None:
        """Rows of all owners are there again."""

    def find_owner(self, scope: Scope) -> int | None:
        """The number of (workspace, user). For a writer nobody else changes anything of it until
        the transaction ends."""

    def new_owner(self, scope: Scope) -> int | None:
        """The number for an owner who is new; None: the database chooses one."""

    def job_ids(self, count: int) -> Sequence[int | None]:
        """Numbers for new jobs, in their order; None: the database chooses."""

    def lock(self, name: str) -> None:
        """Wait for all others who took the lock of this name; they wait until this transaction
        ends."""

    @property
    def for_update(self) -> str:
        """SQL behind a SELECT of jobs `j`: nobody else changes these until the transaction ends."""

    def chain(self, workspace: str) -> str | None:
        """In which chain of the audit log the lines of a workspace stand; None: there is one."""

    def unname(self, owner: int, record: bytes | None) -> None:
        """Remove what the driver keeps to find a record of a large owner by; None: all of them."""

    def tables(self) -> list[TableShape]: ...

    def as_bytes(self, column: str) -> str:
        """SQL: the bytes of a text, whatever they are."""

    def until_written(self, key: Hashable, read: Callable[[], T]) -> T:
        """What `read` gives, read again only if anything was written since; where that cannot be
        told for less than the reading, each time. `key` begins with the name of what is read."""


class Pool(Protocol):
    """Connections for reading."""

    #: Tables with rows that could not be read, and were left out.
    unread: set[str]

    def reader(self) -> AbstractContextManager[Connection]:
        """For a few statements, each of which may see another moment."""

    def snapshot(self) -> AbstractContextManager[Connection]:
        """One that sees one moment, for several statements that must agree."""


Work = Callable[[Connection], T]


class TransactionRunner(Protocol):
    """Runs pieces of work, each in a transaction of its own or as if in one."""

    def run(self, work: Work[T], *, alone: bool = False) -> T:
        """Run `work` in a transaction and return once its effects are on stable storage. It may be
        run again if another got in its way. `alone`: while nobody else writes anything."""

    def along(self, more: Work[None]) -> AbstractContextManager[None]:
        """Within this block, do `more` in the transaction of the first work of this thread that
        does something: both, or neither. Blocks do not nest: the note of one would be lost."""

    def provided(self, check: Work[None]) -> AbstractContextManager[None]:
        """Within this block, do `check` first in the transaction of every work of this thread, up
        to the one that does something: what it raises undoes the work."""

    def later(self, work: Work[None], what: str) -> None:
        """Run `work` soon, without waiting; a failure is logged as that of `what`."""

    def settle(self) -> None:
        """Return once all that was handed to `later` before is written, or has failed."""


def readable(convert: Callable[[Any], T], rows: Rows) -> Iterator[T]:
    """What can be made of the rows; those of which nothing can be made are left out."""
    for row in rows:
        try:
            yield convert(row)
        except DamagedRow:
            rows.leave_out()


def read_many(
    connection: Connection, convert: Callable[[Any], T], sql: str, values: Sequence[Any]
) -> list[T]:
    """The same of a statement whose rows are all read at once, in three quarters of the time."""
    try:
        return [convert(row) for row in connection.many(sql, values)]
    except DamagedRow:
        return list(readable(convert, connection.execute(sql, values)))


class WritesAlong(ABC):
    """`run`, `along` and `provided` of a `TransactionRunner`, by what runs one piece of work."""

    def __init__(self) -> None:
        self._along = threading.local()

    @abstractmethod
    def transact(self, work: Work[T], *, alone: bool) -> T:
        """As `run`, of this work alone."""

    def run(self, work: Work[T], *, alone: bool = False) -> T:
        """See `TransactionRunner`."""
        more: Work[None] | None = getattr(self._along, "work", None)
        check: Work[None] | None = getattr(self._along, "check", None)
        if more is None and check is None:
            return self.transact(work, alone=alone)

        def together(connection: Connection) -> T:
            if check is not None:
                check(connection)
            result = work(connection)
            if more is not None and _has_done(result):
                more(connection)
            return result

        result = self.transact(together, alone=alone)
        if _has_done(result):
            self._along.work = self._along.check = None
        return result

    @contextmanager
    def along(self, more: Work[None]) -> Iterator[None]:
        """See `TransactionRunner`."""
        if getattr(self._along, "work", None) is not None:
            raise RuntimeError("something is to be written along already: blocks do not nest")
        self._along.work = more
        try:
            yield
        finally:
            self._along.work = None

    @contextmanager
    def provided(self, check: Work[None]) -> Iterator[None]:
        """See `TransactionRunner`."""
        self._along.check = check
        try:
            yield
        finally:
            self._along.check = None


def _has_done(result: object) -> bool:
    """Work that found nothing to do says so: False, or the empty list of what it changed."""
    return result is not False and result != []


def migrations(package: str) -> list[tuple[int, str]]:
    """(version, sql) of every migration of a driver, in order: files NNNN_name.sql."""
    files = (resources.files(package) / "migrations").iterdir()
    return sorted(
        (int(file.name[:4]), file.read_text(encoding="utf-8"))
        for file in files
        if file.name.endswith(".sql")
    )


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
    goes with them; where only words changed the feed as it was is still good, for it tells of
    these, but sketches are not."""
    connection.execute("UPDATE owners SET epoch = epoch + 1 WHERE owner = ?", (owner,))
    first = KEPT_FEED if removed else KEPT_SKETCHES
    connection.execute("DELETE FROM kept_index WHERE owner = ? AND piece >= ?", (owner, first))
    if not removed:
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
