"""Who may read the files that we make."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast.bench.cache import CachedEmbedder
from holdfast.border import private
from holdfast.errors import NotAStore
from holdfast.records.entries import index_row
from holdfast.testing import HashEmbedder
from tests.service import commands
from tests.service.commands import Run

run = commands.run


@pytest.fixture(autouse=True)
def everybody() -> Iterator[None]:
    """The widest of umasks: what is narrow under it was made so."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def modes(folder: Path) -> dict[str, int]:
    return {each.name: mode(each) for each in folder.iterdir() if each.is_file()}


def test_only_the_owner_may_read_a_store_and_what_lies_beside_it(tmp_path: Path) -> None:
    with holdfast.open(tmp_path / "m.db", embedder=HashEmbedder(), worker=False) as memory:
        memory.remember("I drink tea.", user="ann")
        assert modes(tmp_path) == dict.fromkeys(("m.db", "m.db-wal", "m.db-shm"), 0o600)


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (0o644, 0o600, "only its owner"),
        (0o666, 0o660, "its group"),
        (0o640, 0o600, "only its owner"),
        # Somebody chose that a group shares it.
        (0o660, 0o660, "its group"),
        (0o600, 0o600, "only its owner"),
    ],
)
def test_a_store_of_before_is_tightened_when_it_is_opened(
    tmp_path: Path, before: int, after: int, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "m.db"
    with holdfast.open(path, embedder=HashEmbedder(), worker=False) as memory:
        memory.remember("I drink tea.", user="ann")
    path.chmod(before)
    with holdfast.open(path, embedder=HashEmbedder(), worker=False) as memory:
        memory.remember("I drink cocoa.", user="ann")
        assert set(modes(tmp_path).values()) == {after}
        found = {each.check: each for each in memory.store.check(index_row)}["permissions"]
        assert (found.ok, found.detail) == (True, f"{told} may read the file")
    assert ("could be read by others" in caplog.text) == (before != after)


def test_a_file_that_is_not_ours_keeps_its_readers(tmp_path: Path) -> None:
    theirs = tmp_path / "notes.txt"
    theirs.write_text("no database at all, but long enough to be looked at" * 20)
    theirs.chmod(0o644)
    with pytest.raises(NotAStore):
        holdfast.open(theirs, worker=False, embedder=HashEmbedder())
    assert mode(theirs) == 0o644


def test_doctor_says_that_everybody_reads_a_store(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with holdfast.open(path, embedder=HashEmbedder(), worker=False) as memory:
        path.chmod(0o604)
        found = {each.check: each for each in memory.store.check(index_row)}["permissions"]
        assert (found.ok, found.detail) == (False, "everybody may read the file")


def test_backups_exports_pictures_and_what_is_restored_are_the_owners(
    run: Run, tmp_path: Path
) -> None:
    for command in (
        ["remember", "I moved to Lisbon.", "--user", "ann"],
        ["backup", "a.backup"],
        ["restore", "a.backup", "--db", "b.db"],
        ["export", "a.jsonl"],
        ["graph", "show", "--out", "g.json", "--user", "ann"],
    ):
        ended = run(*command)
        assert ended.code == 0, ended.err
    made = modes(tmp_path)
    assert set(made) == {"holdfast.db", "a.backup", "b.db", "a.jsonl", "g.json"}
    assert set(made.values()) == {0o600}


def test_a_restored_store_has_the_group_of_the_one_it_replaces(run: Run, tmp_path: Path) -> None:
    run("remember", "I moved to Lisbon.", "--user", "ann")
    run("backup", "a.backup")
    for before, after in ((0o660, 0o660), (0o644, 0o600)):
        (tmp_path / "holdfast.db").chmod(before)
        assert run("restore", "a.backup", "--force").code == 0
        assert mode(tmp_path / "holdfast.db") == after


def test_reports_and_caches_of_benchmarks_are_the_owners(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "cache"
    cached = CachedEmbedder(HashEmbedder(), folder / "vectors.db")
    cached.embed(["tea"])
    assert set(modes(folder).values()) == {0o600}
    cached.close()
    assert (mode(folder), mode(folder.parent)) == (0o700, 0o700)
    old = folder / "report.md"
    old.touch(0o644)
    private.write(old, b"anew")
    assert (mode(old), old.read_bytes()) == (0o600, b"anew")
