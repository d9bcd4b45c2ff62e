"""Requests that mean harm: bodies, headers and ids, for every route."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote_from_bytes

from tests.service.asking import Question, Route
from tests.service.world import World

JSON = "application/json"
#: Texts for every place where a text goes.
TEXTS: Mapping[str, str] = {
    "NUL": "a\x00b",
    "surrogate": "\ud800\udfff\udc00",
    "controls": "\x01\x08\x1b[2J\x7f\x9f\u202e\ufeff\u2028",
    "path": "../../../../etc/passwd",
    "statement": "'; DROP TABLE records; --",
    "template": "{{7*7}}${7*7}%(x)s%n%s<script>alert(1)</script>",
    "long": "é" * 70_000,
    "blank": " \t\n",
    "number": "9" * 400,
    "time": "9999-12-31T23:59:59.999999999-23:59",
    "zero time": "0000-00-00",
}
#: Values for every place where any value goes.
VALUES: Mapping[str, Any] = {
    "null": None,
    "true": True,
    "huge number": 10**399,
    "negative": -(2**63) - 1,
    "fraction": 1e308,
    "tiny": 5e-324,
    "list": [],
    "list of lists": [[[[]]]],
    "object": {"": {"": None}},
    "strange names": {"__proto__": 1, "\x00": 2, "$where": 3, "a" * 3000: 4},
    "mixed list": [None, True, 1, 1.5, "x", [], {}],
}


@dataclass(frozen=True)
class Attack:
    """A request with what is bad about it."""

    name: str
    method: str
    #: The path with its query, as bytes go over the wire.
    target: str
    body: bytes | None = None
    content_type: str | None = JSON
    headers: Mapping[str, str] | None = None


def bodies() -> Iterator[tuple[str, bytes, Mapping[str, str]]]:
    """Bodies that are bad whatever they are sent to."""
    plain = {"content-type": JSON}
    yield "empty", b"", plain
    yield "truncated", b'{"user_id": "ann", "query": "te', plain
    yield "invalid UTF-8", b'{"user_id": "\xff\xfe\xc0\x80"}', plain
    yield "UTF-16", '{"user_id": "ann"}'.encode("utf-16"), plain
    yield "byte order mark", b'\xef\xbb\xbf{"user_id": "ann"}', plain
    yield "duplicate keys", b'{"user_id": "eve", "user_id": "ann"}', plain
    yield "NaN", b'{"user_id": "eve", "limit": NaN}', plain
    yield "infinity", b'{"user_id": "eve", "limit": 1e999}', plain
    yield "400 digits", b'{"user_id": "eve", "limit": ' + b"9" * 400 + b"}", plain
    yield "100,000 digits", b'{"limit": ' + b"9" * 100_000 + b"}", plain
    yield "not an object", b"[1, 2, 3]", plain
    yield "a string", b'"text"', plain
    yield "null", b"null", plain
    yield "depth 100,000", b"[" * 100_000 + b"]" * 100_000, plain
    yield "objects 100,000 deep", b'{"a":' * 100_000 + b"1" + b"}" * 100_000, plain
    yield "text/plain", b'{"user_id": "eve"}', {"content-type": "text/plain"}
    yield "XML", b"<a/>", {"content-type": "application/xml"}
    yield "a form", b"user_id=eve", {"content-type": "application/x-www-form-urlencoded"}
    yield "no boundary", b"--x", {"content-type": "multipart/form-data"}
    yield "a wrong charset", b"{}", {"content-type": "application/json; charset=utf-7"}
    yield "no content type", b"{}", {}
    bomb = gzip.compress(b" " * 100_000_000, 9)
    yield "gzip bomb", bomb, {**plain, "content-encoding": "gzip"}
    yield "many empty lists", b'{"messages": [' + b"[]," * 200_000 + b"[]]}", plain


def large() -> Iterator[tuple[str, bytes, Mapping[str, str]]]:
    """Those that take seconds to send and to read."""
    plain = {"content-type": JSON}
    keys = b",".join(b'"k%d":1' % n for n in range(1_000_000))
    yield "a million keys", b"{" + keys + b"}", plain
    yield "17 MiB", b'{"query": "' + b"x" * (17 << 20) + b'"}', plain
    messages = b",".join(b'{"content": "x"}' for _ in range(200_001))
    yield "200,001 messages", b'{"user_id": "eve", "messages": [' + messages + b"]}", plain


def attacks(routes: list[Route], world: World, seed: int) -> Iterator[Attack]:
    """Every kind of attack on every route, in an order that depends on the seed alone."""
    shared = list(bodies())
    made: list[Attack] = []
    for route in routes:
        question = route.question(world)
        method = "POST" if route.method == "*" else route.method
        if question.body is not None:
            made += [
                Attack(name, method, question.path, body, None, headers)
                for name, body, headers in shared
            ]
        made += _fields(question, method)
        made += _foreign(route, world, method)
        made += _paths(route, world, method)
    random.Random(seed).shuffle(made)
    yield from made


def _fields(question: Question, method: str) -> Iterator[Attack]:
    """Every field with every bad value, one at a time."""
    bad = {**TEXTS, **VALUES}
    if isinstance(question.body, dict):
        names = [*question.body, "user_id", "agent_id", "limit", "config_override", "unknown"]
        for name in dict.fromkeys(names):
            for what, value in bad.items():
                body = json.dumps({**question.body, "user_id": "eve", name: value}).encode()
                yield Attack(f"{name}: {what}", method, question.path, body)
    else:
        for name in dict.fromkeys([*question.query, "user_id", "limit", "as_of", "cursor"]):
            for what, text in TEXTS.items():
                query = {**question.query, "user_id": "eve", name: text}
                yield Attack(f"?{name}: {what}", method, target(question.path, query))


def _foreign(route: Route, world: World, method: str) -> Iterator[Attack]:
    """Ids of another tenant, in the path, the body and the query."""
    for kind, id in world.hers.items():
        question = route.question(world, subject=id if route.takes_an_id else None)
        if question.body is None:
            asked = target(question.path, {**question.query, "user_id": "eve"})
            yield Attack(f"foreign {kind}", method, asked)
        elif isinstance(question.body, dict):
            body = {name: _with_id(value, id) for name, value in question.body.items()}
            sent = json.dumps({**body, "user_id": "eve"}).encode()
            yield Attack(f"foreign {kind}", method, question.path, sent)


def _with_id(value: Any, id: str) -> Any:
    if isinstance(value, str):
        return id
    return [id] if isinstance(value, list) else value


def _paths(route: Route, world: World, method: str) -> Iterator[Attack]:
    """Strange texts in the place of an id, where the path has one."""
    if route.takes_an_id:
        for what, text in TEXTS.items():
            sendable = text[:3000].encode("utf-8", "replace").decode()
            question = route.question(world, subject=sendable)
            query = {"user_id": "eve"} if question.body is None else {}
            sent = None if question.body is None else json.dumps(question.body).encode()
            yield Attack(f"path: {what}", method, target(question.path, query), sent)


def target(path: str, query: Mapping[str, Any]) -> str:
    """A path with its query; lone surrogates are sent as the bytes that stand for them."""

    def quoted(value: Any) -> str:
        text = str(value)[:8000]
        return quote_from_bytes(text.encode("utf-8", "surrogatepass"), safe="")

    joined = "&".join(f"{name}={quoted(value)}" for name, value in query.items())
    return f"{path}?{joined}" if joined else path
