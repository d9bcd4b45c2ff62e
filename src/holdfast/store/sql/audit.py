"""The audit log: lines that are only ever added, chained by their hashes.

hash = SHA-256 (hash of the line before, then the line as JSON with sorted keys); before the first
line stand 32 zero bytes. The number of the last line is counted apart, so that a log that was cut
short is noticed too. Who can write to the file can also write a whole new log: keep the newest
hash elsewhere, where that matters: every verification over HTTP tells it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import apsw
import orjson

from holdfast.store.protocols import AuditLine
from holdfast.store.sql.rows import StorePart, from_us, to_us
from holdfast.store.sqlite.connection import readable

_LINE = "seq, at, workspace, owner, actor, action, subject, outcome, hash"
_BEFORE_THE_FIRST = bytes(32)
_BEYOND_THE_LAST = 2**63 - 1


class SqlAudit(StorePart):
    """`Audit`."""

    def note_audit(self, line: AuditLine) -> int:
        def work(connection: apsw.Connection) -> int:
            seq, before = _last(connection)
            made = replace(line, seq=seq + 1)
            connection.execute(
                f"INSERT INTO audit ({_LINE}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    made.seq, to_us(made.at), made.workspace, made.owner, made.actor, made.action,
                    made.subject, made.outcome, _hash(before, made),
                ),
            )  # fmt: skip
            connection.execute(
                "INSERT INTO counters (name, value) VALUES ('audit', ?)"
                " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                (made.seq,),
            )
            return made.seq

        return self._writer.run(work)

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
                f"SELECT {_LINE} FROM audit WHERE {where}{which} ORDER BY seq {order} LIMIT ?",
                (after, *values, limit),
            )
            return list(readable(_to_line, rows))

    def verify_audit(self) -> int | None:
        with self._pool.snapshot() as connection:
            return first_broken_line(connection)


def first_broken_line(connection: apsw.Connection) -> int | None:
    """The first number at which the chain breaks."""
    due, before = 1, _BEFORE_THE_FIRST
    for row in connection.execute(f"SELECT {_LINE} FROM audit ORDER BY seq"):
        line = _to_line(row)
        before = _hash(before, line)
        if line.seq != due or before.hex() != line.hash:
            return due
        due += 1
    counted = connection.execute("SELECT value FROM counters WHERE name = 'audit'").get or 0
    return None if counted == due - 1 else due


def _last(connection: apsw.Connection) -> tuple[int, bytes]:
    """The number and the hash of the last line that was ever written.

    By the counter as well as by the rows: a line that was cut off must leave a gap.
    """
    seq: int = connection.execute(
        "SELECT max(coalesce((SELECT value FROM counters WHERE name = 'audit'), 0),"
        " coalesce((SELECT max(seq) FROM audit), 0))"
    ).get
    found: bytes | None = connection.execute("SELECT hash FROM audit WHERE seq = ?", (seq,)).get
    return seq, found or _BEFORE_THE_FIRST


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


def _to_line(row: Sequence[Any]) -> AuditLine:
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
