"""A call as a request, and its answer as a value: by the verb's own parameters and types.

What is left at its default is not sent, so the service's own defaults count; above all the
workspace, which is that of the key. Every write carries a key of its own, by which the service
knows it when it comes again.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from functools import lru_cache
from types import NoneType
from typing import Any, ParamSpec, TypeVar
from urllib.parse import quote, urlencode
from uuid import uuid4

import orjson

from holdfast import errors
from holdfast.border import validate
from holdfast.catalogue.codec import open_envelope
from holdfast.catalogue.verb import BODILESS, SCOPE_NAMES, Parameter, Verb
from holdfast.client.transport import HttpRequest, Reply, Transport
from holdfast.config import Config, names
from holdfast.errors import InvalidInput, ServiceError
from holdfast.types import Receipt

# ----------------------------------------------------------------------
# An answer that is no success, as an error of our tree: what the service met is raised here.
# ----------------------------------------------------------------------

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
    message, field = _words_of(reply)
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


def _words_of(reply: Reply) -> tuple[str, str]:
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


P = ParamSpec("P")
R = TypeVar("R")

KEY = "Idempotency-Key"
_JSON = "application/json"


class ServiceCaller:
    """Asks a service. Threads may share it."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport

    def ask(self, verb: Verb[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """What a verb gives for these arguments."""
        given = arguments(verb, args, kwargs)
        value = self.fetch_json(to_request(verb, given))
        found = self.read(verb.returns, value, verb.answer)
        return _as_called(found, _own_key(verb, given))  # type: ignore[no-any-return]

    def fetch_json(self, request: HttpRequest, *, patience: float = 0.0) -> Any:
        """The JSON that answers a request."""
        reply = self.transport.exchange(request, patience=patience)
        if not 200 <= reply.status < 300:
            raise error_of(reply, self.transport.address, has_key=self.transport.has_key)
        return self._json_of(reply)

    def read(self, kind: Any, value: Any, name: str = "") -> Any:
        """A value of a type, out of the JSON that a verb gave."""
        try:
            return open_envelope(kind, value, name)
        except (AttributeError, KeyError, TypeError, ValueError):
            raise ServiceError(
                f"{self.transport.address}: the answer is not of this version of Holdfast"
            ) from None

    def _json_of(self, reply: Reply) -> Any:
        try:
            return orjson.loads(reply.body)
        except ValueError:
            raise ServiceError(
                f"{self.transport.address}: the answer is not JSON; is Holdfast there?"
            ) from None


def arguments(
    verb: Verb[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments of a call by their names; TypeError as a call of the function itself."""
    bound = signature(verb.function).bind(None, *args, **kwargs).arguments
    return dict(list(bound.items())[1:])


@lru_cache(maxsize=512)
def signature(function: Any) -> inspect.Signature:
    """How a function is called."""
    return inspect.signature(function)


def to_request(verb: Verb[..., Any], given: Mapping[str, Any]) -> HttpRequest:
    """The request that stands for a call."""
    said = [(each, _argument(each, given)) for each in verb.parameters if _is_said(each, given)]
    target = verb.path
    for each, value in said:
        if each.place == "path":
            target = target.replace("{" + each.wire + "}", _segment(each, value))
    if query := [(each.wire, text) for each, value in said for text in _query_texts(each, value)]:
        target += "?" + urlencode(query)
    if verb.method in BODILESS:
        body = b""
    elif verb.raw:
        body = given[verb.raw]
    else:
        body = to_json({each.wire: value for each, value in said if each.place == "body"})
    if callable(progress := given.get("progress")):
        _tell(progress, given)
    return HttpRequest(verb.method, target, body, _headers(verb, given))


def _is_said(parameter: Parameter, given: Mapping[str, Any]) -> bool:
    if parameter.name not in given or parameter.place == "header":
        return False
    value, default = given[parameter.name], parameter.default
    return parameter.required or not (type(value) is type(default) and value == default)


def _argument(parameter: Parameter, given: Mapping[str, Any]) -> Any:
    value = given[parameter.name]
    if parameter.name in SCOPE_NAMES:
        return validate.word(value, parameter.name)
    return _overrides(value) if parameter.name == "overrides" else value


def _query_texts(parameter: Parameter, value: Any) -> list[str]:
    return _texts(parameter, value) if parameter.place == "query" else []


def _headers(verb: Verb[..., Any], given: Mapping[str, Any]) -> dict[str, str | bytes]:
    headers: dict[str, str | bytes] = {}
    if verb.method not in BODILESS:
        headers["content-type"] = "application/octet-stream" if verb.raw else _JSON
    if verb.role != "read" and verb.method != "GET":
        headers |= key_headers(_own_key(verb, given))
    return headers


def _overrides(values: Any) -> Any:
    """Settings of one call as a service takes them, flat; it would pass over what is unknown."""
    Config().override(values)
    flat = dict(_flat(values, ""))
    for name in flat.keys() - set(names()):
        raise InvalidInput(f"overrides: {name} cannot be sent to a service", field="overrides")
    return flat


def _flat(values: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def key_headers(key: object = None) -> dict[str, str | bytes]:
    """The header by which a request is known when it comes again: the caller's key, or our own."""
    name = validate.idempotency_key(key) or uuid4().hex
    if not name.isprintable():
        raise InvalidInput("key holds a character that cannot be sent", field="key")
    return {KEY: name.encode()}


def to_json(body: Mapping[str, Any]) -> bytes:
    """A body as JSON; InvalidInput names what cannot be sent."""
    try:
        return _json(body)
    except (TypeError, ValueError, RecursionError):
        pass
    for name, value in body.items():
        try:
            _json(value)
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidInput(f"{name} cannot be sent as JSON: {error}", field=name) from None
    raise InvalidInput("the names of what is sent must be texts")


def _json(value: Any) -> bytes:
    text = json.dumps(value, default=_plain, allow_nan=False, ensure_ascii=False)
    try:
        return text.encode()
    except UnicodeEncodeError:  # Lone surrogates: the core makes them U+FFFD, and says so.
        return json.dumps(value, default=_plain, allow_nan=False).encode()


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, set | frozenset):
        return sorted(value)
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        return list(value)
    raise TypeError(f"a value of the type {type(value).__name__}")


def _segment(parameter: Parameter, value: Any) -> str:
    (text,) = _texts(parameter, value) or [""]
    if not text:
        raise InvalidInput(f"{parameter.name} is blank", field=parameter.name)
    return quote(text, safe="")


def _texts(parameter: Parameter, value: Any) -> list[str]:
    """What stands for a value in a query: a list is told one by one."""
    checked = parameter.kind.check(_jsonable(parameter, value), parameter.name)
    if isinstance(checked, dict):
        return [to_json(checked).decode()]
    texts = list(_query_values(checked if isinstance(checked, list) else [checked]))
    if any("\0" in text or not _is_utf8(text) for text in texts):
        raise InvalidInput(
            f"{parameter.name} holds a NUL or a lone surrogate", field=parameter.name
        )
    return texts


def _jsonable(parameter: Parameter, value: Any) -> Any:
    if isinstance(value, str | int | float | list | dict | NoneType):
        return value
    try:
        return _plain(value)
    except TypeError as error:
        words = f"{parameter.name} cannot be sent: {error}"
        raise InvalidInput(words, field=parameter.name) from None


def _query_values(values: Sequence[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, bool):
            yield "true" if value else "false"
        elif value is not None:
            yield value if isinstance(value, str) else str(value)


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _tell(progress: Any, given: Mapping[str, Any]) -> None:
    """All at once, before it is sent: if the caller's function raises, nothing is stored."""
    messages = given.get("messages")
    count = 1 if isinstance(messages, str | Mapping) else len(messages or ())
    progress(count, count)


def _own_key(verb: Verb[..., Any], given: Mapping[str, Any]) -> Any:
    """The key that the caller gave to make a retry harmless, if the verb takes one."""
    name = next((each.name for each in verb.parameters if each.place == "header"), None)
    return None if name is None else given.get(name)


def _as_called(found: Any, key: Any) -> Any:
    """A receipt as if there had been one try: with the caller's key, not ours."""
    if not isinstance(found, Receipt):
        return found
    # Nobody else can have used our own key: it was this very call that came twice.
    return replace(found, key=key, duplicate=found.duplicate and key is not None)
