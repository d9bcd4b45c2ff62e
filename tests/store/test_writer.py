"""Work that nobody waits for: written soon, in order, and never at the cost of other work."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.errors import Closed
from holdfast.store.sql.engine import Connection
from holdfast.store.sqlite import SqliteStore
from holdfast.store.sqlite.connection import SqliteConnection
from holdfast.store.sqlite.writer import Writer
from holdfast.testing.store_suite import ANN, NOON, a_note, an_entry, put


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Writer]:
    connection = SqliteConnection(str(tmp_path / "w.db"))
    connection.execute("CREATE TABLE t (x INTEGER UNIQUE) STRICT")
    writer = Writer(connection, "w.db")
    yield writer
    writer.close()


def insert(connection: Connection, number: int) -> None:
    connection.execute("INSERT INTO t VALUES (?)", (number,))


def count(writer: Writer) -> int:
    found: int = writer.run(lambda connection: connection.execute("SELECT count(*) FROM t").get)
    return found


def test_the_caller_does_not_wait_and_whoever_settles_does(writer: Writer) -> None:
    may_go, is_done = threading.Event(), threading.Event()

    def slow(connection: Connection) -> None:
        assert may_go.wait(60)
        insert(connection, 1)
        is_done.set()

    writer.later(slow, "a row")
    assert not is_done.is_set(), "it returned before the work was done"
    threading.Timer(0.2, may_go.set).start()
    writer.settle()
    assert is_done.is_set()
    assert count(writer) == 1


def test_a_failure_is_logged_and_hurts_nobody(
    writer: Writer, caplog: pytest.LogCaptureFixture
) -> None:
    for number in (1, 1, 2):
        writer.later(lambda connection, n=number: insert(connection, n), f"row {number}")  # type: ignore[misc]
    writer.settle()
    assert count(writer) == 2
    assert [record.getMessage().split(" was")[0] for record in caplog.records] == ["row 1"]


def test_what_is_written_along_is_not_lost_to_another_block(writer: Writer) -> None:
    with (
        writer.along(lambda connection: insert(connection, 1)),
        pytest.raises(RuntimeError, match="do not nest"),
        writer.along(lambda connection: insert(connection, 2)),
    ):
        pass
    with writer.along(lambda connection: insert(connection, 3)):
        with pytest.raises(RuntimeError), writer.along(lambda connection: insert(connection, 4)):
            pass
        writer.run(lambda connection: insert(connection, 5))
    found = writer.run(lambda connection: connection.execute("SELECT x FROM t").fetchall())
    assert found == [(5,), (3,)]


def test_settling_without_work_returns_at_once(writer: Writer) -> None:
    writer.settle()


def test_a_closed_writer_has_done_what_was_handed_over_and_takes_no_more(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "m.db")
    put(store, ANN, an_entry(1))
    store.note_context(ANN, a_note(1))
    store.close()
    with pytest.raises(Closed):
        store.note_context(ANN, a_note(2))
    again = SqliteStore(tmp_path / "m.db")
    assert again.contexts(ANN, since=NOON, limit=9) == [a_note(1)]
    again.close()
