"""Connections, retries and failures, against a server that does as it is told."""

import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

import holdfast
from holdfast.client.transport import HttpRequest, Transport
from holdfast.errors import (
    Closed,
    ConfigError,
    HoldfastError,
    ServiceError,
    Throttled,
    Unavailable,
)

KEY = "rk_secret"
RECEIPT = {"events": ["e1"], "key": None, "duplicate": False, "state": "stored", "warnings": []}
FOUND = {"hits": [], "degraded": [], "task_profile": "general"}
HANG_UP, SILENCE = -1, -2

Answer = tuple[int, dict[str, str], Any]


@dataclass
class Scripted:
    """A server, what it will answer, and what it was asked."""

    address: str = ""
    #: One after the other; the last one again and again.
    answers: list[Answer] = field(default_factory=lambda: [(200, {}, FOUND)])
    requests: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    connections: Counter[object] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)
    stop: threading.Event = field(default_factory=threading.Event)

    def next(self) -> Answer:
        with self.lock:
            return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def handler(script: Scripted) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            script.requests.append((self.command, self.path, headers, body))
            script.connections[self.client_address] += 1
            status, more, value = script.next()
            self.close_connection = status < 0 or more.pop("hang up", "") == "afterwards"
            if status == SILENCE:
                script.stop.wait(60)
            if status < 0:
                return
            told = value if isinstance(value, bytes) else json.dumps(value).encode()
            self.send_response(status)
            for name, each in {**more, "content-length": str(len(told))}.items():
                self.send_header(name, each)
            self.end_headers()
            self.wfile.write(told)

        do_GET = do_DELETE = do_POST

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler


@contextmanager
def running() -> Iterator[Scripted]:
    script = Scripted()
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(script))
    script.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield script
    finally:
        script.stop.set()
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def script() -> Iterator[Scripted]:
    with running() as script:
        yield script


@pytest.fixture
def client(script: Scripted) -> Iterator[holdfast.Client]:
    with holdfast.Client(script.address, KEY, timeout=10) as client:
        yield client


def ask(client: holdfast.Client) -> object:
    return client.recall("x", user="ann")


# Connections


def test_one_connection_serves_one_call_after_another(
    script: Scripted, client: holdfast.Client
) -> None:
    for _ in range(5):
        ask(client)
    assert list(script.connections.values()) == [5]
    assert script.requests[0][2]["authorization"] == f"Bearer {KEY}"


def test_a_connection_that_was_closed_meanwhile_is_replaced_unnoticed(
    script: Scripted, client: holdfast.Client
) -> None:
    script.answers = [(200, {"hang up": "afterwards"}, FOUND), (200, {}, FOUND)]
    began = time.monotonic()
    for _ in range(3):
        ask(client)
    assert len(script.requests) == 3
    assert sorted(script.connections.values()) == [1, 2]
    assert time.monotonic() - began < 30


def test_threads_share_a_client(script: Scripted, client: holdfast.Client) -> None:
    with ThreadPoolExecutor(16) as pool:
        assert all(found == [] for found in pool.map(lambda _: ask(client), range(200)))
    assert len(script.requests) == 200
    assert len(script.connections) <= 16


def test_a_large_body_arrives(script: Scripted, client: holdfast.Client) -> None:
    script.answers = [(200, {}, RECEIPT)]
    text = "ü" * 4_000_000
    client.remember(text, user="ann")
    assert json.loads(script.requests[0][3])["messages"] == text


# Trying again


def test_a_connection_reset_before_it_stood_is_tried_again(
    script: Scripted, client: holdfast.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, resets = socket.create_connection, [ConnectionResetError("reset by peer")]

    def connect(*args: Any, **kwargs: Any) -> socket.socket:
        if resets:  # What the kernel says when the server dies during the handshake.
            raise resets.pop()
        return real(*args, **kwargs)

    monkeypatch.setattr(socket, "create_connection", connect)
    script.answers = [(200, {}, RECEIPT)]
    assert client.remember("I moved to Lisbon.", user="ann").events == ("e1",)
    assert len(script.requests) == 1


@pytest.mark.parametrize("status", [HANG_UP, 503, 429])
def test_a_call_is_sent_again_with_the_same_key(
    script: Scripted, client: holdfast.Client, status: int
) -> None:
    script.answers = [(status, {}, {"error": "busy"}), (200, {}, {**RECEIPT, "duplicate": True})]
    receipt = client.remember("I moved to Lisbon.", user="ann")
    assert len(script.requests) == 2
    keys = {headers["idempotency-key"] for _, _, headers, _ in script.requests}
    assert len(keys) == 1
    # It was this very call that the service knew already: for the caller there was one.
    assert receipt.events == ("e1",)
    assert not receipt.duplicate
    assert receipt.key is None


def test_two_calls_have_two_keys_and_the_callers_own_is_kept(
    script: Scripted, client: holdfast.Client
) -> None:
    script.answers = [(200, {}, {**RECEIPT, "duplicate": True})]
    client.remember("x", user="ann")
    client.remember("x", user="ann")
    receipt = client.remember("x", user="ann", key="mine")
    first, second, third = [each[2]["idempotency-key"] for each in script.requests]
    assert len({first, second, third}) == 3
    assert third == "mine"
    assert (receipt.key, receipt.duplicate) == ("mine", True)


def test_a_service_that_stays_away_is_given_up_on(script: Scripted) -> None:
    script.answers = [(HANG_UP, {}, None)]
    with (
        holdfast.Client(script.address, KEY, retries=2) as client,
        pytest.raises(Unavailable, match="the connection failed"),
    ):
        ask(client)
    assert len(script.requests) == 3


def test_what_is_refused_is_not_sent_again(script: Scripted, client: holdfast.Client) -> None:
    for status in (400, 401, 403, 404, 409, 413, 500, 507):
        script.requests.clear()
        script.answers = [(status, {}, {"error": "no"})]
        with pytest.raises(HoldfastError):
            ask(client)
        assert len(script.requests) == 1, status


def test_a_service_that_says_when_is_asked_then(script: Scripted, client: holdfast.Client) -> None:
    script.answers = [(429, {"retry-after": "1"}, {"error": "slowly"}), (200, {}, FOUND)]
    began = time.monotonic()
    ask(client)
    assert time.monotonic() - began >= 1


def test_a_wait_longer_than_the_call_may_take_is_told_at_once(
    script: Scripted, client: holdfast.Client
) -> None:
    script.answers = [(429, {"retry-after": "60"}, {"error": "at most 10 a minute"})]
    began = time.monotonic()
    with pytest.raises(Throttled, match="at most 10 a minute") as told:
        ask(client)
    assert told.value.retry_after == 60
    assert time.monotonic() - began < 30


# Failing


def failing(call: Callable[[], object], kind: type[HoldfastError]) -> str:
    began = time.monotonic()
    with pytest.raises(kind) as told:
        call()
    assert time.monotonic() - began < 30
    assert KEY not in str(told.value)
    return str(told.value)


def test_a_service_that_does_not_answer(script: Scripted) -> None:
    script.answers = [(SILENCE, {}, None)]
    with holdfast.Client(script.address, KEY, timeout=0.3) as client:
        words = failing(lambda: ask(client), Unavailable)
    assert words == f"{script.address}: no answer within 0.3 s"


def test_an_address_where_nobody_listens() -> None:
    with socket.socket() as taken:  # Bound, so that nobody else gets it, but not listening.
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with holdfast.Client(address, KEY, retries=1) as client:
            words = failing(lambda: ask(client), Unavailable)
    assert words == f"{address}: nobody listens there: is the service running?"


def test_a_service_without_tls_called_with_it(script: Scripted) -> None:
    address = script.address.replace("http", "https")
    with holdfast.Client(address, KEY, retries=9) as client:
        words = failing(lambda: ask(client), Unavailable)
    assert words == f"{address}: no TLS is spoken there: is it http://?"
    assert script.requests == []


def test_a_redirect_is_not_followed(script: Scripted, client: holdfast.Client) -> None:
    with running() as other:
        script.answers = [(307, {"location": other.address + "/v1/recall"}, b"")]
        words = failing(lambda: ask(client), ServiceError)
        assert other.requests == []
    assert "HTTP 307" in words


@pytest.mark.parametrize("said", [b"<html>login</html>", b"[1]", b'"x"', b'{"hits": 3}', b""])
def test_an_answer_of_something_else(
    script: Scripted, client: holdfast.Client, said: bytes
) -> None:
    script.answers = [(200, {}, said)]
    assert script.address in failing(lambda: ask(client), ServiceError)


def test_a_path_that_the_service_does_not_know(script: Scripted, client: holdfast.Client) -> None:
    told = {"error": "there is no POST /v1/recall: see GET /v1/openapi.json"}
    for headers, body in (({}, {"error": "Not Found"}), ({"x-holdfast-error": "NoRoute"}, told)):
        script.answers = [(404, headers, body)]
        assert "older version" in failing(lambda: ask(client), ServiceError)


@pytest.mark.parametrize("status", [400, 404, 405, 409, 501])
def test_something_else_at_the_address(
    script: Scripted, client: holdfast.Client, status: int
) -> None:
    script.answers = [(status, {}, b"<html>nothing here</html>")]
    words = failing(lambda: ask(client), ServiceError)
    told = f"this does not look like Holdfast (HTTP {status}): check the address"
    assert words == f"{script.address}: {told}"


def test_a_client_that_is_closed(script: Scripted) -> None:
    client = holdfast.Client(script.address, KEY)
    ask(client)
    client.close()
    client.close()
    with pytest.raises(Closed):
        ask(client)


def test_closing_ends_the_waiting(script: Scripted) -> None:
    script.answers = [(503, {"retry-after": "25"}, {"error": "busy"})]
    client = holdfast.Client(script.address, KEY)
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(ask, client)
        while not script.requests:
            time.sleep(0.01)
        client.close()
        with pytest.raises(Closed):
            call.result(timeout=20)


@pytest.mark.parametrize(
    "url",
    [
        "http://", "http:///v1", "http://[::1", "http://host:99999", "http://host:0",
        "http://me@host", "http://me:secret@host", "http://host?key=secret", "http://host/#secret",
        "ftp://host",
    ],
)  # fmt: skip
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(ConfigError) as told:
        Transport(url)
    assert "secret" not in str(told.value)


@pytest.mark.parametrize("key", ["rk secret", "rk_secret\r\nx: y", "rk_schlüssel"])
def test_a_key_that_is_none(key: str) -> None:
    with pytest.raises(ConfigError) as told:
        Transport("http://localhost", key)
    assert key not in str(told.value)


def test_an_address_with_a_path(script: Scripted) -> None:
    transport = Transport(script.address + "/memory/", KEY)
    transport.exchange(HttpRequest("GET", "/health"))
    transport.close()
    assert script.requests[0][1] == "/memory/health"
    assert transport.address == script.address + "/memory"


def test_the_key_of_the_environment(script: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_API_KEY", "rk_theirs")
    with holdfast.open(script.address) as memory:
        memory.recall("x", user="ann")
    with holdfast.open(script.address, api_key="rk_mine") as memory:
        memory.recall("x", user="ann")
    shown = [headers["authorization"] for _, _, headers, _ in script.requests]
    assert shown == ["Bearer rk_theirs", "Bearer rk_mine"]


def test_what_belongs_to_the_service_is_not_given_to_a_client() -> None:
    with pytest.raises(ConfigError, match="config belongs to the service"):
        holdfast.open("http://localhost:3050", config={"fusion": "rrf"})
    with pytest.raises(ConfigError, match="api_key is for a service"):
        holdfast.open("memory.db", api_key=KEY)
