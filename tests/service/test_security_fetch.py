"""Documents fetched by their URL: off, then within bounds."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

import holdfast
from holdfast.memory.memory import Memory
from holdfast.service.http.app import create_app
from holdfast.service.keys import create_key
from holdfast.testing import HashEmbedder
from tests.service.test_security_outgoing import A_FILE, say, server

FETCH = "/v1/documents/fetch"
ON = {"outgoing.fetch": True, "outgoing.hosts": "127.0.0.1", "outgoing.mostBytes": 1000}


@contextmanager
def asking(
    tmp_path: Path, config: dict[str, Any], **key: Any
) -> Iterator[tuple[TestClient, Memory]]:
    with holdfast.open(
        tmp_path / "m.db", embedder=HashEmbedder(), worker=False, config=config
    ) as memory:
        headers = {"x-api-key": create_key(memory.store, **key)[1]}
        yield TestClient(create_app(memory), "http://localhost", headers=headers), memory


def test_it_is_off_unless_switched_on(tmp_path: Path) -> None:
    with asking(tmp_path, {"outgoing.hosts": "127.0.0.1"}) as (client, _), server(say) as port:
        answer = client.post(FETCH, json={"url": f"http://127.0.0.1:{port}/", "user_id": "ann"})
        assert (answer.status_code, "switched off" in answer.text) == (403, True)


def test_a_page_becomes_a_document(tmp_path: Path) -> None:
    def page(handler: BaseHTTPRequestHandler) -> None:
        body = b"<html><body><h1>Tea</h1><p>Green tea is brewed at 80 degrees.</p></body></html>"
        say(handler, body, content_type="text/html; charset=utf-8")

    with asking(tmp_path, ON) as (client, memory), server(page) as port:
        url = f"http://127.0.0.1:{port}/tea.html"
        answer = client.post(FETCH, json={"url": f"{url}?token=1", "user_id": "ann"})
        assert answer.status_code == 201, answer.text
        (document,) = memory.knowledge.documents(user="ann")
        assert (document.name, document.format) == (url, "html")
        assert answer.json()["id"] == document.id
        (line,) = memory.store.audit()
        assert (line.action, line.subject) == ("documents.fetch", document.id)
        named = {"url": url, "user_id": "ann", "name": "tea", "metadata": {"from": "here"}}
        assert client.post(FETCH, json=named).json()["name"] == "tea"


def test_whose_it_becomes_is_the_keys_affair(tmp_path: Path) -> None:
    def text(handler: BaseHTTPRequestHandler) -> None:
        say(handler, b"tea", content_type="text/plain")

    with asking(tmp_path, ON, user="ann") as (client, memory), server(text) as port:
        url = f"http://127.0.0.1:{port}/"
        for wrong in ({"user_id": "bob"}, {"workspace_id": "lab"}):
            assert client.post(FETCH, json={"url": url, **wrong}).status_code == 403
        assert client.post(FETCH, json={"url": url}).status_code == 201
        assert len(memory.knowledge.documents(user="ann")) == 1
        reader = {"x-api-key": create_key(memory.store, role="read")[1]}
        assert client.post(FETCH, json={"url": url}, headers=reader).status_code == 403


@pytest.mark.parametrize(
    ("headers", "size"),
    [
        ({"content_type": "application/octet-stream"}, 10),
        ({"content_type": "image/png"}, 10),
        ({}, 10),
        ({"content_type": "text/plain"}, 1001),
        ({"content_type": "text/plain", "content_encoding": "gzip"}, 10),
    ],
)
def test_what_is_no_text_or_too_much_is_not_taken(
    tmp_path: Path, headers: dict[str, str], size: int
) -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        say(handler, b"x" * size, **headers)

    with asking(tmp_path, ON) as (client, memory), server(answer) as port:
        got = client.post(FETCH, json={"url": f"http://127.0.0.1:{port}/", "user_id": "ann"})
        assert (got.status_code, got.json()["field"]) == (400, "url")
        assert memory.knowledge.documents(user="ann") == []


def test_what_answers_with_an_error_is_told_so(tmp_path: Path) -> None:
    with (
        asking(tmp_path, ON) as (client, _),
        server(lambda handler: handler.send_error(404)) as port,
    ):
        got = client.post(FETCH, json={"url": f"http://127.0.0.1:{port}/", "user_id": "ann"})
        assert (got.status_code, got.json()["error"]) == (400, "url answered with status 404")
        for url in ("http://10.0.0.1/", "http://[::1]/", A_FILE, "x"):
            got = client.post(FETCH, json={"url": url, "user_id": "ann"})
            assert (got.status_code, got.json()["field"]) == (400, "url")
