"""Where a request ends: if two readers could see two ends, it is refused and the line is cut.

What stands after each request is a second one. Answered, it would have been smuggled past whoever
stands in front of us and saw it as a part of the first.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.service.http.app import create_app
from tests.service.live import live
from tests.service.test_security_limits import opened, raw, status_of

HEAD = "POST /nothing HTTP/1.1\r\nHost: localhost\r\n"
HIDDEN = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
LAST = "0\r\n\r\n"
CHUNKED = "Transfer-Encoding: chunked\r\n"


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    path: Path = tmp_path_factory.mktemp("smuggling")
    with opened(path) as memory, live(create_app(memory), seconds=60) as number:
        yield number


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ("Content-Length: 5\r\n" + CHUNKED, LAST),
        (CHUNKED + "Content-Length: 52\r\n", LAST),
        ("content-length: 5\r\nTRANSFER-ENCODING: Chunked\r\n", LAST),
        ("Content-Length: 2\r\nContent-Length: 48\r\n", "{}"),
        ("Content-Length: 2, 48\r\n", "{}"),
        ("Content-Length: +2\r\n", "{}"),
        ("Transfer-Encoding: xchunked\r\n", LAST),
        ("Transfer-Encoding: xchunked\r\nContent-Length: 5\r\n", LAST),
        ("Transfer-Encoding: gzip, chunked\r\n", LAST),
        (CHUNKED + "Transfer-Encoding: identity\r\n", LAST),
        ("Transfer-Encoding : chunked\r\n", LAST),
        ("Transfer-Encoding:\r\n chunked\r\n", LAST),
        ("X-Note: a\r\n\tTransfer-Encoding: chunked\r\nContent-Length: 2\r\n", "{}"),
        ("Content-Length:\n 2\r\n", "{}"),
    ],
)
def test_a_request_whose_end_is_in_doubt_is_the_last_one(
    port: int, headers: str, body: str
) -> None:
    with raw(port, f"{HEAD}{headers}\r\n{body}{HIDDEN}".encode()) as connection:
        heard = b""
        while more := connection.recv(65536):
            heard += more
    assert re.findall(rb"HTTP/1\.1 (\d+)", heard) == [b"400"]
    assert b"connection: close" in heard


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ("Content-Length: 6\r\n", "\n a\n b"),
        ("Content-Length: 2\r\nContent-Length: 2\r\n", "{}"),
        (CHUNKED, "3\r\n\n a\r\n" + LAST),
        ("", ""),
    ],
)
def test_others_share_their_connection(port: int, headers: str, body: str) -> None:
    request = f"{HEAD}{headers}\r\n{body}".encode()
    with raw(port, request) as connection:
        assert status_of(connection) == 401
        for _ in range(2):
            connection.sendall(HIDDEN.encode())
            assert status_of(connection) == 200
        # A head that comes in pieces, and several requests at once.
        connection.sendall(HIDDEN.encode()[:30])
        connection.sendall(HIDDEN.encode()[30:])
        assert status_of(connection) == 200
        connection.sendall(request + request)
        assert status_of(connection) == 401


def test_doubt_comes_also_after_requests_without_any(port: int) -> None:
    doubtful = f"{HEAD}Content-Length: 5\r\n{CHUNKED}\r\n{LAST}{HIDDEN}"
    with raw(port, (HIDDEN + doubtful).encode()) as connection:
        heard = b""
        while more := connection.recv(65536):
            heard += more
    assert re.findall(rb"HTTP/1\.1 (\d+)", heard) == [b"200", b"400"]
    assert b"exclude each other" in heard


@pytest.mark.parametrize("before", ["", HIDDEN])
def test_a_service_ends_while_a_refused_client_has_not_hung_up(tmp_path: Path, before: str) -> None:
    doubtful = f"{before}{HEAD}Content-Length: 5\r\n{CHUNKED}\r\n"
    with opened(tmp_path) as memory, live(create_app(memory)) as port:
        connection = raw(port, doubtful.encode())
        heard = b""
        while more := connection.recv(65536):
            heard += more
        assert b"exclude each other" in heard
    with connection:  # An exception on the thread of the service fails the test.
        assert connection.recv(1) == b""
