"""The HTTP service over a real store: who is let in, what is understood, what comes back."""

import json
import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response

import holdfast
from holdfast import errors
from holdfast.config import load
from holdfast.errors import ModelUnavailable
from holdfast.memory.memory import Memory
from holdfast.recall.context.safe import parse
from holdfast.service.dialects.atomic_ingest import WaitingRoom
from holdfast.service.http.app import create_app
from holdfast.service.http.errors import fault_of
from holdfast.service.http.overrides import config_hash
from holdfast.service.keys import create_key, revoke_key
from holdfast.testing import HashEmbedder
from holdfast.types import Scope

INGEST = "/v1/memories/ingest"
SEARCH = "/v1/memories/search"
NOW = datetime(2026, 3, 1, tzinfo=UTC)
#: What was said is read without delay, so that who waits does not wait for long.
AT_ONCE = {"extraction.quietSeconds": 0}
SMALL = {"limits.bodyBytes": 2000, "limits.messageBytes": 1000, "limits.queryBytes": 500}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with holdfast.open(tmp_path / "m.db", embedder=HashEmbedder(), config=AT_ONCE) as memory:
        yield memory


@pytest.fixture
def key(memory: Memory) -> str:
    return create_key(memory.store)[1]


@pytest.fixture
def client(memory: Memory, key: str) -> Iterator[TestClient]:
    with client_of(memory, key) as client:
        yield client


def client_of(memory: Memory, key: str, **options: Any) -> TestClient:
    headers = {"authorization": f"Bearer {key}"}
    return TestClient(create_app(memory, **options), "http://localhost:3050", headers=headers)


def tell(client: TestClient, text: str, *, user: str = "alice", **fields: Any) -> dict[str, Any]:
    answer = client.post(INGEST, json={"user_id": user, "conversation": text, **fields})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def ask(client: TestClient, query: str, *, user: str = "alice", **fields: Any) -> dict[str, Any]:
    answer = client.post(SEARCH, json={"user_id": user, "query": query, **fields})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def refused(answer: Response, status: int) -> str:
    """The message of an error, which has one shape whatever went wrong."""
    assert answer.status_code == status, answer.text
    body = answer.json()
    assert set(body) <= {"error", "field"}
    assert answer.headers["content-type"] == "application/json"
    return str(body["error"])


# Remembering and recalling


def test_what_was_ingested_is_found(client: TestClient) -> None:
    stored = tell(client, "Always cite sources for every claim.")
    assert stored["memories_stored"] == 1
    assert stored["facts_extracted"] == 0
    assert stored["state"] == "stored"
    assert stored["duplicate"] is False
    assert stored["episode_id"] == stored["event_ids"][0] == stored["stored_memory_ids"][0]
    found = ask(client, "Which sources to cite?")
    assert found["count"] == 1
    assert found["retrieval_mode"] == "flat"
    assert found["scope"] == {
        "kind": "user", "workspace_id": "default", "user_id": "alice", "agent_id": None,
        "session_id": None,
    }  # fmt: skip
    hit = found["memories"][0]
    assert hit["content"] == "Always cite sources for every claim."
    assert hit["tier"] == "procedure", "the rule stands for the turn that says nothing else"
    assert 0 < hit["score"] <= 1
    assert hit["metadata"] == {
        "fact_role": "instruction", "rule": "Always cite sources", "condition": "for every claim",
    }  # fmt: skip
    assert datetime.fromisoformat(hit["created_at"]).tzinfo is not None
    assert found["citations"] == [hit["id"]]
    (item,) = parse(found["injection_text"])
    assert (item.section, item.text) == ("instructions", hit["content"])


def test_a_conversation_is_split_into_its_turns(client: TestClient) -> None:
    stored = tell(client, "user: I moved to Lisbon.\nassistant: Noted, Lisbon.")
    assert stored["memories_stored"] == 2
    found = ask(client, "Lisbon")
    assert {hit["role"] for hit in found["memories"]} == {"user", "assistant"}


def test_messages_instead_of_a_conversation(client: TestClient) -> None:
    message = {
        "role": "user", "name": "Ann", "content": "I like tea.", "at": "2024-05-01T10:00Z",
        "metadata": {"turn": "D1:3"},
    }  # fmt: skip
    body = {"user_id": "ann", "messages": [message], "session_id": "s1", "metadata": {"a": 1}}
    assert client.post(INGEST, json=body).status_code == 200
    hit = ask(client, "tea", user="ann")["memories"][0]
    assert hit["name"] == "Ann"
    assert hit["session_id"] == "s1"
    assert hit["metadata"] == {"turn": "D1:3", "a": 1}
    assert hit["created_at"].startswith("2024-05-01T10:00:00")


def test_as_of_sees_only_what_had_been_said(client: TestClient) -> None:
    for year in (2024, 2025):
        message = {"content": f"tea in {year}", "at": f"{year}-01-01T00:00Z"}
        client.post(INGEST, json={"user_id": "a", "messages": [message]})
    assert ask(client, "tea", user="a", as_of="2024-06-01T00:00Z")["count"] == 1
    assert ask(client, "tea", user="a", as_of="")["count"] == 2  # Empty counts as absent.


def test_where_it_came_from_is_kept_and_filters(client: TestClient) -> None:
    tell(client, "tea from the mail", source_site="mail", source_url="https://example.org/1")
    tell(client, "tea from the chat", source_site="chat")
    hits = ask(client, "tea", source_site="mail")["memories"]
    assert [hit["content"] for hit in hits] == ["tea from the mail"]
    assert hits[0]["source_site"] == "mail"
    assert (hits[0]["source_url"], hits[0]["metadata"]) == ("https://example.org/1", {})


def test_threshold_and_limit_leave_out_the_weaker(client: TestClient) -> None:
    for text in ("green tea", "black tea with milk and more words", "coffee and tea"):
        tell(client, text, wait=True)
    every = ask(client, "green tea")["memories"]
    assert len(every) == 3
    assert len(ask(client, "green tea", limit=2)["memories"]) == 2
    best = ask(client, "green tea", threshold=every[0]["score"])["memories"]
    assert [hit["content"] for hit in best] == ["green tea"]


def test_the_budget_bounds_the_block_and_not_the_list(client: TestClient) -> None:
    for number in range(5):
        tell(client, f"tea number {number} " + "with many words " * 30)
    found = ask(client, "tea", token_budget=100)
    assert found["count"] == 5
    assert 0 < len(found["citations"]) < 5
    assert found["estimated_context_tokens"] <= 100
    assert found["budget_constrained"] is True
    assert ask(client, "tea", token_budget=0)["injection_text"] == ""
    assert ask(client, "tea")["budget_constrained"] is False


def test_the_block_comes_in_the_format_asked_for(client: TestClient) -> None:
    tell(client, "I like tea.")
    block = ask(client, "tea", format="astra")["injection_text"]
    assert block.startswith("[Memory: turn | ")
    assert block.endswith("]\nI like tea.\nconfidence: 1.00")
    facts = ask(client, "tea", format="deerflow")["injection_text"]
    assert facts == "Facts:\n- [context | 1.00] I like tea."
    body = {"user_id": "alice", "query": "tea", "format": "prose"}
    answer = client.post(SEARCH, json=body)
    assert answer.status_code == 400
    assert "format must be 'safe', 'astra' or 'deerflow'" in answer.text


def test_wait_answers_when_the_work_is_done(client: TestClient) -> None:
    assert tell(client, "user: tea\nassistant: yes", wait=True)["state"] == "done"
    assert ask(client, "tea")["memories"][0]["semantic_similarity"] is not None


class DeadEmbedder(HashEmbedder):
    def embed(self, texts: list[str]) -> Any:
        raise ModelUnavailable


def test_wait_ends_when_the_model_is_away(tmp_path: Path) -> None:
    with holdfast.open(tmp_path / "m.db", embedder=DeadEmbedder()) as memory:
        receipt = memory.remember("tea", user="alice")
        room = WaitingRoom(1)
        state = room.wait_for(memory, Scope("default", "alice"), receipt, timeout_s=0.2)
        assert state in ("stored", "processing", "failed")
        found = ask(client_of(memory, create_key(memory.store)[1]), "tea")
        assert found["count"] == 1
        assert found["degraded"] == ["vector"]


def test_wait_ends_when_the_service_stops(tmp_path: Path) -> None:
    with holdfast.open(tmp_path / "m.db", embedder=HashEmbedder(), worker=False) as memory:
        receipt = memory.remember("tea", user="alice")
        room = WaitingRoom(1)
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(room.wait_for, memory, Scope("default", "alice"), receipt)
            room.close()
            assert waiting.result(timeout=10) == "stored"


def test_with_too_many_waiting_the_answer_comes_at_once(tmp_path: Path) -> None:
    with holdfast.open(tmp_path / "m.db", embedder=HashEmbedder(), worker=False) as memory:
        receipt = memory.remember("tea", user="alice")
        assert WaitingRoom(0).wait_for(memory, Scope("default", "alice"), receipt) == "stored"


def test_a_repeated_key_stores_once_and_another_body_is_a_conflict(client: TestClient) -> None:
    body = {"user_id": "alice", "conversation": "I like tea."}
    headers = {"Idempotency-Key": "k1"}
    with ThreadPoolExecutor(8) as pool:
        answers = list(
            pool.map(lambda _: client.post(INGEST, json=body, headers=headers).json(), range(16))
        )
    assert len({answer["episode_id"] for answer in answers}) == 1
    assert sorted(answer["duplicate"] for answer in answers) == [False] + [True] * 15
    other = client.post(INGEST, json=body | {"conversation": "No."}, headers=headers)
    assert "k1" in refused(other, 409)
    blank = client.post(INGEST, json=body, headers={"Idempotency-Key": " "})
    assert refused(blank, 400).startswith("Idempotency-Key must be")


# Bad input: an error that names the field and the limit, never a 5xx

BAD_BODIES: dict[str, tuple[str, dict[str, Any], int, str]] = {
    "no user": (INGEST, {"conversation": "x"}, 400, "user_id (string) is required"),
    "null user": (SEARCH, {"user_id": None, "query": "x"}, 400, "user_id (string) is required"),
    "user a number": (SEARCH, {"user_id": 7, "query": "x"}, 400, "user_id (string) is required"),
    "empty user": (INGEST, {"user_id": "", "conversation": "x"}, 400, "user_id (string) is"),
    "blank user": (INGEST, {"user_id": " ", "conversation": "x"}, 400, "user_id is blank"),
    "long user": (INGEST, {"user_id": "u" * 513, "conversation": "x"}, 400, "the limit is 512"),
    "NUL in user": (SEARCH, {"user_id": "a\0", "query": "x"}, 400, "user_id holds a NUL"),
    "surrogate in agent": (SEARCH, {"user_id": "a", "query": "x", "agent_id": "\ud800"}, 400,
                           "agent_id holds a NUL or a lone surrogate"),
    "no query": (SEARCH, {"user_id": "a"}, 400, "query (string) is required"),
    "blank query": (SEARCH, {"user_id": "a", "query": " \n"}, 400, "query is blank"),
    "long query": (SEARCH, {"user_id": "a", "query": "q" * 501}, 413, "the limit is 500"),
    "no text": (INGEST, {"user_id": "a"}, 400, "conversation (string) is required"),
    "empty text": (INGEST, {"user_id": "a", "conversation": ""}, 400, "conversation (string) is"),
    "blank text": (INGEST, {"user_id": "a", "conversation": " "}, 400, "conversation is blank"),
    "text a list": (INGEST, {"user_id": "a", "conversation": []}, 400, "conversation must be a st"),
    "long text": (INGEST, {"user_id": "a", "conversation": "x" * 1001}, 413, "the limit is 1000"),
    "both": (INGEST, {"user_id": "a", "conversation": "x", "messages": []}, 400, "one of the two"),
    "no messages": (INGEST, {"user_id": "a", "messages": []}, 400, "messages is empty"),
    "messages a text": (INGEST, {"user_id": "a", "messages": "x"}, 400, "messages must be a list"),
    "a bad role": (INGEST, {"user_id": "a", "messages": [{"role": "boss", "content": "x"}]}, 400,
                   "messages[0].role must be one of"),
    "a naive time": (INGEST, {"user_id": "a", "messages": [{"content": "x", "at": "2024-01-01"}]},
                     400, "messages[0].at has no time zone"),
    "a strange key": (INGEST, {"user_id": "a", "messages": [{"content": "x", "\ud800": 1}]}, 400,
                      "is not a field of a message"),
    "reserved metadata": (INGEST, {"user_id": "a", "conversation": "x",
                                   "metadata": {"fact_role": "instruction"}}, 400, "fact_role"),
    "infinite metadata": (INGEST, {"user_id": "a", "conversation": "x", "metadata": {"a": 1e999}},
                          400, "the body is not JSON"),
    "metadata a list": (INGEST, {"user_id": "a", "conversation": "x", "metadata": [1]}, 400,
                        "metadata must be an object"),
    "visibility unknown": (INGEST, {"user_id": "a", "conversation": "x", "visibility": "x"}, 400,
                           "visibility must be one of agent_only, restricted, workspace, not 'x'"),
    "visibility of nobody": (INGEST, {"user_id": "a", "conversation": "x",
                                      "visibility": "agent_only"}, 400, "needs an agent"),
    "wait a text": (INGEST, {"user_id": "a", "conversation": "x", "wait": "yes"}, 400,
                    "wait must be true or false"),
    "limit 0": (SEARCH, {"user_id": "a", "query": "x", "limit": 0}, 400, "limit must be at least"),
    "limit 201": (SEARCH, {"user_id": "a", "query": "x", "limit": 201}, 400, "limit must be at mo"),
    "limit a text": (SEARCH, {"user_id": "a", "query": "x", "limit": "5"}, 400, "limit must be a"),
    "limit true": (SEARCH, {"user_id": "a", "query": "x", "limit": True}, 400, "limit must be a w"),
    "huge limit": (SEARCH, {"user_id": "a", "query": "x", "limit": 10**300}, 400, "limit"),
    "budget": (SEARCH, {"user_id": "a", "query": "x", "token_budget": 200_001}, 400,
               "token_budget must be at most 200000"),
    "threshold": (SEARCH, {"user_id": "a", "query": "x", "threshold": 1.5}, 400,
                  "threshold must be at most 1"),
    "as_of": (SEARCH, {"user_id": "a", "query": "x", "as_of": "monday"}, 400, "as_of is not ISO"),
    "mode": (SEARCH, {"user_id": "a", "query": "x", "retrieval_mode": "deep"}, 400,
             "retrieval_mode must be 'flat'"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_BODIES.values(), ids=BAD_BODIES)
def test_a_bad_body_is_told_what_is_wrong(
    tmp_path: Path, case: tuple[str, dict[str, Any], int, str]
) -> None:
    path, body, status, words = case
    with holdfast.open(tmp_path / "m.db", embedder=HashEmbedder(), config=SMALL) as memory:
        client = client_of(memory, create_key(memory.store)[1])
        content = json.dumps(body)  # Not json=: it would refuse what we want to send.
        answer = client.post(path, content=content, headers={"content-type": "application/json"})
        assert words in refused(answer, status)
        assert memory.store.stats()["events"] == 0


HOSTILE_BYTES: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "must be a JSON object"),
    "not an object": (b"[1, 2]", "must be a JSON object"),
    "null": (b"null", "must be a JSON object"),
    "half": (b'{"user_id": "a"', "is not JSON in UTF-8 at character 15"),
    "invalid UTF-8": (b'{"user_id": "\xff\xfe"}', "is not JSON in UTF-8"),
    "UTF-16": ('{"user_id": "a"}'.encode("utf-16"), "is not JSON in UTF-8"),
    "not a number": (b'{"user_id": "a", "query": "x", "threshold": NaN}', "is not JSON"),
    "a number of 5,000 digits": (b'{"limit": ' + b"9" * 5000 + b"}", "is not JSON"),
}


@pytest.mark.parametrize("path", [INGEST, SEARCH])
@pytest.mark.parametrize("case", HOSTILE_BYTES.values(), ids=HOSTILE_BYTES)
def test_hostile_bytes_are_a_400(client: TestClient, path: str, case: tuple[bytes, str]) -> None:
    body, words = case
    answer = client.post(path, content=body, headers={"content-type": "application/json"})
    assert words in refused(answer, 400)


def test_json_without_its_content_type_is_told_so(client: TestClient) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        answer = client.post(SEARCH, content=b'{"user_id": "a"}', headers={"content-type": kind})
        assert "content-type: application/json" in refused(answer, 415)


def test_what_no_store_can_hold_becomes_a_visible_mark(client: TestClient) -> None:
    body = {
        "user_id": "alice",
        "conversation": "tea \ud800 and \0 milk",
        "metadata": {"\udfff": "\ud800"},
    }
    answer = client.post(
        INGEST, content=json.dumps(body), headers={"content-type": "application/json"}
    )
    assert answer.status_code == 200
    assert len(answer.json()["warnings"]) == 3
    hit = ask(client, "tea")["memories"][0]
    assert hit["content"] == "tea \ufffd and \ufffd milk"
    assert hit["metadata"] == {"\ufffd": "\ufffd"}
    surrogate = json.dumps({"user_id": "alice", "query": "tea \ud800"})
    found = client.post(SEARCH, content=surrogate, headers={"content-type": "application/json"})
    assert found.json()["count"] == 1


def test_an_error_message_stays_short(client: TestClient) -> None:
    answer = client.post("/v1/recall", json={"user_id": "a", "query": "x", "z" * 10_000: 1})
    assert len(refused(answer, 400)) < 600


def test_a_body_over_the_limit_is_cut_off(tmp_path: Path) -> None:
    with holdfast.open(tmp_path / "m.db", embedder=HashEmbedder(), config=SMALL) as memory:
        client = client_of(memory, create_key(memory.store)[1])
        large = json.dumps({"user_id": "a", "conversation": "x" * 2000}).encode()
        headers = {"content-type": "application/json"}
        announced = client.post(INGEST, content=large, headers=headers)
        assert "the limit of 2000 bytes" in refused(announced, 413)
        pieces = iter([b" " * 1000] * 1000)  # Sent in chunks, without a length.
        chunked = client.post(INGEST, content=pieces, headers=headers)
        assert "the limit of 2000 bytes" in refused(chunked, 413)


# Who is let in

#: These three stand for all; every route has its row in test_routes_table.py.
ROUTES = [("GET", "/health"), ("POST", INGEST), ("POST", SEARCH)]
GOOD_BODIES: dict[str, dict[str, Any]] = {
    "/health": {},
    INGEST: {"user_id": "alice", "conversation": "I like tea."},
    SEARCH: {"user_id": "alice", "query": "tea"},
}
#: What each caller gets from GET /health, ingest and search.
CALLERS: dict[str, tuple[int, int, int]] = {
    "no key": (200, 401, 401),
    "an empty key": (200, 401, 401),
    "a wrong key": (200, 401, 401),
    "an expired key": (200, 401, 401),
    "a revoked key": (200, 401, 401),
    "a key in the wrong scheme": (200, 401, 401),
    "the digest of a key": (200, 401, 401),
    "a read key": (200, 403, 200),
    "a write key": (200, 200, 200),
    "an admin key": (200, 200, 200),
    "alice's own key": (200, 200, 200),
    "alice's key to read": (200, 403, 200),
    "another user's key": (200, 403, 403),
    "another workspace's key": (200, 403, 403),
}


def caller_headers(memory: Memory, caller: str) -> dict[str, str]:
    store = memory.store
    options: dict[str, dict[str, Any]] = {
        "an expired key": {"expires_at": NOW + timedelta(hours=1), "clock": lambda: NOW},
        "a read key": {"role": "read"},
        "an admin key": {"role": "admin"},
        "alice's own key": {"user": "alice"},
        "alice's key to read": {"user": "alice", "role": "read"},
        "another user's key": {"user": "bob"},
        "another workspace's key": {"workspace": "other"},
    }
    made, secret = create_key(store, **options.get(caller, {}))
    if caller == "a revoked key":
        assert revoke_key(store, made.id, at=NOW)
    shown = {
        "no key": {},
        "an empty key": {"authorization": "Bearer ", "x-api-key": ""},
        "a wrong key": {"authorization": f"Bearer {secret[:-1]}"},
        "a key in the wrong scheme": {"authorization": f"Basic {secret}"},
        "the digest of a key": {"authorization": f"Bearer {made.id}"},
    }
    return shown.get(caller, {"authorization": f"Bearer {secret}"})


@pytest.mark.parametrize("caller", CALLERS)
def test_every_route_and_every_caller(memory: Memory, caller: str) -> None:
    client = TestClient(create_app(memory), "http://localhost")
    headers = caller_headers(memory, caller)
    for (method, path), status in zip(ROUTES, CALLERS[caller], strict=True):
        body = dict(GOOD_BODIES[path])
        if caller == "another workspace's key" and body:
            body["workspace_id"] = "default"
        answer = client.request(method, path, json=body or None, headers=headers)
        assert answer.status_code == status, (path, answer.text)
        if status == 401:
            assert answer.headers["www-authenticate"] == "Bearer"
    assert memory.store.stats()["events"] == (1 if CALLERS[caller][1] == 200 else 0)


@pytest.mark.parametrize(
    "path", ["/nothing", "/assets", "/docs", "/openapi.json", "/health/", INGEST]
)
def test_without_a_key_no_path_tells_whether_it_exists(memory: Memory, path: str) -> None:
    client = TestClient(create_app(memory), "http://localhost")
    for method in ("GET", "POST", "OPTIONS", "HEAD", "DELETE"):
        assert client.request(method, path).status_code == 401


def test_with_a_key_a_wrong_path_or_method_is_json(client: TestClient) -> None:
    words = refused(client.get("/nothing?tea=1"), 404)
    assert words == "there is no GET /nothing: see GET /v1/openapi.json"
    assert len(refused(client.get("/" + "a" * 5000), 404)) < 300
    refused(client.get("/docs"), 404)
    answer = client.get(SEARCH + "/fast")
    assert refused(answer, 405).startswith(f"there is no GET {SEARCH}/fast: ")
    assert answer.headers["allow"] == "POST"
    refused(client.post(INGEST + "/", json={}), 404)


def test_both_headers_carry_a_key(memory: Memory, key: str) -> None:
    client = TestClient(create_app(memory), "http://localhost")
    for headers in ({"x-api-key": key}, {"authorization": f"bearer {key}"}):
        assert client.post(SEARCH, json=GOOD_BODIES[SEARCH], headers=headers).status_code == 200


def test_the_role_is_checked_before_the_body(memory: Memory) -> None:
    client = client_of(memory, create_key(memory.store, role="read")[1])
    assert refused(client.post(INGEST, json={"nonsense": 1}), 403) == "this key may only read"
    assert refused(client.get("/v1/keys"), 403) == "this needs an admin key"


def test_the_same_user_in_two_workspaces_is_two_users(memory: Memory, client: TestClient) -> None:
    tell(client, "I like tea.")
    other = client_of(memory, create_key(memory.store, workspace="other")[1])
    assert ask(other, "tea")["count"] == 0
    tell(other, "I like coffee.")
    assert ask(other, "tea or coffee")["memories"][0]["content"] == "I like coffee."
    assert ask(client, "coffee", workspace_id="default")["memories"][0]["content"] == "I like tea."


def test_a_foreign_scope_is_refused_alike_whether_it_exists_or_not(
    memory: Memory, client: TestClient
) -> None:
    tell(client, "I like tea.")
    bound = client_of(memory, create_key(memory.store, workspace="w", user="bob")[1])
    answers = [
        bound.post(SEARCH, json={"user_id": user, "query": "tea", "workspace_id": workspace})
        for user in ("alice", "nobody")
        for workspace in ("default", "none", "w")
    ]
    assert {answer.status_code for answer in answers} == {403}
    assert len({answer.text for answer in answers}) == 2  # One of the workspace, one of the user.


def test_a_key_dies_when_its_time_comes(memory: Memory) -> None:
    moment = NOW
    _, secret = create_key(memory.store, expires_at=NOW + timedelta(hours=1), clock=lambda: NOW)
    client = client_of(memory, secret, clock=lambda: moment)
    ask(client, "tea")
    moment = NOW + timedelta(hours=1)
    assert client.post(SEARCH, json=GOOD_BODIES[SEARCH]).status_code == 401


FOREIGN = [
    {"host": "evil.example"},
    {"host": "evil.example:3050"},
    {"host": "localhost.evil.example"},
    {"host": "evil@localhost"},
    {"host": "[::1"},
    {"host": "10.0.0.7:3050"},
    {"host": ""},
    {"origin": "https://evil.example"},
    {"origin": "http://localhost.evil.example"},
    {"origin": "null"},
    {"origin": "file://localhost"},
    {"origin": ""},
]
OWN = [
    {"host": "localhost:3050"},
    {"host": "127.0.0.1"},
    {"host": "[::1]:3050"},
    {"host": "LOCALHOST:8080"},
    {"host": "memory.lan:3050"},
    {"origin": "http://localhost:3050"},
    {"origin": "http://memory.lan:3050"},
]


@pytest.mark.parametrize("headers", FOREIGN, ids=str)
def test_a_foreign_host_or_origin_is_refused_everywhere(
    memory: Memory, key: str, headers: dict[str, str]
) -> None:
    client = client_of(memory, key, hosts=["memory.lan"])
    for method, path in [*ROUTES, ("OPTIONS", SEARCH), ("GET", "/nothing")]:
        answer = client.request(method, path, json=GOOD_BODIES.get(path), headers=headers)
        refused(answer, 403)
        assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("headers", OWN, ids=str)
def test_our_own_names_are_served(memory: Memory, key: str, headers: dict[str, str]) -> None:
    client = client_of(memory, key, hosts=["memory.lan"])
    assert client.get("/health", headers=headers).status_code == 200


def test_bound_to_every_address_any_address_is_ours_but_no_name(memory: Memory, key: str) -> None:
    client = client_of(memory, key, hosts=["0.0.0.0"])
    assert client.get("/health", headers={"host": "192.168.1.5:3050"}).status_code == 200
    assert client.get("/health", headers={"host": "evil.example"}).status_code == 403


# config_override


def override(client: TestClient, values: Any, path: str = SEARCH) -> Response:
    return client.post(path, json={**GOOD_BODIES[path], "config_override": values})


def test_the_seeds_boost_is_a_setting_of_the_request(client: TestClient) -> None:
    answer = override(client, {"instructionBoostEnabled": True, "instructionBoostWeight": 0.15})
    assert answer.status_code == 200
    for prefix in ("X-Holdfast-", "X-Atomicmem-"):
        listed = answer.headers[prefix + "Config-Override-Keys"]
        assert listed == "instructionBoostEnabled,instructionBoostWeight"
        assert answer.headers[prefix + "Config-Override-Applied"] == "true"


def test_known_settings_are_applied_and_told(client: TestClient) -> None:
    values = {"relevanceFloor": 0.1, "contextBudgetTokens": 100}
    answer = override(client, {**values, "new.one": 1})
    assert answer.status_code == 200
    effective = load({**AT_ONCE, **values})
    for prefix in ("X-Holdfast-", "X-Atomicmem-"):
        assert answer.headers[prefix + "Config-Override-Applied"] == "true"
        assert (
            answer.headers[prefix + "Config-Override-Keys"] == "relevanceFloor,contextBudgetTokens"
        )
        assert answer.headers[prefix + "Unknown-Override-Keys"] == "new.one"
        assert answer.headers[prefix + "Effective-Config-Hash"] == config_hash(effective)


@pytest.mark.parametrize("path", ["/v1/recall", "/v1/context", "/v1/memories/search"])
def test_a_setting_that_does_nothing_is_told_on_the_answer(client: TestClient, path: str) -> None:
    asked = {"user_id": "ann", "query": "tea", "messages": "tea"}
    asked.pop("query" if path == "/v1/context" else "messages")

    def warnings(values: dict[str, Any]) -> list[str]:
        told = client.post(path, json={**asked, "config_override": values}).json()["warnings"]
        assert isinstance(told, list)
        return told

    (first, second) = warnings({"rrf.vectorWeight.session": 0.1, "searchTopK": 3, "mmrLambda": 1})
    assert first.startswith("searchTopK does nothing here") or "vectorWeight" in first
    assert "fusion: rrf" in second
    assert warnings({"searchTopK": 3, "fusion": "rrf"}) == []
    assert warnings({}) == []


def test_what_is_stored_has_settings_of_its_own(client: TestClient) -> None:
    """Those of recall mean nothing there, and are told so."""
    values = {"extraction.provider": "rules", "extraction.enabled": False, "rrf.k": 10, "new": 1}
    answer = override(client, values, INGEST)
    assert answer.status_code == 200
    effective = load({**AT_ONCE, "extraction.provider": "rules", "extraction.enabled": False})
    for prefix in ("X-Holdfast-", "X-Atomicmem-"):
        listed = answer.headers[prefix + "Config-Override-Keys"]
        assert listed == "extraction.provider,extraction.enabled"
        assert answer.headers[prefix + "Config-Override-Applied"] == "true"
        assert answer.headers[prefix + "Unknown-Override-Keys"] == "rrf.k,new"
        assert answer.headers[prefix + "Effective-Config-Hash"] == config_hash(effective)


def test_an_override_changes_the_answer_of_its_request_alone(client: TestClient) -> None:
    for number in range(3):
        tell(client, f"tea number {number}")
    small = override(client, {"contextBudgetTokens": 0}).json()
    assert small["count"] == 3
    assert small["injection_text"] == ""
    assert ask(client, "tea")["citations"] != []


def test_an_override_may_name_the_weights_of_a_task_profile(client: TestClient) -> None:
    name = "boosting.profiles.general.weights.session"
    answer = override(client, {name: 3})
    assert answer.headers["X-Holdfast-Config-Override-Keys"] == name
    effective = load({**AT_ONCE, "boosting.profiles": {"general": {"weights": {"session": 3}}}})
    assert answer.headers["X-Holdfast-Effective-Config-Hash"] == config_hash(effective)


def test_without_an_override_no_header(client: TestClient) -> None:
    empty: dict[str, object] = {}
    for values in (None, empty):
        assert not [name for name in override(client, values).headers if "override" in name]


BAD_OVERRIDES: dict[str, tuple[Any, str]] = {
    "not allowed": ({"limits.bodyBytes": 1}, "cannot be overridden per call"),
    "a secret": ({"embedding.apiKey": "x"}, "cannot be overridden per call"),
    "a wrong type": ({"rrf.k": "60"}, "rrf.k must be a whole number"),
    "a boolean for a number": ({"rrf.k": True}, "rrf.k must be a whole number"),
    "null": ({"rrf.k": None}, "rrf.k must be a whole number"),
    "out of range": ({"rrf.k": 0}, "rrf.k must be above 0"),
    "nested": ({"rrf": {"k": 1}}, "config_override.rrf is nested"),
    "nested and unknown": ({"future": {"k": 1}}, "config_override.future is nested"),
    "a list": ({"searchTopK": [1]}, "config_override.searchTopK is nested"),
    "a group": ({"rrf": 1}, "rrf holds settings of its own"),
    "a group and its part": ({"rrf": 1, "rrf.k": 2}, "rrf holds settings of its own"),
    "a weight of no tier": (
        {"boosting.profiles.general.weights.attic": 2},
        "boosting.profiles.general.weights",
    ),
    "a part that no profile has": (
        {"boosting.profiles.general.colour": 2},
        "known: triggers, weights",
    ),
    "a number beyond sense": ({"rrf.k": 10**400}, "over the limit of 1000000000"),
    "no object": ([1], "config_override must be an object"),
    "a text": ("rrf.k=1", "config_override must be an object"),
    "too many": ({f"k{number}": 1 for number in range(65)}, "has 65 keys, the limit is 64"),
    "a long name": ({"k" * 65: 1}, "over the limit of 64 bytes"),
    "a blank name": ({" ": 1}, "blank"),
}


@pytest.mark.parametrize("case", BAD_OVERRIDES.values(), ids=BAD_OVERRIDES)
@pytest.mark.parametrize("path", [INGEST, SEARCH])
def test_a_bad_override_is_refused(client: TestClient, path: str, case: tuple[Any, str]) -> None:
    values, words = case
    assert words in refused(override(client, values, path), 400)


def test_an_unknown_name_cannot_break_out_of_its_header(client: TestClient) -> None:
    answer = override(client, {"a\r\nSet-Cookie: x": 1, "b,c": 2, "é": 3})
    assert answer.headers["X-Holdfast-Unknown-Override-Keys"] == (
        "a%0D%0ASet-Cookie%3A%20x,b%2Cc,%C3%A9"
    )
    assert "set-cookie" not in answer.headers


def test_the_hash_knows_the_settings_but_no_secret() -> None:
    plain = config_hash(load({}))
    assert plain.startswith("sha256:")
    assert len(plain) == len("sha256:") + 64
    assert config_hash(load({"forgetDays": 31})) != plain
    assert config_hash(load({"embedding.apiKey": "secret"})) == plain


# Health, faults, headers, logs


def test_health_is_one_word(memory: Memory) -> None:
    client = TestClient(create_app(memory), "http://localhost")
    assert client.get("/health").json() == {"status": "ok"}


class BrokenEmbedder(HashEmbedder):
    def embed(self, texts: list[str]) -> Any:
        raise errors.ModelError


def test_a_dead_letter_degrades_health(tmp_path: Path) -> None:
    with holdfast.open(tmp_path / "m.db", embedder=BrokenEmbedder(), worker=False) as memory:
        client = TestClient(create_app(memory), "http://localhost")
        memory.remember("tea", user="alice")
        assert memory.drain().dead == 1
        answer = client.get("/health")
        assert (answer.status_code, answer.json()) == (200, {"status": "degraded"})


@pytest.mark.parametrize("instead", [False, True])
def test_nothing_is_acknowledged_once_the_file_lies_elsewhere(
    memory: Memory, client: TestClient, tmp_path: Path, instead: bool
) -> None:
    (file,) = tmp_path.rglob("*.db")
    file.rename(file.with_name("elsewhere"))
    if instead:
        file.touch()
    answer = client.post(INGEST, json=GOOD_BODIES[INGEST])
    assert refused(answer, 500) == "The store failed."
    assert client.get("/health").status_code == 503
    assert memory.recall("tea", user="alice") is not None
    file.unlink(missing_ok=True)
    file.with_name("elsewhere").rename(file)
    assert client.post(INGEST, json=GOOD_BODIES[INGEST]).status_code == 200


def test_a_closed_memory_is_a_503(memory: Memory, client: TestClient) -> None:
    memory.close()
    answer = client.get("/health")
    assert (answer.status_code, answer.json()) == (503, {"status": "degraded"})
    answer = client.post(SEARCH, json=GOOD_BODIES[SEARCH])
    assert "closed" in refused(answer, 503)
    assert answer.headers["retry-after"] == "1"


STATUS = {
    errors.InvalidInput: 400, errors.ScopeError: 400, errors.TooLarge: 413, errors.NotFound: 404,
    errors.Conflict: 409, errors.ConfigError: 400, errors.Closed: 503, errors.StoreError: 500,
    errors.StoreBusy: 503,
    errors.Overtaken: 503, errors.StoreFull: 507, errors.StoreReadOnly: 503,
    errors.NotAStore: 500, errors.SchemaTooNew: 500, errors.ModelError: 503,
    errors.ModelUnavailable: 503, errors.NotAsked: 503, errors.OverBudget: 503,
    errors.Refused: 503, errors.Unreadable: 503, errors.Harmful: 503, errors.TookTooLong: 503,
    errors.DamagedRow: 500, errors.HoldfastError: 500, errors.Throttled: 429,
    # Of the client: a service that is one itself has nothing to tell of them.
    errors.ServiceError: 500, errors.Denied: 500, errors.Unavailable: 500,
}  # fmt: skip


def test_every_error_has_its_status() -> None:
    ours = {kind for kind in vars(errors).values() if isinstance(kind, type)}
    assert ours == set(STATUS)
    for kind, status in STATUS.items():
        answer = fault_of(kind("/home/ann/m.db is broken"))
        assert answer.status_code == status
        told = b"/home/ann" in answer.body
        assert told == (status < 500), "what happens inside is nobody's business"
        assert ("retry-after" in answer.headers) == (status == 503)


def test_every_answer_carries_the_security_headers(memory: Memory, client: TestClient) -> None:
    bare = TestClient(create_app(memory), "http://localhost")
    answers = [
        bare.get("/health"),
        bare.get("/nothing"),
        bare.get("/health", headers={"host": "evil"}),
        client.get("/nothing"),
        client.post(SEARCH, json=GOOD_BODIES[SEARCH]),
        client.post(SEARCH, json={}),
    ]
    assert [answer.status_code for answer in answers] == [200, 401, 403, 404, 200, 400]
    for answer in answers:
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert "server" not in answer.headers


def test_no_memory_and_no_key_in_the_log(
    memory: Memory, key: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    canary = "canary-4711"

    def clock() -> datetime:
        if broken:
            raise RuntimeError(f"unforeseen, with a {canary}")
        return NOW

    broken = False
    client = client_of(memory, key, clock=clock)
    tell(client, f"I like {canary}.", wait=True)
    ask(client, canary)
    client.post(SEARCH, json={"user_id": canary, "query": canary, canary: canary})
    client.post(INGEST, content=canary, headers={"content-type": "application/json"})
    client.post(SEARCH, json={}, headers={"authorization": f"Bearer {canary}"})
    broken = True
    answer = client.post(SEARCH, json={"user_id": "alice", "query": canary})
    assert refused(answer, 500) == "something went wrong here"
    memory.close()
    broken = False
    client.post(SEARCH, json={"user_id": "alice", "query": canary})
    logged = "\n".join(f"{each.getMessage()} {each.exc_text}" for each in caplog.records)
    assert "RuntimeError at" in logged
    assert canary not in logged
    assert key not in logged
