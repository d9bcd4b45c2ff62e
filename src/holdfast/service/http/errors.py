"""Errors as answers: one table from our errors to HTTP, one shape of body.

`{"error": "limit must be at most 200", "field": "limit"}`. What the caller did wrong is told in
full; what went wrong here is told by its kind alone and logged, because its text may name files.
Where another system's clients call, its shape holds, whoever refuses: the guard, a route, a verb.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Mapping
from typing import Any

from starlette.responses import Response

from holdfast import errors

log = logging.getLogger("holdfast.http")

#: The first line that fits counts: a special error stands before the general one.
_STATUS: tuple[tuple[type[errors.HoldfastError], int], ...] = (
    (errors.TooLarge, 413),
    (errors.InvalidInput, 400),
    # Only the settings of one call are read while a request is answered.
    (errors.ConfigError, 400),
    (errors.NotFound, 404),
    (errors.Conflict, 409),
    (errors.StoreFull, 507),
    (errors.StoreBusy, 503),
    (errors.StoreReadOnly, 503),
    (errors.Closed, 503),
    (errors.ModelError, 503),
    # Of a key: what models may take of it in a day is used.
    (errors.Throttled, 429),
    (errors.HoldfastError, 500),
)
#: What the core calls a field, and what it is called on the wire.
_WIRE_NAME = {
    "user": "user_id",
    "workspace": "workspace_id",
    "agent": "agent_id",
    "session": "session_id",
    "key": "Idempotency-Key",
}
_MOST_MESSAGE_CHARS = 500
_RETRY_SECONDS = "1"


def ours(_: int, message: str, field: str = "") -> dict[str, Any]:
    """An error in our shape."""
    return {"error": message} | ({"field": field} if field else {})


def openai(
    status: int, message: str, field: str = "", *, kind: str = "", code: str | None = None
) -> dict[str, Any]:
    """An error in the shape that OpenAI's clients show."""
    usual = ("server_error", None) if status >= 500 else ("invalid_request_error", None)
    found = _OPENAI.get(status, usual)
    told = {"message": message, "type": kind or found[0]}
    return {"error": {**told, "param": field or None, "code": code or found[1]}}


def _deerflow(status: int, message: str, field: str = "") -> dict[str, Any]:
    return {**ours(status, message, field), "detail": message}


_OPENAI: Mapping[int, tuple[str, str | None]] = {
    401: ("authentication_error", "invalid_api_key"),
    403: ("permission_error", None),
    429: ("rate_limit_error", "rate_limit_exceeded"),
}
#: Where errors have another shape than ours, by the beginning of the path.
_SHAPES: Mapping[str, Callable[[int, str, str], dict[str, Any]]] = {
    "/v1/proxy/": openai,
    "/api/memory/": _deerflow,
}


def fault(
    status: int,
    message: str,
    *,
    field: str = "",
    headers: Mapping[str, str] | None = None,
    path: str = "",
) -> Response:
    """An error response, in the shape that clients of this path expect."""
    shaped = next((each for begin, each in _SHAPES.items() if f"{path}/".startswith(begin)), ours)
    body = shaped(status, _short(message), _short(field))
    # ASCII: a message may quote a lone surrogate, which UTF-8 cannot hold.
    return Response(
        json.dumps(body), status, headers=dict(headers or {}), media_type="application/json"
    )


def fault_of(
    error: errors.HoldfastError, *, path: str = "", names: Mapping[str, str] | None = None
) -> Response:
    """The response to one of our errors; `names` are those of a verb's parameters on the wire."""
    status = next(status for kind, status in _STATUS if isinstance(error, kind))
    # By its name the Python client raises the same error again.
    headers = {"x-holdfast-error": type(error).__name__}
    if status == 503:
        headers["retry-after"] = _RETRY_SECONDS
    if isinstance(error, errors.Throttled) and error.retry_after is not None:
        headers["retry-after"] = str(math.ceil(error.retry_after))
    if status >= 500:
        # A model may repeat what it was sent.
        words = "" if isinstance(error, errors.ModelError) else f": {error}"
        log.error("%s%s", type(error).__name__, words)
        return fault(status, type(error)().args[0], headers=headers, path=path)
    field = error.field if isinstance(error, errors.InvalidInput) else ""
    message, wire = str(error), {**_WIRE_NAME, **(names or {})}.get(field, field)
    if wire != field and message.startswith(field):
        message = wire + message.removeprefix(field)
    field = wire
    return fault(status, message, field=field, headers=headers, path=path)


def _short(text: str) -> str:
    return text if len(text) <= _MOST_MESSAGE_CHARS else text[:_MOST_MESSAGE_CHARS] + "…"


#: What pydantic calls a mistake, in the words of our errors.
_WORDS: Mapping[str, str] = {
    "missing": "(string) is required",
    "extra_forbidden": "is not a field of this request",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "bool_parsing": "must be true or false",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
}


def complaint(mistake: Mapping[str, Any]) -> tuple[str, str]:
    """(message, field) for one of pydantic's errors."""
    field = ".".join(str(part) for part in mistake["loc"][1:])
    if not field:
        return "the body must be a JSON object, sent with content-type: application/json", ""
    limits = mistake.get("ctx") or {}
    if "ge" in limits:
        words = f"must be at least {limits['ge']}"
    elif "le" in limits:
        words = f"must be at most {limits['le']}"
    elif "expected" in limits:
        words = f"must be {limits['expected']}"
    else:
        words = _WORDS.get(mistake["type"], mistake["msg"])
    return f"{field} {words}", field
