"""Versions of one thing: which is the first, which holds now, and what happened to all of them."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from holdfast.records.versions import chain_data, first_id, history_of, newest, versions_of
from holdfast.store.sqlite import SqliteStore
from holdfast.testing.store_suite import ANN, NOON, a_fact, learn


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "m.db")
    yield opened
    opened.close()


def change(store: SqliteStore, number: int) -> None:
    """One more version of fact 50, a day after the one before."""
    before = store.listed(ANN, claim=a_fact(50).id, archived=True)
    new = a_fact(number)
    data = chain_data(new.id, before)
    at = NOON + timedelta(days=number - 50)
    ended = tuple(each.id for each in before)
    learn(store, ANN, replace(new, data=data, supersedes=ended, valid_from=at), at=at)


def test_the_newest_version_holds_and_all_are_found_by_any(store: SqliteStore) -> None:
    for number in (50, 51, 52):
        change(store, number)
    versions = store.listed(ANN, claim=a_fact(50).id, current=False, archived=True)
    assert [int(each.id, 16) for each in versions] == [50, 51, 52]
    assert [each.data.get("replaces") for each in versions] == [
        None, [versions[0].id], [versions[1].id],
    ]  # fmt: skip
    for each in versions:
        assert first_id(each) == versions[0].id
        assert versions_of(store, ANN, each) == versions
    assert newest(store, ANN, versions[0].id) == versions[-1]


def test_nothing_is_newest_when_the_last_one_was_taken_back(store: SqliteStore) -> None:
    change(store, 50)
    change(store, 51)
    store.end(ANN, [a_fact(51).id], at=NOON, valid_to=NOON, reason="wrong")
    assert newest(store, ANN, a_fact(50).id) is None
    assert newest(store, ANN, "nobody said it") is None


def test_the_history_of_several_versions_is_one(store: SqliteStore) -> None:
    change(store, 50)
    change(store, 51)
    lines = history_of(
        store, ANN, store.listed(ANN, claim=a_fact(50).id, current=False, archived=True)
    )
    told = [(line.action, int(line.record or "", 16)) for line in lines]
    assert told == [("stored", 50), ("superseded", 50), ("stored", 51)]


@pytest.mark.parametrize("claim", [None, "", 5])
def test_what_says_of_no_first_version_is_one_itself(store: SqliteStore, claim: object) -> None:
    learn(store, ANN, replace(a_fact(50), data={"claim": claim}))
    (record,) = store.listed(ANN, claim=a_fact(50).id, current=False, archived=True)
    assert first_id(record) == record.id
