"""How much a user has in each tier."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.records.stats import count_by_tier
from holdfast.types import ALL_TIERS, TEAM, Scope
from tests.upkeep.living import ANN, Living, derived, living


@pytest.fixture
def alive(tmp_path: Path) -> Iterator[Living]:
    with living(tmp_path / "m.db") as made:
        yield made


def test_every_tier_is_there_though_nothing_is(alive: Living) -> None:
    assert count_by_tier(alive.store, ANN) == dict.fromkeys(ALL_TIERS, 0)


def test_what_holds_is_counted_by_tier(alive: Living) -> None:
    alive.memory.remember("The build runs on Linux.", user="ann")
    alive.put(derived("A fact."), derived("Another fact."), derived("A note.", tier="note"))
    found = count_by_tier(alive.store, ANN)
    assert (found["session"], found["fact"], found["note"]) == (1, 2, 1)
    assert sum(found.values()) == 4


def test_what_does_not_hold_is_not_counted(alive: Living) -> None:
    ended, archived, forgotten, left = alive.put(
        *(derived(f"Fact number {number}.") for number in range(4))
    )
    now = alive.later()
    alive.store.end(ANN, [ended], at=now, valid_to=now, reason="over")
    alive.store.archive(ANN, [archived], at=now, reason="stale")
    alive.store.forget(ANN, [forgotten], at=now)
    assert count_by_tier(alive.store, ANN)["fact"] == 1
    assert alive.get(left).known_to is None
    alive.store.archive(ANN, [archived], at=now, undo=True)
    alive.store.end(ANN, [ended], valid_to=None, at=now)
    alive.store.forget(ANN, [forgotten], at=now, undo=True)
    assert count_by_tier(alive.store, ANN)["fact"] == 4


def test_owners_are_counted_apart(alive: Living) -> None:
    for scope in (Scope("default", "bob"), Scope("w2", "ann"), Scope("default", TEAM)):
        alive.put(derived(f"A fact of {scope.workspace} {scope.user}."), scope=scope)
    alive.put(derived("An agent's fact."), scope=Scope("default", "ann", agent="cook"))
    assert count_by_tier(alive.store, ANN)["fact"] == 1
