"""How much is taken in, to the byte; and that who is slow, large or hostile holds nobody up."""

import asyncio
import gzip
import json
import resource
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPResponse
from pathlib import Path
from typing import Any

import pytest
from fastapi import HTTPException
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

import holdfast
from holdfast.memory.memory import Memory
from holdfast.service.http.app import create_app
from holdfast.service.http.idempotency import answer_once
from holdfast.service.http.limits import Backlog, RateLimit
from holdfast.service.http.wire import parse_json
from holdfast.service.keys import create_key
from holdfast.settings import Service
from holdfast.testing import HashEmbedder
from holdfast.types import Scope
from tests.service.live import live, wait_until

JSON = {"content-type": "application/json"}
TWO = [{"content": "milk"}, {"content": "sugar"}]
SECURITY = (
    "x-content-type-options", "x-frame-options", "cache-control", "content-security-policy",
    "referrer-policy", "cross-origin-resource-policy",
)  # fmt: skip


@contextmanager
def opened(tmp_path: Path, **settings: Any) -> Iterator[Memory]:
    config = {name.replace("__", "."): value for name, value in settings.items()}
    with holdfast.open(
        tmp_path / "m.db", embedder=HashEmbedder(), worker=False, config=config
    ) as memory:
        yield memory


def client_of(memory: Memory, secret: str | None = None) -> TestClient:
    secret = secret or create_key(memory.store)[1]
    headers = {"authorization": f"Bearer {secret}"}
    return TestClient(create_app(memory), "http://localhost:3050", headers=headers)


# Bytes


def of_size(size: int) -> bytes:
    body = json.dumps({"user_id": "ann", "query": ""}).encode()
    return body[:-2] + b"x" * (size - len(body)) + body[-2:]


@pytest.mark.parametrize("path", ["/v1/recall", "/v1/memories/search", "/v1/keys", "/nothing"])
def test_a_body_of_one_byte_more_is_refused(tmp_path: Path, path: str) -> None:
    with opened(tmp_path, limits__bodyBytes=1000) as memory:
        client = client_of(memory, create_key(memory.store, role="admin")[1])
        for size in (1000, 1001):
            body = of_size(size)
            assert len(body) == size
            announced = client.post(path, content=body, headers=JSON)
            chunked = client.post(path, content=iter([body[:600], body[600:]]), headers=JSON)
            assert (announced.status_code == 413) == (size > 1000)
            if path != "/nothing":  # Nobody reads what is sent to nowhere.
                assert (chunked.status_code == 413) == (size > 1000)
            if size > 1000:
                assert announced.json() == {"error": "the body is over the limit of 1000 bytes"}
                assert announced.headers["connection"] == "close"


def test_without_a_key_little_is_read(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        client = TestClient(create_app(memory), "http://localhost")
        body = b'{"key": "' + b"x" * 5000 + b'"}'
        answer = client.post("/v1/sign-in", content=body, headers=JSON)
        assert (answer.status_code, "4096 bytes" in answer.text) == (413, True)


@pytest.mark.parametrize("packing", ["gzip", "deflate", "br", "zstd", "gzip, gzip", "x"])
def test_packed_bodies_are_refused_unread(tmp_path: Path, packing: str) -> None:
    bomb = gzip.compress(b'{"user_id": "ann", "query": "' + b"0" * 10_000_000 + b'"}')
    with opened(tmp_path) as memory:
        headers = {**JSON, "content-encoding": packing}
        answer = client_of(memory).post("/v1/recall", content=bomb, headers=headers)
        assert (answer.status_code, "identity" in answer.json()["error"]) == (415, True)
        plain = {**JSON, "content-encoding": "identity"}
        body = of_size(100)
        assert client_of(memory).post("/v1/recall", content=body, headers=plain).status_code == 200


# JSON


def refusal(body: bytes, limits: Service | None = None) -> tuple[int, str]:
    with pytest.raises(HTTPException) as caught:
        parse_json(body, limits or Service())
    return caught.value.status_code, caught.value.detail


@pytest.mark.parametrize(
    ("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}"), (b'[{"a":', b"}]")]
)
def test_nesting_has_a_limit_to_the_level(opening: bytes, closing: bytes) -> None:
    step = opening.count(b"[") + opening.count(b"{")
    limits = Service(json_depth=64)
    levels = 64 // step
    inner = b"1" if b"{" in opening else b""
    parse_json(opening * levels + inner + closing * levels, limits)
    more = opening * (levels + 1) + inner + closing * (levels + 1)
    assert refusal(more, limits) == (
        422, "the body is nested too deeply, the limit is 64 levels",
    )  # fmt: skip
    assert refusal(opening * 100_000, limits)[0] == 422


def count(each: Any) -> int:
    """How many values a value holds."""
    inner = each.values() if isinstance(each, dict) else each if isinstance(each, list) else ()
    return 1 + sum(count(one) for one in inner)


def test_brackets_in_texts_are_no_nesting() -> None:
    text = "[{" * 1000 + '\\"[{'
    assert parse_json(json.dumps(text).encode()) == text
    assert parse_json(json.dumps([text] * 3).encode()) == [text] * 3


@pytest.mark.parametrize(
    "value",
    [
        list(range(99)),
        {f"k{number}": number for number in range(99)},
        [[], {}, *([[0]] * 48)],
        ["a,b[c{", *[{"x,]": "},"}] * 48, '\\",'],
    ],
)
def test_values_have_a_limit_to_the_one(value: Any) -> None:
    body, values = json.dumps(value).encode(), count(value)
    assert parse_json(body, Service(json_values=values)) == value
    assert refusal(body, Service(json_values=values - 1)) == (
        422, f"the body holds too many values, the limit is {values - 1}",
    )  # fmt: skip


@given(
    st.recursive(
        st.none() | st.text(alphabet='",[]{}\\\\ a0', max_size=6),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(st.text(alphabet='",[]{}\\\\ a', max_size=4), inner, max_size=4)
        ),
        max_leaves=30,
    ),
    st.sampled_from([1, 2, 3, 7, 65536]),
    st.sampled_from([None, 1]),
)
def test_any_json_is_counted_exactly_in_pieces_of_any_size(
    value: Any, size: int, indent: int | None
) -> None:
    body, values = json.dumps(value, indent=indent).encode(), count(value)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("holdfast.service.http.wire._PIECE_BYTES", size)
        assert parse_json(body, Service(json_values=values, json_depth=100)) == value
        if values > 1:
            assert refusal(body, Service(json_values=values - 1, json_depth=100))[0] == 422


@pytest.mark.slow
def test_a_million_keys_and_a_million_lists_take_no_memory() -> None:
    keys = b"{" + b",".join(b'"k%d":0' % number for number in range(1_000_000)) + b"}"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert refusal(keys)[0] == 422
    assert refusal(b"[" + b"[]," * 5_000_000 + b"[]]")[0] == 422
    assert refusal(b"[" + b'"",' * 5_000_000 + b"0]")[0] == 422
    assert refusal(b"[" * 8_000_000)[0] == 422
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 100_000, "kilobytes"


@pytest.mark.parametrize(
    "number", ["1e400", "-1e400", "NaN", "Infinity", "-Infinity", "9" * 5000, "1" + "0" * 400]
)
def test_huge_numbers_are_never_our_mistake(tmp_path: Path, number: str) -> None:
    with opened(tmp_path) as memory:
        client = client_of(memory, create_key(memory.store, role="admin")[1])
        for path, fields in (
            ("/v1/recall", '"query": "x", "limit": %s'),
            ("/v1/memories", '"messages": [{"content": "x", "metadata": {"n": %s}}]'),
            ("/v1/memories/search", '"query": "x", "threshold": %s'),
            ("/v1/memories/ingest", '"conversation": "x", "metadata": {"n": %s}'),
            ("/v1/graph", '"entities": [{"name": "x", "confidence": %s}]'),
            ("/v1/context", '"messages": "x", "budget_tokens": %s'),
        ):
            body = '{"user_id": "ann", ' + fields % number + "}"
            answer = client.post(path, content=body, headers=JSON)
            assert answer.status_code < 500, (path, answer.text)
            if not number.startswith("10"):
                assert answer.status_code == 400, (path, answer.text)


@pytest.mark.parametrize("text", ["a\\u0000b", "\\ud800", "\\udfff\\ud800", "\x7f", "\u202e"])
def test_odd_characters_are_never_our_mistake(tmp_path: Path, text: str) -> None:
    with opened(tmp_path) as memory:
        client = client_of(memory, create_key(memory.store, role="admin")[1])
        for path, body in (
            ("/v1/recall", '{"user_id": "ann", "query": "%s"}'),
            ("/v1/recall", '{"user_id": "%s", "query": "x"}'),
            ("/v1/recall", '{"user_id": "ann", "query": "x", "%s": 1}'),
            ("/v1/memories", '{"user_id": "ann", "messages": "%s"}'),
            ("/v1/keys", '{"label": "%s"}'),
            ("/v1/keys", '{"tools": ["%s"]}'),
            ("/v1/sign-in", '{"key": "%s"}'),
            ("/v1/documents/fetch", '{"url": "http://%s/"}'),
        ):
            answer = client.post(path, content=(body % text).encode(), headers=JSON)
            assert answer.status_code < 500, (path, answer.text)


# Requests


class Clock:
    """Time that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_bucket_holds_a_minute_and_fills_evenly() -> None:
    clock = Clock()
    rates = RateLimit(60, timer=clock)
    assert [rates.wait("a") for _ in range(60)] == [0.0] * 60
    assert rates.wait("a") == pytest.approx(1.0)
    assert rates.wait("b") == 0.0, "each has its own"
    clock.now += 0.5
    assert rates.wait("a") == pytest.approx(0.5)
    clock.now += 0.5
    assert (rates.wait("a"), rates.wait("a") > 0) == (0.0, True)
    clock.now += 3600
    assert [rates.wait("a") for _ in range(61)].count(0.0) == 60, "it never holds more"
    assert not any(RateLimit(0).wait("a") for _ in range(1000)), "0 is no limit"


def test_one_request_more_is_a_429_with_the_numbers(tmp_path: Path) -> None:
    with opened(tmp_path, service__requestsPerMinute=3) as memory:
        app = create_app(memory)
        mine, other = (
            TestClient(app, "http://localhost", headers={"x-api-key": create_key(memory.store)[1]})
            for _ in range(2)
        )
        assert [mine.get("/v1/whoami").status_code for _ in range(3)] == [200] * 3
        answer = mine.get("/v1/whoami")
        assert answer.status_code == 429
        assert "3 requests a minute: try again in " in answer.json()["error"]
        assert 1 <= int(answer.headers["retry-after"]) <= 20
        assert other.get("/v1/whoami").status_code == 200
        assert mine.get("/health").status_code == 200


def test_the_queue_is_counted_once_a_second(tmp_path: Path) -> None:
    clock = Clock()
    with opened(tmp_path) as memory:
        backlog, free = Backlog(memory.store, 1, timer=clock), Backlog(memory.store, 0)
        memory.remember(TWO, user="ann")
        backlog.check()
        asyncio.run(backlog.look())
        asyncio.run(free.look())
        free.check()
        waiting = memory.store.counts().ready
        with pytest.raises(HTTPException, match=f"{waiting} jobs are waiting, the limit is 1"):
            backlog.check()
        memory.drain()
        asyncio.run(backlog.look())
        with pytest.raises(HTTPException):
            backlog.check()
        clock.now += 1
        asyncio.run(backlog.look())
        backlog.check()


def test_a_full_queue_takes_nothing_more_in_and_answers_the_rest(tmp_path: Path) -> None:
    with opened(tmp_path, service__queueJobs=1, extraction__enabled=False) as memory:
        client = client_of(memory)
        first = client.post("/v1/memories", json={"user_id": "ann", "messages": "tea"})
        assert first.status_code == 200
        memory.remember(TWO, user="ann")
        client = client_of(memory)
        for path, body in (
            ("/v1/memories", {"user_id": "ann", "messages": "x"}),
            ("/v1/memories/ingest", {"user_id": "ann", "conversation": "x"}),
            ("/v1/facts", {"user_id": "ann", "text": "Ann lives in Lisbon."}),
        ):
            answer = client.post(path, json=body)
            assert answer.status_code == 429, path
            assert answer.json()["error"] == "3 jobs are waiting, the limit is 1: try again later"
            assert answer.headers["retry-after"] == "5"
        for path, body in (
            ("/v1/recall", {"user_id": "ann", "query": "tea"}),
            ("/v1/memories/search", {"user_id": "ann", "query": "tea"}),
        ):
            assert client.post(path, json=body).status_code == 200
        event = first.json()["events"][0]
        assert client.delete(f"/v1/memories/{event}?user_id=ann").status_code == 200
        assert memory.store.stats()["events"] == 3


# Slow ones, on real sockets


def raw(port: int, sent: bytes) -> socket.socket:
    """A connection on which something was sent."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=30)
    connection.sendall(sent)
    return connection


def heard(connection: socket.socket) -> tuple[int, dict[str, str], bytes]:
    """The answer until the other side hangs up."""
    data = b""
    while chunk := connection.recv(65536):
        data += chunk
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    return int(first.split()[1]), headers, body


def status_of(connection: socket.socket) -> int:
    """The status of the next answer, which is read whole."""
    with HTTPResponse(connection) as answer:
        answer.begin()
        answer.read()
        return answer.status


def head_of(secret: str, port: int, *more: str, method: str = "POST") -> bytes:
    lines = [
        f"{method} /v1/recall HTTP/1.1", f"Host: 127.0.0.1:{port}",
        f"Authorization: Bearer {secret}", "Content-Type: application/json", *more,
    ]  # fmt: skip
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


@contextmanager
def waiting(tmp_path: Path, *, head: float = 60.0, body: float = 60.0) -> Iterator[tuple[int, str]]:
    """A service that waits so many seconds; its port and a key."""
    free = {"service__requestsPerMinute": 0, "service__connectionsPerKey": 0}
    with opened(tmp_path, service__bodySeconds=body, **free) as memory:
        secret = create_key(memory.store)[1]
        with live(create_app(memory), seconds=head) as port:
            yield port, secret


@pytest.fixture
def for_bodies(tmp_path: Path) -> Iterator[tuple[int, str]]:
    """One that waits half a second for a body; a head may take its time, as on a busy machine."""
    with waiting(tmp_path, body=0.5) as service:
        yield service


@pytest.fixture
def for_heads(tmp_path: Path) -> Iterator[tuple[int, str]]:
    """One that waits half a second for a head that never comes."""
    with waiting(tmp_path, head=0.5) as service:
        yield service


@pytest.fixture
def for_whole_heads(tmp_path: Path) -> Iterator[tuple[int, str]]:
    """One that waits for a head as long as a client on a busy machine may need."""
    with waiting(tmp_path, head=3.0) as service:
        yield service


def test_a_body_that_does_not_come_is_a_408(for_bodies: tuple[int, str]) -> None:
    port, secret = for_bodies
    for sent in (b"", b'{"user_id": "an'):
        with raw(port, head_of(secret, port, "Content-Length: 100") + sent) as connection:
            status, headers, body = heard(connection)
            assert (status, headers["connection"]) == (408, "close")
            assert json.loads(body) == {"error": "the body did not arrive within 0.5 seconds"}


def is_hung_up_on(connection: socket.socket, sent: bytes, every: float = 0) -> bool:
    """Whether somebody who goes on sending for half a minute is stopped."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        time.sleep(every)
        try:
            connection.sendall(sent)
        except (BrokenPipeError, ConnectionResetError):
            return True
    return False


def test_who_sends_on_is_told_why_and_not_reset(for_bodies: tuple[int, str]) -> None:
    port, secret = for_bodies
    size = 30_000_000
    with raw(port, head_of(secret, port, f"Content-Length: {size}")) as connection:
        connection.sendall(b" " * size)  # As clients do: the answer is read when all is sent.
        status, headers, _ = heard(connection)
        assert (status, headers["connection"]) == (413, "close")
        assert connection.recv(1) == b""


def test_who_never_stops_sending_is_hung_up_on(
    for_bodies: tuple[int, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.service.http.serving._LINGER_SECONDS", 0.5)
    port, secret = for_bodies
    head = head_of(secret, port, "Transfer-Encoding: chunked")
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    with raw(port, head) as connection:
        assert is_hung_up_on(connection, chunk)


def test_who_falls_silent_is_hung_up_on(
    for_bodies: tuple[int, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.service.http.serving._SILENT_SECONDS", 0.5)
    port, secret = for_bodies
    with raw(port, head_of(secret, port, "Content-Length: 1000")) as connection:
        assert status_of(connection) == 408
        assert is_hung_up_on(connection, b" ", every=1)


def test_a_body_that_drips_is_a_408_too(for_bodies: tuple[int, str]) -> None:
    port, secret = for_bodies
    with raw(port, head_of(secret, port, "Content-Length: 1000")) as connection:
        connection.setblocking(False)
        data = b""
        deadline = time.monotonic() + 20
        while not data and time.monotonic() < deadline:
            try:
                data = connection.recv(100)
            except BlockingIOError:
                with suppress(OSError):  # It hung up meanwhile: what it said is still to be read.
                    connection.send(b" ")
                time.sleep(0.02)
        assert data.startswith(b"HTTP/1.1 408")


@pytest.mark.parametrize("sent", [b"", b"G", b"GET /v1/recall HTTP/1.1\r\nHost: local"])
def test_a_head_that_does_not_come_is_hung_up_on(for_heads: tuple[int, str], sent: bytes) -> None:
    port, _ = for_heads
    with raw(port, sent) as connection:
        status, headers, body = heard(connection)
        assert (status, json.loads(body)["error"]) == (
            408, "the request did not arrive within 0.5 seconds",
        )  # fmt: skip
        assert set(SECURITY) <= set(headers)


@pytest.mark.slow
def test_a_second_head_that_drips_is_hung_up_on(for_whole_heads: tuple[int, str]) -> None:
    port, secret = for_whole_heads
    with raw(port, head_of(secret, port, method="GET")) as connection:
        assert status_of(connection) == 405
        connection.sendall(b"GET / HT")
        assert heard(connection)[0] == 408


@pytest.mark.slow
def test_a_connection_may_rest_between_two_requests(for_whole_heads: tuple[int, str]) -> None:
    port, secret = for_whole_heads
    with raw(port, head_of(secret, port, method="GET")) as connection:
        assert status_of(connection) == 405
        time.sleep(3.5)  # Longer than a head may take: what is asked is that nothing happens.
        connection.sendall(head_of(secret, port, method="GET"))
        assert status_of(connection) == 405


def test_what_is_not_http_is_told_so_with_our_headers(for_whole_heads: tuple[int, str]) -> None:
    port, secret = for_whole_heads
    smuggled = head_of(secret, port, "Content-Length: 5", "Content-Length: 6")
    both = head_of(secret, port, "Transfer-Encoding: chunked", "Transfer-Encoding: gzip")
    for sent in (b"\x16\x03\x01\x02\x00\x01\r\n\r\n", b"hello\r\n\r\n", smuggled, both):
        with raw(port, sent) as connection:
            status, headers, body = heard(connection)
            assert status in (400, 501), sent
            assert "error" in json.loads(body)
            assert set(SECURITY) <= set(headers)


@pytest.mark.slow
def test_slow_loris_holds_nobody_up(tmp_path: Path) -> None:
    with ExitStack() as stack:
        # They wait for longer than `raw` has patience: who had to wait for them would fail.
        port, secret = stack.enter_context(waiting(tmp_path, head=90.0, body=90.0))
        request = head_of(secret, port, "Content-Length: 34", "Connection: close")
        body = b'{"user_id": "ann", "query": "tea"}'

        def cost() -> float:
            """Of this process alone: what else the machine does is not counted."""
            began = time.process_time()
            with raw(port, request + body) as connection:
                assert heard(connection)[0] == 200
            return time.process_time() - began

        cost()
        alone = sorted(cost() for _ in range(20))[10]
        slow: list[socket.socket] = []
        for number in range(300):
            sent = request if number % 2 else b"POST /v1/recall HTTP/1.1\r\nHost: l"
            slow.append(stack.enter_context(raw(port, sent)))
        among = sorted(cost() for _ in range(20))[10]
        assert among < 10 * alone, (alone, among)
        for connection in slow:
            connection.setblocking(False)
            with pytest.raises(BlockingIOError):  # It is still waited for.
                connection.recv(1)


def test_more_requests_at_once_than_there_may_be_are_a_503(tmp_path: Path) -> None:
    with opened(tmp_path, service__connections=2) as memory, ExitStack() as stack:
        secret = create_key(memory.store)[1]
        port = stack.enter_context(live(create_app(memory), seconds=30))
        slow = [
            stack.enter_context(raw(port, head_of(secret, port, "Content-Length: 34")))
            for _ in range(2)
        ]

        def third() -> tuple[int, dict[str, str], bytes]:
            with raw(port, head_of(secret, port, "Connection: close", method="GET")) as connection:
                return heard(connection)

        wait_until(lambda: third()[0] == 503)
        status, headers, body = third()
        assert (status, headers["retry-after"]) == (503, "1")
        assert json.loads(body)["error"].startswith("2 requests are under way")
        for connection in slow:
            connection.sendall(b'{"user_id": "ann", "query": "tea"}')
            assert status_of(connection) == 200
        assert third()[0] == 405


def asked(port: int, path: str, secret: str = "", body: bytes = b"") -> tuple[int, dict[str, str]]:
    """The status and the headers of one answer."""
    lines = [f"{'POST' if body else 'GET'} {path} HTTP/1.1", f"Host: 127.0.0.1:{port}"]
    lines += [f"X-API-Key: {secret}"] if secret else []
    lines += [f"Content-Length: {len(body)}", "Content-Type: application/json"] if body else []
    sent = "\r\n".join([*lines, "Connection: close"]).encode() + b"\r\n\r\n" + body
    with raw(port, sent) as connection:
        status, headers, _ = heard(connection)
        return status, headers


@pytest.mark.slow
def test_slow_sign_ins_hold_up_sign_ins_alone_and_not_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.service.http.guard._OPEN_AT_ONCE", 3)
    monkeypatch.setattr("holdfast.service.http.guard._OPEN_BODY_SECONDS", 6.0)
    with opened(tmp_path, service__connections=2) as memory, ExitStack() as stack:
        secret = create_key(memory.store)[1]
        port = stack.enter_context(live(create_app(memory), seconds=30))
        body = json.dumps({"key": secret}).encode()
        head = (
            f"POST /v1/sign-in HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
            "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n"
        ).encode()
        slow = [stack.enter_context(raw(port, head)) for _ in range(3)]
        wait_until(lambda: asked(port, "/v1/sign-in", body=body)[0] == 503)
        assert asked(port, "/v1/whoami", secret)[0] == 200
        assert asked(port, "/health")[0] == 200
        for connection in slow:
            status, _, told = heard(connection)
            # Others have 30 seconds.
            assert (status, json.loads(told)) == (
                408, {"error": "the body did not arrive within 6 seconds"},
            )  # fmt: skip
        wait_until(lambda: asked(port, "/v1/sign-in", body=body)[0] == 204)


def test_one_key_cannot_take_all_places(tmp_path: Path) -> None:
    settings = {"service__connections": 3, "service__connectionsPerKey": 2}
    with opened(tmp_path, **settings) as memory, ExitStack() as stack:
        greedy, other = (create_key(memory.store)[1] for _ in range(2))
        port = stack.enter_context(live(create_app(memory), seconds=90))
        head = head_of(greedy, port, "Content-Length: 34")
        slow = [stack.enter_context(raw(port, head)) for _ in range(2)]
        wait_until(lambda: asked(port, "/v1/whoami", greedy)[0] == 429)
        status, headers = asked(port, "/v1/whoami", greedy)
        assert (status, headers["retry-after"]) == (429, "1")
        wait_until(lambda: asked(port, "/v1/whoami", other)[0] == 200)
        # Full for all: /health is answered all the same.
        slow.append(stack.enter_context(raw(port, head_of(other, port, "Content-Length: 34"))))
        wait_until(lambda: asked(port, "/v1/whoami", other)[0] == 503)
        assert asked(port, "/health")[0] == 200
        for connection in slow:
            connection.sendall(b'{"user_id": "ann", "query": "tea"}')
            assert status_of(connection) == 200
        wait_until(lambda: asked(port, "/v1/whoami", greedy)[0] == 200)


class Hanging(HashEmbedder):
    """An embedder that, once it is held, answers when it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = threading.Event()
        self.go = threading.Event()
        self.go.set()

    def embed(self, texts: list[str]) -> Any:
        if not self.go.is_set():
            self.asked.set()
            assert self.go.wait(60)
        return super().embed(texts)


def test_keys_and_health_do_not_wait_for_a_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.service.http.app._THREADS", 1)
    embedder, body = Hanging(), b'{"user_id": "ann", "query": "tea"}'
    with (
        holdfast.open(tmp_path / "m.db", embedder=embedder, worker=False) as memory,
        ExitStack() as stack,
    ):
        memory.remember("tea", user="ann")
        memory.drain()
        one, other = (create_key(memory.store)[1] for _ in range(2))
        port = stack.enter_context(live(create_app(memory), seconds=30))
        embedder.go.clear()
        stack.callback(embedder.go.set)
        head = head_of(one, port, "Content-Length: 34")
        long = stack.enter_context(raw(port, head + body))
        assert embedder.asked.wait(30)
        assert asked(port, "/health")[0] == 200
        assert asked(port, "/v1/ready", other)[0] == 200
        assert asked(port, "/v1/whoami", other)[0] == 200
        assert asked(port, "/v1/whoami", "rk_wrong")[0] == 401
        embedder.go.set()
        assert status_of(long) == 200


def test_the_same_request_waits_for_itself_but_not_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.service.http.idempotency._WAIT_SECONDS", 0.05)
    begun, go, done = threading.Event(), threading.Event(), []
    ann = Scope("default", "ann")

    def slowly(_: Any) -> bytes:
        begun.set()
        assert go.wait(60)
        return b"done"

    with opened(tmp_path) as memory:

        def ask(name: str, act: Any) -> tuple[bytes, bool]:
            return answer_once(memory, ann, name, {}, act, asked={})

        first = threading.Thread(target=lambda: done.append(ask("one", slowly)), daemon=True)
        first.start()
        assert begun.wait(30)
        with pytest.raises(HTTPException, match="under way") as caught:
            ask("one", slowly)
        assert (caught.value.status_code, caught.value.headers) == (503, {"retry-after": "1"})
        for number in range(100):  # None of them shares a lock with it.
            assert ask(f"other {number}", lambda _: b"quick") == (b"quick", False)
        # With too many who wait nobody waits at all.
        monkeypatch.setattr("holdfast.service.http.idempotency._WAIT_SECONDS", 60.0)
        monkeypatch.setattr("holdfast.service.http.idempotency._MOST_WAITING", 0)
        with pytest.raises(HTTPException, match="under way"):
            ask("one", slowly)
        go.set()
        first.join(60)
        assert done == [(b"done", False)]
        assert ask("one", slowly) == (b"done", True)


# Every answer


def test_every_answer_carries_the_security_headers_and_an_id(tmp_path: Path) -> None:
    with opened(tmp_path, service__requestsPerMinute=9) as memory:
        client = client_of(memory)
        bare = TestClient(create_app(memory), "http://localhost")
        answers = [
            client.get("/v1/whoami"),
            client.get("/v1/nothing"),
            client.patch("/v1/whoami"),
            client.post("/v1/recall", content=b"{", headers=JSON),
            client.post("/v1/recall", json={}),
            client.get("/v1/keys"),
            bare.get("/health"),
            bare.get("/v1/whoami"),
            bare.get("/health", headers={"host": "evil.example"}),
            *(client.get("/v1/whoami") for _ in range(5)),
        ]
        assert {answer.status_code for answer in answers} == {200, 400, 401, 403, 404, 405, 429}
        for answer in answers:
            assert set(SECURITY) <= set(answer.headers)
            assert not any(name.startswith("access-control-") for name in answer.headers)
            assert len(answer.headers["x-request-id"]) == 32
        assert len({answer.headers["x-request-id"] for answer in answers}) == len(answers)
        given = {"x-request-id": "mine-1"}
        assert bare.get("/health", headers=given).headers["x-request-id"] == "mine-1"
        odd = {"x-request-id": "a b"}
        assert bare.get("/health", headers=odd).headers["x-request-id"] != "a b"


@pytest.mark.slow
def test_a_foreign_id_takes_as_long_as_one_that_does_not_exist(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        (theirs,) = memory.remember("A secret of Bob's.", user="bob").events
        memory.remember("Mine.", user="ann")
        client = client_of(memory)

        def seconds(id: str) -> float:
            """Of this process alone: what else the machine does is not counted."""
            began = time.process_time()
            answer = client.get(f"/v1/memories/{id}/history?user_id=ann")
            assert answer.status_code == 404
            return time.process_time() - began

        with client:
            nobody = "0" * 32
            bodies = {
                client.get(f"/v1/memories/{id}/history?user_id=ann").text.replace(id, "ID")
                for id in (theirs, nobody)
            }
            assert len(bodies) == 1
            pairs = [(seconds(theirs), seconds(nobody)) for _ in range(200)]
        foreign, missing = (sorted(each)[100] for each in zip(*pairs, strict=True))
        assert 0.5 < foreign / missing < 2
