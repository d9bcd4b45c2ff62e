"""What stood before a fact in its turn: kept, shown, and gone with that turn."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.language.claims.claim import read_claim
from holdfast.language.statements.values import Fact
from holdfast.recall.hits import hit
from holdfast.records.entries import index_row
from holdfast.records.facts.plan import rest_version, to_derived
from holdfast.store.protocols import DumpedEvent
from holdfast.store.sqlite import SqliteStore
from tests.records.facts.stating import ANN, Stated

GAS, EACH = "we split the zyzzyva", "35 each"
GAS_BYTES = b"zyzzyva"


@pytest.fixture
def stated(tmp_path: Path) -> Iterator[Stated]:
    made = Stated(tmp_path / "facts.db")
    yield made
    made.store.close()


def hear(stated: Stated) -> str:
    """The turn in which the fact was said."""
    turn = stated.turn(f"{GAS}\n{EACH}")
    draft = stated.draft(EACH, source=turn, before=GAS, shown_before=GAS)
    for new in (1, 0):  # The same again gives nothing.
        assert len(stated.learn([draft])) == new
    return turn


def shown(stated: Stated) -> Fact:
    (fact,) = stated.facts.list(user="ann")
    assert stated.facts.get(fact.id, user="ann") == fact
    return fact


def in_files(stated: Stated, folder: Path) -> set[str]:
    stated.store.close()
    return {file.name for file in folder.iterdir() if GAS_BYTES in file.read_bytes()}


def test_it_is_told_with_the_fact(stated: Stated) -> None:
    hear(stated)
    fact = shown(stated)
    assert (fact.content, fact.before) == (EACH, GAS)


def test_what_is_compared_alone_is_not_kept(stated: Stated) -> None:
    stated.learn([stated.draft(EACH, before=GAS)])
    assert shown(stated).before == ""


def test_it_changes_neither_ids_nor_what_is_compared_and_found(stated: Stated) -> None:
    draft = stated.draft(EACH, before=GAS)
    made = [
        stated.facts.planned(ANN, [each], now=stated.now)[0]
        for each in (draft, replace(draft, shown_before=GAS))
    ]
    assert made[1].data == {**made[0].data, "before": GAS}
    assert replace(made[1], data=made[0].data) == made[0]


def test_it_goes_and_comes_back_with_its_turn(stated: Stated, tmp_path: Path) -> None:
    turn = hear(stated)
    stated.store.forget(ANN, [turn], at=stated.now)
    assert stated.texts() == []
    stated.store.forget(ANN, [turn], at=stated.now, undo=True)
    assert shown(stated).before == GAS
    stated.store.forget(ANN, [turn], at=stated.now)
    stated.store.wipe(forgotten_before=stated.later())
    assert not in_files(stated, tmp_path)


def test_of_a_fact_that_another_turn_says_too_nothing_of_a_forgotten_one_is_left(
    stated: Stated, tmp_path: Path
) -> None:
    first = hear(stated)
    stated.later()
    (again,) = stated.hear(EACH)
    assert again.sources[0] == first
    assert len(again.sources) == 2
    assert shown(stated).before == ""
    stated.store.forget(ANN, [first], at=stated.now)
    fact = shown(stated)
    assert (fact.content, fact.before) == (EACH, "")
    stated.store.wipe(forgotten_before=stated.later())
    fact = shown(stated)
    assert (fact.content, fact.before, fact.sources) == (EACH, "", again.sources[1:])
    assert not in_files(stated, tmp_path)


def test_nothing_is_left_of_it_by_an_erasure(stated: Stated, tmp_path: Path) -> None:
    hear(stated)
    stated.store.erase(ANN, at=stated.now)
    assert not in_files(stated, tmp_path)


def test_what_was_written_by_hand_stands_without_it(stated: Stated, tmp_path: Path) -> None:
    turn = hear(stated)
    stated.facts.update(shown(stated).id, "40 each", user="ann")
    assert (shown(stated).content, shown(stated).before) == ("40 each", "")
    stated.store.forget(ANN, [turn], at=stated.now)
    stated.store.wipe(forgotten_before=stated.later())
    assert stated.texts() == ["40 each"]
    assert not in_files(stated, tmp_path)


@pytest.mark.parametrize(("rest", "kept"), [("30 of it is mine", True), ("Piet pays Ana", False)])
def test_the_rest_of_a_fact_keeps_it_where_it_is_not_clear(
    stated: Stated, rest: str, *, kept: bool
) -> None:
    hear(stated)
    (record,) = stated.store.listed(ANN, tier="fact")
    made = rest_version(to_derived(record), "1" * 32, rest, read_claim(rest, "user"))
    assert made.data.get("before") == (GAS if kept else None)


def test_a_copy_without_the_turn_has_it_not(stated: Stated, tmp_path: Path) -> None:
    first = hear(stated)
    stated.later()
    stated.hear(EACH)
    rows = [
        row
        for row in stated.store.dump()
        if not (isinstance(row, DumpedEvent) and row.event.id == first)
    ]
    (folder := tmp_path / "copy").mkdir()
    copy = SqliteStore(folder / "copy.db")
    assert all(copy.load(rows, index_row, steps=[]))
    (record,) = copy.listed(ANN, tier="fact")
    assert (record.content, len(record.sources)) == (EACH, 1)
    copy.close()
    assert not in_files(stated, folder)


def test_another_workspace_is_not_shown_it(stated: Stated) -> None:
    hear(stated)
    (record,) = stated.store.listed(ANN, tier="fact")
    assert hit(record, score=1.0).metadata["holdfast"]["before"] == GAS
    lent = hit(replace(record, sources=()), score=1.0)
    assert "before" not in lent.metadata["holdfast"]
