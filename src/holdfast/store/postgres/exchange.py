"""Statements that travel together: sent in one message, answered in one.

A search and a write are a few tiny statements each, of which most is the way there and back, and
the driver's own work around a cursor. So this goes below its cursors (`psycopg.pq`): a third of the
work, and one message where its pipelines send one for each statement. What is said often is
prepared here, not by the driver, which lets go of all its prepared statements at every ROLLBACK.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import count
from typing import Any
from weakref import WeakKeyDictionary

import psycopg
from psycopg.abc import PQGen
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import error_from_result
from psycopg.generators import fetch_many, send
from psycopg.pq import ExecStatus, Format
from psycopg.pq.abc import PGconn, PGresult

#: What is said for this many times is prepared.
_OFTEN = 3
#: So much is prepared on a connection before all of it is let go, and so much counted.
_MOST_PREPARED = 300
_MOST_COUNTED = 2000
_CHANGES = (b"INSERT", b"UPDATE", b"DELETE")
#: What is said, and of which types its values are.
_Key = tuple[bytes, tuple[int, ...]]


class Statement:
    """A statement, and what became of it."""

    __slots__ = ("_dumped", "_said", "_values", "call", "result", "text")

    def __init__(self, text: str, values: Any = (), *, call: int = 0) -> None:
        self.text = text
        self._values = values
        #: Of which call of its connection it is; 0: of none.
        self.call = call
        self.result: PGresult | None = None

    def dump(self, raw: psycopg.Connection[Any]) -> _Key:
        """Make its values ready to be sent."""
        said, names = numbered(self.text)
        values = self._values
        if isinstance(values, Mapping):
            values = [values[name] for name in names]
        self._dumped = Transformer(raw)
        self._values = self._dumped.dump_sequence(values, [PyFormat.AUTO] * len(values))
        self._said = said, self._dumped.types or ()
        return self._said

    def prepare(self, pgconn: PGconn, name: bytes) -> None:
        pgconn.send_prepare(name, *self._said)

    def say(self, pgconn: PGconn, name: bytes | None) -> None:
        """Send it; with a name, what was prepared under that."""
        values, formats = self._values, self._dumped.formats
        if name is None:
            said, types = self._said
            pgconn.send_query_params(said, values, types, formats, Format.BINARY)
        else:
            pgconn.send_query_prepared(name, values, formats, Format.BINARY)

    def rows(self) -> list[Any]:
        """What it gave."""
        if self.result is None or self.result.status != ExecStatus.TUPLES_OK:
            return []
        self._dumped.set_pgresult(self.result)
        return self._dumped.load_rows(0, self.result.ntuples, tuple)

    @property
    def changed(self) -> int:
        """How many rows."""
        result = self.result
        if result is None or not (result.command_status or b"").startswith(_CHANGES):
            return 0
        return result.command_tuples or 0


@lru_cache(maxsize=1024)
def numbered(text: str) -> tuple[bytes, tuple[str, ...]]:
    """A statement with its marks numbered, as the server reads it, and the names that they had."""
    names: list[str] = []

    def mark(found: re.Match[str]) -> str:
        if found[0] == "%%":
            return "%"
        if found[1] is None or found[1] not in names:
            names.append(found[1] or "")
            return f"${len(names)}"
        return f"${names.index(found[1]) + 1}"

    return re.sub(r"%%|%s|%\((\w+)\)s", mark, text).encode(), tuple(names)


class _Prepared:
    """What one connection has prepared."""

    def __init__(self) -> None:
        self.names: dict[_Key, bytes] = {}
        self.said: Counter[_Key] = Counter()
        self.numbers = count()

    def is_often(self, key: _Key) -> bool:
        """Whether this was said often enough; it is said once more now."""
        if len(self.said) > _MOST_COUNTED:
            self.said.clear()
        self.said[key] += 1
        return self.said[key] >= _OFTEN

    def name(self, key: _Key) -> bytes:
        """A name that no other had: whether the server knows that of a statement which failed is
        not known."""
        self.names[key] = name = b"holdfast_%d" % next(self.numbers)
        return name


class Exchange:
    """Sends statements in one message."""

    def __init__(self, *, prepares: bool) -> None:
        self._prepares = prepares
        self._of: WeakKeyDictionary[psycopg.Connection[Any], _Prepared] = WeakKeyDictionary()

    def run(self, raw: psycopg.Connection[Any], statements: Sequence[Statement]) -> None:
        """Send statements in one message and hear all answers; the first failure is raised."""
        prepared = self._of.setdefault(raw, _Prepared())
        keys = [each.dump(raw) for each in statements]
        pgconn = raw.pgconn
        try:
            pgconn.enter_pipeline_mode()
            answers: list[Statement | None] = []
            if len(prepared.names) > _MOST_PREPARED:
                prepared.names.clear()
                pgconn.send_query_params(b"DEALLOCATE ALL", None)
                answers.append(None)
            new = []
            for statement, key in zip(statements, keys, strict=True):
                name = prepared.names.get(key)
                if name is None and self._prepares and prepared.is_often(key):
                    name = prepared.name(key)
                    new.append(key)
                    statement.prepare(pgconn, name)
                    answers.append(None)
                statement.say(pgconn, name)
                answers.append(statement)
            pgconn.pipeline_sync()
            failed = raw.wait(_hear(pgconn, [*answers, None]))
            pgconn.exit_pipeline_mode()
        except BaseException:
            raw.close()  # Answers may be on their way that nobody waits for.
            raise
        if failed is not None:
            for key in new:
                del prepared.names[key]
            raise error_from_result(failed)


def _hear(pgconn: PGconn, asked: Sequence[Statement | None]) -> PQGen[PGresult | None]:
    """Hear what became of statements, or (None) of what nobody asks for; the first failure."""
    failed: PGresult | None = None
    yield from send(pgconn)
    for statement in asked:
        results = yield from fetch_many(pgconn)
        if statement is not None:
            statement.result = results[-1]
        if failed is None and results[-1].status == ExecStatus.FATAL_ERROR:
            failed = results[-1]
    return failed
