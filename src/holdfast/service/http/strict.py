"""Request bodies as strict JSON, parsed on a worker thread.

Invalid UTF-8, NaN and numbers that no machine holds are a plain 400; nesting without end and
values without number are a 422 that says how much there may be. Lone surrogates pass: the core
turns them into U+FFFD and says so.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, NoReturn

from fastapi import HTTPException, Request, Response
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers

from holdfast.settings import Service

_PIECE_BYTES = 1 << 16
_EMPTY = (b"[]", b"{}")
_BLANKS = b" \t\r\n"
_DEFAULTS = Service()
_JSON = "application/json"


class StrictRoute(APIRoute):
    """A route whose body goes through `parsed`."""

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
        return await run_in_threadpool(parsed, await self.body(), service)


def _has_body(headers: Headers) -> bool:
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"


def check_json(headers: Headers) -> None:
    """Refuse a body that calls itself something else than JSON; one that says nothing is read."""
    kind = headers.get("content-type", _JSON).partition(";")[0].strip().lower()
    if kind != _JSON and not (kind.startswith("application/") and kind.endswith("+json")):
        raise HTTPException(415, f"the body must be JSON, sent with content-type: {_JSON}")


def parsed(body: bytes, limits: Service = _DEFAULTS) -> Any:
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
