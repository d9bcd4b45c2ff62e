"""One question through the public API: rankings, contexts, and what a plain method would pack."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from holdfast import Memory
from holdfast.bench.data import Question
from holdfast.bench.methods import PLAIN, VARIATIONS
from holdfast.bench.run import USER, by_holdfast, by_plain, by_variation, turns_of
from holdfast.language.tokens import count_tokens
from holdfast.recall.context.safe import Item, line
from holdfast.testing import HashEmbedder
from holdfast.types import Hit
from holdfast.wiring import open as open_memory

AT = datetime(2024, 5, 5, tzinfo=UTC)
TURNS = {
    "t1": "I keep bees on the roof of the bakery.",
    "t2": "From now on, always answer me in French.",
    "t3": "The bees made forty jars of honey this year.",
}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(tmp_path / "memory.db", embedder=HashEmbedder(), worker=False) as opened:
        messages = [
            {"role": "user", "content": text, "metadata": {"turn": turn}, "at": AT}
            for turn, text in TURNS.items()
        ]
        opened.remember(messages, user=USER, session="s1")
        opened.drain()
        yield opened


def about_bees() -> Question:
    return Question("q1", "c1", "Where do I keep my bees?", "fact", ("t1",), AT)


def test_a_rule_stands_for_the_turn_it_was_given_in(memory: Memory) -> None:
    hits = memory.recall("Which rules did I give you?", user=USER)
    assert [list(turns_of(hit)) for hit in hits if hit.is_rule] == [["t2"]]


def test_a_hit_without_sources_stands_for_its_own_turn_and_a_foreign_one_for_none() -> None:
    hit = Hit("1", "text", "session", "turn", 1.0, 1.0, AT, metadata={"turn": 7})
    assert list(turns_of(hit)) == ["7"]
    assert list(turns_of(Hit("1", "text", "session", "turn", 1.0, 1.0, AT))) == []


def test_holdfast_answers_with_turns_each_once_and_contexts_of_every_budget(
    memory: Memory,
) -> None:
    answer, packed = by_holdfast(memory, about_bees())
    assert answer.turns[0] == "t1"
    assert sorted(answer.turns) == sorted(set(answer.turns))
    assert list(answer.inside) == list(packed) == [1000, 2000, 4000]
    assert answer.scores["tokens@1000"] == answer.scores["full@1000"] == 1.0
    small = packed[1000]
    assert 0 < small.tokens <= 1000
    assert small.hits >= len(answer.inside[1000]) > 0
    assert 0 < small.full <= small.hits
    assert small.seconds > 0


def test_a_plain_hit_costs_what_its_line_costs_in_a_context(memory: Memory) -> None:
    costs: dict[str, int] = {}
    answer = by_plain(memory, about_bees(), PLAIN[0], costs)
    assert set(answer.turns) == {"t1", "t3"}  # Those that hold a word of the question.
    told = [line(Item(1, AT.date(), "user", TURNS[turn])) + "\n" for turn in answer.turns]
    assert list(costs.values()) == [count_tokens(each) for each in told]
    assert answer.inside[1000] == {"t1", "t3"}


def test_a_plain_method_finds_turns_only(memory: Memory) -> None:
    asked = Question("q2", "c1", "Should I always answer in French?", "rule", ("t2",), AT)
    costs: dict[str, int] = {}
    for method in PLAIN:
        assert by_plain(memory, asked, method, costs).turns[0] == "t2"
    assert len(costs) <= len(TURNS)  # The rule beside its turn is not among them.


def test_a_variation_changes_the_ranking_and_looks_into_no_context(memory: Memory) -> None:
    asked = Question("q3", "c1", "Which rules did I give you?", "rule", ("t2",), AT)
    without = next(each for each in VARIATIONS if each.part == "lane")
    assert by_holdfast(memory, asked)[0].turns[0] == "t2"
    answer = by_variation(memory, asked, without)
    assert "t2" not in answer.turns[:1]
    assert answer.inside == {}
