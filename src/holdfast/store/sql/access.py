"""Who may do what: keys of the service, what owners let other workspaces see, trust in agents."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

import orjson

from holdfast.errors import DamagedRow
from holdfast.store.protocols import Head, Share, StoredKey
from holdfast.store.sql.engine import (
    Connection,
    StorePart,
    ensure_owner,
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
from holdfast.store.sql.feed import FIRST_EPOCH, HEAD
from holdfast.types import ApiKey, Scope

#: In the column `tools` stands the list of a key's tools, or, with a limit, an object that holds
#: both: a version that knows of no limits takes it for a list of tools that do not exist.
_KEY = "id, workspace, user, role, created_at, expires_at, revoked_at, label, tools"


class SqlKeys(StorePart):
    """`Keys`."""

    def put_key(self, key: StoredKey, *, was: StoredKey | None = None) -> bool:
        new = key.key
        row = (
            new.id, new.workspace, new.user, new.role, to_us(new.created_at),
            maybe_us(new.expires_at), maybe_us(new.revoked_at), new.label, _limits(new), key.digest,
        )  # fmt: skip

        def work(connection: Connection) -> bool:
            if was is None:
                connection.execute(
                    f"INSERT INTO api_keys ({_KEY}, digest) VALUES ({marks(10)})"
                    " ON CONFLICT DO NOTHING",
                    row,
                )
            else:
                connection.execute(
                    "UPDATE api_keys SET digest = ?, revoked_at = ?"
                    " WHERE id = ? AND digest = ? AND revoked_at IS NOT DISTINCT FROM ?",
                    (key.digest, row[6], new.id, was.digest, maybe_us(was.key.revoked_at)),
                )
            return connection.changes() > 0

        return self._writer.run(work)

    def api_keys(self, *, id: str | None = None, digest: bytes | None = None) -> list[StoredKey]:
        which, values = matching({"id": id, "digest": digest})
        with self._pool.reader() as connection:
            rows = connection.execute(
                f"SELECT {_KEY}, digest FROM api_keys WHERE {which} ORDER BY created_at, id", values
            )
            return list(readable(lambda row: StoredKey(_to_key(row), row[-1]), rows))


def _limits(key: ApiKey) -> str | None:
    if key.tokens_a_day is not None:
        both = {"tools": key.tools, "tokens_a_day": key.tokens_a_day}
        return orjson.dumps(both).decode()
    return None if key.tools is None else orjson.dumps(key.tools).decode()


def _to_key(row: Sequence[Any]) -> ApiKey:
    try:
        read = None if row[8] is None else orjson.loads(row[8])
    except orjson.JSONDecodeError:
        raise DamagedRow from None
    limits = read if isinstance(read, dict) else {"tools": read}
    tools = limits["tools"]
    return ApiKey(
        id=row[0],
        workspace=row[1],
        user=row[2],
        role=row[3],
        created_at=from_us(row[4]),
        expires_at=maybe_from_us(row[5]),
        revoked_at=maybe_from_us(row[6]),
        label=row[7],
        tools=None if tools is None else tuple(tools),
        tokens_a_day=limits.get("tokens_a_day"),
    )


#: Columns of a share `s` of an owner `o`.
SHARE = (
    "o.workspace, o.user, s.id, s.receiver, s.segments, s.permission, s.created_at, s.expires_at,"
    " s.revoked_at"
)


@lru_cache
def _shares(which: str) -> str:
    return (
        f"SELECT {SHARE} FROM shares s JOIN owners o USING (owner) WHERE {which}"
        " ORDER BY s.created_at DESC, s.owner DESC, s.id DESC"
    )


@lru_cache
def _heads(users: int) -> str:
    """The heads of several users of a workspace."""
    asked = " UNION ALL ".join(["SELECT CAST(? AS TEXT) AS user"] * users)
    return (
        f"SELECT a.user, {HEAD} FROM ({asked}) AS a"
        f" LEFT JOIN owners o ON o.workspace = ? AND o.user = a.user{FIRST_EPOCH}"
    )


class SqlSharing(StorePart):
    """`Sharing`."""

    def put_share(self, share: Share, *, was: Share | None = None) -> bool:
        def work(connection: Connection) -> bool:
            if was is None:
                return store_share(connection, ensure_owner(connection, share.scope), share)
            connection.execute(
                "UPDATE shares SET revoked_at = ? WHERE owner = ? AND id = ?"
                " AND revoked_at IS NOT DISTINCT FROM ?",
                (
                    maybe_us(share.revoked_at), owner_of(connection, share.scope), share.id,
                    maybe_us(was.revoked_at),
                ),
            )  # fmt: skip
            return connection.changes() > 0

        return self._writer.run(work)

    def shares(self, *, to: str | None = None, granted_by: Scope | None = None) -> list[Share]:
        by = (granted_by.workspace, granted_by.user) if granted_by else (None, None)
        which, values = matching({"s.receiver": to, "o.workspace": by[0], "o.user": by[1]})
        with self._pool.reader() as connection:
            return list(readable(to_share, connection.execute(_shares(which), values)))

    def look(self, workspace: str, users: Sequence[str]) -> tuple[list[Head], list[Share]]:
        def read() -> tuple[list[Head], list[Share]]:
            # Both before either is looked at: so a server is asked once.
            stands = connection.execute(_heads(len(users)), (*users, workspace))
            shares = connection.execute(_shares("s.receiver = ?"), (workspace,))
            found = {user: Head(epoch, change) for user, epoch, change in stands}
            return [found[user] for user in users], list(readable(to_share, shares))

        with self._pool.reader() as connection:
            heads, shares = connection.until_written(("look", workspace, *users), read)
            return [*heads], [*shares]

    def agent_trust(self, workspace: str) -> dict[str, float]:
        with self._pool.reader() as connection:
            rows = connection.execute(
                "SELECT agent, trust FROM agents WHERE workspace = ? ORDER BY agent", (workspace,)
            )
            return dict(rows)

    def set_agent_trust(self, workspace: str, agent: str, trust: float, *, at: datetime) -> None:
        def work(connection: Connection) -> None:
            connection.execute(
                "INSERT INTO agents (workspace, agent, trust, at) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (workspace, agent) DO UPDATE"
                " SET trust = excluded.trust, at = excluded.at"
                " WHERE agents.trust != excluded.trust",
                (workspace, agent, trust, to_us(at)),
            )

        self._writer.run(work)


def store_share(connection: Connection, owner: int, share: Share) -> bool:
    """Store a share unless this owner has one with its id; whether it was stored."""
    connection.execute(
        "INSERT INTO shares (owner, id, receiver, segments, permission, created_at,"
        " expires_at, revoked_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (
            owner, share.id, share.to, orjson.dumps(share.segments).decode(), share.permission,
            to_us(share.created_at), maybe_us(share.expires_at), maybe_us(share.revoked_at),
        ),
    )  # fmt: skip
    return connection.changes() > 0


def to_share(row: Sequence[Any]) -> Share:
    """A row of `SHARE` columns as a Share."""
    return Share(
        id=row[2],
        scope=Scope(row[0], row[1]),
        to=row[3],
        segments=list_of(row[4]),
        permission=row[5],
        created_at=from_us(row[6]),
        expires_at=maybe_from_us(row[7]),
        revoked_at=maybe_from_us(row[8]),
    )
