"""For the operator: all owners in turn, what is due, secrets, and the erasure of an owner."""

from __future__ import annotations

import secrets
from abc import abstractmethod
from collections.abc import Sequence
from datetime import datetime

from holdfast.store.sql.engine import Connection, StorePart, first_epoch, from_us, owner_of, to_us
from holdfast.types import Scope

_SECRET_BYTES = 32
#: Every table with rows of an owner, the owner itself last.
_OF_OWNER = (
    "kept_index", "vectors", "jobs", "journal", "provenance", "contexts", "idempotency", "answers",
    "spend", "shares", "webhook_heads", "set_aside", "records", "events", "owners",
)  # fmt: skip
#: Tables whose rows may name one user of a workspace.
_OF_USER = ("api_keys", "webhooks")


class SqlChores(StorePart):
    """`Chores`."""

    def owners(self, *, after: Scope | None = None, limit: int = 1000) -> list[Scope]:
        which = "" if after is None else " WHERE (workspace, user) > (?, ?)"
        values = () if after is None else (after.workspace, after.user)
        with self._pool.reader() as connection:
            rows = connection.execute(
                f"SELECT workspace, user FROM owners{which} ORDER BY workspace, user LIMIT ?",
                (*values, limit),
            )
            return [Scope(*row) for row in rows]

    def begin_chore(self, name: str, *, now: datetime, every_s: float) -> bool:
        moment = to_us(now)
        # Looking costs nothing; only a chore that is due is worth a write transaction.
        with self._pool.reader() as connection:
            if not _is_due(connection, name, moment, every_s):
                return False

        def work(connection: Connection) -> bool:
            connection.lock("chores")
            if not _is_due(connection, name, moment, every_s):
                return False
            connection.execute(
                "INSERT INTO chores (name, at) VALUES (?, ?)"
                " ON CONFLICT (name) DO UPDATE SET at = excluded.at",
                (name, moment),
            )
            return True

        return self._writer.run(work)

    def chores(self) -> dict[str, datetime]:
        with self._pool.reader() as connection:
            rows = connection.execute("SELECT name, at FROM chores ORDER BY name")
            return {name: from_us(at) for name, at in rows}

    def secret(self, name: str) -> bytes:
        with self._pool.reader() as connection:
            found: bytes | None = _secret(connection, name)
        if found is not None:
            return found

        def work(connection: Connection) -> bytes:
            connection.execute(
                "INSERT INTO secrets (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING",
                (name, secrets.token_bytes(_SECRET_BYTES)),
            )
            return _secret(connection, name) or b""

        return self._writer.run(work)

    def erase(self, scope: Scope, *, at: datetime) -> dict[str, int]:
        self._writer.settle()  # A note that is still to be written would come after.
        removed = self._writer.run(lambda connection: _erase_rows(connection, scope))
        # Of all tables, also if nothing was removed: a call before may have failed in between.
        self._scrub(_OF_OWNER)
        return removed

    @abstractmethod
    def _scrub(self, tables: Sequence[str]) -> None:
        """Leave nothing of rows removed from these where the engine keeps its files."""


def _is_due(connection: Connection, name: str, moment: int, every_s: float) -> bool:
    last = connection.execute("SELECT at FROM chores WHERE name = ?", (name,)).get
    return last is None or last > moment or moment - last >= int(every_s * 1e6)


def _secret(connection: Connection, name: str) -> bytes | None:
    found: bytes | None = connection.execute(
        "SELECT value FROM secrets WHERE name = ?", (name,)
    ).get
    return found


def _erase_rows(connection: Connection, scope: Scope) -> dict[str, int]:
    """Remove all rows of an owner; how many, by table."""
    owner, removed = owner_of(connection, scope), {}
    epoch = connection.execute("SELECT epoch FROM owners WHERE owner = ?", (owner,)).get
    for table in _OF_OWNER:
        connection.execute(f"DELETE FROM {table} WHERE owner = ?", (owner,))
        removed[table] = connection.changes()
    if owner is not None:
        connection.unname(owner, None)
    for table in ("set_aside", "kept_index"):  # Of most owners there is nothing in them.
        if not removed[table]:
            del removed[table]
    for table in _OF_USER:
        connection.execute(
            f"DELETE FROM {table} WHERE workspace = ? AND user = ?", (scope.workspace, scope.user)
        )
        removed[table] = connection.changes()
    if epoch is not None:
        # An index of this owner that is still about must not take the next one's for its own.
        connection.execute(
            "INSERT INTO counters (name, value) VALUES ('epoch', ?)"
            " ON CONFLICT (name) DO UPDATE SET value = max(counters.value, excluded.value)",
            (max(epoch, first_epoch(connection)) + 1,),
        )
    return removed
