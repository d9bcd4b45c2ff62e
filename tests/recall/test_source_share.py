"""One writer's share of the first places: the order by itself, then through the verbs."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import holdfast
from holdfast import Memory
from holdfast.errors import ConfigError
from holdfast.index.resident import ViewPart
from holdfast.recall.candidates import Candidate, Ranking
from holdfast.recall.stages.variety import PAGE, WORTH, alone, places, spread, with_others
from holdfast.testing import HashEmbedder
from holdfast.types import Scope
from tests.recall.moments import a_moment, scored

QUESTION = "What about the roof?"


def candidates(count: int) -> list[Candidate]:
    """All about as relevant."""
    return [Candidate(doc, 1.0 - doc / 1000) for doc in range(count)]


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


def test_who_has_too_little_to_say_does_not_go_before() -> None:
    listed = scored(0.9, 0.8, 0.8, 0.8, 0.7, 0.7, 0.3, 0.3, 0.2)
    assert spread(listed, [7] * 6 + [-1] * 3, share=0.3, limit=10) is listed


def test_who_goes_before_one_text_may_have_too_little_to_say_beside_another() -> None:
    listed = scored(1.0, 1.0, 1.0, 1.0, 0.6, 0.6, 0.5, 0.4, 0.3)
    found = spread(listed, [7] * 6 + [-1] * 3, share=0.3, limit=10)
    assert docs(found) == [0, 1, 2, 3, 6, 7, 4, 5, 8]


@given(
    said=st.lists(st.tuples(st.integers(-1, 3), st.floats(0.0, 1.0)), max_size=60),
    share=st.sampled_from([0.0, 0.1, 0.3, 0.5]),
    limit=st.integers(1, 60),
)
def test_nobody_goes_before_what_is_far_more_relevant(
    said: list[tuple[int, float]], share: float, limit: int
) -> None:
    said.sort(key=lambda each: -each[1])
    listed = scored(*(score for _, score in said))
    found = docs(spread(listed, [writer for writer, _ in said], share=share, limit=limit))
    assert sorted(found) == list(range(len(said)))
    for at, doc in enumerate(found):
        overtaken = [said[each][1] for each in found[at:] if each < doc]
        assert said[doc][1] >= WORTH * max(overtaken, default=0.0)


def test_what_stays_gives_way_to_nobody_and_is_counted() -> None:
    found = spread(candidates(14), [7] * 6 + [-1] * 8, share=0.3, limit=10, stays={0, 1, 2, 3})
    assert docs(found) == [0, 1, 2, 3, 6, 7, 8, 9, 10, 11, 4, 5, 12, 13]


def test_a_literal_is_ones_own_where_nobody_else_holds_it() -> None:
    held = (["QX-1"], ["QX-1", "QX-2"], ["QX-2"], ["roof"], ["2025"])
    listed = [Candidate(doc, 0.9, {"literal": each}) for doc, each in enumerate(held)]
    named = {"QX-1", "QX-2"}
    assert alone([*listed, Candidate(9, 0.1)], [7, 7, -1, 7, 7, 7], named) == {0, 1}
    assert alone(listed, [7, 7, 7, 7, 7], named) == {0, 1, 2}


def test_the_best_of_the_others_are_fetched_where_they_have_something_to_say() -> None:
    moment = a_moment("roof", ["2024-05-01"] * 90)
    names = np.array([0] * 60 + [-1] * 30, dtype=np.int32)
    tiers, origins = np.full((2, 90), 1, dtype=np.int32)
    origins[60:] = 2
    view = replace(
        moment.view, names=names, tiers=tiers, origins=origins, owners=np.zeros(90, dtype=np.int16),
        codes={"feed": 0, "session": 1, "user": 2}, parts=(ViewPart(Scope("w", "ann")),),
    )  # fmt: skip
    moment = replace(moment, view=view)
    pool = Ranking(tuple(range(50)), (0.8,) * 50)
    for score, found in ((0.7, 80), (0.5, 80), (0.4, 50), (0.0, 50)):
        scores = np.array([0.8] * 60 + [score] * 30)
        assert len(with_others(moment, scores, pool).docs) == found


@pytest.mark.parametrize(
    ("limit", "most"), [(1, 1), (2, 1), (3, 1), (5, 2), (9, 3), (10, 3), (11, 3), (200, 3)]
)
def test_a_short_list_has_as_large_a_share(limit: int, most: int) -> None:
    assert places(0.3, limit) == most


@example(writers=[0] * 19 + [1, 1], share=0.1, limit=1)
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
        if over:  # Nobody else had anything to say: the rest is as it was ranked.
            break
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
    return holdfast.open(
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


def of_dinner(memory: Memory, count: int) -> None:
    """Ann talks about something else."""
    words = "Yesterday I cooked dinner for the family, dish"
    say(memory, turns(count, words, role="user"), session="dinner")


def first(memory: Memory, text: str = QUESTION, **more: Any) -> list[holdfast.Hit]:
    memory.drain()
    return list(memory.recall(text, user="ann", **{"limit": 10, **more}))


def flood(hits: list[holdfast.Hit]) -> int:
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


@pytest.mark.parametrize("author", [None, "ann"])
def test_a_colleague_is_bounded_whatever_name_is_shown(memory: Memory, author: str | None) -> None:
    of_ann(memory)
    for text in turns(9):
        memory.team.write(text["content"], type="note", title="Roof", user="bob", author=author)
    assert flood(first(memory)) == 3


def test_what_an_agent_writes_is_not_the_users_word_whatever_it_says(memory: Memory) -> None:
    of_ann(memory)
    for number, text in enumerate(turns(9)):
        memory.notes.add(text["content"], user="ann", agent="spam")
        memory.facts.add(text["content"], user="ann", agent="spam")
        memory.profiles.set(
            f"roof_{number}", text["content"], user="ann", agent="spam", origin="user"
        )
    assert flood(first(memory, tiers=["session", "note", "fact", "profile"])) == 3
    for text in turns(9, "Slate roof, roof, roof"):
        memory.notes.add(text["content"], user="ann")
    assert flood(first(memory, tiers=["session", "note"])) > 6, "without an agent it is ann's"


@pytest.mark.parametrize("tiers", [["fact"], ["fact", "session"]])
def test_what_was_understood_of_the_users_words_is_theirs(tmp_path: Path, tiers: list[str]) -> None:
    config = {"extraction": {"provider": "rules"}}
    with holdfast.open(
        tmp_path / "memory.db", embedder=HashEmbedder(64), worker=False, config=config
    ) as memory:
        for kind in ("red", "blue", "green", "slate", "copper", "thatched", "flat", "steep"):
            memory.remember(f"I like {kind} roofs.", user="ann", agent="helper")
        for number in range(12):
            told = f"And somebody told me once again about the roof of house {number}."
            memory.facts.add(told, user="ann")
        hits = first(memory, "Which roofs do I like?", tiers=tiers)
    assert sum(hit.content.startswith("I like") for hit in hits) == 8
    assert not any("writers" in hit.why for hit in hits)


def test_who_shares_is_one_writer_with_however_many_agents(memory: Memory) -> None:
    of_ann(memory)
    for number, text in enumerate(turns(30)):
        agent = f"agent {number}"
        memory.notes.add(text["content"], user="bob", workspace="other", agent=agent)
    memory.shares.grant(to="default", segments=["daily_memory"], user="bob", workspace="other")
    assert flood(first(memory)) == 3


def test_a_tools_report_stays_before_what_is_about_something_else(memory: Memory) -> None:
    of_dinner(memory, 40)
    say(memory, turns(10, role="tool", name="feed"))
    assert flood(first(memory)) == 10


def test_a_context_begins_with_several_voices(memory: Memory) -> None:
    of_ann(memory, 40)
    say(memory, turns(90, role="tool", name="feed"))
    memory.drain()
    told = list(memory.context(QUESTION, user="ann", budget_tokens=4000).hits)
    assert len(told) > 20
    assert flood(told[:10]) == 3
    assert flood(told) <= -(-len(told) // 10) * 3


CODE = "What about the roof and QX-4711?"


def test_what_holds_a_code_that_nobody_else_holds_stays(memory: Memory) -> None:
    of_dinner(memory, 300)
    of_ann(memory)
    say(memory, turns(5, "The roof, roof, order QX-4711", role="tool", name="feed"))
    assert flood(first(memory, CODE)[:5]) == 5


def test_a_code_that_others_hold_too_lifts_nobody_over_their_share(memory: Memory) -> None:
    of_dinner(memory, 300)
    of_ann(memory)
    say(memory, turns(1, "I think the order for the roof was QX-4711", role="user"))
    say(memory, turns(4, "The roof, roof, order QX-4711", role="tool", name="feed"))
    hits = first(memory, CODE)
    assert flood(hits) == 3
    assert "I think" in hits[3].content


def test_a_year_lifts_nobody_over_their_share(memory: Memory) -> None:
    of_dinner(memory, 300)
    of_ann(memory)
    say(memory, turns(5, "The roof, roof in 2025", role="tool", name="feed"))
    hits = first(memory, "What about the roof in 2025?")
    assert flood(hits) == 3
    assert "literal" in hits[0].why


def test_a_call_cannot_switch_it_off(memory: Memory) -> None:
    with pytest.raises(ConfigError, match="cannot be overridden"):
        memory.recall(QUESTION, user="ann", overrides={"writerShare": 1.0})
