"""An answer that is no success, as an error of our tree: what the service met is raised here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from holdfast import errors
from holdfast.catalogue.verb import SCOPE_NAMES
from holdfast.client.transport import Reply

#: The header in which the service tells the name of its error; see service/http/errors.py.
KIND = "x-holdfast-error"
#: What it means where the service does not tell, for example before a route was found.
_BY_STATUS: Mapping[int, type[errors.HoldfastError]] = {
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
_NO_KEY = "asks for a key: set HOLDFAST_API_KEY, or give api_key="
_REFUSED = (
    "does not accept this key (HOLDFAST_API_KEY): it is wrong, expired or revoked;"
    " make one with `holdfast keys create` where the file is"
)
#: What a router says of a path that it does not know; ours says it in the header KIND as well.
_NO_ROUTE = ("Not Found", "Method Not Allowed")
_NO_SUCH_CALL = "NoRoute"


def error_of(reply: Reply, address: str, *, has_key: bool = True) -> errors.HoldfastError:
    """The error that an answer stands for; `has_key`: a key was sent with the request."""
    message, field = _told(reply)
    if not message:
        return _foreign(reply, address)
    if reply.status == 401:
        return errors.Denied(f"{address} {_REFUSED if has_key else _NO_KEY}")
    if message in _NO_ROUTE or reply.headers.get(KIND) == _NO_SUCH_CALL:
        return errors.ServiceError(f"{address} does not know this call: is it an older version?")
    return _met(reply, address, message, field)


def _met(reply: Reply, address: str, message: str, field: str) -> errors.HoldfastError:
    """What the service met, told in its words."""
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


def _kind(reply: Reply) -> type[errors.HoldfastError]:
    told = reply.headers.get(KIND, "")
    found = None if told == _STOPPING else getattr(errors, told, None)
    if isinstance(found, type) and issubclass(found, errors.HoldfastError):
        return found
    return _BY_STATUS.get(reply.status, errors.ServiceError)


def _told(reply: Reply) -> tuple[str, str]:
    """What the answer says, and of which field; nothing where it is not in our shape."""
    try:
        said: Any = orjson.loads(reply.body)
    except ValueError:
        said = None
    if isinstance(said, dict) and isinstance(said.get("error"), str):
        return said["error"], str(said.get("field", ""))
    return "", ""


def _foreign(reply: Reply, address: str) -> errors.HoldfastError:
    """Not our service, or something in front of it: its page may be long, and is not quoted."""
    kind = _kind(reply)
    words = f"{address}: the answer was HTTP {reply.status}"
    if issubclass(kind, errors.Unavailable):
        return kind(words, retry_after=reply.retry_after)
    if issubclass(kind, errors.Denied | errors.StoreFull | errors.TooLarge):
        return kind(words)
    return errors.ServiceError(
        f"{address}: this does not look like Holdfast (HTTP {reply.status}): check the address"
    )
