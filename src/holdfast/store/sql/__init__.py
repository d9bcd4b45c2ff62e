"""The store in SQL that SQLite and PostgreSQL both read; what differs is in the drivers."""

from __future__ import annotations

from holdfast.settings import Index
from holdfast.store.sql.access import SqlKeys, SqlSharing
from holdfast.store.sql.audit import SqlAudit
from holdfast.store.sql.check import SqlCheck
from holdfast.store.sql.chores import SqlChores
from holdfast.store.sql.feed import SqlFeed
from holdfast.store.sql.hooks import SqlHooks
from holdfast.store.sql.jobs import SqlGroups, SqlQueue
from holdfast.store.sql.ledger import SqlLedger, SqlSpending
from holdfast.store.sql.log import SqlAnswers, SqlLog
from holdfast.store.sql.records import SqlLife, SqlListing, SqlRecords
from holdfast.store.sql.transfer import SqlTransfer
from holdfast.store.values import LargeOwner, Space
from holdfast.types import Scope


class SqlStore(
    SqlLog,
    SqlRecords,
    SqlListing,
    SqlLife,
    SqlFeed,
    SqlQueue,
    SqlGroups,
    SqlLedger,
    SqlSpending,
    SqlKeys,
    SqlAnswers,
    SqlAudit,
    SqlHooks,
    SqlSharing,
    SqlChores,
    SqlCheck,
    SqlTransfer,
):
    """All of `Store` but what a driver adds: `backup`, `health`, `close`, and the methods that are
    not implemented here."""

    def index_large(self, scope: Scope, space: Space, settings: Index) -> int:
        """All owners of a file are held in memory."""
        return 0

    def large_owner(self, scope: Scope, space: Space) -> LargeOwner | None:
        return None

    def _loaded(self) -> None:
        """Many rows were loaded at once."""
