"""What the search indexes follow: changes of records, and their vectors."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from operator import itemgetter
from typing import Any, TypeVar

from holdfast.errors import Overtaken
from holdfast.store.protocols import (
    FOREVER_US,
    KEPT_FEED,
    KEPT_SKETCHES,
    Change,
    Head,
    KeptIndex,
    Space,
    Vector,
    VectorRows,
    spans,
)
from holdfast.store.sql.engine import (
    JOB_NUMBER,
    SILENT,
    Connection,
    StorePart,
    chunks,
    marks,
    owner_of,
)
from holdfast.types import Scope

T = TypeVar("T")
Found = TypeVar("Found")

#: Rows removed per transaction when a space is retired, so that writers are not held up.
_PURGE = 500
#: Change numbers of which the vectors are read at a time: 3 MB.
_NUMBERS_AT_ONCE = 2_048
#: Pieces of what an index wrote down that are read at a time: so many megabytes.
_PIECES_AT_ONCE = 64
#: An index row of a torn length would shift those of all others; doctor calls it stale.
#: (8 bytes of term id and 1 of count, each.)
_WHOLE = "length(r.terms) % 9 = 0"
TURNS = (
    "SELECT r.change, lower(hex(r.id)), r.kind, r.forgotten_at IS NOT NULL, e.arrival,"
    " r.valid_from, r.known_from, e.role, e.name, e.agent, e.session, r.origin, r.length,"
    " r.terms"
    " FROM records r JOIN events e ON e.owner = r.owner AND e.id = r.id"
    " WHERE r.owner = ? AND r.change > ? AND r.change <= ?"
    " AND r.valid_to IS NULL AND r.known_to IS NULL"
    " AND r.confidence = 1.0 AND r.seen IS NULL AND r.archived IS NULL AND r.visibility IS NULL"
    f" AND {_WHOLE} ORDER BY r.change"
)
#: What all of those have in common: asking for it 100,000 times would cost a tenth of the load.
_OF_TURNS = ("session", FOREVER_US, FOREVER_US, 1.0, None)
_KNOWN = Change._fields.index("known_us")
_UNTOUCHED = (-1.0, 0, False, False)
_OWN = ", ".join(
    f"iif(r.tier = 'session', e.{column}, r.{column})"
    for column in ("role", "name", "agent", "session")
)
# The index is named: without statistics SQLite may go through all turns to find the few others.
OTHERS = (
    "SELECT r.change, lower(hex(r.id)), r.kind, r.forgotten_at IS NOT NULL,"
    " coalesce(r.arrival, e.arrival), r.valid_from, coalesce(r.said_from, r.known_from),"
    f" {_OWN}, r.origin, r.length, r.terms, r.tier, coalesce(r.valid_to, {FOREVER_US}),"
    f" coalesce(r.known_to, {FOREVER_US}), r.confidence,"
    " nullif(lower(hex(substr(r.sources, 1, 16))), ''), coalesce(r.seen, r.known_from),"
    " coalesce(r.strength, -1.0), r.quiet, r.archived IS NOT NULL,"
    " coalesce(r.visibility, '') = 'agent_only'"
    " FROM records r INDEXED BY records_other"
    " LEFT JOIN events e ON e.owner = r.owner AND e.id = r.id"
    " WHERE r.owner = ? AND r.change > ? AND r.change <= ?"
    " AND (r.tier != 'session' OR r.valid_to IS NOT NULL"
    " OR r.known_to IS NOT NULL OR r.confidence != 1.0 OR r.seen IS NOT NULL"
    " OR r.archived IS NOT NULL)"
    f" AND (r.content IS NOT NULL OR e.id IS NOT NULL) AND {_WHOLE} ORDER BY r.change"
)


VECTORS = (
    "SELECT change, lower(hex(record)), passage, digest, data FROM vectors"
    " WHERE owner = ? AND space = ?"
)


#: One who is not there begins with the epoch that nobody erased ever had.
HEAD = "coalesce(o.epoch, c.value, 0), coalesce(o.change, 0)"
FIRST_EPOCH = " LEFT JOIN counters c ON c.name = 'epoch'"
_HEAD = (
    f"SELECT {HEAD} FROM (SELECT 1) AS one"
    f" LEFT JOIN owners o ON o.workspace = ? AND o.user = ?{FIRST_EPOCH}"
)


class SqlFeed(StorePart):
    """`Feed`."""

    def head(self, scope: Scope) -> Head:
        with self._pool.reader() as connection:
            connection.narrow(scope)
            owner = (scope.workspace, scope.user)
            return connection.until_written(
                ("head", *owner), lambda: Head(*connection.execute(_HEAD, owner).fetchone())
            )

    @contextmanager
    def unless_changed(self, scope: Scope, head: Head) -> Iterator[None]:
        def check(connection: Connection) -> None:
            owner_of(connection, scope)  # From here on nobody else changes it.
            row = connection.execute(_HEAD, (scope.workspace, scope.user)).fetchone()
            if Head(*row) != head:
                raise Overtaken

        with self._writer.provided(check):
            yield

    def changes(self, scope: Scope, *, after: int, until: int = FOREVER_US) -> list[Change]:
        with self._pool.snapshot() as connection:
            values = (owner_of(connection, scope), after, until)
            return as_changes(connection.many(TURNS, values), connection.many(OTHERS, values))

    def vectors(
        self,
        scope: Scope,
        space: int,
        *,
        after: int = 0,
        digests: Collection[bytes] | None = None,
    ) -> list[Vector]:
        with self._pool.snapshot() as connection:
            owner = owner_of(connection, scope)
            if digests is None:
                sql = f"{VECTORS} AND change > ? ORDER BY change, passage"
                return list(map(Vector._make, connection.many(sql, (owner, space, after))))
            found: list[Vector] = []
            for some in chunks(list(digests)):
                # By its digest, whatever the number: an index has the digests.
                sql = f"{VECTORS} AND digest IN ({marks(len(some))}) AND +change > ?"
                rows = connection.execute(sql, (owner, space, *some, after))
                found += map(Vector._make, rows)
        return sorted(found, key=lambda each: (each.change, each.passage))

    def vector_rows(
        self, scope: Scope, space: int, *, after: int, until: int
    ) -> Iterator[VectorRows]:
        def read(span: tuple[int, int]) -> VectorRows:
            with self._pool.snapshot() as connection:
                return _vector_rows(connection, scope, space, span)

        return self._one_by_one(read, spans(after, until, _NUMBERS_AT_ONCE))

    def _one_by_one(self, read: Callable[[T], Found], asked: Sequence[T]) -> Iterator[Found]:
        """What is read for each."""
        return map(read, asked)

    def kept_index(self, scope: Scope, *, what: int = KEPT_FEED) -> KeptIndex | None:
        with self._pool.snapshot() as connection:
            owner = owner_of(connection, scope)
            # Of another epoch: by a program that knew nothing of what is kept.
            found = connection.execute(
                "SELECT k.change, (SELECT max(piece) FROM kept_index WHERE owner = k.owner"
                " AND piece BETWEEN ? AND ?) FROM kept_index k JOIN owners o ON o.owner = k.owner"
                " WHERE k.owner = ? AND k.piece = ? AND k.epoch = o.epoch AND k.change <= o.change",
                (what, _last_piece(what), owner, what),
            ).fetchone()
            if found is None:
                return None
            pieces: list[bytes] = []
            for first in range(what, found[1] + 1, _PIECES_AT_ONCE):
                rows = connection.execute(
                    "SELECT data FROM kept_index WHERE owner = ? AND piece BETWEEN ? AND ?"
                    " ORDER BY piece",
                    (owner, first, min(first + _PIECES_AT_ONCE - 1, found[1])),
                )
                pieces += [row[0] for row in rows]
            return KeptIndex(found[0], pieces)

    def keep_index(
        self, scope: Scope, head: Head, pieces: Sequence[bytes], *, what: int = KEPT_FEED
    ) -> bool:
        return self._writer.run(lambda c: _keep_index(c, scope, head, pieces, what))

    def spaces(self) -> list[Space]:
        with self._pool.reader() as connection:
            rows = connection.execute(
                "SELECT id, model, dim, recipe, state FROM spaces ORDER BY id"
            )
            return [Space(*row) for row in rows]

    def use_space(self, model: str, dim: int, recipe: int) -> Space:
        spaces = self.spaces()
        for space in spaces:
            same = (space.model, space.recipe) == (model, recipe) and dim in (space.dim, 0)
            if same and space.state != "retired":
                if space.state == "active" and any(s.state == "building" for s in spaces):
                    self._back_to(space)
                return space
        return self._writer.run(lambda c: _make_space(c, model, dim, recipe), alone=True)

    def _back_to(self, space: Space) -> None:
        """A change of model was given up half-way: the space in use is used again."""
        unfinished = self._writer.run(_retire_unfinished, alone=True)
        self._purge(unfinished)
        self._writer.run(lambda c: queue_missing(c, [f"embed:{space.id}"]), alone=True)

    def _purge(self, spaces: list[int]) -> None:
        left = len(spaces)
        while left:
            left = self._writer.run(lambda c: _purge_some(c, spaces))

    def promote(self, space: int) -> bool:
        # Asked again and again while a space is built: nobody is kept waiting for a look.
        with self._pool.reader() as connection:
            if _unfinished(connection, space):
                return False
        replaced = self._writer.run(lambda c: _promote(c, space), alone=True)
        self._purge(replaced or [])
        return replaced is not None


def as_changes(turns: Sequence[Any], others: Sequence[Any]) -> list[Change]:
    """What `TURNS` and `OTHERS` gave, in the order of change."""
    # Not `_make`, which counts the fields of each: that would take a tenth longer.
    new = tuple.__new__
    changes = [new(Change, row + _OF_TURNS + (row[_KNOWN],) + _UNTOUCHED) for row in turns]
    changes += map(Change._make, others)
    return sorted(changes, key=itemgetter(0)) if others else changes


def _vector_rows(
    connection: Connection, scope: Scope, space: int, span: tuple[int, int]
) -> VectorRows:
    values = (owner_of(connection, scope), space, *span)
    which = "owner = ? AND space = ? AND change > ? AND change <= ?"
    # One of a torn length would shift all that come after it; doctor calls it unusable.
    size = (
        "(SELECT coalesce(nullif(4 * s.dim, 0), (SELECT length(data) FROM vectors"
        f" WHERE {which} ORDER BY change LIMIT 1)) FROM spaces s WHERE s.id = ?)"
    )
    records, data = connection.joined(
        ("record", "data"),
        f"vectors WHERE {which} AND length(data) = {size} AND length(record) = 16",
        (*values, *values, space),
        order=("change", "passage"),
    )
    return VectorRows(records, data, span[1])


def _last_piece(what: int) -> int:
    return what + KEPT_SKETCHES - 1


def _keep_index(
    connection: Connection, scope: Scope, head: Head, pieces: Sequence[bytes], what: int
) -> bool:
    owner = owner_of(connection, scope)
    is_new = connection.execute(
        "SELECT 1 FROM owners o WHERE o.owner = ? AND o.epoch = ? AND o.change >= ? AND NOT EXISTS"
        " (SELECT 1 FROM kept_index k WHERE k.owner = o.owner AND k.piece = ?"
        "  AND k.epoch = o.epoch AND k.change >= ?)",
        (owner, head.epoch, head.change, what, head.change),
    ).get
    if not is_new:
        return False
    connection.execute(
        "DELETE FROM kept_index WHERE owner = ? AND piece BETWEEN ? AND ?",
        (owner, what, _last_piece(what)),
    )
    for piece, data in enumerate(pieces, start=what):
        connection.execute(
            "INSERT INTO kept_index (owner, piece, epoch, change, data) VALUES (?, ?, ?, ?, ?)",
            (owner, piece, head.epoch, head.change, data),
        )
    return True


def queue_missing(connection: Connection, steps: Sequence[str]) -> int:
    """One job per step of a vector space for every document that has no vector there; how many.

    Whether other steps were done nobody can tell: a finished job leaves no trace.
    """
    total = 0
    for step in (each for each in steps if each.startswith("embed:")):
        connection.execute(
            "INSERT INTO jobs (id, owner, subject, step, due) SELECT"
            f" {JOB_NUMBER.format(order='r.owner, r.change')}, r.owner, r.id, CAST(? AS TEXT), 0"
            " FROM records r WHERE NOT EXISTS (SELECT 1 FROM vectors v WHERE v.owner = r.owner"
            f" AND v.space = ? AND v.record = r.id) AND NOT {SILENT} ORDER BY r.owner, r.change"
            " ON CONFLICT (owner, subject, step) DO NOTHING",
            (*connection.job_ids(1), step, int(step.split(":")[1])),
        )
        total += connection.changes()
    return total


def _make_space(connection: Connection, model: str, dim: int, recipe: int) -> Space:
    connection.execute(
        "UPDATE spaces SET dim = ? WHERE model = ? AND dim = 0 AND recipe = ? AND NOT EXISTS"
        " (SELECT 1 FROM spaces s WHERE s.model = ? AND s.dim = ? AND s.recipe = ?)",
        (dim, model, recipe, model, dim, recipe),
    )
    active = connection.execute(
        "SELECT count(*) FROM spaces WHERE state = 'active'"
        " AND NOT (model = ? AND dim = ? AND recipe = ?)",
        (model, dim, recipe),
    ).get
    state = "building" if active else "active"
    row: Any = connection.execute(
        "INSERT INTO spaces (id, model, dim, recipe, state)"
        " VALUES ((SELECT coalesce(max(id), 0) + 1 FROM spaces), ?, ?, ?, ?)"
        " ON CONFLICT (model, dim, recipe) DO UPDATE SET"
        " state = iif(spaces.state IN ('building', 'active'), spaces.state, excluded.state)"
        " RETURNING id, state",
        (model, dim, recipe, state),
    ).fetchone()
    queue_missing(connection, [f"embed:{row[0]}"])
    return Space(row[0], model, dim, recipe, row[1])


def _promote(connection: Connection, space: int) -> list[int] | None:
    """Make a space active; the spaces it replaces, or None when it is not ready."""
    state = connection.execute("SELECT state FROM spaces WHERE id = ?", (space,)).get
    if state == "active":
        return []
    if state != "building":
        return None
    # A process that still uses the old model queued its turns for that alone.
    queue_missing(connection, [f"embed:{space}"])
    if _unfinished(connection, space):
        return None
    old = [row[0] for row in connection.execute("SELECT id FROM spaces WHERE state = 'active'")]
    connection.execute("UPDATE spaces SET state = 'retired' WHERE state = 'active'")
    connection.execute("UPDATE spaces SET state = 'active' WHERE id = ?", (space,))
    _drop_jobs(connection, old)
    return old


def _unfinished(connection: Connection, space: int) -> bool:
    """Whether something is still to be embedded for a space."""
    return any(
        connection.execute(
            "SELECT 1 FROM jobs WHERE state = ? AND step = ? LIMIT 1", (state, f"embed:{space}")
        ).get
        for state in ("ready", "running")
    )


def _retire_unfinished(connection: Connection) -> list[int]:
    """Retire every space that is being built; which."""
    rows = connection.execute("SELECT id FROM spaces WHERE state = 'building'")
    spaces: list[int] = [row[0] for row in rows]
    connection.execute("UPDATE spaces SET state = 'retired' WHERE state = 'building'")
    _drop_jobs(connection, spaces)
    return spaces


def _drop_jobs(connection: Connection, spaces: list[int]) -> None:
    steps = [f"embed:{each}" for each in spaces]
    connection.execute(f"DELETE FROM jobs WHERE step IN ({marks(len(steps))})", steps)


def _purge_some(connection: Connection, spaces: list[int]) -> int:
    connection.execute(
        "DELETE FROM vectors WHERE (owner, space, record, passage) IN"
        " (SELECT owner, space, record, passage FROM vectors"
        f" WHERE space IN ({marks(len(spaces))}) LIMIT {_PURGE})",
        spaces,
    )
    return connection.changes()
