"""DeerFlow's memory routes on our data."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response

import recollect
from recollect.doors.dialects.deerflow import _asked
from recollect.doors.http.app import create_app
from recollect.doors.http.wire import Asked
from recollect.errors import InvalidInput
from recollect.keys import create_key
from recollect.memory import Memory
from recollect.testing import HashEmbedder

BASE = "/api/memory"
ANN = {"X-Recollect-User": "ann"}
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Clock:
    """A clock that a test moves."""

    now = NOON

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(tmp_path: Path, clock: Clock) -> Iterator[Memory]:
    with recollect.open(
        tmp_path / "m.db", embedder=HashEmbedder(), worker=False, clock=clock
    ) as memory:
        yield memory


@pytest.fixture
def client(memory: Memory) -> Iterator[TestClient]:
    with client_of(memory) as client:
        client.headers.update(ANN)
        yield client


def client_of(memory: Memory, **options: Any) -> TestClient:
    secret = create_key(memory.store, **options)[1]
    headers = {"authorization": f"Bearer {secret}"}
    return TestClient(create_app(memory), "http://localhost:3050", headers=headers)


def given(answer: Response, status: int = 200) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    return dict(answer.json())


def refused(answer: Response, status: int) -> str:
    body = given(answer, status)
    assert set(body) <= {"error", "field"}
    return str(body["error"])


def add(client: TestClient, content: str, **fields: Any) -> dict[str, Any]:
    return given(client.post(BASE + "/facts", json={"content": content, **fields}))


def said(document: dict[str, Any]) -> list[str]:
    return [fact["content"] for fact in document["facts"]]


def test_the_document_has_the_shape_that_deerflow_reads(client: TestClient) -> None:
    empty = given(client.get(BASE))
    assert empty["version"] == "1.0"
    assert set(empty["user"]) == {"workContext", "personalContext", "topOfMind"}
    assert set(empty["history"]) == {"recentMonths", "earlierContext", "longTermBackground"}
    assert (empty["facts"], empty["user"]["topOfMind"]) == ([], {"summary": "", "updatedAt": ""})
    made = add(client, "I work as a nurse.", category="context", confidence=0.9)
    (fact,) = made["facts"]
    assert (fact["content"], fact["category"], fact["confidence"]) == (
        "I work as a nurse.", "context", 0.9,
    )  # fmt: skip
    assert (fact["source"], fact["createdAt"]) == ("manual", "2026-03-01T12:00:00Z")
    assert fact["scope"] == {"userId": "ann", "agentName": "__default__"}
    assert made["lastUpdated"] == "2026-03-01T12:00:00Z"
    assert made["revision"] > empty["revision"]
    assert "nurse" in made["user"]["workContext"]["summary"]
    for answer in (client.get(BASE), client.get(BASE + "/export"), client.post(BASE + "/reload")):
        assert given(answer) == made


def test_config_and_status(client: TestClient) -> None:
    config = given(client.get(BASE + "/config"))
    assert (config["enabled"], config["injection_enabled"]) == (True, True)
    assert config["mode"] == "middleware"
    assert isinstance(config["backend_config"], dict)
    assert given(client.get(BASE + "/status")) == {
        "config": config, "data": given(client.get(BASE)),
    }  # fmt: skip


def test_what_was_learned_from_turns_is_in_it(memory: Memory, client: TestClient) -> None:
    memory.remember("I live in Lisbon.", user="ann", session="t1")
    memory.drain()
    document = given(client.get(BASE))
    assert said(document) == ["I live in Lisbon."]
    assert document["facts"][0]["source"] == "t1"


def test_a_duplicate_is_a_conflict(client: TestClient) -> None:
    add(client, "I work as a nurse.")
    again = client.post(BASE + "/facts", json={"content": "I  work as a NURSE."})
    assert "already exists" in refused(again, 409)
    assert said(given(client.get(BASE))) == ["I work as a nurse."]


BAD_FACTS: dict[str, tuple[dict[str, Any], str]] = {
    "no content": ({}, "content (string) is required"),
    "empty": ({"content": ""}, "content (string) is required"),
    "blank": ({"content": " \n"}, "blank"),
    "a number": ({"content": 7}, "content (string) is required"),
    "too sure": ({"content": "x", "confidence": 1.5}, "confidence must be at most 1"),
    "negative": ({"content": "x", "confidence": -0.1}, "confidence must be at least 0"),
    "not a number": ({"content": "x", "confidence": "high"}, "confidence must be a number"),
    "a field too many": ({"content": "x", "colour": 1}, "colour is not a field"),
}


@pytest.mark.parametrize("case", BAD_FACTS.values(), ids=BAD_FACTS)
def test_a_bad_fact_is_refused(client: TestClient, case: tuple[dict[str, Any], str]) -> None:
    body, words = case
    assert words in refused(client.post(BASE + "/facts", json=body), 400)
    assert given(client.get(BASE))["facts"] == []


def test_a_category_that_nobody_knows_is_kept_beside_other(client: TestClient) -> None:
    made = add(client, "Water boils at 100 degrees.", category="knowledge")
    (fact,) = made["facts"]
    assert (fact["category"], fact["categoryExtension"]) == ("other", "knowledge")


def test_a_fact_is_changed_in_part(client: TestClient, clock: Clock) -> None:
    (fact,) = add(client, "I work as a nurse.", confidence=0.7)["facts"]
    clock.now += timedelta(hours=1)
    changed = given(client.patch(f"{BASE}/facts/{fact['id']}", json={"confidence": 0.95}))
    (surer,) = changed["facts"]
    assert (surer["content"], surer["confidence"]) == ("I work as a nurse.", 0.95)
    clock.now += timedelta(hours=1)
    path = f"{BASE}/facts/{surer['id']}"
    moved = given(
        client.patch(path, json={"content": "I work as a doctor.", "category": "identity"})
    )
    (last,) = moved["facts"]
    assert (last["content"], last["category"]) == ("I work as a doctor.", "identity")
    assert (last["confidence"], last["revision"]) == (0.95, 3)


def test_who_changes_what_has_changed_is_told_to_reload(client: TestClient, clock: Clock) -> None:
    (fact,) = add(client, "I work as a nurse.")["facts"]
    path = f"{BASE}/facts/{fact['id']}"
    clock.now += timedelta(hours=1)
    given(client.patch(path, json={"content": "I work as a doctor."}))
    assert "reload" in refused(client.patch(path, json={"content": "I work as a cook."}), 409)
    assert "reload" in refused(client.delete(path), 409)


def test_bad_changes(client: TestClient) -> None:
    (fact,) = add(client, "I work as a nurse.")["facts"]
    add(client, "My favourite colour is green.")
    path = f"{BASE}/facts/{fact['id']}"
    taken = client.patch(path, json={"content": "my favourite colour is GREEN."})
    assert "already exists" in refused(taken, 409)
    assert "content is blank" in refused(client.patch(path, json={"content": " "}), 400)
    assert "confidence" in refused(client.patch(path, json={"confidence": 2}), 400)
    missing = client.patch(f"{BASE}/facts/{'f' * 32}", json={"content": "x"})
    assert "there is no fact" in refused(missing, 404)


def test_a_removed_fact_is_gone_in_all_its_versions_and_can_come_back(
    memory: Memory, client: TestClient, clock: Clock
) -> None:
    (fact,) = add(client, "I work as a nurse.")["facts"]
    clock.now += timedelta(hours=1)
    (last,) = given(
        client.patch(f"{BASE}/facts/{fact['id']}", json={"content": "I work as a doctor."})
    )["facts"]
    assert given(client.delete(f"{BASE}/facts/{last['id']}"))["facts"] == []
    assert given(client.get(BASE))["facts"] == [], "no earlier version takes its place"
    refused(client.delete(f"{BASE}/facts/{last['id']}"), 404)
    assert memory.restore(last["id"], user="ann")
    assert said(given(client.get(BASE))) == ["I work as a doctor."]


def test_clearing_forgets_the_document_and_not_what_was_said(
    memory: Memory, client: TestClient
) -> None:
    memory.remember("I live in Lisbon.", user="ann")
    memory.drain()
    memory.profiles.set("home", "Lisbon", user="ann")
    add(client, "I work as a nurse.")
    memory.facts.add("I live in Rome.", user="bob")
    cleared = given(client.delete(BASE))
    assert cleared["facts"] == []
    assert {part["summary"] for part in (*cleared["user"].values(), *cleared["history"].values())} \
        == {""}  # fmt: skip
    assert memory.profile(user="ann").fields == {}
    assert [hit.content for hit in memory.recall("Lisbon", user="ann")] == ["I live in Lisbon."]
    assert len(memory.facts.list(user="bob")) == 1


def test_an_export_can_be_imported(memory: Memory, client: TestClient, clock: Clock) -> None:
    add(client, "I work as a nurse.", confidence=0.9)
    clock.now += timedelta(days=2)
    add(client, "My favourite colour is green.", category="preference", confidence=0.8)
    add(client, "Water boils at 100 degrees.", category="knowledge")
    exported = given(client.get(BASE + "/export"))
    clock.now += timedelta(days=2)
    there = given(client.post(BASE + "/import", json=exported, headers={"X-Recollect-User": "bob"}))
    kept = ("content", "category", "confidence", "createdAt", "categoryExtension")

    def told(document: dict[str, Any]) -> list[tuple[Any, ...]]:
        return sorted(tuple(fact.get(name) for name in kept) for fact in document["facts"])

    assert told(there) == told(exported)
    for part in ("user", "history"):
        for name, section in exported[part].items():
            assert there[part][name]["summary"] == section["summary"], name


def test_an_import_takes_the_place_of_what_was_there(memory: Memory, client: TestClient) -> None:
    add(client, "I work as a nurse.")
    sent = {
        "user": {"topOfMind": {"summary": "Planning a trip to Porto."}},
        "facts": [{"id": "fact_1", "content": "I like trains.", "category": "preference"}],
    }
    made = given(client.post(BASE + "/import", json=sent))
    assert said(made) == ["I like trains."]
    assert made["user"]["topOfMind"]["summary"] == "Planning a trip to Porto."
    given(client.delete(f"{BASE}/facts/{made['facts'][0]['id']}"))
    left = given(client.get(BASE))
    assert left["user"]["topOfMind"]["summary"] == "", "a summary stands on its facts"


def test_summaries_without_facts_become_facts(client: TestClient) -> None:
    sent = {"history": {"longTermBackground": {"summary": "Grew up in Graz."}}}
    made = given(client.post(BASE + "/import", json=sent))
    assert said(made) == ["Grew up in Graz."]
    assert made["history"]["longTermBackground"]["summary"] == "Grew up in Graz."


BAD_DOCUMENTS: dict[str, tuple[dict[str, Any], str]] = {
    "facts a text": ({"facts": "x"}, "facts must be a list"),
    "a fact without content": ({"facts": [{"id": "x"}]}, "facts.0.content"),
    "a fact too sure": ({"facts": [{"content": "x", "confidence": 7}]}, "facts.0.confidence"),
    "a bad time": ({"facts": [{"content": "x", "createdAt": "soon"}]}, "facts.0.createdAt"),
    "an unknown summary": ({"user": {"mood": {"summary": "x"}}}, "mood"),
    "a long summary": ({"user": {"topOfMind": {"summary": "x" * 4001}}}, "the limit is 4000"),
    "too many facts": ({"facts": [{"content": "x"}] * 1001}, "facts"),
}


@pytest.mark.parametrize("case", BAD_DOCUMENTS.values(), ids=BAD_DOCUMENTS)
def test_a_bad_document_changes_nothing(
    client: TestClient, case: tuple[dict[str, Any], str]
) -> None:
    before = add(client, "I work as a nurse.")
    body, words = case
    assert words in refused(client.post(BASE + "/import", json=body), 400)
    assert given(client.get(BASE)) == before


# Whose


def test_the_user_is_said_by_key_header_or_query(memory: Memory) -> None:
    whole = client_of(memory)
    assert refused(whole.get(BASE), 400) == "user_id (string) is required"
    given(whole.get(BASE, headers=ANN))
    given(whole.get(BASE, params={"user_id": "ann"}))
    twice = whole.get(BASE, headers=ANN, params={"user_id": "bob"})
    assert "differ" in refused(twice, 400)
    memory.facts.add("I work as a nurse.", user="Zoë")
    named = given(whole.get(BASE, headers={"X-Recollect-User": "Zoë".encode()}))
    assert said(named) == ["I work as a nurse."]
    with pytest.raises(InvalidInput, match="is not UTF-8"):  # The test client cannot send it.
        asyncio.run(_asked(Asked(), "\xff"))
    own = client_of(memory, user="ann")
    given(own.get(BASE))
    given(own.get(BASE, headers=ANN))
    for foreign in ({"X-Recollect-User": "bob"}, {"X-Recollect-User": "nobody"}):
        words = refused(own.get(BASE, headers=foreign), 403)
        assert words == "user_id is not the user of this key"


def test_a_key_that_may_only_read_changes_nothing(memory: Memory) -> None:
    fact = memory.facts.add("I work as a nurse.", user="ann")
    reader = client_of(memory, role="read", user="ann")
    for method, path in (
        ("POST", "/facts"), ("PATCH", f"/facts/{fact.id}"), ("DELETE", f"/facts/{fact.id}"),
        ("DELETE", ""), ("POST", "/import"),
    ):  # fmt: skip
        body = None if method == "DELETE" else {"content": "x"}
        assert refused(reader.request(method, BASE + path, json=body), 403)
    given(reader.get(BASE))
    given(reader.post(BASE + "/reload"))


def test_facts_of_others_are_as_facts_that_do_not_exist(memory: Memory) -> None:
    theirs = memory.facts.add("I work as a nurse.", user="bob").id
    own = client_of(memory, user="ann")
    words = {
        refused(own.request(method, f"{BASE}/facts/{id}", json=body), 404).replace(id, "ID")
        for id in (theirs, "f" * 32)
        for method, body in (("PATCH", {"content": "x"}), ("DELETE", None))
    }
    assert words == {"there is no fact 'ID' in this scope"}
    assert len(memory.facts.list(user="bob")) == 1
