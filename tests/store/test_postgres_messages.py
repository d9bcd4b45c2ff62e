"""What becomes of a message to a server of which a statement fails."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from holdfast.errors import StoreError
from holdfast.store.postgres import PostgresStore
from holdfast.store.postgres.exchange import numbered
from holdfast.store.sql.engine import Connection
from holdfast.testing.store_builders import ANN, EMBED, NOON, an_entry, put
from tests.servers import empty_store_url


@pytest.fixture
def store() -> Iterator[PostgresStore]:
    with closing(PostgresStore(empty_store_url())) as opened:
        put(opened, ANN, an_entry(1))
        yield opened


def test_the_first_failure_of_a_message_is_told_and_nothing_of_it_is_done(
    store: PostgresStore,
) -> None:
    def work(writing: Connection) -> None:
        writing.execute("INSERT INTO chores (name, at) VALUES ('mine', 1)")
        writing.execute("SELECT 1 / 0")
        writing.execute("SELECT nonsense")

    for _ in range(5):  # Also once the server knows the statements that are said so often.
        with pytest.raises(StoreError, match="division by zero"):
            store._writer.run(work)
    assert "mine" not in store.chores()
    assert store.append(ANN, [an_entry(2)], known_at=NOON, steps=[EMBED]).events


def test_what_failed_unsaid_is_said_again(store: PostgresStore) -> None:
    """A statement behind one that fails is not prepared, whatever was meant to be."""

    def read(divisor: int) -> Any:
        with store._pool.reader() as connection:
            connection.execute("SELECT 1 / ?", (divisor,))
            return connection.execute("SELECT 7").get

    for _ in range(4):
        with pytest.raises(StoreError, match="division by zero"):
            read(0)
    assert [read(1) for _ in range(5)] == [7] * 5


def test_more_statements_than_a_server_should_know_are_let_go(store: PostgresStore) -> None:
    for _ in range(4):
        with store._pool.reader() as connection:
            found = [connection.execute(f"SELECT {number}").get for number in range(320)]
        assert found == [*range(320)]


def test_changes_are_those_of_the_last_call(store: PostgresStore) -> None:
    def work(writing: Connection) -> list[int]:
        insert = "INSERT INTO counters (name, value) VALUES (?, ?)"
        writing.executemany(insert, [(f"name {number}", number) for number in range(150)])
        many = writing.changes()
        writing.execute("UPDATE counters SET value = 1 WHERE name LIKE 'name 1%'")
        writing.executemany(insert, [])
        none = writing.changes()
        writing.execute("DELETE FROM counters WHERE name LIKE 'name %'")
        return [many, none, writing.changes(), writing.total_changes()]

    assert store._writer.run(work) == [150, 0, 150, 150 + 61 + 150]


def test_marks_are_numbered() -> None:
    assert numbered("a = %s AND b %% c = %s") == (b"a = $1 AND b % c = $2", ("", ""))
    assert numbered("%(x)s, %(y)s, %(x)s") == (b"$1, $2, $1", ("x", "y"))
