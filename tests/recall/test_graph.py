"""The graph as a source of recall: what is reached, how far, for whom, and how it is told."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import holdfast
from holdfast.index.resident import IndexCache
from holdfast.memory.memory import Memory
from holdfast.recall.query import query
from holdfast.recall.sources.graph import reach, spread
from holdfast.records.graph.adjacency import Entity, Relation, Span, adjacency
from holdfast.records.graph.follow import Graphs
from holdfast.records.graph.walk import walk
from holdfast.store.protocols import FOREVER_US
from holdfast.testing import HashEmbedder
from holdfast.testing.store_suite import NOON, a_fact
from holdfast.types import Hit, Scope
from tests.records.graph.hearing import Heard

DAY = timedelta(days=1)
ANN = Scope("default", "ann")
QUESTION = "Who is above Priya?"
ANSWER = "Falcons coached by Zoe"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with holdfast.open(
        tmp_path / "m.db", embedder=HashEmbedder(16), worker=False, clock=lambda: NOON
    ) as opened:
        yield opened


def write(memory: Memory, *relations: str, user: str = "ann", **given: Any) -> tuple[str, ...]:
    split = [
        dict(zip(("source", "type", "target"), each.split(), strict=True)) for each in relations
    ]
    at = given.pop("at", None)
    return memory.graph.write(
        relations=[{**each, "at": at} for each in split], user=user, **given
    ).edges


def hits(memory: Memory, question: str = QUESTION, **asked: Any) -> dict[str, Hit]:
    found = memory.recall(question, **{"user": "ann", "limit": 50, **asked})
    return {hit.content: hit for hit in found}


def by_graph(memory: Memory, question: str = QUESTION, **asked: Any) -> set[str]:
    """What the graph alone speaks for, edges only."""
    found = hits(memory, question, **asked).values()
    return {hit.content for hit in found if hit.kind == "relation" and "path" in hit.why["graph"]}


def by_path(memory: Memory, question: str = QUESTION) -> set[str]:
    """What the graph speaks for."""
    found = hits(memory, question).values()
    return {hit.content for hit in found if "path" in hit.why.get("graph", {})}


@pytest.mark.parametrize("fusion", ["blend", "rrf"])
def test_a_fact_two_steps_away_is_found_without_a_shared_word(memory: Memory, fusion: str) -> None:
    write(memory, "Priya plays_for Falcons", "Falcons coached_by Zoe", "Max coached_by Eve")
    for number in range(5):
        memory.remember(f"The weather of day {number} was fine.", user="ann")
    found = hits(memory, overrides={"fusion": fusion}, limit=10)
    told = found[ANSWER].why["graph"]
    assert told["path"] == ["Priya", "plays for", "Falcons", "coached by", "Zoe"]
    assert 0 < told["score"] <= 1
    assert "Max coached by Eve" not in found
    assert "keyword" not in found[ANSWER].why


def test_nearer_counts_more_and_an_entity_less_than_what_is_said_of_it(memory: Memory) -> None:
    write(memory, "Priya plays_for Falcons", "Falcons coached_by Zoe", "Zoe lives_in Oslo")
    scores = {text: hit.why["graph"]["score"] for text, hit in hits(memory).items()}
    first, second, third = "Priya plays for Falcons", ANSWER, "Zoe lives in Oslo"
    assert 1.0 == scores[first] > scores[second] > scores[third] > 0
    assert scores["Priya (concept)"] == 0.5
    assert hits(memory)["Priya (concept)"].why["graph"]["path"] == ["Priya"]


def test_a_step_against_the_direction_is_told_so(memory: Memory) -> None:
    write(memory, "Falcons coached_by Zoe")
    assert hits(memory, "Zoe?")[ANSWER].why["graph"]["path"] == ["Zoe", "← coached by", "Falcons"]


def test_four_steps_are_too_far(memory: Memory) -> None:
    write(memory, "Priya supports B1", "B1 supports B2", "B2 supports B3", "B3 supports B4")
    assert by_graph(memory) == {"Priya supports B1", "B1 supports B2", "B2 supports B3"}


def test_what_lies_between_two_named_ones_counts_most(memory: Memory) -> None:
    write(memory, "Priya supports Falcons", "Falcons supports Zoe", "Priya supports Max")
    scores = {
        text: hit.why["graph"]["score"] for text, hit in hits(memory, "Priya and Zoe?").items()
    }
    assert scores["Falcons supports Zoe"] > scores["Priya supports Max"]


def test_who_names_nobody_gets_no_graph(memory: Memory) -> None:
    write(memory, "Priya supports Falcons")
    memory.remember("The falconer supports us.", user="ann")
    found = hits(memory, "Who supports whom?")
    assert found
    assert all("path" not in hit.why.get("graph", {}) for hit in found.values())


def test_without_a_graph_nothing_changes(memory: Memory) -> None:
    for text in ("Priya plays chess.", "Zoe likes the Falcons.", "Always answer Priya briefly."):
        memory.remember(text, user="ann", session="graph")
    before = memory.recall(QUESTION, user="ann")
    write(memory, "Priya supports Falcons", user="eve")
    write(memory, "Priya supports Falcons", workspace="other")
    assert memory.recall(QUESTION, user="ann") == before
    assert all("graph" not in hit.why for hit in before)


def test_other_owners_lend_nothing(memory: Memory) -> None:
    write(memory, "Priya plays_for Falcons")
    write(memory, "Falcons coached_by Zoe", user="eve")
    assert by_graph(memory) == {"Priya plays for Falcons"}


def test_an_agent_is_not_led_over_what_it_may_not_see(memory: Memory) -> None:
    write(memory, "Priya plays_for Falcons", agent="bot")
    write(memory, "Falcons coached_by Zoe")
    assert by_graph(memory, agent="bot") == {"Priya plays for Falcons", ANSWER}
    assert by_graph(memory, agent="other") == set()


def test_forgotten_edges_and_entities_lead_nowhere(memory: Memory) -> None:
    first, _ = write(memory, "Priya plays_for Falcons", "Falcons coached_by Zoe")
    memory.forget(first, user="ann")
    assert by_graph(memory) == set()
    memory.restore(first, user="ann")
    assert by_graph(memory) == {"Priya plays for Falcons", ANSWER}
    (falcons,) = [n for n in memory.graph.entities(user="ann") if n.name == "Falcons"]
    memory.forget(falcons.id, user="ann")
    assert by_graph(memory) == set()
    # What is said of it is forgotten with it, also by its words.
    assert set(hits(memory, "Do Priya or Zoe play for the falcons?")) == {
        "Priya (concept)",
        "Zoe (concept)",
    }
    memory.restore(falcons.id, user="ann")
    assert by_graph(memory) == {"Priya plays for Falcons", ANSWER}


def test_only_edges_of_their_time_are_walked(memory: Memory) -> None:
    write(memory, "Priya plays_for Falcons", at=NOON - 10 * DAY)
    write(memory, "Falcons coached_by Zoe", at=NOON - 5 * DAY)
    assert by_graph(memory, as_of=NOON - 7 * DAY) == {"Priya plays for Falcons"}
    assert by_graph(memory, as_of=NOON - 5 * DAY) == {"Priya plays for Falcons", ANSWER}
    assert by_graph(memory, as_of=NOON - 20 * DAY) == set()
    assert by_graph(memory, known_at=NOON - DAY) == set()
    assert by_graph(memory, known_at=NOON) == {"Priya plays for Falcons", ANSWER}


def test_the_turn_that_a_relation_was_learned_from_is_reached_with_it(memory: Memory) -> None:
    write(memory, "Priya plays_for Falcons")
    (event,) = memory.remember("We shook hands on Tuesday.", user="ann").events
    (edge,) = memory.store.listed(ANN, tier="graph", kind="relation")
    learned = a_fact(
        80, event, tier="graph", kind="relation", content="Falcons coached by Zoe",
        data={**edge.data, "source": edge.data["target"], "target": edge.data["target"]},
    )  # fmt: skip
    memory.store.put(ANN, [learned], known_at=NOON, steps=[])
    told = hits(memory)["We shook hands on Tuesday."].why["graph"]
    assert told["path"][:3] == ["Priya", "plays for", "Falcons"]


def test_all_turns_that_something_was_heard_in_are_reached(tmp_path: Path) -> None:
    heard = Heard(tmp_path / "heard.db")
    with heard.memory:
        heard.hear("Priya plays_for Falcons", text="The season began.")
        heard.hear("Falcons coached_by Zoe", text="We shook hands on Tuesday.")
        heard.hear("Falcons coached_by Zoe", "Zoe: person", text="It rained again.")
        heard.hear("Max: person", text="Nothing of that.")
        found = hits(heard.memory)
        for text in ("We shook hands on Tuesday.", "It rained again."):
            path = ["Priya", "plays for", "Falcons", "coached by", "Zoe"]
            assert found[text].why["graph"]["path"] == path
        assert found["The season began."].why["graph"]["score"] == 0.12
        assert "Nothing of that." not in by_path(heard.memory)
        assert {hit.tier for hit in found.values()} == {"session"}


def test_joined_entities_are_walked_as_one(tmp_path: Path) -> None:
    heard = Heard(tmp_path / "heard.db")
    with heard.memory:
        heard.hear("Bob Smith: person", "Bob_Smith plays_for Falcons", text="The season began.")
        heard.hear("Bob: person", "Bob plays_for Falcons", text="He scored twice.")
        heard.hear("Falcons coached_by Zoe", text="We shook hands on Tuesday.")
        for question in ("Who is above Bob?", "Who is above Bob Smith?"):
            found = hits(heard.memory, question)
            told = found["We shook hands on Tuesday."].why["graph"]["path"]
            assert told == ["Bob Smith", "plays for", "Falcons", "coached by", "Zoe"]
            # Two that say the same flow as one, and both turns have it.
            scores = [
                found[text].why["graph"]["score"]
                for text in ("The season began.", "He scored twice.")
            ]
            assert scores == [0.12, 0.12]
        (merge,) = heard.memory.graph.merges(user="ann")
        heard.memory.graph.unmerge(merge.id, user="ann")
        told = hits(heard.memory, "Who is above Bob?")["He scored twice."].why["graph"]["path"]
        assert told == ["Bob", "plays for", "Falcons"]


def test_faded_edges_are_not_walked(tmp_path: Path) -> None:
    heard = Heard(tmp_path / "heard.db")
    with heard.memory:
        heard.hear("Priya plays_for Falcons", text="The season began.")
        heard.later(200 * DAY)
        heard.hear("Falcons coached_by Zoe", text="We shook hands on Tuesday.")
        assert by_path(heard.memory) == {"The season began.", "We shook hands on Tuesday."}
        heard.later(150 * DAY)
        # Nothing leads away from Priya any more.
        assert by_path(heard.memory) == set()


def test_tiers_and_limits_hold_for_what_is_reached(memory: Memory) -> None:
    write(memory, "Priya plays_for Falcons", "Falcons coached_by Zoe")
    memory.remember("Priya was here.", user="ann")
    assert set(hits(memory, tiers=["session"])) == {"Priya was here."}
    assert len(memory.recall(QUESTION, user="ann", limit=2)) == 2


def test_answers_repeat_in_a_new_process(memory: Memory) -> None:
    write(
        memory, *[f"Priya supports N{i}" for i in range(9)], *[f"N{i} likes M{i}" for i in range(9)]
    )
    view = IndexCache(memory.store, most_bytes=1 << 30).view(ANN, None)
    asked = query(QUESTION, ANN, limit=10, now=NOON, as_of=None, known_at=None, filters=None)
    first = reach(view, asked, memory._searcher.graphs.of(ANN))
    again = reach(view, asked, Graphs(memory.store).of(ANN))
    assert first is not None
    assert again is not None
    assert np.array_equal(first.scores, again.scores)
    assert first.lenders == again.lenders


def test_a_document_that_the_index_has_not_seen_is_left_out(memory: Memory) -> None:
    write(memory, "Priya plays_for Falcons")
    shelf = IndexCache(memory.store, most_bytes=1 << 30)
    old = shelf.view(ANN, None)
    write(memory, "Falcons coached_by Zoe")
    asked = query(QUESTION, ANN, limit=10, now=NOON, as_of=None, known_at=None, filters=None)
    graph = memory._searcher.graphs.of(ANN)
    for view, documents in ((old, 3), (shelf.view(ANN, None), 5), (old, 3)):
        found = reach(view, asked, graph)
        assert found is not None
        assert (len(found.scores), len(found.lenders)) == (len(view), documents)


def test_activation_is_personalised_pagerank() -> None:
    """a - b - c, from a: x_a = 1/2 + x_b/4, x_b = x_a/2 + x_c/2, x_c = x_b/4."""
    span = Span(0, FOREVER_US, 0, FOREVER_US, None)
    things = {
        name: Entity(name, "concept", None, (), "", 1.0, "agent", span) for name in ("a", "b", "c")
    }
    edges = {
        f"{number:032x}": Relation(*ends, None, 1.0, "agent", span)
        for number, ends in enumerate([("a", "supports", "b"), ("b", "supports", "c")])
    }
    graph = adjacency(things, edges)
    found = walk(graph, [0], depth=3, most=10)
    stays, flows = spread(graph, found, found.edges)
    # x_b = (1/2 + x_b/4)/2 + x_b/8 = 1/4 + x_b/4.
    assert stays == pytest.approx([7 / 12, 4 / 12, 1 / 12], abs=1e-5)
    assert flows == pytest.approx([7 / 12 + 2 / 12, 2 / 12 + 1 / 12], abs=1e-5)


def test_an_entity_without_edges_keeps_what_it_has() -> None:
    span = Span(0, FOREVER_US, 0, FOREVER_US, None)
    graph = adjacency({"a": Entity("a", "concept", None, (), "", 1.0, "agent", span)}, {})
    found = walk(graph, [0], depth=3, most=10)
    stays, flows = spread(graph, found, found.edges)
    assert (stays.tolist(), flows.tolist()) == ([0.5], [])


def test_a_common_word_that_was_heard_is_no_name(tmp_path: Path) -> None:
    heard = Heard(tmp_path / "heard.db")
    with heard.memory:
        heard.hear("issues plays_for Falcons", "KEY plays_for Falcons", text="The season began.")
        heard.hear("Falcons coached_by Zoe", text="We shook hands on Tuesday.")
        for question in ("Which issues are there?", "Who has the key?"):
            assert by_path(heard.memory, question) == set()
        assert by_path(heard.memory, "Who has the KEY?") != set()
        heard.memory.graph.write(entities=[{"name": "issues"}], user="ann")
        assert by_path(heard.memory, "Which issues are there?") != set()
