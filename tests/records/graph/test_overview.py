"""overview: which entities of a whole graph are shown first, and the edges between them."""

from datetime import timedelta
from typing import Any

import numpy as np

from holdfast.records.graph.adjacency import Adjacency, When, adjacency, entity, merging, relation
from holdfast.records.graph.walk import overview, to_subgraph
from holdfast.testing.store_suite import NOON
from holdfast.types import Record

DAY = timedelta(days=1)


def a_record(kind: str, id: str, **given: Any) -> Record:
    """A record of the graph; `data` and whatever else the test is about."""
    return Record(
        **{
            "id": id,
            "tier": "graph",
            "kind": kind,
            "content": "",
            "valid_from": NOON,
            "valid_to": None,
            "known_from": NOON,
            "known_to": None,
            "origin": "agent",
            "confidence": 1.0,
            "sources": (),
            "role": "user",
            **given,
        }
    )


def a_graph(
    names: str,
    *edges: str,
    gone: str = "",
    over: tuple[str, ...] = (),
    matter: dict[str, float] | None = None,
    merged: str = "",
) -> Adjacency:
    """Entities by their letters, relations as two letters; those in `gone` and `over` ended, the
    two in `merged` are one; `matter` is their importance, where it is not 0.5."""
    ids = {name: f"{number:032x}" for number, name in enumerate(names)}
    ended: dict[str, Any] = {"valid_to": NOON - DAY, "valid_from": NOON - 2 * DAY}
    things, claims, merges = {}, {}, {}
    for name in names:
        given = {"importance": (matter or {}).get(name, 0.5), **(ended if name in gone else {})}
        data: dict[str, Any] = {"name": name, "type": "concept"}
        things[ids[name]] = entity(a_record("entity", ids[name], data=data, **given))
    for number, (a, b) in enumerate(map(tuple, edges), 1000):
        data = {"source": ids[a], "type": "supports", "target": ids[b]}
        given = ended if a + b in over else {}
        claims[f"{number:032x}"] = relation(
            a_record("relation", f"{number:032x}", data=data, **given)
        )
    if merged:
        data = {"a": ids[merged[0]], "b": ids[merged[1]], "score": 1.0, "evidence": []}
        merges["f" * 32] = merging(a_record("merge", "f" * 32, data=data))
    return adjacency(
        {id: each for id, each in things.items() if each},
        {id: each for id, each in claims.items() if each},
        {id: each for id, each in merges.items() if each},
    )


def shown(graph: Adjacency, *, most: int = 10, **given: Any) -> tuple[str, list[str]]:
    """The names in order, and the edges as two letters."""
    names = [each.name for each in graph.entities]
    found = overview(graph, When(given.pop("now", NOON)), most=most, **given)
    pairs = [names[graph.source[edge]] + names[graph.target[edge]] for edge in found.edges.tolist()]
    return "".join(names[node] for node in found.nodes.tolist()), sorted(pairs)


def test_the_most_connected_come_first_then_names() -> None:
    graph = a_graph("dcba", "cb", "ca", "cd", "ab")
    assert shown(graph) == ("cabd", ["ab", "ca", "cb", "cd"])


def test_importance_multiplies() -> None:
    # a: (1 + 2) x 0.3 = 0.9; b: (1 + 1) x 0.5 = 1.0; c: (1 + 1) x 0.4 = 0.8.
    graph = a_graph("abc", "ab", "ac", matter={"a": 0.3, "b": 0.5, "c": 0.4})
    assert shown(graph)[0] == "bac"


def test_those_without_edges_come_by_importance() -> None:
    assert shown(a_graph("abc", matter={"b": 0.9, "c": 0.7, "a": 0.1})) == ("bca", [])


def test_the_limit_leaves_out_the_edges_of_those_left_out() -> None:
    graph = a_graph("abcd", "ab", "ac", "ad", "bc")
    assert shown(graph, most=3) == ("abc", ["ab", "ac", "bc"])
    assert shown(graph, most=1) == ("a", [])
    assert overview(graph, When(NOON), most=3).truncated
    assert not overview(graph, When(NOON), most=4).truncated


def test_what_ended_is_not_shown_and_does_not_count() -> None:
    graph = a_graph("abcde", "ab", "ac", "ad", "bc", "be", gone="d", over=("ac",))
    assert shown(graph) == ("bace", ["ab", "bc", "be"])


def test_an_edge_that_faded_is_not_shown() -> None:
    graph = a_graph("ab", "ab")
    assert shown(graph, now=NOON + 290 * DAY) == ("ab", ["ab"])
    # An entity of which nothing else is present fades with its edge.
    assert shown(graph, now=NOON + 310 * DAY) == ("", [])


def test_an_edge_to_itself_is_shown_but_does_not_count() -> None:
    graph = a_graph("abc", "bb", "bb", "ac")
    assert shown(graph) == ("acb", ["ac", "bb", "bb"])


def test_those_that_are_one_are_shown_once_with_what_either_says() -> None:
    apart = a_graph("abcd", "ac", "bc", "ab", "cd")
    assert shown(apart) == ("cabd", ["ab", "ac", "bc", "cd"])
    graph = a_graph("abcd", "ac", "bc", "ab", "cd", merged="ab")
    # What said something between the two says nothing now, and what both said is said once.
    assert shown(graph) == ("cad", ["ac", "cd"])
    found = overview(graph, When(NOON), most=10)
    assert [len(others) for others in found.also.values()] == [1]


def test_a_mask_narrows() -> None:
    graph = a_graph("abc", "ab", "bc", "ac")
    allowed = np.array([each.name != "b" for each in graph.entities])
    assert shown(graph, nodes=allowed) == ("ac", ["ac"])


def test_an_empty_graph_is_empty() -> None:
    assert shown(a_graph("")) == ("", [])


def test_what_callers_see_of_it() -> None:
    graph = a_graph("abcd", "ac", "bc", "cd", merged="ab")
    found = overview(graph, When(NOON), most=10)
    seen = to_subgraph(graph, found, NOON, most_edges=10)
    assert [node.name for node in seen.nodes] == ["c", "a", "d"]
    assert [edge.content for edge in seen.edges] == ["a supports c", "c supports d"]
    assert {edge.source for edge in seen.edges} <= {node.id for node in seen.nodes}
    assert (seen.paths, seen.truncated) == ((), False)
    fewer = to_subgraph(graph, found, NOON, most_edges=1)
    assert (len(fewer.edges), fewer.truncated) == (1, True)
