"""The PostgreSQL store keeps the contract, on a real server."""

import re
from collections.abc import Iterator

import pytest

from holdfast.store.postgres import PostgresStore
from holdfast.store.sql.records import _get_sql
from holdfast.testing.store_builders import ANN, an_entry, put
from holdfast.testing.store_suite import StoreSuite
from tests.servers import empty_store_url, new_database


class TestPostgresStore(StoreSuite):
    @pytest.fixture
    def store(self) -> Iterator[PostgresStore]:
        store = PostgresStore(empty_store_url())
        yield store
        store.close()


def test_each_row_is_looked_up_by_its_key_before_the_server_has_counted_any() -> None:
    """Else, in its first minute, it went through all of an owner for each row that was read."""
    with new_database() as url:
        store = PostgresStore(url)
        ids = put(store, ANN, *map(an_entry, range(1, 241)))
        values = [ANN.workspace, ANN.user, *(bytes.fromhex(each) for each in ids[:40])]
        with store._pool.reader() as connection:
            connection.narrow(ANN)
            told = f"EXPLAIN (ANALYZE, BUFFERS) {_get_sql(40, False)}"
            plan = "\n".join(row[0] for row in connection.execute(told, values))
        store.close()
    pages = max(int(hit) for hit in re.findall(r"shared hit=(\d+)", plan))
    assert 40 < pages < 40 * 20, plan
