"""Taking a whole store out and in: dump, load, online backup, counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import apsw

from holdfast.errors import StoreError
from holdfast.store.base import Derive, Dumped, Progress
from holdfast.store.sealing import seal
from holdfast.store.sqlite.connection import connect, errors_of
from holdfast.store.sqlite.dumping import dumped
from holdfast.store.sqlite.loading import loaded
from holdfast.store.sqlite.rows import Part

_PAGES_AT_ONCE = 256


class SqliteTransfer(Part):
    """The moving half of `Upkeep` on SQLite."""

    def backup(self, path: Path, *, progress: Progress | None = None) -> None:
        if path.exists() and path.stat().st_size:
            raise StoreError(f"{path} exists already: a backup never overwrites a file")
        target = connect(str(path))
        try:
            with self._pool.reader() as source, errors_of(str(path)):
                with target.backup("main", source, "main") as copy:
                    while not copy.done:
                        copy.step(_PAGES_AT_ONCE)
                        if progress:
                            progress(copy.page_count - copy.remaining, copy.page_count)
                verdict = target.execute("PRAGMA integrity_check").get
                if verdict != "ok":
                    raise StoreError(f"the backup {path} is damaged: {verdict}")
                # One plain file, complete without a -wal beside it.
                target.execute("PRAGMA journal_mode = DELETE")
        finally:
            target.close()
        seal(path)

    def dump(self, *, vectors: bool = True) -> Iterator[Dumped]:
        with self._pool.snapshot() as connection:
            yield from dumped(connection, vectors=vectors)

    def load(self, rows: Sequence[Dumped], derive: Derive, *, steps: Sequence[str]) -> list[bool]:
        def work(connection: apsw.Connection) -> list[bool]:
            return [loaded(connection, row, derive, steps) for row in rows]

        return self._writer.run(work)

    def stats(self) -> dict[str, int]:
        with self._pool.snapshot() as connection:
            counts = {
                name: connection.execute(f"SELECT count(*) FROM {table}").get
                for name, table in (
                    ("owners", "owners"),
                    ("events", "events"),
                    ("forgotten", "records WHERE forgotten_at IS NOT NULL AND tier = 'session'"),
                    ("records", "records WHERE tier != 'session'"),
                    ("vectors", "vectors"),
                )
            }
            for state in ("ready", "running", "dead"):
                counts[state] = connection.execute(
                    "SELECT count(*) FROM jobs WHERE state = ?", (state,)
                ).get
        return counts
