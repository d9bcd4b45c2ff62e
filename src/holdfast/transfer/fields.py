"""Rows of a store as lines of an export.

Times are ISO 8601 in UTC with microseconds, bytes are base64, keys are sorted: equal rows give
equal bytes. What is as it usually is has no field, so older versions read what they can know.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

import orjson

from holdfast.store.protocols import (
    Dumped,
    DumpedAct,
    DumpedEvent,
    DumpedKey,
    DumpedRecord,
    DumpedShare,
    DumpedTrust,
    DumpedVectors,
)

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
