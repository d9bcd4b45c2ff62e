"""A verb: a function of a memory, how it is asked for over HTTP, and what JSON may stand for its
parameters: checked by their annotations."""

from __future__ import annotations

import inspect
import json
import re
import types
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import (
    Any,
    Concatenate,
    Generic,
    Literal,
    ParamSpec,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from holdfast.errors import InvalidInput
from holdfast.types import Role

_LISTS = (list, tuple, set, frozenset, Sequence, Collection, Iterable)
_PLAIN: Mapping[Any, str] = {
    str: "string",
    datetime: "string",
    date: "string",
    int: "integer",
    float: "number",
    timedelta: "number",
    bool: "boolean",
    type(None): "null",
    Mapping: "object",
    dict: "object",
}
_WORDS = {
    "string": "a string",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "object": "an object",
    "array": "a list",
}
#: No parameter is anywhere near it, and arithmetic with it is safe.
_LARGEST = 2**53
_LONGEST_NUMBER = 24
_INTEGER = re.compile(r"-?[0-9]+")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")


P = ParamSpec("P")
R = TypeVar("R")

#: What the scope words are called on the wire.
SCOPE_NAMES: Mapping[str, str] = {
    "user": "user_id",
    "workspace": "workspace_id",
    "agent": "agent_id",
    "session": "session_id",
}
#: In the query string of these, in the body of all others.
BODILESS = ("GET", "DELETE")


@dataclass(frozen=True, slots=True)
class Kind:
    """The JSON values that a parameter takes."""

    #: string, integer, number, boolean, object, array, null; none: anything.
    names: frozenset[str] = frozenset()
    #: Of an array: what it holds.
    items: Kind | None = None
    #: The only texts that will do, if they are few.
    choices: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """What is expected, for a message."""
        if self.choices:
            return "one of " + ", ".join(self.choices)
        names = [_WORDS[name] for name in _WORDS if name in self.names]
        if "array" in self.names and self.items and self.items.names:
            inner = [_WORDS[name].split(" ", 1)[1] for name in _WORDS if name in self.items.names]
            names[-1] = f"a list of {' or '.join(inner)}s"
        return " or ".join(names)

    def check(self, value: object, name: str) -> Any:
        """The value, if it is of this kind; InvalidInput names the parameter."""
        if not self.names:
            return value
        kind = kind_of(value)
        if kind == "integer" and "integer" not in self.names and "number" in self.names:
            kind, value = "number", float(value)  # type: ignore[arg-type]
        if kind not in self.names or (self.choices and kind == "string" and not self._has(value)):
            raise InvalidInput(f"{name} must be {self.words}", field=name)
        if isinstance(value, int | float) and not abs(value) <= _LARGEST:
            raise InvalidInput(f"{name} must be at most {_LARGEST}", field=name)
        if isinstance(value, list) and self.items is not None:
            return [self.items.check(each, f"{name}[{n}]") for n, each in enumerate(value)]
        return value

    def _has(self, value: object) -> bool:
        return value in self.choices

    def read(self, texts: Sequence[str], name: str) -> Any:
        """The value that the texts of a query string stand for."""
        if "array" in self.names and self.items is not None:
            return [self.items.read([text], name) for text in texts]
        if len(texts) > 1:
            raise InvalidInput(f"{name} is given {len(texts)} times", field=name)
        text = texts[0]
        if "object" in self.names:
            return self.check(_object(text, name), name)
        if "boolean" in self.names and text in ("true", "false"):
            return text == "true"
        return self.check(self._number(text), name)

    def _number(self, text: str) -> int | float | str:
        """What a text stands for where a number may stand; the text itself if it is none."""
        if len(text) > _LONGEST_NUMBER:
            return text
        if "integer" in self.names and _INTEGER.fullmatch(text):
            return int(text)
        if "number" in self.names and _NUMBER.fullmatch(text):
            return float(text)
        return text


def _object(text: str, name: str) -> Any:
    """An object that is written as JSON in a query string."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidInput(f"{name} must be an object as JSON", field=name) from None


def kind_of(value: object) -> str:
    """The JSON name of a value's type."""
    for kind, name in (
        (bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"),
        (dict, "object"), (list, "array"), (type(None), "null"),
    ):  # fmt: skip
        if isinstance(value, kind):
            return name
    raise TypeError(type(value).__name__)


def kind_for(annotation: Any) -> Kind:
    """The kind of JSON value that an annotated parameter takes."""
    if annotation is Any:
        return Kind()
    origin = get_origin(annotation) or annotation
    if origin in (Union, types.UnionType):
        return _either([kind_for(each) for each in get_args(annotation) if travels(each)])
    if origin is Literal:
        return Kind(
            frozenset({"string"}), choices=tuple(str(each) for each in get_args(annotation))
        )
    if origin in _PLAIN:
        return Kind(frozenset({_PLAIN[origin]}))
    if origin in _LISTS:
        inner = [each for each in get_args(annotation) if each is not ...]
        return Kind(frozenset({"array"}), kind_for(inner[0]) if inner else Kind())
    raise TypeError(f"no JSON stands for {annotation!r}")


def travels(annotation: Any) -> bool:
    """Whether a value can be sent: functions, bytes and files of this machine cannot."""
    origin = get_origin(annotation) or annotation
    return origin not in (bytes, Path, Callable)


def _either(kinds: Sequence[Kind]) -> Kind:
    names = frozenset().union(*(kind.names for kind in kinds))
    items = next((kind.items for kind in kinds if kind.items is not None), None)
    choices = tuple(each for kind in kinds for each in kind.choices)
    return Kind(names, items, choices)


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a verb."""

    #: In Python, and on the wire.
    name: str
    wire: str
    kind: Kind
    required: bool
    default: Any = None
    #: Where it travels: path, query, body or header; raw: it is the whole body, as it is.
    place: str = "body"
    #: As the function has it.
    annotation: Any = None
    #: Whether it is told by its place, not by its name.
    is_positional: bool = False


@dataclass(frozen=True)
class Verb(Generic[P, R]):
    """How a function is asked for. Made with `verb`."""

    function: Callable[..., Any]
    method: str
    path: str
    #: The attribute of a memory that has it: "facts"; "" = the memory itself.
    part: str = ""
    #: What a key must be allowed.
    role: Role = "read"
    #: The name under which a bare value (a list, a number) travels.
    answer: str = ""
    #: Parameters that are called otherwise on the wire.
    names: Mapping[str, str] = field(default_factory=dict)
    #: A key of one user is not enough: it reaches what all users of a workspace share.
    whole: bool = False
    #: Parameters that do not travel.
    hidden: frozenset[str] = frozenset()
    #: The parameter that is the body itself, not a field of it; all others are in the query then.
    raw: str = ""
    #: The most that a number may be on the wire, by parameter. One without a default is so much.
    most: Mapping[str, float] = field(default_factory=dict)
    #: For the documentation: a body (or query) that works.
    example: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200

    @property
    def name(self) -> str:
        """As it is called on a memory: "facts.add"."""
        return f"{self.part}.{self.function.__name__}".lstrip(".")

    @property
    def tag(self) -> str:
        """The group it belongs to in the documentation."""
        return self.path.split("/")[2]

    @property
    def words(self) -> str:
        """What it does: the docstring of the function."""
        return inspect.cleandoc(self.function.__doc__ or "")

    @property
    def headline(self) -> str:
        """What it does, in its first sentences."""
        return " ".join(self.words.split("\n\n")[0].split())

    @cached_property
    def returns(self) -> Any:
        """The type of what it gives."""
        return get_type_hints(self.function).get("return")

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Those that travel, in order."""
        hints = get_type_hints(self.function)
        found = []
        for each in list(inspect.signature(self.function).parameters.values())[1:]:
            if each.name in self.hidden or not travels(hints[each.name]):
                continue
            wire = self.names.get(each.name) or SCOPE_NAMES.get(each.name) or each.name
            required = each.default is inspect.Parameter.empty
            found.append(
                Parameter(
                    each.name,
                    wire,
                    kind_for(hints[each.name]),
                    required,
                    None if required else each.default,
                    self._place(each.name, wire),
                    hints[each.name],
                    required and each.kind is each.POSITIONAL_OR_KEYWORD,
                )
            )
        return tuple(found)

    def _place(self, name: str, wire: str) -> str:
        if "{" + wire + "}" in self.path:
            return "path"
        if wire == "Idempotency-Key":
            return "header"
        if name == self.raw:
            return "raw"
        return "query" if self.method in BODILESS or self.raw else "body"

    @cached_property
    def is_list(self) -> bool:
        """Whether it gives a list that can be had page by page."""
        return self.method == "GET" and get_origin(self.returns) in (list, Sequence)

    def has(self, name: str) -> bool:
        """Whether a parameter of this name travels."""
        return any(each.name == name for each in self.parameters)

    def of(self, memory: Any) -> Callable[..., Any]:
        """The function, bound to a memory."""
        owner = getattr(memory, self.part) if self.part else memory
        bound: Callable[..., Any] = getattr(owner, self.function.__name__)
        return bound


def verb(
    function: Callable[Concatenate[Any, P], R], method: str, path: str, **more: Any
) -> Verb[P, R]:
    """A verb, typed as its function."""
    more["hidden"] = frozenset(more.get("hidden", ())) | {"progress"}
    return Verb(function, method, path, **more)
