"""The ledger of contexts does not grow without end."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw

from holdfast.store.protocols import ContextNote
from holdfast.store.sql.ledger import MOST_NOTES, MOST_UNKNOWN
from holdfast.store.sqlite import SqliteStore
from holdfast.types import Scope
from tests.store.contract.store_builders import an_entry, say

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
ANN, BOB = Scope("default", "ann"), Scope("default", "bob")


def noted(store: SqliteStore, scope: Scope, first: int, count: int) -> None:
    for number in range(first, first + count):
        at = NOON + timedelta(seconds=number)
        store.note_context(scope, ContextNote(f"{number:032x}", at, "tea?", b"d", b"body", 0))


def test_the_oldest_notes_of_an_owner_go(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "m.db")
    noted(store, BOB, 1, 3)
    noted(store, ANN, 1, MOST_NOTES + 300)
    newest = store.contexts(ANN, since=NOON, limit=1)[0]
    assert newest.at == NOON + timedelta(seconds=MOST_NOTES + 300)
    file = apsw.Connection(str(tmp_path / "m.db"))
    rows = file.execute("SELECT owner, count(*) FROM contexts GROUP BY owner")
    counts = {owner: count for owner, count in rows}
    oldest = file.execute("SELECT min(at) FROM contexts WHERE owner = 2").get
    file.close()
    assert counts[1] == 3
    assert MOST_NOTES <= counts[2] <= MOST_NOTES + 100
    assert oldest > (NOON + timedelta(seconds=200)).timestamp() * 1e6
    store.close()


def test_users_whom_nobody_knows_do_not_fill_the_store(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "m.db")
    for number in range(MOST_UNKNOWN + 50):
        noted(store, Scope("default", f"made up {number}"), 1, 1)
    assert store.contexts(Scope("default", "made up 0"))
    assert store.stats()["owners"] == MOST_UNKNOWN
    assert not store.contexts(Scope("default", f"made up {MOST_UNKNOWN + 1}"))
    say(store, ANN, an_entry(1))
    noted(store, ANN, 9, 1)
    assert store.contexts(ANN)
    store.close()
