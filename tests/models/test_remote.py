"""RemoteEmbedder against a real server on loopback that answers as it is told to."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from holdfast.errors import ConfigError, ModelError, ModelUnavailable
from holdfast.models.remote import RemoteEmbedder

KEY = "sk-very-secret-key"


class Endpoint(ThreadingHTTPServer):
    """Keeps the requests it got; `script` answers each one."""

    def __init__(self, script: Callable[["Handler", list[str]], None]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script = script
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(body | {"path": self.path})
        self.server.headers.append(dict(self.headers))
        self.server.script(self, body["input"])

    do_GET = do_POST

    def reply(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def endpoint(script: Callable[[Handler, list[str]], None]) -> Iterator[Endpoint]:
    with Endpoint(script) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def answer(*rows: object) -> bytes:
    return json.dumps({"data": [{"index": i, "embedding": r} for i, r in enumerate(rows)]}).encode()


def lengths(handler: Handler, texts: list[str]) -> None:
    """Vectors that tell the length of their text, in reverse order but with the right index."""
    rows = [{"index": i, "embedding": [len(text), 1, 0]} for i, text in enumerate(texts)]
    handler.reply(200, json.dumps({"data": rows[::-1]}).encode())


def fixed(status: int, body: bytes, **headers: str) -> Callable[[Handler, list[str]], None]:
    return lambda handler, _texts: handler.reply(status, body, **headers)


def an_embedder(server: Endpoint, **options: Any) -> RemoteEmbedder:
    return RemoteEmbedder(server.url, "some-model", KEY, **options)


def failure(script: Callable[[Handler, list[str]], None], **options: Any) -> ModelError:
    """The error of embedding two texts; it never shows the key."""
    with endpoint(script) as server, pytest.raises(ModelError) as caught:
        an_embedder(server, **options).embed(["one", "two"])
    assert KEY not in str(caught.value)
    assert KEY not in repr(caught.value.__cause__)
    return caught.value


def test_rows_follow_their_index_and_have_unit_length() -> None:
    with endpoint(lengths) as server:
        vectors = an_embedder(server).embed(["a", "bbb"])
    expected = np.array([[1, 1, 0], [3, 1, 0]]) / np.sqrt([[2], [10]])
    np.testing.assert_allclose(vectors, expected, rtol=1e-6)
    assert vectors.dtype == np.float32


def test_the_request_is_what_openai_expects() -> None:
    with endpoint(lengths) as server:
        RemoteEmbedder(server.url + "/", "some-model", KEY).embed(["a", ""])
    assert server.asked == [
        {
            "path": "/v1/embeddings",
            "model": "some-model",
            "input": ["a", " "],
            "encoding_format": "float",
        }
    ]
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"


def test_without_a_key_no_authorization_is_sent() -> None:
    with endpoint(lengths) as server:
        RemoteEmbedder(server.url, "m").embed(["a"])
    assert "Authorization" not in server.headers[0]


def test_many_texts_go_in_batches_of_128() -> None:
    texts = ["x" * (number % 50 + 1) for number in range(300)]
    with endpoint(lengths) as server:
        vectors = an_embedder(server).embed(texts)
    assert [len(body["input"]) for body in server.asked] == [128, 128, 44]
    np.testing.assert_allclose(vectors[:, 0] / vectors[:, 1], [len(text) for text in texts], 1e-5)


def test_the_dimension_is_learned_once() -> None:
    with endpoint(lengths) as server:
        embedder = an_embedder(server)
        assert embedder.embed([]).shape == (0, 3)
        assert embedder.dim == 3
    assert len(server.asked) == 1


def test_a_given_dimension_needs_no_question() -> None:
    embedder = RemoteEmbedder("http://localhost:1", "m", dim=7)
    assert embedder.dim == 7
    assert embedder.embed([]).shape == (0, 7)
    assert embedder.model_id == "remote:m"


def test_a_changed_dimension_is_refused() -> None:
    with endpoint(lengths) as server:
        embedder = an_embedder(server)
        embedder.embed(["a"])
        server.script = fixed(200, answer([1.0, 2.0]))
        with pytest.raises(ModelError, match=r"not \(1, 3\)"):
            embedder.embed(["a"])


def test_a_refused_key_is_no_matter_of_waiting() -> None:
    error = failure(fixed(401, f'{{"error": "bad key {KEY}"}}'.encode()))
    assert not isinstance(error, ModelUnavailable)
    assert "HTTP 401: the key was refused" in str(error)
    assert "bad key ***" in str(error)


@pytest.mark.parametrize(
    ("header", "seconds"), [("7", 7.0), ("1.5", 1.5), ("soon", None), ("nan", None), ("-3", 0.0)]
)
def test_too_many_requests_tell_how_long_to_wait(header: str, seconds: float | None) -> None:
    error = failure(fixed(429, b"slow down", Retry_After=header))
    assert isinstance(error, ModelUnavailable)
    assert error.retry_after == seconds
    assert "HTTP 429: slow down" in str(error)


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_failing_server_is_worth_another_try(status: int) -> None:
    error = failure(fixed(status, b""))
    assert isinstance(error, ModelUnavailable)
    assert f"HTTP {status}" in str(error)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(status: int) -> None:
    with endpoint(lengths) as other:
        error = failure(fixed(status, b"", Location=other.url + "/embeddings"))
    assert other.asked == []
    assert "redirects are not followed" in str(error)


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (b"", "no list of embeddings"),
        (b"<html>", "no list of embeddings"),
        (b"\xff\xfe\xfa", "no list of embeddings"),
        (b"[" * 100_000, "no list of embeddings"),
        (b"[]", "no list of embeddings"),
        (b'{"data": null}', "no list of embeddings"),
        (b'{"data": [1, 2]}', "no list of embeddings"),
        (b'{"data": [{"embedding": [1]}]}', "no list of embeddings"),
        (b'{"data": []}', "0 embeddings for 2 texts"),
        (answer([1, 2]), "1 embeddings for 2 texts"),
        (answer([1, 2], [1, 2], [1, 2]), "3 embeddings for 2 texts"),
        (
            answer([1, 2], [1, 2]).replace(b'"index": 1', b'"index": 0'),
            "without an index of its own",
        ),
        (answer([1, 2], [1]), "different lengths"),
        (answer([], []), "no list of numbers"),
        (answer("AAAA", "AAAA"), "no list of numbers"),
        (answer([1, "2"], [1, 2]), "no number"),
        (answer([1, True], [1, 2]), "no number"),
        (answer([1, None], [1, 2]), "no number"),
        (answer([1, 10**400], [1, 2]), "out of range"),
        (answer([1, float("nan")], [1, 2]), "not finite"),
        (answer([1, 2], [0, 0]), "vector 1 is all zeros"),
    ],
)
def test_a_malformed_answer_is_named(body: bytes, fault: str) -> None:
    assert fault in str(failure(fixed(200, body)))


def test_a_wrong_dimension_is_named() -> None:
    assert "not (2, 5)" in str(failure(lengths, dim=5))


def test_nobody_listening_is_worth_another_try() -> None:
    with socket.socket() as taken:  # Bound, so that nobody else gets it, but not listening.
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with pytest.raises(ModelUnavailable, match="the connection failed"):
            RemoteEmbedder(f"http://127.0.0.1:{port}", "m", KEY).embed(["a"])


def test_a_connection_cut_in_the_answer_is_worth_another_try() -> None:
    def cut(handler: Handler, _texts: list[str]) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(b'{"data": [')

    assert isinstance(failure(cut), ModelUnavailable)


def test_a_server_that_hangs_up_is_worth_another_try() -> None:
    assert isinstance(failure(lambda handler, _texts: handler.connection.close()), ModelUnavailable)


def test_a_silent_server_is_left_after_the_timeout() -> None:
    done = threading.Event()

    def wait(_handler: Handler, _texts: list[str]) -> None:
        done.wait(60)

    with endpoint(wait) as server:
        started = time.monotonic()
        with pytest.raises(ModelUnavailable, match=r"within 0\.2 s"):
            an_embedder(server, timeout_s=0.2).embed(["a"])
        assert time.monotonic() - started < 30
        done.set()


def test_a_dripping_server_is_left_after_the_timeout() -> None:
    done = threading.Event()

    def drip(handler: Handler, _texts: list[str]) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        while not done.wait(0.02):
            handler.wfile.write(b" ")

    with endpoint(drip) as server:
        started = time.monotonic()
        with pytest.raises(ModelUnavailable, match=r"within 0\.3 s"):
            an_embedder(server, timeout_s=0.3).embed(["a"])
        assert time.monotonic() - started < 30
        done.set()


@pytest.mark.parametrize("url", ["", "host/v1", "ftp://host", "file:/etc/passwd", "http://"])
def test_a_wrong_address_is_refused_at_once(url: str) -> None:
    with pytest.raises(ConfigError, match="address"):
        RemoteEmbedder(url, "m", KEY)


@pytest.mark.parametrize("key", ["a\nb", "a b", "schlüssel", "a\x00"])
def test_an_impossible_key_is_refused_at_once_and_not_shown(key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        RemoteEmbedder("http://localhost", "m", key)
    assert key not in str(caught.value)
