"""Python types as JSON schemas (draft 2020-12): what travels, for the OpenAPI document."""

from __future__ import annotations

import types
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date, datetime, timedelta
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from holdfast.border.validate import LOWERED, ORIGINS
from holdfast.catalogue.codec import SOURCE
from holdfast.catalogue.verb import Parameter, Verb, travels
from holdfast.config import Limits
from holdfast.language.statements.values import BY_USER, CATEGORIES
from holdfast.memory.library import MOST_ITEMS, MOST_LISTED
from holdfast.recall.context.pack import Format, Packaging
from holdfast.recall.hits import Kept
from holdfast.records import notes, observations, procedures, shares, team
from holdfast.records.documents.reading import FORMATS
from holdfast.records.facts.follow import STATUSES
from holdfast.records.graph.check import DIRECTIONS, MOST_ENTITIES, MOST_RELATIONS
from holdfast.types import ALL_TIERS, Hit, Hits

# ----------------------------------------------------------------------
# The limits of parameters, as keywords of a JSON schema.
#
# Whoever checks a value says in words what was wrong; here a program can read it before it asks.
# The numbers stand where they are checked, too: `tests/service/test_openapi.py` asks the service
# on both sides of each of them.
# ----------------------------------------------------------------------

Bounds = Mapping[str, Any]

_LONGEST_LIST = 10_000


def _text(most: int, least: int = 1) -> Bounds:
    return {"minLength": least, "maxLength": most} if least else {"maxLength": most}


def _number(least: float, most: float) -> Bounds:
    return {"minimum": least, "maximum": most}


def _one_of(words: Sequence[object]) -> Bounds:
    return {"enum": [*words]}


def _list(most: int | None = None, least: int = 0, **of: Bounds) -> Bounds:
    ends = {"maxItems": most, "minItems": least or None, "items": of.get("of")}
    return {name: value for name, value in ends.items() if value is not None}


_WORD = _text(512)
_TIME: Bounds = {"format": "date-time"}
#: By the name on the wire.
_OF_NAME: Mapping[str, Bounds] = {
    **dict.fromkeys(("user_id", "workspace_id", "agent_id", "session_id"), _WORD),
    **dict.fromkeys(("id", "merge_id", "event_id", "context_id", "source_site", "to"), _WORD),
    **dict.fromkeys(("as_of", "known_at", "at", "now", "since", "until"), _TIME),
    "Idempotency-Key": _WORD,
    "a": _text(200),
    "b": _text(200),
    "start": _text(200),
    "budget_tokens": _number(0, 200_000),
    "confidence": _number(0, 1),
    "depth": _number(1, 5),
    "direction": _one_of(DIRECTIONS),
    "entity_types": _list(64, 1, of=_text(64)),
    "expires_in": {"exclusiveMinimum": 0, "maximum": 36_500 * 86_400},
    "field": {"pattern": "^[a-z][a-z0-9_]{0,63}$"},
    "items": _list(MOST_ITEMS),
    "keep_turns": _number(0, _LONGEST_LIST),
    "key": _text(200),
    "limit": _number(1, _LONGEST_LIST),
    "max_context_tokens": _number(1, 100_000_000),
    "origin": _one_of(ORIGINS),
    "packaging": _one_of(get_args(Packaging)),
    "permission": _one_of(shares.PERMISSIONS),
    "reason": _text(500, 0),
    "relation_types": _list(64, 1, of=_text(64)),
    "segments": _list(None, 1, of=_one_of([*shares.SEGMENTS])),
    "states": _list(of=_one_of(("ready", "running", "dead"))),
    "steps": _list(50, 1, of=_text(2_000)),
    "threshold": {"exclusiveMinimum": 0, "maximum": 1},
    "tiers": _list(of=_one_of(ALL_TIERS)),
    "trigger": _text(1_000, 0),
    "types": _list(None, 1, of=_one_of(team.TYPES)),
    "visibility": _one_of(("agent_only",)),
}
#: Where a name means something else.
_OF_VERB: Mapping[str, Mapping[str, Bounds]] = {
    "agents.set_trust": {"value": _number(0, 1)},
    "context": {"limit": _number(1, 200), "format": _one_of(get_args(Format))},
    "facts.add": {"category": _one_of(CATEGORIES)},
    "facts.answer": {"keep": _one_of(("new", "old", "both"))},
    "facts.conflicts": {"status": _one_of(("open", "resolved", "all"))},
    "facts.list": {"category": _one_of(CATEGORIES), "status": _one_of(STATUSES)},
    "facts.update": {"category": _one_of(CATEGORIES)},
    "fading": {"days": _number(0, 3_660), "limit": _number(1, 1_000)},
    "feedback": {"value": _one_of((1, -1))},
    "graph.overview": {"limit": _number(1, 5_000)},
    "graph.traverse": {"limit": _number(1, 1_000)},
    "graph.write": {"entities": _list(MOST_ENTITIES), "relations": _list(MOST_RELATIONS)},
    "growth": {"days": _number(1, 3_660)},
    "knowledge.add": {"format": _one_of(FORMATS), "name": _text(500)},
    "knowledge.set": {"value": _text(100_000)},
    "list": {"kind": _WORD, "limit": _number(1, MOST_LISTED)},
    "notes.add": {"category": _one_of(notes.CATEGORIES), "content": _text(16_000)},
    "notes.list": {"category": _one_of(notes.CATEGORIES)},
    "notes.update": {"category": _one_of(notes.CATEGORIES), "content": _text(16_000)},
    "observations.add": {"observations": _list(observations.MOST_ENTITIES)},
    "observations.create": {
        "entities": _list(observations.MOST_ENTITIES),
        "relations": _list(observations.MOST_RELATIONS),
    },
    "observations.delete": {
        "entities": _list(observations.MOST_NAMES),
        "observations": _list(observations.MOST_ENTITIES),
        "relations": _list(observations.MOST_RELATIONS),
    },
    "observations.read": {
        "names": _list(observations.MOST_NAMES),
        "query": _text(observations.QUERY_CHARS, 0),
    },
    "procedures.add": {
        "kind": _one_of(procedures.KINDS),
        "origin": _one_of(procedures.ORIGINS),
        "tags": _list(16, of=_text(64)),
        "title": _text(200),
    },
    "procedures.list": {"kind": _one_of(procedures.KINDS), "tag": _text(64)},
    "procedures.update": {
        "kind": _one_of(procedures.KINDS),
        "origin": _one_of(procedures.ORIGINS),
        "tags": _list(16, of=_text(64)),
        "title": _text(200),
    },
    "profiles.set": {
        "origin": _one_of(sorted(BY_USER)),
        "value": {**_text(1_000), **_list(50, 1, of=_text(1_000))},
    },
    "recall": {"limit": _number(1, 200)},
    "remember": {"origin": _one_of(LOWERED)},
    "team.search": {"limit": _number(1, 200)},
    "update": {"text": _text(100_000)},
    "team.update": {
        "content": _text(200_000),
        "tags": _list(32, of=_text(200, 0)),
        "title": _text(200, 0),
        "type": _one_of(team.TYPES),
    },
    "team.write": {
        "content": _text(200_000),
        "tags": _list(32, of=_text(200, 0)),
        "title": _text(200, 0),
        "type": _one_of(team.TYPES),
    },
}


def bounds_of(verb: Verb[..., object], parameter: Parameter, limits: Limits) -> dict[str, Any]:
    """What a schema says of a parameter beyond its type."""
    wire = parameter.wire
    found = {**_OF_NAME.get(wire, {}), **_of_settings(verb, limits).get(wire, {})}
    own = _OF_VERB.get(verb.name, {}).get(wire)
    if own is not None:
        found = dict(own)
    if parameter.name in verb.most:
        found["maximum"] = verb.most[parameter.name]
    if "enum" in found and "null" in parameter.kind.names:
        found["enum"] = [*found["enum"], None]
    return found


def _of_settings(verb: Verb[..., object], limits: Limits) -> Mapping[str, Bounds]:
    """Limits that the operator sets. A byte is a character at least, so these hold for both."""
    keys = {"maxProperties": limits.metadata_keys}
    messages = {**_text(limits.message_bytes), **_list(limits.batch_messages, 1)}
    return {
        "metadata": keys,
        "query": _text(limits.query_bytes),
        "text": _text(limits.query_bytes),
        "messages": messages if verb.name == "remember" else {},
    }


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
        """What a verb answers with: see `codec.envelope`."""
        if returns is Hits:
            texts = dict.fromkeys(("degraded", "warnings"), self.of(list[str]))
            return _object({"hits": self.of(list[Hit]), **texts, "task_profile": self.of(str)})
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
            return self._either([self.of(each) for each in inner if travels(each)])
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
