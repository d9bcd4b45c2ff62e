"""What travels over HTTP: JSON bodies, the fields of hand-written routes, answers and their ETags.

Other systems' clients send what is theirs to know: a field that is not listed is ignored, and one
that is null or, of those that may be left out, empty counts as left out. Our own verbs are strict
(`verbs.py`). The rules of a value (limits, times, metadata) are the core's own.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import fields
from typing import Annotated, Any, LiteralString, NoReturn

from fastapi import Depends, HTTPException, Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, PlainValidator, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as AsgiScope

from holdfast.catalogue.codec import dumps
from holdfast.catalogue.verb import SCOPE_NAMES
from holdfast.memory.memory import Memory
from holdfast.settings import Service

# Request bodies as strict JSON, parsed on a worker thread. Invalid UTF-8, NaN and numbers that no
# machine holds are a plain 400; nesting without end and values without number are a 422 that says
# how much there may be. Lone surrogates pass: the core turns them into U+FFFD and says so.

_PIECE_BYTES = 1 << 16
_EMPTY = (b"[]", b"{}")
_BLANKS = b" \t\r\n"
_DEFAULTS = Service()
_JSON = "application/json"


class StrictRoute(APIRoute):
    """A FastAPI route whose body goes through `parse_json`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def strict(request: Request) -> Response:
            if _has_body(request.headers):
                check_json(request.headers)
            return await handle(_Request(request.scope, request.receive))

        return strict


class _Request(Request):
    async def json(self) -> Any:
        service = self.app.state.memory.config.service
        return await run_in_threadpool(parse_json, await self.body(), service)


def _has_body(headers: Headers) -> bool:
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"


def check_json(headers: Headers) -> None:
    """415 for a body whose content type is not JSON; one without a type is read."""
    kind = headers.get("content-type", _JSON).partition(";")[0].strip().lower()
    if kind != _JSON and not (kind.startswith("application/") and kind.endswith("+json")):
        raise HTTPException(415, f"the body must be JSON, sent with content-type: {_JSON}")


def parse_json(body: bytes, limits: Service = _DEFAULTS) -> Any:
    """The JSON value of a body."""
    opened = body.count(b"[") + body.count(b"{")
    # What is counted in texts too can only be too much: it is counted exactly when it matters.
    if body.count(b",") + opened >= limits.json_values:
        _check_values(body, limits.json_values)
    try:
        value = json.loads(body.decode("utf-8"), parse_constant=_no_number, parse_float=_finite)
    except RecursionError:
        raise _too_deep(limits.json_depth) from None
    except ValueError as error:
        where = f" at character {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
        raise HTTPException(400, f"the body is not JSON in UTF-8{where}") from None
    if opened > limits.json_depth:
        _check_depth(value, limits.json_depth)
    return value


def _check_values(body: bytes, most: int) -> None:
    """Refuse a body with too many values, before they take up memory.

    A list or an object of n > 0 values has n - 1 commas, so of JSON this is exact.
    """
    values, before = 1, b""
    for bare in _without_texts(body):
        values += bare.count(b",") + bare.count(b"[") + bare.count(b"{")
        values -= bare.count(b"[]") + bare.count(b"{}") + (before + bare[:1] in _EMPTY)
        before = bare[-1:] or before
        if values > most + 1:  # One that was opened at the end may prove to be empty.
            break
    if values > most:
        raise HTTPException(422, f"the body holds too many values, the limit is {most}")


def _without_texts(body: bytes) -> Iterator[bytes]:
    """JSON piece by piece, without blanks and with a 0 for every text.

    In pieces: one that is all texts falls into very many parts, and others must get a turn.
    """
    plain = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    inside = False
    for start in range(0, len(plain), _PIECE_BYTES):
        parts = plain[start : start + _PIECE_BYTES].split(b'"')
        bare = b"0".join(parts[inside::2])
        inside ^= len(parts) % 2 == 0
        yield (bare + b"0" if inside else bare).translate(None, _BLANKS)


def _check_depth(value: Any, most: int) -> None:
    level, depth = [value] if isinstance(value, dict | list) else [], 0
    while level:
        depth += 1
        if depth > most:
            raise _too_deep(most)
        level = [
            child
            for node in level
            for child in (node.values() if isinstance(node, dict) else node)
            if isinstance(child, dict | list)
        ]


def _too_deep(most: int) -> HTTPException:
    return HTTPException(422, f"the body is nested too deeply, the limit is {most} levels")


def _no_number(name: str) -> NoReturn:
    raise ValueError(name)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


# The fields of bodies and query strings.


def only(good: Callable[[Any], bool], words: LiteralString) -> PlainValidator:
    """A validator: `words` say what is wrong with a value that is not good."""

    def check(value: Any) -> Any:
        if not good(value):
            raise PydanticCustomError("value", words)
        return value

    return PlainValidator(check)


def schema(*types: str, **more: Any) -> WithJsonSchema:
    """The JSON schema of a field."""
    return WithJsonSchema({"type": list(types) if len(types) > 1 else types[0], **more})


def are_texts(value: object) -> bool:
    """Whether it is a list of strings."""
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


# Not pydantic's own `str`: it refuses lone surrogates, which the core turns into U+FFFD. A string
# of the seed that is empty counts as missing.
_NEEDED, _MISSING = (lambda value: isinstance(value, str) and value != ""), "(string) is required"
Needed = Annotated[str, only(_NEEDED, _MISSING), schema("string", minLength=1)]
#: Who is meant; a key of one user need not say it.
Whose = Annotated[
    str | None,
    only(lambda value: value is None or _NEEDED(value), _MISSING),
    schema("string", "null", minLength=1),
]
Text = Annotated[
    str | None,
    only(lambda value: isinstance(value, str | None), "must be a string"),
    schema("string", "null"),
]
Texts = Annotated[
    list[str], only(are_texts, "(string[]) is required"), schema("array", items={"type": "string"})
]
Object = Annotated[
    dict[str, Any] | None,
    only(lambda value: isinstance(value, dict | None), "must be an object"),
    schema("object", "null"),
]


class Scoped(BaseModel):
    """What every request says: whose memory is meant."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    user_id: Whose = None
    #: Only to repeat the key's own workspace; a key cannot reach another.
    workspace_id: Text = None
    agent_id: Text = None

    @model_validator(mode="before")
    @classmethod
    def _without_nothing(cls, sent: Any) -> Any:
        """What is said without what says nothing. Whose it is must be said, or left out."""
        if not isinstance(sent, dict):
            return sent
        named = {"user_id"} | {
            name for name, each in cls.model_fields.items() if each.is_required()
        }
        return {
            name: value
            for name, value in sent.items()
            if value is not None and (value != "" or name in named)
        }


class QueryString(Scoped):
    """What a query string says."""


class Sent(Scoped):
    """What a body says."""

    model_config = ConfigDict(strict=True)


class ClosedBody(BaseModel):
    """A body of ours: a field that is not listed is refused."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


# What routes are given, and how they answer.


async def _memory(request: Request) -> Memory:
    memory = request.app.state.memory
    assert isinstance(memory, Memory)
    return memory


Held = Annotated[Memory, Depends(_memory)]


def json_response(
    value: Any, status: int = 200, *, headers: Mapping[str, str] | None = None
) -> Response:
    """A value as a JSON response."""
    return Response(dumps(value), status, headers=dict(headers or {}), media_type=_JSON)


def to_wire(value: Any, **names: str) -> dict[str, Any]:
    """A dataclass by the names of the wire; `names` are those of its own."""
    known = {**SCOPE_NAMES, **names}
    return {known.get(each.name, each.name): getattr(value, each.name) for each in fields(value)}


def printable(text: str) -> str:
    """A caller's text as JSON in UTF-8 can hold it."""
    return text.encode("utf-8", "replace").decode()


# ETags: every JSON answer to a GET has the digest of its bytes as a strong tag; `If-None-Match`
# with it is answered by 304. `If-Match` on a change is in `verbs.py`: it compares the same tag.

_DIGEST_CHARS = 32
_OF_A_BODY = ("content-length", "content-type")


def etag_of(body: bytes) -> str:
    """The strong tag of an answer."""
    return f'"{hashlib.sha256(body).hexdigest()[:_DIGEST_CHARS]}"'


def names_etag(header: str, tag: str) -> bool:
    """Whether an If-Match or If-None-Match header names this ETag, or all of them."""
    given = [each.strip().removeprefix("W/") for each in header.split(",")]
    return "*" in given or tag in given


class Etags:
    """ASGI middleware that tags the answers to GET."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        asked = Headers(scope=scope).get("if-none-match", "")
        start: Message | None = None

        async def tagging(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start" and _is_tagged(message):
                start = message  # It waits for the body, which is one piece.
                return
            if start is not None:
                first, start = start, None
                if not message.get("more_body", False):
                    message = _with_tag(first, message, asked)
                await send(first)
            await send(message)

        await self._app(scope, receive, tagging)


def _is_tagged(message: Message) -> bool:
    headers = Headers(raw=message["headers"])
    is_json = headers.get("content-type", "").startswith("application/json")
    return message["status"] == 200 and is_json and "content-length" in headers


def _with_tag(start: Message, body: Message, asked: str) -> Message:
    """Tag an answer; the body to send, which is empty when the asker has it."""
    tag = etag_of(body.get("body", b""))
    headers = MutableHeaders(raw=start["headers"])
    headers["etag"] = tag
    if not asked or not names_etag(asked, tag):
        return body
    start["status"] = 304
    start["headers"] = [
        pair for pair in start["headers"] if pair[0].decode("latin-1").lower() not in _OF_A_BODY
    ]
    return {"type": "http.response.body", "body": b""}
