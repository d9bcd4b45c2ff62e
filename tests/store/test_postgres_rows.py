"""Whose rows are seen on a server when a condition is forgotten, and whether its tables can be
spread over machines by their owner."""

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from holdfast import wiring
from holdfast.errors import ConfigError, NotAStore, StoreError
from holdfast.store.postgres import PostgresStore, connection
from holdfast.store.protocols import DumpedEvent, DumpedRecord
from holdfast.store.sql.engine import Connection
from holdfast.store.values import Mark
from holdfast.testing.store_suite import (
    ANN,
    BOB,
    NOON,
    OTHER_ANN,
    a_fact,
    a_note,
    fill,
    learn,
)
from holdfast.types import Scope
from tests.servers import empty_store_url, new_database

#: Small, of nobody, the same on every machine; and the audit log, which is led by its workspace.
REPLICATED = {
    "spaces", "recipes", "chores", "secrets", "counters", "agents", "api_keys", "webhooks",
    "schema_version",
}  # fmt: skip


@pytest.fixture
def store() -> Iterator[PostgresStore]:
    with closing(PostgresStore(empty_store_url())) as opened:
        yield opened


@pytest.fixture
def forgetful(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> PostgresStore:
    """A store with memories of three owners, whose every condition on an owner is taken out."""
    fill(store)
    for scope in (BOB, OTHER_ANN):
        learn(store, scope, a_fact(50), a_fact(51))
        store.note_context(scope, a_note(7))
    for scope in (ANN, BOB, OTHER_ANN):
        assert store.keep_index(scope, store.head(scope), [str(scope).encode()])
    store.contexts(BOB)
    translate = connection.translate

    def careless(sql: str, named: bool = False) -> str:
        text = translate(sql, named)
        if "FROM owners WHERE owner = " in text:  # How the owner itself is found.
            return text
        text = re.sub(r"\b(\w+\.)?owner = %s", "(%s::bigint IS NOT NULL)", text)
        return re.sub(
            r'o\.workspace = %s AND o\."?user"? = %s', "(%s::text || %s IS NOT NULL)", text
        )

    monkeypatch.setattr(connection, "translate", careless)
    return store


def test_the_conditions_are_taken_out(forgetful: PostgresStore) -> None:
    with forgetful._pool.reader() as wide:
        found = wide.execute("SELECT count(DISTINCT owner) FROM records WHERE owner = ?", (1,)).get
    assert found == 3, "who is not narrowed sees all: else this file shows nothing"


@pytest.mark.parametrize("scope", [ANN, BOB, OTHER_ANN], ids=str)
def test_what_is_read_is_of_one_owner_all_the_same(forgetful: PostgresStore, scope: Scope) -> None:
    store = forgetful
    mine = set[str]()
    for row in store.dump():
        if isinstance(row, DumpedRecord) and _is_of(row, scope):
            mine.add(row.record.id)
        if isinstance(row, DumpedEvent) and _is_of(row, scope):
            mine.add(row.event.id)
    assert {record.id for record in store.page(scope, now=NOON, limit=1000, status="all")} <= mine
    assert {change.id for change in store.changes(scope, after=0)} <= mine
    assert {event.id for event in store.events(scope)} <= mine
    assert {vector.record for vector in store.vectors(scope, 1)} <= mine
    kept = store.kept_index(scope)
    assert kept is not None
    assert kept.pieces == [str(scope).encode()]
    assert {each.id for each in store.happenings(scope, after=Mark(0, 0, 0))} <= mine
    assert {record.id for record in store.listed(scope, tier="fact")} <= mine
    assert sum(grown.learned for grown in store.growth(scope)) <= len(mine)
    assert len(store.contexts(scope)) <= 1


def test_what_is_written_is_of_one_owner_all_the_same(forgetful: PostgresStore) -> None:
    store = forgetful
    before = [row for row in store.dump() if not _is_of(row, BOB)]
    heads = [store.head(scope) for scope in (ANN, OTHER_ANN)]
    facts = [a_fact(50).id, a_fact(51).id]
    store.touch(BOB, facts, at=NOON, action="used", strength=lambda record: 0.5)
    store.archive(BOB, facts[:1], at=NOON)
    store.end(BOB, facts[1:], at=NOON, valid_to=NOON)
    store.forget(BOB, facts, at=NOON)
    store.erase(BOB, at=NOON)
    assert [row for row in store.dump() if not _is_of(row, BOB)] == before
    assert [store.head(scope) for scope in (ANN, OTHER_ANN)] == heads


def test_nobody_writes_a_row_of_another(store: PostgresStore) -> None:
    fill(store)

    def work(writing: Connection) -> None:
        writing.narrow(BOB)
        writing.execute(
            "INSERT INTO spend (owner, day, calls, prompt_tokens, answer_tokens, cost)"
            " VALUES (?, 'x', 0, 0, 0, 0)",
            (connection.owner_number(ANN),),
        )

    with pytest.raises(StoreError, match="row-level security"):
        store._writer.run(work)


@pytest.mark.parametrize("sql", ["DELETE FROM audit", "UPDATE audit SET actor = 'x'"])
def test_the_audit_log_is_only_added_to(store: PostgresStore, sql: str) -> None:
    def work(writing: Connection) -> None:
        writing.execute("SET LOCAL ROLE holdfast_work")
        writing.execute(sql)

    with pytest.raises(StoreError, match="permission denied"):
        store._writer.run(work)


def read_as(role: str, store: PostgresStore, table: str) -> None:
    with store._pool.snapshot() as reader:
        reader.execute(f"SET LOCAL ROLE {role}")
        reader.execute(f"SELECT * FROM {table}").fetchall()


def test_who_may_only_read_sees_no_keys(store: PostgresStore) -> None:
    for table in ("api_keys", "secrets"):
        with pytest.raises(StoreError, match="permission denied"):
            read_as("holdfast_read", store, table)


# The catalogue of the schema.


@pytest.fixture
def catalogue(store: PostgresStore) -> Iterator[psycopg.Connection[Any]]:
    with store._pool.lent() as raw:
        raw.execute("SET search_path = holdfast")
        yield raw
        raw.execute("RESET search_path")


def tables(catalogue: psycopg.Connection[Any]) -> set[str]:
    rows = catalogue.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'holdfast'")
    return {str(row[0]) for row in rows}


def test_every_table_is_led_by_its_owner_or_is_small(catalogue: psycopg.Connection[Any]) -> None:
    for table in tables(catalogue) - REPLICATED:
        leader = "workspace" if table == "audit" else "owner"
        rows = catalogue.execute(
            "SELECT i.indexrelid::regclass::text, a.attname, i.indisunique, i.indkey::int2[],"
            " array(SELECT attname::text FROM pg_attribute c WHERE c.attrelid = i.indrelid"
            " AND c.attnum = ANY(i.indkey)) FROM pg_index i LEFT JOIN pg_attribute a"
            " ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]"
            " WHERE i.indrelid = %s::regclass",
            (table,),
        ).fetchall()
        assert rows, f"{table} has no index"
        for index, first, is_unique, _, columns in rows:
            if is_unique:
                assert leader in columns, f"{index} reaches over owners"
                assert first == leader, f"{index} is not led by {leader}"


def test_nothing_is_counted_centrally(catalogue: psycopg.Connection[Any]) -> None:
    sequences = catalogue.execute(
        "SELECT relname FROM pg_class WHERE relkind = 'S'"
        " AND relnamespace = 'holdfast'::regnamespace"
    ).fetchall()
    identities = catalogue.execute(
        "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema ="
        " 'holdfast' AND (is_identity = 'YES' OR column_default LIKE '%%nextval%%')"
    ).fetchall()
    assert (sequences, identities) == ([], [])


def test_no_foreign_key_reaches_over_owners(catalogue: psycopg.Connection[Any]) -> None:
    found = catalogue.execute(
        "SELECT conname FROM pg_constraint WHERE contype = 'f'"
        " AND connamespace = 'holdfast'::regnamespace"
    ).fetchall()
    assert found == []


def test_rows_of_owners_are_secured(catalogue: psycopg.Connection[Any]) -> None:
    secured = {
        str(row[0])
        for row in catalogue.execute(
            "SELECT relname FROM pg_class WHERE relrowsecurity"
            " AND relnamespace = 'holdfast'::regnamespace"
        )
    }
    assert secured == tables(catalogue) - REPLICATED - {"audit"}
    bypass = catalogue.execute(
        "SELECT rolname FROM pg_roles WHERE rolname LIKE 'holdfast%%'"
        " AND (rolbypassrls OR rolsuper OR rolcanlogin)"
    ).fetchall()
    assert bypass == []


def test_a_user_without_rights_is_told_what_is_missing() -> None:
    with new_database() as url:
        with psycopg.connect(url, autocommit=True) as admin:
            admin.execute("DROP ROLE IF EXISTS plain")
            admin.execute("CREATE ROLE plain LOGIN")
        try:
            with pytest.raises(StoreError, match=r"let an administrator|permission denied"):
                PostgresStore(url.replace("postgres:@", "plain@"))
        finally:
            with psycopg.connect(url, autocommit=True) as admin:
                admin.execute("DROP OWNED BY plain")
                admin.execute("DROP ROLE plain")


@contextmanager
def another_user(url: str, name: str, *grants: str) -> Iterator[str]:
    """The address for a user of this name with these rights."""
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(f"DROP ROLE IF EXISTS {name}")
        admin.execute(f"CREATE ROLE {name} LOGIN")
        for grant in grants:
            admin.execute(f"GRANT {grant} TO {name}")
    try:
        yield url.replace("postgres:@", f"{name}@")
    finally:
        with psycopg.connect(url, autocommit=True) as admin:
            admin.execute(f"DROP OWNED BY {name}")
            admin.execute(f"DROP ROLE {name}")


def test_who_is_in_no_role_is_not_shown_an_empty_store() -> None:
    everything = ("USAGE ON SCHEMA holdfast", "SELECT ON ALL TABLES IN SCHEMA holdfast")
    with new_database() as url:
        PostgresStore(url).close()
        with (
            another_user(url, "looker", *everything) as theirs,
            pytest.raises(StoreError, match="no member of holdfast_serve"),
        ):
            PostgresStore(theirs)
        with (
            another_user(url, "nobody") as theirs,
            pytest.raises(StoreError, match=r"no member|permission denied for schema"),
        ):
            PostgresStore(theirs)


def test_an_erasure_that_leaves_the_words_on_the_disk_is_no_receipt() -> None:
    with new_database() as url:
        with closing(PostgresStore(url)) as store:
            fill(store)
        with (
            another_user(url, "member", "holdfast_serve, holdfast_work") as theirs,
            closing(PostgresStore(theirs)) as store,
            pytest.raises(StoreError, match="does not own the tables"),
        ):
            store.erase(ANN, at=NOON)
        with closing(PostgresStore(url)) as store:
            store.erase(ANN, at=NOON)


def test_a_schema_of_another_program_is_left_alone() -> None:
    for made in (
        "CREATE TABLE holdfast.events (x int)",
        "CREATE TABLE holdfast.schema_version (x int)",
    ):
        with new_database() as url:
            with psycopg.connect(url, autocommit=True) as admin:
                admin.execute("CREATE SCHEMA holdfast")
                admin.execute(made)
            with pytest.raises(NotAStore, match="of another program"):
                PostgresStore(url)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgresql://ann:s3cret@host:abc/x", "no address"),
        ("postgresql://ann:s3?cret@host/x", "no address"),
        ("postgresql://[::1:5432/x", "no address"),
        ("postgresql://ann:s3cr%ffx@host/x", "no address"),
        ("postgresql://host/x?pooled=maybe", "pooled must be true or false"),
        ("postgresql://host/x?connections=", "connections must be one number"),
        ("postgresql://host/x?connections=1&connections=2", "connections must be one number"),
        ("postgresql://host/x?s3cret=1", "is no parameter"),
        ("postgresql:/ann:s3cret@host/x", "this is no file"),
        ("host=db.example password=s3cret dbname=x", "this is no file"),
        ("mysql://ann:s3cret@host/x", "cannot open mysql"),
    ],
)
def test_a_mistyped_address_is_told_without_its_password(url: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as refused:
        wiring.make_store(url)
    assert "s3cret" not in str(refused.value).replace("'s3cret' is no parameter", "")


def test_a_service_needs_no_administrator() -> None:
    """Whoever is a member of the roles opens a database whose tables are there."""
    with new_database() as url:
        PostgresStore(url).close()
        with psycopg.connect(url, autocommit=True) as admin:
            admin.execute("DROP ROLE IF EXISTS service")
            admin.execute("CREATE ROLE service LOGIN")
            admin.execute("GRANT holdfast_serve, holdfast_work TO service")
        try:
            with closing(PostgresStore(url.replace("postgres:@", "service@"))) as opened:
                fill(opened)
                learn(opened, replace(BOB, agent="a"), a_fact(50))
                assert opened.listed(BOB, tier="fact")
                assert opened.counts().ready
        finally:
            with psycopg.connect(url, autocommit=True) as admin:
                admin.execute("DROP ROLE service")


def _is_of(row: object, scope: Scope) -> bool:
    whose = getattr(row, "scope", None) or getattr(getattr(row, "share", None), "scope", None)
    return whose is not None and (whose.workspace, whose.user) == (scope.workspace, scope.user)
