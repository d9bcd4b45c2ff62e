"""Small talk asks for nothing; a keyword is no small talk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast import Memory


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    path: Path = tmp_path_factory.mktemp("idle") / "m.db"
    with holdfast.open(path, worker=False) as memory:
        memory.remember(
            [
                {"content": "I drink green tea every morning, lol."},
                {"content": "Ok, my sister Ottilie moved to Ghent in March."},
                {"content": "The boiler was replaced for 2,300 euros."},
                {"content": "When I ask for recipes, give amounts in grams."},
            ],
            user="ann",
        )
        memory.drain()
        yield memory


@pytest.mark.parametrize("text", ["thanks!", "ok", "lol", "haha yes", "good night then, cheers"])
def test_small_talk_gets_nothing(memory: Memory, text: str) -> None:
    assert memory.context(text, user="ann", record=False).tokens == 0


@pytest.mark.parametrize("text", ["tea", "green tea", "Ottilie", "boiler", "Where is my sister?"])
def test_keywords_and_questions_get_their_memories(memory: Memory, text: str) -> None:
    assert memory.context(text, user="ann", record=False).hits


def test_recall_answers_small_talk_as_before(memory: Memory) -> None:
    assert memory.recall("thanks!", user="ann")


def test_what_anybody_could_answer_gets_rules_and_documents(memory: Memory) -> None:
    asked = "How many grams are an ounce?"
    told = memory.context(asked, user="ann", record=False)
    assert "grams" in told.text
    assert not told.hits or {hit.tier for hit in told.hits} == {"procedure"}
    memory.knowledge.add("An ounce is 28 grams in our kitchen.", user="ann")
    memory.drain()
    told = memory.context(asked, user="ann", record=False)
    assert "An ounce is 28 grams" in told.text
    assert "boiler" not in told.text


def test_who_says_where_to_look_gets_what_is_there(memory: Memory) -> None:
    asked = "How many grams are an ounce?"
    told = memory.context(asked, user="ann", tiers=["session"], record=False)
    assert {hit.tier for hit in told.hits} == {"session"}


def test_what_anybody_could_answer_gets_no_rule_under_another_condition(memory: Memory) -> None:
    memory.remember("Please keep your answers cheerful.", user="cay")
    memory.remember("When I ask about the tax return, name the number of the form.", user="cay")
    memory.drain()
    told = memory.context("What is another word for tedious?", user="cay", record=False).text
    assert "cheerful" in told
    assert "number of the form" not in told
    told = memory.context("Until when is the tax return due?", user="cay", record=False).text
    assert "number of the form" in told
