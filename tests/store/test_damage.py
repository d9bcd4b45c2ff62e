"""One damaged row: everything else stays readable, doctor names it, a rebuild sets it aside."""

import base64
import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

import holdfast
from holdfast.errors import DamagedRow
from holdfast.memory.memory import Memory
from holdfast.records.entries import index_row
from holdfast.store.protocols import Store
from holdfast.store.sqlite import SqliteStore
from holdfast.testing import HashEmbedder
from holdfast.transfer import export_to
from holdfast.types import Finding, Receipt

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.db"))[-1]
CONFIG = {"extraction": {"enabled": False}}
NO_TEXT = "CAST(x'61ff62' AS TEXT)"
#: Bytes that are valid in their column's type and nothing that we ever write there.
BROKEN = {
    ("events", "metadata"): "'{\"a\":'",
    ("records", "data"): "'[1'",
    ("records", "metadata"): "'nonsense'",
    ("shares", "segments"): "'{'",
    ("api_keys", "tools"): "'['",
    ("webhooks", "events"): "'[,'",
    ("records", "sources"): "x'0102'",
    ("idempotency", "events"): "x'010203'",
    ("events", "at"): str(2**62),
    ("records", "known_from"): str(-(2**62)),
    ("journal", "at"): str(2**62),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with something of everything, in the newest schema."""
    path = Path(shutil.copy(GOLDEN, tmp_path_factory.mktemp("whole") / "m.db"))
    with opened(path) as memory:
        memory.remember("Bees like thyme.", user="bob", workspace="team", metadata={"a": 1})
        memory.remember("Left to do.", user="bob", workspace="team", session="s9", agent="helper")
        memory.store.secret("receipts")
        memory.store.begin_chore("nightly", now=memory.now(), every_s=1)
    return path


def opened(path: Path) -> Memory:
    return holdfast.open(path, embedder=HashEmbedder(16), worker=False, config=CONFIG)


def text_columns() -> Iterator[tuple[str, str]]:
    connection = apsw.Connection(str(GOLDEN), flags=apsw.SQLITE_OPEN_READONLY)
    for (table,) in connection.execute(
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND name NOT LIKE 'sqlite_%'"
        " AND name != 'set_aside'"
        " AND type = 'table' ORDER BY name"
    ).fetchall():
        for (column,) in connection.execute(
            "SELECT name FROM pragma_table_info(?) WHERE type = 'TEXT'", (table,)
        ).fetchall():
            yield str(table), str(column)
    connection.close()


def spoil(path: Path, table: str, column: str, value: str) -> bool:
    """Damage one row; whether the table has any."""
    file = apsw.Connection(str(path))
    file.execute("PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF")
    keys = file.execute(
        "SELECT group_concat(name) FROM pragma_table_info(?) WHERE pk", (table,)
    ).get
    without = file.execute("SELECT wr FROM pragma_table_list WHERE name = ?", (table,)).get
    key = keys if without else "rowid"
    file.execute(
        f"UPDATE {table} SET {column} = {value} WHERE ({key}) ="
        f" (SELECT {key} FROM {table} ORDER BY {column} IS NULL LIMIT 1)"
    )
    changed = file.changes() > 0
    file.close()
    return changed


def finding(store: Store, name: str = "rows") -> Finding:
    return next(each for each in store.check(index_row) if each.check == name)


def exported(memory: Memory) -> bytes:
    out = io.BytesIO()
    export_to(memory.store, out)
    return out.getvalue()


def used(memory: Memory) -> None:
    """Every way to read; none may die of one row."""
    for workspace, user in (("default", "ann"), ("team", "bob"), ("team", "ann"), ("heard", "ann")):
        memory.recall("Lisbon bees invoice", user=user, workspace=workspace)
        memory.context("Lisbon bees invoice", user=user, workspace=workspace)
        memory.list(user=user, workspace=workspace)
        memory.facts.list(user=user, workspace=workspace)
        memory.store.jobs()
        memory.store.stats()
    memory.store.audit()
    memory.store.spaces()
    memory.store.owners()
    memory.store.chores()
    assert memory.drain(timeout=20).pending == 0


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [(*each, NO_TEXT) for each in text_columns()] + [(*key, BROKEN[key]) for key in BROKEN],
)
def test_one_damaged_row_leaves_the_rest(
    whole: Path, tmp_path: Path, table: str, column: str, value: str
) -> None:
    path, other = tmp_path / "m.db", tmp_path / "n.db"
    for each in (path, other):
        shutil.copy(whole, each)
        assert spoil(each, table, column, value)
    with opened(other) as memory:
        used(memory)
        before = len(exported(memory).splitlines())
    with opened(path) as memory:
        found = finding(memory.store)
        assert not found.ok
        assert f"{table} " in found.detail
        assert f"{column} is " in found.detail
        assert memory.store.rebuild(index_row, steps=[]) > 0
        after = finding(memory.store)
        assert after.ok, after.detail
        assert "set aside" in after.detail
        assert finding(memory.store, "integrity").ok
        used(memory)
        assert len(exported(memory).splitlines()) >= before - 2
    aside = apsw.Connection(str(path))
    kept = aside.execute("SELECT source, reason, row FROM set_aside ORDER BY id").fetchall()
    aside.close()
    assert (table, True) == (kept[0][0], str(kept[0][1]).startswith(f"{column} is "))


@pytest.mark.parametrize("column", ["session", "agent"])
def test_a_damaged_job_does_not_stop_the_others(tmp_path: Path, column: str) -> None:
    path = tmp_path / "m.db"
    with holdfast.open(path, embedder=HashEmbedder(16), worker=False) as memory:
        memory.remember("I moved to Porto.", user="ann", session="s1", agent="a")
        memory.remember("I moved to Lisbon.", user="bob", session="s2", agent="b")
    file = apsw.Connection(str(path))
    file.execute(
        f"UPDATE jobs SET {column} = {NO_TEXT} WHERE id ="
        " (SELECT min(id) FROM jobs WHERE step = 'extract')"
    )
    file.close()
    with holdfast.open(path, embedder=HashEmbedder(16), worker=False) as memory:
        assert memory.drain(timeout=60).pending == 0
        assert memory.facts.list(user="bob")
        assert memory.store.counts().dead == 1


def test_a_bit_on_the_disk_is_found_and_named(tmp_path: Path) -> None:
    path, receipts = tmp_path / "m.db", dict[str, Receipt]()
    with holdfast.open(path, embedder=HashEmbedder(16), worker=False, config=CONFIG) as memory:
        for place in ("Porto", "Lisbon", "Faro"):
            receipts[place] = memory.remember(f"I moved to {place}.", user="ann", key=place)
    content = bytearray(path.read_bytes())
    at = content.index(b"I moved to Lisbon.")
    content[at] |= 0x80  # One bit of the page.
    path.write_bytes(content)
    with holdfast.open(path, embedder=HashEmbedder(16), worker=False, config=CONFIG) as memory:
        assert [each.content for each in memory.list(user="ann").memories] == [
            "I moved to Faro.",
            "I moved to Porto.",
        ]
        found = memory.recall("Where did I move?", user="ann")
        assert {hit.content for hit in found} == {"I moved to Faro.", "I moved to Porto."}
        assert b"Lisbon." not in exported(memory)
        (lisbon,) = receipts["Lisbon"].events
        assert f"1 damaged rows; events '{lisbon}' of owner 1: content is not UTF-8" in (
            finding(memory.store).detail
        )
        memory.store.rebuild(index_row, steps=[])
        assert all(each.ok for each in memory.store.check(index_row))
    file = apsw.Connection(str(path))
    (row,) = file.execute("SELECT row FROM set_aside").fetchall()
    file.close()
    raw = base64.b64decode(json.loads(str(row[0]))["content"]["base64"])
    assert raw[1:] == b" moved to Lisbon."


@pytest.mark.parametrize(
    ("table", "column", "check"), [("records", "terms", "index"), ("vectors", "data", "numbers")]
)
def test_a_torn_index_row_or_vector_hides_only_itself(
    tmp_path: Path, table: str, column: str, check: str
) -> None:
    path = tmp_path / "m.db"
    with holdfast.open(path, embedder=HashEmbedder(16), worker=False, config=CONFIG) as memory:
        for place in ("Porto", "Lisbon", "Faro"):
            memory.remember(f"I moved to {place}.", user="ann")
        memory.drain()
    assert spoil(path, table, column, "x'01020304'")
    with holdfast.open(path, embedder=HashEmbedder(16), worker=False, config=CONFIG) as memory:
        found = {hit.content for hit in memory.recall("Where did I move?", user="ann")}
        assert found >= {"I moved to Lisbon.", "I moved to Faro."}
        assert not finding(memory.store, check).ok
        memory.store.rebuild(index_row, steps=memory.worker.steps)
        memory.drain()
        assert all(each.ok for each in memory.store.check(index_row))
        assert len(memory.recall("Where did I move?", user="ann")) == 3


def test_what_was_set_aside_is_erased_with_its_user(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with holdfast.open(path, embedder=HashEmbedder(16), worker=False, config=CONFIG) as memory:
        memory.remember("I moved to Lisbon.", user="ann")
    spoil(path, "events", "name", NO_TEXT)
    with holdfast.open(path, embedder=HashEmbedder(16), worker=False, config=CONFIG) as memory:
        memory.store.rebuild(index_row, steps=[])
        assert b"moved to Lisbon" in path.read_bytes() + Path(f"{path}-wal").read_bytes()
        memory.erase(user="ann")
        assert b"moved to Lisbon" not in path.read_bytes() + Path(f"{path}-wal").read_bytes()


def test_a_row_that_is_asked_for_by_itself_is_said_to_be_damaged(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "m.db")
    store.secret("audit")
    store.close()
    spoil(tmp_path / "m.db", "secrets", "name", NO_TEXT)
    store = SqliteStore(tmp_path / "m.db")
    with store._pool.reader() as connection, pytest.raises(UnicodeDecodeError):
        assert connection.execute("SELECT name FROM secrets").get
    with pytest.raises(DamagedRow, match="holdfast doctor"), store._pool.reader() as connection:
        assert connection.execute("SELECT name FROM secrets").get
    store.close()
