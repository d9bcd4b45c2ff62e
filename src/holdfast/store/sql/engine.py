"""What a driver gives the store: connections that read its SQL, a pool of them, and a writer.

The SQL of this room is SQLite's as far as PostgreSQL can be taught it: a few functions (`iif`,
`hex`, `max` and `min` of two, `json_...`) are defined there by the schema, `INDEXED BY` is left
out, `?` and `:name` become the driver's own marks. What cannot be said alike is a method here.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from importlib import resources
from typing import Any, NamedTuple, Protocol, TypeVar

from holdfast.errors import DamagedRow
from holdfast.types import Scope

T = TypeVar("T")


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

    def execute(self, sql: str, values: Any = (), /) -> Rows: ...

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
        told for less than the reading, each time."""


class Pool(Protocol):
    """Connections for reading."""

    #: Tables with rows that could not be read, and were left out.
    unread: set[str]

    def reader(self) -> AbstractContextManager[Connection]:
        """For a few statements."""

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
