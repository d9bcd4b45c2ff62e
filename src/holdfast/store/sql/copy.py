"""One store into another, owner by owner: from a file to a server, back, and into a backup.

All is read out of one snapshot, and an owner is written in one transaction, its own row with it, so
an owner who is there is there whole: a copy that was cut short goes on where it stopped, and of a
source that is in use those who changed meanwhile are copied by the next one. Whether both say the
same is told by a digest of all rows of an owner, which leaves out only what an engine numbers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from holdfast.errors import Conflict
from holdfast.store.sql import SqlStore
from holdfast.store.sql.audit import add_line, to_line
from holdfast.store.sql.check import FILLING
from holdfast.store.sql.engine import Connection, marks
from holdfast.store.values import AuditLine, Progress
from holdfast.types import Scope

#: Tables of nobody, and what tells their rows apart. The audit log is chained anew.
_SMALL = {
    "spaces": ["id"],
    "recipes": ["name"],
    "chores": ["name"],
    "secrets": ["name"],
    "counters": ["name"],
    "agents": ["workspace", "agent"],
    "api_keys": ["id"],
    "webhooks": ["id"],
}
#: Tables with rows of owners, and what tells the rows of one owner apart.
OF_OWNER = {
    "events": "arrival",
    "records": "id",
    "journal": "record, change",
    "provenance": "event, record",
    "idempotency": "key",
    "answers": "key",
    "jobs": "subject, step",
    "vectors": "space, record, passage",
    "contexts": "id",
    "spend": "day",
    "shares": "id",
    "webhook_heads": "webhook",
    "set_aside": "source, row",
}
#: Of no meaning elsewhere: numbers that an engine gives, and who works on a job just now.
_ENGINES_OWN = {("jobs", "id"), ("jobs", "claim"), ("set_aside", "id")}
_COUNTERS = "arrival, change, epoch"


@dataclass(slots=True)
class Copied:
    """What a copy did."""

    owners: int = 0
    #: Those that were there already, as they are.
    skipped: int = 0
    rows: int = 0
    #: Those who changed while they were copied, or after.
    behind: list[Scope] = field(default_factory=list)
    #: Those of whom both stores do not say the same.
    different: list[Scope] = field(default_factory=list)


def copy_store(
    source: SqlStore,
    target: SqlStore,
    *,
    finish: bool,
    behind_is_fine: bool = False,
    progress: Progress | None = None,
) -> Copied:
    """Copy everything as it is at one moment; what is there already from a copy before is left.
    Conflict when the target holds memories of its own. `finish`: nobody writes to the source any
    more, or that the copy is `behind` is fine, and once both say the same the target is a store of
    its own; until then nobody can open it as a memory."""
    _check_target(target)
    target._writer.run(_begin, alone=True)
    copied = Copied()
    with source._pool.snapshot() as reading:
        target._writer.run(lambda c: _copy_small(reading, c), alone=True)
        scopes = _scopes(reading)
        for number, scope in enumerate(scopes, 1):
            _copy_owner(reading, target, scope, copied)
            if progress is not None:
                progress(number, len(scopes))
        _drop_others(target, scopes)
        target._loaded()
        with target._pool.snapshot() as there:
            copied.different = [
                scope
                for scope in scopes
                if owner_digest(reading, scope) != owner_digest(there, scope)
            ]
        head = _audit_head(reading)
    with source._pool.snapshot() as now, target._pool.snapshot() as there:
        copied.behind = [
            scope for scope in _scopes(now) if _head(now, scope) != _head(there, scope)
        ]
    if finish and not copied.different and (behind_is_fine or not copied.behind):
        target._writer.run(lambda c: _finish(c, head), alone=True)
    return copied


def owner_digest(connection: Connection, scope: Scope) -> str:
    """A digest of all that a store holds of an owner."""
    digest, owner = hashlib.blake2b(digest_size=16), connection.find_owner(scope)
    tables = {table.name: [*table.columns] for table in connection.tables()}
    tables["set_aside"] = ["source", "reason", "row"]
    for table, order in OF_OWNER.items():
        names = sorted(
            name for name in tables[table] if name != "owner" and (table, name) not in _ENGINES_OWN
        )
        digest.update(f"{table} {names}".encode())
        rows = connection.stream(
            f"SELECT {', '.join(names)} FROM {table} WHERE owner = ? ORDER BY {order}", (owner,)
        )
        for row in rows:
            digest.update(repr(tuple(row)).encode())
    return digest.hexdigest()


def _check_target(target: SqlStore) -> None:
    with target._pool.snapshot() as connection:
        filling = connection.execute("SELECT 1 FROM recipes WHERE name = ?", (FILLING,)).get
        owners = connection.execute("SELECT count(*) FROM owners").get
    if owners and not filling:
        raise Conflict(
            f"{target._path} holds memories of its own, of {owners} users: name an empty store"
        )


def _begin(connection: Connection) -> None:
    connection.execute(
        "INSERT INTO recipes (name, version) VALUES (?, 1) ON CONFLICT DO NOTHING", (FILLING,)
    )


def _finish(connection: Connection, head: AuditLine | None) -> None:
    """From now on the copy is a store like any other; it notes where it came from."""
    connection.execute("DELETE FROM recipes WHERE name = ?", (FILLING,))
    if head is not None:
        add_line(
            connection,
            AuditLine(
                at=head.at,
                workspace=head.workspace,
                actor="holdfast",
                action="migrate",
                outcome="done",
                subject=head.hash,
            ),
        )


def _audit_head(connection: Connection) -> AuditLine | None:
    """The newest line: its hash stands for the whole log before the copy."""
    row = connection.execute(
        "SELECT seq, at, workspace, owner, actor, action, subject, outcome, hash FROM audit"
        " ORDER BY at DESC, seq DESC LIMIT 1"
    ).fetchone()
    return None if row is None else to_line(row)


def _copy_small(source: Connection, target: Connection) -> None:
    for table, keys in _SMALL.items():
        _copy_table(source, target, table, keys)
    if target.execute("SELECT count(*) FROM audit").get == 0:
        for row in source.stream(
            "SELECT seq, at, workspace, owner, actor, action, subject, outcome, hash FROM audit"
            " ORDER BY at, workspace, seq"
        ):
            add_line(target, to_line(row))


def _copy_table(source: Connection, target: Connection, table: str, keys: Sequence[str]) -> None:
    """Row by row over what a copy before left: others refer to these rows, none may be missing."""
    columns = _columns(source, table)
    named, places = ", ".join(columns), [columns.index(key) for key in keys]
    rows = source.execute(f"SELECT {named} FROM {table}{_but(table)}").fetchall()
    kept = {tuple(row[place] for place in places) for row in rows}
    which = " AND ".join(f"{key} = ?" for key in keys)
    for gone in target.execute(f"SELECT {', '.join(keys)} FROM {table}").fetchall():
        if tuple(gone) not in kept and tuple(gone) != (FILLING,):
            target.execute(f"DELETE FROM {table} WHERE {which}", tuple(gone))
    new = ", ".join(f"{name} = excluded.{name}" for name in columns if name not in keys)
    target.executemany(
        f"INSERT INTO {table} ({named}) VALUES ({marks(len(columns))})"
        f" ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {new}",
        rows,
    )


def _but(table: str) -> str:
    """The lines of a chain are counted by who chains them."""
    return " WHERE name != 'audit' AND name NOT LIKE 'audit %'" if table == "counters" else ""


def _scopes(connection: Connection) -> list[Scope]:
    rows = connection.execute("SELECT workspace, user FROM owners ORDER BY workspace, user")
    return [Scope(workspace, user) for workspace, user in rows]


def _head(connection: Connection, scope: Scope) -> Any:
    """Where an owner stands; () if it is not there."""
    found = connection.execute(
        f"SELECT {_COUNTERS} FROM owners WHERE owner = ?", (connection.find_owner(scope),)
    ).fetchone()
    return tuple(found or ())


def _copy_owner(reading: Connection, target: SqlStore, scope: Scope, copied: Copied) -> None:
    with target._pool.reader() as there:
        if _head(reading, scope) == _head(there, scope):
            copied.skipped += 1
            return
    copied.rows += target._writer.run(lambda c: _write_owner(reading, c, scope))
    copied.owners += 1


def _write_owner(source: Connection, target: Connection, scope: Scope) -> int:
    old = source.find_owner(scope)
    _drop(target, scope)
    counters = source.execute(f"SELECT {_COUNTERS} FROM owners WHERE owner = ?", (old,)).fetchone()
    target.execute(
        f"INSERT INTO owners (owner, workspace, user, {_COUNTERS}) VALUES (?, ?, ?, ?, ?, ?)",
        (target.new_owner(scope), scope.workspace, scope.user, *counters),
    )
    owner = target.find_owner(scope)
    total = 0
    for table, order in OF_OWNER.items():
        columns = [name for name in _columns(source, table) if name != "owner"]
        rows = source.stream(
            f"SELECT {', '.join(columns)} FROM {table} WHERE owner = ? ORDER BY"
            f" {'id' if table == 'jobs' else order}",
            (old,),
        )
        total += target.load(
            table, ["owner", *columns], _owned(target, table, columns, owner, rows)
        )
    return total


def _owned(
    target: Connection, table: str, columns: Sequence[str], owner: int | None, rows: Any
) -> Iterator[tuple[Any, ...]]:
    """Rows as rows of an owner of the target, with numbers of the target's own."""
    numbered = columns.index("id") if table in ("jobs", "set_aside") else None
    for place, row in enumerate(rows, 1):
        values = list(row)
        if numbered is not None:
            values[numbered] = target.job_ids(1)[0] if table == "jobs" else place
        yield (owner, *values)


def _drop(target: Connection, scope: Scope) -> None:
    owner = target.find_owner(scope)
    for table in ("kept_index", *reversed(OF_OWNER), "owners") if owner is not None else ():
        target.execute(f"DELETE FROM {table} WHERE owner = ?", (owner,))


def _drop_others(target: SqlStore, scopes: Sequence[Scope]) -> None:
    """Those who were erased from the source since a copy before."""
    kept = set(scopes)
    with target._pool.snapshot() as connection:
        gone = [scope for scope in _scopes(connection) if scope not in kept]
    for scope in gone:
        target._writer.run(lambda c, scope=scope: _drop(c, scope))  # type: ignore[misc]


def _columns(connection: Connection, table: str) -> list[str]:
    if table == "set_aside":
        return ["id", "source", "reason", "row"]
    return [*next(each for each in connection.tables() if each.name == table).columns]
