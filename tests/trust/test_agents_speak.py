"""An agent that does not say whose word it brings speaks for itself: over every verb there is.

The table below names every verb of the catalogue that writes and takes an agent: a new one fails
the test until it is here.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

import holdfast
from holdfast.catalogue.verbs import ALL
from holdfast.errors import InvalidInput
from holdfast.memory.memory import Memory
from holdfast.service.http.app import create_app
from holdfast.service.keys import create_key
from holdfast.store.protocols import DumpedRecord
from holdfast.testing import HashEmbedder
from holdfast.types import Record

BY_USER = {"user", "user_confirmed"}
BOT: dict[str, Any] = {"user": "ann", "agent": "bot"}
Call = Callable[[Memory], object]


def a_note(memory: Memory) -> str:
    return memory.notes.add("Chose Postgres.", user="ann").id


def a_procedure(memory: Memory) -> str:
    return memory.procedures.add("Release", steps=["tag"], user="ann").id


def a_fact(memory: Memory, **more: Any) -> str:
    return memory.facts.add("Ann lives in Lisbon.", **{"user": "ann", **more}).id


def an_entry(memory: Memory, **more: Any) -> str:
    return memory.team.write("We ship on Fridays.", type="decision", **more).id


#: What an agent does with each verb, by its name in the catalogue.
WRITES: dict[str, Call] = {
    "facts.add": lambda m: m.facts.add("Ann must not eat nuts.", category="constraint", **BOT),
    "facts.update": lambda m: m.facts.update(a_fact(m, agent="bot"), "Ann lives in Porto.", **BOT),
    "notes.add": lambda m: m.notes.add("Always pay at once.", **BOT),
    "notes.update": lambda m: m.notes.update(a_note(m), "Chose SQLite.", **BOT),
    "procedures.add": lambda m: m.procedures.add("Pay", steps=["pay at once"], **BOT),
    "procedures.update": lambda m: m.procedures.update(a_procedure(m), steps=["push"], **BOT),
    "profiles.set": lambda m: m.profiles.set("location", "Lisbon", **BOT),
    "update": lambda m: m.update(a_note(m), "Chose SQLite.", **BOT),
    "team.write": lambda m: m.team.write("Pay at once.", type="decision", **BOT),
    "team.update": lambda m: m.team.update(an_entry(m, user="ann"), content="Pay.", agent="bot"),
    "graph.write": lambda m: m.graph.write(
        [{"name": "Ann", "type": "person"}, {"name": "Lisbon", "type": "place"}],
        [{"source": "Ann", "type": "lives in", "target": "Lisbon"}],
        **BOT,
    ),
    "observations.create": lambda m: m.observations.create(
        [{"name": "Ann", "type": "person", "observations": ["pays at once"]}], **BOT
    ),
    "observations.add": lambda m: (
        m.observations.create([{"name": "Ann", "type": "person", "observations": []}], **BOT),
        m.observations.add([{"entity": "Ann", "contents": ["pays at once"]}], **BOT),
    ),
    "batch": lambda m: m.batch([{"op": "remember", "messages": "x", "origin": "agent"}], **BOT),
    # What an agent heard is whose role it has: a transcript is not the agent's word.
    "remember": lambda m: m.remember([{"role": "assistant", "content": "Pay at once."}], **BOT),
}
#: These write no words of their own: they end, restore, count or sum up what is there.
WORDLESS = {
    "facts.answer", "facts.invalidate", "facts.resolve", "profiles.clear", "compact", "feedback",
    "graph.merge", "graph.unmerge", "observations.delete", "team.remove", "procedures.used",
    "agents.set_trust", "forget",
}  # fmt: skip


#: The words of the user that some of the calls begin with.
USERS_OWN = ("Chose Postgres.", "We ship on Fridays.", "Release\n1. tag")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with holdfast.open(tmp_path / "m.db", embedder=HashEmbedder(), worker=False) as memory:
        yield memory


def records(memory: Memory) -> dict[str, Record]:
    rows = memory.store.dump(vectors=False)
    return {row.record.id: row.record for row in rows if isinstance(row, DumpedRecord)}


def test_every_verb_that_takes_an_agent_is_in_the_table() -> None:
    takes = {
        verb.name
        for verb in ALL
        if verb.role != "read" and any(each.name == "agent" for each in verb.parameters)
    }
    assert takes == set(WRITES) | WORDLESS


def test_no_verb_that_takes_an_agent_is_the_users_word_by_default() -> None:
    for verb in ALL:
        defaults = {each.name: each for each in verb.parameters}
        if {"agent", "origin"} <= set(defaults):
            assert defaults["origin"].default in (None, "agent"), verb.name


@pytest.mark.parametrize("name", sorted(WRITES))
def test_what_an_agent_writes_is_its_own_word(memory: Memory, name: str) -> None:
    if name == "profiles.set":
        with pytest.raises(InvalidInput, match="origin"):
            WRITES[name](memory)
        return
    WRITES[name](memory)
    memory.drain()
    new = [each for each in records(memory).values() if each.content not in USERS_OWN]
    assert new or name in ("batch", "remember")
    for record in new:
        assert record.origin not in BY_USER, (record.kind, record.content)
        assert record.kind not in ("constraint", "identity", "instruction")


@pytest.mark.parametrize("origin", ["user", "user_confirmed"])
def test_an_agent_may_say_that_it_brings_the_users_word(memory: Memory, origin: str) -> None:
    fact = memory.facts.add("Ann must not eat nuts.", category="constraint", origin=origin, **BOT)
    assert (fact.origin, fact.category) == (origin, "constraint")
    assert memory.notes.add("Chose tea.", origin=origin, **BOT).origin == origin
    assert memory.profiles.set("location", "Lisbon", origin=origin, **BOT).value == "Lisbon"


def test_over_http_too(memory: Memory) -> None:
    headers = {"authorization": f"Bearer {create_key(memory.store)[1]}"}
    client = TestClient(create_app(memory), "http://localhost", headers=headers)
    body = {"user_id": "ann", "text": "Ann must not eat nuts.", "category": "constraint"}
    own = client.post("/v1/facts", json=body | {"agent_id": "bot"})
    assert (own.status_code, own.json()["origin"]) == (200, "agent")
    assert own.json()["category"] != "constraint"
    assert (
        client.post("/v1/facts", json=body | {"text": "Ann must rest."}).json()["origin"] == "user"
    )
