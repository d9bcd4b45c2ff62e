"""How entities and edges fade: by the formulas, and what that leaves out."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.records.graph.adjacency import (
    GONE,
    edges_until,
    entities_until,
    of_edge,
    of_entity,
)
from holdfast.settings import DECAY
from holdfast.upkeep.feedback import feedback
from tests.records.graph.hearing import ANN, Heard

DAY_US = 86_400_000_000
DAY = timedelta(days=1)


@pytest.fixture
def heard(tmp_path: Path) -> Iterator[Heard]:
    made = Heard(tmp_path / "m.db")
    with made.memory:
        yield made


@pytest.mark.parametrize(
    ("turns", "days", "expected"),
    [
        (0, 0.0, 0.5),
        (1, 0.0, 0.5),
        (2, 0.0, 0.6),
        (6, 0.0, 1.0),
        (60, 0.0, 1.0),
        (1, 1.0, 0.5),
        (1, 2.0, 0.5 * 0.97),
        (4, 31.0, 0.8 * 0.97**30),
        (1, -5.0, 0.5),
    ],
)
def test_an_entity_grows_with_turns_and_fades_after_a_day(
    turns: int, days: float, expected: float
) -> None:
    assert of_entity(turns, 0, round(days * DAY_US)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("days", "expected"), [(0.0, 1.0), (90.0, 0.5), (180.0, 0.25), (-9.0, 1.0), (45.0, 0.5**0.5)]
)
def test_an_edge_loses_half_in_ninety_days(days: float, expected: float) -> None:
    assert of_edge(0, round(days * DAY_US)) == pytest.approx(expected)


def test_what_was_touched_goes_on_from_there() -> None:
    assert of_edge(0, 90 * DAY_US, 0.8) == pytest.approx(0.4)
    assert of_entity(9, 0, 11 * DAY_US, 0.3) == pytest.approx(0.3 * 0.97**10)


@pytest.mark.parametrize("full", [1.0, 0.5, 0.1, 0.05, 0.01, 0.001, 0.0])
def test_many_are_judged_as_one_by_one(full: float) -> None:
    now = 1_000 * DAY_US
    seen = now - np.arange(0, 310 * DAY_US, DAY_US // 7, dtype=np.int64)
    each = np.full(len(seen), full)
    strong = [of_edge(int(one), now, full) >= DECAY.minimum_weight for one in seen]
    assert (edges_until(seen, each) >= now).tolist() == strong
    live = [of_entity(1, int(one), now, full) >= GONE for one in seen]
    assert (entities_until(seen, each) >= now).tolist() == live


def test_an_entity_that_nobody_speaks_of_leaves_the_live_graph(heard: Heard) -> None:
    heard.hear("Bob: person")
    heard.later(129 * DAY)
    assert heard.names() == ["Bob"]
    then = heard.later(DAY)
    assert heard.names() == []
    assert heard.memory.graph.traverse("Bob", user="ann").nodes == ()
    # It is not gone: as of a time when it was there it is, and spoken of it comes back.
    assert len(heard.memory.graph.traverse("Bob", user="ann", as_of=then - 100 * DAY).nodes) == 1
    assert len(heard.memory.graph.traverse("Bob", user="ann", faded=True).nodes) == 1
    heard.hear("Bob: person")
    assert [(n.name, n.strength) for n in heard.memory.graph.entities(user="ann")] == [("Bob", 0.6)]


def test_an_entity_stays_as_long_as_an_edge_leads_to_it(heard: Heard) -> None:
    heard.hear("Bob supports Acme", "Zoe: person")
    heard.later(298 * DAY)
    assert set(heard.names()) == {"Bob", "Acme"}
    assert len(heard.memory.graph.traverse("Bob", user="ann").edges) == 1
    heard.later(2 * DAY)
    assert heard.names() == []


def test_judged_edges_and_entities_tell_it(heard: Heard) -> None:
    heard.hear("Bob supports Acme")
    (edge,) = heard.memory.graph.traverse("Bob", user="ann").edges
    (bob,) = (n.id for n in heard.memory.graph.entities(user="ann") if n.name == "Bob")
    feedback(heard.memory.store, ANN, edge.id, -1, now=heard.now)
    feedback(heard.memory.store, ANN, bob, 1, now=heard.now)
    told = heard.memory.graph.traverse("Bob", user="ann")
    assert [each.strength for each in told.edges] == [0.8]
    assert {each.name: each.strength for each in told.nodes} == {"Bob": 0.7, "Acme": 0.5}
    for _ in range(4):
        feedback(heard.memory.store, ANN, edge.id, -1, now=heard.now)
    assert heard.memory.graph.traverse("Bob", user="ann").edges == ()
    assert len(heard.memory.graph.traverse("Bob", user="ann", faded=True).edges) == 1


def test_faded_edges_are_left_out_unless_wanted_and_come_back_when_seen(heard: Heard) -> None:
    graph = heard.memory.graph
    heard.hear("Bob supports Acme")
    heard.later(290 * DAY)
    heard.hear("Bob supports Peace")
    heard.later(15 * DAY)
    told = {edge.content: edge.strength for edge in graph.traverse("Bob", user="ann").edges}
    assert told == {"Bob supports Peace": pytest.approx(0.5 ** (15 / 90), abs=1e-5)}
    every = graph.traverse("Bob", user="ann", faded=True).edges
    assert len(every) == 2
    assert min(edge.strength for edge in every) == pytest.approx(0.5 ** (305 / 90), abs=1e-5)
    assert [edge.content for edge in graph.edges(user="ann")] == list(told)
    assert [edge.content for edge in graph.overview(user="ann").edges] == list(told)
    assert len(graph.edges(user="ann", faded=True)) == 2
    assert len(graph.overview(user="ann", faded=True).edges) == 2
    # As of a time when it was fresh, it is.
    then = heard.now - 200 * DAY
    assert len(graph.traverse("Bob", user="ann", as_of=then).edges) == 1
    heard.hear("Bob supports Acme")
    assert len(graph.traverse("Bob", user="ann").edges) == 2


def test_nodes_tell_their_strength(heard: Heard) -> None:
    heard.hear("Bob: person")
    heard.hear("Bob: person", "Acme: company")
    strengths = {n.name: n.strength for n in heard.memory.graph.entities(user="ann")}
    assert strengths == {"Bob": 0.6, "Acme": 0.5}
    heard.later(11 * DAY)
    strengths = {n.name: n.strength for n in heard.memory.graph.entities(user="ann")}
    assert strengths == pytest.approx({"Bob": 0.6 * 0.97**10, "Acme": 0.5 * 0.97**10}, abs=1e-5)
    # What somebody wrote fades as well, and is fresh when it is written again.
    heard.memory.graph.write([{"name": "Acme", "type": "company"}], user="ann")
    strengths = {n.name: n.strength for n in heard.memory.graph.entities(user="ann")}
    assert strengths["Acme"] == 0.5


def test_what_is_written_again_is_stronger_as_the_receipt_says(heard: Heard) -> None:
    graph = heard.memory.graph

    def write(**more: str) -> tuple[int, float, float]:
        told = graph.write(
            [{"name": "Bob", "type": "person"}],
            [{"source": "Bob", "type": "supports", "target": "Acme"}],
            user="ann", **more,
        )  # fmt: skip
        bob = next(each for each in graph.entities(user="ann") if each.name == "Bob")
        (edge,) = graph.traverse("Bob", user="ann").edges
        return told.reinforced, bob.strength, edge.strength

    assert write() == (0, 0.5, 1.0)
    assert write() == (2, 0.6, 1.0)
    heard.later(3 * DAY)
    faded = 0.6 * 0.97**2
    assert write(key="once") == write(key="once") == (2, round(faded + 0.1, 6), 1.0)
    heard.later(200 * DAY)  # So weak that a step is less than a birth: then it is born anew.
    assert write() == (2, 0.5, 1.0)
    for _ in range(12):
        last = write()
    assert last == (2, 1.0, 1.0)


def test_what_was_heard_is_stronger_for_a_context_that_tells_its_turn(heard: Heard) -> None:
    text = "Bob paints boats in the harbour."
    heard.hear("Bob: person", text=text)
    heard.hear("Eve: person", text="Eve collects stamps.")

    def strengths() -> dict[str, float]:
        return {each.name: each.strength for each in heard.memory.graph.entities(user="ann")}

    def told(**more: Any) -> None:
        found = heard.memory.context("Who paints boats?", user="ann", limit=1, **more)
        assert [hit.content for hit in found.hits] == [text]

    heard.memory.recall("Who paints boats?", user="ann")
    told(record=False)
    assert strengths() == {"Bob": 0.5, "Eve": 0.5}
    told()
    told()
    assert strengths() == {"Bob": 0.6, "Eve": 0.5}  # Once a day.
    heard.later()
    told()
    assert strengths()["Bob"] == pytest.approx(0.7)


def test_a_decay_of_ones_own(tmp_path: Path) -> None:
    """The numbers of the settings hold in walks, lists, searches, previews and touches alike."""
    config = {"decay": {"halfLifeDays": 10, "minimumWeight": 0.3, "staleFactor": 0.5}}
    made = Heard(tmp_path / "m.db", config=config)
    with made.memory as memory:
        memory.graph.write(
            [{"name": "Zoe", "type": "person"}],
            [{"source": "Bob", "type": "supports", "target": "Acme"}],
            user="ann",
        )
        made.later(11 * DAY)
        found = {each.name: each.strength for each in memory.graph.entities(user="ann")}
        assert found == {"Bob": 0.000488, "Acme": 0.000488}  # Zoe is gone: no edge leads to her.
        (edge,) = memory.graph.traverse("Bob", user="ann").edges
        assert edge.strength == pytest.approx(0.5**1.1, abs=1e-6)
        assert [hit.kind for hit in memory.recall("Bob supports Acme", user="ann")][:1] == [
            "relation"
        ]
        (one,) = [each for each in memory.fading(user="ann", days=30) if each.kind == "relation"]
        assert one.strength == pytest.approx(0.5**1.1, abs=1e-6)
        assert memory.feedback(edge.id, -1, user="ann") == pytest.approx(0.5**1.1 - 0.2)
        made.later(9 * DAY)
        assert memory.graph.traverse("Bob", user="ann", faded=True).edges
        assert memory.graph.entities(user="ann") == []
        assert memory.recall("Bob supports Acme", user="ann") == []


def test_without_decay_nothing_of_the_graph_fades(tmp_path: Path) -> None:
    made = Heard(tmp_path / "m.db", config={"decay.enabled": False})
    with made.memory as memory:
        memory.graph.write(
            [], [{"source": "Bob", "type": "supports", "target": "Acme"}], user="ann"
        )
        made.later(5000 * DAY)
        assert made.names() == ["Acme", "Bob"]
        (edge,) = memory.graph.traverse("Bob", user="ann").edges
        assert edge.strength == 1.0
        assert memory.recall("Bob supports Acme", user="ann")
        assert memory.fading(user="ann", days=3000) == []
