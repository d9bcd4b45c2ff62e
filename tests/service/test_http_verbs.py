"""What every verb over HTTP has in common: pages, ETags, scope, repeats, content types, uploads."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

import holdfast
from holdfast.catalogue.verbs import ALL
from holdfast.memory.memory import Memory
from holdfast.store.protocols import Answered
from holdfast.testing import HashEmbedder
from holdfast.types import Drained, Scope
from tests.service.calling import client_of

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOST = "http://localhost:3050"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    settings = {"extraction.provider": "rules", "service.requestsPerMinute": 0}
    with holdfast.open(
        tmp_path / "m.db", embedder=HashEmbedder(), config=settings, worker=False
    ) as memory:
        yield memory


def note(client: TestClient, text: str, **headers: str) -> dict[str, Any]:
    body = {"user_id": "ann", "content": text}
    answer = client.post("/v1/notes", json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


# Pages


def test_a_list_comes_in_pages_that_meet(client: TestClient) -> None:
    names = [note(client, f"Note {number}.")["id"] for number in range(5)]
    found: list[str] = []
    asked: dict[str, Any] = {"user_id": "ann", "limit": 2}
    while True:
        page = client.get("/v1/notes", params=asked).json()
        found += [each["id"] for each in page["notes"]]
        assert page["count"] == len(page["notes"]) <= 2
        if page["next"] is None:
            break
        asked["cursor"] = page["next"]
    assert found == names[::-1]


def test_what_comes_and_goes_meanwhile_moves_no_page(client: TestClient) -> None:
    names = [note(client, f"Note {number}.")["id"] for number in range(6)]
    first = client.get("/v1/notes", params={"user_id": "ann", "limit": 2}).json()
    note(client, "A newer one.")
    client.delete(f"/v1/memories/{names[0]}", params={"user_id": "ann"})
    rest = {"user_id": "ann", "limit": 10, "cursor": first["next"]}
    found = [each["id"] for each in client.get("/v1/notes", params=rest).json()["notes"]]
    assert found == [names[3], names[2], names[1]]
    # The item that the cursor names is gone: its place counts.
    client.delete(f"/v1/memories/{names[4]}", params={"user_id": "ann"})
    found = [each["id"] for each in client.get("/v1/notes", params=rest).json()["notes"]]
    assert names[3] in found or names[2] in found
    assert len(set(found)) == len(found)


def test_a_list_without_a_limit_of_its_own_can_be_cut_as_well(client: TestClient) -> None:
    id = note(client, "Chose Postgres.")["id"]
    for _ in range(2):
        client.post(f"/v1/memories/{id}/feedback", json={"user_id": "ann", "value": 1})
    path = f"/v1/memories/{id}/history"
    whole = client.get(path, params={"user_id": "ann"}).json()
    assert ([each["action"] for each in whole["versions"]], whole["next"]) == (
        ["stored", "praised", "praised"], None,
    )  # fmt: skip
    page = client.get(path, params={"user_id": "ann", "limit": 1}).json()
    rest = client.get(path, params={"user_id": "ann", "cursor": page["next"]}).json()
    assert page["versions"] + rest["versions"] == whole["versions"]


@pytest.mark.parametrize("cursor", ["", "x", "W10", "x" * 5000])
def test_a_cursor_that_is_none_is_refused(client: TestClient, cursor: str) -> None:
    answer = client.get("/v1/notes", params={"user_id": "ann", "cursor": cursor})
    assert (answer.status_code, answer.json()["field"]) == (400, "cursor")


def test_a_cursor_fits_one_list_only(client: TestClient) -> None:
    for number in range(2):
        note(client, f"Note {number}.")
    asked: dict[str, str | int] = {"user_id": "ann", "limit": 1}
    cursor = client.get("/v1/notes", params=asked).json()["next"]
    for other in (
        client.get("/v1/notes", params={**asked, "faded": "true", "cursor": cursor}),
        client.get("/v1/notes", params={**asked, "user_id": "bob", "cursor": cursor}),
        client.get("/v1/facts", params={**asked, "cursor": cursor}),
        client.get("/v1/memories", params={**asked, "cursor": cursor}),
    ):
        assert (other.status_code, other.json()["field"]) == (400, "cursor")


@pytest.mark.parametrize("limit", ["0", "-1", "10001", "x", "1.5", "", "9" * 40])
def test_a_limit_has_its_limits(client: TestClient, limit: str) -> None:
    for path in ("/v1/notes", "/v1/facts", "/v1/shares"):
        answer = client.get(path, params={"user_id": "ann", "limit": limit})
        assert (answer.status_code, answer.json()["field"]) == (400, "limit")


# ETags


def test_what_has_not_changed_is_not_sent_again(client: TestClient) -> None:
    note(client, "Chose Postgres.")
    asked = {"user_id": "ann"}
    first = client.get("/v1/memories", params=asked)
    tag = first.headers["etag"]
    assert tag.startswith('"')
    for named in (tag, f'"other", {tag}', f"W/{tag}", "*"):
        again = client.get("/v1/memories", params=asked, headers={"if-none-match": named})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
        assert again.headers["x-content-type-options"] == "nosniff"
    note(client, "Chose SQLite.")
    changed = client.get("/v1/memories", params=asked, headers={"if-none-match": tag})
    assert changed.status_code == 200
    assert changed.headers["etag"] != tag


def test_errors_and_answers_to_other_methods_have_no_tag(client: TestClient) -> None:
    missing = client.get("/v1/memories/nope", params={"user_id": "ann"})
    assert (missing.status_code, "etag" in missing.headers) == (404, False)
    stored = client.post("/v1/notes", json={"user_id": "ann", "content": "x"})
    assert "etag" not in stored.headers


@pytest.mark.parametrize(
    ("made", "path", "method", "body"),
    [
        ("note", "/v1/memories/{id}", "PUT", {"text": "Chose SQLite."}),
        ("note", "/v1/memories/{id}", "DELETE", None),
        ("fact", "/v1/facts/{id}", "PUT", {"text": "I live in Rome."}),
        ("fact", "/v1/memories/{id}", "DELETE", None),
        ("procedure", "/v1/procedures/{id}", "PATCH", {"title": "Ship"}),
        ("team", "/v1/workspace/memories/{id}", "PATCH", {"title": "Fridays"}),
    ],
)
def test_a_change_can_ask_for_the_state_it_was_made_of(
    client: TestClient, memory: Memory, made: str, path: str, method: str, body: Any
) -> None:
    path = path.replace("{id}", _made(memory, made))
    params: dict[str, Any] = {} if made == "team" else {"user_id": "ann"}
    tag = client.get(path, params=params).headers["etag"]
    sent: dict[str, Any] = {"params": params} if body is None else {"json": {**params, **body}}
    late = client.request(method, path, headers={"if-match": '"older"'}, **sent)
    assert (late.status_code, "changed" in late.json()["error"]) == (412, True)
    done = client.request(method, path, headers={"if-match": tag}, **sent)
    assert done.status_code == 200, done.text
    again = client.request(method, path, headers={"if-match": tag}, **sent)
    assert again.status_code in (404, 412)


def _made(memory: Memory, what: str) -> str:
    if what == "note":
        return memory.notes.add("Chose Postgres.", user="ann").id
    if what == "fact":
        return memory.facts.add("I live in Paris.", user="ann").id
    if what == "procedure":
        return memory.procedures.add("Release", steps=["tag"], user="ann").id
    return memory.team.write("We deploy on Fridays.", type="decision").id


def test_a_condition_on_what_cannot_be_asked_for_is_refused(client: TestClient) -> None:
    body = {"user_id": "ann", "value": "Lisbon"}
    answer = client.put("/v1/profile/location", json=body, headers={"if-match": '"x"'})
    assert (answer.status_code, "If-Match" in answer.json()["error"]) == (400, True)


def test_of_many_changes_of_one_state_one_is_made(client: TestClient) -> None:
    id = note(client, "Chose Postgres.")["id"]
    tag = client.get(f"/v1/memories/{id}", params={"user_id": "ann"}).headers["etag"]

    def change(number: int) -> int:
        body = {"user_id": "ann", "text": f"Chose {number}."}
        headers = {"if-match": tag}
        return client.put(f"/v1/memories/{id}", json=body, headers=headers).status_code

    with ThreadPoolExecutor(8) as pool:
        statuses = sorted(pool.map(change, range(8)))
    assert statuses == [200] + [412] * 7


# The same request again


def test_many_at_once_under_one_key_are_one(client: TestClient) -> None:
    start = threading.Barrier(8)

    def send(_: int) -> bytes:
        start.wait()
        body = {"user_id": "ann", "content": "Chose Postgres."}
        return client.post("/v1/notes", json=body, headers={"idempotency-key": "k"}).content

    with ThreadPoolExecutor(8) as pool:
        answers = set(pool.map(send, range(8)))
    assert len(answers) == 1
    assert client.get("/v1/notes", params={"user_id": "ann"}).json()["count"] == 1


def test_keys_are_of_one_user(client: TestClient) -> None:
    note(client, "Chose Postgres.", **{"idempotency-key": "k"})
    body = {"user_id": "bob", "content": "Chose SQLite."}
    other = client.post("/v1/notes", json=body, headers={"idempotency-key": "k"})
    assert other.status_code == 200
    body["user_id"] = "ann"
    clash = client.post("/v1/notes", json=body, headers={"idempotency-key": "k"})
    assert (clash.status_code, "used before" in clash.json()["error"]) == (409, True)


def test_an_attempt_that_died_before_its_answer_is_finished(
    client: TestClient, memory: Memory
) -> None:
    """A note is of a moment: the second attempt takes that of the first, so it is the same note."""
    first = note(client, "Chose Postgres.", **{"idempotency-key": "k"})
    # As if the process had died between storing the note and keeping the answer.
    scope = Scope("default", "ann")
    kept = memory.store.answer(scope, "k")
    assert isinstance(kept, Answered)
    memory.store.wipe(keys_before=datetime(2100, 1, 1, tzinfo=UTC))
    begun = f"\x01begun {kept.body.hex()} k"
    memory.store.answer(scope, begun, Answered(kept.body, 0, first["at"].encode()), at=memory.now())
    again = note(client, "Chose Postgres.", **{"idempotency-key": "k"})
    assert again == first
    assert client.get("/v1/notes", params={"user_id": "ann"}).json()["count"] == 1


@pytest.mark.parametrize("key", [" ", "x" * 513])
def test_a_key_has_its_rules(client: TestClient, key: str) -> None:
    body = {"user_id": "ann", "content": "x"}
    answer = client.post("/v1/notes", json=body, headers={"idempotency-key": key})
    assert answer.status_code in (400, 413)
    assert answer.json()["field"] == "Idempotency-Key"


def test_a_refusal_is_not_kept(client: TestClient) -> None:
    headers = {"idempotency-key": "k"}
    bad = client.post("/v1/notes", json={"user_id": "ann", "content": " "}, headers=headers)
    assert bad.status_code == 400
    note(client, "Chose Postgres.", **headers)


def test_of_somebody_who_was_erased_no_answer_is_kept(client: TestClient, memory: Memory) -> None:
    note(client, "Chose Postgres.", **{"idempotency-key": "k"})
    headers = {"idempotency-key": "erase"}
    assert client.post("/v1/erase", json={"user_id": "ann"}, headers=headers).status_code == 200
    assert memory.store.owners() == []


# Whose


def test_a_key_of_one_user_names_them_by_itself(memory: Memory) -> None:
    with client_of(memory, user="ann", role="write") as client:
        assert client.post("/v1/notes", json={"content": "Chose Postgres."}).status_code == 200
        assert client.get("/v1/notes").json()["count"] == 1
        for other in ("bob", "nobody"):
            answer = client.get("/v1/notes", params={"user_id": other})
            assert answer.status_code == 403
            assert answer.json() == {"error": "user_id is not the user of this key"}
        away = client.get("/v1/notes", params={"workspace_id": "elsewhere"})
        assert (away.status_code, client.get("/v1/jobs").status_code) == (403, 403)


def test_a_foreign_id_is_one_that_does_not_exist(client: TestClient, memory: Memory) -> None:
    theirs = memory.notes.add("Chose Postgres.", user="bob").id
    for verb in ALL:
        if "{id}" not in verb.path or verb.whole or verb.part in ("shares", "team"):
            continue
        answers = [
            client.request(
                verb.method,
                verb.path.replace("{id}", id),
                **_minimal(verb.name, verb.method),
            )
            for id in (theirs, "0" * 32)
        ]
        told = [each.text.replace(theirs, "*").replace("0" * 32, "*") for each in answers]
        assert told[0] == told[1], verb.name
        assert answers[0].status_code == answers[1].status_code == 404, (verb.name, told)


def _minimal(name: str, method: str) -> dict[str, Any]:
    more: dict[str, dict[str, str | int]] = {
        "feedback": {"value": 1},
        "update": {"text": "x"},
        "notes.update": {"content": "x"},
        "facts.update": {"text": "x"},
        "facts.answer": {"keep": "new"},
        "facts.resolve": {"keep": "both"},
    }
    sent = {"user_id": "ann", **more.get(name, {})}
    return {"params": sent} if method in ("GET", "DELETE") else {"json": sent}


# Bodies and methods


def test_json_by_another_name_is_json(client: TestClient) -> None:
    body = json.dumps({"user_id": "ann", "content": "x"})
    for kind in ("application/json; charset=utf-8", "Application/JSON", "application/x+json"):
        answer = client.post("/v1/notes", content=body, headers={"content-type": kind})
        assert answer.status_code == 200, answer.text
    assert client.post("/v1/notes", content=body).status_code == 200
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "+json"):
        answer = client.post("/v1/notes", content=body, headers={"content-type": kind})
        assert answer.status_code == 415


def test_a_get_with_a_body_is_answered(client: TestClient) -> None:
    asked = {"user_id": "ann"}
    answer = client.request("GET", "/v1/notes", params=asked, content=b"{nonsense")
    assert answer.status_code == 200


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "TRACE", "PATCH"])
def test_other_methods_are_refused(client: TestClient, method: str) -> None:
    answer = client.request(method, "/v1/notes", params={"user_id": "ann"})
    assert answer.status_code == 405


def test_a_document_is_the_body_itself(client: TestClient) -> None:
    asked = {"user_id": "ann", "name": "handbook.md", "metadata": '{"page": 3}'}
    text = b"# Handbook\n\nWe deploy on Fridays."
    kind = {"content-type": "text/markdown"}
    first = client.post("/v1/documents", params=asked, content=text, headers=kind)
    assert first.status_code == 200, first.text
    told = first.json()
    assert (told["name"], told["format"], told["metadata"]) == (
        "handbook.md",
        "markdown",
        {"page": 3},
    )
    again = client.post("/v1/documents", params=asked, content=text)
    assert again.json()["duplicate"] is True
    hits = client.post("/v1/recall", json={"user_id": "ann", "query": "When do we deploy?"}).json()
    assert "Fridays" in hits["hits"][0]["content"]


def test_a_document_is_never_a_file_of_the_server(client: TestClient, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("numbat")
    told = client.post(
        "/v1/documents", params={"user_id": "ann", "name": "x.txt"}, content=str(secret).encode()
    ).json()
    hits = client.post("/v1/recall", json={"user_id": "ann", "query": "numbat secret"})
    assert told["chunks"] == 1
    assert "numbat" not in json.dumps([each["content"] for each in hits.json()["hits"]])
    refused = client.post("/v1/documents", params={"user_id": "ann", "source": str(secret)})
    assert (refused.status_code, refused.json()["field"]) == (400, "source")


def test_a_form_is_no_document(client: TestClient) -> None:
    answer = client.post("/v1/documents", params={"user_id": "ann"}, files={"f": b"x"})
    assert (answer.status_code, "as the body" in answer.json()["error"]) == (415, True)
    wrong = client.post("/v1/documents", params={"metadata": "[1]"}, content=b"x")
    assert (wrong.status_code, wrong.json()["field"]) == (400, "metadata")


def test_names_may_hold_a_slash(client: TestClient) -> None:
    for key in ("deploy/day", "ä/ö", "a/b/c"):
        path = "/v1/entries/" + key.replace("/", "%2F")
        stored = client.put(path, json={"user_id": "ann", "value": "x"})
        assert stored.json()["key"] == key
        assert client.get(path, params={"user_id": "ann"}).json()["value"] == "x"


def test_settings_can_be_changed_for_one_call(client: TestClient) -> None:
    body = {"user_id": "ann", "query": "x", "config_override": {"rrf.k": 30, "future": 1}}
    answer = client.post("/v1/recall", json=body)
    assert answer.status_code == 200
    assert answer.headers["x-holdfast-config-override-keys"] == "rrf.k"
    assert answer.headers["x-holdfast-unknown-override-keys"] == "future"
    for wrong in ({"rrf.k": "x"}, {"rrf": {"k": 1}}, 7, {"jobs.batch": 1}):
        refused = client.post("/v1/recall", json={**body, "config_override": wrong})
        assert refused.status_code == 400
        assert refused.json()["field"].startswith("config_override")


def test_draining_has_its_time(client: TestClient) -> None:
    client.post("/v1/memories", json={"user_id": "ann", "messages": "I like tea."})
    done = client.post("/v1/jobs/drain", json={}).json()
    assert done["pending"] == 0
    assert done["done"] > 0
    late = client.post("/v1/jobs/drain", json={"timeout": 30.5})
    assert (late.status_code, late.json()) == (
        400, {"error": "timeout must be at most 30", "field": "timeout"},
    )  # fmt: skip


def test_those_who_drain_do_not_take_every_place(
    client: TestClient, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, end = threading.Semaphore(0), threading.Event()

    def slow(timeout: float | None = None) -> Drained:
        begun.release()
        assert end.wait(30)
        return Drained(0, 0, 0.0)

    monkeypatch.setattr(memory, "drain", slow)
    with ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(client.post, "/v1/jobs/drain", json={}) for _ in range(8)]
        for _ in waiting:
            assert begun.acquire(timeout=30)
        refused = client.post("/v1/jobs/drain", json={})
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "5")
        assert client.get("/v1/capabilities").status_code == 200
        end.set()
        assert {each.result().status_code for each in waiting} == {200}


def test_a_store_goes_out_and_comes_in(client: TestClient, tmp_path: Path) -> None:
    note(client, "Chose Postgres.")
    client.post("/v1/memories", json={"user_id": "ann", "messages": "I like tea."})
    lines = client.get("/v1/export")
    assert lines.headers["content-type"].startswith("application/x-ndjson")
    small = client.get("/v1/export", params={"vectors": "false"})
    assert small.text.count("\n") <= lines.text.count("\n")
    other_db = tmp_path / "other.db"
    with (
        holdfast.open(other_db, embedder=HashEmbedder(), worker=False) as other,
        client_of(other, role="admin") as there,
    ):
        done = there.post("/v1/import", content=lines.content).json()
        assert (done["new"]["event"], done["new"]["record"], done["failed"]) == (1, 1, 0)
        more = there.post(
            "/v1/import", params={"user_id": "ann"}, content=b'{"content": "Hi."}\nnonsense\n'
        ).json()
        assert (more["new"]["event"], more["failed"]) == (1, 1)
        assert len(other.list(user="ann").memories) == 3
        odd = there.post("/v1/import", content=b'{"holdfast_export": 99}\n')
        assert (odd.status_code, "format 99" in odd.text, "reads 1 and 2" in odd.text) == (
            400,
            True,
            True,
        )
        cut = there.post("/v1/import", content=lines.content[:-9])
        assert (cut.status_code, "the export is cut" in cut.text) == (400, True)
    for path, method in (("/v1/export", "GET"), ("/v1/import", "POST")):
        odd = client.request(method, path, params={"nope": "1"})
        assert (odd.status_code, odd.json()["field"]) == (400, "nope")
    with client_of(client.app.state.memory, role="write") as writer:  # type: ignore[attr-defined]
        assert writer.get("/v1/export").status_code == 403
        assert writer.post("/v1/import", content=b"").status_code == 403


# What a key of one user may say of others


def test_a_key_of_one_user_signs_with_their_name(memory: Memory) -> None:
    entry = {"content": "We deploy on Fridays.", "type": "decision", "author": "bob"}
    made = client_of(memory, user="ann").post("/v1/workspace/memories", json=entry)
    assert (made.status_code, made.json()["author"]) == (200, "ann")
    whole = client_of(memory).post("/v1/workspace/memories", json=entry)
    assert (whole.status_code, whole.json()["author"]) == (200, "bob")


def test_the_items_of_a_batch_take_the_words_of_the_wire(memory: Memory) -> None:
    client = client_of(memory)

    def done(**item: Any) -> Any:
        items = [{"op": "remember", "messages": "Tea.", **item}]
        asked = {"user_id": "ann", "agent_id": "cook", "items": items}
        return client.post("/v1/memories/batch", json=asked)

    for word in ("session_id", "session"):
        (one,) = done(**{word: word}, user_id="ann", agent_id="cook").json()["results"]
        (hit,) = memory.expand(one["ids"], user="ann")
        assert hit.session == word
    for wrong, field in (
        ({"session_id": "a", "session": "b"}, "session_id"),
        ({"user_id": "bob"}, "user_id"),
        ({"agent_id": "guide"}, "agent_id"),
    ):
        answer = done(**wrong)
        assert (answer.status_code, answer.json()["field"]) == (400, field)
    own = client_of(memory, user="ann")
    for user in ("bob", "nobody"):
        item = {"op": "remember", "messages": "Tea.", "user_id": user}
        answer = own.post("/v1/memories/batch", json={"items": [item]})
        assert answer.status_code == 403
    assert memory.store.stats()["events"] == 2
