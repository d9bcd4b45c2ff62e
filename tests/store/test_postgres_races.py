"""Several at once on one server: what a review found, each as a test."""

import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta

import psycopg
import pytest

from holdfast.errors import StoreBusy
from holdfast.store.postgres import PostgresStore
from holdfast.store.postgres import __name__ as driver
from holdfast.store.sql import jobs, ledger
from holdfast.store.sql.engine import Connection
from holdfast.store.values import Mark, Webhook
from holdfast.testing.store_suite import (
    ANN,
    BOB,
    EXTRACT,
    NOON,
    a_note,
    an_entry,
    claim,
    claim_group,
    fill,
    put,
    say,
    subjects,
)
from holdfast.types import Job, Scope
from tests.servers import empty_store_url


@pytest.fixture
def store() -> Iterator[PostgresStore]:
    with closing(PostgresStore(empty_store_url())) as opened:
        yield opened


@pytest.fixture
def other(store: PostgresStore) -> Iterator[PostgresStore]:
    """Another process on the same database, as far as the server can tell."""
    with closing(PostgresStore(store._pool.conninfo)) as opened:
        yield opened


def test_jobs_of_two_owners_may_have_one_number(store: PostgresStore) -> None:
    put(store, ANN, an_entry(1))
    put(store, BOB, an_entry(2))
    store._writer.run(lambda c: c.execute("UPDATE jobs SET id = 777"))
    taken = claim(store)
    assert sorted(subjects(taken)) == [1, 2]
    assert store.finish(taken[:1]) == 1
    assert subjects(store.jobs()) == subjects(taken[1:])
    store.release(taken[1:], error="down", due=NOON + timedelta(hours=1))
    assert [job.error for job in store.jobs()] == ["down"]


def test_a_job_is_claimed_once(
    store: PostgresStore, other: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have seen it ready before either takes it."""
    (turn,) = say(store, ANN, an_entry(1))
    both = threading.Barrier(2)
    take = jobs.take_jobs

    def meet(connection: Connection, ids: list[tuple[int, int]], lease: int) -> list[Job]:
        both.wait(20)
        return take(connection, ids, lease)

    monkeypatch.setattr(jobs, "take_jobs", meet)
    found: list[list[Job]] = []

    def by_turn() -> None:
        found.append(
            store.claim(
                [EXTRACT], limit=9, now=NOON, lease_s=60, max_attempts=3, turns=(ANN, [turn])
            )
        )

    threads = [
        threading.Thread(target=by_turn),
        threading.Thread(target=lambda: found.append(claim_group(other, ignore_backoff=True))),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(len(jobs) for jobs in found) == [0, 1]


def test_what_is_swept_never_fails_a_write(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(f"{driver}.writer._SWEEP_EVERY", 1)
    with psycopg.connect(store._pool.conninfo, autocommit=True) as admin:
        admin.execute("CREATE RULE stay AS ON DELETE TO holdfast.commits DO INSTEAD SELECT 1/0")
        try:
            put(store, ANN, an_entry(2))
        finally:
            admin.execute("DROP RULE stay ON holdfast.commits")
    assert "rows of past transactions were not removed" in caplog.text
    assert [event.id for event in store.events(ANN)] == [an_entry(2).id]


def test_no_erasure_is_told_while_somebody_still_sees_what_was(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(store)
    monkeypatch.setattr(f"{driver}.BUSY_SECONDS", 0.2)
    with psycopg.connect(store._pool.conninfo) as reader:
        reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        reader.execute("SELECT count(*) FROM holdfast.spaces")
        with pytest.raises(StoreBusy, match="still on the disk"):
            store.erase(ANN, at=NOON)
    store.erase(ANN, at=NOON)


def test_a_webhook_is_not_noted_for_who_is_being_erased(store: PostgresStore) -> None:
    put(store, ANN, an_entry(1))
    store.put_hook(Webhook("w", "home", None, "http://x", ("stored",), NOON, secret=b"s"))
    marking = threading.Thread(target=store.set_mark, args=("w", ANN, Mark(0, 1, 0)))
    with psycopg.connect(store._pool.conninfo) as erasing:
        erasing.execute("DELETE FROM holdfast.webhook_heads")
        erasing.execute("DELETE FROM holdfast.owners")
        marking.start()
        marking.join(1)
        erasing.commit()
        marking.join(20)
        assert erasing.execute("SELECT count(*) FROM holdfast.webhook_heads").fetchone() == (0,)


def set_epoch(store: PostgresStore, scope: Scope, epoch: int) -> None:
    store._writer.run(
        lambda c: c.execute("UPDATE owners SET epoch = ? WHERE user = ?", (epoch, scope.user))
    )


def test_the_epoch_of_who_comes_next_never_falls(store: PostgresStore) -> None:
    for scope, epoch in ((ANN, 10), (BOB, 3)):
        put(store, scope, an_entry(epoch))
        set_epoch(store, scope, epoch)
    store.erase(ANN, at=NOON)
    store.erase(BOB, at=NOON)
    assert store.head(ANN).epoch > 10


def test_asking_for_users_whom_nobody_knows_does_not_fill_the_disk(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "MOST_UNKNOWN", 5)
    for number in range(12):
        store.note_context(Scope("home", f"user{number}"), a_note(number))
    store.contexts(ANN)
    assert len(store.owners()) == 5


def test_two_who_finish_jobs_of_the_same_owners_do_not_wait_for_each_other(
    store: PostgresStore, other: PostgresStore
) -> None:
    users = [Scope("home", f"user{number}") for number in range(6)]
    for number, scope in enumerate(users):
        put(store, scope, *(an_entry(100 * number + each) for each in range(20)))
    errors: list[BaseException] = []

    def work(which: PostgresStore, *, backwards: bool) -> None:
        try:
            while taken := claim(which, limit=12):
                which.finish(sorted(taken, key=lambda job: job.scope.user, reverse=backwards))
        except BaseException as error:  # noqa: BLE001 (told below)
            errors.append(error)

    threads = [
        threading.Thread(target=work, args=(store,), kwargs={"backwards": False}),
        threading.Thread(target=work, args=(other,), kwargs={"backwards": True}),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert (errors, store.counts().ready, store.counts().running) == ([], 0, 0)
    with store._pool.lent() as raw:
        row = raw.execute(
            "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
        ).fetchone()
    assert row == (0,)
