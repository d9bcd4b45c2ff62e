"""Which rules stand when one was forgotten or came back."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from holdfast.language.instructions.rules import Rule
from holdfast.memory.memory import Memory
from holdfast.models.reader import RELATIONS
from holdfast.records.rules import RuleDraft, planned_rules
from holdfast.types import Record, Scope
from tests.ticking import ticking

START = datetime(2026, 3, 1, tzinfo=UTC)
ANN = Scope("default", "ann")
FRENCH, ENGLISH = "Always answer in French.", "From now on, always answer in English."
GERMAN = "From now on, always answer in German."


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with ticking(tmp_path, START) as opened:
        yield opened


def say(memory: Memory, *texts: str, **given: Any) -> list[str]:
    return [memory.remember(text, user="ann", **given).events[0] for text in texts]


def rules(memory: Memory) -> list[Record]:
    return memory.store.listed(ANN, tier="procedure", kind="instruction")


def standing(memory: Memory) -> list[str]:
    return [each.content for each in rules(memory)]


@pytest.mark.parametrize("by_rule", [False, True])
def test_a_rule_stands_again_when_the_one_that_ended_it_goes(memory: Memory, by_rule: bool) -> None:
    _, turn = say(memory, FRENCH, ENGLISH)
    assert standing(memory) == [ENGLISH]
    (english,) = rules(memory)
    id = english.id if by_rule else turn
    memory.forget(id, user="ann")
    assert standing(memory) == [FRENCH]
    (french,) = rules(memory)
    assert FRENCH in memory.context("Which plants like shade?", user="ann").text
    memory.restore(id, user="ann")
    assert standing(memory) == [ENGLISH]
    (ended,) = memory.store.get(ANN, [french.id])
    assert ended.valid_to == english.valid_from
    acts = [line.action for line in memory.history(french.id, user="ann")]
    assert acts == ["stored", "superseded", "reopened", "superseded"]


def test_in_the_middle_of_a_chain_nothing_comes_back_until_the_last_one_goes(
    memory: Memory,
) -> None:
    _, middle, last = say(memory, FRENCH, ENGLISH, GERMAN)
    memory.forget(middle, user="ann")
    assert standing(memory) == [GERMAN]
    memory.forget(last, user="ann")
    assert standing(memory) == [FRENCH]
    memory.restore(middle, user="ann")
    assert standing(memory) == [ENGLISH]
    memory.restore(last, user="ann")
    assert standing(memory) == [GERMAN]


def test_what_was_given_since_ends_what_comes_back(memory: Memory) -> None:
    (french,) = say(memory, FRENCH)
    memory.forget(french, user="ann")
    say(memory, ENGLISH)
    memory.restore(french, user="ann")
    assert standing(memory) == [ENGLISH]
    every = memory.store.listed(ANN, tier="procedure", current=False)
    (old,) = [each for each in every if each.content == FRENCH]
    assert old.valid_to is not None


def test_a_release_that_is_forgotten_gives_back_what_it_took(memory: Memory) -> None:
    *_, release = say(memory, FRENCH, "Never use tables.", "Forget the rule about tables.")
    assert standing(memory) == [FRENCH]
    memory.forget(release, user="ann")
    assert standing(memory) == [FRENCH, "Never use tables."]
    memory.restore(release, user="ann")
    assert standing(memory) == [FRENCH]


def test_a_rule_that_was_only_repeated_stays(memory: Memory) -> None:
    first, second = say(memory, FRENCH, FRENCH)
    memory.forget(second, user="ann")
    assert [each.sources for each in rules(memory)] == [(first,)]
    memory.restore(second, user="ann")
    assert [each.sources for each in rules(memory)] == [(second,)]


def test_of_two_rules_of_one_turn_the_later_stands_when_it_is_back(memory: Memory) -> None:
    (turn,) = say(memory, f"{FRENCH} {ENGLISH}")
    before = standing(memory)
    memory.forget(turn, user="ann")
    assert standing(memory) == []
    memory.restore(turn, user="ann")
    assert standing(memory) == before == [ENGLISH]


def test_rules_of_other_agents_and_other_matters_are_left_alone(memory: Memory) -> None:
    say(memory, FRENCH, agent="cook")
    say(memory, "Never use tables.")
    (english,) = say(memory, ENGLISH)
    before = standing(memory)
    memory.forget(english, user="ann")
    assert standing(memory) == [each for each in before if each != ENGLISH]
    memory.restore(english, user="ann")
    assert standing(memory) == before


@pytest.mark.parametrize("private", [FRENCH, ENGLISH])
def test_a_rule_that_one_agent_alone_sees_and_one_that_all_see_leave_each_other_alone(
    memory: Memory, private: str
) -> None:
    turns = {
        text: say(memory, text, agent="cook", visibility="agent_only" if text == private else None)[
            0
        ]
        for text in (FRENCH, ENGLISH)
    }
    for turn in turns.values():
        memory.forget(turn, user="ann")
        memory.restore(turn, user="ann")
        assert sorted(standing(memory)) == [FRENCH, ENGLISH]


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_in_which_order_rules_are_forgotten_makes_no_difference(
    memory: Memory, order: tuple[int, int]
) -> None:
    turns = say(memory, ENGLISH, FRENCH, "Stop using French.")
    assert standing(memory) == ["Stop using French."]
    for each in order:
        memory.forget(turns[each], user="ann")
    assert standing(memory) == [ENGLISH]
    for each in order:
        memory.restore(turns[each], user="ann")
    assert standing(memory) == ["Stop using French."]


def test_a_rule_that_was_over_when_it_was_told_stands_when_what_ended_it_goes(
    memory: Memory,
) -> None:
    (english,) = say(memory, ENGLISH)
    say(memory, FRENCH, at=START - timedelta(days=1))
    assert standing(memory) == [ENGLISH]
    memory.forget(english, user="ann")
    assert standing(memory) == [FRENCH]
    memory.restore(english, user="ann")
    assert standing(memory) == [ENGLISH]


def test_what_was_taken_back_by_hand_stays_so(memory: Memory) -> None:
    _, english = say(memory, FRENCH, ENGLISH)
    memory.forget(english, user="ann")
    (french,) = rules(memory)
    memory.store.end(ANN, [french.id], at=START, valid_to=START, reason="by hand")
    assert not memory.forget(english, user="ann")
    memory.restore(english, user="ann")
    memory.forget(english, user="ann")
    assert standing(memory) == []


@pytest.mark.slow
def test_many_rules_come_back_at_once_with_a_release(memory: Memory) -> None:
    names = [f"{one}{other}" for one in "bdfgklmnprst" for other in "aeiou"]
    texts = [f"Always mention the {one}{two} house." for one in names[:20] for two in names[:20]]
    memory.remember([{"role": "user", "content": text} for text in texts], user="ann")
    assert len(rules(memory)) == len(texts) == 400
    (release,) = say(memory, "Forget all my rules.")
    assert standing(memory) == []
    asked = monotonic()
    memory.forget(release, user="ann")
    memory.restore(release, user="ann")
    memory.forget(release, user="ann")
    # It is 0.4 s; with each rule compared with each other one it was more than 20 s for one.
    assert monotonic() - asked < 10
    assert len(rules(memory)) == 400


def end_by_model(memory: Memory, line: str, rule: Record) -> str:
    """Say a line that only the model that reads knows to end a rule; the turn."""
    (turn,) = say(memory, line)
    (event,) = memory.store.events(ANN, ids=[turn])
    known = rules(memory)
    given = Rule(line, line, None, 0.01, True, 1_000)
    draft = RuleDraft(event, given, [(given.sentence, "")], 0.9, is_end=True, is_stored=False)

    def relate(_new: str, _before: str, lines: Sequence[str]) -> list[dict[str, float]]:
        nothing = dict.fromkeys(RELATIONS, 0.0)
        return [nothing | {"withdraws": 0.97 * (each == rule.content)} for each in lines]

    memory.store.put(ANN, planned_rules([draft], known, relate), known_at=event.at, steps=())
    return turn


def test_what_the_model_found_to_end_a_rule_gives_it_back_when_forgotten(memory: Memory) -> None:
    say(memory, FRENCH)
    turn = end_by_model(memory, "you can drop the croissant talk", rules(memory)[0])
    assert standing(memory) == []
    memory.forget(turn, user="ann")
    assert standing(memory) == [FRENCH]
    memory.restore(turn, user="ann")
    assert standing(memory) == []


def test_what_the_model_found_to_be_ended_stays_so_when_a_repetition_goes(memory: Memory) -> None:
    say(memory, FRENCH)
    end_by_model(memory, "you can drop the croissant talk", rules(memory)[0])
    (again,) = say(memory, FRENCH)
    assert standing(memory) == [FRENCH]
    memory.forget(again, user="ann")
    assert standing(memory) == []
