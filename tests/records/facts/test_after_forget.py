"""What a fact replaced holds again when that fact, or the only turn that told it, is forgotten."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest

import holdfast
from holdfast.errors import InvalidInput, NotFound
from holdfast.memory.memory import Memory
from holdfast.testing import HashEmbedder

START = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    ticks = count()
    with holdfast.open(
        tmp_path / "m.db",
        embedder=HashEmbedder(16),
        worker=False,
        clock=lambda: START + timedelta(seconds=next(ticks)),
    ) as opened:
        yield opened


def say(memory: Memory, text: str, days: int) -> str:
    at = (START + timedelta(days=days)).isoformat()
    (event,) = memory.remember({"content": text, "at": at}, user="ann").events
    memory.drain()
    return event


def holding(memory: Memory) -> list[str]:
    return [fact.content for fact in memory.facts.list(user="ann")]


def test_with_its_turn_a_change_goes_and_what_it_ended_holds_again(memory: Memory) -> None:
    say(memory, "I live in Paris.", -30)
    turn = say(memory, "I live in Lisbon now.", -10)
    assert holding(memory) == ["I live in Lisbon now."]
    memory.forget(turn, user="ann")
    assert holding(memory) == ["I live in Paris."]
    assert memory.profile(user="ann").fields["home"].value == "Paris"
    memory.restore(turn, user="ann")
    assert holding(memory) == ["I live in Lisbon now."]
    (old,) = memory.facts.list(user="ann", status="superseded")
    assert old.valid_to == START + timedelta(days=-10)


def test_the_same_by_the_fact_itself(memory: Memory) -> None:
    memory.facts.add("I live in Paris.", user="ann", at=START - timedelta(days=9))
    new = memory.facts.add("I live in Lisbon now.", user="ann")
    memory.forget(new.id, user="ann")
    assert holding(memory) == ["I live in Paris."]
    memory.restore(new.id, user="ann")
    assert holding(memory) == ["I live in Lisbon now."]


def test_in_the_middle_of_a_chain_nothing_comes_back(memory: Memory) -> None:
    say(memory, "I live in Paris.", -30)
    middle = say(memory, "I live in Lisbon now.", -20)
    say(memory, "I live in Porto now.", -10)
    memory.forget(middle, user="ann")
    assert holding(memory) == ["I live in Porto now."]


def test_a_change_that_two_turns_told_stays_with_the_other(memory: Memory) -> None:
    say(memory, "I live in Paris.", -30)
    first = say(memory, "I live in Lisbon now.", -20)
    say(memory, "I live in Lisbon now.", -10)
    memory.forget(first, user="ann")
    assert holding(memory) == ["I live in Lisbon now."]


@pytest.mark.parametrize("origin", ["web", "agent", "document"])
def test_the_users_own_word_takes_the_place_of_the_same_by_others(
    memory: Memory, origin: str
) -> None:
    told = "I'm allergic to peanuts."
    memory.facts.add(told, user="ann", origin=origin, category="constraint")
    memory.facts.add(told, user="ann", category="constraint")
    (fact,) = memory.facts.list(user="ann")
    assert (fact.origin, fact.category) == ("user", "constraint")
    again = memory.facts.add(told, user="ann", origin=origin, category="constraint")
    assert (again.outcome, again.id, again.origin) == ("noop", fact.id, "user")


def test_what_was_added_and_forgotten_is_not_there_for_a_retry(memory: Memory) -> None:
    fact = memory.facts.add("I live in Paris.", user="ann", key="once")
    memory.forget(fact.id, user="ann")
    with pytest.raises(NotFound, match="forgotten"):
        memory.facts.add("I live in Paris.", user="ann", key="once")
    memory.restore(fact.id, user="ann")
    again = memory.facts.add("I live in Paris.", user="ann", key="once")
    assert (again.id, again.outcome) == (fact.id, "add")


def test_nobody_edits_what_a_more_trusted_one_said(memory: Memory) -> None:
    fact = memory.facts.add("My name is Ann.", user="ann", category="identity")
    with pytest.raises(InvalidInput, match="origin web cannot change what origin user said"):
        memory.facts.update(fact.id, "My name is Mallory.", user="ann", origin="web")
    assert holding(memory) == ["My name is Ann."]


def test_a_clock_that_ran_ahead_does_not_outlast_what_is_said_now(memory: Memory) -> None:
    memory.facts.add("I live in Rome.", user="ann", at="2100-01-01T00:00Z")
    memory.facts.add("I live in Paris.", user="ann")
    assert holding(memory) == ["I live in Paris."]


def test_what_was_told_late_was_over_when_it_was_told(memory: Memory) -> None:
    memory.facts.add("I live in Rome.", user="ann", at=START - timedelta(days=9))
    memory.facts.add("I live in Oslo.", user="ann", at=START - timedelta(days=90))
    later = START + timedelta(days=9)
    found = memory.facts.list(user="ann", known_at=later)
    assert [fact.content for fact in found] == ["I live in Rome."]
    memory.drain()
    hits = memory.recall("live", user="ann", tiers=["fact"], known_at=later)
    assert [hit.content for hit in hits] == ["I live in Rome."]


def test_an_answer_ends_what_holds_now(memory: Memory) -> None:
    memory.facts.add("I live in Paris.", user="ann")
    unclear = memory.facts.add("Maybe, I moved to Porto.", user="ann")
    assert unclear.outcome == "clarify"
    memory.facts.add("I live in Rome now.", user="ann")
    memory.facts.answer(unclear.id, keep="new", user="ann")
    assert holding(memory) == ["Maybe, I moved to Porto."]


def test_what_is_gone_cannot_be_kept(memory: Memory) -> None:
    known = memory.facts.add("I live in Paris.", user="ann")
    unclear = memory.facts.add("Maybe, I moved to Porto.", user="ann")
    memory.forget(known.id, user="ann")
    with pytest.raises(InvalidInput, match="keep: the known fact is gone"):
        memory.facts.answer(unclear.id, keep="old", user="ann")
    assert [each.id for each in memory.facts.clarifications(user="ann")] == [unclear.id]


def test_whatever_is_forgotten_the_last_version_that_is_there_holds(memory: Memory) -> None:
    paris = say(memory, "I live in Paris.", -30)
    rome = say(memory, "I live in Rome now.", -20)
    oslo = say(memory, "I live in Oslo now.", -10)
    memory.forget(rome, user="ann")
    memory.forget(oslo, user="ann")
    assert holding(memory) == ["I live in Paris."]
    memory.restore(rome, user="ann")
    assert holding(memory) == ["I live in Rome now."]
    say(memory, "I live in Bonn now.", -5)
    memory.restore(oslo, user="ann")
    assert holding(memory) == ["I live in Bonn now."]
    memory.forget(paris, user="ann")
    assert holding(memory) == ["I live in Bonn now."]


def test_both_are_asked_about_again_when_the_answer_is_forgotten(memory: Memory) -> None:
    never = memory.facts.add("I've never tried sushi.", user="ann")
    did = memory.facts.add("I tried sushi in Osaka.", user="ann")
    both = memory.facts.answer(did.id, keep="both", user="ann")
    assert (both.claim, both.contradicts) == (did.id, (never.id,))
    memory.forget(both.id, user="ann")
    (pair,) = memory.facts.contradictions(user="ann")
    assert (pair.earlier.id, pair.later.id) == (never.id, did.id)
