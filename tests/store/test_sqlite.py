"""The SQLite store keeps the contract, and the contract notices when it is broken."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.store.sqlite import SqliteStore
from holdfast.testing.store_suite import StoreSuite


class TestSqliteStore(StoreSuite):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[SqliteStore]:
        store = SqliteStore(tmp_path / "memory.db")
        yield store
        store.close()
