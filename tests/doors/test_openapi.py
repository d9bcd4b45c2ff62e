"""GET /v1/openapi.json: a valid document of every route, with an example for each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from fastapi.testclient import TestClient
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

import recollect
from recollect.api.catalogue import ALL
from recollect.api.examples import example
from recollect.api.verb import BODILESS
from recollect.doors.http.app import create_app
from recollect.keys import create_key
from recollect.testing import HashEmbedder

_NAME = re.compile(r"\{[^}]*\}")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    db = tmp_path_factory.mktemp("openapi") / "m.db"
    with recollect.open(db, embedder=HashEmbedder(), worker=False) as memory:
        secret = create_key(memory.store, role="admin")[1]
        headers = {"authorization": f"Bearer {secret}"}
        with TestClient(create_app(memory), "http://localhost:3050", headers=headers) as client:
            yield client


@pytest.fixture(scope="module")
def document(client: TestClient) -> dict[str, Any]:
    answer = client.get("/v1/openapi.json")
    assert answer.status_code == 200
    return dict(answer.json())


def test_it_needs_a_key(client: TestClient) -> None:
    answer = client.get("/v1/openapi.json", headers={"authorization": "Bearer nope"})
    assert answer.status_code == 401


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
