"""Taking a whole store out and in: dump, load, online backup, counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

import apsw

from recollect.errors import StoreError
from recollect.store.base import (
    Dumped,
    DumpedAct,
    DumpedEvent,
    DumpedKey,
    DumpedVectors,
    KeyUse,
    MakeTerms,
    Progress,
)
from recollect.store.sqlite.connection import connect, errors_of
from recollect.store.sqlite.log import EVENT, current_steps, to_event
from recollect.store.sqlite.rows import (
    Part,
    from_us,
    marks,
    maybe_from_us,
    next_changes,
    owner_made,
    to_json,
    to_us,
)
from recollect.types import Scope

_PAGES_AT_ONCE = 256
_ID = 16
_IN_ORDER = "ORDER BY o.workspace, o.user"


class SqliteTransfer(Part):
    """The moving half of `Upkeep` on SQLite."""

    def backup(self, path: Path, *, progress: Progress | None = None) -> None:
        if path.exists():
            raise StoreError(f"{path} exists already: a backup never overwrites a file")
        target = connect(str(path))
        try:
            with self._pool.reader() as source, errors_of(str(path)):
                with target.backup("main", source, "main") as copy:
                    while not copy.done:
                        copy.step(_PAGES_AT_ONCE)
                        if progress:
                            progress(copy.page_count - copy.remaining, copy.page_count)
                verdict = target.execute("PRAGMA integrity_check").get
                if verdict != "ok":
                    raise StoreError(f"the backup {path} is damaged: {verdict}")
                # One plain file, complete without a -wal beside it.
                target.execute("PRAGMA journal_mode = DELETE")
        finally:
            target.close()

    def dump(self, *, vectors: bool = True) -> Iterator[Dumped]:
        with self._pool.snapshot() as connection:
            yield from _dump_events(connection)
            yield from _dump_acts(connection)
            yield from _dump_keys(connection)
            if vectors:
                yield from _dump_vectors(connection)

    def load(
        self, rows: Sequence[Dumped], make_terms: MakeTerms, *, steps: Sequence[str]
    ) -> list[bool]:
        def work(connection: apsw.Connection) -> list[bool]:
            return [_loaded(connection, row, make_terms, steps) for row in rows]

        return self._writer.run(work)

    def stats(self) -> dict[str, int]:
        with self._pool.snapshot() as connection:
            counts = {
                name: connection.execute(f"SELECT count(*) FROM {table}").get
                for name, table in (
                    ("owners", "owners"),
                    ("events", "events"),
                    ("forgotten", "records WHERE forgotten_at IS NOT NULL"),
                    ("vectors", "vectors"),
                )
            }
            for state in ("ready", "running", "dead"):
                counts[state] = connection.execute(
                    "SELECT count(*) FROM jobs WHERE state = ?", (state,)
                ).get
        return counts


def _dump_events(connection: apsw.Connection) -> Iterator[DumpedEvent]:
    columns = ", ".join("e." + column for column in EVENT.split(", "))
    for row in connection.execute(
        f"SELECT o.workspace, o.user, r.forgotten_at, {columns} FROM owners o"
        " JOIN events e ON e.owner = o.owner"
        " LEFT JOIN records r ON r.owner = e.owner AND r.id = e.id"
        f" {_IN_ORDER}, e.arrival"
    ):
        event = to_event(row[3:])
        scope = Scope(row[0], row[1], event.agent, event.session)
        yield DumpedEvent(scope, event, maybe_from_us(row[2]))


def _dump_acts(connection: apsw.Connection) -> Iterator[DumpedAct]:
    for row in connection.execute(
        "SELECT o.workspace, o.user, j.record, row_number() OVER"
        " (PARTITION BY j.owner, j.record ORDER BY j.change), j.action, j.at FROM owners o"
        f" JOIN journal j ON j.owner = o.owner {_IN_ORDER}, j.change"
    ):
        yield DumpedAct(Scope(row[0], row[1]), row[2].hex(), row[3], row[4], from_us(row[5]))


def _dump_keys(connection: apsw.Connection) -> Iterator[DumpedKey]:
    for row in connection.execute(
        "SELECT o.workspace, o.user, k.key, k.body, k.events, k.used_at FROM owners o"
        f" JOIN idempotency k ON k.owner = o.owner {_IN_ORDER}, k.key"
    ):
        events = tuple(row[4][i : i + _ID].hex() for i in range(0, len(row[4]), _ID))
        yield DumpedKey(Scope(row[0], row[1]), KeyUse(row[2], row[3]), events, from_us(row[5]))


def _dump_vectors(connection: apsw.Connection) -> Iterator[DumpedVectors]:
    rows = connection.execute(
        "SELECT o.workspace, o.user, s.model, s.dim, s.recipe, v.record, v.digest, v.data"
        " FROM owners o JOIN vectors v ON v.owner = o.owner"
        " JOIN spaces s ON s.id = v.space AND s.state != 'retired'"
        f" {_IN_ORDER}, s.model, s.dim, s.recipe, v.record, v.passage"
    )
    for (workspace, user, model, dim, recipe, record), group in groupby(rows, lambda r: r[:6]):
        passages = tuple((row[6], row[7]) for row in group)
        yield DumpedVectors(Scope(workspace, user), model, dim, recipe, record.hex(), passages)


def _loaded(
    connection: apsw.Connection, row: Dumped, make_terms: MakeTerms, steps: Sequence[str]
) -> bool:
    owner = owner_made(connection, row.scope)
    match row:
        case DumpedEvent():
            return _load_event(connection, owner, row, make_terms, steps)
        case DumpedAct():
            return _load_act(connection, owner, row)
        case DumpedKey():
            ids = b"".join(bytes.fromhex(each) for each in row.events)
            connection.execute(
                "INSERT OR IGNORE INTO idempotency (owner, key, body, events, used_at)"
                " VALUES (?, ?, ?, ?, ?)",
                (owner, row.key.key, row.key.body, ids, to_us(row.used_at)),
            )
            return connection.changes() > 0
        case DumpedVectors():
            return _load_vectors(connection, owner, row)


def _load_event(
    connection: apsw.Connection,
    owner: int,
    row: DumpedEvent,
    make_terms: MakeTerms,
    steps: Sequence[str],
) -> bool:
    event, raw = row.event, bytes.fromhex(row.event.id)
    if connection.execute("SELECT 1 FROM events WHERE owner = ? AND id = ?", (owner, raw)).get:
        return False
    arrival = connection.execute(
        "UPDATE owners SET arrival = arrival + 1 WHERE owner = ? RETURNING arrival", (owner,)
    ).get
    connection.execute(
        f"INSERT INTO events (owner, {EVENT}) VALUES (?, {marks(11)})",
        (
            owner, raw, arrival, event.role, event.content, to_us(event.at), to_us(event.known_at),
            event.origin, event.name, event.agent, event.session, to_json(event.metadata),
        ),
    )  # fmt: skip
    terms, length, kind = make_terms(event)
    connection.execute(
        "INSERT INTO records (owner, id, change, tier, kind, valid_from, known_from, confidence,"
        " origin, forgotten_at, length, terms)"
        " VALUES (?, ?, ?, 'session', ?, ?, ?, 1.0, ?, ?, ?, ?)",
        (
            owner, raw, next_changes(connection, owner, 1), kind, to_us(event.at),
            to_us(event.known_at), event.origin,
            to_us(row.forgotten_at) if row.forgotten_at else None, length, terms,
        ),
    )  # fmt: skip
    current = [each for step in steps for each in current_steps(connection, step)]
    for step in current:
        connection.execute(
            "INSERT INTO jobs (owner, subject, step, due) VALUES (?, ?, ?, 0)", (owner, raw, step)
        )
    return True


def _load_act(connection: apsw.Connection, owner: int, row: DumpedAct) -> bool:
    raw = bytes.fromhex(row.record)
    known: int = connection.execute(
        "SELECT count(*) FROM journal WHERE owner = ? AND record = ?", (owner, raw)
    ).get
    if row.number <= known:
        return False
    change = next_changes(connection, owner, 1)
    connection.execute(
        "INSERT INTO journal (owner, record, change, action, at) VALUES (?, ?, ?, ?, ?)",
        (owner, raw, change, row.action, to_us(row.at)),
    )
    connection.execute(
        "UPDATE records SET forgotten_at = ?, change = ? WHERE owner = ? AND id = ?",
        (to_us(row.at) if row.action == "forgotten" else None, change, owner, raw),
    )
    return True


def _load_vectors(connection: apsw.Connection, owner: int, row: DumpedVectors) -> bool:
    """Vectors of a space this store uses; those of any other are made anew by the worker."""
    raw = bytes.fromhex(row.record)
    space = connection.execute(
        "SELECT id FROM spaces WHERE model = ? AND dim = ? AND recipe = ? AND state != 'retired'",
        (row.model, row.dim, row.recipe),
    ).get
    known = connection.execute("SELECT 1 FROM records WHERE owner = ? AND id = ?", (owner, raw)).get
    if space is None or not known:
        return False
    change = next_changes(connection, owner, len(row.passages))
    connection.executemany(
        "INSERT OR IGNORE INTO vectors (owner, space, record, passage, change, digest, data)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            (owner, space, raw, passage, change + passage, digest, data)
            for passage, (digest, data) in enumerate(row.passages)
        ),
    )
    new = connection.changes() > 0
    connection.execute(
        "DELETE FROM jobs WHERE owner = ? AND subject = ? AND step = ?",
        (owner, raw, f"embed:{space}"),
    )
    return new
