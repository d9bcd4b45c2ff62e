"""What was heard in turns: records, sources, likeness, what is not learned again."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

import holdfast
from holdfast.errors import NotFound
from holdfast.records.graph.plan import record_again
from holdfast.records.graph.resolve import Resolver
from holdfast.records.graph.walk import entities_in
from holdfast.testing import HashEmbedder
from holdfast.types import Node, Record, Scope
from tests.records.graph.hearing import ANN, DAY, Heard, entity, relation


@pytest.fixture
def heard(tmp_path: Path) -> Iterator[Heard]:
    made = Heard(tmp_path / "m.db")
    with made.memory:
        yield made


def stored(heard: Heard, kind: str) -> dict[str, Record]:
    found = heard.memory.store.listed(ANN, tier="graph", kind=kind, current=False)
    return {record.content: record for record in found}


def test_what_is_heard_is_no_document_and_knows_its_turns(heard: Heard) -> None:
    first = heard.hear("Zebra: concept", "Zebra supports Quagga", text="Stripes!")
    second = heard.hear("Zebra: concept", text="More stripes!")
    zebra = stored(heard, "entity")["Zebra (concept)"]
    assert (zebra.data["heard"], zebra.sources, zebra.origin) == (True, (first, second), "user")
    assert stored(heard, "relation")["Zebra supports Quagga"].sources == (first,)
    assert {hit.tier for hit in heard.memory.recall("zebra quagga", user="ann")} <= {"session"}
    (_, node) = heard.memory.graph.entities(user="ann")
    assert (node.sources, node.importance) == ((first, second), 0.5)
    assert all(finding.ok for finding in heard.memory.check())


def test_the_same_turns_again_change_nothing(heard: Heard) -> None:
    turn = heard.turn()
    things = [
        entity("Bob Smith: person", turn, aliases=("Smithy",), importance=0.7),
        entity("Bob: person", turn),
        entity("Acme: company", turn, summary="A firm."),
    ]
    claims = [
        relation("Bob supports Acme", turn, confidence=0.6, at=heard.now - DAY),
        relation("Bob livesIn Oslo", turn),
    ]
    heard.learn(things, claims)
    before = heard.memory.store.listed(ANN, tier="graph", current=False)
    head = heard.memory.store.head(ANN)
    heard.later()
    planned = heard.plan(things, claims)
    by_id = {record.id: record for record in before}
    assert not [each for each in planned if each.record.kind == "merge"]
    assert {each.record.id for each in planned} <= by_id.keys()
    for each in planned:
        record = by_id[each.record.id]
        assert each.before == record
        for told in ("kind", "content", "data", "confidence", "importance", "valid_from", "origin"):
            assert getattr(each.record, told) == getattr(record, told), told
        assert set(each.record.sources) <= set(record.sources)
    heard.turn()
    moved = heard.memory.store.head(ANN)
    assert heard.learn(things, claims) == 1
    assert heard.memory.store.listed(ANN, tier="graph", current=False) == before
    assert (heard.memory.store.head(ANN), moved.epoch) == (moved, head.epoch)


def test_two_processes_make_the_same(heard: Heard, tmp_path: Path) -> None:
    other = Heard(tmp_path / "other.db")
    with other.memory:
        for each in (heard, other):
            each.hear("Bob Smith: person", "Bob supports Acme")
        told = [
            {(r.id, r.content, str(r.data)) for r in each.memory.store.listed(ANN, tier="graph")}
            for each in (heard, other)
        ]
    assert told[0] == told[1]
    assert len(told[0]) == 5


def test_a_name_by_likeness_is_a_merge_with_its_evidence(heard: Heard) -> None:
    heard.hear("Bob Smith: person")
    turn = heard.hear("Bob: person")
    (bob,) = heard.memory.graph.entities(user="ann")
    assert (bob.name, bob.aliases, len(bob.sources)) == ("Bob Smith", ("Bob",), 2)
    (merge,) = heard.memory.graph.merges(user="ann")
    assert (merge.into_name, merge.merged_name, merge.score) == ("Bob Smith", "Bob", 0.85)
    assert merge.evidence == ("given name", "nobody else is called so")
    assert stored(heard, "merge")["Bob is Bob Smith"].sources == (turn,)


def test_within_one_call_names_are_weighed_whatever_their_order(heard: Heard) -> None:
    heard.hear("Bob: person", "Bob Smith: person")
    assert heard.names() == ["Bob Smith"]
    heard.hear("Eve: person", "Eve Stone: person", "Eve Brook: person")
    assert sorted(heard.names()) == ["Bob Smith", "Eve", "Eve Brook", "Eve Stone"]


def test_an_ambiguous_name_is_its_own_unless_one_is_near(heard: Heard) -> None:
    heard.hear("Bob Smith: person", "Bob Jones: person", "Eva Smith: person", "Eva Jones: person")
    heard.hear("Bob: person")
    assert "Bob" in heard.names()
    heard.hear("Eva: person", "Eva Jones: person")
    assert "Eva" not in heard.names()
    (merge,) = heard.memory.graph.merges(user="ann")
    assert (merge.into_name, merge.evidence[-1]) == ("Eva Jones", "spoken of nearby")
    # A Bob who may be either is not a third one.
    heard.hear("Bob Brown: person")
    assert {"Bob", "Bob Brown", "Bob Smith", "Bob Jones"} <= set(heard.names())


def test_who_is_spoken_of_in_the_same_turns_is_near(heard: Heard) -> None:
    heard.hear("Bob Smith: person", "Bob Jones: person")
    heard.hear("Bob: person", "Bob Jones: person")
    (merge,) = heard.memory.graph.merges(user="ann")
    assert (merge.into_name, merge.merged_name) == ("Bob Jones", "Bob")


def test_versions_never_meet(heard: Heard) -> None:
    heard.hear("GPT-4: concept", "GPT-5: concept")
    heard.hear("GPT 4.5: concept")
    assert len(heard.names()) == 3
    assert heard.memory.graph.merges(user="ann", undone=True) == []


def test_heard_aliases_are_weighed_and_written_ones_are_believed(heard: Heard) -> None:
    heard.memory.graph.write([{"name": "Falcons", "type": "team"}], user="ann")
    turn = heard.turn()
    heard.learn([entity("Sunday Side: team", turn, aliases=("Falcons",))])
    (merge,) = heard.memory.graph.merges(user="ann")
    assert (merge.merged_name, merge.into_name) == ("Falcons", "Sunday Side")
    heard.memory.graph.unmerge(merge.id, user="ann")
    assert heard.names() == ["Falcons", "Sunday Side"]
    heard.memory.graph.write(
        [{"name": "Birds", "type": "team", "aliases": ["Falcons"]}], user="ann"
    )
    assert heard.names() == ["Falcons", "Sunday Side"]


def test_what_was_written_stays_as_written_and_gains_turns(heard: Heard) -> None:
    memory = heard.memory
    given = {"name": "Acme", "type": "concept", "summary": "Written."}
    edge = {"source": "Acme", "type": "supports", "target": "Peace", "confidence": 0.4}
    memory.graph.write([given], [edge], user="ann", origin="agent")
    memory.drain()
    before = {r.id: r for r in memory.store.listed(ANN, tier="graph")}
    heard.later()
    turn = heard.turn()
    heard.learn(
        [entity("Acme: company", turn, aliases=("ACM",), summary="Heard.", importance=0.9)],
        [relation("Acme supports Peace", turn, confidence=1.0)],
    )
    told = {r.id: r for r in memory.store.listed(ANN, tier="graph")}
    assert told.keys() == before.keys()
    gained = [each for each in told if told[each].sources]
    assert {told[each].content for each in gained} == {
        "Acme (concept): Written.", "Acme supports Peace",
    }  # fmt: skip
    for each in gained:
        assert (told[each].sources, told[each].seen_at) == ((turn,), heard.now)
        for same in ("content", "data", "confidence", "importance", "origin", "valid_from"):
            assert getattr(told[each], same) == getattr(before[each], same), same
    assert "Acme (concept): Written." in [h.content for h in memory.recall("acme", user="ann")]


def test_what_is_written_of_something_heard_makes_it_a_document(heard: Heard) -> None:
    turn = heard.hear("Zebra: concept", "Zebra supports Quagga")
    receipt = heard.memory.graph.write(
        [{"name": "Zebra", "type": "concept", "summary": "Striped."}], user="ann"
    )
    assert (receipt.created, receipt.reinforced) == (0, 1)
    zebra = stored(heard, "entity")["Zebra (concept): Striped."]
    assert (zebra.data.get("heard"), zebra.sources) == (None, (turn,))
    assert zebra.content in [hit.content for hit in heard.memory.recall("zebra", user="ann")]
    assert all(finding.ok for finding in heard.memory.check())


def test_a_better_type_and_more_importance_win(heard: Heard) -> None:
    turn = heard.turn()
    heard.learn([entity("Acme:", turn, importance=0.2)])
    heard.turn()
    heard.learn([entity("Acme: company", turn, importance=0.1)])
    (node,) = heard.memory.graph.entities(user="ann")
    assert (node.type, node.subtype, node.importance) == ("organization", "company", 0.2)
    heard.turn()
    heard.learn([entity("Acme: person", turn, importance=0.9)])
    (node,) = heard.memory.graph.entities(user="ann")
    assert (node.type, node.importance) == ("organization", 0.9)


def test_the_least_trusted_word_decides(heard: Heard) -> None:
    turn = heard.turn()
    heard.learn([entity("Acme:", turn, origin="user"), entity("ACME: company", turn, origin="web")])
    assert heard.memory.graph.entities(user="ann")[0].origin == "web"


@pytest.mark.parametrize("wiped", [False, True])
def test_what_was_forgotten_is_not_learned_again_from_old_turns(heard: Heard, wiped: bool) -> None:
    memory = heard.memory
    old = heard.turn()
    things, claims = [entity("Bob: person", old)], [relation("Bob supports Acme", old)]
    heard.learn(things, claims)
    (bob,) = [node.id for node in memory.graph.entities(user="ann") if node.name == "Bob"]
    heard.later()
    memory.forget(bob, user="ann")
    if wiped:
        memory.store.wipe(forgotten_before=heard.now + DAY)
    heard.later()
    heard.turn("Anything.")
    heard.learn(things, claims)
    assert heard.names() == ["Acme"]
    # A new turn begins it anew, without what was said of it before.
    new = heard.hear("Bob: person", "Bob supports Peace")
    (again,) = [node for node in memory.graph.entities(user="ann") if node.name == "Bob"]
    assert (again.id != bob, again.sources) == (True, (new,))
    heard.turn("Anything.")
    heard.learn(things, claims)
    around = memory.graph.traverse("Bob", user="ann")
    assert [edge.content for edge in around.edges] == ["Bob supports Peace"]
    assert around.nodes[0].sources == (new,)


def test_a_forgotten_edge_is_not_learned_again_from_old_turns(heard: Heard) -> None:
    memory = heard.memory
    old = heard.hear("Bob supports Acme")
    (edge,) = memory.graph.traverse("Bob", user="ann").edges
    heard.later()
    memory.forget(edge.id, user="ann")
    heard.later()
    heard.turn()
    heard.learn((), [relation("Bob supports Acme", old)])
    assert memory.graph.traverse("Bob", user="ann").edges == ()
    new = heard.turn()
    heard.learn((), [relation("Bob supports Acme", old, new)])
    (again,) = memory.graph.traverse("Bob", user="ann").edges
    assert again.sources == (new,)


def test_with_its_turns_goes_what_was_heard_and_comes_back(heard: Heard) -> None:
    memory = heard.memory
    heard.hear("Bob Smith: person")
    turn = heard.hear("Bob: person", "Bob supports Acme")
    before = memory.graph.entities(user="ann"), memory.graph.traverse("Bob", user="ann")
    memory.forget(turn, user="ann")
    assert heard.names() == ["Bob Smith"]
    assert memory.graph.merges(user="ann") == []
    memory.restore(turn, user="ann")
    assert (memory.graph.entities(user="ann"), memory.graph.traverse("Bob", user="ann")) == before


def test_an_undone_merge_is_never_made_again(heard: Heard) -> None:
    heard.hear("Bob Smith: person")
    heard.hear("Bob: person")
    (merge,) = heard.memory.graph.merges(user="ann")
    heard.memory.graph.unmerge(merge.id, user="ann")
    heard.hear("Bob: person")
    assert heard.names() == ["Bob", "Bob Smith"]
    # Nor when the entity had gone with its turns meanwhile.
    for turn in stored(heard, "entity")["Bob (person)"].sources:
        heard.memory.forget(turn, user="ann")
    assert heard.names() == ["Bob Smith"]
    heard.hear("Bob: person")
    assert sorted(heard.names()) == ["Bob", "Bob Smith"]


def test_agents_hear_for_themselves(heard: Heard) -> None:
    heard.hear("Bob Smith: person", agent="bot")
    assert heard.names(agent="other") == []
    # What another agent keeps to itself is not given away by a like name.
    heard.hear("Bob: person", agent="other")
    assert heard.names(agent="other") == ["Bob"]
    assert heard.names(agent="bot") == ["Bob Smith"]
    assert sorted(heard.names()) == ["Bob", "Bob Smith"]
    # What two have told is nobody's own.
    heard.hear("Bob Smith: person", agent="other")
    assert "Bob Smith" in heard.names(agent="third")


def test_a_merge_is_seen_by_those_who_see_both(heard: Heard) -> None:
    heard.hear("Bob Smith: person", agent="bot")
    heard.hear("Bob: person", agent="bot")
    graph = heard.memory.graph
    (merge,) = graph.merges(user="ann", agent="bot")
    assert graph.merges(user="ann") == [merge]
    assert graph.merges(user="ann", agent="other") == []
    with pytest.raises(NotFound):
        graph.unmerge(merge.id, user="ann", agent="other")
    assert graph.merges(user="eve") == []


def test_nothing_heard_finishes_the_jobs(heard: Heard) -> None:
    heard.turn()
    assert heard.learn() == 1
    assert heard.memory.store.counts(steps=["extract"]).ready == 0


def test_who_a_text_speaks_of(heard: Heard) -> None:
    heard.hear("Bob Smith: person", "Acme: company", "Oslo: city")
    heard.hear("Bob: person")
    graph = heard.graphs.of(ANN)
    named = entities_in(graph, "Bob's view of Oslo", agent=None, now=heard.now, limit=2)
    assert {node.name for node in named} == {"Bob Smith", "Oslo"}
    assert len(entities_in(graph, "nobody", agent=None, now=heard.now, limit=9)) == 3
    assert "bob" in graph.called
    assert "eve" not in graph.called


def test_what_is_heard_all_the_time_keeps_a_bounded_list_of_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.records.graph.plan._MOST_SOURCES", 3)
    heard = Heard(tmp_path / "heard.db")
    with heard.memory:
        turns = [heard.hear("Bob: person") for _ in range(5)]

        def bob() -> Node:
            (found,) = heard.memory.graph.entities(user="ann")
            return found

        assert bob().sources == tuple(turns[:3])
        heard.later(2 * DAY)
        faded = bob().strength
        turns.append(heard.hear("Bob: person"))  # One a day, so that it does not fade.
        assert bob().sources == (*turns[:3], turns[-1])
        assert bob().strength > faded
        heard.hear("Bob: person")
        assert bob().sources == (*turns[:3], turns[-1])


def test_what_was_written_does_not_go_with_a_turn_that_spoke_of_it(tmp_path: Path) -> None:
    heard = Heard(tmp_path / "heard.db")
    with heard.memory as memory:
        memory.graph.write([{"name": "Acme", "summary": "written"}], user="ann", origin="user")
        first = heard.hear("Acme: organization")
        second = heard.hear("Bob: person")
        memory.graph.write([{"name": "Bob", "summary": "written, too"}], user="ann")
        for turn in (first, second):
            assert memory.forget(turn, user="ann")
        heard.later(40 * DAY)
        assert memory.store.wipe(forgotten_before=heard.now) == 2
        told = {node.name: node.summary for node in memory.graph.entities(user="ann")}
        assert told == {"Acme": "written", "Bob": "written, too"}
        assert all(finding.ok for finding in memory.check())


def test_no_process_overwrites_what_another_has_written(tmp_path: Path) -> None:
    path = tmp_path / "m.db"

    def write(number: int) -> None:
        with holdfast.open(path, worker=False, embedder=HashEmbedder(16)) as memory:
            for each in range(15):
                thing = {"name": "Acme", "aliases": [f"alias {number} {each}"]}
                memory.graph.write([thing], user="ann")

    with holdfast.open(path, worker=False, embedder=HashEmbedder(16)) as memory:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(write, range(4)))
        (acme,) = memory.graph.entities(user="ann")
        assert len(acme.aliases) == 60


def test_what_another_process_makes_while_a_plan_is_made_is_not_merged_with_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.db"
    with (
        holdfast.open(path, worker=False, embedder=HashEmbedder(16)) as one,
        holdfast.open(path, worker=False, embedder=HashEmbedder(16)) as other,
    ):
        graphs = one.graph._graphs
        names = graphs.resolver
        calls: list[Scope] = []

        def and_then(scope: Scope) -> Resolver:
            if not calls:  # The graph is read; only then the other process writes.
                calls.append(scope)
                other.graph.write([{"name": "Acme", "aliases": ["the other"]}], user="ann")
            return names(scope)

        monkeypatch.setattr(graphs, "resolver", and_then)
        one.graph.write([{"name": "Acme", "aliases": ["the one"]}], user="ann")
        (acme,) = one.graph.entities(user="ann")
        assert set(acme.aliases) == {"the one", "the other"}
        assert one.graph.merges(user="ann") == []


def test_likeness_tells_no_agent_what_another_keeps_to_itself(tmp_path: Path) -> None:
    heard = Heard(tmp_path / "heard.db")
    with heard.memory as memory:
        secret = {"name": "Bob Smith", "type": "person", "summary": "secret", "aliases": ["PS"]}
        memory.graph.write([secret], user="ann", agent="a")
        memory.graph.write([{"name": "Bob", "type": "person"}], user="ann")
        claim = {"source": "PS", "type": "supports", "target": "the plan"}
        memory.graph.write(relations=[claim], user="ann", agent="b")
        seen = memory.graph.overview(user="ann", agent="b")
        assert {node.name for node in seen.nodes} == {"Bob", "PS", "the plan"}
        assert {node.summary for node in seen.nodes} == {""}
        assert [edge.content for edge in seen.edges] == ["PS supports the plan"]


@pytest.mark.parametrize("since", ["not a date", "2020-01-01T00:00:00", 7])
def test_a_beginning_that_is_no_time_is_none(tmp_path: Path, since: object) -> None:
    heard = Heard(tmp_path / "heard.db")
    with heard.memory as memory:
        heard.hear("Bob supports Acme")
        (edge,) = memory.graph.overview(user="ann").edges
        (record,) = memory.store.get(ANN, [edge.id])
        odd = record_again(replace(record, data={**record.data, "since": since}))
        memory.store.put(ANN, [odd], known_at=heard.now, steps=[])
        heard.hear("Bob supports Acme")
        (edge,) = memory.graph.overview(user="ann").edges
        assert len(edge.sources) == 2


def test_the_user_is_joined_with_nobody_by_name(heard: Heard) -> None:
    heard.hear("ann: person", "Ann Berg: person", "Annie: person")
    assert sorted(heard.names()) == ["Ann Berg", "Annie", "ann"]
    heard.hear("Ann Holt: person")
    assert "ann" in heard.names()
    heard.memory.graph.write(entities=[{"name": "Ann Lund", "type": "person"}], user="ann")
    assert heard.memory.graph.merges(user="ann") == []
