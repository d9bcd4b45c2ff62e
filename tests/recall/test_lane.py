"""Standing instructions have places of their own."""

from pathlib import Path

import pytest

import recollect
from recollect.memory import Memory
from recollect.recall.lane import merged
from recollect.testing import HashEmbedder

RULE = "Always cite sources when I ask about history."


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    memory = recollect.open(tmp_path / "m.db", worker=False, embedder=HashEmbedder(dim=256))
    memory.remember(
        [{"content": RULE}, {"role": "assistant", "content": "I will."}],
        user="ann",
        session="rules",
    )
    for i in range(30):
        memory.remember(
            [{"content": f"Tell me of history, {i}."}, {"role": "assistant", "content": "Sure."}],
            user="ann", session=f"s{i}",
        )  # fmt: skip
    memory.drain()
    return memory


def test_a_rule_is_known_as_one_when_it_is_stored(memory: Memory) -> None:
    kinds = {
        change.content: change.kind for change in memory.recall("history", user="ann", limit=50)
    }
    assert kinds[RULE] == "instruction"
    assert set(kinds.values()) == {"instruction", "turn"}


def test_a_rule_that_fits_is_among_the_first_ten(memory: Memory) -> None:
    hits = memory.recall("Tell me about the history of Rome", user="ann")
    (place,) = [place for place, hit in enumerate(hits) if hit.content == RULE]
    assert place < 10
    assert hits[place].why["lane"] == "instruction"


def test_the_lane_can_be_closed(memory: Memory) -> None:
    hits = memory.recall("history, part", user="ann", overrides={"instructionLane": 0})
    assert not any("lane" in hit.why for hit in hits)


def test_only_a_users_words_become_a_rule(memory: Memory) -> None:
    memory.remember([{"role": "tool", "content": RULE}], user="bob")
    memory.remember([{"role": "assistant", "content": RULE}], user="bob")
    assert {hit.kind for hit in memory.recall("history", user="bob")} == {"turn"}


def test_where_only_people_talk_there_is_no_lane(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "p.db", worker=False, embedder=HashEmbedder()) as people:
        people.remember(
            [{"content": RULE, "name": "Ann"}, {"content": "No.", "name": "Bob"}], user="x"
        )
        people.drain()
        assert not any("lane" in hit.why for hit in people.recall("history", user="x"))


def test_a_rule_is_found_before_its_vector_is_there_and_without_a_shared_word(
    tmp_path: Path,
) -> None:
    with recollect.open(tmp_path / "p.db", worker=False, embedder=HashEmbedder()) as memory:
        memory.remember("Always cite sources for every claim.", user="alice")
        (hit,) = memory.recall("what is my answering style?", user="alice")
        assert hit.why["lane"] == "instruction"


def test_rules_take_their_places_and_the_order_of_the_rest_stays() -> None:
    best = [(doc, 1.0 - doc / 100) for doc in range(12)]
    ranked = merged(best, [50, 3])
    assert [doc for doc, _ in ranked][:6] == [0, 1, 2, 3, 50, 4]
    assert [score for _, score in ranked] == sorted((score for _, score in ranked), reverse=True)
    assert merged(best, []) == best
    assert merged([], [7]) == [(7, 0.5)]
