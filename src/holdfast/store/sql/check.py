"""Doctor: every invariant of the file. How what is derived is mended: repair.py."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial

from holdfast.errors import StoreError
from holdfast.store.protocols import Derive
from holdfast.store.sql.audit import verified_chains
from holdfast.store.sql.engine import (
    SILENT,
    Connection,
    StorePart,
    chunks,
)
from holdfast.store.sql.feed import queue_missing
from holdfast.store.sql.repair import (
    WHO_SEES,
    add_missing,
    bad_vectors,
    count_aside,
    differences,
    find_damage,
    index_rows,
    mend_rows,
    misfiled,
    set_damage_aside,
    untraced_records,
    without_vectors,
)
from holdfast.types import Finding

_ROWS_AT_ONCE = 500
#: In `recipes` of a store that is being filled from another: see copy.py.
FILLING = "filling"
#: More damaged rows than this are counted, not named.
_NAMED_ROWS = 20
#: Whose word counts as the user's.
_BY_USER = "('user', 'user_confirmed')"

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
        "SELECT count(*) FROM records r WHERE r.tier = 'session' AND NOT EXISTS"
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
        "SELECT count(*) FROM records r JOIN spaces s ON s.state = 'active' AND"
        f" NOT {SILENT} AND NOT EXISTS"
        " (SELECT 1 FROM spaces b WHERE b.state = 'building') WHERE NOT EXISTS"
        " (SELECT 1 FROM vectors v WHERE v.owner = r.owner AND v.space = s.id AND v.record = r.id)"
        " AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.owner = r.owner AND j.subject = r.id"
        " AND j.step = 'embed:' || s.id)",
        True,
    ),
    (
        "heard",
        "records that are only heard or listed and have a vector or a job",
        f"SELECT count(*) FROM records r WHERE {SILENT} AND (EXISTS"
        " (SELECT 1 FROM jobs j WHERE j.owner = r.owner AND j.subject = r.id) OR EXISTS"
        " (SELECT 1 FROM spaces s JOIN vectors v ON v.owner = r.owner AND v.space = s.id"
        "  AND v.record = r.id))",
        True,
    ),
    (
        "seen",
        "records seen before they were known, or touched and never seen",
        "SELECT count(*) FROM records WHERE seen < known_from"
        " OR (strength IS NOT NULL AND seen IS NULL)",
        True,
    ),
    (
        "private",
        "turns that are seen by others than their event says",
        "SELECT count(*) FROM records r JOIN events e ON e.owner = r.owner AND e.id = r.id"
        f" WHERE r.tier = 'session' AND (r.visibility IS DISTINCT FROM {WHO_SEES}"
        " OR (r.visibility IS NOT NULL AND r.seen IS NULL))",
        True,
    ),
    (
        "conversations",
        "jobs that are not filed under their turn's conversation",
        f"SELECT count(*) FROM jobs j WHERE {misfiled('j')}",
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
        "  AND action IN ('forgotten', 'restored') ORDER BY change DESC LIMIT 1), FALSE)",
        True,
    ),
    (
        "archive",
        "records put aside, or not, against their journal",
        "SELECT count(*) FROM records r WHERE (r.archived IS NOT NULL) != coalesce("
        " (SELECT action = 'archived' FROM journal j WHERE j.owner = r.owner AND j.record = r.id"
        "  AND action IN ('archived', 'unarchived') ORDER BY change DESC LIMIT 1), FALSE)",
        True,
    ),
    (
        "shares",
        "shares that nobody granted",
        "SELECT count(*) FROM shares s WHERE NOT EXISTS"
        " (SELECT 1 FROM owners o WHERE o.owner = s.owner)",
        True,
    ),
    (
        "provenance",
        "traces that lead to no event or no record",
        "SELECT count(*) FROM provenance p WHERE NOT EXISTS"
        " (SELECT 1 FROM events e WHERE e.owner = p.owner AND e.id = p.event) OR NOT EXISTS"
        " (SELECT 1 FROM records r WHERE r.owner = p.owner AND r.id = p.record)",
        True,
    ),
    (
        "times",
        "records that end before they begin",
        "SELECT count(*) FROM records WHERE valid_to < valid_from",
        False,
    ),
    (
        "authority",
        "instructions that no user gave",
        "SELECT count(*) FROM records r WHERE r.tier = 'procedure' AND r.kind = 'instruction'"
        f" AND (r.origin NOT IN {_BY_USER} OR EXISTS (SELECT 1 FROM provenance p JOIN events e"
        " ON e.owner = p.owner AND e.id = p.event WHERE p.owner = r.owner AND p.record = r.id"
        f" AND e.origin NOT IN {_BY_USER}))",
        False,
    ),
    (
        "identity",
        "facts of who the user is or must have that no user stated",
        "SELECT count(*) FROM records WHERE tier = 'fact' AND kind IN ('identity', 'constraint')"
        f" AND origin NOT IN {_BY_USER}",
        False,
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


class SqlCheck(StorePart):
    """The checking half of `Upkeep`."""

    @abstractmethod
    def _engine(self, connection: Connection) -> list[Finding]:
        """What is to be said of the engine itself."""

    def _mend_engine(self, connection: Connection) -> int:
        """Make right what is wrong below the rows."""
        return 0

    def check(self, derive: Derive) -> list[Finding]:
        with self._pool.snapshot() as connection:
            findings = self._engine(connection)
            findings += self._look(connection, "rows", lambda: [_rows(connection)])
            for name, what, sql, repairable in _MUST_BE_ZERO:
                findings += self._look(
                    connection, name, partial(_zero, connection, name, what, sql, repairable)
                )
            findings += self._look(connection, "index", lambda: _derived(connection, derive))
            findings += self._look(connection, "audit", lambda: [_audit(connection)])
            findings += self._look(connection, "dead letters", lambda: [_dead(connection)])
        return findings

    def _look(
        self, connection: Connection, name: str, look: Callable[[], list[Finding]]
    ) -> list[Finding]:
        """What a look gives; of a part of the store that cannot be read, that. The others are still
        looked at."""
        connection.execute("SAVEPOINT look")
        try:
            return look()
        except self._errors as error:
            connection.execute("ROLLBACK TO look")
            return [Finding(name, False, f"this cannot be looked at: {error}")]

    def _use_terms(self, version: int, derive: Derive) -> int:
        with self._pool.reader() as connection:
            recipes = dict(connection.execute("SELECT name, version FROM recipes"))
        if FILLING in recipes:
            raise StoreError(
                f"{self._path} is the copy of another store and not finished: run"
                " `holdfast migrate SOURCE TARGET --finish`"
            )
        made_with = recipes.get("terms")
        if made_with == version:
            return 0
        changed = self._derive_anew(derive)
        self._writer.run(
            lambda connection: connection.execute(
                "INSERT INTO recipes (name, version) VALUES ('terms', ?)"
                " ON CONFLICT (name) DO UPDATE SET version = excluded.version",
                (version,),
            )
        )
        return changed

    def _derive_anew(self, derive: Derive) -> int:
        with self._pool.snapshot() as connection:
            seen = differences(connection, derive)
        for stale in chunks(seen.stale, _ROWS_AT_ONCE):
            self._writer.run(index_rows(stale), alone=True)
        for missing in chunks(seen.missing, _ROWS_AT_ONCE):
            self._writer.run(add_missing(missing), alone=True)
        return len(seen.stale) + len(seen.missing)

    def rebuild(
        self, derive: Derive, *, steps: Sequence[str] = (), terms: int | None = None
    ) -> int:
        if terms is not None:
            return self._use_terms(terms, derive)
        mended = self._writer.run(self._mend_engine, alone=True)
        mended += self._writer.run(set_damage_aside, alone=True)
        mended += self._writer.run(mend_rows, alone=True)
        self._pool.unread.clear()
        derived = self._derive_anew(derive)
        with self._pool.snapshot() as connection:
            bad = bad_vectors(connection)
        for some_bad in chunks(bad, _ROWS_AT_ONCE):
            self._writer.run(without_vectors(some_bad), alone=True)
        queued = self._writer.run(lambda c: queue_missing(c, steps), alone=True)
        return mended + derived + len(bad) + queued


def _zero(
    connection: Connection, name: str, what: str, sql: str, repairable: bool
) -> list[Finding]:
    count = connection.execute(sql).get
    return [Finding(name, not count, f"{count} {what}", repairable)]


def _rows(connection: Connection) -> Finding:
    found = list(find_damage(connection))
    aside = count_aside(connection)
    detail = f"{len(found)} damaged rows"
    detail += "".join(f"; {each}" for each in found[:_NAMED_ROWS])
    detail += f"; and {len(found) - _NAMED_ROWS} more" if len(found) > _NAMED_ROWS else ""
    detail += f" ({aside} were set aside, in the table set_aside)" if aside else ""
    return Finding("rows", not found, detail, True)


def _derived(connection: Connection, derive: Derive) -> list[Finding]:
    seen = differences(connection, derive)
    return [
        Finding(name, not count, f"{count} {what}", True)
        for name, count, what in (
            (
                "sources",
                len(untraced_records(connection)),
                "derived records not traced to their sources",
            ),
            ("index", len(seen.stale), "stale index rows"),
            ("derived", len(seen.missing), "derived records missing"),
            ("numbers", len(bad_vectors(connection)), "unusable vectors"),
        )
    ]


def _dead(connection: Connection) -> Finding:
    dead = connection.execute("SELECT count(*) FROM jobs WHERE state = 'dead'").get
    detail = f"{dead} dead letters" + ("; see `holdfast jobs`" if dead else "")
    return Finding("dead letters", not dead, detail)


def _audit(connection: Connection) -> Finding:
    lines = [each.broken_at for each in verified_chains(connection) if each.broken_at is not None]
    detail = f"it breaks at line {lines[0]}" if lines else "the chain holds"
    return Finding("audit", not lines, detail)
