"""Our values as JSON, and back: a dataclass is an object with the names of its fields."""

from __future__ import annotations

import types
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import orjson

from holdfast.recall.hits import Kept
from holdfast.types import Explained, Hit, Hits

_LARGEST_BITS = 63
_LISTS = (list, Sequence, Collection, Iterable)


#: Told of one memory beside its metadata, and what it is called inside.
SOURCE: Mapping[str, str] = {
    "source_site": "source_site",
    "source_url": "source_url",
    "external_id": "externalId",
}
_OPTIONS = orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS


def dumps(value: Any) -> bytes:
    """JSON in UTF-8; times end with Z."""
    try:
        return orjson.dumps(value, default=_plain, option=_OPTIONS)
    except TypeError:  # What quotes the caller may hold a lone surrogate, or a huge number.
        return orjson.dumps(_sendable(value), default=_plain, option=_OPTIONS)


def envelope(value: Any, name: str) -> Any:
    """What a verb gives as the object that travels: bare values get a name."""
    if isinstance(value, Hits) and not name:
        return {
            "hits": value,
            "degraded": parts_of(value.degraded),
            "warnings": value.warnings,
            "task_profile": value.task_profile,
        }
    if isinstance(value, Explained):
        return replace(value, degraded=parts_of(value.degraded))
    if isinstance(value, Kept):
        return _with_source(value)
    if isinstance(value, list | tuple):
        return {name or "items": value, "count": len(value)}
    if is_dataclass(value) and not name:
        return value
    return {name or "value": value}


def _with_source(kept: Kept) -> dict[str, Any]:
    """One memory, and what AtomicMemory's clients look for in it: the metadata as it was sent, and
    beside it where it came from."""
    told = {each.name: getattr(kept, each.name) for each in fields(kept)}
    sent = dict(kept.metadata)
    also = {wire: sent.get(name) for wire, name in SOURCE.items()}
    beside = {SOURCE[wire] for wire, value in also.items() if value is not None}
    beside &= {*kept.labels}
    own = {name: value for name, value in sent.items() if name not in beside}
    also |= {"session_id": kept.session, "episode_id": next(iter(kept.sources), None)}
    return {**told, **also, "metadata": own}


def parts_of(degraded: Sequence[str]) -> tuple[str, ...]:
    """Which parts of a search could not be asked, without the reasons: those may name an endpoint
    of the operator's, or quote what it answered."""
    return tuple(each.partition(":")[0] for each in degraded)


def open_envelope(kind: Any, value: Any, name: str) -> Any:
    """Undo `envelope`, as the type that the verb is annotated with."""
    if kind is Hits:
        hits = Hits(from_json(Sequence[Hit], value["hits"]))
        hits.degraded = tuple(value["degraded"])
        hits.warnings = tuple(value.get("warnings", ()))  # Services before 0.2 tell none.
        hits.task_profile = value["task_profile"]
        return hits
    if kind is Kept:
        beside = {
            name: value[wire]
            for wire, name in SOURCE.items()
            if name in value.get("labels", ()) and value.get(wire) is not None
        }
        value = {**value, "metadata": {**value["metadata"], **beside}}
    if is_dataclass(kind) and not name:
        return from_json(kind, value)
    origin = get_origin(kind) or kind
    bare = "items" if origin in (list, tuple, *_LISTS) else "value"
    return from_json(kind, value[name or bare])


def from_json(kind: Any, value: Any) -> Any:
    """A JSON value as a value of a type; what is not known of an object is left out."""
    if kind is Any or value is None:
        return value
    origin, inner = get_origin(kind) or kind, get_args(kind)
    if origin in (Union, types.UnionType):
        chosen = [each for each in inner if each is not type(None)]
        return from_json(chosen[0], value) if len(chosen) == 1 else _one_of(chosen, value)
    if is_dataclass(origin):
        return _object(origin, value)
    if origin is tuple:
        one = len(inner) == 2 and inner[1] is ...
        each = [inner[0]] * len(value) if one else list(inner) or [Any] * len(value)
        return tuple(from_json(kind, item) for kind, item in zip(each, value, strict=True))
    return _collection(origin, inner, value)


def _collection(origin: Any, inner: Sequence[Any], value: Any) -> Any:
    if origin in _LISTS:
        return [from_json(inner[0] if inner else Any, each) for each in value]
    if origin in (dict, Mapping):
        return {key: from_json(inner[1] if inner else Any, each) for key, each in value.items()}
    return _scalar(origin, value)


def _object(kind: Any, value: Mapping[str, Any]) -> Any:
    known = _hints(kind)
    return kind(**{k: from_json(known[k], v) for k, v in value.items() if k in known})


def _scalar(kind: Any, value: Any) -> Any:
    if kind in (datetime, date):
        return kind.fromisoformat(value)
    if kind is timedelta:
        return timedelta(seconds=value)
    if kind is float:
        return float(value)
    if kind is frozenset:
        return frozenset(value)
    return value


def _one_of(chosen: Sequence[Any], value: Any) -> Any:
    """Of several types the first that the value fits."""
    for kind in chosen:
        if (get_origin(kind) or kind) in (str, Literal) and isinstance(value, str):
            return value
        if is_dataclass(kind) and isinstance(value, dict):
            return from_json(kind, value)
    return value


@lru_cache(maxsize=256)
def _hints(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {each.name: hints[each.name] for each in fields(kind) if each.init}


def _sendable(value: Any) -> Any:
    """The same with what JSON in UTF-8 cannot hold replaced."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, int) and value.bit_length() > _LARGEST_BITS:
        return float(value)
    if is_dataclass(value) and not isinstance(value, type):
        value = {each.name: getattr(value, each.name) for each in fields(value)}
    if isinstance(value, Mapping):
        return {_sendable(key): _sendable(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_sendable(each) for each in value]
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    if isinstance(value, timedelta):
        return value.total_seconds()
    raise TypeError(type(value).__name__)
