"""Nothing that anybody said, asked, is called or holds as a key is ever logged or told to another.

Every route is asked, with and without a right to it, with everything at DEBUG, while the model
fails with what it was given in the words of its error; and once more when the store is closed.
"""

import http
import logging
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi import Request, Response
from fastapi.testclient import TestClient
from starlette.routing import Route as StarletteRoute

import holdfast
from holdfast.errors import ModelError
from holdfast.memory.memory import Memory
from holdfast.service import logs
from holdfast.service.http.app import create_app
from holdfast.testing import HashEmbedder
from tests.service.asking import Question, Route, routes_of
from tests.service.world import ASKED, CANARY, SECRET, SETTINGS, World, made

#: In settings that are secrets.
OUR_SECRET = "sk-platypus"
QUESTION = "echidna"
USER = "wombat"
#: What the test's own client logs is not ours.
_THEIRS = ("httpx", "httpcore", "asyncio", "hypothesis")


class Leaky(HashEmbedder):
    """Fails now and then, and says with what."""

    calls = 0

    def embed(self, texts: list[str]) -> np.ndarray[Any, Any]:
        self.calls += 1
        if self.calls % 3 == 0:
            raise (RuntimeError if self.calls % 2 else ModelError)(f"cannot embed {texts}")
        return super().embed(texts)


class Seen(logging.Handler):
    """Everything that was logged, as it would be written."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []
        self.formatter = logging.Formatter("%(name)s %(message)s")

    def emit(self, record: logging.LogRecord) -> None:
        if not record.name.startswith(_THEIRS):
            fields = {**vars(record), "msg": "", "args": ""}
            self.lines.append(f"{self.format(record)} {fields.get('fields', '')}")


@pytest.fixture
def seen() -> Iterator[Seen]:
    """The log of a service that tells all it can."""
    handler, root = Seen(), logging.getLogger()
    before, level = list(root.handlers), root.level
    logs.configure("json", "debug")
    root.addHandler(handler)
    yield handler
    root.handlers[:] = before
    root.setLevel(level)
    logging.getLogger("holdfast").setLevel(logging.NOTSET)


def questions(route: Route, world: World) -> Iterator[Question]:
    """What is asked of a route: something that works, something of another, and nonsense."""
    question = route.question(world)
    yield question
    yield route.by(USER, question)
    if isinstance(question.body, dict):
        for name in (*question.body, "unknown"):
            yield question.with_field(name, f"What is {QUESTION}?")
            yield question.with_field(name, {QUESTION: [QUESTION]})
    elif not isinstance(question.body, bytes):
        yield question.with_field("cursor", QUESTION)
        yield question.with_field("limit", QUESTION)


def asked(client: TestClient, question: Question, secret: str) -> Any:
    method = "POST" if question.method == "*" else question.method
    headers = {**question.headers, "authorization": f"Bearer {secret}"}
    raw = isinstance(question.body, bytes)
    client.cookies.clear()
    return client.request(
        method, question.path, params=dict(question.query), headers=headers,
        **{"content" if raw else "json": question.body},
    )  # fmt: skip


def opened(world: World, stack: ExitStack, db: Path) -> Memory:
    db.write_bytes(world.db.read_bytes())
    config = {
        **SETTINGS, "proxy.apiKey": OUR_SECRET, "embedding.apiKey": OUR_SECRET,
        "extraction.llm.apiKey": OUR_SECRET, "outgoing.fetch": True,
    }  # fmt: skip
    return stack.enter_context(
        holdfast.open(db, embedder=Leaky(), worker=False, clock=lambda: ASKED, config=config)
    )


def broken(_: Request) -> Response:
    """What nobody foresaw."""
    raise LookupError(f"no {SECRET} for {USER} in {OUR_SECRET}")


@pytest.mark.slow
def test_no_word_of_anybody_is_logged_or_told_to_another(
    tmp_path: Path, seen: Seen, capfd: pytest.CaptureFixture[str]
) -> None:
    world = made(tmp_path)
    keys = [world.keys[kind] for kind in ("admin", "other user", "other tenant", "wrong")]
    refused: list[str] = []
    answers = 0
    with ExitStack() as stack:
        memory = opened(world, stack, tmp_path / "m.db")
        app = create_app(memory, clock=lambda: ASKED)
        client = stack.enter_context(
            TestClient(app, "http://localhost:3050", raise_server_exceptions=False)
        )
        routes = [route for route in routes_of(app) if not route.asked.endless]
        ending = [route for route in routes if route.path in ("/v1/erase", "/v1/import")]
        for route in [each for each in routes if each not in ending] + ending:
            for secret in keys:
                most = None if secret == keys[0] else 2
                for question in islice(questions(route, world), most):
                    answer = asked(client, question, secret)
                    answers += 1
                    assert not any(key in answer.text for key in keys), route.name
                    assert OUR_SECRET not in answer.text, route.name
                    if secret in keys[1:] and route.asked.user:
                        assert SECRET not in answer.text, route.name
                    if answer.status_code >= http.HTTPStatus.BAD_REQUEST:
                        refused.append(f"{route.name} {answer.text}")
        app.router.routes.insert(0, StarletteRoute("/broken", broken))
        broke = client.get("/broken", headers={"x-api-key": keys[0]})
        assert (broke.status_code, broke.json()) == (500, {"error": "something went wrong here"})
        memory.drain()
        memory.close()
        for route in routes:
            answer = asked(client, route.question(world), keys[0])
            refused.append(f"{route.name} {answer.text}")
    assert answers > 700
    assert [line for line in refused if SECRET in line] == []
    assert any("LookupError at " in line for line in seen.lines), "something was to go wrong"
    out, err = capfd.readouterr()
    canaries = [*world.keys.values(), CANARY, SECRET, OUR_SECRET, QUESTION, USER, "ann ", "'ann'"]
    written = [*seen.lines, *out.splitlines(), *err.splitlines()]
    assert len(written) > answers
    assert [line for line in written for canary in canaries if canary and canary in line] == []
