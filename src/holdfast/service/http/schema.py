"""GET /openapi.json, also under /v1: the whole service as an OpenAPI 3.1 document.

The verbs are told by the catalogue, with schemas made of their annotations and limits; the routes
that were written by hand by FastAPI. The bodies of verbs are closed: a field that is not named
here is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

import orjson
from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.openapi.utils import get_openapi

import holdfast
from holdfast.catalogue.schemas import Schema, Schemas, bounds_of
from holdfast.catalogue.verb import BODILESS, Parameter, Verb
from holdfast.catalogue.verbs import ALL, example
from holdfast.config import Limits
from holdfast.service.http.auth import Reader
from holdfast.service.http.verbs import FREE, LONGEST, keeps_answer

routes = APIRouter()

_JSON = "application/json"
#: Where errors are as somebody else's protocol has them.
_OTHERS = ("/v1/proxy", "/mcp")
_NAME = re.compile(r"\{[^{}]*\}")
_ESCAPED_NAME = re.compile(r"\\\{([^{}]*)\\\}")
_WORDS: Mapping[str, str] = {
    "user_id": "Whose memory. May be left out if the key is of one user.",
    "workspace_id": "Only to repeat the workspace of the key.",
    "agent_id": "See, or write as, this agent.",
    "session_id": "The conversation.",
    "limit": "How many at most.",
    "cursor": "What the page before gave as `next`.",
    "as_of": "What held at this time.",
    "known_at": "What was known at this time.",
    "config_override": "Settings for this request alone, by their names.",
    "metadata": "Comes back with the memory.",
    "origin": "Whose word it is.",
    "Idempotency-Key": "The same request again under this key gets the first answer again.",
    "If-Match": "Only if the ETag is still this one.",
    "If-None-Match": "304 if the ETag is still this one.",
}
#: A file, as it is.
_BYTES: Schema = {"type": "string", "format": "binary"}
_INFO: Mapping[str, Any] = {
    "title": "Holdfast",
    "version": holdfast.__version__,
    "description": "Long-term memory for agents. See docs/reference/http.md.",
    "contact": {"name": "The Holdfast authors"},
    "license_info": {"name": "Apache 2.0", "identifier": "Apache-2.0"},
    # Wherever this document was got from.
    "servers": [{"url": "/", "description": "This service."}],
}
_REFUSALS: Mapping[str, str] = {
    "400": "A value breaks a rule; `field` names it.",
    "401": "No valid key.",
    "403": "The key may not do this.",
    "404": "There is nothing of this id in this scope.",
    "405": "No such method here.",
    "408": "The body took too long to arrive.",
    "409": "The idempotency key was used with another body.",
    "412": "It has changed since.",
    "413": "Over a limit, which is named.",
    "415": "The body is of a type that is not read here.",
    "422": "The body is nested too deeply, or holds too many values.",
    "429": "Too many requests, or too much is waiting to be done; see Retry-After.",
    "500": "A defect here.",
    "503": "The store or the model cannot answer just now; see Retry-After.",
    "507": "The disk is full: nothing was stored.",
}


@routes.get("/openapi.json", summary="This document.", include_in_schema=False)
@routes.get("/v1/openapi.json", summary="This document.", response_class=Response)
async def openapi(request: Request, key: Reader) -> Response:
    """What can be asked of this service, for programs."""
    return Response(orjson.dumps(_cached_document(request.app)), media_type=_JSON)


def methods_of(app: FastAPI, path: str) -> list[str]:
    """The methods that a path has, of the documented ones that it fits the one it fits best."""
    fitting = [each for each in _cached_document(app)["paths"] if _pattern(each).fullmatch(path)]
    if not fitting:
        return []
    best = min(fitting, key=lambda each: each.count("{"))
    return sorted(each.upper() for each in _cached_document(app)["paths"][best])


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(_ESCAPED_NAME.sub(_name_pattern, re.escape(path)))


def _name_pattern(name: re.Match[str]) -> str:
    return ".+" if name[1] in FREE else "[^/]+"


def _cached_document(app: FastAPI) -> dict[str, Any]:
    """The document, made once."""
    if not hasattr(app.state, "openapi"):
        app.state.openapi = document(app)
    return cast("dict[str, Any]", app.state.openapi)


def document(app: FastAPI) -> dict[str, Any]:
    """The document of an application."""
    schemas, limits = Schemas(), app.state.memory.config.limits
    told = get_openapi(**_INFO, routes=app.routes)
    paths: dict[str, dict[str, Any]] = told.setdefault("paths", {})
    for path, item in paths.items():
        for operation in item.values():
            _by_hand(operation, others=path.startswith(_OTHERS))
    for verb in ALL:
        _add(paths, verb, operation_of(verb, schemas, limits))
    # The door that needs no key.
    for open_path in ("/health", "/v1/sign-in"):
        for operation in paths.get(open_path, {}).values():
            operation["security"] = []
    parts = told.setdefault("components", {})
    parts["schemas"] = {**parts.get("schemas", {}), **schemas.named, "Error": _error()}
    parts["responses"] = {code: _refusal(words) for code, words in _REFUSALS.items()}
    parts["securitySchemes"] = {
        "bearer": {"type": "http", "scheme": "bearer"},
        "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
    }
    told["security"] = [{"bearer": []}, {"key": []}]
    return told


def operation_of(verb: Verb[..., object], schemas: Schemas, limits: Limits) -> dict[str, Any]:
    """A verb as an operation."""
    asked = example(verb)
    answer = schemas.answer(verb.returns, verb.answer, pages=verb.is_list)
    told: dict[str, Any] = {
        "operationId": verb.name.replace(".", "_"),
        "tags": [verb.tag],
        "summary": verb.headline,
        "description": verb.words,
        "parameters": [*_parameters(verb, schemas, limits, asked)],
        "responses": {
            str(verb.status): {"description": "Done.", "content": {_JSON: {"schema": answer}}},
            **_refusals(verb.method),
        },
        "x-holdfast-role": verb.role,
    }
    if verb.raw:
        content = {"schema": _BYTES, "example": "# Handbook\n\nWe deploy on Fridays."}
        told["requestBody"] = {"required": True, "content": {"application/octet-stream": content}}
    elif verb.method not in BODILESS:
        told["requestBody"] = _body(verb, schemas, limits, asked)
    return told


def _parameters(
    verb: Verb[..., object], schemas: Schemas, limits: Limits, asked: Mapping[str, Any]
) -> Iterable[dict[str, Any]]:
    for each in verb.parameters:
        if each.place not in ("path", "query", "header"):
            continue
        schema = _without_null(_schema(verb, each, schemas, limits))
        told = _parameter(each.wire, each.place, schema, required=each.required)
        if each.kind.names == {"object", "null"}:  # In a query it is written as JSON.
            told["content"] = {_JSON: {"schema": told.pop("schema")}}
        elif each.wire in asked:
            told["example"] = asked[each.wire]
        yield told
    if verb.is_list and not verb.has("limit"):
        yield _parameter("limit", "query", {"type": "integer", "minimum": 1, "maximum": LONGEST})
    if verb.is_list:
        yield _parameter("cursor", "query", {"type": "string"})
    yield from _headers(verb)


def _headers(verb: Verb[..., object]) -> Iterable[dict[str, Any]]:
    if verb.method == "GET":
        yield _parameter("If-None-Match", "header", {"type": "string"})
    elif verb.method in ("PUT", "PATCH", "DELETE"):
        yield _parameter("If-Match", "header", {"type": "string"})
    if keeps_answer(verb) and not any(each.place == "header" for each in verb.parameters):
        yield _parameter("Idempotency-Key", "header", {"type": "string", "maxLength": 512})


def _parameter(name: str, place: str, schema: Schema, *, required: bool = False) -> dict[str, Any]:
    found: dict[str, Any] = {"name": name, "in": place, "schema": schema, "required": required}
    if place == "path":
        found["required"] = True
    if name in _WORDS:
        found["description"] = _WORDS[name]
    return found


def _body(
    verb: Verb[..., object], schemas: Schemas, limits: Limits, asked: Mapping[str, Any]
) -> dict[str, Any]:
    inside = [each for each in verb.parameters if each.place == "body"]
    shown = {each.wire: asked[each.wire] for each in inside if each.wire in asked}
    needed = [each.wire for each in inside if each.required]
    schema = {
        "type": "object",
        "properties": {each.wire: _schema(verb, each, schemas, limits) for each in inside},
        "additionalProperties": False,
        **({"required": needed} if needed else {}),
    }
    return {"required": bool(needed), "content": {_JSON: {"schema": schema, "example": shown}}}


def _schema(
    verb: Verb[..., object], parameter: Parameter, schemas: Schemas, limits: Limits
) -> Schema:
    schema = {**schemas.of(parameter.annotation), **bounds_of(verb, parameter, limits)}
    if parameter.place == "body" and parameter.wire in _WORDS:
        schema = {**schema, "description": _WORDS[parameter.wire]}
    return schema


def _without_null(schema: Schema) -> Schema:
    """In a path, a query or a header there is no null: it is left out instead."""
    kinds = schema.get("type")
    if None in schema.get("enum", ()):
        schema = {**schema, "enum": [each for each in schema["enum"] if each is not None]}
    if isinstance(kinds, list):
        left = [each for each in kinds if each != "null"]
        return {**schema, "type": left[0] if len(left) == 1 else left}
    if "anyOf" in schema:
        some = [each for each in schema["anyOf"] if each.get("type") != "null"]
        rest = {name: value for name, value in schema.items() if name != "anyOf"}
        return {**some[0], **rest} if len(some) == 1 else {**rest, "anyOf": some}
    return schema


def _by_hand(operation: dict[str, Any], *, others: bool) -> None:
    """What FastAPI says of a route, with our errors instead of its own; or with `others'`."""
    told = operation.get("description", "")
    if told and not operation.get("summary", "").endswith("."):
        # FastAPI's own summary is the name of the function.
        operation["summary"] = " ".join(told.split("\n\n")[0].split())
    answers = operation.setdefault("responses", {})
    if "HTTPValidationError" in str(answers.get("422", "")):
        del answers["422"]
    if others:
        answers.setdefault("default", {"description": "As the one behind it answers."})
        return
    for code, answer in _refusals("POST").items():
        answers.setdefault(code, answer)


def _refusals(method: str) -> dict[str, Any]:
    found = {code: {"$ref": f"#/components/responses/{code}"} for code in _REFUSALS}
    if method == "GET":
        found = {code: each for code, each in found.items() if code not in ("409", "412", "507")}
        found["304"] = {"description": "It is as it was."}
    return found


def _refusal(words: str) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Error"}
    return {"description": words, "content": {_JSON: {"schema": schema}}}


def _error() -> Schema:
    return {
        "type": "object",
        "properties": {"error": {"type": "string"}, "field": {"type": "string"}},
        "required": ["error"],
        "description": "What was wrong, and with which field.",
    }


def _add(paths: dict[str, dict[str, Any]], verb: Verb[..., object], told: dict[str, Any]) -> None:
    """Put an operation under its path; a route written by hand that is there already wins."""
    alike = [path for path in paths if _NAME.sub("{}", path) == _NAME.sub("{}", verb.path)]
    path = alike[0] if alike else verb.path
    for ours, theirs in zip(_NAME.findall(verb.path), _NAME.findall(path), strict=True):
        for each in told["parameters"]:
            if each["in"] == "path" and each["name"] == ours[1:-1]:
                each["name"] = theirs[1:-1]
    paths.setdefault(path, {}).setdefault(verb.method.lower(), told)
