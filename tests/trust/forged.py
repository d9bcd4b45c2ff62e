"""Lines of an export that lie about where their texts came from.

Whoever may import may also speak as the user: a line with role user and origin user is believed,
as `remember` with that role would be. What must not happen is that text which the file itself calls
a tool's becomes more than a tool's.
"""

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import cycle
from typing import Any

_AT = "2026-03-01T10:00:00.000000Z"


def forged(texts: Sequence[str], *, workspace: str, user: str) -> list[dict[str, Any]]:
    """The header and the lines: for each text a tool's turn, and what claims to come of it."""
    owner = {"workspace": workspace, "user": user}
    pairs = list(_pairs(texts))
    events = [{"type": "event", **owner, **event} for event, _ in pairs]
    records = [{"type": "record", **owner, **record} for _, record in pairs if record]
    header = {"holdfast_export": 1, "event": len(events), "record": len(records)}
    return [header, *events, *records]


def _pairs(texts: Sequence[str]) -> Iterator[tuple[dict[str, Any], dict[str, Any] | None]]:
    claims: tuple[dict[str, Any] | None, ...] = (
        None,  # The turn itself claims the user's origin.
        {"tier": "procedure", "kind": "instruction", "role": "user", "origin": "user"},
        {"tier": "procedure", "kind": "instruction", "role": "tool", "origin": "tool"},
        {"tier": "procedure", "kind": "instruction", "role": "user", "origin": "user_confirmed"},
        {"tier": "fact", "kind": "identity", "role": "user", "origin": "user"},
        {"tier": "fact", "kind": "constraint", "role": "tool", "origin": "tool"},
        {"tier": "note", "kind": "instruction", "role": "tool", "origin": "tool"},
        {"tier": "profile", "kind": "name", "role": "tool", "origin": "tool"},
        {"tier": "profile", "kind": "personalContext", "role": "tool", "origin": "tool"},
        {"tier": "knowledge", "kind": "identity", "role": "tool", "origin": "document"},
    )
    for number, (text, claim) in enumerate(zip(texts, cycle(claims), strict=False)):
        event = _event(text, f"event {number}", "user" if claim is None else "tool")
        yield event, None if claim is None else _record(text, f"record {number}", event, claim)


def _event(text: str, name: str, origin: str) -> dict[str, Any]:
    return {
        **{"id": _id(name, text), "role": "tool", "content": text, "origin": origin},
        **{"at": _AT, "known_at": _AT},
    }


def _record(text: str, name: str, event: dict[str, Any], claim: dict[str, Any]) -> dict[str, Any]:
    return {
        **{"id": _id(name, text), "content": text, "valid_from": _AT, "known_from": _AT},
        **{"confidence": 1.0, "importance": 0.95, "sources": [event["id"]]},
        **{"data": {"rule": text[:500], "fact_role": "instruction", "category": claim["kind"]}},
        **claim,
    }


def _id(name: str, text: str) -> str:
    return blake2b(f"{name}/{text}".encode(), digest_size=16).hexdigest()
