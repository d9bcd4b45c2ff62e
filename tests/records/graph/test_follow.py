"""The graph in memory follows the store: names, joined entities, and when it may lag behind."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.records.graph.adjacency import Adjacency
from holdfast.records.graph.follow import Graphs
from tests.records.graph.hearing import ANN, Heard


@pytest.fixture
def heard(tmp_path: Path) -> Iterator[Heard]:
    made = Heard(tmp_path / "m.db")
    with made.memory:
        yield made


@pytest.fixture
def patient(heard: Heard, monkeypatch: pytest.MonkeyPatch) -> Graphs:
    """Graphs that never lose their patience by themselves."""
    monkeypatch.setattr("holdfast.records.graph.follow._PATIENCE", 1e9)
    monkeypatch.setattr("holdfast.records.graph.follow._QUICK", 0.0)
    return Graphs(heard.memory.store)


def names(graph: Adjacency) -> set[str]:
    return {each.name for each in graph.entities}


def known(graphs: Graphs) -> dict[str, set[str]]:
    """What a resolver knows: ids and all names."""
    names = graphs.resolver(ANN)
    found = {each: names.name(each) for each in names}
    return {each: {name.text, *name.aliases} for each, name in found.items() if name}


def test_a_resolver_knows_joined_entities_as_one(heard: Heard) -> None:
    heard.hear("Bob Smith: person")
    heard.hear("Bob: person")
    names = Graphs(heard.memory.store).resolver(ANN)
    (bob,) = heard.memory.graph.entities(user="ann")
    assert names.resolve("Robert Smith", "person").id == bob.id
    assert names.resolve("Bob Jones", "person").id is None
    assert names.resolve("Bob", "person").id == bob.id
    assert len(names) == 1


def test_a_resolver_follows_whatever_happens(heard: Heard) -> None:
    """Random writes, merges, unmerges, forgettings: always as one that was made anew."""
    chance = random.Random(7)
    graphs, graph = Graphs(heard.memory.store), heard.memory.graph
    first = graphs.resolver(ANN)
    words = ["Ash", "Birch", "Cedar", "Dogwood", "Elm", "Fir", "Gum", "Hazel"]
    hidden: list[str] = []
    for step in range(80):
        nodes = graph.entities(user="ann")
        merges = graph.merges(user="ann")
        act = chance.choice(["write", "merge", "merge", "unmerge", "forget", "restore"])
        if act == "write" or len(nodes) < 4:
            name = " ".join(chance.sample(words, 2))
            alias = f"{name} {chance.choice('xyz')}"
            graph.write([{"name": name, "type": "team", "aliases": [alias]}], user="ann")
        elif act == "merge":
            a, b = chance.sample(nodes, 2)
            graph.merge(a.id, b.id, user="ann")
        elif act == "unmerge" and merges:
            graph.unmerge(chance.choice(merges).id, user="ann")
        elif act == "forget":
            hidden.append(chance.choice(nodes).id)
            heard.memory.forget(hidden[-1], user="ann")
        elif act == "restore" and hidden:
            heard.memory.restore(hidden.pop(), user="ann")
        if step % 3 == 0:
            assert known(graphs) == known(Graphs(heard.memory.store)), step
    assert graphs.resolver(ANN) is first
    assert len(known(graphs)) > 3


def test_a_patient_reader_does_without_what_was_just_heard(heard: Heard, patient: Graphs) -> None:
    heard.hear("Bob Smith: person")
    first = patient.of(ANN, patient=True)
    heard.hear("Acme: company", "Bob: person", "Bob supports Acme")
    assert patient.of(ANN, patient=True) is first
    # Who does not wait sees it, and so does everybody from then on.
    now = patient.of(ANN)
    assert names(now) == {"Bob Smith", "Acme"}
    assert patient.of(ANN, patient=True) is now
    heard.memory.graph.write([{"name": "Oslo", "type": "city"}], user="ann")
    latest = patient.of(ANN, patient=True)
    assert "Oslo" in names(latest)
    # What was written is heard of again: nothing but its turns changes.
    heard.hear("Oslo: city")
    assert patient.of(ANN, patient=True) is latest


def test_whoever_is_impatient_for_a_reason_gets_it_at_once(heard: Heard, patient: Graphs) -> None:
    memory = heard.memory
    turn = heard.hear("Bob Smith: person", "Ann Jones: person", "Acme: company")
    heard.hear("Bob: person", "Bob supports Acme")
    assert names(patient.of(ANN, patient=True)) == {"Bob Smith", "Ann Jones", "Acme"}
    (merge,) = memory.graph.merges(user="ann")
    memory.graph.unmerge(merge.id, user="ann")
    assert "Bob" in names(patient.of(ANN, patient=True))
    memory.graph.merge("Bob", "Ann Jones", user="ann")
    assert "Bob" not in names(patient.of(ANN, patient=True))
    memory.forget(turn, user="ann")
    assert "Ann Jones" not in names(patient.of(ANN, patient=True))
    memory.restore(turn, user="ann")
    assert "Ann Jones" in names(patient.of(ANN, patient=True))
    # Heard together with something else, it is not waited for either.
    heard.hear("Zoe: person")
    memory.forget(memory.graph.traverse("Bob", user="ann").edges[0].id, user="ann")
    found = patient.of(ANN, patient=True)
    assert "Zoe" in names(found)
    assert not len(found.edge_ids)


@pytest.mark.parametrize(("patience", "quick"), [(0, 0.0), (1e9, 60.0)])
def test_patience_ends_and_what_is_quick_needs_none(
    heard: Heard, monkeypatch: pytest.MonkeyPatch, patience: float, quick: float
) -> None:
    monkeypatch.setattr("holdfast.records.graph.follow._PATIENCE", patience)
    monkeypatch.setattr("holdfast.records.graph.follow._QUICK", quick)
    graphs = Graphs(heard.memory.store)
    heard.hear("Bob: person")
    graphs.of(ANN, patient=True)
    heard.hear("Acme: company")
    assert names(graphs.of(ANN, patient=True)) == {"Bob", "Acme"}
