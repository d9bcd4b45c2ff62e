"""What happened to an owner's memories, in order, and the webhooks that are told of it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import orjson

from holdfast.store.sql.engine import (
    Connection,
    StorePart,
    from_us,
    list_of,
    marks,
    matching,
    maybe_from_us,
    maybe_us,
    owner_of,
    readable,
    to_us,
)
from holdfast.store.values import Happened, Mark, News, Webhook
from holdfast.types import Scope

_STATE = ("failures", "failing", "due", "error", "disabled_at")
_HOOK = f"id, workspace, user, url, events, created_at, {', '.join(_STATE)}, secret"
#: What is learned now is on disk after so long, in microseconds: rather told twice than never.
_DOUBT = 5_000_000

_ACTS = (
    "SELECT j.change, lower(hex(j.record)), r.tier, r.kind, j.action, j.at, r.known_from,"
    " NOT EXISTS (SELECT 1 FROM journal b WHERE b.owner = j.owner AND b.record = j.record"
    " AND b.change < j.change)"
    " FROM journal j INDEXED BY journal_change"
    " JOIN records r ON r.owner = j.owner AND r.id = j.record"
    " WHERE j.owner = ? AND j.change > ? ORDER BY j.change LIMIT ?"
)
# Changes without a line in the history: what is new, and what was used.
_OTHERS = (
    "SELECT r.change, lower(hex(r.id)), r.tier, r.kind,"
    " iif(r.uses > 0 AND r.seen IS NOT NULL, 'used', 'stored'),"
    " iif(r.uses > 0, coalesce(r.seen, r.known_from), r.known_from), r.known_from,"
    " NOT EXISTS (SELECT 1 FROM journal b WHERE b.owner = r.owner AND b.record = r.id)"
    " FROM records r INDEXED BY records_change WHERE r.owner = ? AND r.change > ?"
    " AND NOT EXISTS (SELECT 1 FROM journal j"
    " WHERE j.owner = r.owner AND j.record = r.id AND j.change = r.change)"
    " ORDER BY r.change LIMIT ?"
)
_NEWS = (
    "SELECT o.workspace, o.user, h.epoch, h.change, h.at FROM webhooks w"
    " JOIN owners o ON o.workspace = w.workspace AND (w.user IS NULL OR o.user = w.user)"
    " LEFT JOIN webhook_heads h ON h.webhook = w.id AND h.owner = o.owner"
    " WHERE w.id = ? AND (h.change IS NULL OR h.change != o.change OR h.epoch != o.epoch)"
    " ORDER BY o.user LIMIT ?"
)


class SqlHooks(StorePart):
    """`Hooks`."""

    def happenings(self, scope: Scope, *, after: Mark, limit: int = 1000) -> list[Happened]:
        with self._pool.snapshot() as connection:
            owner = owner_of(connection, scope)
            values = (owner, after.change, limit)
            rows: list[Any] = connection.execute(_ACTS, values).fetchall()
            rows += connection.execute(_OTHERS, values).fetchall()
        rows.sort(key=lambda row: row[0])
        return _to_happenings(rows[:limit], after.at_us - _DOUBT)

    def put_hook(self, hook: Webhook | None, *, was: Webhook | None = None) -> bool:
        if hook is None:
            return was is not None and self._writer.run(partial(_remove, hook=was))
        if was is None:
            return self._writer.run(partial(_add, hook=hook))
        new = ", ".join(f"{name} = ?" for name in _STATE)
        same = "".join(f" AND {name} IS NOT DISTINCT FROM ?" for name in _STATE)

        def work(connection: Connection) -> bool:
            connection.execute(
                f"UPDATE webhooks SET {new} WHERE id = ?{same}",
                (*_state(hook), hook.id, *_state(was)),
            )
            return connection.changes() > 0

        return self._writer.run(work)

    def hooks(self, *, workspace: str | None = None) -> list[Webhook]:
        which, values = matching({"workspace": workspace})
        with self._pool.reader() as connection:
            rows = connection.execute(
                f"SELECT {_HOOK} FROM webhooks WHERE {which} ORDER BY created_at, id", values
            )
            return list(readable(_to_hook, rows))

    def news(self, hook: str, *, limit: int = 100) -> list[News]:
        with self._pool.reader() as connection:
            rows: list[Any] = connection.execute(_NEWS, (hook, limit)).fetchall()
        return [
            News(Scope(row[0], row[1]), None if row[2] is None else Mark(*row[2:])) for row in rows
        ]

    def set_mark(self, hook: str, scope: Scope, mark: Mark) -> None:
        def work(connection: Connection) -> None:
            # Both may be gone by now; an owner who is being erased is waited for.
            connection.find_owner(scope)
            connection.execute(
                "INSERT INTO webhook_heads (webhook, owner, epoch, change, at)"
                " SELECT w.id, o.owner, CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT)"
                " FROM webhooks w, owners o"
                " WHERE w.id = ? AND o.workspace = ? AND o.user = ?"
                " ON CONFLICT (webhook, owner) DO UPDATE SET epoch = excluded.epoch,"
                " change = excluded.change, at = excluded.at",
                (*mark, hook, scope.workspace, scope.user),
            )

        self._writer.run(work)


def _add(connection: Connection, hook: Webhook) -> bool:
    events = orjson.dumps(hook.events).decode()
    connection.execute(
        f"INSERT INTO webhooks ({_HOOK}) VALUES ({marks(12)}) ON CONFLICT DO NOTHING",
        (
            hook.id, hook.workspace, hook.user, hook.url, events, to_us(hook.created_at),
            *_state(hook), hook.secret,
        ),
    )  # fmt: skip
    if not connection.changes():
        return False
    # It is told of what happens from now on.
    connection.execute(
        "INSERT INTO webhook_heads (webhook, owner, epoch, change, at)"
        " SELECT CAST(? AS TEXT), owner, epoch, change, CAST(? AS BIGINT) FROM owners"
        " WHERE workspace = ? AND (CAST(? AS TEXT) IS NULL OR user = ?)",
        (hook.id, to_us(hook.created_at), hook.workspace, hook.user, hook.user),
    )
    return True


def _remove(connection: Connection, hook: Webhook) -> bool:
    connection.execute("DELETE FROM webhook_heads WHERE webhook = ?", (hook.id,))
    connection.execute("DELETE FROM webhooks WHERE id = ?", (hook.id,))
    return connection.changes() > 0


def _to_happenings(rows: Sequence[Any], since: int) -> list[Happened]:
    """Happenings out of rows in their order; what was learned since a time and has changed since
    was stored first."""
    told: list[Happened] = []
    for change, id, tier, kind, action, at, known, is_first in rows:
        if is_first and action != "stored" and known >= since:
            told.append(Happened(change, id, tier, kind, "stored", known))
        told.append(Happened(change, id, tier, kind, action, at))
    return told


def _state(hook: Webhook) -> list[Any]:
    """How a webhook fares, as its columns `_STATE`."""
    return [
        hook.failures, maybe_us(hook.failing_since), maybe_us(hook.due) or 0, hook.error,
        maybe_us(hook.disabled_at),
    ]  # fmt: skip


def _to_hook(row: Sequence[Any]) -> Webhook:
    return Webhook(
        id=row[0],
        workspace=row[1],
        user=row[2],
        url=row[3],
        events=list_of(row[4]),
        created_at=from_us(row[5]),
        failures=row[6],
        failing_since=maybe_from_us(row[7]),
        due=from_us(row[8]) if row[8] else None,
        error=row[9],
        disabled_at=maybe_from_us(row[10]),
        secret=row[11],
    )
