"""Rows that cannot be read are left out and told of; everything else stays readable.

A disk may change a bit of a text: SQLite gives back bytes that are no text, and without this one
such row would end every search, list, export and check that meets it. Which rows they are, and how
they are set aside: damage.py.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import apsw

from holdfast.errors import DamagedRow

log = logging.getLogger("holdfast.store")

T = TypeVar("T")


class Cursor(apsw.Cursor):
    """Passes over rows with a text that is none."""

    def __init__(self, connection: apsw.Connection, unread: set[str]) -> None:
        super().__init__(connection)
        #: The tables of which rows were left out, for all connections of a store.
        self._unread = unread

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]
        step = super().__next__
        while True:
            try:
                yield from iter(step, None)
            except UnicodeDecodeError:
                self.leave_out()
            else:
                return

    def fetchone(self) -> Any:
        while True:
            try:
                return super().fetchone()
            except UnicodeDecodeError:
                self.leave_out()

    def leave_out(self) -> None:
        """Say, once for every table, that a row of this answer cannot be read."""
        try:
            tables = {str(each[3]) for each in self.description_full if each[3]}
        except apsw.ExecutionCompleteError:
            tables = {"the store"}
        if not tables <= self._unread:
            self._unread |= tables
            log.error(
                "a row of %s is damaged and is left out: `holdfast doctor` names it",
                " or ".join(sorted(tables)),
            )


def many(connection: apsw.Connection, sql: str, values: Sequence[Any]) -> list[Any]:
    """All rows, for an index that is loaded by the hundred thousand: going through each of them
    would take a third longer, so that is left for when one is damaged."""
    try:
        return list(apsw.Cursor(connection).execute(sql, values))
    except UnicodeDecodeError:
        return list(connection.execute(sql, values))


def readable(convert: Callable[[Any], T], rows: apsw.Cursor) -> Iterator[T]:
    """What can be made of the rows; those of which nothing can be made are left out."""
    for row in rows:
        try:
            yield convert(row)
        except DamagedRow:
            assert isinstance(rows, Cursor)
            rows.leave_out()
