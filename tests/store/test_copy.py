"""One store into another: from a file to a server and back, cut short, and while it is in use."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from holdfast.errors import Conflict, StoreError
from holdfast.records.entries import index_row
from holdfast.store.postgres import PostgresStore
from holdfast.store.protocols import StoredKey
from holdfast.store.sealing import unseal
from holdfast.store.sql import SqlStore
from holdfast.store.sql.copy import copy_store, owner_digest
from holdfast.store.sqlite import SqliteStore
from holdfast.store.values import AuditLine, Webhook
from holdfast.testing.store_suite import ANN, BOB, NOON, a_fact, a_note, an_entry, fill, learn, put
from holdfast.types import ApiKey, Scope
from tests.servers import empty_store_url


@pytest.fixture
def file(tmp_path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(tmp_path / "m.db")) as store:
        fill(store)
        learn(store, BOB, a_fact(50))
        store.put_key(StoredKey(ApiKey("k1", "home", "ann", "write", NOON), b"digest"))
        store.note_context(BOB, a_note(1))
        for number in range(3):
            store.note_audit(AuditLine(NOON + timedelta(number), "home", "k1", "x", "done"))
        store.contexts(BOB)
        store.secret("x")
        yield store


@pytest.fixture
def server() -> Iterator[PostgresStore]:
    with closing(PostgresStore(empty_store_url())) as store:
        yield store


def digest(store: SqlStore, scope: Scope) -> str:
    with store._pool.snapshot() as connection:
        return owner_digest(connection, scope)


def said(store: SqlStore) -> list[object]:
    return [list(store.dump()), store.spaces(), store.secret("x"), store.api_keys()]


def test_to_a_server_and_back_nothing_is_lost(
    file: SqliteStore, server: PostgresStore, tmp_path: Path
) -> None:
    there = copy_store(file, server, finish=True)
    assert (there.owners, there.skipped, there.behind, there.different) == (
        len(file.owners()), 0, [], [],
    )  # fmt: skip
    assert said(server) == said(file)
    with closing(SqliteStore(tmp_path / "back.db")) as back:
        copy_store(server, back, finish=True)
        assert said(back) == said(file)
        for store in (server, back):
            assert digest(store, ANN) == digest(file, ANN)
            assert [finding for finding in store.check(index_row) if not finding.ok] == []
            assert store.contexts(BOB) == file.contexts(BOB)
            jobs = [(job.subject, job.step, job.state) for job in store.jobs(scope=ANN)]
            assert jobs == [(job.subject, job.step, job.state) for job in file.jobs(scope=ANN)]
            assert store.verify_audit().broken_at is None
        *lines, came_from = server.audit()
        assert [line.action for line in lines] == ["x"] * 3
        assert came_from.subject == file.audit()[-1].hash, "where the log before can be found"


def test_what_was_copied_is_not_copied_again_and_what_changed_is(
    file: SqliteStore, server: PostgresStore
) -> None:
    changing = [True]

    def change(done: int, total: int) -> None:
        if done == 1 and changing.pop():
            put(file, ANN, an_entry(900))
            put(file, replace(ANN, user="new"), an_entry(901))

    first = copy_store(file, server, finish=True, progress=change)
    assert [scope.user for scope in first.behind] == ["ann", "new"]
    second = copy_store(file, server, finish=True)
    assert (second.owners, second.behind) == (2, [])
    assert second.skipped == len(file.owners()) - 2
    assert said(server) == said(file)


def test_a_copy_in_a_file_goes_on_too(file: SqliteStore, tmp_path: Path) -> None:
    hook = Webhook("h1", "home", None, "http://example.org", (), NOON)
    assert file.put_hook(hook)
    assert file.put_hook(replace(hook, id="h2"))
    with closing(SqliteStore(tmp_path / "copy.db")) as copy:
        copy_store(file, copy, finish=False)
        put(file, ANN, an_entry(900))
        file.put_hook(None, was=replace(hook, id="h2"))
        assert copy_store(file, copy, finish=False).owners >= 1
        done = copy_store(file, copy, finish=True)
        assert (done.behind, done.different) == ([], [])
        assert said(copy) == said(file)
        assert copy.hooks() == file.hooks()
        assert [finding for finding in copy.check(index_row) if not finding.ok] == []


def test_a_backup_of_a_server_in_use_is_of_one_moment_and_can_be_used(
    file: SqliteStore, server: PostgresStore, tmp_path: Path
) -> None:
    copy_store(file, server, finish=True)
    before = list(server.dump())

    def change(done: int, total: int) -> None:
        put(server, ANN, an_entry(900 + done))
        put(server, replace(ANN, user=f"new{done}"), an_entry(950 + done))

    server.backup(tmp_path / "backup", progress=change)
    unseal(tmp_path / "backup", tmp_path / "restored.db")
    with closing(SqliteStore(tmp_path / "restored.db")) as restored:
        restored.rebuild(index_row, terms=1)
        assert list(restored.dump()) == before
    assert list(server.dump()) != before


def test_who_was_erased_meanwhile_is_gone(file: SqliteStore, server: PostgresStore) -> None:
    def change(done: int, total: int) -> None:
        put(file, ANN, an_entry(900 + done))

    assert copy_store(file, server, finish=True, progress=change).behind
    file.erase(BOB, at=NOON)
    copy_store(file, server, finish=True)
    assert BOB.user not in {scope.user for scope in server.owners()}


def test_a_store_with_memories_of_its_own_is_left_alone(
    file: SqliteStore, server: PostgresStore
) -> None:
    put(server, BOB, an_entry(1))
    before = list(server.dump())
    with pytest.raises(Conflict, match="holds memories of its own"):
        copy_store(file, server, finish=True)
    assert list(server.dump()) == before


def test_a_difference_is_told(file: SqliteStore, server: PostgresStore) -> None:
    def spoil(done: int, total: int) -> None:
        server._writer.run(lambda c: c.execute("UPDATE events SET content = 'x' WHERE arrival = 1"))

    assert copy_store(file, server, finish=True, progress=spoil).different


def test_a_copy_cannot_be_used_before_it_is_finished(
    file: SqliteStore, server: PostgresStore
) -> None:
    copy_store(file, server, finish=False)
    with pytest.raises(StoreError, match="--finish"):
        server.rebuild(index_row, terms=1)
    put(file, ANN, an_entry(900))
    assert copy_store(file, server, finish=True).owners == 1
    server.rebuild(index_row, terms=1)
    with pytest.raises(Conflict):
        copy_store(file, server, finish=True)
