"""Between rows of a store and lines of an export. Nothing here is taken on trust.

Times are ISO 8601 in UTC with microseconds, bytes are base64, keys are sorted: equal rows give
equal bytes. This module knows nothing about files and stores.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NoReturn, TypeVar

import numpy as np
import orjson

from recollect.config import Limits
from recollect.errors import InvalidInput, RecollectError
from recollect.store.base import (
    Dumped,
    DumpedAct,
    DumpedEvent,
    DumpedKey,
    DumpedRecord,
    DumpedVectors,
    KeyUse,
)
from recollect.types import ALL_TIERS, Event, Record, Scope
from recollect.write import validate

T = TypeVar("T")

FORMAT = 1
KIND: dict[type, str] = {
    DumpedEvent: "event",
    DumpedRecord: "record",
    DumpedAct: "act",
    DumpedKey: "key",
    DumpedVectors: "vectors",
}
TYPES = tuple(KIND.values())

_ORIGINS = ("user", "user_confirmed", "agent", "tool", "document", "web", "import")
_ACTIONS = ("forgotten", "restored", "superseded", "changed", "confirmed")
_RECORD_WORDS = (
    "id", "tier", "kind", "content", "origin", "role", "name", "agent", "session",
)  # fmt: skip
#: Characters of a rule or a condition; sentences of turns are cut there, too.
_LONGEST_RULE = 600
_MAYBE_TIMES = ("valid_to", "known_to", "said_from", "forgotten_at", "seen_at")
_ID = re.compile("[0-9a-f]{32}")
_MOST_DIMENSIONS = 65_536


def to_line(fields: Mapping[str, Any]) -> bytes:
    """One line of JSON, with its line break."""
    return orjson.dumps(fields, option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)


def to_fields(row: Dumped) -> dict[str, Any]:
    """What an export says of a row; the arrival number is left to the order of the lines."""
    fields: dict[str, Any] = {
        "type": KIND[type(row)],
        "workspace": row.scope.workspace,
        "user": row.scope.user,
    }
    match row:
        case DumpedEvent():
            fields |= _event_fields(row)
        case DumpedRecord():
            fields |= _record_fields(row)
        case DumpedAct():
            fields |= {"event": row.record, "number": row.number}
            fields |= {"action": row.action, "at": _iso(row.at)}
        case DumpedKey():
            fields |= {"key": row.key.key, "body": _base64(row.key.body)}
            fields |= {"events": row.events, "used_at": _iso(row.used_at)}
        case DumpedVectors():
            fields |= {"event": row.record, "model": row.model, "dim": row.dim}
            fields["recipe"] = row.recipe
            fields["passages"] = [[_base64(digest), _base64(data)] for digest, data in row.passages]
    return fields


def _event_fields(row: DumpedEvent) -> dict[str, Any]:
    event = row.event
    fields: dict[str, Any] = {
        "id": event.id,
        "role": event.role,
        "content": event.content,
        "at": _iso(event.at),
        "known_at": _iso(event.known_at),
        "origin": event.origin,
        "name": event.name,
        "agent": event.agent,
        "session": event.session,
        "metadata": dict(event.metadata) or None,
        "forgotten_at": _iso(row.forgotten_at) if row.forgotten_at else None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _record_fields(row: DumpedRecord) -> dict[str, Any]:
    record = row.record
    times = {
        "valid_from": record.valid_from,
        "valid_to": record.valid_to,
        "known_from": record.known_from,
        "known_to": record.known_to,
        "said_from": row.said_from,
        "forgotten_at": row.forgotten_at,
        "seen_at": record.seen_at,
    }
    fields: dict[str, Any] = {
        **{name: getattr(record, name) for name in _RECORD_WORDS},
        **{name: _iso(moment) for name, moment in times.items() if moment is not None},
        "confidence": record.confidence,
        "importance": record.importance,
        "sources": record.sources,
        "data": dict(record.data) or None,
        "along": row.along or None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def promised(counts: Mapping[str, int]) -> dict[str, int]:
    """The counts of a header; derived records only if there are any, for older versions."""
    return {kind: count for kind, count in counts.items() if count or kind != "record"}


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def parsed(text: str) -> dict[str, Any]:
    """The JSON object of a line."""
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        refuse("nested too deeply")
    except ValueError as error:
        refuse(f"not valid JSON: {str(error)[:200]}")
    if not isinstance(value, dict):
        refuse(f"a line must be a JSON object, not {type(value).__name__}")
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def refuse(reason: str) -> NoReturn:
    """Give up on a line."""
    raise InvalidInput(reason)


def from_header(fields: dict[str, Any], number: int) -> dict[str, int]:
    """How many rows of each type an export promises. Another format ends the import."""
    version = fields.pop("recollect_export")
    if version != FORMAT or isinstance(version, bool):
        raise RecollectError(
            f"this is an export of format {str(version)[:16]}, this version of Recollect reads"
            f" {FORMAT}: upgrade Recollect, or export again"
        )
    if number != 1:
        refuse("a header in the middle: import one export at a time")
    promised = {kind: _taken(fields, kind, int) for kind in TYPES if kind in fields}
    _nothing_left(fields)
    return promised


def from_row(fields: dict[str, Any], limits: Limits) -> Dumped:
    """The row of a line; InvalidInput names the field that is wrong."""
    kind = fields.pop("type")
    words = {name: fields.pop(name, None) for name in ("workspace", "user")}
    if kind in ("event", "record"):
        words |= {name: fields.pop(name, None) for name in ("agent", "session")}
    scope = validate.scope(**words)
    row = _READERS[kind](fields, scope, limits)
    _nothing_left(fields)
    return row


def _read_event(fields: dict[str, Any], scope: Scope, limits: Limits) -> DumpedEvent:
    new_id = _id(fields.pop("id", None), "id")
    known_at = validate.moment(fields.pop("known_at", None), "known_at")
    origin = _origin(fields)
    forgotten = fields.pop("forgotten_at", None)
    for name in ("role", "at"):
        if fields.get(name) is None:
            refuse(f"{name} is missing")
    batch = validate.batch(dict(fields), at=None, metadata=None, limits=limits)
    fields.clear()
    if batch.warnings:
        refuse(batch.warnings[0])
    row = new_event(scope, batch.drafts[0], new_id=new_id, known_at=known_at, origin=origin)
    if forgotten is None:
        return row
    return DumpedEvent(row.scope, row.event, validate.moment(forgotten, "forgotten_at"))


def _read_record(fields: dict[str, Any], scope: Scope, limits: Limits) -> DumpedRecord:
    tier = fields.pop("tier", None)
    if tier not in ALL_TIERS or tier == "session":
        refuse(f"tier must be one of {', '.join(ALL_TIERS[1:])}, not {str(tier)[:64]!r}")
    draft, data = _read_text(fields, limits)
    valid_to, known_to, said_from, forgotten_at, seen_at = (
        None if fields.get(name) is None else validate.moment(fields[name], name)
        for name in _MAYBE_TIMES
    )
    record = Record(
        id=_id(fields.pop("id", None), "id"),
        tier=tier,
        kind=validate.word(_taken(fields, "kind", str), "kind"),
        content=draft.content,
        valid_from=validate.moment(fields.pop("valid_from", None), "valid_from"),
        valid_to=valid_to,
        known_from=validate.moment(fields.pop("known_from", None), "known_from"),
        known_to=known_to,
        origin=_origin(fields),
        confidence=_share(fields, "confidence"),
        sources=tuple(_id(each, "sources") for each in _taken(fields, "sources", list)),
        role=draft.role,
        name=draft.name,
        agent=scope.agent,
        session=scope.session,
        importance=_share(fields, "importance"),
        data=data,
        seen_at=seen_at,
    )
    _check_rule(record)
    if seen_at is not None and seen_at < record.known_from:
        refuse("seen_at lies before known_from")
    along = fields.pop("along", False)
    if not isinstance(along, bool) or (along and forgotten_at is None):
        refuse("along must be true or false, and needs forgotten_at")
    for name in _MAYBE_TIMES:
        fields.pop(name, None)
    return DumpedRecord(scope, record, forgotten_at, along, said_from)


def _check_rule(record: Record) -> None:
    """Only a user's words are instructions, and what is compared with others is text."""
    if record.tier != "procedure":
        return
    if record.kind == "instruction" and (record.role, record.origin) != ("user", "user"):
        refuse("a record of kind instruction must have role user and origin user")
    for name in ("rule", "condition"):
        value = record.data.get(name)
        if value is not None and not (isinstance(value, str) and len(value) <= _LONGEST_RULE):
            refuse(f"data.{name} must be a text of at most {_LONGEST_RULE} characters")


def _read_text(fields: dict[str, Any], limits: Limits) -> tuple[validate.Draft, dict[str, Any]]:
    """What a record says, checked like a message, and its system fields, which may be larger."""
    told = {name: fields.pop(name) for name in ("role", "content", "name") if name in fields}
    batch = validate.batch(told, at=None, metadata=None, limits=limits)
    warnings = list(batch.warnings)
    roomy = replace(
        limits, metadata_bytes=limits.message_bytes, metadata_keys=10_000, metadata_depth=32
    )
    # One level down: names that a caller may not use are the system's own here.
    inside = {"data": fields.pop("data", None) or {}}
    data = validate.checked_metadata(inside, "record", roomy, warnings)["data"]
    if warnings:
        refuse(warnings[0])
    if not isinstance(data, dict):
        refuse(f"data must be an object, not {type(data).__name__}")
    return batch.drafts[0], data


def _origin(fields: dict[str, Any]) -> str:
    origin = fields.pop("origin", None)
    if origin not in _ORIGINS:
        refuse(f"origin must be one of {', '.join(_ORIGINS)}, not {str(origin)[:64]!r}")
    return str(origin)


def _share(fields: dict[str, Any], name: str) -> float:
    value = fields.pop(name, None)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        refuse(f"{name} must lie in 0..1, not {str(value)[:64]!r}")
    return float(value)


def _read_act(fields: dict[str, Any], scope: Scope, _: Limits) -> DumpedAct:
    action = fields.pop("action", None)
    if action not in _ACTIONS:
        refuse(f"action must be one of {', '.join(_ACTIONS)}, not {str(action)[:64]!r}")
    record = _id(fields.pop("event", None), "event")
    number = validate.whole_number(fields.pop("number", None), "number", 1, 2**31)
    return DumpedAct(scope, record, number, action, validate.moment(fields.pop("at", None), "at"))


def _read_key(fields: dict[str, Any], scope: Scope, _: Limits) -> DumpedKey:
    key = validate.idempotency_key(_taken(fields, "key", str))
    body = _bytes(fields.pop("body", None), "body")
    if len(body) != 32:
        refuse(f"body must be 32 bytes in base64, not {len(body)}")
    events = tuple(_id(each, "events") for each in _taken(fields, "events", list))
    used_at = validate.moment(fields.pop("used_at", None), "used_at")
    return DumpedKey(scope, KeyUse(key or "", body), events, used_at)


def _read_vectors(fields: dict[str, Any], scope: Scope, _: Limits) -> DumpedVectors:
    dim = validate.whole_number(fields.pop("dim", None), "dim", 1, _MOST_DIMENSIONS)
    passages = tuple(_passage(each, dim) for each in _taken(fields, "passages", list))
    if not passages:
        refuse("passages is empty")
    return DumpedVectors(
        scope,
        model=validate.word(_taken(fields, "model", str), "model"),
        dim=dim,
        recipe=validate.whole_number(fields.pop("recipe", None), "recipe", 0, 2**31),
        record=_id(fields.pop("event", None), "event"),
        passages=passages,
    )


_READERS: dict[str, Callable[[dict[str, Any], Scope, Limits], Dumped]] = {
    "event": _read_event,
    "record": _read_record,
    "act": _read_act,
    "key": _read_key,
    "vectors": _read_vectors,
}


def new_event(
    scope: Scope, draft: validate.Draft, *, new_id: str, known_at: datetime, origin: str
) -> DumpedEvent:
    """A row for the store, which gives the arrival number itself."""
    event = Event(
        id=new_id,
        arrival=0,
        role=draft.role,
        content=draft.content,
        at=draft.at or known_at,
        known_at=known_at,
        origin=origin,
        name=draft.name,
        agent=scope.agent,
        session=scope.session,
        metadata=draft.metadata,
    )
    return DumpedEvent(scope, event, None)


def _passage(value: object, dim: int) -> tuple[bytes, bytes]:
    if not isinstance(value, list) or len(value) != 2:
        refuse("passages must be pairs of digest and vector")
    digest, data = _bytes(value[0], "passages"), _bytes(value[1], "passages")
    if len(digest) != 16 or len(data) != 4 * dim:
        refuse(
            f"passages: a digest of {len(digest)} bytes and a vector of {len(data)},"
            f" expected 16 and {4 * dim} (4 for each of {dim} dimensions)"
        )
    with np.errstate(all="ignore"):
        length = float(np.linalg.norm(np.frombuffer(data, dtype="<f4").astype(np.float64)))
    if not abs(length - 1.0) < 1e-3:
        refuse(f"passages: a vector has the length {length:.6g}, expected 1")
    return digest, data


def _taken(fields: dict[str, Any], name: str, kind: type[T]) -> T:
    """The field, removed from `fields`; its type is checked."""
    value = fields.pop(name, None)
    if value is None:
        refuse(f"{name} is missing")
    if not isinstance(value, kind) or isinstance(value, bool):
        refuse(f"{name} must be a {kind.__name__}, not {type(value).__name__}")
    return value


def _nothing_left(fields: Mapping[str, Any]) -> None:
    if fields:
        refuse(f"unknown field {sorted(fields)[0][:64]!r}")


def _id(value: object, name: str) -> str:
    if not isinstance(value, str) or not _ID.fullmatch(value):
        refuse(f"{name} must be 32 hex digits, not {str(value)[:64]!r}")
    return value


def _bytes(value: object, name: str) -> bytes:
    if not isinstance(value, str):
        refuse(f"{name} must be a text in base64, not {type(value).__name__}")
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        refuse(f"{name} is not valid base64")
