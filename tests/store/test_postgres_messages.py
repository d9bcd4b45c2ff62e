"""How many messages to a server a search and a write take: most of what they cost there is the way
there and back, so it is counted. And what becomes of a message of which a statement fails."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

import psycopg
import pytest

import holdfast
from holdfast.errors import StoreError
from holdfast.memory.memory import Memory
from holdfast.store.postgres import PostgresStore
from holdfast.store.postgres.exchange import Exchange, Statement, numbered
from holdfast.store.postgres.writer import PostgresWriter
from holdfast.store.protocols import KeyUse
from holdfast.store.sql.engine import Connection
from holdfast.testing.fakes import HashEmbedder
from holdfast.testing.store_builders import ANN, EMBED, NOON, an_entry, put
from tests.servers import empty_store_url

CONFIG = {"extraction": {"enabled": False}}
Messages = list[list[str]]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Messages:
    """The messages that are sent: the statements of each."""
    messages: Messages = []
    run = Exchange.run

    def noted(
        self: Exchange, raw: psycopg.Connection[Any], statements: Sequence[Statement]
    ) -> None:
        messages.append([each.text for each in statements])
        run(self, raw, statements)

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("a message beside those that are counted")

    monkeypatch.setattr(Exchange, "run", noted)
    for name in ("execute", "executemany"):
        monkeypatch.setattr(psycopg.Cursor, name, refused)
    return messages


def said(*lines: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": line} for line in lines]


@pytest.fixture
def memory() -> Iterator[Memory]:
    url = empty_store_url()
    with holdfast.open(url, embedder=HashEmbedder(), worker=False, config=CONFIG) as opened:
        opened.remember(said("I drink tea.", "I live in Lisbon.", "My cat is Miso."), user="ann")
        opened.worker.drain()
        opened.recall("What do I drink?", user="ann")
        yield opened


@pytest.fixture
def store() -> Iterator[PostgresStore]:
    with closing(PostgresStore(empty_store_url())) as opened:
        put(opened, ANN, an_entry(1))
        yield opened


@pytest.mark.parametrize("text", ["tea", "What do I drink?", "Where do I live?", "my cat's name"])
def test_a_search_is_two_messages(memory: Memory, sent: Messages, text: str) -> None:
    """One tells whether anything changed and who shares, one reads what is told; where a question
    is answered from the words of a few, these are read before."""
    assert memory.recall(text, user="ann")
    heads, *records = [each[-1] for each in sent if "FROM spaces" not in each[-1]]  # Every 2 s.
    assert "FROM shares" in heads, sent
    assert 1 <= len(records) <= 2, sent
    assert all("FROM records" in each for each in records), sent


def test_a_search_after_a_write_reads_what_changed_once(memory: Memory, sent: Messages) -> None:
    memory.remember("I play the cello.", user="ann")
    del sent[:]
    assert memory.recall("What do I play?", user="ann")[0].content == "I play the cello."
    read = [each[-1] for each in sent if "r.change > " in each[-1] and "r.kind" in each[-1]]
    assert len(read) == 2, "what is of turns, and the few others"
    assert len(sent) <= 12, sent


@pytest.mark.parametrize("turns", [1, 32])
def test_a_write_is_two_messages(memory: Memory, sent: Messages, turns: int) -> None:
    """One takes places in the owner's order, one stores and commits."""
    lines = [f"Line {number} of what I said." for number in range(turns)]
    memory.remember(said(*lines), user="ann")
    assert len(sent) == 2, sent
    assert sent[-1][-1] == "COMMIT"


def test_what_is_done_once_by_its_key_is_four_messages(
    store: PostgresStore, sent: Messages
) -> None:
    key = KeyUse("key", b"body")
    for number, most in ((2, 4), (3, 4)):
        del sent[:]
        done = store.append(ANN, [an_entry(number)], known_at=NOON, steps=[EMBED], key=key)
        assert done.duplicate is (number == 3)
        assert len(sent) <= most, sent


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


def test_opening_what_is_in_order_begins_no_transaction_that_writes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url, begun = empty_store_url(), []
    transact = PostgresWriter.transact

    def noted(writer: PostgresWriter, work: Any, *, alone: bool) -> Any:
        begun.append(work)
        return transact(writer, work, alone=alone)

    holdfast.open(url, embedder=HashEmbedder(), worker=False, config=CONFIG).close()
    monkeypatch.setattr(PostgresWriter, "transact", noted)
    holdfast.open(url, embedder=HashEmbedder(), worker=False, config=CONFIG).close()
    assert not begun
