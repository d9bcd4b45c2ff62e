"""The audit log: lines that are only ever added, chained by their hashes.

hash = SHA-256 (hash of the line before, then the line as JSON with sorted keys); before the first
line stand 32 zero bytes. The number of the last line is counted apart, so that a log that was cut
short is noticed too. Who can write to the file can also write a whole new log: keep the newest
hash elsewhere, where that matters: every verification over HTTP tells it. A file has one chain, a
server one for each workspace (`Connection.chain`): no line waits for those of others.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import orjson

from holdfast.store.protocols import AuditLine
from holdfast.store.sql.engine import Connection, StorePart, from_us, matching, readable, to_us
from holdfast.store.values import Verified

_LINE = "seq, at, workspace, owner, actor, action, subject, outcome, hash"
_BEFORE_THE_FIRST = bytes(32)
_BEYOND_THE_LAST = 2**63 - 1


class SqlAudit(StorePart):
    """`Audit`."""

    def note_audit(self, line: AuditLine) -> int:
        return self._writer.run(lambda connection: add_line(connection, line))

    def audit(
        self,
        *,
        workspace: str | None = None,
        after: int = 0,
        limit: int = 100,
        newest_first: bool = False,
    ) -> list[AuditLine]:
        if newest_first:
            where, order, after = "seq < ?", "DESC", after or _BEYOND_THE_LAST
        else:
            where, order = "seq > ?", "ASC"
        which = "" if workspace is None else " AND workspace = ?"
        values = () if workspace is None else (workspace,)
        with self._pool.reader() as connection:
            rows = connection.execute(
                f"SELECT {_LINE} FROM audit WHERE {where}{which}"
                f" ORDER BY seq {order}, workspace LIMIT ?",
                (after, *values, limit),
            )
            return list(readable(to_line, rows))

    def verify_audit(self, workspace: str | None = None) -> Verified:
        with self._pool.snapshot() as connection:
            chains = verified_chains(connection, workspace)
        broken = next((each for each in chains if each.broken_at is not None), None)
        if broken is not None or len(chains) == 1:
            return broken or chains[0]
        return Verified(None, sum(each.lines for each in chains), None)


def add_line(connection: Connection, line: AuditLine) -> int:
    """Append a line to its chain; its number."""
    chain = connection.chain(line.workspace)
    connection.lock(_counter(chain))
    seq, before = _last(connection, chain)
    made = replace(line, seq=seq + 1)
    connection.execute(
        f"INSERT INTO audit ({_LINE}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            made.seq, to_us(made.at), made.workspace, made.owner, made.actor, made.action,
            made.subject, made.outcome, _hash(before, made),
        ),
    )  # fmt: skip
    connection.execute(
        "INSERT INTO counters (name, value) VALUES (?, ?)"
        " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        (_counter(chain), made.seq),
    )
    return made.seq


def verified_chains(connection: Connection, workspace: str | None = None) -> list[Verified]:
    """Every chain, or that with the lines of a workspace, looked at line by line."""
    if workspace is not None or connection.chain("") is None:
        return [_verified(connection, connection.chain(workspace or ""))]
    names = connection.execute(
        "SELECT DISTINCT workspace FROM audit UNION"
        " SELECT substr(name, 7) FROM counters WHERE name >= 'audit ' AND name < 'audit!'"
        " ORDER BY 1"
    ).fetchall()
    return [_verified(connection, name) for (name,) in names]


def _verified(connection: Connection, chain: str | None) -> Verified:
    due, before = 1, _BEFORE_THE_FIRST
    which, values = matching({"workspace": chain})
    for row in connection.stream(f"SELECT {_LINE} FROM audit WHERE {which} ORDER BY seq", values):
        line = to_line(row)
        before = _hash(before, line)
        if line.seq != due or before.hex() != line.hash:
            return Verified(due, due - 1, None)
        due += 1
    counted = connection.execute(
        "SELECT value FROM counters WHERE name = ?", (_counter(chain),)
    ).get
    if (counted or 0) != due - 1:
        return Verified(due, due - 1, None)
    return Verified(None, due - 1, before.hex() if due > 1 else None)


def _counter(chain: str | None) -> str:
    """Under which name the lines of a chain are counted."""
    return "audit" if chain is None else f"audit {chain}"


def _last(connection: Connection, chain: str | None) -> tuple[int, bytes]:
    """The number and the hash of the last line that was ever written.

    By the counter as well as by the rows: a line that was cut off must leave a gap.
    """
    which, values = matching({"workspace": chain})
    counted = connection.execute(
        "SELECT value FROM counters WHERE name = ?", (_counter(chain),)
    ).get
    row = connection.execute(
        f"SELECT seq, hash FROM audit WHERE {which} ORDER BY seq DESC LIMIT 1", values
    ).fetchone()
    seq, found = row or (0, _BEFORE_THE_FIRST)
    return (seq, found) if seq >= (counted or 0) else (counted, _BEFORE_THE_FIRST)


def _hash(before: bytes, line: AuditLine) -> bytes:
    told = {
        "seq": line.seq,
        "at": to_us(line.at),
        "workspace": line.workspace,
        "owner": line.owner,
        "actor": line.actor,
        "action": line.action,
        "subject": line.subject,
        "outcome": line.outcome,
    }
    text = orjson.dumps(told, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(before + text).digest()


def to_line(row: Sequence[Any]) -> AuditLine:
    """A row of `_LINE` columns as a line."""
    return AuditLine(
        seq=row[0],
        at=from_us(row[1]),
        workspace=row[2],
        owner=row[3],
        actor=row[4],
        action=row[5],
        subject=row[6],
        outcome=row[7],
        hash=row[8].hex(),
    )
