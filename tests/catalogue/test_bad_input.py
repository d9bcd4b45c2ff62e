"""Every parameter of every verb with what it cannot be: 400 with its name, and never a 500."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response

from holdfast.catalogue.verb import BODILESS, Parameter, Verb, kind_of
from holdfast.catalogue.verbs import ALL
from tests.catalogue.calls import calls
from tests.catalogue.conftest import World
from tests.catalogue.world import ask, client_of

VERBS = {verb.name: verb for verb in ALL}
#: One of every kind that JSON has.
_VALUES: tuple[Any, ...] = ("text", 7, 7.5, True, {"a": 1}, ["x"], None)
_PARAMETERS = [
    pytest.param(verb, each, id=f"{verb.name}-{each.name}")
    for verb in ALL
    for each in verb.parameters
    if each.place in ("body", "query")
]
_NAUGHTY = (
    "", " ", "\0", "\ud800", "a\ud800\0b", "x" * 600, "0" * 32, "2026-13-40",
    "0001-01-01T00:00:00Z", "9999-12-31T23:59:59+14:00",
    "../../etc/passwd", "%00", "' OR 1=1 --", "{{7*7}}", "💥" * 200,
)  # fmt: skip
_NUMBERS = (-1, 0, 2**31, 2**53, 2**63, -(2**63), 10**30, 1e308, -0.5)


@pytest.fixture(scope="module")
def client(world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    db = tmp_path_factory.mktemp("bad") / "bad.db"
    with world.copy(db) as memory, client_of(memory) as client:
        yield client


@pytest.fixture
def given(world: World) -> dict[str, dict[str, Any]]:
    return calls(world.ids)


@pytest.mark.parametrize(("verb", "parameter"), _PARAMETERS)
def test_a_wrong_kind_is_named(
    verb: Verb[..., object], parameter: Parameter, client: TestClient, given: Any
) -> None:
    for value in _wrong(parameter):
        answer = ask(client, verb, {**given[verb.name], parameter.name: value})
        assert answer.status_code == 400, (value, answer.text)
        body = answer.json()
        assert body["field"].split("[")[0] == parameter.wire, (value, body)
        assert parameter.wire in body["error"]


@pytest.mark.slow
@pytest.mark.parametrize(("verb", "parameter"), _PARAMETERS)
def test_whatever_is_sent_there_is_an_answer(
    verb: Verb[..., object], parameter: Parameter, client: TestClient, given: Any
) -> None:
    if verb.name in ("erase", "drain", "reset_source"):
        return  # What they do when it is well is not what the other tests expect.
    for value in _allowed(parameter):
        answer = _sent(client, verb, {**given[verb.name], parameter.name: value})
        assert answer.status_code < 500, (value, answer.text)
        if answer.status_code >= 400:
            assert answer.json()["error"]


@pytest.mark.parametrize("name", VERBS)
def test_a_field_that_nobody_knows_is_named(name: str, client: TestClient, given: Any) -> None:
    verb = VERBS[name]
    path = verb.path.replace("{", "").replace("}", "")
    params, body = ({"nope": "1"}, None) if verb.method in BODILESS else ({}, {"nope": 1})
    if verb.raw:
        params, body = {"nope": "1"}, None
    answer = client.request(verb.method, path, params=params, json=body)
    assert (answer.status_code, answer.json().get("field")) == (400, "nope"), answer.text


@pytest.mark.parametrize(
    ("verb", "parameter"),
    [each for each in _PARAMETERS if each.values[1].required],  # type: ignore[union-attr]
)
def test_a_field_that_is_missing_is_named(
    verb: Verb[..., object], parameter: Parameter, client: TestClient, given: Any
) -> None:
    sent = {name: value for name, value in given[verb.name].items() if name != parameter.name}
    answer = ask(client, verb, sent)
    assert (answer.status_code, answer.json()["field"]) == (400, parameter.wire), answer.text
    assert "is required" in answer.json()["error"]


@pytest.mark.parametrize("name", [n for n, v in VERBS.items() if v.method not in BODILESS])
def test_a_body_that_is_no_object_is_refused(name: str, client: TestClient) -> None:
    verb = VERBS[name]
    if verb.raw:
        return
    path = verb.path.replace("{", "").replace("}", "")
    for body, status in ((b"[]", 400), (b"7", 400), (b"{", 400), (b"\xff", 400), (b"{}x", 400)):
        headers = {"content-type": "application/json"}
        answer = client.request(verb.method, path, content=body, headers=headers)
        assert answer.status_code == status, (body, answer.text)
    form = client.request(verb.method, path, data={"user_id": "ann"})
    assert (form.status_code, "application/json" in form.json()["error"]) == (415, True)
    query = client.request(verb.method, path + "?user_id=ann", json={})
    assert (query.status_code, query.json()["field"]) == (400, "user_id")


def _wrong(parameter: Parameter) -> list[Any]:
    names = parameter.kind.names
    if not names:
        return []
    if parameter.place == "query":
        # Everything in a query is a text; a list of texts takes any.
        plain = names & {"string", "array", "object"}
        return [] if plain - {"object"} else ["[7" if plain else "maybe"]
    takes = set(names) | ({"integer"} if "number" in names else set())
    return [value for value in _VALUES if kind_of(value) not in takes]


def _allowed(parameter: Parameter) -> list[Any]:
    names = parameter.kind.names or {"string", "integer", "number", "object", "array", "null"}
    found: list[Any] = []
    if "string" in names:
        found += _NAUGHTY
    if {"integer", "number"} & names:
        found += [each for each in _NUMBERS if isinstance(each, int) or "number" in names]
    if parameter.place == "body":
        found += [None] if "null" in names else []
        found += _nested(parameter) if {"array", "object"} & names else []
    return found


def _nested(parameter: Parameter) -> list[Any]:
    """Lists and objects with wrong things inside."""
    inside = [*_VALUES, *_NAUGHTY[:5], {"content": "\ud800", "name": "\0", "role": 7}]
    found: list[Any] = []
    if "array" in parameter.kind.names:
        found += [[], *([each] for each in inside), [["deep"]]]
    if "object" in parameter.kind.names:
        found += [{}, *({"a": each} for each in inside), {"\ud800": 1}, {"": {"": 1}}]
    return found


def _sent(client: TestClient, verb: Verb[..., object], sent: dict[str, Any]) -> Response:
    """As `ask`; a surrogate in a query is nothing that a client can write down."""
    try:
        return ask(client, verb, sent)
    except UnicodeEncodeError:
        return Response(400, json={"error": "not sent"})
