"""What a request for a verb says, from wherever it travels, as the arguments of a call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import Request

from holdfast.catalogue.verb import BODILESS, SCOPE_NAMES, Parameter, Verb
from holdfast.errors import InvalidInput, ScopeError
from holdfast.service.http.auth import check_within
from holdfast.service.http.strict import check_json, parsed
from holdfast.types import ApiKey

#: Of a scope, what may be left out: in a query string, where nothing else says so, by being empty.
_NARROWING = ("workspace_id", "agent_id", "session_id")


def sent(verb: Verb[..., object], request: Request, body: bytes) -> dict[str, Any]:
    """What was sent, by the names of the wire."""
    if verb.method in BODILESS or verb.raw:
        found = _query(verb, request)
    else:
        for name in request.query_params:
            words = f"{name:.64} is in the query: send it in the body, as JSON"
            raise InvalidInput(words, field=name)
        found = _object(request, body) if body else {}
    return found | _path(verb, request) | _header(verb, request)


def checked(verb: Verb[..., object], given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call, each of the kind that the function takes."""
    known = {each.wire: each for each in verb.parameters if each.place != "raw"}
    for name in given:
        if name not in known:
            raise InvalidInput(f"{name:.64} is not a field of this request", field=name)
    found = {}
    for each in known.values():
        if each.wire in given:
            found[each.name] = _within(verb, each, each.kind.check(given[each.wire], each.wire))
        elif each.required:
            raise _missing(each)
        elif each.name in verb.most and each.default is None:
            found[each.name] = verb.most[each.name]
    return found


def scoped(verb: Verb[..., object], key: ApiKey, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call inside the scope of a key: a request may narrow it, never widen."""
    arguments = dict(given)
    check_within(key, workspace=given.get("workspace"), user=given.get("user"))
    if verb.has("workspace"):
        arguments["workspace"] = key.workspace
    if key.user is not None and verb.has("user"):
        arguments["user"] = key.user
        if verb.has("author"):  # Nobody signs with the name of another.
            arguments["author"] = key.user
    if verb.name == "batch":
        arguments["items"] = _items(arguments, key)
    return arguments


def _items(arguments: Mapping[str, Any], key: ApiKey) -> Any:
    """The items of a batch, with the scope words as the wire has them or as Python does. Whose
    they are says the batch: an item may repeat it."""
    sent = arguments["items"]
    if not isinstance(sent, list):
        return sent
    return [
        _item(each, f"items[{place}]", arguments, key) if isinstance(each, dict) else each
        for place, each in enumerate(sent)
    ]


def _item(
    item: Mapping[str, Any], place: str, arguments: Mapping[str, Any], key: ApiKey
) -> dict[str, Any]:
    found = dict(item)
    for name in ("user", "agent", "session"):
        wire = SCOPE_NAMES[name]
        if wire not in found:
            continue
        value = found.pop(wire)
        if found.setdefault(name, value) != value:
            raise InvalidInput(f"{place}.{name} and {wire} differ: send one of them", field=wire)
    check_within(key, user=found.get("user"))
    for name in ("user", "agent"):
        if name in found and found.pop(name) != arguments.get(name):
            wire = SCOPE_NAMES[name]
            words = f"{place}.{wire} is not that of the batch: send one for each {name}"
            raise InvalidInput(words, field=wire)
    return found


def _within(verb: Verb[..., object], parameter: Parameter, value: Any) -> Any:
    most = verb.most.get(parameter.name)
    if most is None:
        return value
    if value is None:
        return most
    if value > most:
        raise InvalidInput(f"{parameter.wire} must be at most {most:g}", field=parameter.wire)
    return value


def _missing(parameter: Parameter) -> InvalidInput:
    kind = "string" if "string" in parameter.kind.names else parameter.kind.words
    error = ScopeError if parameter.wire.endswith("_id") else InvalidInput
    return error(f"{parameter.wire} ({kind}) is required", field=parameter.wire)


def _query(verb: Verb[..., object], request: Request) -> dict[str, Any]:
    known = {each.wire: each for each in verb.parameters if each.place == "query"}
    params, found = request.query_params, dict[str, Any]()
    for name in params:
        texts = params.getlist(name)
        if name in _NARROWING and texts == [""]:
            continue
        if name in known:
            found[name] = known[name].kind.read(texts, name)
        elif name == "limit" and texts[0].isascii() and texts[0].isdecimal():
            found[name] = int(texts[0][:20])
        else:
            found[name] = texts[0]
    return found


def _path(verb: Verb[..., object], request: Request) -> dict[str, Any]:
    return {
        each.wire: each.kind.read([request.path_params[each.wire]], each.wire)
        for each in verb.parameters
        if each.place == "path"
    }


def _header(verb: Verb[..., object], request: Request) -> dict[str, Any]:
    return {
        each.wire: value
        for each in verb.parameters
        if each.place == "header" and (value := request.headers.get(each.wire)) is not None
    }


def _object(request: Request, body: bytes) -> dict[str, Any]:
    check_json(request.headers)
    value = parsed(body, request.app.state.memory.config.service)
    if not isinstance(value, dict):
        raise InvalidInput(
            "the body must be a JSON object, sent with content-type: application/json"
        )
    return value
