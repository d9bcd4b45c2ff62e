"""What owners let other workspaces see, and how much agents are trusted."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import apsw
import orjson

from holdfast.store.protocols import Share
from holdfast.store.sqlite.reading import readable
from holdfast.store.sqlite.rows import (
    StorePart,
    from_us,
    list_of,
    matching,
    maybe_from_us,
    maybe_us,
    owner_made,
    owner_of,
    to_us,
)
from holdfast.types import Scope

#: Columns of a share `s` of an owner `o`.
SHARE = (
    "o.workspace, o.user, s.id, s.receiver, s.segments, s.permission, s.created_at, s.expires_at,"
    " s.revoked_at"
)


class SqliteSharing(StorePart):
    """`Sharing` on SQLite."""

    def put_share(self, share: Share, *, was: Share | None = None) -> bool:
        def work(connection: apsw.Connection) -> bool:
            if was is None:
                return store_share(connection, owner_made(connection, share.scope), share)
            connection.execute(
                "UPDATE shares SET revoked_at = ? WHERE owner = ? AND id = ? AND revoked_at IS ?",
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
            rows = connection.execute(
                f"SELECT {SHARE} FROM shares s JOIN owners o USING (owner) WHERE {which}"
                " ORDER BY s.created_at DESC, s.owner DESC, s.id DESC",
                values,
            )
            return list(readable(to_share, rows))

    def agent_trust(self, workspace: str) -> dict[str, float]:
        with self._pool.reader() as connection:
            rows = connection.execute(
                "SELECT agent, trust FROM agents WHERE workspace = ? ORDER BY agent", (workspace,)
            )
            return dict(rows)

    def set_agent_trust(self, workspace: str, agent: str, trust: float, *, at: datetime) -> None:
        def work(connection: apsw.Connection) -> None:
            connection.execute(
                "INSERT INTO agents (workspace, agent, trust, at) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (workspace, agent) DO UPDATE"
                " SET trust = excluded.trust, at = excluded.at WHERE trust != excluded.trust",
                (workspace, agent, trust, to_us(at)),
            )

        self._writer.run(work)


def store_share(connection: apsw.Connection, owner: int, share: Share) -> bool:
    """Store a share unless this owner has one with its id; whether it was stored."""
    connection.execute(
        "INSERT OR IGNORE INTO shares (owner, id, receiver, segments, permission, created_at,"
        " expires_at, revoked_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
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
