"""A tool: what a model is told of it, and what it does. An answer comes as text and as data."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import orjson
from mcp import types

from holdfast.catalogue.codec import dumps, envelope
from holdfast.catalogue.schemas import bounds_of
from holdfast.catalogue.verb import Parameter, Verb, kind_of
from holdfast.config import Limits
from holdfast.errors import HoldfastError, InvalidInput, ModelError, StoreError, TooLarge
from holdfast.service.mcp.asker import Asker
from holdfast.types import Role

# ----------------------------------------------------------------------
# What a tool takes: JSON Schema that a client is shown, and that arguments are checked against.
#
# Only the few words of JSON Schema that our tools need. A message names the argument and the
# limit.
# ----------------------------------------------------------------------

Schema = dict[str, Any]

_WORDS = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "object": "an object",
    "array": "a list",
}


def text(about: str, **more: Any) -> Schema:
    """A text."""
    return {"type": "string", "description": about, **more}


def whole(about: str, least: int, most: int, **more: Any) -> Schema:
    """A whole number between two."""
    return {"type": "integer", "description": about, "minimum": least, "maximum": most, **more}


def share(about: str, **more: Any) -> Schema:
    """A number in 0..1."""
    return {"type": "number", "description": about, "minimum": 0, "maximum": 1, **more}


def choice(about: str, among: Sequence[str], **more: Any) -> Schema:
    """One of a few words."""
    return {"type": "string", "description": about, "enum": [*among], **more}


def array(about: str, items: Schema) -> Schema:
    """A list."""
    return {"type": "array", "description": about, "items": items}


def texts(about: str, items: str = "") -> Schema:
    """A list of texts."""
    return array(about, {"type": "string", **({"description": items} if items else {})})


def record(fields: Mapping[str, Schema], required: Sequence[str] = (), **more: Any) -> Schema:
    """An object with these fields and no others."""
    shape: Schema = {"type": "object", "properties": dict(fields)}
    if required:
        shape["required"] = [*required]
    return {**shape, "additionalProperties": False, **more}


def whole_record(fields: Mapping[str, Schema], *, may_lack: Sequence[str] = ()) -> Schema:
    """An object with all of these fields, but for those that may be missing."""
    return record(fields, [each for each in fields if each not in may_lack])


ID = text("An id.")
TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
COUNT: Schema = {"type": "integer", "minimum": 0}
TIME: Schema = {"type": "string", "format": "date-time"}


def counted_list(name: str, about: str, items: Schema) -> Schema:
    """A list under its name, and how long it is."""
    return whole_record({name: array(about, items), "count": COUNT})


def check(schema: Schema, value: Any, name: str = "", *, extras: bool = False) -> Any:
    """The value, if it fits; InvalidInput names the argument.

    With `extras` an object may have more fields than are known; they are left out.
    """
    kind, wanted = kind_of(value), schema["type"]
    if kind == "integer" and wanted == "number":
        kind = "number"
    if kind != wanted:
        shown = name or "arguments"
        raise InvalidInput(f"{shown} must be {_WORDS[wanted]}, not {kind}", field=name)
    if wanted == "object":
        return _object(schema, value, name, extras)
    if wanted == "array":
        items = schema["items"]
        return [check(items, e, f"{name}[{n}]", extras=extras) for n, e in enumerate(value)]
    if "enum" in schema and value not in schema["enum"]:
        words = ", ".join(schema["enum"])
        raise InvalidInput(f"{name} must be one of {words}, not {value[:64]!r}", field=name)
    return _within(schema, value, name)


def _object(schema: Schema, value: dict[str, Any], name: str, extras: bool) -> dict[str, Any]:
    fields, start = schema.get("properties"), f"{name}." if name else ""
    if fields is None:
        return value
    for given in value:
        if given not in fields and not extras:
            known = ", ".join(fields) or "none"
            raise InvalidInput(f"{start}{given:.64} is not an argument; known: {known}", field=name)
    for each in schema.get("required", ()):
        if value.get(each) is None:
            raise InvalidInput(f"{start}{each} is required", field=f"{start}{each}")
    # A null stands for what is not given: models like to send it.
    found = {e: given for e, given in value.items() if given is not None and e in fields}
    return {
        each: check(fields[each], given, f"{start}{each}", extras=extras)
        for each, given in found.items()
    }


def _within(schema: Schema, value: Any, name: str) -> Any:
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None and not least <= value <= most:
        error = TooLarge if value > most else InvalidInput
        raise error(
            f"{name} must lie between {least} and {most}, not {str(value)[:20]}", field=name
        )
    return value


log = logging.getLogger("holdfast.mcp")

#: The resources that a client may follow.
GRAPH = "memory://knowledge-graph"
PROFILE = "holdfast://profile"
NOTES = "holdfast://notes"
INSTRUCTIONS = "holdfast://instructions"
FOLLOWED: tuple[str, ...] = (GRAPH, PROFILE, NOTES, INSTRUCTIONS)

_USER = text("Whose memory is meant: the id of the user.")
_MOST_MESSAGE_CHARS = 500
#: What the core calls a field, and what it is called here.
_WIRE_NAME = {"user": "user_id", "workspace": "workspace_id", "session": "session_id"}

_NUMBER = re.compile(r"\[\d+\]")
_NONE: Mapping[str, str] = MappingProxyType({})

Given = dict[str, Any]
#: A memory (or the client of one), who asks and the arguments -> a value that JSON can hold.
Run = Callable[[Any, Asker, Given], Any]


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool."""

    name: str
    title: str
    #: For the model: what it does and when to use it.
    about: str
    run: Run
    takes: Schema = field(default_factory=lambda: record({}))
    #: What its answers hold as data; an error has none, for it would not fit.
    gives: Schema = field(kw_only=True)
    role: Role = "read"
    #: Who may only read is offered it, though there are arguments that write.
    writes: bool = False
    destructive: bool = False
    #: Whether doing it twice is as doing it once.
    idempotent: bool = True
    #: The resources that look otherwise afterwards.
    touches: tuple[str, ...] = ()
    #: Its arguments are those of another server: none is added, and what that server does not know
    #: is passed over, as it is there.
    exact: bool = False
    #: What the core calls a field, and what the arguments do: "entities.type".
    names: Mapping[str, str] = field(default_factory=dict)
    #: The answer as text, where that is not the JSON of it.
    text: Callable[[Any], str] | None = None
    #: Whether its errors are JSON as well.
    json_errors: bool = False

    def schema(self, who: Asker) -> Schema:
        """What it takes from somebody: who may name a user is offered that."""
        if self.exact or not who.names_user or who.user is not None:
            return self.takes
        return {**self.takes, "properties": {**self.takes["properties"], "user_id": _USER}}

    def describe(self, who: Asker) -> types.Tool:
        """As a client is shown it."""
        return types.Tool(
            name=self.name,
            title=self.title,
            description=self.about,
            input_schema=self.schema(who),
            output_schema=self.gives,
            annotations=types.ToolAnnotations(
                title=self.title,
                read_only_hint=self.role == "read" and not self.writes,
                destructive_hint=self.destructive,
                idempotent_hint=self.idempotent,
                open_world_hint=False,
            ),
        )

    def known_arguments(self, who: Asker, sent: dict[str, Any]) -> dict[str, Any]:
        """What counts of the arguments."""
        # To pass over this one would be to read and write another memory than was meant.
        if not self.exact or sent.get("user_id") not in (None, who.user):
            return sent
        return {name: value for name, value in sent.items() if name in self.takes["properties"]}

    def answer(self, memory: Any, who: Asker, sent: dict[str, Any]) -> types.CallToolResult:
        """Do it. What the caller did wrong is told in words."""
        try:
            if self.exact:
                who.certain(sent.get("user_id"))
            given = check(self.schema(who), sent, extras=self.exact)
            return to_result(self.run(memory, who, given), self.text)
        except HoldfastError as error:
            return self._error_result(error)

    def _error_result(self, error: HoldfastError) -> types.CallToolResult:
        message, name = complaint(error, self.names)
        body = {"error": message} | ({"field": name} if name else {})
        shown = dumps(body).decode() if self.json_errors else message
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=shown)], is_error=True
        )


def to_result(value: Any, shown: Callable[[Any], str] | None = None) -> types.CallToolResult:
    """A value as an answer; `shown` makes the text of it, where that is not its JSON."""
    data = dumps(value)
    text = data.decode() if shown is None else shown(value)
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)],
        structured_content=orjson.loads(data),
    )


def complaint(error: HoldfastError, names: Mapping[str, str] = _NONE) -> tuple[str, str]:
    """An error in words, and the argument it is about, by the names that the caller knows.

    What went wrong here is told by its kind alone and logged: its text may name files.
    """
    if isinstance(error, StoreError | ModelError):
        log.error("%s: %s", type(error).__name__, error)
        return str(type(error)().args[0]), ""
    message = str(error)
    name = error.field if isinstance(error, InvalidInput) else ""
    known = _wire_field(name, names)
    if name and message.startswith(name):
        message = known + message.removeprefix(name)
    return _plain(message), _plain(known)


def _wire_field(name: str, names: Mapping[str, str]) -> str:
    """A field such as "entities[3].type" as the caller calls it: "entities[3].entityType"."""
    new = names.get(_NUMBER.sub("", name))
    if new is None:
        return _WIRE_NAME.get(name, name)
    pairs = zip(new.split("."), name.split("."), strict=True)
    return ".".join(ours + "".join(_NUMBER.findall(theirs)) for ours, theirs in pairs)


def _plain(text: str) -> str:
    """Short, and such that UTF-8 can hold it: it may quote a lone surrogate."""
    short = text if len(text) <= _MOST_MESSAGE_CHARS else text[:_MOST_MESSAGE_CHARS] + "…"
    return short.encode("utf-8", "replace").decode()


# ----------------------------------------------------------------------
# Tools that ask one verb of the catalogue: types, limits and defaults are the verb's.
# ----------------------------------------------------------------------

_EVERYBODY = ("user", "workspace", "agent")


def verb_tool(
    name: str,
    title: str,
    about: str,
    verb: Verb[..., Any],
    takes: Mapping[str, str | Schema],
    *,
    show: Callable[[Any], Any] | None = None,
    adds: Callable[[Asker], Given] = lambda _: {},
    scope: Sequence[str] = _EVERYBODY,
    **more: Any,
) -> Tool:
    """A tool of a verb.

    `takes` tells a model of parameters, by their names on the wire; `messages:question` is called
    question. `show` makes the answer of what the verb gives, `adds` is what the caller does not
    choose.
    """
    wire = {each.wire: each for each in verb.parameters}
    offered = {other or key: wire[key] for key, other in map(_split, takes)}
    fields = {
        called: _schema(verb, offered[called], words) if isinstance(words, str) else words
        for called, words in zip(offered, takes.values(), strict=True)
    }

    def run(memory: Any, who: Asker, given: Given) -> Any:
        whose = who.scope(given.get("user_id")) if "user" in scope else who.place
        asked = {offered[key].name: value for key, value in given.items() if key in offered}
        found = verb.of(memory)(**{each: whose[each] for each in scope}, **{**adds(who), **asked})
        return envelope(found, verb.answer) if show is None else show(found)

    needed = [e for e, each in offered.items() if each.required and "default" not in fields[e]]
    return Tool(name, title, about, run, record(fields, needed), role=verb.role, **more)


def _split(key: str) -> tuple[str, str]:
    name, _, other = key.partition(":")
    return name, other


def _schema(verb: Verb[..., Any], parameter: Parameter, about: str) -> Schema:
    """What a model is told of a parameter."""
    (kind,) = parameter.kind.names & {"array"} or parameter.kind.names - {"null"}
    known = bounds_of(verb, parameter, Limits())
    told: Schema = {each: known[each] for each in ("minimum", "maximum") if each in known}
    if "enum" in known:
        told["enum"] = [each for each in known["enum"] if each is not None]
    if kind == "array":
        among = known.get("items", {}).get("enum")
        told["items"] = {"type": "string", **({"enum": among} if among else {})}
    if parameter.default not in (None, "", ()):
        told["default"] = parameter.default
    return {"type": kind, "description": about, **told}
