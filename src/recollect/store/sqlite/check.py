"""Doctor: every invariant of the file, and how to mend what is derived."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import apsw
import numpy as np

from recollect.store.base import MakeTerms
from recollect.store.sqlite.connection import OLDEST_SAFE_SQLITE
from recollect.store.sqlite.feed import queue_missing
from recollect.store.sqlite.log import EVENT, to_event
from recollect.store.sqlite.rows import Part, chunks, next_changes
from recollect.types import Finding

_ROWS_AT_ONCE = 500

#: Counts that must be zero: (name, what it means, SQL, whether a rebuild mends it).
_MUST_BE_ZERO: tuple[tuple[str, str, str, bool], ...] = (
    (
        "events",
        "events without a record",
        "SELECT count(*) FROM events e WHERE NOT EXISTS"
        " (SELECT 1 FROM records r WHERE r.owner = e.owner AND r.id = e.id)",
        True,
    ),
    (
        "records",
        "records without an event",
        "SELECT count(*) FROM records r WHERE NOT EXISTS"
        " (SELECT 1 FROM events e WHERE e.owner = r.owner AND e.id = r.id)",
        True,
    ),
    (
        "vectors",
        "vectors without a record or in a retired space",
        "SELECT count(*) FROM vectors v WHERE NOT EXISTS"
        " (SELECT 1 FROM records r WHERE r.owner = v.owner AND r.id = v.record)"
        " OR NOT EXISTS (SELECT 1 FROM spaces s WHERE s.id = v.space AND s.state != 'retired')",
        True,
    ),
    (
        "embedded",
        "records that have neither a vector nor a job in a space in use",
        "SELECT count(*) FROM records r JOIN spaces s ON s.state = 'active' AND NOT EXISTS"
        " (SELECT 1 FROM spaces b WHERE b.state = 'building') WHERE NOT EXISTS"
        " (SELECT 1 FROM vectors v WHERE v.owner = r.owner AND v.space = s.id AND v.record = r.id)"
        " AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.owner = r.owner AND j.subject = r.id"
        " AND j.step = 'embed:' || s.id)",
        True,
    ),
    (
        "jobs",
        "jobs without a record",
        "SELECT count(*) FROM jobs j WHERE NOT EXISTS"
        " (SELECT 1 FROM records r WHERE r.owner = j.owner AND r.id = j.subject)",
        True,
    ),
    (
        "journal",
        "records whose visibility differs from their journal",
        "SELECT count(*) FROM records r WHERE (r.forgotten_at IS NOT NULL) != coalesce("
        " (SELECT action = 'forgotten' FROM journal j WHERE j.owner = r.owner AND j.record = r.id"
        "  ORDER BY change DESC LIMIT 1), 0)",
        True,
    ),
    (
        "counters",
        "owners whose counters lag behind their rows",
        "SELECT count(*) FROM owners o WHERE o.change < coalesce("
        " (SELECT max(change) FROM records r WHERE r.owner = o.owner), 0) OR o.change < coalesce("
        " (SELECT max(v.change) FROM spaces s JOIN vectors v ON v.owner = o.owner"
        "  AND v.space = s.id), 0) OR o.arrival < coalesce("
        " (SELECT max(arrival) FROM events e WHERE e.owner = o.owner), 0)",
        False,
    ),
    (
        "spaces",
        "active vector spaces too many",
        "SELECT max(count(*) - 1, 0) FROM spaces WHERE state = 'active'",
        False,
    ),
)


class SqliteCheck(Part):
    """The checking half of `Upkeep` on SQLite."""

    def check(self, make_terms: MakeTerms) -> list[Finding]:
        with self._pool.snapshot() as connection:
            findings = [_library(), _integrity(connection)]
            for name, what, sql, repairable in _MUST_BE_ZERO:
                count = connection.execute(sql).get
                findings.append(Finding(name, not count, f"{count} {what}", repairable))
            stale = sum(1 for _ in _stale_rows(connection, make_terms))
            findings.append(Finding("index", not stale, f"{stale} stale index rows", True))
            bad = sum(1 for _ in _bad_vectors(connection))
            findings.append(Finding("numbers", not bad, f"{bad} unusable vectors", True))
            dead = connection.execute("SELECT count(*) FROM jobs WHERE state = 'dead'").get
            detail = f"{dead} dead letters" + ("; see `recollect jobs`" if dead else "")
            findings.append(Finding("dead letters", not dead, detail))
        return findings

    def use_terms(self, version: int, make_terms: MakeTerms) -> int:
        with self._pool.reader() as connection:
            made_with = connection.execute("SELECT version FROM recipes WHERE name = 'terms'").get
        if made_with == version:
            return 0
        changed = self._index_anew(make_terms)
        self._writer.run(
            lambda connection: connection.execute(
                "INSERT INTO recipes (name, version) VALUES ('terms', ?)"
                " ON CONFLICT (name) DO UPDATE SET version = excluded.version",
                (version,),
            )
        )
        return changed

    def _index_anew(self, make_terms: MakeTerms) -> int:
        with self._pool.snapshot() as connection:
            stale = list(_stale_rows(connection, make_terms))
        for some in chunks(stale, _ROWS_AT_ONCE):
            self._writer.run(_index_rows(some))
        return len(stale)

    def rebuild(self, make_terms: MakeTerms, *, steps: Sequence[str]) -> int:
        mended = self._writer.run(_mend_rows)
        reindexed = self._index_anew(make_terms)
        with self._pool.snapshot() as connection:
            bad = list(_bad_vectors(connection))
        for some_bad in chunks(bad, _ROWS_AT_ONCE):
            self._writer.run(_without_vectors(some_bad))
        queued = self._writer.run(lambda connection: queue_missing(connection, steps))
        return mended + reindexed + len(bad) + queued


def _library() -> Finding:
    have = apsw.sqlite_lib_version()
    ok = tuple(int(part) for part in have.split(".")) >= OLDEST_SAFE_SQLITE
    return Finding("library", ok, f"SQLite {have}")


def _integrity(connection: apsw.Connection) -> Finding:
    rows = connection.execute("PRAGMA integrity_check").fetchall()
    rows += connection.execute("PRAGMA foreign_key_check").fetchall()
    ok = rows == [("ok",)]
    detail = "the file is sound" if ok else "; ".join(str(row) for row in rows[:3])
    return Finding("integrity", ok, detail)


def _stale_rows(
    connection: apsw.Connection, make_terms: MakeTerms
) -> Iterator[tuple[bytes, int, str, int, bytes]]:
    """(terms, length, kind, owner, id) of records that differ from what their text gives."""
    columns = ", ".join("e." + column for column in EVENT.split(", "))
    rows = connection.execute(
        f"SELECT e.owner, r.terms, r.length, r.kind, {columns}"
        " FROM events e JOIN records r ON r.owner = e.owner AND r.id = e.id"
    )
    for owner, terms, length, kind, *event in rows:
        fresh = make_terms(to_event(event))
        if fresh != (terms, length, kind):
            yield (*fresh, owner, event[0])


def _bad_vectors(connection: apsw.Connection) -> Iterator[tuple[int, bytes]]:
    """(owner, record) of vectors of the wrong size, not finite, or not of unit length."""
    rows = connection.execute(
        "SELECT v.owner, v.record, v.data, s.dim FROM vectors v JOIN spaces s ON s.id = v.space"
    )
    for owner, record, data, dim in rows:
        vector = np.frombuffer(data, dtype="<f4") if len(data) == 4 * dim else None
        if vector is None or not abs(float(np.linalg.norm(vector)) - 1.0) < 1e-3:
            yield owner, record


def _mend_rows(connection: apsw.Connection) -> int:
    """Records from events, visibility from the journal, and no derived row without its source."""
    before = connection.total_changes()
    connection.execute(
        "INSERT INTO records (owner, id, change, tier, kind, valid_from, known_from, confidence,"
        " origin, length, terms) SELECT owner, id, 0, 'session', 'turn', at, known_at, 1.0, origin,"
        " 0, x'' FROM events e WHERE NOT EXISTS"
        " (SELECT 1 FROM records r WHERE r.owner = e.owner AND r.id = e.id)"
    )
    for table, column in (("vectors", "record"), ("jobs", "subject")):
        connection.execute(
            f"DELETE FROM {table} WHERE NOT EXISTS (SELECT 1 FROM events e"
            f" WHERE e.owner = {table}.owner AND e.id = {table}.{column})"
        )
    connection.execute(
        "DELETE FROM vectors WHERE NOT EXISTS"
        " (SELECT 1 FROM spaces s WHERE s.id = vectors.space AND s.state != 'retired')"
    )
    connection.execute(
        "DELETE FROM records WHERE NOT EXISTS"
        " (SELECT 1 FROM events e WHERE e.owner = records.owner AND e.id = records.id)"
    )
    connection.execute(
        "UPDATE records SET forgotten_at = (SELECT CASE action WHEN 'forgotten' THEN at END"
        " FROM journal j WHERE j.owner = records.owner AND j.record = records.id"
        " ORDER BY change DESC LIMIT 1) WHERE (forgotten_at IS NOT NULL) != coalesce("
        " (SELECT action = 'forgotten' FROM journal j WHERE j.owner = records.owner"
        "  AND j.record = records.id ORDER BY change DESC LIMIT 1), 0)"
    )
    mended = connection.total_changes() - before
    if mended:
        # Whoever follows the feed must start over.
        connection.execute("UPDATE owners SET epoch = epoch + 1")
    return mended


def _index_rows(
    rows: Sequence[tuple[bytes, int, str, int, bytes]],
) -> Callable[[apsw.Connection], None]:
    def work(connection: apsw.Connection) -> None:
        for terms, length, kind, owner, record in rows:
            change = next_changes(connection, owner, 1)
            connection.execute(
                "UPDATE records SET terms = ?, length = ?, kind = ?, change = ?"
                " WHERE owner = ? AND id = ?",
                (terms, length, kind, change, owner, record),
            )
        owners = {(row[3],) for row in rows}
        connection.executemany("UPDATE owners SET epoch = epoch + 1 WHERE owner = ?", owners)

    return work


def _without_vectors(rows: Sequence[tuple[int, bytes]]) -> Callable[[apsw.Connection], None]:
    def work(connection: apsw.Connection) -> None:
        connection.executemany("DELETE FROM vectors WHERE owner = ? AND record = ?", rows)
        owners = {(owner,) for owner, _ in rows}
        connection.executemany("UPDATE owners SET epoch = epoch + 1 WHERE owner = ?", owners)

    return work
