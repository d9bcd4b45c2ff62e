"""How entities and edges fade: by the formulas, and what that leaves out."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from recollect.graph.strength import FADED, of_edge, of_entity, unfaded
from tests.graph.hearing import Heard

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


def test_many_edges_are_judged_as_one_by_one() -> None:
    now = 1_000 * DAY_US
    seen = now - np.arange(290 * DAY_US, 310 * DAY_US, DAY_US // 7, dtype=np.int64)
    strong = [of_edge(int(each), now) >= FADED for each in seen]
    assert unfaded(seen, now).tolist() == strong
    assert 0 < sum(strong) < len(strong)


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
