"""What may be seen, and in which order the sources rank it."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.errors import InvalidInput
from holdfast.memory.memory import Memory
from holdfast.testing import HashEmbedder
from tests.clock import Clock

START = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture
def clock() -> Clock:
    return Clock(START)


@pytest.fixture
def memory(tmp_path: Path, clock: Clock) -> Iterator[Memory]:
    with holdfast.open(
        tmp_path / "m.db", embedder=HashEmbedder(32), worker=False, clock=clock
    ) as opened:
        yield opened


def found(memory: Memory, text: str, **asked: Any) -> list[str]:
    return [hit.content for hit in memory.recall(text, user="ann", **asked)]


def test_as_of_hides_what_was_said_later(memory: Memory) -> None:
    memory.remember("cat one", user="ann", at=START)
    memory.remember("cat two", user="ann", at=START + DAY)
    memory.drain()
    assert found(memory, "cat", as_of=START) == ["cat one"]
    assert found(memory, "cat", as_of=START + DAY - timedelta(microseconds=1)) == ["cat one"]
    assert set(found(memory, "cat", as_of=START + DAY)) == {"cat one", "cat two"}
    assert found(memory, "cat", as_of=START - timedelta(microseconds=1)) == []


def test_as_of_looks_at_when_it_was_said_not_at_when_it_was_stored(memory: Memory) -> None:
    memory.remember("an old cat", user="ann", at="1999-12-31T23:59Z")
    assert found(memory, "cat", as_of="2000-01-01T00:00Z") == ["an old cat"]


def test_known_at_hides_what_was_learned_later(memory: Memory, clock: Clock) -> None:
    memory.remember("cat one", user="ann")
    clock.now += DAY
    memory.remember("cat two", user="ann", at="1999-01-01T00:00Z")
    memory.drain()
    assert found(memory, "cat", known_at=START) == ["cat one"]
    assert set(found(memory, "cat", known_at=START + DAY)) == {"cat one", "cat two"}


def test_the_same_question_at_the_same_known_time_has_the_same_answer(
    memory: Memory, clock: Clock
) -> None:
    memory.remember([{"content": f"cat number {i}"} for i in range(20)], user="ann")
    memory.drain()
    before = memory.recall("cat number 7 of the house", user="ann", known_at=START)
    clock.now += DAY
    memory.remember([{"content": f"cat house {i} 7"} for i in range(20)], user="ann")
    memory.drain()
    assert memory.recall("cat number 7 of the house", user="ann", known_at=START) == before


def test_an_agent_sees_its_own_and_what_no_agent_wrote(memory: Memory) -> None:
    memory.remember("cat of a", user="ann", agent="a")
    memory.remember("cat of b", user="ann", agent="b")
    memory.remember("cat of nobody", user="ann")
    memory.drain()
    assert set(found(memory, "cat", agent="a")) == {"cat of a", "cat of nobody"}
    assert found(memory, "cat", agent="stranger") == ["cat of nobody"]
    assert len(found(memory, "cat")) == 3


def test_an_agent_named_like_a_session_is_not_mistaken_for_it(memory: Memory) -> None:
    memory.remember("cat one", user="ann", agent="x", session="y")
    assert found(memory, "cat", agent="y") == []
    assert found(memory, "cat", filters={"session": "x"}) == []


def test_a_session_on_a_read_hides_nothing(memory: Memory) -> None:
    memory.remember("cat one", user="ann", session="s1")
    assert found(memory, "cat", session="s2") == ["cat one"]


def test_filters_narrow(memory: Memory) -> None:
    memory.remember(
        [
            {"content": "cat one", "role": "user", "name": "Ann"},
            {"content": "cat two", "role": "assistant"},
        ],
        user="ann", session="s1", agent="a",
    )  # fmt: skip
    memory.remember("cat three", user="ann", session="s2")
    memory.drain()
    assert set(found(memory, "cat", filters={"session": "s1"})) == {"cat one", "cat two"}
    assert found(memory, "cat", filters={"role": "assistant"}) == ["cat two"]
    assert found(memory, "cat", filters={"name": "Ann"}) == ["cat one"]
    assert set(found(memory, "cat", filters={"agent": "a"})) == {"cat one", "cat two"}
    assert found(memory, "cat", filters={"session": "s1", "role": "user"}) == ["cat one"]
    assert found(memory, "cat", filters={"session": "nowhere"}) == []
    assert len(found(memory, "cat", filters={})) == 3


@pytest.mark.parametrize("question", ["INV-2026-0417", 'who said "quick brown fox"?', "zanzibar"])
def test_a_literal_does_not_get_past_a_filter(memory: Memory, question: str) -> None:
    memory.remember(
        [{"content": f"note {i}"} for i in range(1_000)]
        + [{"content": "INV-2026-0417 quick brown fox zanzibar"}],
        user="ann", session="s2",
    )  # fmt: skip
    memory.remember("cat one", user="ann", session="s1")
    assert memory.recall(question, user="ann")[0].session == "s2"
    hits = memory.recall(question, user="ann", filters={"session": "s1"})
    assert [hit.session for hit in hits if hit.session != "s1"] == []


def test_a_filter_cannot_widen_what_an_agent_sees(memory: Memory) -> None:
    memory.remember("cat of b", user="ann", agent="b")
    assert found(memory, "cat", agent="a", filters={"agent": "b"}) == []


@pytest.mark.parametrize(
    ("filters", "told"),
    [
        ({"sesion": "s1"}, "known: agent, archived, category, faded, kind, name"),
        ({"session": 1}, "filters.session must be a text"),
        ({"session": None}, "filters.session must be a text"),
        (["session"], "filters must be a mapping"),
    ],
)
def test_a_wrong_filter_is_named(memory: Memory, filters: Any, told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        memory.recall("cat", user="ann", filters=filters)


def test_of_equals_the_newest_comes_first(memory: Memory) -> None:
    events = memory.remember([{"content": "same cat"}] * 10, user="ann").events
    late = memory.remember("same cat", user="ann").events
    memory.drain()
    by_rank = {"fusion": "rrf"}  # What surrounds them would tell them apart.
    hits = memory.recall("cat", user="ann", limit=11, overrides=by_rank)
    assert [hit.id for hit in hits] == [*late, *events[::-1]]
    first = memory.recall("cat", user="ann", limit=3, overrides=by_rank)
    assert [hit.id for hit in first] == [hit.id for hit in hits[:3]]


def test_of_equals_in_sessions_of_their_own_the_newest_comes_first(memory: Memory) -> None:
    events = [memory.remember("same cat", user="ann", session=f"s{i}").events[0] for i in range(5)]
    memory.drain()
    assert [hit.id for hit in memory.recall("cat", user="ann")] == events[::-1]


def test_the_limit_is_kept(memory: Memory) -> None:
    memory.remember([{"content": f"cat {i}"} for i in range(30)], user="ann")
    memory.drain()
    for limit in (1, 7, 30, 200):
        assert len(memory.recall("cat", user="ann", limit=limit)) == min(limit, 30)


def test_a_shallow_search_asks_each_source_for_that_much(memory: Memory) -> None:
    memory.remember([{"content": f"cat {i}"} for i in range(30)], user="ann")
    memory.drain()
    hits = memory.recall("cat", user="ann", limit=200, overrides={"searchTopK": 5, "fusion": "rrf"})
    assert 5 <= len(hits) <= 10


def test_meaning_alone_finds_what_has_a_vector(memory: Memory) -> None:
    memory.remember("the cat sleeps", user="ann")
    memory.drain()
    # Only stop words: no keyword can match, the vector still does.
    (hit,) = memory.recall("who is it?", user="ann")
    assert set(hit.why) == {"vector", "who"}


def test_keywords_alone_find_what_has_no_vector_yet(memory: Memory) -> None:
    memory.remember("the cat sleeps", user="ann")
    (hit,) = memory.recall("cats", user="ann")
    assert set(hit.why) == {"keyword", "who"}


def test_a_long_message_scores_as_its_best_passage_and_comes_back_once(memory: Memory) -> None:
    filler = "Nothing of note happened on the farm that day. " * 60
    memory.remember(filler + "The zebra escaped at dusk. " + filler, user="ann")
    memory.remember("Nothing of note happened on the farm that day.", user="ann")
    memory.drain()
    hits = memory.recall("the zebra escaped", user="ann")
    assert hits[0].content.count("zebra") == 1
    assert len(hits) == len({hit.id for hit in hits}) == 2


def test_scores_fall_within_zero_and_one_from_best_to_worst(memory: Memory) -> None:
    memory.remember([{"content": f"cat {'dog ' * i}"} for i in range(20)], user="ann")
    memory.drain()
    scores = [hit.score for hit in memory.recall("cat dog", user="ann", limit=20)]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)


def test_the_weights_of_one_call_enter_its_formula(memory: Memory) -> None:
    memory.remember("cat", user="ann")
    memory.drain()
    override = {"fusion": "rrf", "rrf.weights.keyword": 3, "rrf.weights.hybrid": 0, "rrf.k": 9}
    (hit,) = memory.recall("cat", user="ann", overrides=override)
    assert hit.why["keyword"]["rrf"] == pytest.approx(3 / 10)
    assert hit.why["vector"]["rrf"] == pytest.approx(1 / 10)
    assert "hybrid" not in hit.why
    (plain,) = memory.recall("cat", user="ann", overrides={"fusion": "rrf"})
    assert plain.why["hybrid"]["rrf"] == pytest.approx(1 / 61, abs=1e-6)
    assert "keyword" not in plain.why
