"""What a tool takes: JSON Schema that a client is shown, and that arguments are checked against.

Only the few words of JSON Schema that our tools need. A message names the argument and the limit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.catalogue.kinds import kind_of
from holdfast.errors import InvalidInput, TooLarge

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


def listed(about: str, items: Schema) -> Schema:
    """A list."""
    return {"type": "array", "description": about, "items": items}


def texts(about: str, items: str = "") -> Schema:
    """A list of texts."""
    return listed(about, {"type": "string", **({"description": items} if items else {})})


def record(fields: Mapping[str, Schema], required: Sequence[str] = (), **more: Any) -> Schema:
    """An object with these fields and no others."""
    shape: Schema = {"type": "object", "properties": dict(fields)}
    if required:
        shape["required"] = [*required]
    return {**shape, "additionalProperties": False, **more}


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
