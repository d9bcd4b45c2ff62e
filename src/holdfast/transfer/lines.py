"""Rows of a store as lines of an export, and back; each line is checked before it is a row.

Times are ISO 8601 in UTC with microseconds, bytes are base64, keys are sorted: equal rows give
equal bytes. What is as it usually is has no field, so older versions read what they can know.

This module knows nothing about files and stores.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any, NoReturn, TypeVar, cast, get_args

import numpy as np
import orjson

from holdfast.border import validate
from holdfast.border.validate import ORIGINS
from holdfast.border.write_options import checked_data
from holdfast.config import Limits
from holdfast.errors import InvalidInput
from holdfast.records.graph.check import distrust
from holdfast.records.profile_fields import SECTIONS
from holdfast.store.protocols import (
    Dumped,
    DumpedAct,
    DumpedEvent,
    DumpedKey,
    DumpedRecord,
    DumpedShare,
    DumpedTrust,
    DumpedVectors,
    KeyUse,
    Lived,
    Share,
)
from holdfast.types import ALL_TIERS, ORIGIN_OF_ROLE, TEAM, Action, Event, Record, Role, Scope

#: Format 2 has a closing line; otherwise it is as 1.
FORMAT = 2
FORMATS = (1, 2)
#: What the first and the last line of an export are known by.
HEADER = "holdfast_export"
#: What the header was called in exports of Recollect, as we were called.
FORMER_HEADER = "recollect_export"
CLOSING = "holdfast_end"
KIND: dict[type, str] = {
    DumpedEvent: "event",
    DumpedRecord: "record",
    DumpedAct: "act",
    DumpedKey: "key",
    DumpedShare: "share",
    DumpedTrust: "trust",
    DumpedVectors: "vectors",
}
TYPES = tuple(KIND.values())
#: Counted in the header only if there are any: older versions do not know them.
_LATER = ("record", "share", "trust")
_RECORD_WORDS = (
    "id", "tier", "kind", "content", "origin", "role", "name", "agent", "session", "visibility",
)  # fmt: skip


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
            fields |= {"action": row.action, "at": _iso(row.at)} | _set(note=row.note)
        case DumpedKey():
            fields |= {"key": row.key.key, "body": _base64(row.key.body)}
            fields |= {"events": row.events, "used_at": _iso(row.used_at)}
        case DumpedShare():
            fields |= _share_fields(row)
        case DumpedTrust():
            del fields["user"]
            fields |= {"agent": row.agent, "trust": row.trust, "at": _iso(row.at)}
        case DumpedVectors():
            fields |= {"event": row.record, "model": row.model, "dim": row.dim}
            fields["recipe"] = row.recipe
            fields["passages"] = [[_base64(digest), _base64(data)] for digest, data in row.passages]
    return fields


def _event_fields(row: DumpedEvent) -> dict[str, Any]:
    event, lived = row.event, row.lived
    return _set(
        id=event.id,
        role=event.role,
        content=event.content,
        at=_iso(event.at),
        known_at=_iso(event.known_at),
        origin=event.origin,
        name=event.name,
        agent=event.agent,
        session=event.session,
        metadata=dict(event.metadata) or None,
        **event.data,
        forgotten_at=_maybe(row.forgotten_at),
        valid_to=_maybe(lived.valid_to),
        known_to=_maybe(lived.known_to),
        seen_at=_maybe(lived.seen_at),
        archived_at=_maybe(lived.archived_at),
        strength=lived.strength,
        uses=lived.uses or None,
        used_on=_maybe(lived.used_on),
    )


def _record_fields(row: DumpedRecord) -> dict[str, Any]:
    record = row.record
    return _set(
        **{name: getattr(record, name) for name in _RECORD_WORDS},
        confidence=record.confidence,
        importance=record.importance,
        sources=record.sources,
        data=dict(record.data) or None,
        metadata=dict(record.metadata) or None,
        along=row.along or None,
        # Without a source it stands by itself anyway.
        written=(row.written and bool(record.sources)) or None,
        quiet=record.quiet or None,
        strength=record.strength,
        uses=record.uses or None,
        used_on=_maybe(row.used_on),
        valid_from=_iso(record.valid_from),
        valid_to=_maybe(record.valid_to),
        known_from=_iso(record.known_from),
        known_to=_maybe(record.known_to),
        said_from=_maybe(row.said_from),
        forgotten_at=_maybe(row.forgotten_at),
        seen_at=_maybe(record.seen_at),
        archived_at=_maybe(record.archived_at),
    )


def _share_fields(row: DumpedShare) -> dict[str, Any]:
    share = row.share
    return _set(
        id=share.id,
        to=share.to,
        segments=share.segments,
        permission=share.permission,
        created_at=_iso(share.created_at),
        expires_at=_maybe(share.expires_at),
        revoked_at=_maybe(share.revoked_at),
    )


def promised(counts: Mapping[str, int]) -> dict[str, int]:
    """The counts of a header."""
    return {kind: count for kind, count in counts.items() if count or kind not in _LATER}


def _set(**fields: Any) -> dict[str, Any]:
    """Those that have a value."""
    return {name: value for name, value in fields.items() if value is not None}


def _maybe(moment: datetime | date | None) -> str | None:
    if isinstance(moment, datetime):
        return _iso(moment)
    return None if moment is None else moment.isoformat()


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


# ----------------------------------------------------------------------
# Taking the fields of a line one by one. Nothing here is taken on trust.
# ----------------------------------------------------------------------

T = TypeVar("T")

_ID = re.compile("[0-9a-f]{32}")
_DIGEST_BYTES = 16


def refuse(reason: str) -> NoReturn:
    """Give up on a line."""
    raise InvalidInput(reason)


def take(fields: dict[str, Any], name: str, kind: type[T]) -> T:
    """The field, removed from `fields`; its type is checked."""
    value = fields.pop(name, None)
    if value is None:
        refuse(f"{name} is missing")
    if not isinstance(value, kind) or isinstance(value, bool):
        refuse(f"{name} must be a {kind.__name__}, not {type(value).__name__}")
    return value


def nothing_left(fields: Mapping[str, Any]) -> None:
    """Refuse a line with fields that nobody asked for."""
    if fields:
        refuse(f"unknown field {sorted(fields)[0][:64]!r}")


def an_id(value: object, name: str) -> str:
    """32 hex digits."""
    if not isinstance(value, str) or not _ID.fullmatch(value):
        refuse(f"{name} must be 32 hex digits, not {str(value)[:64]!r}")
    return value


def some_bytes(value: object, name: str) -> bytes:
    """Bytes in base64."""
    if not isinstance(value, str):
        refuse(f"{name} must be a text in base64, not {type(value).__name__}")
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        refuse(f"{name} is not valid base64")


def origin(fields: dict[str, Any]) -> str:
    """Whose word it is."""
    value = fields.pop("origin", None)
    if value not in ORIGINS:
        refuse(f"origin must be one of {', '.join(ORIGINS)}, not {str(value)[:64]!r}")
    return str(value)


def share(fields: dict[str, Any], name: str) -> float:
    """A number of 0..1."""
    value = fields.pop(name, None)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        refuse(f"{name} must lie in 0..1, not {str(value)[:64]!r}")
    return float(value)


def maybe_share(fields: dict[str, Any], name: str) -> float | None:
    """A number of 0..1, if the line has it."""
    if fields.get(name) is not None:
        return share(fields, name)
    fields.pop(name, None)
    return None


def maybe_moment(fields: dict[str, Any], name: str) -> datetime | None:
    """A time, if the line has it."""
    value = fields.pop(name, None)
    return None if value is None else validate.moment(value, name)


def maybe_day(fields: dict[str, Any], name: str) -> date | None:
    """A day, if the line has it."""
    value = fields.pop(name, None)
    if value is None:
        return None
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError):
        refuse(f"{name} must be a day such as 2026-03-01, not {str(value)[:64]!r}")


def flag(fields: dict[str, Any], name: str) -> bool:
    """True or false; false if the line does not say."""
    value = fields.pop(name, False)
    if not isinstance(value, bool):
        refuse(f"{name} must be true or false")
    return value


def one_of(fields: dict[str, Any], name: str, values: tuple[str, ...]) -> str:
    """One of a few words."""
    value = fields.pop(name, None)
    if value not in values:
        refuse(f"{name} must be one of {', '.join(values)}, not {str(value)[:64]!r}")
    return str(value)


def passage(value: object, dim: int) -> tuple[bytes, bytes]:
    """The digest and the unit vector of a passage."""
    if not isinstance(value, list) or len(value) != 2:
        refuse("passages must be pairs of digest and vector")
    digest, data = some_bytes(value[0], "passages"), some_bytes(value[1], "passages")
    if len(digest) != _DIGEST_BYTES or len(data) != 4 * dim:
        refuse(
            f"passages: a digest of {len(digest)} bytes and a vector of {len(data)},"
            f" expected {_DIGEST_BYTES} and {4 * dim} (4 for each of {dim} dimensions)"
        )
    with np.errstate(all="ignore"):
        length = float(np.linalg.norm(np.frombuffer(data, dtype="<f4").astype(np.float64)))
    if not abs(length - 1.0) < 1e-3:
        refuse(f"passages: a vector has the length {length:.6g}, expected 1")
    return digest, data


# ----------------------------------------------------------------------
# What the system's own fields of a record must look like: an import is somebody else's file.
#
# Verbs read these fields without looking twice. A line whose fields have another shape is refused
# as a whole: stored, it would break every verb of its owner.
# ----------------------------------------------------------------------

_MOST_ITEMS = 10_000
_TEXTS = frozenset(
    {
        *("about", "aliases", "consolidated_from", "contradicts", "entities", "facts"),
        *("keywords", "replaces", "steps", "tags", "values"),
    }
)
_TEXT = frozenset(
    {
        *("author", "avoid", "before", "category", "claim", "digest", "format", "headline", "key"),
        *("name", "outcome", "reason", "section", "slot", "speaker", "state", "status", "subject"),
        *("title", "trigger", "value"),
    }
)
_NUMBERS = frozenset(["chunks", "failed", "number", "page", "tokens", "version", "worked"])
_MOMENTS = frozenset({"due"})
_STEPS = ("title", "steps", "tags", "trigger", "version", "worked", "failed", "claim")
#: What a record of a tier and a kind cannot be read without.
_NEEDED = {
    ("fact", "conflict"): ("facts",),
    **dict.fromkeys((("procedure", each) for each in ("workflow", "rule", "template")), _STEPS),
    ("knowledge", "entry"): ("key", "claim"),
    ("knowledge", "document"): ("name", "claim"),
}


def check_shape(record: Record) -> None:
    """Refuse a record whose system fields no verb could read. The graph checks its own."""
    if record.tier == "graph":
        return
    for name, value in record.data.items():
        if (record.tier, name) != ("knowledge", "about"):  # The front matter of a document.
            _check(name, value)
    needed = _NEEDED.get((record.tier, record.kind), ())
    if record.tier == "fact" and record.data.get("outcome") == "clarify":
        needed = (*needed, "about")
    if record.tier == "profile":
        needed = ("claim",)
    for name in needed:
        if name not in record.data:
            refuse(f"data.{name} is missing")


def _check(name: str, value: object) -> None:
    if value is None:
        return
    if name in _TEXTS and not _is_texts(value):
        refuse(f"data.{name} must be a list of at most {_MOST_ITEMS} texts")
    if name in _TEXT and not isinstance(value, str):
        refuse(f"data.{name} must be a text")
    if name in _NUMBERS and (isinstance(value, bool) or not isinstance(value, int | float)):
        refuse(f"data.{name} must be a number")
    if name in _MOMENTS and not _is_moment(value):
        refuse(f"data.{name} must be a time with a zone")


def _is_texts(value: object) -> bool:
    if not isinstance(value, list) or len(value) > _MOST_ITEMS:
        return False
    return all(isinstance(each, str) for each in value)


def _is_moment(value: object) -> bool:
    try:
        return isinstance(value, str) and datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False


#: What a line of a history can say; `stored` is the record itself.
_ACTIONS = tuple(each for each in get_args(Action) if each != "stored")
_ROLES = get_args(Role)
#: Whose word counts as the user's, and what nobody else can say.
_BY_USER = ("user", "user_confirmed")
_USERS_OWN = ("identity", "constraint")
#: Characters of a rule or a condition; sentences of turns are cut there, too.
_LONGEST_RULE = 600
_LONGEST_NOTE = 2000
_MOST_SEGMENTS = 100
_MOST_USES = 2**31
_MOST_DIMENSIONS = 65_536
_QUIETEST = 2
_AGENT_ONLY = "agent_only"


def parse_line(text: str) -> dict[str, Any]:
    """The JSON object of a line."""
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        refuse("nested too deeply")
    except ValueError as error:
        refuse(f"not valid JSON: {str(error)[:200]}")
    if not isinstance(value, dict):
        refuse(f"a line must be a JSON object, not {type(value).__name__}")
    if FORMER_HEADER in value:
        value[HEADER] = value.pop(FORMER_HEADER)
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def from_header(fields: dict[str, Any], number: int) -> dict[str, int]:
    """How many rows of each type an export promises; its format was looked at before."""
    del fields[HEADER]
    if number != 1:
        refuse("a header in the middle: import one export at a time")
    promised = {kind: take(fields, kind, int) for kind in TYPES if kind in fields}
    nothing_left(fields)
    return promised


def from_row(fields: dict[str, Any], limits: Limits) -> Dumped:
    """The row of a line; InvalidInput names the field that is wrong."""
    kind = fields.pop("type")
    row = _READERS[kind](fields, _scope(fields, kind), limits)
    nothing_left(fields)
    return row


def _scope(fields: dict[str, Any], kind: str) -> Scope:
    words = {name: fields.pop(name, None) for name in ("workspace", "user")}
    if kind in ("event", "record"):
        words |= {name: fields.pop(name, None) for name in ("agent", "session")}
    if words["user"] == TEAM or kind == "trust":
        # Nobody's own, so the name is checked as if it were another.
        return replace(validate.scope(**words | {"user": "team"}), user=TEAM)
    return validate.scope(**words)


def _read_event(fields: dict[str, Any], scope: Scope, limits: Limits) -> DumpedEvent:
    new_id = an_id(fields.pop("id", None), "id")
    known_at = validate.moment(fields.pop("known_at", None), "known_at")
    whose = origin(fields)
    forgotten = maybe_moment(fields, "forgotten_at")
    lived = _read_lived(fields, known_at)
    treated = {name: fields.pop(name, None) for name in ("visibility", "provider", "labels")}
    data = checked_data(treated, agent=scope.agent)
    for name in ("role", "at"):
        if fields.get(name) is None:
            refuse(f"{name} is missing")
    batch = validate.batch(dict(fields), at=None, metadata=None, limits=limits)
    fields.clear()
    if batch.warnings:
        refuse(batch.warnings[0])
    role = batch.drafts[0].role
    if distrust(whose) < distrust(ORIGIN_OF_ROLE[role]):
        refuse(f"origin {whose} is more than a turn of role {role} can have")
    row = new_event(scope, batch.drafts[0], new_id=new_id, known_at=known_at, origin=whose)
    return DumpedEvent(row.scope, replace(row.event, data=data), forgotten, lived)


def _read_lived(fields: dict[str, Any], known_at: datetime) -> Lived:
    """What became of it since; taken from a turn's line and from a record's."""
    lived = Lived(
        valid_to=maybe_moment(fields, "valid_to"),
        known_to=maybe_moment(fields, "known_to"),
        seen_at=maybe_moment(fields, "seen_at"),
        archived_at=maybe_moment(fields, "archived_at"),
        strength=maybe_share(fields, "strength"),
        uses=validate.whole_number(fields.pop("uses", 0), "uses", 0, _MOST_USES),
        used_on=maybe_day(fields, "used_on"),
    )
    if lived.seen_at is not None and lived.seen_at < known_at:
        refuse("seen_at lies before known_from")
    if lived.strength is not None and lived.seen_at is None:
        refuse("strength needs seen_at")
    return lived


def _read_record(fields: dict[str, Any], scope: Scope, limits: Limits) -> DumpedRecord:
    tier = one_of(fields, "tier", ALL_TIERS[1:])
    draft, data = _read_text(fields, limits)
    known_from = validate.moment(fields.pop("known_from", None), "known_from")
    lived = _read_lived(fields, known_from)
    record = Record(
        id=an_id(fields.pop("id", None), "id"),
        tier=tier,
        kind=validate.word(take(fields, "kind", str), "kind"),
        content=draft.content,
        valid_from=validate.moment(fields.pop("valid_from", None), "valid_from"),
        valid_to=lived.valid_to,
        known_from=known_from,
        known_to=lived.known_to,
        origin=origin(fields),
        confidence=share(fields, "confidence"),
        sources=tuple(an_id(each, "sources") for each in take(fields, "sources", list)),
        role=draft.role,
        name=draft.name,
        agent=scope.agent,
        session=scope.session,
        metadata=_read_metadata(fields, limits),
        importance=share(fields, "importance"),
        data=data,
        seen_at=lived.seen_at,
        quiet=validate.whole_number(fields.pop("quiet", 0), "quiet", 0, _QUIETEST),
        archived_at=lived.archived_at,
        strength=lived.strength,
        uses=lived.uses,
        visibility=_read_visibility(fields),
    )
    _check_authority(record)
    check_shape(record)
    forgotten_at, along = maybe_moment(fields, "forgotten_at"), flag(fields, "along")
    if along and forgotten_at is None:
        refuse("along must be false without forgotten_at")
    return DumpedRecord(
        scope=scope,
        record=record,
        forgotten_at=forgotten_at,
        along=along,
        said_from=maybe_moment(fields, "said_from"),
        used_on=lived.used_on,
        written=flag(fields, "written") or not record.sources,
    )


def _read_visibility(fields: dict[str, Any]) -> str | None:
    value = fields.pop("visibility", None)
    if value not in (None, _AGENT_ONLY):
        refuse(f"visibility must be {_AGENT_ONLY} or left out, not {str(value)[:64]!r}")
    return value if value is None else _AGENT_ONLY


def _read_metadata(fields: dict[str, Any], limits: Limits) -> dict[str, Any]:
    warnings: list[str] = []
    metadata = validate.checked_metadata(fields.pop("metadata", None), "metadata", limits, warnings)
    if warnings:
        refuse(warnings[0])
    return metadata


def _check_authority(record: Record) -> None:
    """Only a user's words are instructions, and say who the user is or what must be."""
    if record.tier != "graph" and record.kind in _USERS_OWN and record.origin not in _BY_USER:
        refuse(f"a record of kind {record.kind} must have origin {' or '.join(_BY_USER)}")
    if record.tier == "profile" and record.kind not in SECTIONS and record.origin not in _BY_USER:
        refuse(f"a field of the profile must have origin {' or '.join(_BY_USER)}")
    if record.tier != "procedure":
        if record.kind == "instruction":
            refuse("a record of kind instruction must be of the tier procedure")
        return
    by_user = record.role == "user" and record.origin in _BY_USER
    if record.kind == "instruction" and not by_user:
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


def _read_act(fields: dict[str, Any], scope: Scope, _: Limits) -> DumpedAct:
    note = fields.pop("note", None)
    if note is not None and not (isinstance(note, str) and len(note) <= _LONGEST_NOTE):
        refuse(f"note must be a text of at most {_LONGEST_NOTE} characters")
    return DumpedAct(
        scope,
        record=an_id(fields.pop("event", None), "event"),
        number=validate.whole_number(fields.pop("number", None), "number", 1, 2**31),
        action=one_of(fields, "action", _ACTIONS),
        at=validate.moment(fields.pop("at", None), "at"),
        note=note,
    )


def _read_key(fields: dict[str, Any], scope: Scope, _: Limits) -> DumpedKey:
    key = validate.idempotency_key(take(fields, "key", str))
    body = some_bytes(fields.pop("body", None), "body")
    if len(body) != 32:
        refuse(f"body must be 32 bytes in base64, not {len(body)}")
    events = tuple(an_id(each, "events") for each in take(fields, "events", list))
    used_at = validate.moment(fields.pop("used_at", None), "used_at")
    return DumpedKey(scope, KeyUse(key or "", body), events, used_at)


def _read_share(fields: dict[str, Any], scope: Scope, _: Limits) -> DumpedShare:
    segments = take(fields, "segments", list)
    if len(segments) > _MOST_SEGMENTS:
        refuse(f"segments has {len(segments)} names, the limit is {_MOST_SEGMENTS}")
    return DumpedShare(
        Share(
            id=validate.word(take(fields, "id", str), "id"),
            scope=scope,
            to=validate.word(take(fields, "to", str), "to"),
            segments=tuple(validate.word(each, "segments") for each in segments),
            permission=cast(Role, one_of(fields, "permission", _ROLES)),
            created_at=validate.moment(fields.pop("created_at", None), "created_at"),
            expires_at=maybe_moment(fields, "expires_at"),
            revoked_at=maybe_moment(fields, "revoked_at"),
        )
    )


def _read_trust(fields: dict[str, Any], scope: Scope, _: Limits) -> DumpedTrust:
    agent = validate.word(take(fields, "agent", str), "agent")
    trust, at = share(fields, "trust"), validate.moment(fields.pop("at", None), "at")
    return DumpedTrust(scope.workspace, agent, trust, at)


def _read_vectors(fields: dict[str, Any], scope: Scope, _: Limits) -> DumpedVectors:
    dim = validate.whole_number(fields.pop("dim", None), "dim", 1, _MOST_DIMENSIONS)
    passages = tuple(passage(each, dim) for each in take(fields, "passages", list))
    if not passages:
        refuse("passages is empty")
    return DumpedVectors(
        scope,
        model=validate.word(take(fields, "model", str), "model"),
        dim=dim,
        recipe=validate.whole_number(fields.pop("recipe", None), "recipe", 0, 2**31),
        record=an_id(fields.pop("event", None), "event"),
        passages=passages,
    )


_READERS: dict[str, Callable[[dict[str, Any], Scope, Limits], Dumped]] = {
    "event": _read_event,
    "record": _read_record,
    "act": _read_act,
    "key": _read_key,
    "share": _read_share,
    "trust": _read_trust,
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
