"""What JSON may stand for a parameter: checked by its annotation, and told as a schema."""

from __future__ import annotations

import json
import re
import types
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

from holdfast.errors import InvalidInput

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


def of(annotation: Any) -> Kind:
    """The kind of JSON value that an annotated parameter takes."""
    if annotation is Any:
        return Kind()
    origin = get_origin(annotation) or annotation
    if origin in (Union, types.UnionType):
        return _either([of(each) for each in get_args(annotation) if travels(each)])
    if origin is Literal:
        return Kind(
            frozenset({"string"}), choices=tuple(str(each) for each in get_args(annotation))
        )
    if origin in _PLAIN:
        return Kind(frozenset({_PLAIN[origin]}))
    if origin in _LISTS:
        inner = [each for each in get_args(annotation) if each is not ...]
        return Kind(frozenset({"array"}), of(inner[0]) if inner else Kind())
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
