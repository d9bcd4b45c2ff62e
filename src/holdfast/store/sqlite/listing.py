"""Memories page by page, newest first, and how many came by day."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta

from holdfast.store.sqlite.reading import readable
from holdfast.store.sqlite.records import EVENT_OF, READABLE, RECORD, to_record
from holdfast.store.sqlite.rows import Part, known_ids, marks, owner_of, to_us
from holdfast.types import Record, Scope

_FIRST_DAY = date(1970, 1, 1)
_DAY_US = 86_400_000_000
#: What a turn takes from its event.
_AGENT, _SESSION = (
    f"iif(r.tier = 'session', e.{column}, r.{column})" for column in ("agent", "session")
)
#: The same where events are not joined: looked up only for the records that it hangs on.
_WRITER = (
    "iif(r.tier = 'session',"
    " (SELECT e.agent FROM events e WHERE e.owner = r.owner AND e.id = r.id), r.agent)"
)


class SqliteListing(Part):
    """`Listing` on SQLite."""

    def page(  # noqa: PLR0913 (what can be asked for)
        self,
        scope: Scope,
        *,
        now: datetime,
        limit: int,
        tiers: Sequence[str] | None = None,
        kind: str | None = None,
        session: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        before: tuple[datetime, str] | None = None,
        ended: bool = False,
    ) -> list[Record]:
        which: list[tuple[str, tuple[object, ...]]] = [seen_by(scope, _AGENT)]
        if tiers is not None:
            which.append((f"r.tier IN ({marks(len(tiers))})", tuple(tiers)))
        if kind is not None:
            which.append(("r.kind = ?", (kind,)))
        if session is not None:
            which.append((f"{_SESSION} = ?", (session,)))
        if not ended:
            holds = "r.known_to IS NULL AND r.archived IS NULL"
            which.append((f"{holds} AND (r.valid_to IS NULL OR r.valid_to > ?)", (to_us(now),)))
        which += _between(since, until, before)
        where = "".join(f" AND {condition}" for condition, _ in which)
        with self._pool.snapshot() as connection:
            rows = connection.execute(
                f"SELECT {RECORD} FROM records r INDEXED BY records_known{EVENT_OF}"
                f" WHERE r.owner = ?{where} AND{READABLE}"
                " ORDER BY r.known_from DESC, r.id DESC LIMIT ?",
                (
                    owner_of(connection, scope),
                    *(value for _, values in which for value in values),
                    limit,
                ),
            )
            return list(readable(to_record, rows))

    def growth(self, scope: Scope, *, since: datetime) -> list[tuple[date, str, int]]:
        seen, values = seen_by(scope)
        with self._pool.snapshot() as connection:
            rows = connection.execute(
                f"SELECT r.known_from / {_DAY_US} AS day, r.tier, count(*)"
                " FROM records r INDEXED BY records_known"
                f" WHERE r.owner = ? AND r.known_from >= ? AND r.forgotten_at IS NULL AND {seen}"
                " GROUP BY day, r.tier ORDER BY day, r.tier",
                (owner_of(connection, scope), to_us(since), *values),
            )
            return [(_FIRST_DAY + timedelta(days=day), tier, count) for day, tier, count in rows]


def seen_by(scope: Scope, agent: str = _WRITER) -> tuple[str, tuple[object, ...]]:
    """Which records `r` the asker may see, as a condition and its values: of what an agent keeps to
    itself only its own, and with an agent besides its own only what no agent wrote."""
    not_private = f"(r.visibility IS NOT 'agent_only' OR {agent} IS ?)"
    if scope.agent is None:
        return not_private, (None,)
    return f"{not_private} AND ({agent} IS NULL OR {agent} = ?)", (scope.agent, scope.agent)


def _between(
    since: datetime | None, until: datetime | None, before: tuple[datetime, str] | None
) -> list[tuple[str, tuple[object, ...]]]:
    found: list[tuple[str, tuple[object, ...]]] = []
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
