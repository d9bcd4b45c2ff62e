"""What doctor finds in derived records, and that a rebuild makes it right."""

from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from recollect.store.sqlite import SqliteStore
from recollect.testing.store_suite import (
    ANN,
    BOB,
    DIM,
    EMBED,
    a_fact,
    an_entry,
    claim,
    current_facts,
    learn,
    put,
    vector,
)
from recollect.write.prepare import index_row

Damage = Callable[..., None]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    """Two owners, each with turns 1 and 2, facts 50 (of 1), 51 (of both) and 52 (of none)."""
    store = SqliteStore(tmp_path / "m.db")
    space = store.use_space("model", DIM, 1)
    for scope in (ANN, BOB):
        a, b = put(store, scope, an_entry(1), an_entry(2))
        learn(store, scope, a_fact(50, a), a_fact(51, a, b), a_fact(52))
        jobs = claim(store)
        store.finish(jobs, space=space.id, vectors=[vector(job.subject) for job in jobs])
    yield store
    store.close()


@pytest.fixture
def damage(tmp_path: Path) -> Damage:
    """Change rows behind the store's back; Ann is owner 1."""

    def work(sql: str, *values: object) -> None:
        connection = apsw.Connection(str(tmp_path / "m.db"))
        connection.execute(sql, values)  # type: ignore[arg-type]
        assert connection.changes()
        connection.close()

    return work


def wrong(store: SqliteStore) -> list[str]:
    return [finding.check for finding in store.check(index_row) if not finding.ok]


FACT = bytes.fromhex(a_fact(50).id)
TURN = bytes.fromhex(an_entry(1).id)

DAMAGES = {
    "a lost trace": (
        "DELETE FROM provenance WHERE owner = 1 AND record = ?",
        (FACT,),
        ["sources"],
    ),
    "a stray trace": (
        "INSERT INTO provenance (owner, event, record) VALUES (1, ?, ?)",
        (bytes(16), bytes.fromhex(a_fact(52).id)),
        ["provenance"],
    ),
    "a trace too many": (
        "INSERT INTO provenance (owner, event, record) VALUES (1, ?, ?)",
        (TURN, bytes.fromhex(a_fact(52).id)),
        ["sources"],
    ),
    "a lost source": (
        "UPDATE records SET sources = x'' WHERE owner = 1 AND id = ?",
        (FACT,),
        ["sources"],
    ),
    "a stale index row": (
        "UPDATE records SET terms = x'' WHERE owner = 1 AND id = ?",
        (FACT,),
        ["index"],
    ),
    "a lost vector": (
        "DELETE FROM vectors WHERE owner = 1 AND record = ?",
        (FACT,),
        ["embedded"],
    ),
    "a fact hidden without a reason": (
        "UPDATE records SET forgotten_at = 5 WHERE owner = 1 AND id = ?",
        (FACT,),
        ["journal"],
    ),
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_doctor_notices_and_a_rebuild_mends(store: SqliteStore, damage: Damage, kind: str) -> None:
    assert wrong(store) == []
    sql, values, found = DAMAGES[kind]
    damage(sql, *values)
    assert wrong(store) == found
    assert store.rebuild(index_row, steps=[EMBED]) > 0
    assert wrong(store) == []
    assert store.rebuild(index_row, steps=[EMBED]) == 0
    assert len(current_facts(store, ANN)) == len(current_facts(store, BOB)) == 3


def test_a_lost_event_takes_what_came_from_it_alone(store: SqliteStore, damage: Damage) -> None:
    damage("DELETE FROM events WHERE owner = 1 AND id = ?", TURN)
    assert set(wrong(store)) == {"records", "provenance", "sources"}
    store.rebuild(index_row, steps=[EMBED])
    assert wrong(store) == []
    left = store.listed(ANN, tier="fact")
    assert [(int(r.id, 16), len(r.sources)) for r in left] == [(51, 1), (52, 0)]
    assert len(current_facts(store, BOB)) == 3
