"""Every verb over HTTP gives what the same call in Python gives, and does what it does."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response

from holdfast.catalogue.codec import dumps, open_envelope
from holdfast.catalogue.verb import Verb
from holdfast.catalogue.verbs import ALL
from holdfast.memory.memory import Memory
from holdfast.service.http.verbs import keeps_answer
from tests.catalogue.calls import calls
from tests.catalogue.conftest import World
from tests.catalogue.world import ask, client_of

VERBS = {verb.name: verb for verb in ALL}
READS = [name for name, verb in VERBS.items() if verb.role == "read" or verb.method == "GET"]
WRITES = [name for name in VERBS if name not in READS]
_HEX = re.compile(r"\b[0-9a-f]{32,64}\b")
#: Random, or a measure of this machine.
_OWN = ("seconds", "signature", "receipt", "key_id")


@dataclass(frozen=True)
class Asked:
    """A memory, and the service over it."""

    memory: Memory
    client: TestClient


def test_every_verb_has_a_call_here(world: World) -> None:
    assert sorted(calls(world.ids)) == sorted(VERBS)
    assert len(VERBS) == len(ALL), "two verbs have one name"


def test_no_two_verbs_are_asked_for_alike() -> None:
    asked = [(verb.method, re.sub(r"\{\w+\}", "{}", verb.path)) for verb in ALL]
    assert len(set(asked)) == len(asked)


@pytest.fixture(scope="module")
def asked(world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    """A store that is only read."""
    db = tmp_path_factory.mktemp("read") / "read.db"
    with world.copy(db) as memory, client_of(memory) as client:
        yield Asked(memory, client)


@pytest.mark.parametrize("name", READS)
def test_a_verb_that_reads_is_the_verb_in_python(name: str, world: World, asked: Asked) -> None:
    verb, given = VERBS[name], calls(world.ids)[name]
    # What a context tells counts as used, by which near equals may change places: once before.
    verb.of(asked.memory)(**given)
    expected = verb.of(asked.memory)(**given)
    answer = ask(asked.client, verb, given)
    assert answer.status_code == verb.status, answer.text
    alike(open_envelope(verb.returns, answer.json(), verb.answer), expected, world)


@pytest.mark.parametrize("name", WRITES)
def test_a_verb_that_writes_is_the_verb_in_python(name: str, world: World, tmp_path: Path) -> None:
    verb, given = VERBS[name], calls(world.ids)[name]
    key = {"Idempotency-Key": "k"} if keeps_answer(verb) else {}
    with world.copy(tmp_path / "here.db") as memory:
        expected = verb.of(memory)(**given)
        left = memory.store.stats()
    with world.copy(tmp_path / "there.db") as memory, client_of(memory) as client:
        answer = ask(client, verb, given, **key)
        assert answer.status_code == verb.status, answer.text
        alike(open_envelope(verb.returns, answer.json(), verb.answer), expected, world)
        assert memory.store.stats() == left
        if key:
            again(client, verb, given, answer)
            assert memory.store.stats() == left


def again(
    client: TestClient, verb: Verb[..., object], given: dict[str, Any], first: Response
) -> None:
    """Under the same key the same request has the same answer, and another one has none."""
    key = {"Idempotency-Key": "k"}
    answer = ask(client, verb, given, **key)
    assert (answer.status_code, answer.content) == (first.status_code, first.content)
    assert answer.headers["idempotent-replayed"] == "true"
    assert "idempotent-replayed" not in first.headers
    other = changed(verb, given)
    if other != given:
        assert ask(client, verb, other, **key).status_code == 409


def alike(found: Any, expected: Any, world: World) -> None:
    """Of the same type, and the same but for what is random."""
    known = set(world.ids.values())
    assert type(found) in (type(expected), list, dict)
    assert normal(found, known) == normal(expected, known)


def changed(verb: Verb[..., object], given: dict[str, Any]) -> dict[str, Any]:
    """Another call of the same verb by the same user."""
    if verb.raw:
        return {**given, "name": "other"}
    return {**given, "agent": "other"} if verb.has("agent") and verb.part != "agents" else given


def normal(value: Any, known: set[str]) -> Any:
    """A value as JSON, with ids that were made just now as one word."""
    text = _HEX.sub(lambda id: id[0] if id[0] in known else "new", dumps(value).decode())
    return without(json.loads(text))


def without(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: without(v) for k, v in value.items() if k not in _OWN}
    return [without(each) for each in value] if isinstance(value, list) else value
