"""What doctor finds in derived records, and that a rebuild makes it right."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from holdfast.records.entries import index_row
from holdfast.store.protocols import IndexedRow, Share
from holdfast.store.sqlite import SqliteStore
from holdfast.testing.store_suite import (
    ANN,
    BOB,
    DIM,
    EMBED,
    EXTRACT,
    NOON,
    a_fact,
    a_name,
    an_entry,
    claim,
    claim_group,
    current_facts,
    learn,
    put,
    say,
    subjects,
    vector,
)
from holdfast.types import Event, Record

Damage = Callable[..., None]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    """Two owners, each with turns 1 and 2, facts 50 (of 1), 51 (of both) and 52 (of none), an
    entity 60 that was heard in 1, and turn 3 that waits to be understood."""
    store = SqliteStore(tmp_path / "m.db")
    space = store.use_space("model", DIM, 1)
    for scope in (ANN, BOB):
        a, b = put(store, scope, an_entry(1), an_entry(2))
        learn(store, scope, a_fact(50, a), a_fact(51, a, b), a_fact(52), a_name(60, a))
        say(store, replace(scope, session="s"), an_entry(3))
        jobs = claim(store)
        store.finish(jobs, space=space.id, vectors=[vector(job.subject) for job in jobs])
    yield store
    store.close()


@pytest.fixture
def damage(tmp_path: Path) -> Damage:
    """Change rows behind the store's back; Ann is owner 1."""

    def work(sql: str, *values: object) -> None:
        connection = apsw.Connection(str(tmp_path / "m.db"))
        connection.execute(sql, values)
        assert connection.changes()
        connection.close()

    return work


def wrong(store: SqliteStore) -> list[str]:
    return [finding.check for finding in store.check(index_row) if not finding.ok]


FACT = bytes.fromhex(a_fact(50).id)
NAME = bytes.fromhex(a_name(60).id)
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
    "a vector of what was only heard": (
        "INSERT INTO vectors SELECT owner, space, ?, passage, 0, digest, data FROM vectors"
        " WHERE owner = 1 AND record = ?",
        (NAME, FACT),
        ["heard"],
    ),
    "a job for what was only heard": (
        "INSERT INTO jobs (owner, subject, step, due) VALUES (1, ?, 'embed:1', 0)",
        (NAME,),
        ["heard"],
    ),
    "terms of what was only heard": (
        "UPDATE records SET terms = x'010203040506070801', length = 1 WHERE owner = 1 AND id = ?",
        (NAME,),
        ["index"],
    ),
    "a fact seen before it was known": (
        "UPDATE records SET seen = known_from - 1 WHERE owner = 1 AND id = ?",
        (FACT,),
        ["seen"],
    ),
    "a job filed under another session": (
        "UPDATE jobs SET session = 't' WHERE owner = 1 AND step = ?",
        (EXTRACT,),
        ["conversations"],
    ),
    "a job filed under another time": (
        "UPDATE jobs SET at = NULL WHERE owner = 1 AND step = ?",
        (EXTRACT,),
        ["conversations"],
    ),
    "a fact that is to be understood": (
        "INSERT INTO jobs (owner, subject, step, due, at) VALUES (1, ?, 'extract', 0, 0)",
        (FACT,),
        ["conversations"],
    ),
    "a fact put aside without a reason": (
        "UPDATE records SET archived = 5 WHERE owner = 1 AND id = ?",
        (FACT,),
        ["archive"],
    ),
    "a fact that was touched and never seen": (
        "UPDATE records SET strength = 0.5 WHERE owner = 1 AND id = ?",
        (FACT,),
        ["seen"],
    ),
    "a vector of what is only listed": (
        "UPDATE records SET quiet = 2 WHERE owner = 1 AND id = ?",
        (FACT,),
        ["heard"],
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
    groups = [claim_group(store), claim_group(store)]
    assert [(subjects(jobs), jobs[0].scope.session) for jobs in groups] == [([3], "s")] * 2


def test_a_lost_event_takes_what_came_from_it_alone(store: SqliteStore, damage: Damage) -> None:
    damage("DELETE FROM events WHERE owner = 1 AND id = ?", TURN)
    assert set(wrong(store)) == {"records", "provenance", "sources"}
    store.rebuild(index_row, steps=[EMBED])
    assert wrong(store) == []
    left = store.listed(ANN, tier="fact")
    assert [(int(r.id, 16), len(r.sources)) for r in left] == [(51, 1), (52, 0)]
    assert len(current_facts(store, BOB)) == 3


def test_what_the_journal_says_to_be_put_aside_is(store: SqliteStore, damage: Damage) -> None:
    store.archive(ANN, [a_fact(50).id, a_fact(52).id], at=NOON, reason="weak")
    store.archive(ANN, [a_fact(52).id], at=NOON, undo=True)
    damage("UPDATE records SET archived = NULL WHERE owner = 1 AND id = ?", FACT)
    assert wrong(store) == ["archive"]
    store.rebuild(index_row, steps=[EMBED])
    assert wrong(store) == []
    assert [int(each, 16) for each in current_facts(store, ANN)] == [51, 52]
    assert store.get(ANN, [a_fact(50).id])[0].archived_at == NOON


def test_a_share_of_nobody_is_found_and_dropped(store: SqliteStore, damage: Damage) -> None:
    for scope in (ANN, BOB):
        store.put_share(Share("s1", scope, "work", ("graph",), "read", NOON))
    damage("UPDATE shares SET owner = 77 WHERE owner = 1")
    assert wrong(store) == ["integrity", "shares"]
    assert store.rebuild(index_row, steps=[EMBED]) > 0
    assert wrong(store) == []
    assert [share.scope for share in store.shares()] == [BOB]


def test_what_was_written_survives_the_loss_of_its_turns(
    store: SqliteStore, damage: Damage
) -> None:
    learn(store, ANN, a_fact(52, an_entry(1).id))
    damage("DELETE FROM events WHERE owner = 1 AND id = ?", TURN)
    store.rebuild(index_row, steps=[EMBED])
    assert wrong(store) == []
    left = store.listed(ANN, tier="fact")
    assert [(int(r.id, 16), len(r.sources)) for r in left] == [(51, 1), (52, 0)]


def test_nobody_but_the_user_says_who_the_user_is(store: SqliteStore, damage: Damage) -> None:
    damage("UPDATE records SET kind = 'identity' WHERE owner = 1 AND id = ?", FACT)
    assert wrong(store) == ["identity"]
    damage("UPDATE records SET origin = 'user_confirmed' WHERE owner = 1 AND id = ?", FACT)
    assert wrong(store) == []


def test_a_lost_fact_that_was_reopened_holds(store: SqliteStore, damage: Damage) -> None:
    def derive(subject: Event | Record) -> IndexedRow:
        facts = (a_fact(50, TURN.hex()),) if isinstance(subject, Event) else ()
        return index_row(subject)._replace(derived=facts)

    store.end(ANN, [a_fact(50).id], at=NOON, valid_to=NOON, reason="wrong")
    store.end(BOB, [a_fact(50).id], at=NOON, valid_to=NOON, reason="wrong")
    store.end(BOB, [a_fact(50).id], valid_to=None, at=NOON)
    damage("DELETE FROM records WHERE id = ?", FACT)
    store.rebuild(derive, steps=[EMBED])
    assert [len(current_facts(store, scope)) for scope in (ANN, BOB)] == [2, 3]
