"""A fact that is forgotten and comes back: all is as it was before, whatever else was told."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from holdfast.memory.memory import Memory
from holdfast.testing.store_suite import NOON
from tests.records.facts.more_pairs import MORE_PAIRS
from tests.records.facts.pairs import PAIRS, Pair
from tests.ticking import ticking


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with ticking(tmp_path) as opened:
        yield opened


def tell(memory: Memory, *texts: str, user: str = "ann") -> list[str]:
    return [memory.facts.add(text, user=user).id for text in texts]


def holding(memory: Memory, user: str = "ann") -> list[str]:
    return [fact.content for fact in memory.facts.list(user=user)][::-1]


@pytest.mark.slow
@pytest.mark.parametrize("pairs", [PAIRS, MORE_PAIRS], ids=["pairs", "more"])
def test_of_every_pair_each_may_go_and_come_back(memory: Memory, pairs: tuple[Pair, ...]) -> None:
    wrong = []
    for number, pair in enumerate(pairs):
        user = f"user{number}"
        ids = tell(memory, pair.known, pair.said, user=user)
        told = holding(memory, user)
        for each in dict.fromkeys(ids):
            memory.forget(each, user=user)
            memory.restore(each, user=user)
            if holding(memory, user) != told:
                wrong.append((pair.known, pair.said, holding(memory, user)))
    assert wrong == []


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize(
    "texts",
    [
        ("I live in Paris.", "I no longer live in Rome."),
        ("I smoke ten cigarettes a day.", "I don't smoke any more."),
        ("The meeting room is B12.", "The meeting room changed to C04."),
        ("I live in Portugal.", "I live in Porto, close to the river."),
    ],
)
def test_what_held_holds_and_what_was_over_is(
    memory: Memory, texts: tuple[str, str], which: int
) -> None:
    ids = tell(memory, *texts)
    told = holding(memory)
    memory.forget(ids[which], user="ann")
    memory.restore(ids[which], user="ann")
    assert holding(memory) == told


def test_a_denial_of_another_value_ends_none(memory: Memory) -> None:
    day = timedelta(days=1)
    paris = memory.facts.add("I live in Paris.", user="ann", at=NOON - 60 * day)
    memory.facts.add("I moved to Oslo.", user="ann", at=NOON - 10 * day)
    memory.facts.add("I no longer live in Rome.", user="ann", at=NOON - 40 * day)
    assert memory.facts.get(paris.id, user="ann").valid_to == NOON - 10 * day


def test_what_was_replaced_under_another_name_stays_so(memory: Memory) -> None:
    *_, last = tell(
        memory,
        "The meeting room is B12.",
        "The meeting room changed to C04.",
        "The meeting room is D01.",
    )
    memory.forget(last, user="ann")
    assert holding(memory) == ["The meeting room changed to C04."]


def test_what_a_later_fact_of_the_attribute_has_passed_stays_so(memory: Memory) -> None:
    _, changed, _ = tell(
        memory,
        "The meeting room is B12.",
        "The meeting room changed to C04.",
        "The meeting room is D01.",
    )
    memory.forget(changed, user="ann")
    assert holding(memory) == ["The meeting room is D01."]


def test_a_country_and_a_town_in_it_hold_in_any_order(memory: Memory) -> None:
    town = "I live in Porto, close to the river."
    tell(memory, town)
    memory.facts.add("I live in Portugal.", user="ann", at=NOON - timedelta(days=9))
    assert holding(memory) == ["I live in Portugal.", town]


def test_what_was_told_in_the_meantime_ends_what_comes_back(memory: Memory) -> None:
    (paris,) = tell(memory, "I live in Paris.")
    memory.forget(paris, user="ann")
    tell(memory, "I live in Rome.")
    memory.restore(paris, user="ann")
    assert holding(memory) == ["I live in Rome."]


def test_less_that_was_told_in_the_meantime_ends_no_more(memory: Memory) -> None:
    more = "I have two children, Mia who is 7 and Leo who is 4."
    (id,) = tell(memory, more)
    memory.forget(id, user="ann")
    tell(memory, "I have two children.")
    memory.restore(id, user="ann")
    assert holding(memory) == [more, "I have two children."]


def test_what_comes_back_ends_all_that_it_had_replaced(memory: Memory) -> None:
    first, _, last = tell(
        memory, "I no longer live in Paris.", "I live in Rome.", "I no longer live in Rome."
    )
    told = holding(memory)
    for each in (last, first):
        memory.forget(each, user="ann")
    for each in (first, last):
        memory.restore(each, user="ann")
    assert holding(memory) == told == ["I no longer live in Rome."]


def test_restoring_twice_ends_nothing_that_was_told_since(memory: Memory) -> None:
    ids = tell(memory, "I live in Portugal.")
    memory.forget(ids[0], user="ann")
    memory.restore(ids[0], user="ann")
    tell(memory, "I live in Porto, close to the river.")
    told = holding(memory)
    memory.restore(ids[0], user="ann")
    assert holding(memory) == told
