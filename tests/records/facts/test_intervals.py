"""When facts of one attribute held: no two at a time, in whatever order they were told."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import count, pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.language.claims.claim import read_claim
from holdfast.language.statements.values import Fact
from holdfast.memory.memory import Memory
from holdfast.testing.store_suite import NOON
from holdfast.types import Scope
from tests.records.facts.stating import DAY, Stated
from tests.ticking import ticking

CITIES = ("Paris", "Rome", "Oslo", "Bonn", "Lima", "Kyiv", "Bern", "Riga")
ORDERS = st.permutations(range(len(CITIES))).flatmap(
    lambda days: st.integers(1, len(days)).map(lambda most: days[:most])
)
SETTINGS = settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
_numbers = count()


@pytest.fixture
def stated(tmp_path: Path) -> Iterator[Stated]:
    made = Stated(tmp_path / "facts.db")
    yield made
    made.store.close()


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with ticking(tmp_path) as opened:
        yield opened


def somebody() -> Scope:
    """A user of whom nothing is known."""
    return Scope("default", f"user{next(_numbers)}")


def day(number: int) -> datetime:
    return NOON - timedelta(days=100 - 10 * number)


def lives(number: int) -> str:
    return f"I live in {CITIES[number]}."


def spans(facts: Sequence[Fact]) -> list[tuple[str, datetime, datetime | None]]:
    told = [(each.content, each.valid_from, each.valid_to) for each in facts]
    return sorted(told, key=lambda each: each[1])


def one_after_another(numbers: Sequence[int]) -> list[tuple[str, datetime, datetime | None]]:
    """How it should be."""
    ordered = sorted(numbers)
    ends = [*(day(each) for each in ordered[1:]), None]
    return [(lives(each), day(each), end) for each, end in zip(ordered, ends, strict=True)]


def test_of_two_that_are_told_late_one_ends_where_the_other_begins(stated: Stated) -> None:
    stated.add(lives(5), at=day(5))
    stated.add(lives(1), at=day(1))
    stated.add(lives(3), at=day(3))
    assert stated.texts() == [lives(5)]
    assert stated.texts(as_of=day(2)) == [lives(1)]
    assert stated.texts(as_of=day(4)) == [lives(3)]
    assert stated.texts(as_of=day(5)) == [lives(5)]
    late, first = stated.facts.list(user="ann", status="superseded")
    assert (late.reason, first.reason) == ("told-late", "told-late")
    assert stated.facts.history(late.id, user="ann"), "all of them are versions of one claim"
    assert late.claim == first.claim


def test_what_had_ended_is_shortened_and_says_why(stated: Stated) -> None:
    old = stated.add(lives(1), at=day(1))
    stated.add(lives(5), at=day(5))
    known = stated.facts.get(old.id, user="ann").known_to
    stated.later()
    stated.add(lives(3), at=day(3))
    found = stated.facts.get(old.id, user="ann")
    assert (found.valid_to, found.known_to, found.status) == (day(3), known, "superseded")
    lines = stated.facts.history(old.id, user="ann")
    notes = [line.note for line in lines if line.record == old.id and line.action == "superseded"]
    assert notes == ["later", "told-late"]


def test_what_was_taken_back_does_not_bound_what_is_told_late(stated: Stated) -> None:
    wrong = stated.add(lives(5), at=day(5))
    stated.facts.invalidate(wrong.id, user="ann")
    stated.add(lives(3), at=day(3))
    assert stated.texts() == [lives(3)]


def test_what_is_known_of_an_attribute_is_not_read_for_each_new_fact(stated: Stated) -> None:
    for number in range(60):
        stated.add(f"I live in Town{chr(97 + number % 26)}{number // 26}o.", at=stated.later())
    before = read_claim.cache_info()
    stated.add("I live in Rome.", at=stated.later())
    stated.add("I live in Oslo.", at=stated.now - 20 * DAY)
    after = read_claim.cache_info()
    assert after.hits + after.misses - before.hits - before.misses < 60


@pytest.mark.slow
@SETTINGS
@given(order=ORDERS, at_once=st.integers(1, 4))
def test_no_two_hold_at_a_time_in_whatever_order_they_are_told(
    stated: Stated, order: list[int], at_once: int
) -> None:
    who = somebody()
    for start in range(0, len(order), at_once):
        some = order[start : start + at_once]
        if at_once == 1:
            stated.add(lives(some[0]), at=day(some[0]), user=who.user)
        else:
            drafts = [stated.draft(lives(each), at=day(each), scope=who) for each in some]
            stated.learn(drafts, scope=who)
        stated.later()
    assert spans(stated.facts.list(user=who.user, status="all")) == one_after_another(order)
    for each in order:
        assert stated.texts(as_of=day(each) + DAY, user=who.user) == [lives(each)]


@pytest.mark.slow
@SETTINGS
@given(
    order=ORDERS,
    acts=st.lists(st.tuples(st.booleans(), st.integers(0, 15), st.integers(0, 15)), max_size=8),
)
def test_nor_when_some_are_forgotten_and_come_back(
    memory: Memory, order: list[int], acts: list[tuple[bool, int, int]]
) -> None:
    user = somebody().user
    ids: dict[int, str] = {}
    there: set[int] = set()
    todo = [("tell", each) for each in order]
    for back, which, place in acts:
        act = "restore" if back else "forget"
        todo.insert(place % (len(todo) + 1), (act, order[which % len(order)]))
    for act, number in todo:
        if act == "tell":
            ids[number] = memory.facts.add(lives(number), user=user, at=day(number)).id
            there.add(number)
        elif number in ids and act == "forget":
            memory.forget(ids[number], user=user)
            there.discard(number)
        elif number in ids:
            memory.restore(ids[number], user=user)
            there.add(number)
        holding = [each.content for each in memory.facts.list(user=user)]
        assert holding == ([lives(max(there))] if there else [])
        facts = spans(memory.facts.list(user=user, status="all"))
        for (_, _, end), (_, begin, _) in pairwise(facts):
            assert end is not None
            assert end <= begin
