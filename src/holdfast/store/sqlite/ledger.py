"""The ledger: which contexts were handed out, written behind the caller's back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import apsw

from holdfast.store.protocols import ContextNote
from holdfast.store.sqlite.reading import readable
from holdfast.store.sqlite.rows import StorePart, from_us, owner_made, owner_of, to_id, to_us
from holdfast.types import Scope

_NOTE = "id, at, query, digest, body, change"
#: The end of an id, at least as long as the index on it; 32 digits are the whole.
_END = re.compile("[0-9a-f]{6,32}")
_INDEXED_DIGITS = 6


#: More notes than these of one owner and the oldest go: whoever may only read must not be able to
#: fill the disk. Looked at now and then, so there may be a few more.
MOST_NOTES = 10_000
_TRIM_EVERY = 100


class SqliteLedger(StorePart):
    """`Ledger` on SQLite."""

    def note_context(self, scope: Scope, note: ContextNote) -> None:
        raw = to_id(note.id)

        def work(connection: apsw.Connection) -> None:
            owner = owner_made(connection, scope)
            connection.execute(
                "INSERT INTO contexts (owner, id, at, query, digest, body, change)"
                " SELECT owner, ?, ?, ?, ?, ?, change FROM owners WHERE owner = ?",
                (raw, to_us(note.at), note.query, note.digest, note.body, owner),
            )
            if connection.last_insert_rowid() % _TRIM_EVERY == 0:
                _trim(connection, owner)

        self._writer.later(work, f"the note of context {note.id}")

    def contexts(
        self, scope: Scope, *, since: datetime | None = None, limit: int = 100, end: str = ""
    ) -> list[ContextNote]:
        self._writer.settle()
        if end and not _END.fullmatch(end):
            return []
        which, values = "", list[Any]()
        if since is not None:
            which, values = " AND at >= ?", [to_us(since)]
        if end:
            which += " AND substr(id, -3) = ? AND substr(lower(hex(id)), -?) = ?"
            values += [bytes.fromhex(end[-_INDEXED_DIGITS:]), len(end), end]
        with self._pool.snapshot() as connection:
            rows = connection.execute(
                f"SELECT {_NOTE} FROM contexts WHERE owner = ?{which}"
                " ORDER BY at DESC, id DESC LIMIT ?",
                (owner_of(connection, scope), *values, limit),
            )
            return list(readable(_to_note, rows))


def drop_contexts(connection: apsw.Connection, before: datetime) -> int:
    """Remove the notes older than a time; how many."""
    # By owner, because the index is.
    connection.execute(
        "DELETE FROM contexts WHERE owner IN (SELECT owner FROM owners) AND at < ?",
        (to_us(before),),
    )
    return connection.changes()


def _trim(connection: apsw.Connection, owner: int) -> None:
    last = connection.execute(
        "SELECT at FROM contexts WHERE owner = ? ORDER BY at DESC LIMIT 1 OFFSET ?",
        (owner, MOST_NOTES),
    ).get
    if last is not None:
        connection.execute("DELETE FROM contexts WHERE owner = ? AND at <= ?", (owner, last))


def _to_note(row: Sequence[Any]) -> ContextNote:
    return ContextNote(row[0].hex(), from_us(row[1]), row[2], row[3], row[4], row[5])
