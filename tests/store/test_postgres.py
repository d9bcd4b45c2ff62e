"""The PostgreSQL store keeps the contract, on a real server."""

from collections.abc import Iterator

import pytest

from holdfast.store.postgres import PostgresStore
from holdfast.testing.store_suite import StoreSuite
from tests.servers import empty_store_url


class TestPostgresStore(StoreSuite):
    @pytest.fixture
    def store(self) -> Iterator[PostgresStore]:
        store = PostgresStore(empty_store_url())
        yield store
        store.close()
