"""Keys of the service.

In the column `tools` stands the list of a key's tools, or, with a limit, an object that holds both:
a version that knows of no limits takes it for a list of tools that do not exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import apsw
import orjson

from holdfast.errors import DamagedRow
from holdfast.store.sqlite.reading import readable
from holdfast.store.sqlite.rows import Part, from_us, marks, maybe_from_us, to_us
from holdfast.types import ApiKey

_KEY = "id, workspace, user, role, created_at, expires_at, revoked_at, label, tools"


class SqliteKeys(Part):
    """`Keys` on SQLite."""

    def add_key(self, key: ApiKey, digest: bytes) -> None:
        row = (
            key.id, key.workspace, key.user, key.role, to_us(key.created_at),
            to_us(key.expires_at) if key.expires_at else None, None, key.label,
            _limits(key), digest,
        )  # fmt: skip

        def work(connection: apsw.Connection) -> None:
            connection.execute(f"INSERT INTO api_keys ({_KEY}, digest) VALUES ({marks(10)})", row)

        self._writer.run(work)

    def find_key(self, digest: bytes) -> ApiKey | None:
        with self._pool.reader() as connection:
            row = connection.execute(
                f"SELECT {_KEY} FROM api_keys WHERE digest = ?", (digest,)
            ).fetchone()
        return _to_key(row) if row else None

    def held_key(self, key_id: str) -> tuple[ApiKey, bytes] | None:
        with self._pool.reader() as connection:
            row = connection.execute(
                f"SELECT {_KEY}, digest FROM api_keys WHERE id = ?", (key_id,)
            ).fetchone()
        return (_to_key(row), row[-1]) if row else None

    def api_keys(self) -> list[ApiKey]:
        with self._pool.reader() as connection:
            rows = connection.execute(f"SELECT {_KEY} FROM api_keys ORDER BY created_at, id")
            return list(readable(_to_key, rows))

    def rotate_key(self, key_id: str, digest: bytes) -> bool:
        def work(connection: apsw.Connection) -> bool:
            connection.execute(
                "UPDATE api_keys SET digest = ? WHERE id = ? AND revoked_at IS NULL",
                (digest, key_id),
            )
            return connection.changes() > 0

        return self._writer.run(work)

    def revoke_key(self, key_id: str, *, at: datetime) -> bool:
        def work(connection: apsw.Connection) -> bool:
            connection.execute(
                "UPDATE api_keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL",
                (to_us(at), key_id),
            )
            return connection.changes() > 0

        return self._writer.run(work)


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
