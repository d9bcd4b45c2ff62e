"""The append-only log: events, their records, what is derived, their jobs, in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import product
from typing import Any

from holdfast.border.validate import split_system_data, with_system_data
from holdfast.errors import Conflict, StoreBusy
from holdfast.store.protocols import (
    EXTERNAL,
    FOREVER_US,
    Answered,
    Appended,
    KeyUse,
    LogEntry,
)
from holdfast.store.sql.derived import Writing, add
from holdfast.store.sql.engine import (
    Connection,
    StorePart,
    chunks,
    ensure_owner,
    from_json,
    from_us,
    known_ids,
    marks,
    matching,
    owner_of,
    readable,
    split_ids,
    to_json,
    to_us,
)
from holdfast.types import Event, Scope

EVENT = "id, arrival, role, content, at, known_at, origin, name, agent, session, metadata"


#: Those of an owner that were not forgotten.
_EVENTS = (
    f"SELECT {EVENT} FROM events WHERE owner = ?"
    " AND NOT EXISTS (SELECT 1 FROM records WHERE records.owner = events.owner"
    " AND records.id = events.id AND forgotten_at IS NOT NULL)"
)


class SqlLog(StorePart):
    """`Log`."""

    def append(
        self,
        scope: Scope,
        entries: Sequence[LogEntry],
        *,
        known_at: datetime,
        steps: Sequence[str],
        key: KeyUse | None = None,
    ) -> Appended:
        def work(connection: Connection) -> Appended:
            connection.narrow(scope)
            if key:
                earlier = _earlier_use(connection, ensure_owner(connection, scope), key)
                if earlier is not None:
                    return Appended(earlier, duplicate=True)
            # Only now: what is asked and not looked at keeps a file's writer in the past.
            current = asked_steps(connection, steps)
            owner, places = _take_places(connection, scope, len(entries))
            known = to_us(known_at)
            writing = Writing(owner, scope.agent, scope.session, known, current())
            turns = [(bytes.fromhex(entry.id), to_us(entry.at)) for entry in entries]
            _insert(connection, writing, entries, turns, places)
            enqueue_turns(connection, writing, turns, due=known)
            for derived in (each for entry in entries for each in entry.derived):
                add(connection, writing, derived)
            if key:
                connection.execute(
                    "INSERT INTO idempotency (owner, key, body, events, used_at)"
                    " VALUES (?, ?, ?, ?, ?)",
                    (owner, key.key, key.body, b"".join(raw for raw, _ in turns), known),
                )
            return Appended(tuple(entry.id for entry in entries), duplicate=False)

        return self._writer.run(work)

    def events(
        self,
        scope: Scope,
        ids: Sequence[str] | None = None,
        *,
        after: int = 0,
        limit: int | None = None,
        session: str | None = None,
        key: str | None = None,
    ) -> list[Event]:
        found: dict[str, Event] = {}
        with self._pool.snapshot() as connection:
            owner = owner_of(connection, scope)
            if key is not None:
                ids = _ids_of_key(connection, owner, key)
            if ids is None:
                which, values = matching({"session": session})
                rows = connection.execute(
                    f"{_EVENTS} AND arrival > ? AND {which} ORDER BY arrival LIMIT ?",
                    (owner, after, *values, FOREVER_US if limit is None else limit),
                )
                return list(readable(to_event, rows))
            for some in chunks(known_ids(ids)):
                rows = connection.execute(
                    f"{_EVENTS} AND id IN ({marks(len(some))})", (owner, *some)
                )
                found |= {event.id: event for event in readable(to_event, rows)}
        return [found[each] for each in ids if each in found]


def _ids_of_key(connection: Connection, owner: int | None, key: str) -> list[str]:
    events = connection.execute(
        "SELECT events FROM idempotency WHERE owner = ? AND key = ?", (owner, key)
    ).get
    return [] if events is None else [each.hex() for each in split_ids(events)]


def drop_keys(connection: Connection, before: datetime) -> int:
    """Drop idempotency keys used, and answers kept, before a time; how many."""
    connection.execute(
        "DELETE FROM idempotency WHERE used_at < ? AND substr(key, 1, ?) != ?",
        (to_us(before), len(EXTERNAL), EXTERNAL),
    )
    keys = connection.changes()
    connection.execute("DELETE FROM answers WHERE at < ?", (to_us(before),))
    return keys + connection.changes()


def to_event(row: Sequence[Any]) -> Event:
    """A row of `EVENT` columns as an Event."""
    metadata, data = split_system_data(from_json(row[10]))
    return Event(
        id=row[0].hex(),
        arrival=row[1],
        role=row[2],
        content=row[3],
        at=from_us(row[4]),
        known_at=from_us(row[5]),
        origin=row[6],
        name=row[7],
        agent=row[8],
        session=row[9],
        metadata=metadata,
        data=data,
    )


def _earlier_use(connection: Connection, owner: int, key: KeyUse) -> tuple[str, ...] | None:
    row = connection.execute(
        "SELECT body, events FROM idempotency WHERE owner = ? AND key = ?", (owner, key.key)
    ).fetchone()
    if row is None:
        return None
    events = split_ids(row[1])
    if key.key.startswith(EXTERNAL) and not _any_left(connection, owner, events):
        connection.execute("DELETE FROM idempotency WHERE owner = ? AND key = ?", (owner, key.key))
        return None
    if row[0] != key.body:
        raise Conflict(f"the key {key.key!r} was used before with another body: use a new key")
    return tuple(each.hex() for each in events)


def _any_left(connection: Connection, owner: int, events: Sequence[bytes]) -> bool:
    """Whether one of these is neither forgotten nor wiped."""
    return any(
        connection.execute(
            f"SELECT 1 FROM records WHERE owner = ? AND id IN ({marks(len(some))})"
            " AND forgotten_at IS NULL LIMIT 1",
            (owner, *some),
        ).get
        for some in chunks(events)
    )


def _take_places(connection: Connection, scope: Scope, count: int) -> tuple[int, tuple[int, int]]:
    """The number of an owner, made when new, and the first arrival and change of so many turns.
    From here on nobody else changes anything of this owner."""

    def take() -> Any:
        return connection.execute(
            "UPDATE owners SET arrival = arrival + ?, change = change + ?"
            " WHERE workspace = ? AND user = ? RETURNING owner, arrival, change",
            (count, count, scope.workspace, scope.user),
        ).fetchone()

    found = take()
    while found is None:
        ensure_owner(connection, scope)
        found = take()
    owner, arrival, change = found
    return owner, (arrival - count + 1, change - count + 1)


def _insert(
    connection: Connection,
    writing: Writing,
    entries: Sequence[LogEntry],
    turns: Sequence[tuple[bytes, int]],
    places: tuple[int, int],
) -> None:
    owner, known, (first, change) = writing.owner, writing.known, places
    connection.executemany(
        f"INSERT INTO events (owner, {EVENT}) VALUES (?, {marks(11)})",
        (
            (
                owner, raw, first + i, e.role, e.content, at, known, e.origin, e.name,
                writing.agent, writing.session, to_json(with_system_data(e.metadata, e.data)),
            )
            for i, (e, (raw, at)) in enumerate(zip(entries, turns, strict=True))
        ),
    )  # fmt: skip
    connection.executemany(
        "INSERT INTO records (owner, id, change, tier, kind, valid_from, known_from, confidence,"
        " origin, length, terms, visibility, seen)"
        " VALUES (?, ?, ?, 'session', ?, ?, ?, 1.0, ?, ?, ?, ?, ?)",
        (
            (
                owner, raw, change + i, e.kind, at, known, e.origin, e.length, e.terms,
                e.visibility, seen_of_new_turn(e.visibility, known),
            )
            for i, (e, (raw, at)) in enumerate(zip(entries, turns, strict=True))
        ),
    )  # fmt: skip


def seen_of_new_turn(visibility: str | None, known: int) -> int | None:
    """`seen` of a new turn. One that not everybody may see counts as seen when it was learned: so
    the feed reads its row whole, with who may see it, and the many others in short."""
    return None if visibility is None else known


def enqueue_turns(
    connection: Connection,
    writing: Writing,
    turns: Sequence[tuple[bytes, int]],
    *,
    due: int,
) -> None:
    """One job per turn, given with when it was said, and step.

    A step of no vector space is done for a conversation at a time: its jobs tell where they belong.
    """
    alone = [step for step in writing.steps if ":" in step]
    connection.executemany(
        "INSERT INTO jobs (id, owner, subject, step, due) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (owner, subject, step) DO NOTHING",
        (
            (id, writing.owner, turn, step, due)
            for id, ((turn, _), step) in zip(
                connection.job_ids(len(turns) * len(alone)), product(turns, alone), strict=True
            )
        ),
    )
    for step in writing.steps:
        if ":" not in step:
            connection.executemany(
                "INSERT INTO jobs (id, owner, subject, step, due, session, agent, at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (owner, subject, step) DO NOTHING",
                (
                    (id, writing.owner, turn, step, due, writing.session, writing.agent, at)
                    for id, (turn, at) in zip(connection.job_ids(len(turns)), turns, strict=True)
                ),
            )


def all_current(connection: Connection, steps: Sequence[str]) -> list[str]:
    """The steps; in place of one whose vector space was retired, one for each space in use."""
    return asked_steps(connection, steps)()


def asked_steps(connection: Connection, steps: Sequence[str]) -> Callable[[], list[str]]:
    """The same, to be told later: until then a server can be asked for something else beside it."""
    sql = "SELECT state FROM spaces WHERE id = ?"
    spaces = [step.partition(":")[2] for step in steps]
    states = [connection.execute(sql, (int(space),)) if space else None for space in spaces]

    def told() -> list[str]:
        current: list[str] = []
        for step, state in zip(steps, states, strict=True):
            if state is None or state.get != "retired":
                current.append(step)
            else:
                rows = connection.execute("SELECT id FROM spaces WHERE state != 'retired'")
                current += [f"{step.partition(':')[0]}:{row[0]}" for row in rows]
        return current

    return told


# ----------------------------------------------------------------------
# Answers that were given under an idempotency key, and what was done under one.
# ----------------------------------------------------------------------

#: Before the keys of what was done; no key of an answer begins like this.
_DONE = "\x01done "
_MEANWHILE = "the same is being done under this key: try again"


class SqlAnswers(StorePart):
    """`Answers`."""

    def answer(
        self, scope: Scope, key: str, new: Answered | None = None, *, at: datetime | None = None
    ) -> Answered | None:
        if new is None:
            return self._answer(scope, key)
        if at is None:
            raise ValueError("a new answer is kept from a time on: at is missing")

        def work(connection: Connection) -> Answered:
            owner = ensure_owner(connection, scope)
            if (known := _find_answer(connection, owner, key)) is not None:
                return known
            _keep(connection, owner, key, new, at)
            return new

        return self._writer.run(work)

    def _answer(self, scope: Scope, key: str) -> Answered | None:
        with self._pool.reader() as connection:
            return _find_answer(connection, owner_of(connection, scope), key)

    @contextmanager
    def once(
        self, scope: Scope, key: str, noted: Answered, *, at: datetime
    ) -> Iterator[Answered | None]:
        place = _DONE + key
        known = self._answer(scope, place)
        if known is not None:
            if known.body != noted.body:
                raise Conflict
            yield known
            return

        def note(connection: Connection) -> None:
            owner = ensure_owner(connection, scope)
            if _find_answer(connection, owner, place) is not None:
                raise StoreBusy(_MEANWHILE)
            _keep(connection, owner, place, noted, at)

        with self._writer.along(note):
            yield None


def _keep(connection: Connection, owner: int, key: str, answered: Answered, at: datetime) -> None:
    connection.execute(
        "INSERT INTO answers (owner, key, body, status, answer, at) VALUES (?, ?, ?, ?, ?, ?)",
        (owner, key, answered.body, answered.status, answered.answer, to_us(at)),
    )


def _find_answer(connection: Connection, owner: int | None, key: str) -> Answered | None:
    row = connection.execute(
        "SELECT body, status, answer FROM answers WHERE owner = ? AND key = ?", (owner, key)
    ).fetchone()
    return Answered(*row) if row else None
