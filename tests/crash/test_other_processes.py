"""Forks, locks and openings at the same moment."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

import holdfast
from holdfast.errors import StoreBusy
from holdfast.memory.memory import Memory
from holdfast.records.entries import index_row
from holdfast.store.sqlite import SqliteStore, connection
from holdfast.store.sqlite.connection import migrate
from holdfast.testing import HashEmbedder
from tests.crash.child import ended

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")

FORKED = "StoreError: this memory was opened before a fork: open it again in this process"


def opened(path: Path) -> Memory:
    return holdfast.open(path, embedder=HashEmbedder(), worker=False)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


def test_a_fork_must_open_the_memory_itself(path: Path) -> None:
    with opened(path) as memory:
        event = memory.remember("tea at four", user="ann").events[0]
        assert ended(lambda: memory.remember("coffee", user="ann")) == FORKED
        assert ended(lambda: memory.recall("tea", user="ann")) == FORKED
        assert ended(lambda: memory.status(event, user="ann")) == FORKED
        assert ended(lambda: memory.forget(event, user="ann")) == FORKED
        assert ended(memory.close) == "ok"
        assert ended(lambda: opened(path).remember("from the child", user="ann")) == "ok"
        memory.remember("and the parent goes on", user="ann")
        assert memory.store.stats()["events"] == 3
        memory.drain()
        assert [f for f in memory.store.check(index_row) if not f.ok] == []


@pytest.fixture
def held(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A store whose write lock another process holds."""
    opened(path).close()
    monkeypatch.setattr(connection, "BUSY_SECONDS", 0.3)
    locked_read, locked_write = os.pipe()
    go_read, go_write = os.pipe()

    def hold() -> None:
        os.close(go_write)
        other = apsw.Connection(str(path))
        other.execute("BEGIN EXCLUSIVE")
        os.write(locked_write, b"!")
        os.read(go_read, 1)

    holder = threading.Thread(target=ended, args=(hold,))
    holder.start()
    os.read(locked_read, 1)
    yield path
    os.close(go_write)
    holder.join()


def test_a_lock_held_for_too_long_is_told(held: Path) -> None:
    with pytest.raises(StoreBusy, match=r"another process has held .*memory\.db"):
        opened(held).remember("tea at four", user="ann")


def test_reading_goes_on_under_a_foreign_lock(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "BUSY_SECONDS", 0.3)
    with opened(path) as memory:
        event = memory.remember("tea at four", user="ann").events[0]
        other = apsw.Connection(str(path))
        other.execute("BEGIN EXCLUSIVE")
        assert [hit.id for hit in memory.recall("tea", user="ann")] == [event]
        with pytest.raises(StoreBusy):
            memory.remember("coffee at five", user="ann")
        other.execute("ROLLBACK")
        memory.remember("coffee at five", user="ann")
        other.close()
        assert memory.store.stats()["events"] == 2


def test_a_new_file_may_be_opened_by_many_at_once(path: Path) -> None:
    ends: list[str] = []
    threads = [
        threading.Thread(target=lambda: ends.append(ended(lambda: opened(path).close())))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ends == ["ok"] * 8


def test_a_new_store_is_ours_also_when_another_process_makes_it_meanwhile(path: Path) -> None:
    """Between two looks at an empty file another process may fill it."""
    late = connection.connect(str(path))

    def make_it_meanwhile(_: apsw.Cursor, sql: str, __: object) -> bool:
        if "sqlite_schema" in sql:
            late.exec_trace = None
            SqliteStore(path).close()
        return True

    late.exec_trace = make_it_meanwhile
    migrate(late, str(path))
    assert late.pragma("user_version") > 0
    late.close()
