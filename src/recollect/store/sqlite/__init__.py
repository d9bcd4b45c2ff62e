"""The embedded store: one SQLite file, safe for threads and for several processes."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from recollect import private
from recollect.errors import StoreError
from recollect.store.sqlite.answers import SqliteAnswers
from recollect.store.sqlite.audit import SqliteAudit
from recollect.store.sqlite.check import SqliteCheck
from recollect.store.sqlite.chores import SqliteChores
from recollect.store.sqlite.connection import ReadPool, connect, errors_of
from recollect.store.sqlite.feed import SqliteFeed
from recollect.store.sqlite.groups import SqliteGroups
from recollect.store.sqlite.hooks import SqliteHooks
from recollect.store.sqlite.jobs import SqliteQueue
from recollect.store.sqlite.keys import SqliteKeys
from recollect.store.sqlite.ledger import SqliteLedger
from recollect.store.sqlite.life import SqliteLife
from recollect.store.sqlite.listing import SqliteListing
from recollect.store.sqlite.log import SqliteLog
from recollect.store.sqlite.migrate import migrate
from recollect.store.sqlite.records import SqliteRecords
from recollect.store.sqlite.sharing import SqliteSharing
from recollect.store.sqlite.spending import SqliteSpending
from recollect.store.sqlite.transfer import SqliteTransfer
from recollect.store.sqlite.turns import Turns
from recollect.store.sqlite.writer import Writer

log = logging.getLogger("recollect.store")


class SqliteStore(
    SqliteLog,
    SqliteRecords,
    SqliteListing,
    SqliteLife,
    SqliteFeed,
    SqliteQueue,
    SqliteGroups,
    SqliteLedger,
    SqliteSpending,
    SqliteKeys,
    SqliteAnswers,
    SqliteAudit,
    SqliteHooks,
    SqliteSharing,
    SqliteChores,
    SqliteCheck,
    SqliteTransfer,
):
    """`Store` on one SQLite file. `synchronous` other than FULL is for the power-loss harness."""

    def __init__(
        self, path: str | Path, *, vfs: str | None = None, synchronous: str = "FULL"
    ) -> None:
        if str(path).startswith(":"):
            raise StoreError(f"{path} would live in one connection only: name a file")
        # Absolute: the working directory may change before the next connection is opened.
        self._path = os.path.abspath(path)
        is_new = not os.path.exists(self._path)
        if vfs is None:
            _tighten(self._path)
        self._pool = ReadPool(self._path, vfs=vfs)
        connection = connect(self._path, vfs=vfs, synchronous=synchronous, unread=self._pool.unread)
        try:
            with errors_of(self._path):
                migrate(connection, self._path)
        except BaseException:
            connection.close()
            raise
        if is_new and vfs is None:
            _sync_folder(Path(self._path))
        self._writer = Writer(connection, self._path)
        self._turns = Turns()

    def close(self) -> None:
        self._pool.close()
        self._writer.close()


def _tighten(path: str) -> None:
    """Older versions left it to the umask who may read a store."""
    wide = [each for each in (path, path + "-wal", path + "-shm") if private.tighten(each)]
    if path in wide:
        log.warning("%s could be read by others than its owner: that was taken from them", path)


def _sync_folder(path: Path) -> None:
    """Without this a power cut could lose the name of a new file, and with it everything inside."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
