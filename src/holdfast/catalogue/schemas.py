"""Python types as JSON schemas (draft 2020-12): what travels, for the OpenAPI document."""

from __future__ import annotations

import types
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date, datetime, timedelta
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from holdfast.catalogue import kinds
from holdfast.catalogue.codec import SOURCE
from holdfast.recall.kept import Kept
from holdfast.types import Hit, Hits

Schema = dict[str, Any]

_PLAIN: Mapping[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    datetime: {"type": "string", "format": "date-time"},
    date: {"type": "string", "format": "date"},
    timedelta: {"type": "number"},
    dict: {"type": "object"},
    Mapping: {"type": "object"},
}
_LISTS = (list, set, frozenset, Sequence, Collection, Iterable)


class Schemas:
    """Makes schemas and keeps those of objects, to be referred to by their names."""

    def __init__(self) -> None:
        #: By name, as under `components/schemas`.
        self.named: dict[str, Schema] = {}
        self._names: dict[Any, str] = {}

    def answer(self, returns: Any, name: str, *, pages: bool) -> Schema:
        """What a verb answers with: see `codec.enveloped`."""
        if returns is Hits:
            listed = {"hits": self.of(list[Hit]), "degraded": self.of(list[str])}
            return _object({**listed, "task_profile": self.of(str)})
        if returns is Kept:  # See `codec`: where it came from stands beside its metadata.
            also = dict.fromkeys((*SOURCE, "session_id", "episode_id"), self.of(str | None))
            return {"allOf": [self.of(returns), _object(also)]}
        if is_dataclass(returns) and not name:
            return self.of(returns)
        origin = get_origin(returns) or returns
        if origin not in (*_LISTS, tuple):
            return _object({name or "value": self.of(returns)})
        found = {name or "items": self.of(returns), "count": {"type": "integer", "minimum": 0}}
        return _object({**found, "next": self.of(str | None)} if pages else found)

    def of(self, annotation: Any) -> Schema:
        """The schema of a type."""
        origin, inner = get_origin(annotation) or annotation, get_args(annotation)
        if annotation is Any:
            return {}
        if origin in (Union, types.UnionType):
            return self._either([self.of(each) for each in inner if kinds.travels(each)])
        if origin is Literal:
            return {"type": "string", "enum": [*inner]}
        if is_dataclass(origin):
            return {"$ref": f"#/components/schemas/{self._name(origin)}"}
        return self._collection(origin, inner)

    def _collection(self, origin: Any, inner: Sequence[Any]) -> Schema:
        if origin is tuple and not (len(inner) == 2 and inner[1] is ...):
            items = [self.of(each) for each in inner]
            return {"type": "array", "prefixItems": items, "minItems": len(items)}
        if origin in _LISTS or origin is tuple:
            return {"type": "array", "items": self.of(inner[0]) if inner else {}}
        if origin in (dict, Mapping) and inner and inner[1] is not Any:
            return {"type": "object", "additionalProperties": self.of(inner[1])}
        return dict(_PLAIN[origin])

    def _either(self, schemas: Sequence[Schema]) -> Schema:
        found: list[Schema] = []
        for each in schemas:
            # A text that stands for a time is a text like any other.
            plain = {"type": "string"} if each.get("type") == "string" else each
            wider = plain if plain in schemas and "enum" not in each else each
            if wider not in found:
                found.append(wider)
        if all(set(each) == {"type"} for each in found):
            return {"type": [each["type"] for each in found]} if len(found) > 1 else found[0]
        return found[0] if len(found) == 1 else {"anyOf": found}

    def _name(self, kind: Any) -> str:
        if kind in self._names:
            return self._names[kind]
        name: str = kind.__name__
        if name in self.named:  # An entry of the team is not one of the knowledge base.
            place = kind.__module__.rpartition(".")[2].partition("_")[0]
            name = place.capitalize() + name
        self._names[kind] = name
        self.named[name] = {}
        hints = get_type_hints(kind)
        told = {each.name: self.of(hints[each.name]) for each in fields(kind)}
        words = (kind.__doc__ or "").strip()
        self.named[name] = {**_object(told), "description": words}
        return name


def _object(properties: Mapping[str, Schema]) -> Schema:
    return {"type": "object", "properties": dict(properties), "required": [*properties]}
