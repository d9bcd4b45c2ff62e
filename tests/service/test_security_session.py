"""Web pages: signing in, what a session may do, and what foreign pages may not."""

import asyncio
import hmac
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest
from fastapi.testclient import TestClient

import holdfast
from holdfast.memory.memory import Memory
from holdfast.service.http.app import create_app
from holdfast.service.http.auth import Keyring
from holdfast.service.http.guard import COOKIE
from holdfast.service.keys import create_key, revoke_key, rotate_key
from holdfast.testing import HashEmbedder
from tests.service.asking import routes_of

NOW = datetime(2026, 3, 1, tzinfo=UTC)
OWN = {"origin": "http://localhost:3050"}
TELL: dict[str, Any] = {"user_id": "ann", "messages": "I like tea."}


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with holdfast.open(tmp_path / "m.db", embedder=HashEmbedder(), worker=False) as memory:
        yield memory


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def page(memory: Memory, clock: Clock) -> Iterator[TestClient]:
    """A browser with a page of ours, which is signed in."""
    _, secret = create_key(memory.store, clock=clock)
    with TestClient(create_app(memory, clock=clock), "http://localhost:3050") as client:
        answer = client.post("/v1/sign-in", json={"key": secret}, headers=OWN)
        assert (answer.status_code, answer.content) == (204, b"")
        yield client


def test_a_session_stands_for_its_key(page: TestClient) -> None:
    me = page.get("/v1/whoami")
    assert (me.status_code, me.json()["role"]) == (200, "write")
    assert page.post("/v1/memories", json=TELL, headers=OWN).status_code == 200
    found = page.post("/v1/recall", json={"user_id": "ann", "query": "tea"}, headers=OWN)
    assert found.json()["hits"][0]["content"] == "I like tea."


def test_the_cookie_is_for_pages_of_ours_alone(memory: Memory, clock: Clock) -> None:
    _, secret = create_key(memory.store, clock=clock)
    for origin, secure in (("http://localhost", False), ("https://localhost", True)):
        client = TestClient(create_app(memory, clock=clock), "http://localhost")
        answer = client.post("/v1/sign-in", json={"key": secret}, headers={"origin": origin})
        (cookie,) = answer.headers.get_list("set-cookie")
        name, *attributes = cookie.lower().split("; ")
        assert name.startswith(COOKIE + "=")
        assert secret.lower() not in cookie.lower()
        wanted = {"httponly", "samesite=strict", "path=/", "max-age=43200"}
        assert wanted <= set(attributes)
        assert ("secure" in attributes) == secure


@pytest.mark.parametrize("body", [{"key": "rk_wrong"}, {"key": ""}, {"key": 1}, {}, {"k": "v"}])
def test_a_wrong_key_signs_nobody_in(memory: Memory, body: dict[str, Any]) -> None:
    client = TestClient(create_app(memory), "http://localhost")
    answer = client.post("/v1/sign-in", json=body)
    assert answer.status_code == (401 if body == {"key": "rk_wrong"} else 400)
    assert "set-cookie" not in answer.headers
    assert "rk_wrong" not in answer.text


def test_a_session_ends_with_its_time(page: TestClient, clock: Clock) -> None:
    clock.now += timedelta(hours=11, minutes=59)
    assert page.get("/v1/whoami").status_code == 200
    clock.now += timedelta(minutes=1)
    assert page.get("/v1/whoami").status_code == 401


@pytest.mark.parametrize("how", ["revoked", "rotated", "erased"])
def test_a_session_ends_with_its_key(memory: Memory, clock: Clock, how: str) -> None:
    key, secret = create_key(memory.store, user="ann", clock=clock)
    app = create_app(memory, clock=clock)
    with TestClient(app, "http://localhost:3050") as page:
        page.post("/v1/sign-in", json={"key": secret}, headers=OWN)
        assert page.get("/v1/whoami").status_code == 200
        if how == "revoked":
            revoke_key(memory.store, key.id, at=NOW)
        elif how == "rotated":
            rotate_key(memory.store, key.id)
        else:
            memory.erase(user="ann")
        app.state.keyring.forget()
        assert page.get("/v1/whoami").status_code == 401


def test_signing_out_takes_the_cookie_away(page: TestClient) -> None:
    assert page.post("/v1/sign-out", headers=OWN).status_code == 204
    assert COOKIE not in page.cookies
    assert page.get("/v1/whoami").status_code == 401


def test_signing_out_ends_the_session_whoever_has_it(memory: Memory, clock: Clock) -> None:
    _, secret = create_key(memory.store, clock=clock)
    with TestClient(create_app(memory, clock=clock), "http://localhost:3050") as client:
        taken = []
        for _ in range(2):
            client.post("/v1/sign-in", json={"key": secret}, headers=OWN)
            taken.append([(b"cookie", f"{COOKIE}={client.cookies[COOKIE]}".encode())])
            assert client.get("/v1/whoami", headers=taken[-1]).status_code == 200
        assert client.post("/v1/sign-out", headers=OWN).status_code == 204
        client.cookies.clear()
        statuses = [client.get("/v1/whoami", headers=each).status_code for each in taken]
    assert statuses == [200, 401], "the other session of the key goes on"


def test_a_key_has_only_so_many_sessions(memory: Memory, clock: Clock) -> None:
    key, _ = create_key(memory.store, clock=clock)
    keyring = Keyring(memory.store, clock)

    async def begin(count: int) -> list[str]:
        begun = []
        for _ in range(count):
            clock.now += timedelta(seconds=1)
            begun.append(await keyring.begin(key))
        return begun

    begun = asyncio.run(begin(40))
    assert [keyring.is_open(each) for each in begun] == [False] * 8 + [True] * 32


def test_no_session_can_be_made_up(page: TestClient, memory: Memory, clock: Clock) -> None:
    session = page.cookies[COOKIE]
    id, ends, token = session.split(".")
    other, _ = create_key(memory.store, role="admin", clock=clock)
    page.cookies.clear()
    for forged in (
        f"{other.id}.{ends}.{token}", f"{id}.{int(ends) + 1}.{token}",
        f"{id}.{ends}.{token[::-1]}", f"{id}.{ends}.", f"{id}.{ends}", f".{ends}.{token}",
        "..", "a.b.c.d", "x" * 5000, "\xe9.1.2",
        f"{id}.{ends}.{token}.{token}", f"{id}.x.{token}", f"{id}.-1.{token}",
    ):  # fmt: skip
        headers = [(b"cookie", f"{COOKIE}={forged}".encode("latin-1"))]
        assert page.get("/v1/whoami", headers=headers).status_code == 401, forged
    headers = [(b"cookie", f"{COOKIE}={session}".encode())]
    assert page.get("/v1/whoami", headers=headers).status_code == 200


def test_nothing_that_a_store_holds_makes_a_session(
    page: TestClient, memory: Memory, clock: Clock
) -> None:
    admin, _ = create_key(memory.store, role="admin", clock=clock)
    # What older versions signed with, and still lies in their files.
    memory.store.secret("sessions")
    with apsw.Connection(memory.store._path) as file:  # type: ignore[attr-defined]
        digest = file.execute("SELECT digest FROM api_keys WHERE id = ?", (admin.id,)).get
        columns = [
            (table, column)
            for (table,) in file.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
            for _, column, *_ in file.execute(f"PRAGMA table_info({table})")
        ]
        held = {
            value if isinstance(value, bytes) else str(value).encode()
            for table, column in columns
            for (value,) in file.execute(f"SELECT {column} FROM {table}")
        }
    assert len(held) > 20
    page.cookies.clear()
    text = f"{admin.id}.{int(NOW.timestamp()) + 3600}"
    for token in {each.hex() for each in held} | {
        hmac.digest(each, f"{text}.{digest.hex()}".encode(), "sha256").hex() for each in held
    }:
        headers = [(b"cookie", f"{COOKIE}={text}.{token}".encode())]
        assert page.get("/v1/whoami", headers=headers).status_code == 401


def test_a_session_ends_with_the_service_that_began_it(page: TestClient, memory: Memory) -> None:
    again = TestClient(create_app(memory), "http://localhost:3050", cookies=dict(page.cookies))
    assert again.get("/v1/whoami").status_code == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 403),
        ({"x-holdfast-request": "1"}, 200),
        ({"x-holdfast-request": "0"}, 403),
        ({"origin": "http://localhost:3050"}, 200),
        # Another program's page on this machine: the browser gives it our cookies.
        ({"origin": "http://localhost:8080"}, 403),
        ({"origin": "http://localhost"}, 403),
        ({"origin": "http://127.0.0.1:3050"}, 403),
        ({"origin": "https://evil.example", "x-holdfast-request": "1"}, 403),
        ({"origin": "null", "x-holdfast-request": "1"}, 403),
        ({"sec-fetch-site": "cross-site", "x-holdfast-request": "1"}, 403),
    ],
)
def test_what_a_session_changes_must_come_from_our_page(
    page: TestClient, memory: Memory, headers: dict[str, str], status: int
) -> None:
    assert page.post("/v1/memories", json=TELL, headers=headers).status_code == status
    assert memory.store.stats()["events"] == (1 if status == 200 else 0)


def test_a_key_in_a_header_needs_no_such_thing(memory: Memory) -> None:
    headers = {"authorization": f"Bearer {create_key(memory.store)[1]}"}
    client = TestClient(create_app(memory), "http://localhost", headers=headers)
    assert client.post("/v1/memories", json=TELL).status_code == 200


FOREIGN: dict[str, dict[str, str]] = {
    "another site": {"origin": "https://evil.example"},
    "a sandboxed page": {"origin": "null"},
    "a file": {"origin": "file:" + "//"},
    "a name that looks like ours": {"origin": "http://localhost.evil.example"},
    "a user that looks like ours": {"origin": "http://localhost@evil.example"},
    "rebound": {"host": "evil.example"},
    "rebound with our port": {"host": "evil.example:3050"},
    "a host that ends like ours": {"host": "evil-localhost"},
    "a host with a user": {"host": "localhost@evil.example"},
    "no host": {"host": ""},
    "half a host": {"host": "[::1"},
    "a picture on another site": {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"},
}


@pytest.mark.parametrize("headers", FOREIGN.values(), ids=FOREIGN)
def test_no_route_answers_a_foreign_page(memory: Memory, headers: dict[str, str]) -> None:
    app = create_app(memory)
    admin = {"authorization": f"Bearer {create_key(memory.store, role='admin')[1]}"}
    client = TestClient(app, "http://localhost:3050", headers=admin)
    routes = routes_of(app)
    assert len(routes) > 100
    for route in routes:
        path = route.path.replace("{", "").replace("}", "")
        answer = client.request(route.method, path, headers=headers)
        assert answer.status_code == 403, route
        assert not [name for name in answer.headers if name.startswith("access-control")]
    assert client.options("/v1/recall", headers=headers).status_code == 403


def test_a_link_to_us_may_stand_anywhere(memory: Memory) -> None:
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    client = TestClient(create_app(memory), "http://localhost")
    assert client.get("/health", headers=headers).status_code == 200


def test_names_that_the_operator_gave_are_ours(tmp_path: Path) -> None:
    config = {"service.hosts": "memory.example, Other.example"}
    with holdfast.open(tmp_path / "n.db", embedder=HashEmbedder(), config=config) as memory:
        client = TestClient(create_app(memory, hosts=["10.0.0.7"]), "http://localhost")
        for host in ("memory.example", "other.example:443", "10.0.0.7:3050", "[::1]:3050"):
            assert client.get("/health", headers={"host": host}).status_code == 200, host
        headers = {"host": "memory.example", "origin": "https://memory.example"}
        assert client.get("/health", headers=headers).status_code == 200
        assert client.get("/health", headers={"host": "10.0.0.8"}).status_code == 403
