"""A retry never acts twice: each verb that writes is cut off after each commit and sent again."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response

from holdfast.catalogue.verbs import ALL
from holdfast.service.keys import create_key
from tests.catalogue.calls import calls
from tests.catalogue.world import LATER, NOW, ask, fill, opened
from tests.service.dying import Ask, asked

WRITING = {
    each.name: each for each in ALL if each.method != "GET" and each.role in ("write", "admin")
}
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "retries.md"
_LINE = re.compile(r"^\| `([\w.]+)` \| (.+?) \| (.+?) \|$", re.MULTILINE)
_KEY = {"Idempotency-Key": "once"}
#: Of these the routes are written by hand: path, and what is sent.
MADE: Mapping[str, Mapping[str, Any]] = {
    "/v1/keys": {"role": "read", "label": "laptop"},
    "/v1/webhooks": {"url": "https://example.invalid/hook"},
}


@dataclass(frozen=True)
class World:
    """A store that is closed, a key of it, and what is in it."""

    db: Path
    key: str
    ids: Mapping[str, str]

    def copied(self, to: Path) -> Path:
        shutil.copy(self.db, to)
        return to


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    db = tmp_path_factory.mktemp("retries") / "world.db"
    with opened(db, now=NOW) as memory:
        ids = fill(memory)
        key = create_key(memory.store, role="admin", clock=lambda: LATER)[1]
    return World(db, key, ids)


def lines() -> dict[str, tuple[str, str]]:
    """By verb, why its retry is harmless and what it is answered: from the documentation."""
    return {name: (why, answer) for name, why, answer in _LINE.findall(PAGE.read_text())}


def call(name: str, world: World) -> Ask:
    given = calls(world.ids)[name]
    own = {} if name == "remember" else _KEY  # Its call has a key of its own.
    return lambda client: ask(client, WRITING[name], given, **own)


def test_of_every_verb_that_writes_it_is_said_why_a_retry_is_harmless() -> None:
    assert sorted(lines()) == sorted(WRITING)
    assert {answer.split(":")[0] for _, answer in lines().values()} == {"the same", "what is left"}


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITING)
def test_a_verb_cut_off_anywhere_and_sent_again_has_acted_once(
    name: str, world: World, tmp_path: Path
) -> None:
    send = call(name, world)
    whole = asked(world.copied(tmp_path / "whole.db"), world.key, send, now=LATER)
    assert whole.answer.status_code == WRITING[name].status, whole.answer.text
    for commits in range(1, whole.commits):
        db = world.copied(tmp_path / f"{commits}.db")
        cut = asked(db, world.key, send, now=LATER, commits=commits)
        assert (cut.answer.status_code, cut.commits) == (500, commits)
        again = asked(db, world.key, send, now=LATER + timedelta(days=1))
        assert again.answer.status_code == whole.answer.status_code, again.answer.text
        if cut.masked == whole.masked:  # It had been done: nothing at all may have happened since.
            assert again.rows == cut.rows
            if lines()[name][1] == "the same":
                assert again.said == whole.said
        else:  # Half of it, or nothing: now it is done, and nothing of it twice.
            assert not again.kinds - whole.kinds


def made(client: TestClient, path: str, **headers: str) -> Response:
    return client.post(path, json=dict(MADE[path]), headers=headers)


def counted(path: str) -> Callable[[TestClient], Response]:
    return lambda client: client.get(path)


@pytest.mark.parametrize("path", MADE)
def test_what_has_a_secret_is_made_once_and_named_ever_after(
    path: str, world: World, tmp_path: Path
) -> None:
    db = world.copied(tmp_path / "m.db")
    before = asked(db, world.key, counted(path), now=LATER).answer.json()["count"]

    def send(client: TestClient) -> Response:
        return made(client, path, **_KEY)

    # Dead after the commit that makes it: whoever asked was told nothing.
    cut = asked(db, world.key, send, now=LATER, commits=1)
    assert cut.answer.status_code == 500
    for _ in range(2):
        again = asked(db, world.key, send, now=LATER).answer
        assert again.status_code == 409
        assert "its secret was shown then" in again.json()["error"]
    found = asked(db, world.key, counted(path), now=LATER).answer.json()
    assert found["count"] == before + 1
    assert again.json()["id"] in {each["id"] for each in found[path.rsplit("/", 1)[1]]}


@pytest.mark.parametrize("path", MADE)
def test_another_request_under_the_key_of_what_has_a_secret_is_refused(
    path: str, world: World, tmp_path: Path
) -> None:
    def send(client: TestClient) -> Response:
        assert made(client, path, **_KEY).status_code == 201
        assert made(client, path).status_code == 201  # Without a key it is another one.
        blank = made(client, path, **{"Idempotency-Key": " "})
        assert (blank.status_code, blank.json()["field"]) == (400, "Idempotency-Key")
        return client.post(path, json={**MADE[path], "user_id": "ann"}, headers=_KEY)

    other = asked(world.copied(tmp_path / "m.db"), world.key, send, now=LATER).answer
    assert (other.status_code, "another body" in other.text) == (409, True)
    assert "id" not in json.loads(other.text)
