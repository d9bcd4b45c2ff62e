"""Keys: made, shown once, given another secret, dead within a second; and who gets in without."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

import holdfast
from holdfast.errors import ConfigError
from holdfast.memory.memory import Memory
from holdfast.service.http.app import check_no_auth, create_app
from holdfast.service.http.auth import Keyring
from holdfast.service.keys import create_key, revoke_key
from holdfast.store.protocols import StoredKey
from holdfast.testing import HashEmbedder
from holdfast.types import ApiKey
from tests.service.live import wait_until

NOW = datetime(2026, 3, 1, tzinfo=UTC)
RECALL: dict[str, Any] = {"json": {"user_id": "ann", "query": "tea"}}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with holdfast.open(tmp_path / "m.db", embedder=HashEmbedder(), worker=False) as memory:
        yield memory


def client_of(memory: Memory, secret: str | None = None, **options: Any) -> TestClient:
    headers = {} if secret is None else {"authorization": f"Bearer {secret}"}
    return TestClient(create_app(memory, **options), "http://localhost:3050", headers=headers)


@pytest.fixture
def admin(memory: Memory) -> TestClient:
    return client_of(memory, create_key(memory.store, role="admin")[1])


def made(admin: TestClient, **fields: Any) -> dict[str, Any]:
    answer = admin.post("/v1/keys", json=fields)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def test_a_key_is_made_and_shown_once(memory: Memory, admin: TestClient) -> None:
    fields = {
        "user_id": "ann", "role": "read", "label": "laptop", "tools": ["recall"],
        "expires_at": "2100-01-01T00:00:00Z", "workspace_id": "default",
    }  # fmt: skip
    key = made(admin, **fields)
    assert {name: key[name] for name in fields} == fields
    assert key["key"].startswith("rk_")
    assert len(key["key"]) == 3 + 43, "256 bits"
    listed = admin.get("/v1/keys")
    assert key["key"] not in listed.text
    assert listed.json()["count"] == 2
    assert {**listed.json()["keys"][1], "key": key["key"]} == key
    me = client_of(memory, key["key"]).get("/v1/whoami").json()
    assert me == {
        "key_id": key["id"], "workspace_id": "default", "user_id": "ann", "role": "read",
        "tools": ["recall"], "expires_at": "2100-01-01T00:00:00Z",
    }  # fmt: skip
    files = [path.read_bytes() for path in Path(memory.store._path).parent.iterdir()]  # type: ignore[attr-defined]
    assert not any(key["key"].encode() in each for each in files)


def test_a_key_is_of_the_workspace_that_asks(memory: Memory) -> None:
    admin = client_of(memory, create_key(memory.store, role="admin", workspace="lab")[1])
    key = made(admin)
    assert (key["workspace_id"], key["user_id"], key["role"]) == ("lab", None, "write")
    for other in ("default", "no-such-place"):
        assert admin.post("/v1/keys", json={"workspace_id": other}).status_code == 403
        asked = {"workspace_id": other, "user_id": "ann", "query": "tea"}
        assert admin.post("/v1/recall", json=asked).status_code == 403


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"role": "god"}, "role", "role must be one of read, write, admin"),
        ({"role": 1}, "role", "role must be a string"),
        ({"user_id": " "}, "user_id", "user_id is blank"),
        ({"user_id": "a\0"}, "user_id", "NUL"),
        ({"expires_at": "2001-01-01T00:00Z"}, "expires_at", "in the past"),
        ({"expires_at": "soon"}, "expires_at", ""),
        ({"tools": ["no name"]}, "tools", "there is no tool 'no name'; known: "),
        ({"tools": ["recal"]}, "tools", "there is no tool 'recal'; known: remember, "),
        ({"tools": [" , "]}, "tools", "tools names no tool"),
        ({"tools": "recall"}, "tools", "must be a list"),
        ({"tools": [f"t{n}" for n in range(101)]}, "tools", ""),
        ({"label": ""}, "label", "label is blank"),
        ({"secret": "mine"}, "secret", "is not a field of this request"),
    ],
)
def test_what_no_key_can_be(
    admin: TestClient, fields: dict[str, Any], field: str, words: str
) -> None:
    answer = admin.post("/v1/keys", json=fields)
    assert answer.status_code == 400
    assert answer.json()["field"] == field
    assert words in answer.json()["error"]
    assert len(admin.get("/v1/keys").json()["keys"]) == 1


def test_tools_may_have_commas_between(admin: TestClient) -> None:
    assert made(admin, tools=["recall, context", "notes"])["tools"] == [
        "recall", "context", "notes",
    ]  # fmt: skip


def test_the_last_admin_key_stays(memory: Memory, admin: TestClient) -> None:
    id = admin.get("/v1/whoami").json()["key_id"]
    made(admin, role="admin", user_id="ann")
    create_key(memory.store, role="admin", workspace="lab")
    gone, _ = create_key(memory.store, role="admin")
    revoke_key(memory.store, gone.id, at=NOW)
    answer = admin.delete(f"/v1/keys/{id}")
    assert answer.status_code == 409
    assert answer.json() == {"error": "this is the last admin key: make another first"}
    assert admin.get("/v1/whoami").status_code == 200
    made(admin, role="admin")
    assert admin.delete(f"/v1/keys/{id}").json() == {"changed": True}


def test_a_rotated_key_has_a_new_secret_and_the_old_one_is_dead(
    memory: Memory, admin: TestClient
) -> None:
    key = made(admin)
    old = client_of(memory, key["key"])
    assert old.post("/v1/recall", **RECALL).status_code == 200
    rotated = admin.post(f"/v1/keys/{key['id']}/rotate").json()
    assert {**rotated, "key": key["key"]} == key
    assert rotated["key"] != key["key"]
    new = client_of(memory, rotated["key"])
    assert new.post("/v1/recall", **RECALL).status_code == 200
    assert admin.delete(f"/v1/keys/{key['id']}").json() == {"changed": True}
    assert admin.post(f"/v1/keys/{key['id']}/rotate").status_code == 409


def test_what_this_process_revokes_is_dead_at_once(memory: Memory) -> None:
    app = create_app(memory)
    secret = create_key(memory.store, role="admin")[1]
    admin = TestClient(app, "http://localhost", headers={"x-api-key": secret})
    key = made(admin)
    other = TestClient(app, "http://localhost", headers={"x-api-key": key["key"]})
    assert other.post("/v1/recall", **RECALL).status_code == 200
    admin.post(f"/v1/keys/{key['id']}/rotate")
    assert other.post("/v1/recall", **RECALL).status_code == 401
    key = made(admin)
    other.headers["x-api-key"] = key["key"]
    assert other.post("/v1/recall", **RECALL).status_code == 200
    assert admin.delete(f"/v1/keys/{key['id']}").json() == {"changed": True}
    assert other.post("/v1/recall", **RECALL).status_code == 401
    assert admin.delete(f"/v1/keys/{key['id']}").json() == {"changed": False}


def test_what_another_process_revokes_is_dead_within_a_second(memory: Memory) -> None:
    key, secret = create_key(memory.store)
    client = client_of(memory, secret)
    with client:
        assert client.post("/v1/recall", **RECALL).status_code == 200
        revoke_key(memory.store, key.id, at=NOW)
        wait_until(lambda: client.post("/v1/recall", **RECALL).status_code == 401, 30)


@pytest.mark.parametrize("kind", ["secret", "session"])
def test_a_key_is_believed_for_less_than_a_second(memory: Memory, kind: str) -> None:
    key, secret = create_key(memory.store)
    seconds = 0.0
    keyring = Keyring(memory.store, memory.now, timer=lambda: seconds)
    session = asyncio.run(keyring.begin(key))

    def found() -> ApiKey | None:
        asked = keyring.of_secret(secret) if kind == "secret" else keyring.of_session(session)
        return asyncio.run(asked)

    assert found() == key
    revoke_key(memory.store, key.id, at=NOW)
    assert found() == key, "it is not read for each request"
    seconds = 0.99
    assert found() is None


def test_keys_are_for_operators_alone(memory: Memory, admin: TestClient) -> None:
    key = made(admin)
    others = [
        create_key(memory.store, role="read")[1],
        create_key(memory.store, role="write")[1],
        create_key(memory.store, role="admin", user="ann")[1],
    ]
    for secret in others:
        client = client_of(memory, secret)
        for method, path in (
            ("POST", "/v1/keys"), ("GET", "/v1/keys"), ("DELETE", f"/v1/keys/{key['id']}"),
            ("POST", f"/v1/keys/{key['id']}/rotate"), ("GET", "/v1/audit"),
            ("GET", "/v1/audit/verify"),
        ):  # fmt: skip
            content: Any = {} if path == "/v1/keys" and method == "POST" else None
            answer = client.request(method, path, json=content)
            assert answer.status_code == 403, (method, path)
    for method, path in (("DELETE", "/v1/keys/nope"), ("POST", "/v1/keys/nope/rotate")):
        assert admin.request(method, path).status_code == 404


# Start-up: whatever is unset, empty or over, nobody gets in without a key.

SHOWN: dict[str, dict[str, str]] = {
    "nothing": {},
    "an empty header": {"authorization": ""},
    "an empty bearer": {"authorization": "Bearer "},
    "None": {"authorization": "Bearer None"},
    "null": {"authorization": "Bearer null"},
    "another scheme": {"authorization": "Basic YTpi"},
    "an empty key": {"x-api-key": ""},
    "the word None": {"x-api-key": "None"},
    "an empty session": {"cookie": "holdfast_session="},
    "a session of nobody": {"cookie": "holdfast_session=..; holdfast_session=a.9999999999.b"},
    "a prefix": {"authorization": "Bearer rk_"},
    "a surrogate": {"authorization": "Bearer \xff\xfe"},
}


def _no_keys(memory: Memory) -> None:
    del memory


def _empty_key(memory: Memory) -> None:
    memory.store.put_key(StoredKey(ApiKey("", "default", None, "admin", NOW), b""))


def _revoked(memory: Memory) -> None:
    key, _ = create_key(memory.store, role="admin")
    revoke_key(memory.store, key.id, at=NOW)


def _expired(memory: Memory) -> None:
    create_key(memory.store, role="admin", expires_at=NOW, clock=lambda: NOW - timedelta(days=1))


@pytest.mark.parametrize("prepare", [_no_keys, _empty_key, _revoked, _expired])
def test_no_state_of_a_store_lets_anybody_in(memory: Memory, prepare: Any) -> None:
    prepare(memory)
    client = client_of(memory, clock=lambda: NOW)
    for name, headers in SHOWN.items():
        for method, path in (
            ("POST", "/v1/recall"), ("GET", "/v1/keys"), ("GET", "/nothing"), ("GET", "/metrics"),
            ("POST", "/mcp"), ("POST", "/v1/proxy/chat/completions"), ("GET", "/api/memory"),
        ):  # fmt: skip
            sent = [(key.encode(), value.encode("latin-1")) for key, value in headers.items()]
            answer = client.request(method, path, headers=sent)
            assert answer.status_code == 401, (name, path)
            assert answer.headers["www-authenticate"] == "Bearer"


def test_without_keys_everybody_here_is_the_operator(memory: Memory) -> None:
    client = client_of(memory, no_auth=True)
    me = client.get("/v1/whoami").json()
    assert (me["workspace_id"], me["user_id"], me["role"]) == ("default", None, "admin")
    assert client.get("/v1/keys").json() == {"keys": [], "count": 0}
    assert client.post("/v1/recall", **RECALL).status_code == 200
    for headers in ({"origin": "https://evil.example"}, {"host": "evil.example"}):
        assert client.get("/v1/whoami", headers=headers).status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://localhost:3990"},
        {"origin": "null"},
        {"sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors"},
    ],
)
def test_without_keys_no_page_of_another_port_writes(
    memory: Memory, headers: dict[str, str]
) -> None:
    client = client_of(memory, no_auth=True)
    body = {"user_id": "ann", "messages": [{"role": "user", "content": "I like tea."}]}
    assert client.post("/v1/memories", json=body, headers=headers).status_code == 403
    assert memory.list(user="ann").memories == ()
    ours = {"origin": str(client.base_url).rstrip("/"), "sec-fetch-site": "same-origin"}
    assert client.post("/v1/memories", json=body, headers=ours).status_code < 300
    assert client.post("/v1/memories", json=body).status_code < 300, "no page sent it"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "localhost", "::1", "[::1]"])
def test_no_auth_on_the_loopback(host: str) -> None:
    check_no_auth(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.168.0.2", "example.org", "10.0.0.1"])
def test_no_auth_anywhere_else_is_refused_in_words(host: str, tmp_path: Path) -> None:
    from holdfast.service.http.serving import serve

    with pytest.raises(ConfigError, match="only for the loopback"):
        serve(tmp_path / "m.db", host=host, no_auth=True)
    assert not (tmp_path / "m.db").exists()
