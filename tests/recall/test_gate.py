"""The gate before a context: what says nothing or is far from relevant is left out and listed."""

from pathlib import Path

import pytest

import holdfast
from holdfast.recall.context.pack import SURE, Packed, pack
from holdfast.testing import HashEmbedder
from holdfast.types import Hit
from tests.recall.test_pack import a_hit, long_turns

PLAIN = "Where is the boat?"
BROAD = "List all the boats that we ever talked about, in the order we mentioned them."


def ranked(*scores: float) -> list[Hit]:
    return [a_hit(f"Boat {n} lies in the harbour.", n, score=s) for n, s in enumerate(scores)]


def reasons(done: Packed) -> dict[int, str]:
    return {int(each.id, 16): each.reason for each in done.dropped}


def test_a_turn_without_content_is_left_out_while_anything_else_is_there() -> None:
    hits = [a_hit("Noted.", 0), a_hit("The boat is blue.", 1), a_hit("OK, thanks!", 2)]
    done = pack(hits, budget_tokens=500, query=PLAIN)
    assert [hit.content for hit in done.hits] == ["The boat is blue."]
    assert reasons(done) == {0: "says nothing", 2: "says nothing"}
    assert all(each.tokens > 0 for each in done.dropped)


def test_turns_without_content_are_told_where_there_is_nothing_else() -> None:
    done = pack([a_hit("Noted.", 0), a_hit("OK.", 1)], budget_tokens=500, query=PLAIN)
    assert len(done.hits) == 2
    assert done.dropped == ()


def test_what_scores_far_below_the_best_is_left_out() -> None:
    hits = ranked(*[0.9] * SURE, 0.64, 0.62, 0.3)
    done = pack(hits, budget_tokens=5_000, query=PLAIN, relevance_gate=0.7)
    assert done.hits == tuple(hits[: SURE + 1])
    assert reasons(done) == {SURE + 1: "not relevant", SURE + 2: "not relevant"}


def test_the_first_are_never_too_far_from_relevant() -> None:
    hits = ranked(0.9, *[0.1] * SURE)
    done = pack(hits, budget_tokens=5_000, query=PLAIN, relevance_gate=0.7)
    assert done.hits == tuple(hits[:SURE])


@pytest.mark.parametrize(("query", "gate"), [(PLAIN, 0.0), (BROAD, 0.7)])
def test_a_broad_question_and_a_gate_of_nothing_let_all_in(query: str, gate: float) -> None:
    hits = ranked(0.9, *[0.1] * 30)
    done = pack(hits, budget_tokens=5_000, query=query, relevance_gate=gate)
    assert done.hits == tuple(hits)


def test_rules_guaranteed_categories_and_literals_pass() -> None:
    by_user = {"tier": "procedure", "kind": "instruction", "score": 0.1}
    hits = [
        *ranked(*[0.9] * SURE, 0.1),
        a_hit("Always cite sources.", 20, **by_user),
        a_hit("It is Ann, not Anna.", 21, score=0.1, metadata={"category": "correction"}),
        a_hit("INV-7 was paid.", 22, score=0.1, why={"literal": ["INV-7"]}),
        a_hit("OK", 23, score=0.1, metadata={"category": "correction"}),
    ]
    done = pack(hits, budget_tokens=5_000, query=PLAIN, relevance_gate=0.7)
    assert reasons(done) == {SURE: "not relevant"}


def test_a_literal_does_not_set_the_bar_for_the_others() -> None:
    """Who holds a literal is lifted above all others, which are halved."""
    lifted = a_hit("INV-7 was paid.", 90, score=1.0, why={"literal": ["INV-7"]})
    hits = [lifted, *ranked(*[0.45] * (SURE + 5))]
    done = pack(hits, budget_tokens=5_000, query=PLAIN, relevance_gate=0.7)
    assert done.hits == tuple(hits)


def test_the_less_relevant_is_told_shortly_though_there_is_room() -> None:
    near, far = long_turns(40)[:3], long_turns(40)[3:]
    hits = [a_hit(h.content, n, score=0.9) for n, h in enumerate(near)]
    hits += [a_hit(h.content, n + 3, score=0.7) for n, h in enumerate(far)]
    open_gate = pack(hits, budget_tokens=3_000, query=BROAD)
    done = pack(hits, budget_tokens=3_000, query=BROAD, relevance_gate=0.7)
    assert done.hits == open_gate.hits
    assert set(done.levels[3:]) == {"headline"}
    assert "headline" not in done.levels[:3]
    assert done.tokens < 0.7 * open_gate.tokens


def test_the_setting_is_on_by_default_and_can_be_switched_off(tmp_path: Path) -> None:
    talk = ["The blue boat is moored in the old harbour.", "Noted."]
    talk += [f"Lunch on day {n} was soup with bread number {n}, and boat talk." for n in range(40)]
    with holdfast.open(tmp_path / "m.db", embedder=HashEmbedder(), worker=False) as memory:
        memory.remember([{"role": "user", "content": each} for each in talk], user="ann")
        memory.drain()
        question = "Where is the blue boat moored?"
        gated = memory.context(question, user="ann", record=False)
        off = memory.context(question, user="ann", overrides={"relevanceGate": 0.0}, record=False)
    assert "old harbour" in gated.text
    assert "not relevant" in {each.reason for each in gated.dropped}
    assert "not relevant" not in {each.reason for each in off.dropped}
    assert "Noted." not in off.text
    assert gated.tokens < off.tokens
