"""One writer's share of the first places: the order by itself, then through the verbs."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import recollect
from recollect import Memory
from recollect.errors import ConfigError
from recollect.recall.stage import Candidate
from recollect.recall.writers import PAGE, places, spread
from recollect.testing import HashEmbedder

QUESTION = "What about the roof?"


def candidates(count: int) -> list[Candidate]:
    return [Candidate(doc, 1.0 - doc / 100) for doc in range(count)]


def docs(found: list[Candidate]) -> list[int]:
    return [each.doc for each in found]


# The order


def test_what_is_over_the_share_comes_after_the_others() -> None:
    found = spread(candidates(14), [7] * 6 + [-1] * 8, share=0.3, limit=10)
    assert docs(found) == [0, 1, 2, 6, 7, 8, 9, 10, 11, 12, 3, 4, 5, 13]


def test_nothing_moves_where_everybody_keeps_to_their_share() -> None:
    for writers in ([-1] * 20, [1, 1, 1, 2, 2, 2, 3, 3, 3, 4], [5] * 20):
        listed = candidates(len(writers))
        assert spread(listed, writers, share=0.3, limit=10) is listed


def test_every_ten_places_are_shared_out_anew() -> None:
    found = spread(candidates(40), [1] * 20 + [-1] * 20, share=0.3, limit=40)
    by_one = [sum(doc < 20 for doc in docs(found)[at : at + PAGE]) for at in (0, 10, 20, 30)]
    assert by_one == [3, 3, 4, 10], "when the others have said all, the rest follows"


def test_scores_stay_in_order_and_who_waits_says_so() -> None:
    found = spread(candidates(12), [7] * 5 + [-1] * 7, share=0.3, limit=10)
    scores = [each.score for each in found]
    assert scores == sorted(scores, reverse=True)
    assert [each.doc for each in found if "writers" in each.notes] == [3, 4]
    assert found[0].score == 1.0


@pytest.mark.parametrize(
    ("limit", "most"), [(1, 1), (2, 1), (3, 1), (5, 2), (9, 3), (10, 3), (11, 3), (200, 3)]
)
def test_a_short_list_has_as_large_a_share(limit: int, most: int) -> None:
    assert places(0.3, limit) == most


@given(
    writers=st.lists(st.integers(-1, 4), max_size=60),
    share=st.sampled_from([0.0, 0.1, 0.3, 0.5, 1.0]),
    limit=st.integers(1, 60),
)
def test_nobody_is_lost_and_nobody_has_more_while_others_wait(
    writers: list[int], share: float, limit: int
) -> None:
    found = docs(spread(candidates(len(writers)), writers, share=share, limit=limit))
    assert sorted(found) == list(range(len(writers)))
    allowed = places(share, limit)
    for end in range(PAGE, len(found) + 1, PAGE):
        told = Counter(writers[doc] for doc in found[:end])
        waiting = {writers[doc] for doc in found[end:]}
        over = {each for each in told if each >= 0 and told[each] > allowed * end // PAGE}
        free = {each for each in waiting if each < 0 or told[each] < allowed * end // PAGE}
        assert not (over and free)
    for writer in set(writers):
        own = [doc for doc in found if writers[doc] == writer]
        assert own == sorted(own), "among themselves they keep their order"


# Through the verbs


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with opened(tmp_path) as memory:
        yield memory


def opened(folder: Path, **config: Any) -> Memory:
    config["extraction"] = {"enabled": False}
    return recollect.open(
        folder / "memory.db", embedder=HashEmbedder(64), worker=False, config=config
    )


def turns(count: int, text: str = "The roof, roof, roof", **more: Any) -> list[dict[str, Any]]:
    return [{"content": f"{text} {number}.", **more} for number in range(count)]


def say(memory: Memory, messages: list[dict[str, Any]], **more: Any) -> None:
    memory.remember(messages, user="ann", **more)


def of_ann(memory: Memory, count: int = 12) -> None:
    """Ann says less about the roof in each turn than a flood does."""
    words = "and then somebody asked me again what I thought of the roof at number"
    say(memory, turns(count, words, role="user"))


def first(memory: Memory, text: str = QUESTION, **more: Any) -> list[recollect.Hit]:
    memory.drain()
    return list(memory.recall(text, user="ann", **{"limit": 10, **more}))


def flood(hits: list[recollect.Hit]) -> int:
    return sum("roof, roof" in hit.content for hit in hits)


def test_a_tool_gets_three_of_ten_places(memory: Memory) -> None:
    of_ann(memory)
    say(memory, turns(20, role="tool", name="feed"))
    hits = first(memory)
    assert (len(hits), flood(hits)) == (10, 3)
    assert flood(hits[:3]) == 3, "its best are not moved"


def test_without_a_limit_on_shares_it_takes_them_all(tmp_path: Path) -> None:
    with opened(tmp_path, writerShare=1.0) as memory:
        of_ann(memory)
        say(memory, turns(20, role="tool", name="feed"))
        assert flood(first(memory)) == 10


def test_more_texts_than_there_are_candidates_win_nothing(memory: Memory) -> None:
    of_ann(memory)
    for name in ("feed", "feed 2"):
        say(memory, turns(150, role="tool", name=name))
    hits = first(memory)
    assert (len(hits), flood(hits)) == (10, 6), "two writers, three places each"
    assert flood(first(memory, limit=5)) == 4


def test_what_waits_is_told_where_nobody_else_has_anything_to_say(memory: Memory) -> None:
    say(memory, turns(8, role="tool", name="feed"))
    of_ann(memory, 2)
    hits = first(memory)
    assert (len(hits), flood(hits)) == (10, 8)
    assert [hit.why.get("writers") for hit in hits][-5:] == ["after others"] * 5


def test_the_user_and_the_assistant_are_not_bounded(memory: Memory) -> None:
    of_ann(memory)
    say(memory, turns(20, role="user"))
    assert flood(first(memory)) == 10
    say(memory, turns(20, "Then the roof, roof", role="assistant"))
    assert flood(first(memory)) == 10


def test_one_writer_with_many_origins_is_one_writer(memory: Memory) -> None:
    of_ann(memory)
    for number, origin in enumerate(("agent", "tool", "web", "document", "import")):
        for text in turns(4, f"The roof, roof {number}"):
            memory.notes.add(text["content"], user="ann", origin=origin)
    assert flood(first(memory, tiers=["session", "note"])) == 3


def test_a_page_that_the_user_hands_over_is_not_the_users_word(memory: Memory) -> None:
    of_ann(memory)
    say(memory, turns(20, role="user"), origin="web")
    assert flood(first(memory)) == 3


def test_two_agents_are_two_writers(memory: Memory) -> None:
    of_ann(memory)
    for agent in ("anton", "berta"):
        text = f"The roof, roof, roof, {agent}"
        say(memory, turns(9, text, role="tool", name="feed"), agent=agent)
    assert flood(first(memory)) == 6
    assert flood(first(memory, agent="anton")) == 3


def test_in_the_knowledge_base_a_document_may_take_all_places(memory: Memory) -> None:
    of_ann(memory)
    page = "\n\n".join(f"# Part {n}\n\n{'The roof, roof, roof. ' * 40}" for n in range(12))
    memory.knowledge.add(page, name="roof.md", user="ann")
    memory.knowledge.add("# Other\n\nThe roof of another.", name="other.md", user="ann")
    assert flood(first(memory, tiers=["knowledge"])) > 3
    assert flood(first(memory)) == 3


def test_a_document_that_is_all_there_is_is_told(memory: Memory) -> None:
    page = "\n\n".join(f"# Part {n}\n\n{'The roof, roof, roof. ' * 40}" for n in range(12))
    memory.knowledge.add(page, name="roof.md", user="ann")
    assert flood(first(memory)) == 10


def test_a_colleague_is_bounded_and_what_ann_wrote_for_the_team_is_not(memory: Memory) -> None:
    of_ann(memory)
    for text in turns(9):
        memory.team.write(text["content"], type="note", title="Roof", user="bob")
    assert flood(first(memory)) == 3
    for text in turns(9, "A roof, roof"):
        memory.team.write(text["content"], type="note", title="Roof", user="ann")
    hits = first(memory)
    assert sum(hit.name == "bob" for hit in hits) <= 3
    assert flood(hits) > 6


def test_a_context_begins_with_several_voices(memory: Memory) -> None:
    of_ann(memory, 40)
    say(memory, turns(90, role="tool", name="feed"))
    memory.drain()
    told = list(memory.context(QUESTION, user="ann", budget_tokens=4000).hits)
    assert len(told) > 20
    assert flood(told[:10]) == 3
    assert flood(told) <= -(-len(told) // 10) * 3


def test_a_literal_does_not_lift_a_writer_over_its_share(memory: Memory) -> None:
    of_ann(memory, 300)
    say(memory, turns(5, "The roof, roof, order QX-4711", role="tool", name="feed"))
    assert flood(first(memory, "What about the roof and QX-4711?")) == 3


def test_a_call_cannot_switch_it_off(memory: Memory) -> None:
    with pytest.raises(ConfigError, match="cannot be overridden"):
        memory.recall(QUESTION, user="ann", overrides={"writerShare": 1.0})
