"""The audit log: what is noted, that it can be read and checked, and that it holds no name."""

import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

import holdfast
from holdfast.memory.memory import Memory
from holdfast.service.http.app import create_app
from holdfast.service.http.audit import digest_of
from holdfast.service.keys import create_key
from holdfast.store.protocols import AuditLine
from holdfast.testing import HashEmbedder

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with holdfast.open(tmp_path / "m.db", embedder=HashEmbedder(), worker=False) as memory:
        yield memory


@pytest.fixture
def admin(memory: Memory) -> TestClient:
    return client_of(memory, create_key(memory.store, role="admin")[1])


def client_of(memory: Memory, secret: str) -> TestClient:
    app = create_app(memory, clock=lambda: NOW)
    return TestClient(app, "http://localhost", headers={"x-api-key": secret})


def lines(admin: TestClient) -> list[dict[str, Any]]:
    return list(admin.get("/v1/audit?limit=1000").json()["lines"])


def test_what_changes_something_is_noted_with_its_id(memory: Memory, admin: TestClient) -> None:
    fact = admin.post(
        "/v1/facts", json={"user_id": "Ann Smith", "text": "Ann lives in Lisbon."}
    ).json()
    key = admin.post("/v1/keys", json={"user_id": "Ann Smith"}).json()
    admin.post(f"/v1/keys/{key['id']}/rotate")
    admin.delete(f"/v1/keys/{key['id']}")
    admin.post("/v1/erase", json={"user_id": "Ann Smith"})
    found = lines(admin)
    assert [line["action"] for line in found] == [
        "facts.add", "keys.create", "keys.rotate", "keys.revoke", "erase",
    ]  # fmt: skip
    assert [line["seq"] for line in found] == [1, 2, 3, 4, 5]
    assert {line["outcome"] for line in found} == {"done"}
    assert {line["at"] for line in found} == {"2026-03-01T12:00:00Z"}
    assert {line["actor"] for line in found} == {admin.get("/v1/whoami").json()["key_id"]}
    assert found[1]["subject"] == key["id"]
    ann = digest_of(memory.store, "default", "Ann Smith")
    assert [line["user_digest"] for line in found] == [ann, None, None, None, ann]
    assert fact
    folder = Path(memory.store._path).parent  # type: ignore[attr-defined]
    for path in folder.iterdir():
        data = path.read_bytes()
        assert b"Ann Smith" not in data
        assert b"Lisbon" not in data


def test_another_store_has_another_digest_of_the_same_user(memory: Memory, tmp_path: Path) -> None:
    with holdfast.open(tmp_path / "other.db", embedder=HashEmbedder(), worker=False) as other:
        digests = [digest_of(each.store, "default", "ann") for each in (memory, other, memory)]
    assert digests[0] == digests[2] != digests[1]


def test_what_is_said_all_day_is_not_noted(memory: Memory, admin: TestClient) -> None:
    admin.post("/v1/memories", json={"user_id": "ann", "messages": "tea"})
    admin.post("/v1/memories/ingest", json={"user_id": "ann", "conversation": "tea"})
    admin.post("/v1/recall", json={"user_id": "ann", "query": "tea"})
    admin.post("/v1/context", json={"user_id": "ann", "messages": "tea"})
    assert lines(admin) == []


def test_no_route_that_changes_something_is_overlooked(memory: Memory, admin: TestClient) -> None:
    assert memory.store.audit() == []
    trust = {"agent_id": "cook", "trust_level": 0.5}
    assert admin.put("/v1/agents/trust", json=trust).status_code == 200
    fact = {"content": "Ann likes tea.", "category": "preference"}
    assert admin.post("/api/memory/facts?user_id=ann", json=fact).status_code == 200
    search = {"user_id": "ann", "query": "tea"}
    assert admin.post("/v1/memories/search", json=search).status_code == 200
    assert [line["action"] for line in lines(admin)] == [
        "PUT /v1/agents/trust",
        "POST /api/memory/facts",
    ]


def test_what_was_refused_is_noted_so_much_a_minute(memory: Memory, admin: TestClient) -> None:
    key, secret = create_key(memory.store, role="read")
    reader = client_of(memory, secret)
    nobody = client_of(memory, "rk_wrong")
    with reader, nobody:
        assert reader.post("/v1/facts", json={"user_id": "ann", "text": "x"}).status_code == 403
        for _ in range(50):
            assert nobody.get("/v1/whoami").status_code == 401
        assert nobody.post("/v1/sign-in", json={"key": "rk_wrong"}).status_code == 401
    (shown,) = lines(admin)
    assert (shown["actor"], shown["subject"]) == (key.id, "POST /v1/facts")
    first, *others = memory.store.audit()
    assert {line.outcome for line in (first, *others)} == {"refused"}
    # Of no workspace, so that none is told: whoever has the file sees them.
    assert {(line.actor, line.workspace) for line in others} == {("anonymous", "")}
    assert len(others) == 20


def test_a_sign_in_is_noted(memory: Memory, admin: TestClient) -> None:
    key, secret = create_key(memory.store)
    client_of(memory, "").post("/v1/sign-in", json={"key": secret})
    (line,) = lines(admin)
    assert (line["action"], line["actor"], line["outcome"]) == ("sign-in", key.id, "done")


def test_it_is_read_a_page_at_a_time(memory: Memory, admin: TestClient) -> None:
    for number in range(5):
        workspace = "lab" if number % 2 else "default"
        memory.store.note_audit(AuditLine(NOW, workspace, f"k{number}", "x", "done"))
    seen: list[str] = []
    cursor = ""
    while True:
        answer = admin.get(f"/v1/audit?limit=2{cursor}").json()
        seen += [line["actor"] for line in answer["lines"]]
        if answer["next"] is None:
            break
        cursor = f"&cursor={answer['next']}"
    assert seen == ["k0", "k2", "k4"], "those of another workspace are not shown"
    for wrong in (
        "order=up", "limit=0", "limit=1001", "limit=x", "cursor=x", "cursor=-1",
        "cursor=9" + "9" * 30, "cursor=%D9%A3", "cursor=",
    ):  # fmt: skip
        answer = admin.get(f"/v1/audit?{wrong}")
        assert answer.status_code == 400, wrong
        assert answer.json()["field"] == wrong.split("=")[0]


def test_it_is_read_newest_first(memory: Memory, admin: TestClient) -> None:
    for number in range(5):
        memory.store.note_audit(AuditLine(NOW, "default", f"k{number}", "x", "done"))
    newest = admin.get("/v1/audit?order=desc&limit=2").json()
    older = admin.get(f"/v1/audit?order=desc&cursor={newest['next']}").json()
    assert [line["actor"] for line in newest["lines"]] == ["k4", "k3"]
    assert [line["actor"] for line in older["lines"]] == ["k2", "k1", "k0"]
    assert older["next"] is None


BREAKS = {
    "a word changed": ("UPDATE audit SET actor = 'me' WHERE seq = 3", 3),
    "a time changed": ("UPDATE audit SET at = at + 1 WHERE seq = 2", 2),
    "a hash changed": ("UPDATE audit SET hash = zeroblob(32) WHERE seq = 5", 5),
    "a line taken out": ("DELETE FROM audit WHERE seq = 2", 2),
    "the first taken out": ("DELETE FROM audit WHERE seq = 1", 1),
    "the end cut off": ("DELETE FROM audit WHERE seq > 3", 4),
    "all taken out": ("DELETE FROM audit", 1),
    "a line added": (
        "INSERT INTO audit SELECT 6, at, workspace, owner, actor, action, subject, outcome, hash"
        " FROM audit WHERE seq = 5",
        6,
    ),
}


@pytest.mark.parametrize(("statement", "line"), BREAKS.values(), ids=BREAKS)
def test_what_was_tampered_with_is_found(tmp_path: Path, statement: str, line: int) -> None:
    path = tmp_path / "m.db"
    with holdfast.open(path, embedder=HashEmbedder(), worker=False) as memory:
        for number in range(5):
            memory.store.note_audit(AuditLine(NOW, "default", f"k{number}", "x", "done"))
        admin = client_of(memory, create_key(memory.store, role="admin")[1])
        head = memory.store.audit()[-1].hash
        assert admin.get("/v1/audit/verify").json() == {
            "ok": True, "broken_at": None, "lines": 5, "head": head,
        }  # fmt: skip
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(statement)
    connection.close()
    with holdfast.open(path, embedder=HashEmbedder(), worker=False) as memory:
        admin = client_of(memory, create_key(memory.store, role="admin")[1])
        answer = admin.get("/v1/audit/verify").json()
        assert (answer["ok"], answer["broken_at"]) == (False, line)
        (finding,) = [each for each in memory.doctor() if each.check == "audit"]
        assert (finding.ok, finding.detail) == (False, f"it breaks at line {line}")
        memory.store.note_audit(AuditLine(NOW, "default", "later", "x", "done"))
        assert memory.store.verify_audit().broken_at == line, "what comes later heals nothing"
