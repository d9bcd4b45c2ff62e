"""Owners who are too large to be held in memory: tables by which their documents are found.

`candidates` has the terms of each document, `nearest` its vectors (pgvector), `frequencies` how
often each term occurs. Workers bring them up to date from the feed of changes; a search reads what
was written since from the feed itself, and every document from `records`, so that nothing here
decides what is true, only what is looked at. An index of vectors that is shared loses most of what
a filter lets through: each owner has indexes of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import psycopg
from numpy.typing import NDArray

from holdfast.settings import Index
from holdfast.store.postgres.connection import (
    PostgresConnection,
    PostgresPool,
    PostgresRows,
    owner_number,
    to_store_error,
)
from holdfast.store.protocols import LargeReader
from holdfast.store.sql.chores import SqlChores
from holdfast.store.sql.engine import SILENT, Connection, owner_of
from holdfast.store.sql.feed import OTHERS, TURNS, as_changes
from holdfast.store.values import (
    Change,
    Counted,
    DocumentRows,
    Frequency,
    LargeOwner,
    Narrowed,
    SignRows,
    Space,
    Spot,
    VectorRows,
)
from holdfast.types import Scope

#: Changes and vectors taken in by one transaction.
_AT_ONCE = 10_000
#: So many changes are worth a round: until then searches load them themselves.
_WORTH = 2_000
#: What an index of vectors is built with; a server sets less for all other work.
_BUILD_MEMORY = "2GB"
#: Of a question that narrows: up to so many documents are compared one by one; of more, the index
#: is gone through as far as this to find those that fit.
_COMPARED = 20_000
_LOOKED_THROUGH = 100_000
#: Roles whose turns are not a person's.
_MACHINES = frozenset({"assistant", "system", "tool"})
#: How far a window of turns reaches, and what a neighbour's words count in it (recall/sources).
_REACH = 2
_BESIDE_SHARES = (0.7, 0.49)

#: As for all that reads a few rows by their keys, and never a whole table.
_BY_KEYS = (
    "SELECT set_config('enable_hashjoin', 'off', true), set_config('enable_seqscan', 'off', true),"
    " set_config('enable_mergejoin', 'off', true)"
)
_NEW = (
    "SELECT r.change, r.id, r.terms, r.length, r.tier, coalesce(e.role, r.role, ''),"
    " coalesce(e.session, r.session, ''), coalesce(e.arrival, r.arrival, 0)"
    f" FROM records r LEFT JOIN events e ON e.owner = r.owner AND e.id = r.id"
    f" WHERE r.owner = ? AND r.change > ? AND NOT {SILENT} AND length(r.terms) % 9 = 0"
    f" ORDER BY r.change LIMIT {_AT_ONCE}"
)
_TAKE_IN = (
    "INSERT INTO candidates (owner, record, tier, kind, agent, session, role, name, at, arrival,"
    " length, terms) SELECT r.owner, r.id, r.tier, r.kind, coalesce(e.agent, r.agent),"
    " coalesce(e.session, r.session, ''), coalesce(e.role, r.role), coalesce(e.name, r.name),"
    " r.valid_from, coalesce(e.arrival, r.arrival, 0), r.length, CAST(n.terms AS bigint[])"
    " FROM unnest(CAST(? AS bytea[]), CAST(? AS text[])) AS n (id, terms)"
    " JOIN records r ON r.owner = ? AND r.id = n.id"
    " LEFT JOIN events e ON e.owner = r.owner AND e.id = r.id"
)
_COUNT_IN = (
    "INSERT INTO frequencies (owner, term, documents, people, windows, sessions)"
    " SELECT ?, * FROM unnest(CAST(? AS bigint[]), CAST(? AS int[]), CAST(? AS int[]),"
    " CAST(? AS int[]), CAST(? AS int[]))"
    " ON CONFLICT (owner, term) DO UPDATE SET documents = frequencies.documents"
    " + excluded.documents, people = frequencies.people + excluded.people,"
    " windows = frequencies.windows + excluded.windows,"
    " sessions = frequencies.sessions + excluded.sessions"
)
_TURNS_OF, _OTHERS_OF = (
    sql.replace("r.change > ? AND r.change <= ?", "r.id = ANY(CAST(? AS bytea[]))")
    for sql in (TURNS, OTHERS)
)
#: What is sketched of documents, as bytes (`DocumentRows`).
_DOCUMENTS = (
    "SELECT r.change, r.id AS record, int8send(hashtextextended(c.session, 0)) AS session,"
    " int8send(c.arrival) AS arrival, int4send(r.length) AS length, int2send(CAST("
    "CASE WHEN c.tier = 'session' THEN 1 ELSE 0 END"
    f" + CASE WHEN c.tier = 'session' AND c.role IN ({', '.join(map(repr, sorted(_MACHINES)))})"
    " AND coalesce(c.name, '') = '' THEN 2 ELSE 0 END"
    " + CASE WHEN c.tier = 'graph' THEN 4 ELSE 0 END"
    " + CASE WHEN r.quiet > 0 THEN 8 ELSE 0 END AS smallint)) AS kind,"
    " int4send(length(r.terms)) AS size, r.terms FROM records r"
    " JOIN candidates c ON c.owner = r.owner AND c.record = r.id"
    " WHERE r.owner = ? AND r.change > ? AND r.change <= ? AND length(r.terms) % 9 = 0 OFFSET 0"
)
_SPOT = "c.record, c.session, c.arrival, c.length"
_TOTALS = (
    "documents", "words", "people", "people_words", "window_words", "sessions", "session_words",
)  # fmt: skip


class PostgresLargeOwners(SqlChores):
    """`LargeOwners` of the protocols."""

    _pool: PostgresPool
    #: Where pgvector is; None: it is not.
    _vector_schema: str | None

    def index_large(self, scope: Scope, space: Space, settings: Index) -> int:
        if self._vector_schema is None or not space.dim:
            return 0
        with self._pool.reader() as connection:
            connection.narrow(scope)
            state = _state(connection, scope)
        if state is None or state.turns <= settings.resident_memories:
            return 0
        if state.is_ready and state.head - state.change < _WORTH:
            return 0
        taken = 0
        while more := self._writer.run(lambda c: self._take_in(c, scope, space)):
            taken += more
        self._build(owner_number(scope), space, settings)
        self._writer.run(lambda c: _set_ready(c, scope, space.id))
        return taken

    def _take_in(self, connection: Connection, scope: Scope, space: Space) -> int:
        """The next documents and vectors; how many."""
        owner = owner_of(connection, scope)
        if owner is None:
            return 0
        connection.lock(f"large {owner}")
        state = _state(connection, scope)
        if state is None or state.space != space.id:
            _start_over(connection, owner, space.id)
            state = _state(connection, scope)
        assert state is not None
        documents = connection.execute(_NEW, (owner, state.change)).fetchall()
        if documents:
            _add_documents(connection, owner, [_NewDocument(*row) for row in documents])
        vectors = connection.execute(
            "SELECT v.change, v.record, v.passage, v.data, r.tier = 'graph' FROM vectors v"
            " JOIN records r ON r.owner = v.owner AND r.id = v.record"
            " WHERE v.owner = ? AND v.space = ? AND v.change > ? AND length(v.data) = ?"
            f" ORDER BY v.change, v.passage LIMIT {_AT_ONCE}",
            (owner, space.id, state.vector_change, 4 * space.dim),
        ).fetchall()
        if len(vectors) == _AT_ONCE:  # Passages of one change are not torn apart.
            whole = [row for row in vectors if row[0] != vectors[-1][0]]
            vectors = whole or vectors
        if vectors:
            self._add_vectors(connection, owner, space, vectors)
        connection.execute(
            "UPDATE large_owners SET change = ?, vector_change = ? WHERE owner = ?",
            (
                documents[-1][0] if documents else state.head,
                vectors[-1][0] if vectors else state.head,
                owner,
            ),
        )
        return len(documents) + len(vectors)

    def _add_vectors(
        self, connection: Connection, owner: int, space: Space, rows: Sequence[Any]
    ) -> None:
        assert isinstance(connection, PostgresConnection)
        connection.execute(
            "DELETE FROM nearest WHERE owner = ? AND space = ?"
            " AND record = ANY(CAST(? AS bytea[]))",
            (owner, space.id, _ids([row[1] for row in rows])),
        )
        # Row security refuses COPY: by way of a table of this transaction's own.
        connection.execute("CREATE TEMP TABLE taken (LIKE nearest) ON COMMIT DROP")
        connection.copy("taken", _as_copied(owner, space, rows))
        connection.execute("INSERT INTO nearest SELECT * FROM taken")

    def _build(self, owner: int, space: Space, settings: Index) -> None:
        """The indexes of one owner. Not by the writer: whoever must be alone would wait for it."""
        asked = (
            (False, settings.links, settings.build_effort),
            (True, settings.graph_links, settings.graph_build_effort),
        )
        with self._pool.lent() as raw:
            try:
                with raw.transaction():
                    raw.execute("SET LOCAL search_path = holdfast")
                    raw.execute(f"SET LOCAL maintenance_work_mem = '{_BUILD_MEMORY}'")
                    # Several at once end the server that we test with on ARM (PostgreSQL 18.4,
                    # pgvector 0.8.5), and so does an index of halfvec.
                    raw.execute("SET LOCAL max_parallel_maintenance_workers = 0")
                    raw.execute("SELECT index_terms(%s)", (owner,))
                    for is_graph, links, effort in asked:
                        raw.execute(
                            "SELECT index_nearest(%s, %s, %s, %s, %s, %s)",
                            (owner, space.id, space.dim, is_graph, links, effort),
                        )
            except psycopg.Error as error:
                raise to_store_error(error, self._path) from error

    def large_owner(self, scope: Scope, space: Space) -> LargeOwner | None:
        if self._vector_schema is None:
            return None
        with self._pool.reader() as connection:
            connection.narrow(scope)
            state = _state(connection, scope)
        if state is None or not state.is_ready or state.space != space.id:
            return None
        return state.counted(lambda: self._reader(scope, space))

    def erase(self, scope: Scope, *, at: datetime) -> dict[str, int]:
        """As of every owner; and nothing is left of what its documents were found by."""
        with self._pool.reader() as connection:
            connection.narrow(scope)
            row = "FROM large_owners WHERE owner = ?"
            was_large = connection.execute(f"SELECT 1 {row}", (owner_number(scope),)).get
        removed = super().erase(scope, at=at)
        if was_large:
            self._scrub(
                ("candidates", "frequencies", *(("nearest",) if self._vector_schema else ()))
            )
            # Only now: should that fail, another call does it.
            self._writer.run(
                lambda writing: writing.execute(f"DELETE {row}", (owner_number(scope),))
            )
        return removed

    @contextmanager
    def _reader(self, scope: Scope, space: Space) -> Iterator[PostgresLargeReader]:
        with self._pool.snapshot() as connection:
            connection.narrow(scope)
            connection.execute(_BY_KEYS)
            yield PostgresLargeReader(connection, scope, space, str(self._vector_schema))


class _IndexState(NamedTuple):
    turns: int
    head: int
    space: int
    change: int
    vector_change: int
    is_ready: bool
    totals: tuple[float, ...]

    def counted(self, reader: Callable[[], AbstractContextManager[LargeReader]]) -> LargeOwner:
        documents, words, people, people_words, window_words, sessions, session_words = self.totals
        return LargeOwner(
            self.change,
            self.vector_change,
            every=Counted(int(documents), words),
            people=Counted(int(people), people_words),
            windows=Counted(int(documents), window_words),
            sessions=Counted(int(sessions), session_words),
            reader=reader,
        )


def count_large(connection: Connection) -> tuple[int, int]:
    """How many owners are so large that the store names their documents, and how many of those
    documents there are."""
    owners, documents = connection.execute(
        "SELECT count(*), coalesce(sum(documents), 0)::bigint FROM large_owners WHERE is_ready"
    ).fetchone()
    return owners, documents


def _state(connection: Connection, scope: Scope) -> _IndexState | None:
    totals = ", ".join(f"coalesce(l.{name}, 0)" for name in _TOTALS)
    row = connection.execute(
        "SELECT o.arrival, o.change, coalesce(l.space, 0), coalesce(l.change, 0),"
        f" coalesce(l.vector_change, 0), coalesce(l.is_ready, FALSE), {totals}"
        " FROM owners o LEFT JOIN large_owners l ON l.owner = o.owner"
        " WHERE o.owner = ? AND o.workspace = ? AND o.user = ?",
        (owner_number(scope), scope.workspace, scope.user),
    ).fetchone()
    return None if row is None else _IndexState._make((*row[:6], tuple(row[6:])))


def _start_over(connection: Connection, owner: int, space: int) -> None:
    for table in ("candidates", "frequencies", "nearest", "large_owners"):
        connection.execute(f"DELETE FROM {table} WHERE owner = ?", (owner,))
    connection.execute("INSERT INTO large_owners (owner, space) VALUES (?, ?)", (owner, space))


def _set_ready(connection: Connection, scope: Scope, space: int) -> None:
    owner = owner_of(connection, scope)
    connection.execute(
        "UPDATE large_owners SET is_ready = TRUE WHERE owner = ? AND space = ? AND NOT is_ready",
        (owner, space),
    )


# ----------------------------------------------------------------------
# Taking in.
# ----------------------------------------------------------------------


class _NewDocument(NamedTuple):
    """A document that is taken in."""

    change: int
    id: bytes
    terms: bytes
    length: int
    tier: str
    role: str
    session: str
    arrival: int


_TERM = np.dtype([("id", "<i8"), ("count", "u1")])


def _add_documents(connection: Connection, owner: int, new: Sequence[_NewDocument]) -> None:
    ids = _ids([each.id for each in new])
    known = {
        row[0]
        for row in connection.execute(
            "DELETE FROM candidates WHERE owner = ? AND record = ANY(CAST(? AS bytea[]))"
            " RETURNING record",
            (owner, ids),
        )
    }
    terms = [np.frombuffer(each.terms, dtype=_TERM)["id"] for each in new]
    # Numbers alone: what holds no quotation marks needs none.
    texts = '{"' + '","'.join([_numbers(each.tolist()) for each in terms]) + '"}'
    connection.execute(_TAKE_IN, (ids, texts, owner))
    # What was there and only changed its times is counted already.
    fresh = [place for place, each in enumerate(new) if each.id not in known]
    sessions = {new[place].session for place in fresh if new[place].tier == "session"}
    old = {
        row[0]
        for row in connection.execute(
            "SELECT DISTINCT s FROM unnest(CAST(? AS text[])) AS s WHERE EXISTS (SELECT 1 FROM"
            " candidates c WHERE c.owner = ? AND c.session = s AND c.tier = 'session'"
            " AND NOT c.record = ANY(CAST(? AS bytea[])))",
            (sorted(sessions), owner, ids),
        )
    }
    _count_in(connection, owner, [new[i] for i in fresh], [terms[i] for i in fresh], old)


def _count_in(
    connection: Connection,
    owner: int,
    new: Sequence[_NewDocument],
    terms: Sequence[NDArray[np.int64]],
    old_sessions: set[str],
) -> None:
    """Add what these documents hold to the counts of their owner. Windows end where what is taken
    in at once ends, and a session that goes on is not counted again for its new words: both are
    rare, and a rarity is a logarithm."""
    if not new:
        return
    order = sorted(
        range(len(new)),
        key=lambda i: (new[i].tier != "session", new[i].session, new[i].arrival),
    )
    rows = _Rows.of([new[i] for i in order], old_sessions)
    every, of = np.unique(np.concatenate([terms[i] for i in order]), return_inverse=True)
    doc = np.repeat(np.arange(len(order)), [len(terms[i]) for i in order])
    connection.execute(
        _COUNT_IN,
        (owner, *map(_numbers, [every.tolist(), *(each.tolist() for each in rows.held(of, doc))])),
    )
    connection.execute(
        f"UPDATE large_owners SET {', '.join(f'{name} = {name} + ?' for name in _TOTALS)}"
        " WHERE owner = ?",
        (*rows.totals(), owner),
    )


class _Rows(NamedTuple):
    """Documents, turns beside their neighbours."""

    said: NDArray[np.bool_]
    people: NDArray[np.bool_]
    #: Turns of sessions that were not there.
    fresh: NDArray[np.bool_]
    lengths: NDArray[np.float64]
    session: NDArray[np.int64]
    place: NDArray[np.int64]

    @classmethod
    def of(cls, new: Sequence[_NewDocument], old_sessions: set[str]) -> _Rows:
        said = np.array([each.tier == "session" for each in new])
        names: dict[str, int] = {}
        session = np.array([names.setdefault(each.session, len(names)) for each in new])
        return cls(
            said=said,
            people=~said | np.array([each.role not in _MACHINES for each in new]),
            fresh=said & np.array([each.session not in old_sessions for each in new]),
            lengths=np.array([each.length for each in new], dtype=np.float64),
            session=session,
            place=_places(session, said),
        )

    def held(self, of: NDArray[np.int64], doc: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """In how many documents, documents of people, windows and sessions each term is; `of` and
        `doc`: which term each document has."""
        size = int(of.max(initial=-1)) + 1
        fresh = self.fresh[doc]
        return [
            np.bincount(of, minlength=size),
            np.bincount(of[self.people[doc]], minlength=size),
            _windows_with(of, self.place[doc], self.place, size),
            _sessions_with(of[fresh], self.session[doc[fresh]], size),
        ]

    def totals(self) -> list[float]:
        """As `_TOTALS`."""
        words = np.zeros(int(self.place[-1]) + 2 * _REACH + 1)
        words[self.place] = self.lengths
        windows = words[self.place].sum() + sum(
            share * words[self.place + side * step].sum()
            for step, share in enumerate(_BESIDE_SHARES, start=1)
            for side in (-1, 1)
        )
        return [
            float(each)
            for each in (
                len(self.said), self.lengths.sum(), self.people.sum(),
                self.lengths[self.people].sum(), windows,
                len(np.unique(self.session[self.fresh])), self.lengths[self.said].sum(),
            )
        ]  # fmt: skip


def _places(session: NDArray[np.int64], said: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Documents in a row: turns of a session side by side, others apart."""
    step = np.ones(len(session), dtype=np.int64)
    apart = (session[1:] != session[:-1]) | ~said[1:]
    step[1:] += _REACH * apart
    return _REACH - 1 + np.cumsum(step)


def _windows_with(
    of: NDArray[np.int64], where: NDArray[np.int64], taken: NDArray[np.int64], size: int
) -> NDArray[np.int64]:
    """In how many windows each term is."""
    reached = np.concatenate([where + step for step in range(-_REACH, _REACH + 1)])
    held = np.tile(of, 2 * _REACH + 1)
    is_there = np.zeros(int(taken[-1]) + 2 * _REACH + 1, dtype=np.bool_)
    is_there[taken] = True
    keep = is_there[reached]
    pairs = np.unique(reached[keep] * size + held[keep])
    return np.bincount(pairs % size, minlength=size)


def _sessions_with(
    of: NDArray[np.int64], session: NDArray[np.int64], size: int
) -> NDArray[np.int64]:
    pairs = np.unique(session * size + of)
    return np.bincount(pairs % size, minlength=size)


def _as_copied(owner: int, space: Space, rows: Sequence[Any]) -> bytes:
    """Rows of `nearest` as COPY reads them in binary, all at once: six fields, each behind its
    length, in network order."""
    layout = np.dtype(
        [
            ("fields", ">i2"),
            ("n1", ">i4"), ("owner", ">i8"),
            ("n2", ">i4"), ("space", ">i4"),
            ("n3", ">i4"), ("record", "S16"),
            ("n4", ">i4"), ("passage", ">i4"),
            ("n5", ">i4"), ("is_graph", "u1"),
            ("n6", ">i4"), ("dim", ">i2"), ("unused", ">i2"), ("data", ">f4", (space.dim,)),
        ]
    )  # fmt: skip
    copied = np.zeros(len(rows), dtype=layout)
    sizes = (8, 4, 16, 4, 1, 4 + 4 * space.dim)
    copied["fields"] = len(sizes)
    for number, size in enumerate(sizes, start=1):
        copied[f"n{number}"] = size
    copied["owner"], copied["space"], copied["dim"] = owner, space.id, space.dim
    copied["record"] = np.frombuffer(b"".join(row[1] for row in rows), dtype="S16")
    copied["passage"] = [row[2] for row in rows]
    copied["is_graph"] = [row[4] for row in rows]
    data = np.frombuffer(b"".join(row[3] for row in rows), dtype="<f4")
    copied["data"] = data.reshape(len(rows), space.dim)
    return b"PGCOPY\n\xff\r\n\0" + bytes(8) + copied.tobytes() + b"\xff\xff"


# ----------------------------------------------------------------------
# Reading.
# ----------------------------------------------------------------------


class PostgresLargeReader:
    """`LargeReader` of the protocols: one moment of one owner."""

    def __init__(
        self,
        connection: PostgresConnection,
        scope: Scope,
        space: Space,
        schema: str,
    ) -> None:
        self._connection = connection
        self._owner = owner_number(scope)
        self._space = space
        self._schema = schema

    def frequencies(
        self, terms: Sequence[int], also: Narrowed, most: int
    ) -> tuple[list[Frequency], list[Spot]]:
        """Of each term; and, by the same message, documents that fit as of `all_of`."""
        rows = self._connection.execute(
            "SELECT term, documents, people, windows, sessions FROM frequencies"
            " WHERE owner = ? AND term = ANY(CAST(? AS bigint[]))",
            (self._owner, _numbers(terms)),
        )
        fitting = self._all_of(also, most)
        found = {row[0]: Frequency(*row[1:]) for row in rows}
        return [found.get(term, Frequency()) for term in terms], list(map(Spot._make, fitting))

    def holding(
        self, groups: Sequence[Sequence[int]], most: int, narrowed: Narrowed
    ) -> list[tuple[int, Spot]]:
        """(number of the group, document) for those that hold all terms of a group."""
        texts = [_numbers(group) for group in groups]
        where, values = _conditions(narrowed)
        sql = f"SELECT c.place - 1, {_SPOT} FROM holders(?, ?) c"
        if where:
            sql = f"SELECT h.place - 1, {_SPOT} FROM holders(?, ?) h JOIN candidates c"
            sql += f" ON c.owner = {self._owner} AND c.record = h.record{where}"
        rows = self._connection.many(sql, (texts, most, *values))
        return [(row[0], Spot._make(row[1:])) for row in rows]

    def nearest(
        self, vector: NDArray[np.float32], most: int, narrowed: Narrowed, effort: int
    ) -> list[tuple[Spot, float]]:
        """The documents whose vectors are nearest, and their cosines, nearest first; those of the
        graph behind."""
        where, values = _conditions(narrowed)
        if where and self._are_few(where, values):
            return self._compared(vector, most, where, values)
        self._connection.execute(
            "SELECT set_config('hnsw.ef_search', ?, true), set_config('hnsw.iterative_scan', ?,"
            f" true), set_config('hnsw.max_scan_tuples', '{_LOOKED_THROUGH}', true)",
            (str(effort), "relaxed_order" if where else "off"),
        )
        joined = " JOIN candidates c ON c.owner = n.owner AND c.record = n.record" if where else ""
        found: list[tuple[Spot, float]] = []
        for graph in ("NOT ", ""):
            rows = self._connection.many(
                f"SELECT {_SPOT}, -f.far FROM (SELECT n.record AS id, {self._distance()} AS far"
                # The owner as it stands in the index: a value that is bound would not tell.
                f" FROM nearest n{joined} WHERE n.owner = {self._owner}"
                f" AND n.space = {self._space.id} AND {graph}n.is_graph{where} ORDER BY far"
                " LIMIT ?) AS f JOIN candidates c ON c.owner = ? AND c.record = f.id"
                " ORDER BY f.far",
                (_literal(vector), *values, most, self._owner),
            )
            found += [(Spot._make(row[:-1]), row[-1]) for row in rows]
        return found

    def _compared(
        self, vector: NDArray[np.float32], most: int, where: str, values: Sequence[Any]
    ) -> list[tuple[Spot, float]]:
        """The nearest of few, all of them looked at."""
        rows = self._connection.many(
            f"WITH c AS MATERIALIZED (SELECT {_SPOT} FROM candidates c WHERE c.owner = ?{where})"
            f" SELECT {_SPOT}, -{self._distance()} AS near FROM c JOIN nearest n ON n.owner = ?"
            " AND n.space = ? AND n.record = c.record ORDER BY near DESC LIMIT ?",
            (self._owner, *values, _literal(vector), self._owner, self._space.id, most),
        )
        return [(Spot._make(row[:-1]), row[-1]) for row in rows]

    def cosines(self, vector: NDArray[np.float32], ids: Sequence[bytes]) -> dict[bytes, float]:
        """How near the nearest passage of each of these is, where it is indexed."""
        rows = self._connection.many(
            f"SELECT n.record, max(-{self._distance()}) FROM nearest n WHERE n.owner = ?"
            " AND n.space = ? AND n.record = ANY(CAST(? AS bytea[])) GROUP BY n.record",
            (_literal(vector), self._owner, self._space.id, _ids(ids)),
        )
        return dict(rows)

    def documents(self, after: int, until: int) -> DocumentRows:
        """Those that changed after one change and until another, of what is indexed."""
        found = self._connection.joined(
            ("record", "session", "arrival", "length", "kind", "size", "terms"),
            f"({_DOCUMENTS}) AS found",
            (self._owner, after, until),
            order=("change",),
        )
        records, sessions, arrivals, lengths, kinds, sizes, terms = found
        return DocumentRows(
            records,
            np.frombuffer(sessions, dtype=">i8").astype(np.int64),
            np.frombuffer(arrivals, dtype=">i8").astype(np.int64),
            np.frombuffer(lengths, dtype=">i4").astype(np.int32),
            np.frombuffer(kinds, dtype=">i2").astype(np.uint8),
            np.frombuffer(sizes, dtype=">i4").astype(np.int32),
            terms,
        )

    def signs(self, after: int, until: int) -> SignRows:
        """The signs of the vectors that came after one change and until another."""
        # The signs first: with the vectors themselves it would be sorted on the disk.
        found = (
            "SELECT v.change, v.passage, n.record,"
            f" bit_send({self._schema}.binary_quantize(n.data)) AS signs"
            " FROM vectors v JOIN nearest n ON n.owner = v.owner AND n.space = v.space"
            " AND n.record = v.record AND n.passage = v.passage WHERE v.owner = ? AND v.space = ?"
            " AND v.change > ? AND v.change <= ? OFFSET 0"
        )
        records, signs = self._connection.joined(
            ("record", "signs"),
            f"({found}) AS found",
            (self._owner, self._space.id, after, until),
            order=("change", "passage"),
        )
        # Each is sent behind the number of its bits.
        size = (self._space.dim + 7) // 8
        return SignRows(records, np.frombuffer(signs, np.uint8).reshape(-1, 4 + size)[:, 4:])

    def _distance(self) -> str:
        """SQL, as it stands in the index."""
        return (
            f"(n.data::{self._schema}.vector({self._space.dim})"
            f" OPERATOR({self._schema}.<#>) CAST(? AS {self._schema}.vector))"
        )

    def _are_few(self, where: str, values: Sequence[Any]) -> bool:
        found: int = self._connection.execute(
            f"SELECT count(*) FROM (SELECT 1 FROM candidates c WHERE c.owner = ?{where}"
            f" LIMIT {_COMPARED + 1}) AS few",
            (self._owner, *values),
        ).get
        return found <= _COMPARED

    def all_of(self, narrowed: Narrowed, most: int) -> list[Spot]:
        """Documents that fit, whatever they say; the latest."""
        return list(map(Spot._make, self._all_of(narrowed, most)))

    def _all_of(self, narrowed: Narrowed, most: int) -> PostgresRows:
        where, values = _conditions(narrowed)
        return self._connection.execute(
            f"SELECT {_SPOT} FROM candidates c WHERE c.owner = ?{where} ORDER BY c.at DESC LIMIT ?",
            (self._owner, *values, most),
        )

    def beside(self, spots: Sequence[tuple[Spot, int]]) -> list[bytes]:
        """The turns of the same session that arrived so near to each of these."""
        rows = self._connection.many(
            "SELECT DISTINCT c.record FROM unnest(CAST(? AS bytea[]), CAST(? AS bigint[]))"
            " AS w (record, reach) JOIN candidates s ON s.owner = ? AND s.record = w.record"
            " JOIN candidates c ON c.owner = ? AND c.session = s.session AND c.tier = 'session'"
            " AND c.arrival BETWEEN s.arrival - w.reach AND s.arrival + w.reach",
            (
                _ids([spot.record for spot, _ in spots]),
                _numbers([reach for _, reach in spots]),
                self._owner,
                self._owner,
            ),
        )
        return [row[0] for row in rows]

    def read(
        self, wanted: Mapping[Scope, Sequence[bytes]]
    ) -> dict[Scope, tuple[list[Change], VectorRows]]:
        """These records of some owners as they are now, and their vectors; the last that is asked:
        all of it is one message, which ends the moment."""
        asked = {scope: self._ask(scope, ids) for scope, ids in wanted.items() if ids}
        self._connection.finish()
        found: dict[Scope, tuple[list[Change], VectorRows]]
        found = {scope: ([], VectorRows(b"", b"", 0)) for scope in wanted}
        return found | {scope: _as_read(*rows) for scope, rows in asked.items()}

    def _ask(self, scope: Scope, ids: Sequence[bytes]) -> list[PostgresRows]:
        connection, owner, named = self._connection, owner_number(scope), _ids(ids)
        connection.narrow(scope)
        return [
            connection.execute(_TURNS_OF, (owner, named)),
            connection.execute(_OTHERS_OF, (owner, named)),
            connection.execute(
                "SELECT record, passage, data FROM vectors WHERE owner = ? AND space = ?"
                " AND record = ANY(CAST(? AS bytea[])) AND length(data) = ?",
                (owner, self._space.id, named, 4 * self._space.dim),
            ),
        ]


def _as_read(
    turns: PostgresRows, others: PostgresRows, vectors: PostgresRows
) -> tuple[list[Change], VectorRows]:
    rows = sorted(vectors, key=itemgetter(1))  # Sorted there they would go over a disk.
    records, data = (b"".join([row[column] for row in rows]) for column in (0, 2))
    return as_changes(list(turns), list(others)), VectorRows(records, data, 0)


# The driver's own way to write arrays takes ten times as long.


def _ids(ids: Sequence[bytes]) -> str:
    return "{" + ",".join([f'"\\\\x{each.hex()}"' for each in ids]) + "}"


def _numbers(numbers: Sequence[int]) -> str:
    return "{" + ",".join(map(str, numbers)) + "}"


def _literal(vector: NDArray[np.float32]) -> str:
    return "[" + ",".join(map(repr, vector.tolist())) + "]"


def _conditions(narrowed: Narrowed) -> tuple[str, list[Any]]:
    where, values = "", list[Any]()
    if narrowed.tiers:
        where += " AND c.tier = ANY(?)"
        values.append(list(narrowed.tiers))
    for column, text in narrowed.texts:
        where += f" AND c.{column} = ?"
        values.append(text)
    if narrowed.until_us is not None:
        where += " AND c.at <= ?"
        values.append(narrowed.until_us)
    if narrowed.within_us:
        where += " AND (" + " OR ".join("c.at BETWEEN ? AND ?" for _ in narrowed.within_us) + ")"
        values += [moment for span in narrowed.within_us for moment in span]
    return where, values


# ----------------------------------------------------------------------
# The tables.
# ----------------------------------------------------------------------

_MAKE_NEAREST = """
CREATE TABLE nearest (
    owner    BIGINT NOT NULL,
    space    INTEGER NOT NULL,
    record   BYTEA NOT NULL,
    passage  INTEGER NOT NULL,
    is_graph BOOLEAN NOT NULL,
    data     {schema}.vector NOT NULL,
    PRIMARY KEY (owner, space, record, passage)
);
ALTER TABLE nearest ALTER COLUMN data SET STORAGE PLAIN;
GRANT SELECT, INSERT, UPDATE, DELETE ON nearest TO holdfast_serve, holdfast_work;
GRANT SELECT ON nearest TO holdfast_read;
ALTER TABLE nearest ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON nearest TO holdfast_serve, holdfast_read USING (owner = current_owner());
CREATE POLICY all_owners ON nearest TO holdfast_work USING (true);
CREATE FUNCTION index_nearest(
    whose bigint, of_space integer, dim integer, graph boolean, links integer, effort integer
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = holdfast AS $$
DECLARE old text;
BEGIN
    FOR old IN SELECT relname FROM pg_class WHERE relnamespace = 'holdfast'::regnamespace
        AND relkind = 'i' AND relname ~ format('^nearest_of_%s_', whose)
        AND relname !~ format('^nearest_of_%s_%s(_graph)?$', whose, of_space)
    LOOP
        EXECUTE format('DROP INDEX %I', old);
    END LOOP;
    EXECUTE format('CREATE INDEX IF NOT EXISTS %I ON nearest USING hnsw'
        ' ((data::{schema}.vector(%s)) {schema}.vector_ip_ops) WITH (m = %s, ef_construction = %s)'
        ' WHERE owner = %s AND space = %s AND %sis_graph',
        format('nearest_of_%s_%s%s', whose, of_space, CASE WHEN graph THEN '_graph' ELSE '' END),
        dim, links, effort, whose, of_space, CASE WHEN graph THEN '' ELSE 'NOT ' END);
END $$;
REVOKE ALL ON FUNCTION index_nearest FROM PUBLIC;
GRANT EXECUTE ON FUNCTION index_nearest TO holdfast_work;
"""


def vector_schema(raw: psycopg.Connection[Any]) -> str | None:
    """Where pgvector is, with the table for it; None where it cannot be had. Tried again when a
    store is opened: an administrator may have added it."""
    row = raw.execute("SELECT to_regclass('holdfast.nearest') IS NOT NULL").fetchone()
    if row is None or not row[0]:
        there = raw.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'")
        if there.fetchone() is None:
            return None
        try:
            with raw.transaction():
                raw.execute("SELECT pg_advisory_xact_lock(1, 1)")
                raw.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
                raw.execute("SET LOCAL search_path = holdfast")
                schema = _schema(raw)
                if raw.execute("SELECT to_regclass('holdfast.nearest')").fetchone() == (None,):
                    raw.execute(_MAKE_NEAREST.replace("{schema}", schema))
        except (psycopg.errors.InsufficientPrivilege, psycopg.errors.UndefinedObject):
            return None
    return _schema(raw)


def _schema(raw: psycopg.Connection[Any]) -> str:
    row = raw.execute(
        "SELECT quote_ident(nspname) FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace"
        " WHERE extname = 'vector'"
    ).fetchone()
    assert row is not None
    return str(row[0])
