"""Files, folders and disks that are not what they should be: an error of ours that says so."""

import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from fastapi.testclient import TestClient

import holdfast
from holdfast.errors import NotAStore, SchemaTooNew, StoreError, StoreFull
from holdfast.memory.memory import Memory
from holdfast.records.entries import index_row
from holdfast.service.http.app import create_app
from holdfast.store.sqlite import SqliteStore
from holdfast.store.sqlite.connection import APPLICATION_ID, to_store_error
from holdfast.testing import HashEmbedder
from tests.crash.child import ended

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")

NOBODY = 65534


def opened(path: Path) -> Memory:
    return holdfast.open(path, embedder=HashEmbedder(), worker=False)


def refused(path: Path, error: type[StoreError], match: str) -> None:
    """Opening fails in words, names the path, and leaves what is there as it was."""
    before = path.read_bytes() if path.is_file() else None
    beside = set(path.parent.iterdir()) if path.parent.exists() else set()
    with pytest.raises(error, match=match) as caught:
        opened(path)
    assert type(caught.value) is error
    assert str(path.parent) in str(caught.value)
    if before is not None:
        assert path.read_bytes() == before
        assert set(path.parent.iterdir()) == beside


# Files


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "notes.db").write_text("Dear diary, " * 1000)
    refused(tmp_path / "notes.db", NotAStore, "not a Holdfast database")


def test_a_database_with_a_ruined_page(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with opened(path) as memory:
        memory.remember("tea at four", user="ann")
    with path.open("r+b") as file:
        file.seek(100)
        file.write(b"\xff" * 3996)
    refused(path, NotAStore, "damaged")


def test_a_folder(tmp_path: Path) -> None:
    refused(tmp_path, NotAStore, "is a folder")


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    refused(tmp_path / "no" / "memory.db", StoreError, "does not exist")


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_a_database_of_another_program_is_left_alone(tmp_path: Path, journal: str) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as other:
        other.execute(f"PRAGMA journal_mode = {journal}")
        other.execute("CREATE TABLE bookmarks (url TEXT)")
        other.commit()
    refused(path, NotAStore, "another program")


def test_a_newer_schema(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    opened(path).close()
    with closing(sqlite3.connect(path)) as newer:
        newer.execute("PRAGMA user_version = 999")
    refused(path, SchemaTooNew, "has schema 999.*upgrade Holdfast")


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    path.touch()
    with opened(path) as memory:
        memory.remember("tea at four", user="ann")
    with closing(sqlite3.connect(path)) as reader:
        assert reader.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)


# Rights. The tests may run as root, whom no right stops: a child takes on nobody's.


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """A folder that others can reach; pytest's are closed to them."""
    folder = Path(tempfile.mkdtemp(prefix="holdfast-rights-"))
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def as_nobody(work: Callable[[], object]) -> str:
    def unprivileged() -> None:
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        work()

    return ended(unprivileged)


def a_store(path: Path) -> None:
    with opened(path) as memory:
        memory.remember("tea at four", user="ann")


def write(path: Path) -> None:
    with opened(path) as memory:
        memory.remember("coffee at five", user="ann")


def test_a_new_file_in_a_read_only_folder(public_folder: Path) -> None:
    a_store(public_folder / "warm-up.db")
    public_folder.chmod(0o555)
    told = as_nobody(lambda: write(public_folder / "memory.db"))
    assert told.startswith("StoreReadOnly: ")
    assert "check the file and its folder" in told


@pytest.mark.parametrize("folder_mode", [0o555, 0o777], ids=["closed folder", "open folder"])
def test_a_read_only_file(public_folder: Path, folder_mode: int) -> None:
    path = public_folder / "memory.db"
    a_store(path)
    path.chmod(0o444)
    public_folder.chmod(folder_mode)
    told = as_nobody(lambda: write(path))
    assert told.startswith("StoreReadOnly: ")
    assert str(path) in told


# A full disk


class SmallDisk:
    """A disk of 3 MiB: a real one where mounting is allowed, else a limit on the pages."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        command = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)]
        mounted = subprocess.run(command, capture_output=True, check=False)
        self.is_real = mounted.returncode == 0
        self.ballast = folder / "ballast"
        if self.is_real:
            self.ballast.write_bytes(bytes(1 << 20))

    def limit(self, memory: Memory, pages: int = 400) -> None:
        store = memory.store
        assert isinstance(store, SqliteStore)
        if not self.is_real:
            store._writer.run(lambda c: c.execute(f"PRAGMA max_page_count = {pages}"))

    def make_room(self, memory: Memory) -> None:
        if self.is_real:
            self.ballast.unlink()
        self.limit(memory, pages=10_000)

    def remove(self) -> None:
        if self.is_real:
            subprocess.run(["umount", "-l", str(self.folder)], check=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    folder = tmp_path / "small"
    folder.mkdir()
    disk = SmallDisk(folder)
    yield disk
    disk.remove()


def filled(memory: Memory) -> list[str]:
    """Write until the disk is full; the events that were acknowledged."""
    events: list[str] = []

    def fill() -> None:
        for n in range(10_000):
            events.extend(memory.remember(f"turn {n} {'word ' * 400}", user="ann").events)

    with pytest.raises(StoreFull, match="is full"):
        fill()
    return events


def test_a_full_disk_stops_writing_not_reading(disk: SmallDisk) -> None:
    path = disk.folder / "memory.db"
    with opened(path) as memory:
        first = memory.remember("tea at four", user="ann").events[0]
        disk.limit(memory)
        events = filled(memory)
        assert len(events) > 20
        assert [hit.id for hit in memory.recall("tea", user="ann")] == [first]
        with pytest.raises(StoreFull):
            memory.remember("word " * 400, user="ann")
        disk.make_room(memory)
        last = memory.remember("room again", user="ann").events[0]
    with opened(path) as memory:
        kept = {
            event.id for event in memory.store.events(holdfast.Scope("default", "ann"), limit=9999)
        }
        assert kept == {first, *events, last}
        memory.drain()
        assert [f for f in memory.store.check(index_row) if not f.ok] == []


def test_a_batch_that_does_not_fit_leaves_nothing(disk: SmallDisk) -> None:
    with opened(disk.folder / "memory.db") as memory:
        disk.limit(memory)
        batch = [{"role": "user", "content": f"{n} " + "word " * 400} for n in range(1500)]
        with pytest.raises(StoreFull):
            memory.remember(batch, user="ann", key="batch")
        assert memory.store.stats()["events"] == 0
        memory.remember(batch[:3], user="ann", key="batch")
        assert memory.store.stats()["events"] == 3


def test_no_room_for_the_shared_memory_of_sqlite_is_a_full_disk() -> None:
    """SQLite calls it an I/O error; it is what a caller meets who opens a store on a full disk."""
    error = apsw.exception_for(apsw.SQLITE_IOERR_SHMSIZE)
    assert isinstance(error, apsw.Error)
    assert isinstance(to_store_error(error, "memory.db"), StoreFull)


def health_of(memory: Memory) -> tuple[int, str]:
    with TestClient(create_app(memory), "http://localhost") as client:
        answer = client.get("/health")
    return answer.status_code, answer.json()["status"]


def test_health_says_that_the_disk_is_full(disk: SmallDisk) -> None:
    with opened(disk.folder / "memory.db") as memory:
        disk.limit(memory)
        assert health_of(memory) == (200, "ok")
        filled(memory)
        assert health_of(memory) == (200, "degraded")
        disk.make_room(memory)
        memory.remember("there is room again", user="ann")
        assert health_of(memory) == (200, "ok")


@pytest.mark.parametrize("how", ["removed", "renamed", "replaced"])
def test_health_says_that_the_store_is_not_there_any_more(tmp_path: Path, how: str) -> None:
    path = tmp_path / "memory.db"
    with opened(path) as memory:
        memory.remember("tea at four", user="ann")
        assert health_of(memory) == (200, "ok")
        if how == "removed":
            path.unlink()
        else:
            path.rename(tmp_path / "elsewhere.db")
        if how == "replaced":
            shutil.copy(tmp_path / "elsewhere.db", path)
        assert health_of(memory) == (503, "degraded")


def test_asking_for_health_writes_nothing(tmp_path: Path) -> None:
    with opened(tmp_path / "memory.db") as memory:
        memory.remember("tea at four", user="ann")
        before = {each.name: each.stat().st_mtime_ns for each in tmp_path.iterdir()}
        assert memory.store.health().trouble is None
        assert {each.name: each.stat().st_mtime_ns for each in tmp_path.iterdir()} == before
