"""An answer that is no success, as an error of our tree: what the service met is raised here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from recollect import errors
from recollect.api.verb import SCOPE_NAMES
from recollect.client.transport import Reply

#: The header in which the service tells the name of its error; see doors/http/faults.py.
KIND = "x-recollect-error"
#: What it means where the service does not tell, for example before a route was found.
_BY_STATUS: Mapping[int, type[errors.RecollectError]] = {
    400: errors.InvalidInput,
    401: errors.Denied,
    403: errors.Denied,
    404: errors.NotFound,
    408: errors.Unavailable,
    409: errors.Conflict,
    412: errors.Conflict,
    413: errors.TooLarge,
    415: errors.InvalidInput,
    422: errors.InvalidInput,
    429: errors.Throttled,
    502: errors.Unavailable,
    503: errors.Unavailable,
    504: errors.Unavailable,
    507: errors.StoreFull,
}
#: Of the service, not of this memory: it is about to stop.
_STOPPING = errors.Closed.__name__
#: What the core calls a field of the wire.
_NAMES = {wire: name for name, wire in SCOPE_NAMES.items()} | {
    "Idempotency-Key": "key",
    "config_override": "overrides",
}
#: What a router says of a path that it does not know.
_NO_ROUTE = ("Not Found", "Method Not Allowed")


def error_of(reply: Reply, address: str) -> errors.RecollectError:
    """The error that an answer stands for."""
    message, field = _told(reply)
    if reply.status in (404, 405) and message in _NO_ROUTE:
        return errors.ServiceError(f"{address} does not know this call: is it an older version?")
    kind = _kind(reply)
    if issubclass(kind, errors.InvalidInput):
        name = _NAMES.get(field, field)
        if field and message.startswith(field):
            message = name + message.removeprefix(field)
        return kind(message, field=name)
    if issubclass(kind, errors.Unavailable | errors.ModelUnavailable):
        return kind(f"{address}: {message}", retry_after=reply.retry_after)
    if issubclass(kind, errors.ServiceError):
        return kind(f"{address}: {message}")
    return kind(message)


def _kind(reply: Reply) -> type[errors.RecollectError]:
    told = reply.headers.get(KIND, "")
    found = None if told == _STOPPING else getattr(errors, told, None)
    if isinstance(found, type) and issubclass(found, errors.RecollectError):
        return found
    return _BY_STATUS.get(reply.status, errors.ServiceError)


def _told(reply: Reply) -> tuple[str, str]:
    """What the answer says, and of which field."""
    try:
        said: Any = orjson.loads(reply.body)
    except ValueError:
        said = None
    if isinstance(said, dict) and isinstance(said.get("error"), str):
        return said["error"], str(said.get("field", ""))
    # Not our service, or something in front of it: its page may be long, and is not quoted.
    return f"the answer was HTTP {reply.status}", ""
