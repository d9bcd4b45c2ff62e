"""graph.traverse and graph.entities: what lies around an entity, and for whom."""

import io
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.errors import InvalidInput
from holdfast.memory.memory import Memory
from holdfast.records.graph.follow import Graphs
from holdfast.testing import HashEmbedder
from holdfast.testing.store_suite import NOON, a_fact
from holdfast.transfer import export_to, import_from
from holdfast.types import Scope, Subgraph

DAY = timedelta(days=1)
ANN = Scope("default", "ann")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with holdfast.open(
        tmp_path / "m.db", embedder=HashEmbedder(16), worker=False, clock=lambda: NOON
    ) as opened:
        yield opened


def write(memory: Memory, *relations: str, user: str = "ann", **given: Any) -> tuple[str, ...]:
    """Relations as "a supports b", with a time or a confidence after it; the ids of the edges."""
    at: datetime | None = given.pop("at", None)
    told: list[dict[str, Any]] = []
    for each in relations:
        source, type, target, *sure = each.split()
        told.append({"source": source, "type": type, "target": target, "at": at})
        told[-1] |= {"confidence": float(sure[0])} if sure else {}
    return memory.graph.write(relations=told, user=user, **given).edges


def found(memory: Memory, start: str, **asked: Any) -> Subgraph:
    return memory.graph.traverse(start, **{"user": "ann", **asked})


def names(graph: Subgraph) -> list[str]:
    return [node.name for node in graph.nodes]


def said(graph: Subgraph) -> set[str]:
    return {edge.content for edge in graph.edges}


def test_nodes_come_nearest_first_with_paths(memory: Memory) -> None:
    write(memory, "a supports b", "b supports c", "d contradicts c", "d supports e")
    graph = found(memory, "A")
    assert names(graph) == ["a", "b", "c"]
    assert [node.depth for node in graph.nodes] == [0, 1, 2]
    assert graph.paths == (("a", "supports", "b"), ("a", "supports", "b", "supports", "c"))
    assert said(graph) == {"a supports b", "b supports c"}
    deeper = found(memory, "a", depth=3)
    assert deeper.paths[-1] == ("a", "supports", "b", "supports", "c", "← contradicts", "d")
    assert names(found(memory, "a", depth=4)) == ["a", "b", "c", "d", "e"]
    assert not deeper.truncated


def test_a_start_is_a_name_an_alias_or_an_id(memory: Memory) -> None:
    memory.graph.write([{"name": "Ann", "type": "person", "aliases": ["Annie"]}], user="ann")
    write(memory, "Ann supports Bob")
    by_name = found(memory, "ann")
    assert found(memory, "ANNIE") == by_name
    assert found(memory, by_name.nodes[0].id) == by_name
    assert len(by_name.nodes) == 2


@pytest.mark.parametrize("start", ["Nobody", "0" * 32, "An", "a b c"])
def test_an_unknown_start_is_empty(memory: Memory, start: str) -> None:
    write(memory, "Ann supports Bob")
    assert found(memory, start) == Subgraph((), (), ())
    assert found(memory, start, user="nobody") == Subgraph()


def test_directions(memory: Memory) -> None:
    write(memory, "a supports b", "c supports a", "b supports d", "e supports b")
    assert names(found(memory, "a", direction="out")) == ["a", "b", "d"]
    assert names(found(memory, "a", direction="in")) == ["a", "c"]
    assert set(names(found(memory, "a"))) == {"a", "b", "c", "d", "e"}
    assert found(memory, "a", direction="in").paths == (("a", "← supports", "c"),)


def test_relation_types_narrow_by_ours_or_by_the_given_one(memory: Memory) -> None:
    write(memory, "a supports b", "a lives_in c", "a works_in d", "c supports e", "a related_to f")
    assert names(found(memory, "a", relation_types=["supports"])) == ["a", "b"]
    assert names(found(memory, "a", relation_types=["livesIn"])) == ["a", "c"]
    assert names(found(memory, "a", relation_types=["related_to"])) == ["a", "c", "d", "f"]
    assert names(found(memory, "a", relation_types=["supports", "lives in"])) == [
        "a",
        "b",
        "c",
        "e",
    ]
    assert names(found(memory, "a", relation_types=["unheard_of"])) == ["a"]


def test_entity_types_narrow_what_is_entered_but_not_the_start(memory: Memory) -> None:
    memory.graph.write(
        [
            {"name": "p", "type": "person"},
            {"name": "q", "type": "city"},
            {"name": "r", "type": "person"},
        ],
        user="ann",
    )
    write(memory, "a supports p", "a supports q", "q supports r", "p supports r")
    assert names(found(memory, "a", entity_types=["person"])) == ["a", "p", "r"]
    assert names(found(memory, "a", entity_types=["city"])) == ["a", "q"]
    assert names(found(memory, "a", entity_types=["place"])) == ["a", "q"]
    assert [node.name for node in memory.graph.entities(user="ann", type="person")] == ["p", "r"]
    assert [node.name for node in memory.graph.entities(user="ann", type="city")] == ["q"]


def test_cycles_end(memory: Memory) -> None:
    write(memory, "a supports b", "b supports c", "c supports a")
    graph = found(memory, "a", depth=5)
    assert names(graph) == ["a", "b", "c"]
    assert len(graph.edges) == 3
    # One step away lie b and c; the edge between them is two steps away.
    assert len(found(memory, "a", depth=1).edges) == 2


def test_a_loop_is_an_edge_but_no_way(memory: Memory) -> None:
    write(memory, "a supports a")
    for direction in ("out", "in", "both"):
        graph = found(memory, "a", direction=direction)
        assert (names(graph), len(graph.edges), graph.paths) == (["a"], 1, ())


def test_two_relations_between_the_same_two(memory: Memory) -> None:
    write(memory, "a supports b 0.5", "a contradicts b 0.9", "b supports a 0.7")
    graph = found(memory, "a")
    assert len(graph.edges) == 3
    assert graph.paths == (("a", "contradicts", "b"),)


def test_the_limit_keeps_the_nearest_and_surest(memory: Memory) -> None:
    write(memory, "a supports b 0.5", "a supports c 0.9", "a supports d 0.7", "c supports e 1.0")
    graph = found(memory, "a", limit=3)
    assert (names(graph), graph.truncated) == (["a", "c", "d"], True)
    assert said(graph) == {"a supports c", "a supports d"}
    assert names(found(memory, "a", limit=1)) == ["a"]
    assert names(found(memory, "a", limit=5)) == ["a", "c", "d", "b", "e"]
    assert not found(memory, "a", limit=5).truncated
    assert [node.name for node in memory.graph.entities(user="ann", limit=2)] == ["a", "b"]


BAD: list[tuple[dict[str, Any], str]] = [
    ({"depth": 0}, "depth"),
    ({"depth": 6}, "depth"),
    ({"depth": 1.0}, "depth"),
    ({"depth": True}, "depth"),
    ({"limit": 0}, "limit"),
    ({"limit": 1001}, "limit"),
    ({"direction": "up"}, "direction"),
    ({"direction": None}, "direction"),
    ({"relation_types": []}, "relation_types"),
    ({"relation_types": 5}, "relation_types"),
    ({"relation_types": ["supports", 5]}, "relation_types[1]"),
    ({"entity_types": [""]}, "entity_types[0]"),
    ({"entity_types": {"person": 1}}, "entity_types"),
    ({"as_of": "2026-01-01"}, "as_of"),
    ({"start": ""}, "start"),
    ({"start": None}, "start"),
    ({"start": "x" * 201}, "start"),
]


@pytest.mark.parametrize(
    ("asked", "field"), BAD, ids=[f"{i}-{bad[1]}" for i, bad in enumerate(BAD)]
)
def test_a_bad_question_is_named(memory: Memory, asked: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as told:
        memory.graph.traverse(**{"start": "a", "user": "ann", **asked})
    assert told.value.field == field


def test_as_of_sees_what_held_then(memory: Memory) -> None:
    write(memory, "a supports b", at=NOON - 10 * DAY)
    write(memory, "a supports c", at=NOON - 5 * DAY)
    write(memory, "a supports d")
    assert names(found(memory, "a", as_of=NOON - 7 * DAY)) == ["a", "b"]
    assert names(found(memory, "a", as_of=NOON - 5 * DAY)) == ["a", "b", "c"]
    assert names(found(memory, "a", as_of=(NOON + DAY).isoformat())) == ["a", "b", "c", "d"]
    assert found(memory, "a", as_of=NOON - 20 * DAY) == Subgraph()


def test_an_edge_that_ended_is_seen_in_its_time_alone(memory: Memory) -> None:
    (edge,) = write(memory, "a supports b", at=NOON - 10 * DAY)
    ends = a_fact(60, valid_from=NOON - 4 * DAY, supersedes=(edge,))
    memory.store.put(ANN, [ends], known_at=NOON - DAY, steps=[])
    assert names(found(memory, "a")) == ["a"]
    assert names(found(memory, "a", as_of=NOON - 5 * DAY)) == ["a", "b"]
    assert names(found(memory, "a", as_of=NOON - 3 * DAY)) == ["a"]
    # Told again, it begins again; what ended stays ended.
    (again,) = write(memory, "a supports b")
    assert again != edge
    assert names(found(memory, "a")) == ["a", "b"]
    assert names(found(memory, "a", as_of=NOON - 3 * DAY)) == ["a"]


def test_other_owners_are_not_seen_and_do_not_count(memory: Memory) -> None:
    write(memory, "a supports b")
    alone = found(memory, "a"), memory.graph.entities(user="ann")
    write(memory, "a supports c", "b supports d", user="eve")
    write(memory, "a supports e", "b supports f", workspace="other")
    assert (found(memory, "a"), memory.graph.entities(user="ann")) == alone
    assert names(found(memory, "a", user="eve")) == ["a", "c"]
    assert names(found(memory, "a", workspace="other")) == ["a", "e"]
    receipt = memory.graph.write([{"name": "c", "type": "person"}], user="ann")
    assert (receipt.created, receipt.reinforced) == (1, 0)


def test_agents_see_their_own_and_what_is_nobodys(memory: Memory) -> None:
    write(memory, "a supports b")
    write(memory, "b supports c", agent="bot")
    assert names(found(memory, "a")) == ["a", "b", "c"]
    assert names(found(memory, "a", agent="bot")) == ["a", "b", "c"]
    assert names(found(memory, "a", agent="other")) == ["a", "b"]
    assert [n.name for n in memory.graph.entities(user="ann", agent="other")] == ["a", "b"]
    # What two have told is no longer one's own.
    write(memory, "b supports c", agent="other")
    memory.graph.write([{"name": "c", "type": "concept"}], user="ann", agent="other")
    assert names(found(memory, "a", agent="other")) == ["a", "b", "c"]
    assert names(found(memory, "a", agent="bot")) == ["a", "b", "c"]


def test_a_forgotten_edge_is_gone_until_it_is_restored(memory: Memory) -> None:
    first, second = write(memory, "a supports b", "b supports c")
    found(memory, "a")
    memory.forget(second, user="ann")
    assert names(found(memory, "a")) == ["a", "b"]
    memory.restore(second, user="ann")
    assert names(found(memory, "a")) == ["a", "b", "c"]
    memory.forget(first, user="ann")
    memory.store.wipe(forgotten_before=NOON + DAY)
    assert names(found(memory, "a")) == ["a"]


def test_a_forgotten_entity_is_gone_with_its_edges_until_it_is_restored(memory: Memory) -> None:
    write(memory, "a supports b", "b supports c")
    before = found(memory, "a")
    memory.forget(before.nodes[1].id, user="ann")
    assert names(found(memory, "a")) == ["a"]
    assert found(memory, "b") == Subgraph()
    assert [n.name for n in memory.graph.entities(user="ann")] == ["a", "c"]
    memory.restore(before.nodes[1].id, user="ann")
    assert found(memory, "a") == before


def test_a_graph_follows_what_other_processes_write(memory: Memory) -> None:
    write(memory, "a supports b")
    other = Graphs(memory.store)
    seen = other.of(ANN)
    assert other.of(ANN) is seen
    memory.remember("Something else.", user="ann")
    assert other.of(ANN) is seen
    write(memory, "b supports c")
    assert [entity.name for entity in other.of(ANN).entities] == ["a", "b", "c"]


def test_the_graph_survives_an_export_and_an_import(memory: Memory, tmp_path: Path) -> None:
    memory.graph.write(
        [{"name": "Lisbon", "type": "city", "aliases": ["Lisboa"], "summary": "A city."}],
        user="ann",
    )
    write(memory, "Ann lives_in Lisboa 0.6", "Lisbon part_of Portugal", at=NOON - DAY)
    out = io.BytesIO()
    export_to(memory.store, out)
    with holdfast.open(
        tmp_path / "copy.db", embedder=HashEmbedder(16), worker=False, clock=lambda: NOON
    ) as copy:
        done = import_from(copy, io.BytesIO(out.getvalue()))
        assert (done.failed, done.problems) == (0, [])
        assert found(copy, "Ann") == found(memory, "Ann")
        assert copy.graph.entities(user="ann") == memory.graph.entities(user="ann")
        write(copy, "Ann lives_in Lisbon")
        assert len(found(copy, "Ann").edges) == 2


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"name": 5, "type": "person"},
        {"name": "x", "type": "nothing of ours"},
        {"name": "x", "type": "person", "aliases": 7, "subtype": [], "summary": {}},
        {"source": 1, "target": 2, "type": "supports"},
        {"source": "x", "target": "y", "type": "supports", "original": 9},
    ],
)
@pytest.mark.parametrize("kind", ["entity", "relation", "something"])
def test_a_record_that_we_did_not_write_breaks_nothing(
    memory: Memory, data: dict[str, Any], kind: str
) -> None:
    write(memory, "Ann supports b")
    odd = a_fact(70, tier="graph", kind=kind, data=data)
    memory.store.put(ANN, [odd], known_at=NOON, steps=[])
    assert names(found(memory, "Ann")) == ["Ann", "b"]
    assert memory.recall("What of Ann?", user="ann")
