"""`as_of` and `known_at` of the graph, its turns for each agent, merges by likeness."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from holdfast.errors import InvalidInput
from holdfast.testing.store_suite import NOON, a_fact
from holdfast.types import Record, Subgraph
from tests.records.graph.hearing import ANN, DAY, Heard, entity

HOUR = timedelta(hours=1)


@pytest.fixture
def heard(tmp_path: Path) -> Iterator[Heard]:
    made = Heard(tmp_path / "m.db")
    with made.memory:
        yield made


def write(heard: Heard, told: str, **given: Any) -> str:
    source, type, target = told.split()
    claim = {"source": source, "type": type, "target": target, **given}
    (edge,) = heard.memory.graph.write(relations=[claim], user="ann").edges
    return edge


def around(heard: Heard, start: str, **asked: Any) -> list[str]:
    return [node.name for node in heard.memory.graph.traverse(start, user="ann", **asked).nodes]


def seen(heard: Heard, **asked: Any) -> tuple[list[str], list[str]]:
    """The names and the edges of the overview."""
    found = heard.memory.graph.overview(user="ann", **asked)
    return sorted(node.name for node in found.nodes), sorted(e.content for e in found.edges)


def test_what_was_not_known_yet_is_left_out(heard: Heard) -> None:
    write(heard, "a supports b")
    heard.later()
    write(heard, "a supports c")
    assert around(heard, "a", known_at=NOON) == ["a", "b"]
    assert around(heard, "a", known_at=heard.now) == ["a", "b", "c"]
    assert heard.names(known_at=(NOON + HOUR).isoformat()) == ["a", "b"]
    assert seen(heard, known_at=NOON) == (["a", "b"], ["a supports b"])
    assert seen(heard) == (["a", "b", "c"], ["a supports b", "a supports c"])
    before = NOON - HOUR
    assert (heard.names(known_at=before), seen(heard, known_at=before)) == ([], ([], []))
    assert heard.memory.graph.traverse("a", user="ann", known_at=before) == Subgraph()


def test_an_end_that_was_learned_later_was_none_then(heard: Heard) -> None:
    edge = write(heard, "a supports b", at=NOON - 10 * DAY)
    learned = heard.later(2 * DAY)
    ends = a_fact(60, valid_from=NOON - 4 * DAY, supersedes=(edge,))
    heard.memory.store.put(ANN, [ends], known_at=learned, steps=[])
    assert around(heard, "a") == ["a"]
    assert around(heard, "a", known_at=NOON + DAY) == ["a", "b"]
    assert seen(heard)[1] == []
    assert seen(heard, known_at=NOON + DAY)[1] == ["a supports b"]
    # Both axes: on that day it had ended, which nobody knew.
    day = NOON - 3 * DAY
    assert around(heard, "a", as_of=day) == ["a"]
    assert seen(heard, as_of=day)[1] == []


def test_as_of_lists_what_was_there_then(heard: Heard) -> None:
    write(heard, "a supports b", at=NOON - 10 * DAY)
    write(heard, "c supports d", at=NOON - 5 * DAY)
    heard.memory.graph.write([{"name": "e", "type": "concept"}], user="ann")
    assert heard.names(as_of=NOON - 7 * DAY) == ["a", "b"]
    assert heard.names(as_of=NOON - 5 * DAY) == ["a", "b", "c", "d"]
    assert heard.names(as_of=NOON) == ["a", "b", "c", "d", "e"]
    assert seen(heard, as_of=NOON - 7 * DAY) == (["a", "b"], ["a supports b"])
    assert heard.names(as_of=NOON - 11 * DAY) == []


def test_an_edge_brings_both_of_its_ends_into_its_time(heard: Heard) -> None:
    heard.memory.graph.write([{"name": "a", "type": "concept"}], user="ann")
    heard.later()
    write(heard, "a supports b", at=NOON - 10 * DAY)  # a is known since NOON alone.
    assert heard.names(as_of=NOON - 7 * DAY) == ["a", "b"]
    assert seen(heard, as_of=NOON - 7 * DAY) == (["a", "b"], ["a supports b"])


@pytest.mark.parametrize("verb", ["entities", "overview"])
@pytest.mark.parametrize("field", ["as_of", "known_at"])
def test_a_time_that_is_none_is_named(heard: Heard, verb: str, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        getattr(heard.memory.graph, verb)(user="ann", **{field: "soon"})
    assert caught.value.field == field


def test_what_has_faded_is_walked_from_only_if_wanted(heard: Heard) -> None:
    write(heard, "a supports b")
    heard.later(400 * DAY)
    assert around(heard, "a") == []
    assert around(heard, "a", faded=True) == ["a", "b"]
    assert seen(heard) == ([], [])
    assert seen(heard, faded=True) == (["a", "b"], ["a supports b"])
    assert heard.names(faded=True) == ["a", "b"]


def test_an_agent_is_told_of_no_turn_of_another(heard: Heard) -> None:
    told = ("Bob: person", "Acme: organization", "Bob supports Acme")
    mine = heard.hear(*told, agent="a")
    theirs = heard.hear(*told, agent="b")
    nobodys = heard.hear(*told)
    graph = heard.memory.graph

    def turns(agent: str | None) -> list[set[str]]:
        walked = graph.traverse("Bob", user="ann", agent=agent)
        (edge,) = walked.edges
        (bob,) = [each for each in walked.nodes if each.name == "Bob"]
        (listed,) = [e for e in graph.entities(user="ann", agent=agent) if e.name == "Bob"]
        whole = graph.overview(user="ann", agent=agent)
        (first,) = [each for each in whole.nodes if each.name == "Bob"]
        (only,) = whole.edges
        return [set(each.sources) for each in (bob, edge, listed, first, only)]

    assert turns("a") == [{mine, nobodys}] * 5
    assert turns("b") == [{theirs, nobodys}] * 5
    assert turns("c") == [{nobodys}] * 5
    assert turns(None) == [{mine, theirs, nobodys}] * 5


def merge_of(heard: Heard) -> Record:
    (found,) = heard.memory.store.listed(ANN, tier="graph", kind="merge", current=False)
    return found


def test_a_merge_by_likeness_stays_while_a_turn_names_the_newcomer(heard: Heard) -> None:
    full = heard.hear("Bob Smith: person")
    first = heard.hear("Bob: person")
    second = heard.hear("Bob: person")
    heard.hear("Bob Smith: person")  # Says nothing of who is called Bob.
    assert merge_of(heard).sources == (first, second)
    heard.memory.forget(first, user="ann")
    assert heard.names() == ["Bob Smith"]
    heard.memory.forget(second, user="ann")
    assert heard.memory.graph.merges(user="ann") == []
    assert heard.names() == ["Bob Smith"]
    assert full in heard.memory.graph.entities(user="ann")[0].sources


def test_the_same_turn_again_supports_no_merge_twice(heard: Heard) -> None:
    heard.hear("Bob Smith: person")
    turn = heard.hear("Bob: person")
    before = heard.memory.store.head(ANN)
    planned = heard.plan([entity("Bob: person", turn)])
    assert {each.record.kind for each in planned} == {"entity"}
    assert heard.memory.store.head(ANN) == before


def test_a_merge_by_hand_or_undone_gains_no_turns(heard: Heard) -> None:
    heard.hear("Kim: person", "Acme: organization")
    heard.memory.graph.merge("Kim", "Acme", user="ann")
    heard.hear("Kim: person")
    assert merge_of(heard).sources == ()
    heard.hear("Bob Smith: person")
    turn = heard.hear("Bob: person")
    (likeness,) = [e for e in heard.memory.graph.merges(user="ann") if e.into_name == "Bob Smith"]
    heard.memory.graph.unmerge(likeness.id, user="ann")
    heard.hear("Bob: person")
    assert heard.memory.store.get(ANN, [likeness.id])[0].sources == (turn,)
