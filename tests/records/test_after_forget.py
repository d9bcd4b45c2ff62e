"""What was replaced holds again when its successor goes, and of what comes back one alone holds."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count, pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.errors import NotFound
from holdfast.memory.memory import Memory
from holdfast.testing import HashEmbedder
from holdfast.types import Scope

START = datetime(2026, 3, 1, tzinfo=UTC)
ANN = Scope("default", "ann")
_numbers = count()


def opened(path: Path) -> Memory:
    ticks = count()
    return holdfast.open(
        path,
        embedder=HashEmbedder(16),
        config={"extraction": {"enabled": False}},
        worker=False,
        clock=lambda: START + timedelta(seconds=next(ticks)),
    )


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with opened(tmp_path / "m.db") as made:
        yield made


def entry(memory: Memory, value: str) -> str:
    return memory.knowledge.set("plan", value, user="ann").id


def entries(memory: Memory) -> list[str]:
    """What stands under the key, by every way to ask for it."""
    found = [each.value for each in memory.knowledge.entries(user="ann")]
    try:
        assert [memory.knowledge.get("plan", user="ann").value] == found
    except NotFound:
        assert found == []
    return found


def home(memory: Memory, value: str) -> str:
    memory.profiles.set("home", value, user="ann")
    return memory.store.listed(ANN, tier="profile", kind="home")[-1].id


def homes(memory: Memory) -> list[str]:
    set_by_hand = memory.store.listed(ANN, tier="profile", kind="home")
    shown = memory.profile(user="ann").fields.get("home")
    assert [each.data["values"] for each in set_by_hand] == ([[shown.value]] if shown else [])
    return [each.data["values"][0] for each in set_by_hand]


def acts(memory: Memory, id: str) -> list[str]:
    return [line.action for line in memory.store.history(ANN, id)]


def test_an_entry_holds_again_when_the_later_one_is_forgotten(memory: Memory) -> None:
    first, second = entry(memory, "A"), entry(memory, "B")
    memory.forget(second, user="ann")
    assert entries(memory) == ["A"]
    memory.restore(second, user="ann")
    assert entries(memory) == ["B"]
    assert acts(memory, first) == ["stored", "superseded", "reopened", "superseded"]
    old, new = memory.store.get(ANN, [first, second])
    assert old.valid_to == new.valid_from


def test_an_entry_that_is_set_after_another_came_back_replaces_it(memory: Memory) -> None:
    first, second = entry(memory, "A"), entry(memory, "B")
    memory.forget(second, user="ann")
    third = entry(memory, "C")
    assert entries(memory) == ["C"]
    memory.restore(second, user="ann")
    assert entries(memory) == ["C"]
    spans = [(each.valid_from, each.valid_to) for each in memory.store.get(ANN, [first, second])]
    starts = [each.valid_from for each in memory.store.get(ANN, [second, third])]
    assert [until for _, until in spans] == starts, "no time has two values"


def test_an_entry_that_was_set_anew_stands_above_the_one_that_comes_back(memory: Memory) -> None:
    first = entry(memory, "A")
    memory.forget(first, user="ann")
    second = entry(memory, "B")
    memory.restore(first, user="ann")
    assert entries(memory) == ["B"]
    assert memory.get(first, user="ann").content == "plan: A"
    old, new = memory.store.get(ANN, [first, second])
    assert old.valid_to == new.valid_from
    memory.forget(second, user="ann")
    assert entries(memory) == ["A"]


def test_a_document_that_was_added_anew_stands_above_the_one_that_comes_back(
    memory: Memory,
) -> None:
    first = memory.knowledge.add("An otter swims.", name="a.txt", user="ann")
    memory.forget(first.id, user="ann")
    second = memory.knowledge.add("An otter sleeps.", name="a.txt", user="ann")
    memory.restore(first.id, user="ann")
    memory.drain()
    assert [each.id for each in memory.knowledge.documents(user="ann")] == [second.id]
    hits = memory.recall("otter", user="ann")
    assert [hit.content for hit in hits] == ["An otter sleeps."]
    then = memory.recall("otter", user="ann", as_of=first.added_at)
    assert [hit.content for hit in then] == ["An otter swims."]


def test_a_field_holds_again_when_the_later_one_is_forgotten(memory: Memory) -> None:
    home(memory, "Paris")
    second = home(memory, "Rome")
    memory.forget(second, user="ann")
    assert homes(memory) == ["Paris"]
    memory.restore(second, user="ann")
    assert homes(memory) == ["Rome"]


def test_a_field_that_was_set_anew_stands_above_the_one_that_comes_back(memory: Memory) -> None:
    first = home(memory, "Paris")
    memory.forget(first, user="ann")
    second = home(memory, "Rome")
    memory.restore(first, user="ann")
    assert homes(memory) == ["Rome"]
    assert acts(memory, first) == ["stored", "forgotten", "restored", "superseded"]
    memory.forget(second, user="ann")
    assert homes(memory) == ["Paris"]


def test_a_field_that_was_cleared_stays_cleared(memory: Memory) -> None:
    first = home(memory, "Paris")
    second = home(memory, "Rome")
    memory.profiles.clear("home", user="ann")
    memory.forget(second, user="ann")
    assert homes(memory) == []
    memory.restore(second, user="ann")
    memory.forget(first, user="ann")
    memory.restore(first, user="ann")
    assert homes(memory) == []


def test_a_procedure_holds_again_when_its_later_version_is_forgotten(memory: Memory) -> None:
    procedures = memory.procedures
    first = procedures.add("Deploy", steps=["Build"], user="ann")
    other = procedures.add("Bake", steps=["Knead"], user="ann")
    second = procedures.update(first.id, steps=["Build", "Test"], kind="template", user="ann")
    memory.forget(second.id, user="ann")
    assert {each.id for each in procedures.list(user="ann")} == {first.id, other.id}
    third = procedures.update(first.id, steps=["Build", "Ship"], user="ann")
    memory.restore(second.id, user="ann")
    assert {each.id for each in procedures.list(user="ann")} == {third.id, other.id}
    memory.forget(third.id, user="ann")
    assert {each.id for each in procedures.list(user="ann")} == {second.id, other.id}
    assert acts(memory, first.id)[:3] == ["stored", "superseded", "reopened"]


@pytest.mark.slow
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(acts=st.lists(st.tuples(st.sampled_from("sfr"), st.integers(0, 5)), min_size=2, max_size=8))
def test_of_what_is_there_the_last_holds_and_no_time_has_two(
    memory: Memory, acts: list[tuple[str, int]]
) -> None:
    user = f"user{next(_numbers)}"
    ids: list[str] = []
    gone: set[str] = set()
    for number, (act, which) in enumerate([("s", 0), ("s", 0), *acts]):
        if act == "s":
            ids.append(memory.knowledge.set("plan", str(number), user=user).id)
        elif act == "f":
            memory.forget(ids[which % len(ids)], user=user)
            gone.add(ids[which % len(ids)])
        else:
            memory.restore(ids[which % len(ids)], user=user)
            gone.discard(ids[which % len(ids)])
        left = [each for each in ids if each not in gone]
        assert [each.id for each in memory.knowledge.entries(user=user)] == left[-1:]
        found = memory.store.get(Scope("default", user), ids)
        for one, following in pairwise(found):
            assert one.valid_to is not None
            assert one.valid_to <= following.valid_from
