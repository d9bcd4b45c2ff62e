"""The ledger: which contexts were handed out, written behind the caller's back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import apsw

from holdfast.errors import NotFound
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

    def context_note(self, scope: Scope, id: str) -> ContextNote:
        self._writer.settle()
        id = id.lower()
        if not _END.fullmatch(id):
            raise NotFound(f"a context is named by 6 to 32 hex digits, not {id[:40]!r}")
        with self._pool.snapshot() as connection:
            rows = connection.execute(
                f"SELECT {_NOTE} FROM contexts WHERE owner = ? AND substr(id, -3) = ?",
                (owner_of(connection, scope), bytes.fromhex(id[-_INDEXED_DIGITS:])),
            )
            found = [note for note in readable(_to_note, rows) if note.id.endswith(id)]
        if len(found) != 1:
            several = "several contexts end" if found else "no context ends"
            raise NotFound(f"{several} with {id!r} in this scope")
        return found[0]

    def context_notes(self, scope: Scope, *, since: datetime, limit: int) -> list[ContextNote]:
        self._writer.settle()
        with self._pool.snapshot() as connection:
            rows = connection.execute(
                f"SELECT {_NOTE} FROM contexts WHERE owner = ? AND at >= ?"
                " ORDER BY at DESC, id DESC LIMIT ?",
                (owner_of(connection, scope), to_us(since), limit),
            )
            return list(readable(_to_note, rows))

    def forget_contexts(self, before: datetime) -> int:
        def work(connection: apsw.Connection) -> int:
            # By owner, because the index is.
            connection.execute(
                "DELETE FROM contexts WHERE owner IN (SELECT owner FROM owners) AND at < ?",
                (to_us(before),),
            )
            return connection.changes()

        return self._writer.run(work)


def _trim(connection: apsw.Connection, owner: int) -> None:
    last = connection.execute(
        "SELECT at FROM contexts WHERE owner = ? ORDER BY at DESC LIMIT 1 OFFSET ?",
        (owner, MOST_NOTES),
    ).get
    if last is not None:
        connection.execute("DELETE FROM contexts WHERE owner = ? AND at <= ?", (owner, last))


def _to_note(row: Sequence[Any]) -> ContextNote:
    return ContextNote(row[0].hex(), from_us(row[1]), row[2], row[3], row[4], row[5])
