"""Standing instructions have places of their own."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import holdfast
from holdfast.memory.memory import Memory
from holdfast.models.local import LocalEmbedder
from holdfast.recall.stages.guaranteed import PLACES, WEAK, is_rule, place_rules
from holdfast.testing import HashEmbedder
from tests.recall.moments import a_moment, a_view, scored

RULE = "Always cite sources when I ask about history."


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    memory = holdfast.open(tmp_path / "m.db", worker=False, embedder=HashEmbedder(dim=256))
    memory.remember(
        [{"content": RULE, "metadata": {"turn": 1}}, {"role": "assistant", "content": "I will."}],
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


def test_a_rule_is_a_record_of_its_own_with_its_parts(memory: Memory) -> None:
    (rule,) = memory.recall("history", user="ann", tiers=["procedure"])
    assert (rule.kind, rule.content, rule.confidence) == ("instruction", RULE, 1.0)
    assert rule.metadata == {
        "turn": 1, "fact_role": "instruction", "rule": "Always cite sources",
        "condition": "when I ask about history",
    }  # fmt: skip
    assert rule.source_metadata == ({"turn": 1},)
    (turn,) = memory.store.events(rule_scope := holdfast.Scope("default", "ann"), rule.sources)
    assert turn.content == RULE
    assert memory.store.get(rule_scope, [rule.id])[0].importance >= 0.95


def test_a_rule_that_fits_is_among_the_first_ten_and_stands_for_its_turn(memory: Memory) -> None:
    hits = memory.recall("Tell me about the history of Rome", user="ann")
    (place,) = [place for place, hit in enumerate(hits) if hit.content == RULE]
    assert place < 10
    assert hits[place].why["lane"] == "instruction"
    assert hits[place].tier == "procedure"


def test_a_turn_that_says_more_than_its_rule_is_still_found(memory: Memory) -> None:
    long = RULE + " By the way, we saw the zebra in the Berlin zoo last week and it was asleep."
    memory.remember(long, user="eve")
    memory.drain()
    found = {(hit.tier, hit.content) for hit in memory.recall("zebra history", user="eve")}
    assert found == {("procedure", RULE), ("session", long)}


@pytest.mark.parametrize(
    ("said", "question", "told"),
    [
        (
            "My knee was operated on in May. Never suggest running routes to me.",
            "What was done to my body?",
            "operated",
        ),
        ("We're a band of four. Always list drinks for everybody.", "How many are we?", "four"),
        (
            "Never suggest pork. My husband is Muslim. Always give weights in grams.",
            "Which religion does my husband have?",
            "Muslim",
        ),
    ],
)
def test_what_is_said_beside_a_rule_is_told_in_a_context(
    tmp_path: Path, said: str, question: str, told: str
) -> None:
    with holdfast.open(tmp_path / "m.db", worker=False, embedder=LocalEmbedder()) as memory:
        memory.remember(said, user="eve")
        memory.drain()
        context = memory.context(question, user="eve")
    assert told in context.text
    assert context.dropped == ()


def test_a_turn_that_only_greets_beside_its_rules_is_told_by_them(memory: Memory) -> None:
    memory.remember("Hi! Never use emojis. Always answer in French. Thanks!", user="eve")
    memory.drain()
    hits = memory.context("Which emojis in French answers?", user="eve").hits
    assert {hit.tier for hit in hits} == {"procedure"}
    assert len(hits) == 2


def test_the_lane_can_be_closed(memory: Memory) -> None:
    hits = memory.recall("history, part", user="ann", overrides={"instructionLane": 0})
    assert not any("lane" in hit.why for hit in hits)


def test_only_a_users_words_become_a_rule(memory: Memory) -> None:
    memory.remember([{"role": "tool", "content": RULE}], user="bob")
    memory.remember([{"role": "assistant", "content": RULE}], user="bob")
    assert {hit.kind for hit in memory.recall("history", user="bob")} == {"turn"}
    assert memory.recall("history", user="bob", tiers=["procedure"]) == []


def test_the_lane_looks_at_who_spoke_whatever_a_store_holds() -> None:
    codes = {"user": 0, "tool": 1, "session": 2, "procedure": 3, "turn": 4, "instruction": 5}
    rows = [
        # role, tier, kind, the turn that it came from
        ("user", "session", "turn", -1),
        ("tool", "session", "turn", -1),
        ("user", "procedure", "instruction", 0),
        ("tool", "procedure", "instruction", 0),  # said by nobody who may
        ("user", "procedure", "instruction", 1),  # a tool's turn, whatever the record claims
        ("user", "procedure", "instruction", -1),
    ]
    coded = np.array([[*(codes[word] for word in words), turn] for *words, turn in rows], np.int32)
    roles, tiers, kinds, source = coded.T
    view = replace(
        a_view(["2024-05-01"] * len(rows)),
        roles=roles, tiers=tiers, kinds=kinds, source=source, codes=codes,
    )  # fmt: skip
    assert np.flatnonzero(is_rule(view)).tolist() == [2, 5]


def test_where_only_people_talk_there_is_no_lane(tmp_path: Path) -> None:
    with holdfast.open(tmp_path / "p.db", worker=False, embedder=HashEmbedder()) as people:
        people.remember(
            [{"content": RULE, "name": "Ann"}, {"content": "No.", "name": "Bob"}], user="x"
        )
        people.drain()
        assert not any("lane" in hit.why for hit in people.recall("history", user="x"))


def test_a_rule_is_found_before_its_vector_is_there_and_without_a_shared_word(
    tmp_path: Path,
) -> None:
    with holdfast.open(tmp_path / "p.db", worker=False, embedder=HashEmbedder()) as memory:
        memory.remember("Always cite sources for every claim.", user="alice")
        (hit,) = memory.recall("what is my answering style?", user="alice")
        assert hit.why["lane"] == "instruction"
        memory.remember("I had soup.", user="alice")
        memory.drain()
        memory.remember("Always write in French.", user="alice")
        found = {hit.content for hit in memory.recall("soup", user="alice")}
        assert "Always write in French." in found


def test_who_asks_for_the_rules_gets_them_first_and_all_of_them(memory: Memory) -> None:
    for rule in ("Always write in French.", "Never use emojis.", "Always use metric units."):
        memory.remember(rule, user="ann")
    memory.drain()
    hits = memory.recall("What are my standing instructions?", user="ann")
    assert [hit.content for hit in hits[:4]] == [
        RULE, "Always write in French.", "Never use emojis.", "Always use metric units.",
    ]  # fmt: skip
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_a_rule_that_was_replaced_is_not_told_and_its_history_is(memory: Memory) -> None:
    memory.remember("From now on answer in French.", user="ann")
    rules = memory.recall("answer in French", user="ann", tiers=["procedure"])
    (old,) = [hit for hit in rules if "French" in hit.content]
    memory.remember("From now on answer in English.", user="ann")
    contents = {hit.content for hit in memory.recall("answer", user="ann", tiers=["procedure"])}
    assert "From now on answer in English." in contents
    assert "From now on answer in French." not in contents
    actions = [version.action for version in memory.history(old.id, user="ann")]
    assert actions == ["stored", "superseded"]


def test_a_rule_held_until_it_was_replaced(tmp_path: Path) -> None:
    with holdfast.open(tmp_path / "t.db", worker=False, embedder=HashEmbedder()) as memory:
        for text, day in (("French", "2024-01-01"), ("English", "2025-01-01")):
            memory.remember(f"From now on answer in {text}.", user="ann", at=f"{day}T00:00Z")
        memory.drain()

        def rules(**when: str) -> list[str]:
            hits = memory.recall("answer", user="ann", tiers=["procedure"], **when)  # type: ignore[arg-type]
            return [hit.metadata["rule"] for hit in hits]

        assert rules() == ["answer in English"]
        assert rules(now="2024-06-01T00:00Z") == ["answer in English", "answer in French"]
        assert rules(as_of="2024-06-01T00:00Z") == ["answer in French"]
        assert rules() == ["answer in English"]


def test_a_rule_that_is_said_again_is_one_rule(memory: Memory) -> None:
    memory.remember(RULE, user="ann")
    rules = memory.recall("history", user="ann", tiers=["procedure"])
    assert [hit.content for hit in rules] == [RULE]
    assert [finding.detail for finding in memory.check() if not finding.ok] == []


def test_a_rule_can_be_taken_back(memory: Memory) -> None:
    memory.remember("Forget the rule about citing sources.", user="ann")
    hits = memory.recall("history", user="ann", tiers=["procedure"])
    assert not any(hit.is_rule for hit in hits)


def test_rules_take_their_places_and_the_order_of_the_rest_stays() -> None:
    moment = a_moment("history", ["2024-01-01"] * 60)
    best = scored(*(1.0 - doc / 100 for doc in range(12)))
    ranked = place_rules(best, [50, 3], moment, PLACES)
    assert [each.doc for each in ranked][:6] == [0, 50, 1, 3, 2, 4]
    assert [each.score for each in ranked] == sorted((each.score for each in ranked), reverse=True)
    assert place_rules(best, [], moment, PLACES) == best
    (alone,) = place_rules([], [7], moment, PLACES)
    assert (alone.doc, alone.score) == (7, 0.5)
    assert ranked[2].score < ranked[1].score < ranked[0].score


def test_nothing_that_was_found_leaves_a_context_unseen(memory: Memory) -> None:
    for said in ("The gate code is 4711.", "We eat at seven.", "we eat at seven"):
        memory.remember(said, user="eve")
    memory.drain()
    found = {hit.id for hit in memory.recall("When do we eat?", user="eve")}
    context = memory.context("When do we eat?", user="eve")
    assert found == {hit.id for hit in context.hits} | {each.id for each in context.dropped}
    assert [each.reason for each in context.dropped] == ["copy"]


@pytest.fixture(scope="module")
def household(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """A few rules beside everyday talk, with the shipped model."""
    said = [
        "I live in Porto with my wife Marta.", "Our daughter Lea started school in September.",
        "The car broke down on Tuesday, the garage wants 400 euros.",
        "Always answer me in short bullet points.", "We are planning a trip to Japan in April.",
        "When I ask for recipes, give amounts in grams.", "My brother Tom is moving to Berlin.",
        "I run every Sunday along the river.", "Never mention prices in dollars.",
        "Lea wants a rabbit for her birthday.", "I finished reading Dune last night.",
        "Whenever you write an email for me, sign it as Dr. Costa.",
        "The landlord raised the rent to 950 euros.", "I started learning Japanese on Monday.",
        "Marta's mother visits us in May.", "I am allergic to shellfish.",
    ]  # fmt: skip
    path = tmp_path_factory.mktemp("household") / "m.db"
    with holdfast.open(path, worker=False, embedder=LocalEmbedder()) as memory:
        memory.remember([{"content": each} for each in said], user="ann")
        memory.drain()
        yield memory


def rules_told(memory: Memory, question: str, limit: int) -> list[str]:
    return [hit.content for hit in memory.recall(question, user="ann", limit=limit) if hit.is_rule]


@pytest.mark.parametrize(
    "question",
    [
        "Where do I live?",
        "What sport do I do?",
        "Which book did I finish?",
        "How much is the rent?",
    ],
)
def test_a_short_list_has_no_place_for_rules_that_do_not_fit(
    household: Memory, question: str
) -> None:
    assert rules_told(household, question, 8) == []
    assert len(rules_told(household, question, 10)) <= WEAK


@pytest.mark.parametrize(
    ("question", "rule"),
    [
        ("Can you give me a recipe for fish soup?", "recipes"),
        ("Write an email to my landlord.", "email"),
    ],
)
def test_a_short_list_has_a_place_for_the_rule_that_fits(
    household: Memory, question: str, rule: str
) -> None:
    (told,) = rules_told(household, question, 8)
    assert rule in told


def test_a_context_tells_a_few_rules_whatever_is_asked(household: Memory) -> None:
    context = household.context("Where do I live?", user="ann", record=False)
    assert sum(hit.is_rule for hit in context.hits) == 4
