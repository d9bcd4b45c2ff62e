"""A sealed backup is what was sealed, or is refused."""

import random
from pathlib import Path

import apsw
import pytest

from holdfast.errors import NotAStore
from holdfast.store.sealing import is_sealed, seal, unseal
from holdfast.store.sqlite import SqliteStore
from tests.service import commands
from tests.service.commands import Run, remembered

run = commands.run


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    store = SqliteStore(tmp_path / "m.db")
    store.backup(tmp_path / "a.backup")
    store.close()
    return tmp_path / "a.backup"


def damages(good: bytes) -> dict[str, bytes]:
    """Every kind of damage: a bit anywhere, a cut, a page lost, doubled or moved."""
    chance, found = random.Random(12), {}
    size, page = len(good), 4096
    # All bits of the mark, of SQLite's header and of the digest, and 400 of the rest.
    bits = {*range(100 * 8), *range((size - 40) * 8, size * 8)}
    bits |= {chance.randrange(size * 8) for _ in range(400)}
    for bit in bits:
        changed = bytearray(good)
        changed[bit // 8] ^= 1 << bit % 8
        found[f"bit {bit}"] = bytes(changed)
    for length in (0, 1, 15, 16, 17, 48, page, size // 2, size - 33, size - 32, size - 1):
        found[f"cut to {length}"] = good[:length]
    found["more at the end"] = good + b"\0"
    found["a page lost"] = good[:page] + good[2 * page :]
    found["a page twice"] = good[: 2 * page] + good[page:]
    found["pages swapped"] = (
        good[:page] + good[2 * page : 3 * page] + good[page : 2 * page] + good[3 * page :]
    )
    return found


def test_no_damage_goes_unseen(backup: Path, tmp_path: Path) -> None:
    good = backup.read_bytes()
    assert unseal(backup, tmp_path / "plain")
    unseen = []
    for what, content in damages(good).items():
        backup.write_bytes(content)
        try:
            unseal(backup, tmp_path / "plain")
        except NotAStore:
            continue
        unseen.append(what)
    assert not unseen


def test_what_is_unsealed_is_the_store(backup: Path, tmp_path: Path) -> None:
    assert is_sealed(backup)
    unseal(backup, tmp_path / "plain")
    file = apsw.Connection(str(tmp_path / "plain"))
    assert file.execute("PRAGMA integrity_check").get == "ok"
    file.close()
    again = tmp_path / "again"
    again.write_bytes((tmp_path / "plain").read_bytes())
    seal(again)
    assert again.read_bytes() == backup.read_bytes()


def test_a_damaged_backup_is_refused_in_words(run: Run, tmp_path: Path) -> None:
    remembered(run)
    run("backup", "a.backup")
    content = bytearray((tmp_path / "a.backup").read_bytes())
    content[-5000] ^= 4
    (tmp_path / "a.backup").write_bytes(content)
    ended = run("restore", "a.backup", "--db", "b.db")
    assert (ended.code, "its checksum differs" in ended.err) == (2, True)
    assert not list(tmp_path.glob("*b.db*"))


def test_a_backup_without_a_checksum_is_restored_and_said_to_be_unverified(
    run: Run, tmp_path: Path
) -> None:
    remembered(run)
    run("backup", "a.backup")
    assert run("restore", "a.backup", "--db", "b.db", "--json").json["verified"] is True
    # As older versions made them: the plain file of a store.
    unseal(tmp_path / "a.backup", tmp_path / "old.backup")
    ended = run("restore", "old.backup", "--db", "c.db")
    assert (ended.code, ended.out) == (0, "restored 1 memory to c.db\n")
    assert "old.backup has no checksum" in ended.err
    assert run("restore", "old.backup", "--db", "d.db", "--json").json["verified"] is False


def test_a_backup_is_no_memory_to_work_in(run: Run) -> None:
    remembered(run)
    run("backup", "a.backup")
    ended = run("recall", "tea", "--user", "ann", "--db", "a.backup")
    assert ended.code == 2
    assert "a.backup is a backup: `holdfast restore` makes a memory of it" in ended.err
