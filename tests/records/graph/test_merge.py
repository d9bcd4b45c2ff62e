"""Merges: who is one, what is shown of them, and that undoing one leaves nothing behind."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.errors import InvalidInput, NotFound, ScopeError
from holdfast.memory.memory import Memory
from holdfast.records.graph.adjacency import (
    Entity,
    Merging,
    Relation,
    Span,
    adjacency,
    merged_entity,
)
from holdfast.records.graph.walk import walk
from holdfast.store.protocols import FOREVER_US
from holdfast.testing import HashEmbedder
from holdfast.testing.store_suite import NOON, a_fact
from holdfast.types import Merge, Scope, Subgraph

ANN = Scope("default", "ann")
DAY = timedelta(days=1)
NAMES = ["Ash", "Birch Wood", "Cedar", "Dogwood Tree", "Elm", "Fir"]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with holdfast.open(
        tmp_path / "m.db", embedder=HashEmbedder(16), worker=False, clock=lambda: NOON
    ) as opened:
        yield opened


def write(memory: Memory, *relations: str, **given: Any) -> holdfast.types.GraphReceipt:
    """Relations as "Birch_Wood supports Elm 0.5"."""
    told: list[dict[str, Any]] = []
    for each in relations:
        source, type, target, *sure = (word.replace("_", " ") for word in each.split())
        told.append({"source": source, "type": type, "target": target})
        told[-1] |= {"confidence": float(sure[0])} if sure else {}
    return memory.graph.write(relations=told, user="ann", **given)


def found(memory: Memory, start: str, **asked: Any) -> Subgraph:
    return memory.graph.traverse(start, user="ann", **asked)


def names(memory: Memory, **asked: Any) -> list[str]:
    return [node.name for node in memory.graph.entities(user="ann", **asked)]


def whole(memory: Memory) -> dict[str, Any]:
    """Everything a caller can see of a graph."""
    seen: dict[str, Any] = {"entities": memory.graph.entities(user="ann")}
    for name in NAMES:
        for direction in ("out", "in", "both"):
            seen[name + direction] = found(memory, name, depth=4, direction=direction)
        seen[name + " then"] = found(memory, name, as_of=NOON - DAY)
    return seen


edge = st.tuples(
    st.sampled_from(range(len(NAMES))),
    st.sampled_from(["supports", "likes"]),
    st.sampled_from(range(len(NAMES))),
    st.sampled_from([0.3, 0.6, 0.9]),
    st.sampled_from([None, NOON - 2 * DAY]),
)
pair = st.tuples(st.integers(0, 5), st.integers(0, 5)).filter(lambda both: both[0] != both[1])


@pytest.mark.slow
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    edges=st.lists(edge, min_size=1, max_size=12),
    pairs=st.lists(pair, min_size=1, max_size=6),
    chance=st.randoms(use_true_random=False),
)
def test_undoing_merges_in_any_order_restores_the_graph(
    tmp_path_factory: pytest.TempPathFactory, edges: list[Any], pairs: list[Any], chance: Any
) -> None:
    path = tmp_path_factory.mktemp("merges") / "m.db"
    with holdfast.open(path, embedder=HashEmbedder(16), worker=False, clock=lambda: NOON) as memory:
        memory.graph.write(
            [{"name": name, "type": "concept", "aliases": [f"{name} too"]} for name in NAMES],
            [
                {"source": NAMES[a], "type": type, "target": NAMES[b], "confidence": sure, "at": at}
                for a, type, b, sure, at in edges
            ],
            user="ann",
        )
        records = memory.store.listed(ANN, tier="graph", current=False)
        ids = {node.name: node.id for node in memory.graph.entities(user="ann")}
        before = whole(memory)
        states = {frozenset[str](): before}
        made: list[Merge] = []
        for a, b in pairs:
            if found(memory, NAMES[a]).nodes[0] == found(memory, NAMES[b]).nodes[0]:
                continue
            made.append(memory.graph.merge(ids[NAMES[a]], NAMES[b], user="ann"))
            states[frozenset(each.id for each in made)] = whole(memory)
            assert len(memory.graph.entities(user="ann")) == len(NAMES) - len(made)
        left = {each.id for each in made}
        for each in chance.sample(made, len(made)):
            assert memory.graph.unmerge(each.id, user="ann").undone_at == NOON
            left.discard(each.id)
            if frozenset(left) in states:
                assert whole(memory) == states[frozenset(left)]
        assert whole(memory) == before
        # What was there is there as it was: a merge is a record of its own.
        after = memory.store.listed(ANN, tier="graph", current=False)
        assert [record for record in after if record.kind != "merge"] == records


def test_the_order_of_merges_does_not_matter() -> None:
    span = Span(0, FOREVER_US, 0, FOREVER_US, None)
    things = {
        f"{i:032x}": Entity(name, "concept", None, (), "", 1.0, "agent", span)
        for i, name in enumerate(NAMES)
    }
    ids = list(things)
    merges = [Merging(*ends, 1.0, (), span) for ends in ((ids[0], ids[3]), (ids[3], ids[5]))]
    one = adjacency(things, {}, dict(zip("ab", merges, strict=True)))
    other = adjacency(things, {}, dict(zip("ab", merges[::-1], strict=True)))
    assert (one.ids, one.entities, one.numbers) == (other.ids, other.entities, other.numbers)
    assert one.entities[0].name == "Dogwood Tree"
    assert one.members == {0: [ids[0], ids[3], ids[5]]}


def test_what_is_shown_of_several_that_are_one() -> None:
    def thing(name: str, known: int, **given: Any) -> tuple[str, Entity]:
        span = Span(5 + known, FOREVER_US, known, FOREVER_US, given.pop("agent", None))
        plain = Entity(name, "concept", None, (), "", 0.5, "agent", span, 0.5, (), known)
        return f"{known:032x}", plain._replace(**given)

    members = [
        thing("Bob", 1, aliases=("Bobby",), sources=("t1", "t2"), summary="Short."),
        thing("bob smith", 2, type="person", sources=("t2", "t3"), confidence=0.9, origin="web"),
        thing("Bob Smith", 3, type="place", importance=0.8, agent="bot"),
        thing("Robert", 4, aliases=("BOB",)),
    ]
    id, shown = merged_entity(members)
    assert (id, shown.name, shown.type) == (f"{2:032x}", "bob smith", "person")
    assert shown.aliases == ("Bob", "Bobby", "Robert")
    assert (shown.summary, shown.confidence, shown.importance) == ("Short.", 0.9, 0.8)
    assert (shown.origin, shown.sources, shown.seen_us) == ("web", ("t1", "t2", "t3"), 4)
    assert shown.span == Span(6, FOREVER_US, 1, FOREVER_US, None)
    assert merged_entity(members[2:3])[1].span.agent == "bot"


def test_edges_run_between_joined_entities_and_say_a_thing_once(memory: Memory) -> None:
    write(memory, "Ash supports Elm 0.4", "Cedar supports Elm 0.9", "Cedar likes Elm", "Ash in Fir")
    memory.graph.merge("Ash", "Cedar", user="ann")
    around = found(memory, "Ash")
    assert [node.name for node in around.nodes] == ["Cedar", "Elm", "Fir"]
    told = {(edge.content, edge.confidence) for edge in around.edges}
    assert told == {("Cedar supports Elm", 0.9), ("Cedar likes Elm", 0.8), ("Cedar in Fir", 0.8)}
    ids = {node.name: node.id for node in around.nodes}
    assert {edge.source for edge in around.edges} == {ids["Cedar"]}
    assert found(memory, "Cedar") == around
    assert found(memory, "elm", direction="in").paths == (("Elm", "← supports", "Cedar"),)


def test_an_edge_between_two_that_are_one_leads_nowhere(memory: Memory) -> None:
    write(memory, "Ash supports Cedar", "Elm likes Elm")
    merge = memory.graph.merge("Ash", "Cedar", user="ann")
    assert (len(found(memory, "Ash").nodes), found(memory, "Ash").edges) == (1, ())
    assert len(found(memory, "Elm").edges) == 1
    # Told again it is not new, and there when the merge is undone.
    assert write(memory, "Ash supports Cedar").created == 0
    memory.graph.unmerge(merge.id, user="ann")
    assert [edge.content for edge in found(memory, "Ash").edges] == ["Ash supports Cedar"]


def test_a_twin_that_others_may_not_see_hides_nothing(memory: Memory) -> None:
    write(memory, "Ash supports Elm 0.4", "Cedar supports Fir")
    write(memory, "Cedar supports Elm 0.9", agent="bot")
    memory.graph.merge("Ash", "Cedar", user="ann")
    sure = {edge.content: edge.confidence for edge in found(memory, "Elm", agent="other").edges}
    assert sure["Cedar supports Elm"] == 0.4
    sure = {edge.content: edge.confidence for edge in found(memory, "Elm", agent="bot").edges}
    assert sure["Cedar supports Elm"] == 0.9


def test_write_says_what_is_new_after_joining(memory: Memory) -> None:
    first = memory.graph.write(
        [{"name": "Bob Smith", "type": "person"}],
        [{"source": "Bob Smith", "type": "supports", "target": "Acme"}],
        user="ann",
    )
    again = memory.graph.write(
        [{"name": "Bob", "type": "person"}],
        [{"source": "Bob", "type": "supports", "target": "Acme"}],
        user="ann",
    )
    assert again.entities == first.entities[:1]
    assert (again.created, again.reinforced) == (0, 2)
    assert sorted(names(memory)) == ["Acme", "Bob Smith"]
    (edge,) = found(memory, "Bob").edges
    assert edge.id == first.edges[0]
    assert again.edges != first.edges
    # A fuller name is shown from then on.
    fuller = memory.graph.write([{"name": "Bob T. Smith", "type": "person"}], user="ann")
    assert (fuller.created, fuller.reinforced) == (0, 1)
    assert "Bob T. Smith" in names(memory)
    (node,) = memory.graph.entities(user="ann", type="person")
    assert (fuller.entities, node.aliases) == ((node.id,), ("Bob", "Bob Smith"))
    assert {version.action for version in memory.history(first.edges[0], user="ann")} == {"stored"}


def test_one_call_counts_one_entity_once(memory: Memory) -> None:
    receipt = memory.graph.write(
        [{"name": "Bob", "type": "person"}, {"name": "Bob Smith", "type": "person"}],
        [
            {"source": "Bob", "type": "likes", "target": "Bob Smith"},
            {"source": "Bob", "type": "likes", "target": "Tea"},
            {"source": "Bob Smith", "type": "likes", "target": "Tea"},
        ],
        user="ann",
    )
    assert receipt.entities[0] == receipt.entities[1]
    assert (len(receipt.entities), len(receipt.edges)) == (3, 3)
    # Bob, Tea, Bob likes Bob, Bob likes Tea.
    assert (receipt.created, receipt.reinforced) == (4, 0)


def test_merges_are_listed_newest_first_and_undone_if_wanted(memory: Memory) -> None:
    for name in NAMES[:4]:
        memory.graph.write([{"name": name, "type": "concept"}], user="ann")
    first = memory.graph.merge("ash", "Birch Wood", user="ann")
    assert (first.into_name, first.merged_name) == ("Birch Wood", "Ash")
    assert (first.score, first.evidence, first.at) == (1.0, ("by hand",), NOON)
    second = memory.graph.merge("Cedar", "Dogwood Tree", user="ann")
    assert {each.id for each in memory.graph.merges(user="ann")} == {first.id, second.id}
    assert len(memory.graph.merges(user="ann", limit=1)) == 1
    undone = memory.graph.unmerge(first.id, user="ann")
    assert undone.undone_at == NOON
    assert memory.graph.unmerge(first.id, user="ann") == undone
    assert memory.graph.merges(user="ann") == [second]
    assert undone in memory.graph.merges(user="ann", undone=True)
    # By hand it may be made again.
    assert memory.graph.merge("Ash", "Birch Wood", user="ann").id == first.id
    assert len(memory.graph.merges(user="ann")) == 2
    assert memory.drain().done == 4
    assert all(finding.ok for finding in memory.check())


def test_a_forgotten_merge_joins_nothing_and_may_be_made_by_hand(memory: Memory) -> None:
    memory.graph.write([{"name": name, "type": "concept"} for name in NAMES[:2]], user="ann")
    merge = memory.graph.merge("Ash", "Birch Wood", user="ann")
    memory.forget(merge.id, user="ann")
    assert names(memory) == NAMES[:2]
    assert memory.graph.merges(user="ann", undone=True) == []
    again = memory.graph.merge("Ash", "Birch Wood", user="ann")
    assert again.id != merge.id
    assert names(memory) == ["Birch Wood"]


def test_with_a_forgotten_entity_its_merge_rests(memory: Memory) -> None:
    write(memory, "Ash supports Elm", "Cedar supports Fir")
    merge = memory.graph.merge("Ash", "Cedar", user="ann")
    before = memory.graph.entities(user="ann"), found(memory, "Elm")
    memory.forget(merge.into, user="ann")
    assert sorted(names(memory)) == ["Ash", "Elm", "Fir"]
    assert memory.graph.merges(user="ann", undone=True) == []
    memory.restore(merge.into, user="ann")
    assert (memory.graph.entities(user="ann"), found(memory, "Elm")) == before


def test_bad_merges_are_told(memory: Memory) -> None:
    write(memory, "Ash supports Elm")
    (edge,) = found(memory, "Ash").edges
    with pytest.raises(NotFound, match="Nobody"):
        memory.graph.merge("Ash", "Nobody", user="ann")
    with pytest.raises(NotFound):
        memory.graph.merge("Ash", "Elm", user="eve")
    with pytest.raises(InvalidInput, match="one entity already"):
        memory.graph.merge("ash", "Ash", user="ann")
    for bad in ("", None, "x" * 201):
        with pytest.raises(InvalidInput) as told:
            memory.graph.merge("Ash", bad, user="ann")  # type: ignore[arg-type]
        assert told.value.field == "b"
    for unknown in ("0" * 32, edge.id, "no id"):
        with pytest.raises(NotFound):
            memory.graph.unmerge(unknown, user="ann")
    for call in (memory.graph.merges, lambda: memory.graph.merge("Ash", "Elm")):
        with pytest.raises(ScopeError):
            call()


@pytest.mark.parametrize(
    "data",
    [{}, {"a": 1, "b": 2}, {"a": "0" * 32, "b": "0" * 32}, {"a": "x", "b": "y", "score": []}],
)
def test_a_merge_that_we_did_not_write_breaks_nothing(memory: Memory, data: dict[str, Any]) -> None:
    write(memory, "Ash supports Elm")
    odd = a_fact(70, tier="graph", kind="merge", data=data)
    memory.store.put(ANN, [odd], known_at=NOON, steps=[])
    assert names(memory) == ["Ash", "Elm"]
    assert memory.graph.merges(user="ann", undone=True) == []


def test_twins_and_loops_in_a_walk() -> None:
    span = Span(0, FOREVER_US, 0, FOREVER_US, None)
    things = {n: Entity(n, "concept", None, (), "", 1.0, "agent", span) for n in ("a", "b", "c")}

    def claim(source: str, target: str, sure: float, given: str | None = None) -> Relation:
        return Relation(source, "related_to", target, given, sure, "agent", span)

    edges = [
        claim("a", "c", 0.2, "lives_in"), claim("b", "c", 0.7, "livesIn"), claim("a", "b", 0.9),
        claim("a", "a", 0.1), claim("b", "c", 0.3),
    ]  # fmt: skip
    relations = {f"{i:032x}": each for i, each in enumerate(edges)}
    graph = adjacency(things, relations, {"m": Merging("a", "b", 1.0, (), span)})
    around = walk(graph, [0], depth=3, most=10)
    assert sorted(graph.relations[each].confidence for each in around.edges) == [0.1, 0.3, 0.7]
    ((shown, others),) = around.also.items()
    assert [graph.relations[each].confidence for each in (shown, *others)] == [0.7, 0.2]
    assert len(graph.edge_numbers) == len(edges)
    assert adjacency(things, relations).twins is None
