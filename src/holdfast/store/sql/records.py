"""Memories: reading them, storing derived ones, hiding them, bringing them back, their history."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Any

from holdfast.border.validate import split_system_data
from holdfast.errors import NotFound
from holdfast.store.protocols import Derived
from holdfast.store.sql.derived import (
    HistoryLine,
    Writing,
    end_one,
    is_stale,
    put_one,
    set_forgotten,
    shorten_one,
    wipe_forgotten,
)
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
    maybe_from_us,
    next_changes,
    owner_of,
    read_many,
    readable,
    split_ids,
    to_id,
    to_us,
    write_history,
)
from holdfast.store.sql.ledger import drop_contexts
from holdfast.store.sql.log import all_current, drop_keys
from holdfast.store.values import Growth
from holdfast.types import Record, Scope, Version

# ----------------------------------------------------------------------
# Memories page by page, newest first, and how many came by day.
# ----------------------------------------------------------------------

_FIRST_DAY = date(1970, 1, 1)
_DAY_US = 86_400_000_000
#: What a turn takes from its event.
_AGENT, _ROLE, _NAME = (
    f"iif(r.tier = 'session', e.{column}, r.{column})" for column in ("agent", "role", "name")
)
#: The same where events are not joined: looked up only for the records that it hangs on.
_WRITER = (
    "iif(r.tier = 'session',"
    " (SELECT e.agent FROM events e WHERE e.owner = r.owner AND e.id = r.id), r.agent)"
)


#: Which records are of a session. Named first, for one is a small part of all: looking up the turn
#: of each record takes six times as long.
_IN_SESSION = (
    "r.id IN (SELECT n.id FROM events n WHERE n.owner = ? AND n.session = ?"
    " UNION ALL SELECT n.id FROM records n WHERE n.owner = ? AND n.session = ?"
    " AND n.tier != 'session')"
)
#: A condition and its values.
_Condition = tuple[str, tuple[object, ...]]


class SqlListing(StorePart):
    """`Listing`."""

    def page(  # noqa: PLR0913 (what can be asked for)
        self,
        scope: Scope,
        *,
        now: datetime,
        limit: int,
        tiers: Sequence[str] | None = None,
        kind: str | None = None,
        session: str | None = None,
        origin: str | None = None,
        speaker: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        before: tuple[datetime, str] | None = None,
        status: str = "current",
    ) -> list[Record]:
        which: list[_Condition] = [seen_by(scope, _AGENT)]
        if tiers is not None:
            which.append((f"r.tier IN ({marks(len(tiers))})", tuple(tiers)))
        if kind is not None:
            which.append(("r.kind = ?", (kind,)))
        if origin is not None:
            which.append(("r.origin = ?", (origin,)))
        if speaker is not None:
            which.append((f"({_ROLE} = ? OR {_NAME} = ?)", (speaker, speaker)))
        which += [*_of_status(status, now), *_between(since, until, before)]
        event, there = (EVENT_OF, READABLE) if status != "forgotten" else (_OWN_EVENT, _HIDDEN)
        with self._pool.snapshot() as connection:
            owner = owner_of(connection, scope)
            if session is not None:
                which.append((_IN_SESSION, (owner, session, owner, session)))
            where = "".join(f" AND {condition}" for condition, _ in which)
            rows = connection.execute(
                f"SELECT {RECORD} FROM records r INDEXED BY records_known{event}"
                f" WHERE r.owner = ?{where} AND{there}"
                " ORDER BY r.known_from DESC, r.id DESC LIMIT ?",
                (owner, *(value for _, values in which for value in values), limit),
            )
            return list(readable(to_record, rows))

    def turns_around(self, scope: Scope, id: str, *, reach: int) -> list[Record]:
        with self._pool.snapshot() as connection:
            owner = owner_of(connection, scope)
            place: Any = connection.execute(
                "SELECT arrival, session FROM events WHERE owner = ? AND id = ?",
                (owner, next(iter(known_ids([id])), b"")),
            ).fetchone()
            if place is None:
                return []
            arrival, session = place
            rows = connection.execute(
                f"SELECT {RECORD} FROM events n JOIN records r"
                f" ON r.owner = n.owner AND r.id = n.id{EVENT_OF} WHERE n.owner = ?"
                " AND n.arrival BETWEEN ? AND ? AND n.session IS NOT DISTINCT FROM ?"
                f" AND{READABLE} ORDER BY n.arrival",
                (owner, arrival - reach, arrival + reach, session),
            )
            return list(readable(to_record, rows))

    def growth(self, scope: Scope, *, since: datetime | None = None) -> list[Growth]:
        seen, values = seen_by(scope)
        begin = 0 if since is None else to_us(since)
        with self._pool.snapshot() as connection:
            rows = connection.execute(
                f"SELECT r.known_from / {_DAY_US} AS day, r.tier, count(*),"
                " count(*) FILTER (WHERE r.known_to IS NULL AND r.archived IS NULL)"
                " FROM records r INDEXED BY records_known"
                f" WHERE r.owner = ? AND r.known_from >= ? AND r.forgotten_at IS NULL AND {seen}"
                " GROUP BY day, r.tier ORDER BY day, r.tier",
                (owner_of(connection, scope), begin, *values),
            )
            return [Growth(_FIRST_DAY + timedelta(days=day), *more) for day, *more in rows]


def seen_by(scope: Scope, agent: str = _WRITER) -> _Condition:
    """Which records `r` the asker may see, as a condition and its values: of what an agent keeps to
    itself only its own, and with an agent besides its own only what no agent wrote."""
    not_private = f"(r.visibility IS DISTINCT FROM 'agent_only' OR {agent} IS NOT DISTINCT FROM ?)"
    if scope.agent is None:
        return not_private, (None,)
    return f"{not_private} AND ({agent} IS NULL OR {agent} = ?)", (scope.agent, scope.agent)


def _of_status(status: str, now: datetime) -> list[_Condition]:
    holds = "r.known_to IS NULL AND r.archived IS NULL AND (r.valid_to IS NULL OR r.valid_to > ?)"
    known: dict[str, list[_Condition]] = {
        "current": [(holds, (to_us(now),))],
        "ended": [(f"NOT ({holds})", (to_us(now),))],
        "all": [],
        "forgotten": [],
    }
    return known[status]


def _between(
    since: datetime | None, until: datetime | None, before: tuple[datetime, str] | None
) -> list[_Condition]:
    found: list[_Condition] = []
    if since is not None:
        found.append(("r.known_from >= ?", (to_us(since),)))
    if until is not None:
        found.append(("r.known_from < ?", (to_us(until),)))
    if before is not None:
        at, id = before
        # What is no id stands before all that are.
        raw = next(iter(known_ids([id])), b"")
        found.append(("(r.known_from, r.id) < (?, ?)", (to_us(at), raw)))
    return found


#: A turn takes these from its event, a derived record has its own.
_OWN = ", ".join(
    f"iif(r.tier = 'session', e.{column}, r.{column})"
    for column in ("content", "role", "name", "agent", "session")
)
#: Columns of a record `r`; `e` is the event of a turn, or the first source of a derived record.
RECORD = (
    "r.id, r.tier, r.kind, r.valid_from, r.valid_to, r.known_from, r.known_to, r.origin,"
    f" r.confidence, r.importance, r.sources, r.data, {_OWN}, coalesce(r.metadata, e.metadata),"
    " r.seen, r.quiet, r.archived, r.strength, r.uses, r.visibility"
)
#: What a forgotten event said about itself is not told by what was derived from it.
EVENT_OF = (
    " LEFT JOIN records s ON s.owner = r.owner"
    " AND s.id = r.event AND s.forgotten_at IS NULL"
    " LEFT JOIN events e ON e.owner = s.owner AND e.id = s.id"
)
#: The same where the event may be forgotten.
_OWN_EVENT = " LEFT JOIN events e ON e.owner = r.owner AND e.id = r.event"
#: The same columns without any event. Not `ON FALSE`: for that SQLite walks over all events.
NO_EVENT = " LEFT JOIN events e ON e.owner = -1 AND e.id = r.id"
_HAS_CONTENT = " coalesce(r.content, e.content) IS NOT NULL"
READABLE = f" r.forgotten_at IS NULL AND{_HAS_CONTENT}"
_HIDDEN = f" r.forgotten_at IS NOT NULL AND r.along = 0 AND{_HAS_CONTENT}"


class SqlRecords(StorePart):
    """`Records`."""

    def get(self, scope: Scope, ids: Sequence[str], *, hidden: bool = False) -> list[Record]:
        found: dict[str, Record] = {}
        with self._pool.reader() as connection:
            connection.narrow(scope)
            for some in chunks(known_ids(ids)):
                sql, values = _get_sql(len(some), hidden), (scope.workspace, scope.user, *some)
                for record in read_many(connection, to_record, sql, values):
                    found[record.id] = record
        return [found[each] for each in ids if each in found]

    def listed(  # noqa: PLR0913 (what can be asked for)
        self,
        scope: Scope,
        *,
        tier: str | None = None,
        kind: str | None = None,
        claim: str | None = None,
        source: str | None = None,
        current: bool = True,
        archived: bool = False,
        hidden: bool = False,
        limit: int = 100_000,
    ) -> list[Record]:
        if [tier, claim, source].count(None) != 2:
            raise ValueError("name one of tier, claim and source")
        origin = None if source is None else next(iter(known_ids([source])), b"")
        which, values = matching(
            {"r.tier": tier, "r.kind": kind, "r.claim": claim, "p.event": origin}
        )
        if tier is not None:  # By which an index can be taken that has no turns.
            which += f" AND r.tier {'=' if tier == 'session' else '!='} 'session'"
        which += " AND r.valid_to IS NULL AND r.known_to IS NULL" if current and not hidden else ""
        which += "" if archived or hidden else " AND r.archived IS NULL"
        rows, owned = "records r", "r.owner"
        order = "r.known_from, coalesce(r.arrival, e.arrival), r.id"
        if claim is not None:
            rows, order = "records r INDEXED BY records_claim", "r.known_from, r.stored"
        elif origin is not None:
            rows = "provenance p JOIN records r ON r.owner = p.owner AND r.id = p.record"
            owned, which = "p.owner", f"{which} AND p.record != p.event"
            # Sorted: by the index on this time it would walk over all records.
            order = "+r.known_from, r.id"
        event, there = (
            (_OWN_EVENT, " r.forgotten_at IS NOT NULL") if hidden else (EVENT_OF, READABLE)
        )
        with self._pool.snapshot() as connection:
            found = connection.execute(
                f"SELECT {RECORD} FROM {rows}{event} WHERE {owned} = ? AND {which} AND{there}"
                f" ORDER BY {order} LIMIT ?",
                (owner_of(connection, scope), *values, limit),
            )
            return list(readable(to_record, found))

    def put(
        self,
        scope: Scope,
        records: Sequence[Derived],
        *,
        known_at: datetime,
        steps: Sequence[str],
        since: int | None = None,
        tiers: Sequence[str] = ("graph",),
    ) -> bool:
        def work(connection: Connection) -> bool:
            current = all_current(connection, steps)
            owner = ensure_owner(connection, scope)
            if is_stale(connection, owner, since, tiers):
                return False
            writing = Writing(owner, scope.agent, scope.session, to_us(known_at), current)
            for derived in records:
                put_one(connection, writing, derived)
            return True

        return self._writer.run(work)

    def forget(
        self, scope: Scope, ids: Sequence[str], *, at: datetime, undo: bool = False
    ) -> list[str]:
        return self._writer.run(lambda c: set_forgotten(c, scope, ids, at, forgotten=not undo))

    def forgotten_times(self, scope: Scope, ids: Sequence[str]) -> dict[str, datetime]:
        found: dict[str, datetime] = {}
        with self._pool.snapshot() as connection:
            owner = owner_of(connection, scope)
            for some in chunks(known_ids(ids)):
                rows = connection.execute(
                    "SELECT id, forgotten_at FROM records WHERE owner = ? AND along = 0"
                    f" AND forgotten_at IS NOT NULL AND id IN ({marks(len(some))})",
                    (owner, *some),
                )
                found |= {row[0].hex(): from_us(row[1]) for row in rows}
                wiped = connection.execute(
                    "SELECT record, max(at) FROM journal j WHERE owner = ? AND record IN"
                    f" ({marks(len(some))}) AND action = 'forgotten' AND NOT EXISTS (SELECT 1"
                    " FROM records r WHERE r.owner = j.owner AND r.id = j.record) GROUP BY record",
                    (owner, *some),
                )
                found |= {row[0].hex(): from_us(row[1]) for row in wiped}
        return {each: found[each] for each in ids if each in found}

    def history(self, scope: Scope, record: str) -> list[Version]:
        with self._pool.snapshot() as connection:
            owner = owner_of(connection, scope)
            row = connection.execute(
                "SELECT r.known_from, r.forgotten_at, coalesce(r.content, e.content) FROM records r"
                " LEFT JOIN events e ON e.owner = r.owner AND e.id = r.id"
                " WHERE r.owner = ? AND r.id = ?",
                (owner, to_id(record)),
            ).fetchone()
            if row is None:
                raise NotFound(f"there is no memory {record!r} in this scope")
            acts: list[Any] = connection.execute(
                "SELECT action, at, note FROM journal WHERE owner = ? AND record = ?"
                " ORDER BY change",
                (owner, to_id(record)),
            ).fetchall()
        return _versions(row[0], acts, row[2] if row[1] is None else None)

    def wipe(
        self,
        *,
        forgotten_before: datetime | None = None,
        keys_before: datetime | None = None,
        contexts_before: datetime | None = None,
    ) -> int:
        self._writer.settle()
        old = (
            (wipe_forgotten, forgotten_before),
            (drop_keys, keys_before),
            (drop_contexts, contexts_before),
        )
        return self._writer.run(
            lambda c: sum(drop(c, before) for drop, before in old if before is not None),
            alone=True,
        )


#: What `RECORD` and `_EVENT_OF_ROW` read of a row.
_COLUMNS = (
    "id, owner, tier, kind, valid_from, valid_to, known_from, known_to, origin, confidence,"
    " importance, sources, data, content, role, name, agent, session, metadata, seen, quiet,"
    " archived, strength, uses, visibility, event"
)
#: The same as `EVENT_OF`; of a turn nobody has to look whether it is forgotten.
_EVENT_OF_ROW = (
    f"{_OWN_EVENT} AND (r.tier = 'session' OR EXISTS (SELECT 1 FROM records s"
    " WHERE s.owner = r.owner AND s.id = r.event AND s.forgotten_at IS NULL))"
)


@lru_cache(maxsize=256)
def _get_sql(count: int, hidden: bool) -> str:
    """Reads the rows first, then their events: joined, SQLite goes back to a row for each of its
    columns, which takes twice as long."""
    event, there = (_OWN_EVENT, "") if hidden else (_EVENT_OF_ROW, " AND forgotten_at IS NULL")
    return (
        f"WITH r AS MATERIALIZED (SELECT {_COLUMNS} FROM records WHERE owner ="
        " (SELECT o.owner FROM owners o WHERE o.workspace = ? AND o.user = ?)"
        f" AND id IN ({marks(count)}){there}) SELECT {RECORD} FROM r{event} WHERE{_HAS_CONTENT}"
    )


def _versions(known_from: int, acts: Sequence[Any], content: str | None) -> list[Version]:
    """The lines of a history. Only the text of the last change is kept."""
    lines = [("stored", known_from, None), *acts]
    changed = max((i for i, line in enumerate(lines) if line[0] == "changed"), default=0)
    return [
        Version(action, from_us(at), content if i >= changed else None, note)
        for i, (action, at, note) in enumerate(lines)
    ]


def to_record(row: Sequence[Any]) -> Record:
    """A row of `RECORD` columns as a Record."""
    raw, tier, kind, valid_from, valid_to, known_from, known_to, origin, *more = row
    confidence, importance, sources, data, content, role, name, agent, session, *life = more
    metadata, seen, quiet, archived, strength, uses, visibility = life
    id = raw.hex()
    given, kept = split_system_data(from_json(metadata))
    derived_from: tuple[str, ...] = (id,)
    if tier != "session":
        derived_from = tuple(each.hex() for each in split_ids(sources))
    # In the order of the fields: by name would take a third longer, for 50 records of an answer.
    return Record(
        id,
        tier,
        kind,
        content,
        from_us(valid_from),
        maybe_from_us(valid_to),
        from_us(known_from),
        maybe_from_us(known_to),
        origin,
        confidence,
        derived_from,
        role,
        name,
        agent,
        session,
        given,
        importance,
        from_json(data),
        maybe_from_us(seen),
        quiet,
        maybe_from_us(archived),
        strength,
        uses,
        visibility,
        tuple(kept.get("labels", ())),
    )


# ----------------------------------------------------------------------
# The life of records: used, praised and blamed, put aside, ended, and all of it undone.
# ----------------------------------------------------------------------

_DAY = 86_400_000_000
#: One step for one record of an owner; whether it changed.
_Step = Callable[[Connection, int, bytes], bool]


class SqlLife(StorePart):
    """`RecordLife`."""

    def touch(
        self,
        scope: Scope,
        ids: Sequence[str],
        *,
        at: datetime,
        action: str,
        strength: Callable[[Record], float | None],
    ) -> list[str]:
        act = HistoryLine(to_us(at), action)
        return self._each(scope, ids, lambda c, owner, raw: _touch(c, owner, raw, act, strength))

    def archive(
        self,
        scope: Scope,
        ids: Sequence[str],
        *,
        at: datetime,
        reason: str = "",
        undo: bool = False,
    ) -> list[str]:
        act = HistoryLine(to_us(at), "unarchived" if undo else "archived", reason)
        return self._each(scope, ids, lambda c, owner, raw: _put_aside(c, owner, raw, act))

    def end(
        self,
        scope: Scope,
        ids: Sequence[str],
        *,
        at: datetime,
        valid_to: datetime | None,
        reason: str = "",
        action: str = "invalidated",
        ended: bool = False,
    ) -> list[str]:
        if valid_to is None:
            back = HistoryLine(to_us(at), "reopened", reason)
            return self._each(scope, ids, lambda c, owner, raw: _reopen(c, owner, raw, back))
        act, until = HistoryLine(to_us(at), action, reason), to_us(valid_to)
        if ended:
            return self._each(scope, ids, lambda c, own, raw: shorten_one(c, own, raw, act, until))
        return self._each(
            scope, ids, lambda c, owner, raw: end_one(c, owner, raw, act, valid_to=until)
        )

    def _each(self, scope: Scope, ids: Sequence[str], step: _Step) -> list[str]:
        """Do one step for each record that is there, each once; which of them changed."""

        def work(connection: Connection) -> list[str]:
            owner = owner_of(connection, scope)
            if owner is None:
                return []
            return [
                raw.hex()
                for raw in dict.fromkeys(known_ids(ids))
                if _is_there(connection, owner, raw) and step(connection, owner, raw)
            ]

        return self._writer.run(work)


def _is_there(connection: Connection, owner: int, record: bytes) -> bool:
    found = connection.execute(
        "SELECT 1 FROM records WHERE owner = ? AND id = ? AND forgotten_at IS NULL", (owner, record)
    )
    return found.get is not None


def _touch(
    connection: Connection,
    owner: int,
    record: bytes,
    act: HistoryLine,
    strength: Callable[[Record], float | None],
) -> bool:
    row: Any = connection.execute(
        f"SELECT r.used, {RECORD} FROM records r{EVENT_OF}"
        f" WHERE r.owner = ? AND r.id = ? AND{READABLE}",
        (owner, record),
    ).fetchone()
    today = act.at // _DAY
    is_use = act.action == "used"
    if row is None or (is_use and row[0] == today):
        return False
    said = strength(to_record(row[1:]))
    change = (
        next_changes(connection, owner, 1)
        if is_use
        else write_history(connection, owner, record, act.action, act.at)
    )
    connection.execute(
        "UPDATE records SET strength = coalesce(CAST(? AS DOUBLE PRECISION), strength),"
        " change = ?, uses = uses + ?,"
        " used = coalesce(CAST(? AS BIGINT), used), seen = max(coalesce(seen, known_from), ?)"
        " WHERE owner = ? AND id = ?",
        (said, change, int(is_use), today if is_use else None, act.at, owner, record),
    )
    return True


def _put_aside(connection: Connection, owner: int, record: bytes, act: HistoryLine) -> bool:
    """Archive a record or bring it back."""
    archive = act.action == "archived"
    is_archived = connection.execute(
        "SELECT archived IS NOT NULL FROM records WHERE owner = ? AND id = ?", (owner, record)
    ).get
    if bool(is_archived) == archive:
        return False
    change = write_history(connection, owner, record, act.action, act.at, act.reason)
    connection.execute(
        "UPDATE records SET archived = ?, change = ? WHERE owner = ? AND id = ?",
        (act.at if archive else None, change, owner, record),
    )
    return True


def _reopen(connection: Connection, owner: int, record: bytes, act: HistoryLine) -> bool:
    is_ended = connection.execute(
        "SELECT known_to IS NOT NULL FROM records WHERE owner = ? AND id = ?", (owner, record)
    ).get
    if not is_ended:
        return False
    change = write_history(connection, owner, record, act.action, act.at, act.reason)
    connection.execute(
        "UPDATE records SET known_to = NULL, valid_to = NULL, change = ?"
        " WHERE owner = ? AND id = ?",
        (change, owner, record),
    )
    return True
