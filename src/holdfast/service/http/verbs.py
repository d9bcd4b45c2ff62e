"""The routes of the catalogue's verbs: request -> arguments -> a call of the memory -> response.

Plain routes, not FastAPI's: their parameters are checked by the catalogue, and `schema.py`
documents them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b, sha256
from typing import Any

from fastapi import HTTPException, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.routing import Match, Route
from starlette.types import Scope as AsgiScope

from holdfast.border import validate
from holdfast.border.ids import cursor_at, place_of
from holdfast.catalogue.codec import dumps, envelope
from holdfast.catalogue.verb import BODILESS, SCOPE_NAMES, Parameter, Verb
from holdfast.catalogue.verbs import ALL
from holdfast.errors import InvalidInput, NotFound, Overtaken, ScopeError
from holdfast.memory.memory import Memory
from holdfast.records.versions import attempts
from holdfast.service.http.audit import is_audited, note_action
from holdfast.service.http.auth import admit, check_within, key_of, require_role
from holdfast.service.http.idempotency import answer_once
from holdfast.service.http.overrides import override_for, override_for_write
from holdfast.service.http.wire import check_json, etag_of, names_etag, parse_json
from holdfast.types import TEAM, ApiKey, Drained, Scope

# What a request for a verb says, from wherever it travels, as the arguments of a call.

#: Of a scope, what may be left out: in a query string, where nothing else says so, by being empty.
_NARROWING = ("workspace_id", "agent_id", "session_id")


def wire_arguments(verb: Verb[..., object], request: Request, body: bytes) -> dict[str, Any]:
    """The arguments of a request by their names on the wire, from body, query, path and header."""
    if verb.method in BODILESS or verb.raw:
        found = _query(verb, request)
    else:
        for name in request.query_params:
            words = f"{name:.64} is in the query: send it in the body, as JSON"
            raise InvalidInput(words, field=name)
        found = _object(request, body) if body else {}
    return found | _path(verb, request) | _header(verb, request)


def call_arguments(verb: Verb[..., object], given: Mapping[str, Any]) -> dict[str, Any]:
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
            raise _missing_error(each)
        elif each.name in verb.most and each.default is None:
            found[each.name] = verb.most[each.name]
    return found


def within_scope(verb: Verb[..., object], key: ApiKey, given: Mapping[str, Any]) -> dict[str, Any]:
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


def _missing_error(parameter: Parameter) -> InvalidInput:
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
    value = parse_json(body, request.app.state.memory.config.service)
    if not isinstance(value, dict):
        raise InvalidInput(
            "the body must be a JSON object, sent with content-type: application/json"
        )
    return value


# Lists page by page. A list that is made in memory is made anew for every page. The cursor names
# the last item that was given, so what others add or take away meanwhile neither repeats an item
# nor passes one over; if that very item is gone, its place counts.

#: So long is the longest list; what is beyond is reached with narrower questions.
LONGEST = 10_000
_DIGEST_BYTES = 12


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Which page of a list is asked for."""

    cursor: str | None
    #: None: all of it.
    limit: int | None


def page_request(verb: Verb[..., object], sent: dict[str, Any]) -> PageRequest:
    """The cursor and the limit of a request, taken out of it."""
    cursor, limit = sent.pop("cursor", None), sent.pop("limit", None)
    if cursor is not None and not isinstance(cursor, str):
        raise InvalidInput("cursor must be a string", field="cursor")
    if limit is None and verb.has("limit"):
        limit = next(each.default for each in verb.parameters if each.name == "limit")
    if limit is not None:
        validate.whole_number(limit, "limit", 1, longest(verb))
    return PageRequest(cursor, limit)


def longest(verb: Verb[..., object]) -> int:
    """The longest page of a verb."""
    return int(verb.most.get("limit", LONGEST))


def page(
    verb: Verb[..., object],
    call: Callable[..., Sequence[Any]],
    arguments: dict[str, Any],
    asked: PageRequest,
) -> dict[str, Any]:
    """One page of what a verb lists, and the cursor of the next."""
    of = [verb.name, arguments]
    most = longest(verb)

    def first(limit: int | None) -> Sequence[Any]:
        return call(**arguments, limit=limit) if verb.has("limit") else call(**arguments)

    if asked.cursor is None:
        # One more tells whether there is another page.
        enough = None if asked.limit is None else min(asked.limit + 1, most)
        items, start = first(enough), 0
    else:
        last, place = place_of(asked.cursor, of=of, kinds=(str, int))
        items = first(most)
        start = next((n + 1 for n, each in enumerate(items) if _name(each) == last), max(0, place))
    end = len(items) if asked.limit is None else start + asked.limit
    shown = list(items[start:end])
    more = end < len(items) and shown
    following = cursor_at((_name(shown[-1]), end), of=of) if more else None
    return {**envelope(shown, verb.answer), "next": following}


def _name(item: Any) -> str:
    """What an item is known by: its id, or what it says."""
    if (id := getattr(item, "id", None)) is not None:
        return str(id)
    return blake2b(dumps(item), digest_size=_DIGEST_BYTES).hexdigest()


Endpoint = Callable[[Request], Coroutine[Any, Any, Response]]

_JSON = "application/json"
#: Names that people choose: they may hold a slash.
FREE = ("key", "agent_id", "session_id", "field")
#: What makes room is not turned away for want of room.
_RELIEVES = ("drain",)
#: Of somebody who was erased not even an answer is kept.
_REPEATABLE = ("drain", "erase")
#: Its receipt tells of a repetition, and how far the work has come meanwhile.
_TOLD = ("remember",)
#: Operations of a batch that are not harmless to repeat.
_COUNTED = ("remember", "feedback")
#: Path parameters that are ids of ours.
_IDS = ("id", "merge_id")
_SIBLING = {each.path: each for each in ALL if each.method == "GET"}
_DRAINING = threading.BoundedSemaphore(8)
_MOST_TOLD = 10_000


class VerbRoute(Route):
    """The route of a verb; `path` is as the catalogue has it."""

    def __init__(self, verb: Verb[..., object]) -> None:
        path = verb.path
        for name in FREE:
            path = path.replace("{" + name + "}", "{" + name + ":path}")
        super().__init__(path, endpoint(verb), methods=[verb.method], name=verb.name)
        self.verb = verb
        self.path = verb.path
        if self.methods is not None:
            self.methods.discard("HEAD")

    def matches(self, scope: AsgiScope) -> tuple[Match, AsgiScope]:
        match, found = super().matches(scope)
        # For the log and the metrics: they name routes, never paths.
        return match, {**found, "route": self} if found else found


def routes() -> list[VerbRoute]:
    """A route for every verb of the catalogue, fixed paths before those with a name in them."""
    return [VerbRoute(each) for each in sorted(ALL, key=lambda verb: verb.path.count("{"))]


def endpoint(verb: Verb[..., object]) -> Endpoint:
    """The handler of a verb."""

    async def answer(request: Request) -> Response:
        if verb.name in _RELIEVES:
            key = key_of(request)
            require_role(key, verb.role, whole=verb.whole)
        else:
            key = admit(request, verb.role, whole=verb.whole)
        body = await request.body() if verb.method not in BODILESS else b""
        work = _answer_drain if verb.name in _RELIEVES else _answer
        return await run_in_threadpool(work, request, verb, key, body)

    answer.__name__ = verb.name.replace(".", "_")
    answer.__doc__ = verb.words
    return answer


def _answer_drain(request: Request, verb: Verb[..., object], key: ApiKey, body: bytes) -> Response:
    """An answer that may take its time: so many at once, so that others are answered too."""
    if not _DRAINING.acquire(blocking=False):
        raise HTTPException(429, "others wait for the queue: try again", {"retry-after": "5"})
    memory, states = request.app.state.memory, ("ready", "running", "dead")
    try:
        before = memory.jobs(states=states, limit=_MOST_TOLD, workspace=key.workspace)
        began = time.monotonic()
        _answer(request, verb, key, body)
        left = memory.jobs(states=states, limit=_MOST_TOLD, workspace=key.workspace)
    finally:
        _DRAINING.release()
    # The queue belongs to all: what became of the jobs of others is not told.
    dead = {each.id for each in left if each.state == "dead"}
    waited = {each.id for each in before if each.state != "dead"}
    done = waited - {each.id for each in left}
    drained = Drained(
        len(done), len(waited & dead), time.monotonic() - began, len(left) - len(dead)
    )
    return Response(dumps(drained), verb.status, media_type=_JSON)


def _answer(request: Request, verb: Verb[..., object], key: ApiKey, body: bytes) -> Response:
    memory = request.app.state.memory
    given = wire_arguments(verb, request, body)
    if verb.is_list:
        asked = page_request(verb, given)
        arguments = within_scope(verb, key, call_arguments(verb, given))
        content = dumps(page(verb, verb.of(memory), arguments, asked))
        return Response(content, verb.status, media_type=_JSON)
    headers = _apply_override(memory, verb, given)
    arguments = within_scope(verb, key, call_arguments(verb, given))
    if verb.raw:
        _check_raw(request)
        arguments[verb.raw] = body
    content, replayed = _call_once(request, verb, key, arguments)
    if replayed:
        headers["Idempotent-Replayed"] = "true"
    return Response(content, verb.status, headers, _JSON)


def _apply_override(
    memory: Memory, verb: Verb[..., object], given: dict[str, Any]
) -> dict[str, str]:
    """Settings for this call alone, as far as they are ours; the headers that say so."""
    if "config_override" not in given or not verb.has("overrides"):
        return {}
    asked = given["config_override"]
    if asked is not None and not isinstance(asked, dict):
        raise InvalidInput("config_override must be an object", field="config_override")
    stores = verb.name == "remember"
    override = (override_for_write if stores else override_for)(memory.config, asked)
    given["config_override"] = dict(override.applied)
    return dict(override.headers)


def keeps_answer(verb: Verb[..., object]) -> bool:
    """Whether an answer under an idempotency key is kept: of what is harmless to repeat it is not,
    nor where a receipt says by itself that it is a repetition."""
    harmless = verb.role == "read" or verb.method in BODILESS or verb.name in _REPEATABLE
    return verb.name not in _TOLD and not harmless


def _call_once(
    request: Request, verb: Verb[..., object], key: ApiKey, arguments: dict[str, Any]
) -> tuple[bytes, bool]:
    """The answer to a call, and whether it had been given before."""
    memory = request.app.state.memory

    def act(given: Mapping[str, Any]) -> bytes:
        value = _call_if_match(request, verb, memory, given)
        if is_audited(verb):
            subject = next((given[name] for name in _IDS if name in given), None)
            subject = subject or getattr(value, "id", None)
            note_action(request, key, verb.name, subject, user=given.get("user"))
        return dumps(envelope(value, verb.answer))

    name = request.headers.get("idempotency-key")
    if name is None or not keeps_answer(verb):
        return act(arguments), False
    owner = Scope(key.workspace, arguments.get("user") or TEAM)
    at = {"at": None} if verb.has("at") else {}
    asked = {"verb": verb.name, **arguments}
    if "items" in arguments:
        arguments = {**arguments, "items": _items_with_keys(arguments["items"], name)}
    return answer_once(memory, owner, name, {**at, **arguments}, act, asked=asked)


def _items_with_keys(items: Sequence[Any], name: str) -> list[Any]:
    """Items of a batch, such that those that are not harmless to repeat are done once, whatever
    happens."""
    digest = sha256(name.encode("utf-8", "replace")).hexdigest()
    return [
        {**each, "key": f"batch {digest} {index}"}
        if isinstance(each, dict) and each.get("op") in _COUNTED and "key" not in each
        else each
        for index, each in enumerate(items)
    ]


def _call_if_match(
    request: Request, verb: Verb[..., object], memory: Memory, given: Mapping[str, Any]
) -> Any:
    """What a verb gives; where `If-Match` says how something must be, only if it still is: 412.

    The store changes it only if nothing of its owner has changed since it was looked at, whichever
    process wrote. Where something else has, it is looked at again.
    """
    tag = request.headers.get("if-match")
    if tag is None or verb.method in ("GET", "POST"):
        return verb.of(memory)(**given)
    sibling = _SIBLING.get(verb.path)
    if sibling is None:
        raise HTTPException(400, "If-Match is for what GET gives under the same path")
    known = {each.name for each in sibling.parameters}
    asked = {name: value for name, value in given.items() if name in known}
    user = None if verb.name.startswith("team.") else given.get("user")
    owner = Scope(given.get("workspace", "default"), user or TEAM)
    for _ in attempts(memory.store, owner):
        head = memory.store.head(owner)
        value = sibling.of(memory)(**asked)
        if not names_etag(tag, etag_of(dumps(envelope(value, sibling.answer)))):
            raise HTTPException(412, "it has changed since: ask for it again")
        try:
            with memory.store.unless_changed(owner, head):
                return verb.of(memory)(**given)
        except Overtaken:
            continue
        except (InvalidInput, NotFound):  # Perhaps of what another made of it meanwhile.
            if memory.store.head(owner) == head:
                raise
    raise AssertionError("attempts end with an error")


def _check_raw(request: Request) -> None:
    if request.headers.get("content-type", "").lower().startswith("multipart/"):
        raise HTTPException(415, "send the file itself as the body, not a form")
