"""Errors as answers: one table from our errors to HTTP, one shape of body.

`{"error": "limit must be at most 200", "field": "limit"}`. What the caller did wrong is told in
full; what went wrong here is told by its kind alone and logged, because its text may name files.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Mapping

from starlette.responses import Response

from recollect import errors

log = logging.getLogger("recollect.http")

#: The first line that fits counts: a special error stands before the general one.
_STATUS: tuple[tuple[type[errors.RecollectError], int], ...] = (
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
    (errors.RecollectError, 500),
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


def fault(
    status: int, message: str, *, field: str = "", headers: Mapping[str, str] | None = None
) -> Response:
    """An error as an answer."""
    body = {"error": _short(message)} | ({"field": _short(field)} if field else {})
    # ASCII: a message may quote a lone surrogate, which UTF-8 cannot hold.
    return Response(
        json.dumps(body), status, headers=dict(headers or {}), media_type="application/json"
    )


def fault_of(error: errors.RecollectError) -> Response:
    """One of our errors as an answer."""
    status = next(status for kind, status in _STATUS if isinstance(error, kind))
    # By its name the Python client raises the same error again.
    headers = {"x-recollect-error": type(error).__name__}
    if status == 503:
        headers["retry-after"] = _RETRY_SECONDS
    if isinstance(error, errors.Throttled) and error.retry_after is not None:
        headers["retry-after"] = str(math.ceil(error.retry_after))
    if status >= 500:
        # A model may repeat what it was sent.
        words = "" if isinstance(error, errors.ModelError) else f": {error}"
        log.error("%s%s", type(error).__name__, words)
        return fault(status, type(error)().args[0], headers=headers)
    field = error.field if isinstance(error, errors.InvalidInput) else ""
    message = str(error)
    if field in _WIRE_NAME and message.startswith(field):
        message = _WIRE_NAME[field] + message.removeprefix(field)
    return fault(status, message, field=_WIRE_NAME.get(field, field), headers=headers)


def _short(text: str) -> str:
    return text if len(text) <= _MOST_MESSAGE_CHARS else text[:_MOST_MESSAGE_CHARS] + "…"
