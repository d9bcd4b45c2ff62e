"""What contexts told is noted as used: once a day, and never in anybody's way."""

import logging
from typing import Any

import pytest

from holdfast.errors import StoreBusy
from holdfast.recall.hits import hit
from holdfast.types import Hit, Scope
from holdfast.upkeep.feedback import Uses
from tests.upkeep.living import ANN, DAY, Living, derived


def told(alive: Living, *ids: str) -> list[Hit]:
    return [hit(alive.get(id), score=1.0) for id in ids]


class Counted:
    """A real store that counts what is written into it, or that is busy."""

    def __init__(self, alive: Living, *, busy: bool = False) -> None:
        self._store = alive.store
        self._busy = busy
        self.writes = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def touch(self, *args: Any, **given: Any) -> list[str]:
        self.writes += 1
        if self._busy:
            raise StoreBusy("another process writes")
        found: list[str] = self._store.touch(*args, **given)
        return found


def test_a_use_is_noted_once_a_day_with_one_write(alive: Living) -> None:
    first, second = alive.put(derived("The build runs on Linux."), derived("The cat is grey."))
    store: Any = Counted(alive)
    uses = Uses(store)
    uses.note(ANN, told(alive, first), alive.now)
    uses.note(ANN, told(alive, first), alive.now)
    assert (alive.get(first).uses, store.writes) == (1, 1)
    uses.note(ANN, told(alive, first, second), alive.now)
    assert (alive.get(first).uses, alive.get(second).uses, store.writes) == (1, 1, 2)
    uses.note(ANN, told(alive, first), alive.later(DAY))
    assert (alive.get(first).uses, store.writes) == (2, 3)


def test_another_process_does_not_count_it_again(alive: Living) -> None:
    (id,) = alive.put(derived("The build runs on Linux."))
    for _ in range(2):
        Uses(alive.store).note(ANN, told(alive, id), alive.now)
    assert alive.get(id).uses == 1


def test_owners_are_told_apart(alive: Living) -> None:
    bob = Scope("default", "bob")
    (id,) = alive.put(derived("The build runs on Linux."))
    (same,) = alive.put(derived("The build runs on Linux.", id="f" * 32), scope=bob)
    uses = Uses(alive.store)
    hits = told(alive, id)
    uses.note(bob, hits, alive.now)  # Nothing of that name is bob's.
    uses.note(ANN, hits, alive.now)
    assert alive.get(id).uses == 1
    (other,) = alive.store.get(bob, [same])
    assert other.uses == 0


def test_turns_and_rules_are_told_however_often(alive: Living) -> None:
    alive.memory.remember("The build runs on Linux.", user="ann")
    rule = derived(
        "Always answer in French.", tier="procedure", kind="instruction", origin="user", role="user"
    )
    (id,) = alive.put(rule)
    store: Any = Counted(alive)
    hits = [*alive.memory.recall("build", user="ann", tiers=["session"]), *told(alive, id)]
    assert len(hits) == 2
    Uses(store).note(ANN, hits, alive.now)
    assert store.writes == 0


def test_a_busy_store_fails_nobody(alive: Living, caplog: pytest.LogCaptureFixture) -> None:
    (id,) = alive.put(derived("The build runs on Linux."))
    store: Any = Counted(alive, busy=True)
    with caplog.at_level(logging.WARNING, logger="holdfast"):
        Uses(store).note(ANN, told(alive, id), alive.now)
    assert alive.get(id).uses == 0
    assert caplog.messages == ["a use was not noted: StoreBusy"]


def test_a_use_makes_stronger(alive: Living) -> None:
    (id,) = alive.put(derived("The build runs on Linux."))
    Uses(alive.store).note(ANN, told(alive, id), alive.now)
    assert alive.get(id).strength == pytest.approx(0.6)
    assert alive.actions(id) == ["stored"]  # A use is no event of its history.
