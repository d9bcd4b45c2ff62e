"""Who asks how things stand gets the newest statement first, through the public verbs."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import holdfast
from holdfast.memory.memory import Memory
from holdfast.testing import HashEmbedder

BEGIN = datetime(2024, 5, 1, 9, tzinfo=UTC)
OLD = "My budget for the garden is $500, the budget for the garden must do."
NEW = "We talked about the garden and its budget is $800 now, which helps the roses."
OTHERS = ["The roses need water.", "The garage is full of boxes.", "I sold the old bicycle."]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with holdfast.open(
        tmp_path / "m.db", embedder=HashEmbedder(64), worker=False,
        clock=lambda: BEGIN + timedelta(days=30),
    ) as opened:  # fmt: skip
        for day, text in enumerate([OLD, *OTHERS, NEW]):
            opened.remember(text, user="ann", at=BEGIN + timedelta(days=day))
        opened.drain()
        yield opened


def first(memory: Memory, question: str, **given: object) -> str:
    return memory.recall(question, user="ann", limit=5, overrides=given)[0].content


def test_the_newest_figure_comes_first_and_says_why(memory: Memory) -> None:
    question = "What is my budget for the garden?"
    assert first(memory, question, **{"stages.current": False}) == OLD
    newest, oldest = memory.recall(question, user="ann", limit=5)[:2]
    assert (newest.content, oldest.content) == (NEW, OLD)
    assert newest.why["current"] == {"states": True, "update_of": oldest.id}


def test_a_turn_that_states_the_figure_comes_before_one_that_does_not(memory: Memory) -> None:
    plain = "I bought the roses in June, the roses I bought are red."
    price = "For $90 I bought the roses, two cans, a long hose and much soil in June."
    for text in (plain, price):
        memory.remember(text, user="ann", at=BEGIN)
    memory.drain()
    question = "What is the price of the roses I bought in June?"
    assert first(memory, question, **{"stages.current": False}) == plain
    assert first(memory, question) == price


def test_who_asks_for_what_was_is_not_told_the_newest_first(memory: Memory) -> None:
    assert first(memory, "What was my original budget for the garden?") == OLD


def test_as_of_a_day_before_the_change_there_was_none(memory: Memory) -> None:
    hits = memory.recall(
        "What is my budget for the garden?", user="ann", as_of=BEGIN + timedelta(days=2)
    )
    assert hits[0].content == OLD
    assert NEW not in [hit.content for hit in hits]
