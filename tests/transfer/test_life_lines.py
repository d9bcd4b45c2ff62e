"""What became of records, shares and trust travel with an export; no line of them is trusted."""

import io
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.memory.memory import Memory
from holdfast.records.entries import index_row
from holdfast.store.protocols import Share
from holdfast.testing import HashEmbedder
from holdfast.testing.store_suite import a_fact
from holdfast.transfer import Imported, export_to, import_from
from holdfast.types import TEAM, Record, Scope

Open = Callable[[str], Memory]
AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
ANN = Scope("default", "ann")
TIME = "2026-03-01T12:00:00.000000Z"
SHARE: dict[str, Any] = {
    "type": "share", "workspace": "default", "user": "ann", "id": "s1", "to": "team",
    "segments": ["graph"], "permission": "read", "created_at": TIME,
}  # fmt: skip
TRUST: dict[str, Any] = {
    "type": "trust", "workspace": "default", "agent": "a", "trust": 0.5, "at": TIME,
}  # fmt: skip
RECORD: dict[str, Any] = {
    "type": "record", "workspace": "default", "user": "ann", "id": "f" * 32, "tier": "fact",
    "kind": "context", "content": "Ann drinks tea.", "origin": "agent", "role": "user",
    "confidence": 0.5, "importance": 0.5, "sources": [], "valid_from": TIME, "known_from": TIME,
}  # fmt: skip
ACT: dict[str, Any] = {
    "type": "act", "workspace": "default", "user": "ann", "event": "f" * 32, "number": 1,
    "action": "archived", "at": TIME,
}  # fmt: skip


@pytest.fixture
def open_at(tmp_path: Path) -> Iterator[Open]:
    opened: list[Memory] = []

    def open_one(name: str) -> Memory:
        memory = holdfast.open(
            tmp_path / name,
            embedder=HashEmbedder(),
            worker=False,
            config={"extraction": {"enabled": False}},
        )
        opened.append(memory)
        return memory

    yield open_one
    for memory in opened:
        memory.close()


def exported(memory: Memory) -> bytes:
    out = io.BytesIO()
    export_to(memory.store, out)
    return out.getvalue()


def imported(memory: Memory, *lines: object) -> Imported:
    data = b"".join(
        each if isinstance(each, bytes) else json.dumps(each).encode() + b"\n" for each in lines
    )
    return import_from(memory, io.BytesIO(data))


def fill(memory: Memory) -> None:
    """Records of every fate, of a user and of the team."""
    store, steps = memory.store, memory.worker.steps
    turns = memory.remember([{"content": f"turn {n}"} for n in range(3)], user="ann").events
    scope = Scope("default", "ann", "bot")
    facts = [
        a_fact(50, turns[0], quiet=1),
        a_fact(51, visibility="agent_only", metadata={"page": 3}, kind="identity", origin="user"),
        a_fact(52, turns[1]),
        a_fact(53, turns[2], quiet=2, supersedes=(turns[2],)),
    ]
    store.put(scope, facts, known_at=AT, steps=steps)
    store.put(scope, [a_fact(54)], known_at=AT, steps=steps)
    store.put(scope, [a_fact(54, turns[0])], known_at=AT, steps=steps)
    touched = [turns[0], a_fact(50).id]
    store.touch(ANN, touched, at=datetime.now(UTC), action="used", strength=lambda _: 0.25)
    store.touch(ANN, touched, at=AT, action="praised", strength=lambda _: None)
    store.archive(ANN, [turns[1], a_fact(51).id], at=AT, reason="nobody asks: «it»")
    store.archive(ANN, [turns[1]], at=AT, undo=True)
    store.end(ANN, [a_fact(52).id], at=AT, valid_to=AT, reason="no")
    team = [a_fact(60, tier="workspace", kind="adr", metadata={"author": "bob"})]
    store.put(Scope("default", TEAM), team, known_at=AT, steps=steps)
    store.put_share(Share("s1", ANN, "team", ("graph", "profile"), "write", AT, AT, AT))
    store.set_agent_trust("default", "bot", 0.75, at=AT)
    memory.drain()


def test_the_life_of_records_travels(open_at: Open) -> None:
    memory, copy = open_at("a.db"), open_at("b.db")
    fill(memory)
    data = exported(memory)
    done = imported(copy, data)
    assert (done.failed, done.problems) == (0, [])
    assert (done.new["record"], done.new["share"], done.new["trust"]) == (6, 1, 1)
    assert exported(copy) == data
    assert [each.detail for each in copy.store.check(index_row) if not each.ok] == []
    for scope in memory.store.owners():
        for tier in ("fact", "session", "workspace"):
            both = [
                {record.id: record for record in each.store.listed(scope, tier=tier, archived=True)}
                for each in (memory, copy)
            ]
            assert both[0] == both[1]
    assert copy.store.shares() == memory.store.shares()
    again = imported(copy, data)
    assert (again.failed, sum(again.new.values())) == (0, 0)
    assert exported(copy) == data


def test_what_is_usual_takes_no_room(open_at: Open) -> None:
    memory = open_at("a.db")
    memory.remember("tea", user="ann")
    memory.store.put(ANN, [a_fact(50)], known_at=AT, steps=[])
    header, event, record = [json.loads(line) for line in exported(memory).splitlines()][:3]
    assert set(header) & {"share", "trust"} == set()
    new = {"quiet", "strength", "uses", "used_on", "archived_at", "seen_at", "written", "note"}
    assert new.isdisjoint(event)
    assert new.isdisjoint(record)


BAD = {
    "a strength without a time": RECORD | {"strength": 0.5},
    "a strength above 1": RECORD | {"strength": 1.5, "seen_at": TIME},
    "a strength that is none": RECORD | {"strength": True, "seen_at": TIME},
    "seen before it was known": RECORD | {"seen_at": "2026-02-01T00:00:00Z"},
    "too quiet": RECORD | {"quiet": 3},
    "quiet like a word": RECORD | {"quiet": "yes"},
    "used less than never": RECORD | {"uses": -1},
    "no day": RECORD | {"used_on": "tomorrow"},
    "a day that is a number": RECORD | {"used_on": 20},
    "seen by some": RECORD | {"visibility": "friends"},
    "written, perhaps": RECORD | {"written": 1},
    "metadata of the system": RECORD | {"metadata": {"fact_role": "instruction"}},
    "metadata that is a list": RECORD | {"metadata": [1]},
    "archived at no time": RECORD | {"archived_at": "soon"},
    "an identity that an agent claims": RECORD | {"kind": "identity"},
    "a constraint from the web": RECORD | {"kind": "constraint", "origin": "web"},
    "an act nobody knows": ACT | {"action": "burned"},
    "an act that stores": ACT | {"action": "stored"},
    "a note that is a number": ACT | {"note": 5},
    "a note without an end": ACT | {"note": "x" * 2001},
    "a share for nobody": SHARE | {"to": " "},
    "a share of everything": SHARE | {"segments": "all"},
    "a share of numbers": SHARE | {"segments": [1]},
    "a share of too much": SHARE | {"segments": ["graph"] * 101},
    "a share for the owner": SHARE | {"permission": "owner"},
    "a share without a beginning": SHARE | {"created_at": None},
    "a share with more": SHARE | {"secret": 1},
    "trust above 1": TRUST | {"trust": 2},
    "trust in nobody": TRUST | {"agent": ""},
    "trust that is a word": TRUST | {"trust": "much"},
    "trust of no workspace": TRUST | {"workspace": ""},
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_line_is_refused_and_the_others_are_stored(open_at: Open, what: str) -> None:
    memory = open_at("a.db")
    good = RECORD | {"id": "e" * 32}
    done = imported(memory, good, ACT | {"event": "e" * 32}, BAD[what])
    assert (done.failed, done.new["record"], done.new["act"]) == (1, 1, 1)
    assert memory.store.shares() == []
    assert memory.store.agent_trust("default") == {}


def test_good_lines_are_taken(open_at: Open) -> None:
    """The lines that the bad ones were made of."""
    memory = open_at("a.db")
    fine = RECORD | {
        "strength": 0.5,
        "seen_at": TIME,
        "quiet": 2,
        "used_on": "2026-03-01",
        "uses": 1,
    }
    done = imported(memory, fine, ACT, SHARE, TRUST)
    assert (done.failed, done.problems) == (0, [])
    (record,) = memory.store.listed(ANN, tier="fact", archived=True)
    assert (record.strength, record.quiet, record.archived_at) == (0.5, 2, AT)
    assert [share.id for share in memory.store.shares()] == ["s1"]


ACTS = st.lists(
    st.tuples(st.sampled_from(["used", "praised", "archive", "unarchive", "end", "reopen", "put",
                               "forget", "restore"]),
              st.integers(0, 3), st.integers(0, 40)),
    max_size=12,
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(acts=ACTS)
@example(acts=[("forget", 0, 0), ("restore", 3, 0)])
def test_any_life_travels(tmp_path_factory: pytest.TempPathFactory, acts: list[Any]) -> None:
    folder = tmp_path_factory.mktemp("life")
    config = {"extraction": {"enabled": False}}
    stores = [
        holdfast.open(folder / name, embedder=HashEmbedder(8), worker=False, config=config)
        for name in ("a.db", "b.db")
    ]
    try:
        memory, copy = stores
        live(memory, acts)
        data = exported(memory)
        assert imported(copy, data).failed == 0
        # Lines of what hides with one turn may come in another order: it says nothing, but the last
        # line is a seal over all in their order.
        again, before = (sorted(each.splitlines()[:-1]) for each in (exported(copy), data))
        assert again == before
        for each in stores:
            assert [found.detail for found in each.store.check(index_row) if not found.ok] == []
    finally:
        for each in stores:
            each.close()


def always(strength: float) -> Callable[[Record], float]:
    return lambda _: strength


def live(memory: Memory, acts: list[Any]) -> None:
    store = memory.store
    turn = memory.remember("tea", user="ann").events[0]
    first = [a_fact(50, turn), a_fact(51), a_fact(52, turn, quiet=2)]
    born = datetime.now(UTC)
    store.put(ANN, first, known_at=born, steps=memory.worker.steps)
    for action, which, days in acts:
        id, at = [turn, *(fact.id for fact in first)][which], born + timedelta(days=days)
        match action:
            case "used" | "praised":
                store.touch(ANN, [id], at=at, action=action, strength=always(days / 40))
            case "archive" | "unarchive":
                store.archive(ANN, [id], at=at, reason="x" * days, undo=action == "unarchive")
            case "reopen":
                store.end(ANN, [id], at=at, valid_to=None)
            case "end":
                store.end(ANN, [id], at=at, valid_to=at - timedelta(days=20), reason="")
            case "put" if which:
                store.put(ANN, [first[which - 1]], known_at=at, steps=memory.worker.steps)
            case "forget" | "restore":
                store.forget(ANN, [id], at=at, undo=action == "restore")
    memory.drain()


SHAPES = {
    "a slot that is a list": RECORD | {"data": {"slot": ["user:home"]}},
    "a day that is none": RECORD | {"data": {"due": "soon"}},
    "a question about nothing": RECORD | {"data": {"outcome": "clarify"}},
    "a conflict of a number": RECORD | {"kind": "conflict", "data": {"facts": 5}},
    "a conflict of nothing": RECORD | {"kind": "conflict", "data": {}},
    "a profile of objects": RECORD
    | {"tier": "profile", "kind": "nick", "origin": "user", "data": {"claim": "c", "values": [{}]}},
    "a profile without a claim": RECORD
    | {"tier": "profile", "kind": "nick", "origin": "user", "data": {"values": ["x"]}},
    "steps that are a number": RECORD
    | {"tier": "procedure", "kind": "workflow", "data": {"steps": 5}},
    "an entry under a number": RECORD
    | {"tier": "knowledge", "kind": "entry", "data": {"key": 5, "claim": "c"}},
}


@pytest.mark.parametrize("what", SHAPES)
def test_fields_that_no_verb_could_read_are_refused(open_at: Open, what: str) -> None:
    memory = open_at("a.db")
    done = imported(memory, SHAPES[what])
    assert (done.failed, done.new["record"]) == (1, 0)
    assert "data." in done.problems[0].reason


def test_everything_that_the_verbs_write_travels(open_at: Open) -> None:
    memory = open_at("a.db")
    memory.facts.add("I live in Paris.", user="ann", metadata={"a": 1})
    memory.facts.add("I live in Rome now.", user="ann")
    memory.facts.add("Maybe, I moved to Porto.", user="ann")
    memory.facts.add("I live in Oslo.", user="ann", agent="cook", origin="agent")
    memory.notes.add("We ship on Friday.", category="decision", user="ann")
    memory.profiles.set("nick", ["annie"], user="ann")
    memory.procedures.add("Release", steps=["Test.", "Tag."], tags=["ci"], user="ann")
    memory.knowledge.add("---\nlang: en\n---\n# A\n\nText.", name="a.md", user="ann")
    memory.knowledge.set("port", "3050", user="ann")
    memory.team.write("We use SQLite.", type="decision", title="Store", author="ann")
    data = exported(memory)
    copy = open_at("b.db")
    done = imported(copy, data)
    assert (done.failed, done.problems) == (0, [])
    assert sorted(exported(copy).splitlines()) == sorted(data.splitlines())
    assert copy.profile(user="ann").fields == memory.profile(user="ann").fields
    assert copy.procedures.list(user="ann") == memory.procedures.list(user="ann")
