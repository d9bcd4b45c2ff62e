"""What reaches the disk before a caller is answered, and what is done when the disk fails.

A VFS between SQLite and the file holds a sync up, counts it, or lets it fail.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from holdfast.errors import StoreError, StoreFull
from holdfast.store.protocols import Appended
from holdfast.store.sqlite import SqliteStore
from holdfast.store.sqlite.connection import BUSY_SECONDS
from holdfast.testing.store_suite import ANN, NOON, an_entry


class Disk:
    """Counts the syncs of the log; each waits until it may go on, or fails."""

    def __init__(self) -> None:
        self.syncs = 0
        self.is_syncing = threading.Event()
        self.may_go = threading.Event()
        self.may_go.set()
        self.sync_error: type[apsw.Error] | None = None
        self.write_error: type[apsw.Error] | None = None


class WatchedFile(apsw.VFSFile):
    def __init__(self, disk: Disk, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self._disk = disk
        self._is_log = bool(flags[0] & apsw.SQLITE_OPEN_WAL)
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        if self._is_log and self._disk.write_error is not None:
            raise self._disk.write_error("no")
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:
        if self._is_log:
            if self._disk.sync_error is not None:
                raise self._disk.sync_error("no")
            self._disk.syncs += 1
            self._disk.is_syncing.set()
            assert self._disk.may_go.wait(60)
        super().xSync(flags)


class WatchedVFS(apsw.VFS):
    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        super().__init__("watched", "")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> WatchedFile:
        return WatchedFile(self._disk, name, flags)


@pytest.fixture
def disk() -> Iterator[Disk]:
    disk = Disk()
    vfs = WatchedVFS(disk)
    yield disk
    vfs.unregister()


@pytest.fixture
def store(disk: Disk, tmp_path: Path) -> Iterator[SqliteStore]:
    """As it is opened without a word about syncing."""
    store = SqliteStore(tmp_path / "m.db", vfs="watched")
    yield store
    disk.may_go.set()
    store.close()


def said(store: SqliteStore, number: int) -> Appended:
    entry = an_entry(number, f"Turn {number}.")
    return store.append(ANN, [entry], known_at=NOON, steps=["embed"])


def test_every_commit_is_synced(store: SqliteStore, disk: Disk) -> None:
    said(store, 100)  # It also begins the log.
    before = disk.syncs
    for number in range(5):
        said(store, number)
    assert disk.syncs == before + 5


def test_nobody_is_answered_before_the_sync(store: SqliteStore, disk: Disk) -> None:
    disk.is_syncing.clear()
    disk.may_go.clear()
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(said, store, 1)
        assert disk.is_syncing.wait(60)
        time.sleep(0.1)  # What is answered too early is answered by now.
        assert not answer.done()
        disk.may_go.set()
        assert answer.result(60).events


def test_writes_that_wait_share_a_sync(store: SqliteStore, disk: Disk) -> None:
    said(store, 100)  # It also begins the log.
    disk.is_syncing.clear()
    disk.may_go.clear()
    with ThreadPoolExecutor(21) as pool:
        first = pool.submit(said, store, 99)
        assert disk.is_syncing.wait(60)
        others = [pool.submit(said, store, number) for number in range(20)]
        while store._writer._waiting.qsize() < 20:
            time.sleep(0.001)
        before = disk.syncs
        disk.may_go.set()
        assert all(each.result(60).events for each in (first, *others))
    assert disk.syncs == before + 1


def test_after_a_failed_sync_nothing_more_is_taken(store: SqliteStore, disk: Disk) -> None:
    said(store, 1)
    disk.sync_error = apsw.IOError
    with pytest.raises(StoreError):
        said(store, 2)
    disk.sync_error = None
    with pytest.raises(StoreError, match="open the memory again"):
        said(store, 3)
    assert len(store.events(ANN)) == 1


def test_a_full_disk_is_told_reading_goes_on_and_so_does_writing_with_room(
    store: SqliteStore, disk: Disk
) -> None:
    said(store, 1)
    disk.write_error = apsw.FullError
    with pytest.raises(StoreFull):
        said(store, 2)
    assert len(store.events(ANN)) == 1
    disk.write_error = None
    assert said(store, 3).events
    assert len(store.events(ANN)) == 2


def test_the_name_of_a_new_file_is_on_the_disk_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = []

    def noting(descriptor: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{descriptor}"))

    monkeypatch.setattr(os, "fsync", noting)
    SqliteStore(tmp_path / "m.db").close()
    assert synced == [str(tmp_path)]


def test_a_writer_waits_for_another_process(tmp_path: Path) -> None:
    assert BUSY_SECONDS == 60, "so long, as the page says"
    store = SqliteStore(tmp_path / "m.db")
    with closing(sqlite3.connect(tmp_path / "m.db", check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        release = threading.Timer(1.5, other.rollback)
        release.start()
        answer = said(store, 1)
        release.join()
    assert answer.events
    store.close()


def test_a_backup_of_a_damaged_store_is_refused(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "m.db")
    entries = [an_entry(number, "tea " * 200) for number in range(200)]
    store.append(ANN, entries, known_at=NOON, steps=["embed"])
    store.close()
    spoil(tmp_path / "m.db")
    damaged = SqliteStore(tmp_path / "m.db")
    with pytest.raises(StoreError, match="damaged"):
        damaged.backup(tmp_path / "copy.db")
    damaged.close()


def spoil(path: Path) -> None:
    """Overwrite the middle of a page that opening a store does not read."""
    with closing(sqlite3.connect(path)) as connection:
        size: int = connection.execute("PRAGMA page_size").fetchone()[0]
        root: int = connection.execute(
            "SELECT max(rootpage) FROM sqlite_schema WHERE tbl_name = 'events'"
        ).fetchone()[0]
    with path.open("r+b") as file:
        file.seek((root - 1) * size + 8)
        file.write(b"\xff" * 64)
