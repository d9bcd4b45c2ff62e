"""The default fusion: what each feature adds, on memories one can check by hand."""

import math
from pathlib import Path

import pytest

import holdfast
from holdfast.config import Config
from holdfast.memory.memory import Memory
from holdfast.testing import HashEmbedder


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return holdfast.open(tmp_path / "m.db", worker=False, embedder=HashEmbedder(dim=32))


def turn(content: str, name: str | None = None, role: str = "user") -> dict[str, str]:
    return {"content": content, "role": role, **({"name": name} if name else {})}


def order(memory: Memory, question: str, **overrides: float) -> list[str]:
    hits = memory.recall(
        question, user="ann", overrides={f"blend.{k}": v for k, v in overrides.items()}
    )
    return [hit.content for hit in hits]


def test_a_person_goes_before_a_machine_that_says_the_same(memory: Memory) -> None:
    memory.remember(turn("the zebra ran"), user="ann", session="a")
    memory.remember(turn("the zebra ran", role="assistant"), user="ann", session="b")
    first, second = memory.recall("zebra", user="ann")
    assert (first.role, second.role) == ("user", "assistant")
    assert first.score > second.score


def test_an_assistant_with_a_persons_name_counts_as_a_person(memory: Memory) -> None:
    memory.remember(turn("the zebra ran"), user="ann", session="a")
    memory.remember(turn("the zebra ran", "Melanie", "assistant"), user="ann", session="b")
    scores = {
        hit.score for hit in memory.recall("zebra", user="ann", overrides={"blend.speaker": 0})
    }
    assert len(scores) <= 2
    assert all(hit.why["who"]["role"] == 1.0 for hit in memory.recall("zebra", user="ann"))


def test_whom_the_question_names_goes_first(memory: Memory) -> None:
    memory.remember(turn("I like the zebra", "Ann"), user="ann", session="a")
    memory.remember(turn("I like the zebra", "Bob"), user="ann", session="b")
    assert memory.recall("What does Ann like about the zebra?", user="ann")[0].name == "Ann"
    assert memory.recall("What does Bob like about the zebra?", user="ann")[0].name == "Bob"


def test_neighbours_lend_weight_but_not_relevance(memory: Memory) -> None:
    memory.remember(
        [turn("Where is the zebra?"), turn("It is in the barn."), turn("Rain today.")],
        user="ann", session="a",
    )  # fmt: skip
    memory.remember([turn("A zebra."), turn("Fish.")], user="ann", session="b")
    assert set(order(memory, "zebra barn")) == {
        "It is in the barn.",
        "Where is the zebra?",
        "A zebra.",
    }
    assert order(memory, "zebra barn")[-1] == "A zebra."


def test_who_asks_when_gets_what_mentions_a_time(memory: Memory) -> None:
    memory.remember(turn("The zebra ran away, what a day."), user="ann", session="a")
    memory.remember(turn("The zebra ran away last Tuesday."), user="ann", session="b")
    memory.remember(turn("The zebra ran away, such a mess."), user="ann", session="c")
    assert order(memory, "When did the zebra run away?")[0] == "The zebra ran away last Tuesday."
    (first, *_) = memory.recall("When did the zebra run away?", user="ann")
    assert first.why["what"] == {"time": 1.0}
    assert "what" not in memory.recall("How did the zebra run away?", user="ann")[0].why


def test_a_score_is_the_weighted_mean_of_its_features(memory: Memory) -> None:
    memory.remember(turn("zebra"), user="ann")
    (hit,) = memory.recall("zebra", user="ann")
    weights = Config().blend
    best_at = weights.window + weights.people + weights.cover + weights.role
    asked = best_at + weights.session + weights.speaker + weights.length
    length = math.log(1 + 1) / math.log(1 + 40)  # One term of forty.
    assert hit.score == pytest.approx((best_at + length * weights.length) / asked, abs=1e-6)


def test_no_weight_but_one_gives_that_features_order(memory: Memory) -> None:
    memory.remember(turn("zebra zebra zebra"), user="ann", session="a")
    memory.remember(
        turn("zebra and many other words about nothing at all"), user="ann", session="b"
    )
    others = ("window", "session", "cover", "vector", "around", "role", "speaker", "length")
    only_people = dict.fromkeys(others, 0.0)
    assert order(memory, "zebra", **only_people)[0] == "zebra zebra zebra"


def test_other_users_do_not_change_a_score(memory: Memory) -> None:
    memory.remember([turn("the zebra ran"), turn("the cat slept")], user="ann")
    before = memory.recall("zebra", user="ann")
    memory.remember([turn("the zebra ran", "Zoe")] * 50, user="bob")
    assert memory.recall("zebra", user="ann") == before


def test_what_was_just_written_is_found_by_its_words_before_it_is_embedded(memory: Memory) -> None:
    told = [turn(f"The long report number {n} is in the blue folder.") for n in range(9)]
    memory.remember(told, user="ann", session="a")
    memory.drain()
    memory.remember(turn("Still waiting: okapi."), user="ann", session="b")
    assert order(memory, "okapi")[0] == "Still waiting: okapi."
