"""GET /v1/openapi.json: a valid document of every route, with an example for each."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

import pytest
import schemathesis
from fastapi.testclient import TestClient
from httpx2 import Response
from jsonschema import Draft202012Validator

import holdfast
from holdfast.catalogue.schemas import bounds_of
from holdfast.catalogue.verb import BODILESS
from holdfast.catalogue.verbs import ALL, example
from holdfast.config import Limits
from holdfast.service.http.app import create_app
from holdfast.service.keys import create_key
from holdfast.testing import HashEmbedder

_NAME = re.compile(r"\{[^}]*\}")


#: The ids of what is there, for the verbs that look it up first.
THERE: dict[str, str] = {}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    db = tmp_path_factory.mktemp("openapi") / "m.db"
    with holdfast.open(db, embedder=HashEmbedder(), worker=False) as memory:
        memory.remember("tea", user="ann", session="monday")
        note = memory.notes.add("Chose Postgres.", user="ann")
        procedure = memory.procedures.add("Release", steps=["tag"], user="ann")
        entry = memory.knowledge.set("deploy-day", "Friday", user="ann")
        THERE.update({"notes.update": note.id, "procedures.update": procedure.id})
        THERE.update({"update": entry.id})
        secret = create_key(memory.store, role="admin")[1]
        headers = {"authorization": f"Bearer {secret}"}
        with TestClient(create_app(memory), "http://localhost:3050", headers=headers) as client:
            yield client


@pytest.fixture(scope="module")
def document(client: TestClient) -> dict[str, Any]:
    answer = client.get("/v1/openapi.json")
    assert answer.status_code == 200
    return dict(answer.json())


PLACES = ("/v1/openapi.json", "/openapi.json")


@pytest.mark.parametrize("place", PLACES)
def test_it_needs_a_key_and_stands_where_generators_look(
    client: TestClient, document: dict[str, Any], place: str
) -> None:
    assert client.get(place).json() == document
    answer = client.get(place, headers={"authorization": "Bearer nope"})
    assert answer.status_code == 401


def test_it_says_whose_it_is_and_where(document: dict[str, Any]) -> None:
    assert document["info"]["license"] == {"name": "Apache 2.0", "identifier": "Apache-2.0"}
    assert document["info"]["contact"]["name"]
    assert [each["url"] for each in document["servers"]] == ["/"]


def test_a_parameter_has_a_schema_or_a_content(document: dict[str, Any]) -> None:
    for path, item in document["paths"].items():
        for operation in item.values():
            for each in operation.get("parameters", ()):
                assert ("schema" in each) != ("content" in each), (path, each["name"])


def test_no_two_bodies_have_one_name(document: dict[str, Any]) -> None:
    """Generators call a body that has no name of its own by its operation."""
    for path, item in document["paths"].items():
        for operation in item.values():
            content = operation.get("requestBody", {}).get("content", {})
            if "$ref" not in str(content.get("application/json", {}).get("schema", {}).keys()):
                words = re.split(r"[^A-Za-z0-9]+", operation["operationId"])
                name = "".join(each[:1].upper() + each[1:] for each in words) + "Body"
                assert name not in document["components"]["schemas"], path


def test_a_405_names_every_method_of_the_path(client: TestClient, document: dict[str, Any]) -> None:
    seen = 0
    for path, item in document["paths"].items():
        has = sorted(each.upper() for each in item)
        for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} - {*has}:
            answer = client.request(method, _NAME.sub("x", path))
            # Some other path may be written the same way: /v1/memories/list, say, is no id.
            if answer.status_code == 405:
                assert answer.headers["allow"] == ", ".join(has), (method, path)
                seen += 1
    assert seen > len(document["paths"])


def test_every_operation_can_be_read(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1")
    schema = schemathesis.openapi.from_dict(document)
    found: list[Any] = list(schema.get_all_operations())
    assert len([each.ok() for each in found]) >= len(ALL)


def test_every_summary_is_a_sentence(document: dict[str, Any]) -> None:
    for path, item in document["paths"].items():
        for method, operation in item.items():
            assert operation["summary"].rstrip().endswith("."), (method, path)


def test_every_schema_is_one(document: dict[str, Any]) -> None:
    for schema in schemas(document):
        Draft202012Validator.check_schema(schema)


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    for path in references(document):
        node: Any = document
        for part in path.removeprefix("#/").split("/"):
            assert part in node, path
            node = node[part]


def test_every_verb_is_there_and_nothing_twice(document: dict[str, Any]) -> None:
    paths = {_NAME.sub("{}", path): item for path, item in document["paths"].items()}
    assert len(paths) == len(document["paths"])
    for verb in ALL:
        operation = paths[_NAME.sub("{}", verb.path)][verb.method.lower()]
        assert operation["responses"]
    ids = [op["operationId"] for item in paths.values() for op in item.values()]
    assert len(set(ids)) == len(ids)


def test_every_path_names_its_parameters(document: dict[str, Any]) -> None:
    for path, item in document["paths"].items():
        for operation in item.values():
            told = {
                each["name"] for each in operation.get("parameters", ()) if each["in"] == "path"
            }
            assert told == {each[1:-1] for each in _NAME.findall(path)}, path


@pytest.mark.parametrize("verb", ALL, ids=lambda verb: verb.name)
def test_the_example_of_a_verb_is_valid(verb: Any, document: dict[str, Any]) -> None:
    told = example(verb)
    assert verb.headline.endswith(".")
    item = next(
        item for path, item in document["paths"].items()
        if _NAME.sub("{}", path) == _NAME.sub("{}", verb.path)
    )  # fmt: skip
    operation = item[verb.method.lower()]
    if verb.method in BODILESS or verb.raw:
        return
    body = operation["requestBody"]["content"]["application/json"]
    inside = {each.wire for each in verb.parameters if each.place == "body"}
    assert body["example"] == {name: told[name] for name in told if name in inside}
    assert body["schema"]["additionalProperties"] is False
    Draft202012Validator(body["schema"]).validate(body["example"])
    needed = body["schema"].get("required", [])
    assert set(needed) <= set(body["example"])


# Limits: what the document says is what the service does, on both sides


def bounded() -> Iterator[tuple[Any, Any]]:
    for verb in ALL:
        for each in verb.parameters:
            if each.place != "raw" and bounds_of(verb, each, Limits()):
                yield verb, each


BOUNDED = [*bounded()]
#: What the service looks up before it looks at it, or is a path in which everything is an id.
LOOKED_UP = frozenset({"id", "merge_id", "event_id", "context_id"})
#: So large that another limit of the service comes first.
_LARGE = 100_000


@pytest.mark.parametrize(
    ("verb", "parameter"), BOUNDED, ids=lambda each: getattr(each, "wire", "") or each.name
)
def test_a_limit_in_the_schema_is_one_of_the_service(
    client: TestClient, document: dict[str, Any], verb: Any, parameter: Any
) -> None:
    told = told_of(document, verb, parameter)
    for name, value in bounds_of(verb, parameter, Limits()).items():
        if parameter.place not in ("body", "query") and name == "enum":
            continue
        assert name in told, f"{name} is not in the document"
        if isinstance(value, list):
            assert told[name] == [
                each for each in value if each is not None or "null" in told["type"]
            ]
    if parameter.wire in LOOKED_UP:
        return
    for inside, outside in sides(bounds_of(verb, parameter, Limits())):
        if outside in ("", []) and parameter.place != "body":  # As if it were left out.
            continue
        refused = asked_with(client, verb, parameter, outside)
        assert 400 <= refused.status_code < 500, (parameter.wire, str(outside)[:80])
        if parameter.wire != "workspace_id":
            field = refused.json().get("field", "")
            # Of an entry the text that takes its place is called its value.
            named = (parameter.wire, "value") if verb.name == "update" else (parameter.wire,)
            assert field.startswith(named), (refused.text, str(outside)[:80])
            accepted = asked_with(client, verb, parameter, inside)
            assert accepted.status_code < 500
            body = accepted.json()
            assert not is_refused(body, parameter.wire), (body, str(inside)[:80])


def is_refused(body: Mapping[str, Any], wire: str) -> bool:
    """Whether an answer is about this parameter itself, not about what it holds."""
    return body.get("field") == wire and "needs an agent" not in str(body.get("error"))


def told_of(document: dict[str, Any], verb: Any, parameter: Any) -> dict[str, Any]:
    item = next(
        item for path, item in document["paths"].items()
        if _NAME.sub("{}", path) == _NAME.sub("{}", verb.path)
    )  # fmt: skip
    operation = item[verb.method.lower()]
    if parameter.place == "body":
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        return dict(schema["properties"][parameter.wire])
    places = [_NAME.sub("{}", verb.path) if parameter.place == "path" else parameter.wire]
    found = next(
        each for each in operation["parameters"]
        if each["in"] == parameter.place and (each["name"] in places or parameter.place == "path")
    )  # fmt: skip
    content: dict[str, Any] = found.get("content", {}).get("application/json", found)
    return dict(content["schema"])


#: For each keyword a value that is taken, and one that is not.
SIDES: Mapping[str, Callable[[Any], tuple[Any, Any]]] = {
    "maxLength": lambda most: ("x" * most, "x" * (most + 1)),
    "minLength": lambda _: ("x", ""),
    "enum": lambda words: (words[-1] or words[0], 7 if isinstance(words[0], int) else "nope"),
    "minimum": lambda least: (least, least - 1),
    "maximum": lambda most: (most, most + 1),
    "exclusiveMinimum": lambda least: (least + 0.5, least),
    "pattern": lambda _: ("home", "Not a name"),
    "format": lambda _: ("2026-03-01T10:00:00Z", "soon"),
    "maxProperties": lambda most: ({"k": 1}, {f"k{n}": 1 for n in range(most + 1)}),
}


def sides(told: Mapping[str, Any]) -> Iterator[tuple[Any, Any]]:
    """Values on both sides of each limit."""
    for name, value in told.items():
        if name in SIDES and (name != "maxLength" or value <= _LARGE):
            yield SIDES[name](value)
    items = [*sides(told["items"])] if "items" in told else []
    one = items[0][0] if items else "x"
    yield from (([inside], [outside]) for inside, outside in items)
    if 0 < (many := told.get("maxItems", 0)) <= _LARGE:
        yield [one], [f"{n}" for n in range(many + 1)]
    if told.get("minItems"):
        yield [one], []


def asked_with(client: TestClient, verb: Any, parameter: Any, value: Any) -> Response:
    """The answer to the example of a verb with another value of one parameter."""
    there = {"id": THERE[verb.name]} if verb.name in THERE else {}
    # Without a session nothing is forecast.
    session = {"session_id": "monday"} if verb.name == "stats" else {}
    told = {**example(verb), **there, **session, parameter.wire: value}
    places = {each.wire: each.place for each in verb.parameters}
    path = _NAME.sub(lambda name: quote(str(told[name[0][1:-1]]), safe=""), verb.path)
    sent: dict[str, dict[str, Any]] = {place: {} for place in ("query", "body", "header", "path")}
    for name, each in told.items():
        sent[places.get(name, "body")][name] = each
    query = {
        name: json.dumps(each) if isinstance(each, dict) else each
        for name, each in sent["query"].items()
    }
    if verb.method in BODILESS or verb.raw:
        content = b"tea" if verb.raw else None
        return client.request(
            verb.method, path, params=query, content=content, headers=sent["header"]
        )
    return client.request(verb.method, path, json=sent["body"], headers=sent["header"])


def schemas(node: Any, inside: str = "") -> Iterator[Any]:
    """Every schema of a document."""
    if isinstance(node, dict):
        for name, value in node.items():
            if name == "schema":
                yield value
            elif inside == "components" and name == "schemas":
                yield from value.values()
            else:
                yield from schemas(value, name)
    elif isinstance(node, list):
        for each in node:
            yield from schemas(each)


def references(node: Any) -> Iterator[str]:
    """Every reference of a document."""
    if isinstance(node, dict):
        for name, value in node.items():
            if name == "$ref":
                yield value
            else:
                yield from references(value)
    elif isinstance(node, list):
        for each in node:
            yield from references(each)


def test_the_document_is_told_apart_by_its_tag(client: TestClient) -> None:
    tag = client.get("/v1/openapi.json").headers["etag"]
    again = client.get("/v1/openapi.json", headers={"if-none-match": tag})
    assert again.status_code == 304
