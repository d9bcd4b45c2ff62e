"""Facts as a caller is shown them: their state, and what of them a caller may see at a time."""

from __future__ import annotations

from datetime import datetime

from holdfast.language.statements.values import Fact
from holdfast.records.facts.follow import CONFLICT, is_unclear
from holdfast.records.versions import first_id
from holdfast.store.protocols import Store
from holdfast.types import Record, Scope

#: What `list` can be asked for.
STATUSES: tuple[str, ...] = (
    "active", "superseded", "invalidated", "unclear", "archived", "all",
)  # fmt: skip


def fact(record: Record, status: str, **more: str) -> Fact:
    """A stored fact for a caller."""
    data = record.data
    due = data.get("due")
    return Fact(
        id=record.id,
        content=record.content,
        category=record.kind,
        headline=data.get("headline") or "",
        status=status,
        confidence=record.confidence,
        importance=record.importance,
        origin=record.origin,
        valid_from=record.valid_from,
        valid_to=record.valid_to,
        known_from=record.known_from,
        known_to=record.known_to,
        keywords=tuple(data.get("keywords") or ()),
        entities=tuple(data.get("entities") or ()),
        sources=record.sources,
        avoid=data.get("avoid") or "",
        due=None if not due else datetime.fromisoformat(due),
        claim=first_id(record),
        contradicts=tuple(data.get("contradicts") or ()),
        agent=record.agent,
        session=record.session,
        metadata=record.metadata,
        outcome=more.get("outcome", data.get("outcome") or ""),
        reason=more.get("reason", data.get("reason") or ""),
        replaces=tuple(data.get("replaces") or ()),
    )


def status(store: Store, scope: Scope, record: Record, now: datetime) -> str:
    """The state of a fact: active, superseded, invalidated, unclear or archived."""
    if record.known_to is not None:
        acts = [line.action for line in store.history(scope, record.id)]
        ends = [each for each in acts if each in ("superseded", "invalidated")]
        return ends[-1] if ends else "superseded"
    if record.archived_at is not None:
        return "archived"
    if record.data.get("outcome") == "delete":
        return "invalidated"
    if is_unclear(record):
        return "unclear"
    return "superseded" if record.valid_to is not None and record.valid_to <= now else "active"


def is_shown(record: Record, scope: Scope) -> bool:
    """Whether a caller may see a record: an agent sees its own and what no agent wrote."""
    if record.kind == CONFLICT:
        return False
    if record.visibility is not None:
        return record.agent == scope.agent
    return scope.agent is None or record.agent in (None, scope.agent)


def held(record: Record, as_of: datetime | None, known_at: datetime | None) -> bool:
    """Whether a fact held at `as_of`, as was known at `known_at`; one of both is given.

    As for recall: an end that was learned after `known_at` was none then.
    """
    if record.data.get("outcome") in ("clarify", "delete"):
        return False
    if as_of is not None and record.valid_from > as_of:
        return False
    if known_at is not None and record.known_from > known_at:
        return False
    was_known = record.known_to is not None and known_at is not None and record.known_to <= known_at
    if as_of is None:  # One that was told late had ended when it was told.
        over = record.known_to is None and record.valid_to is not None
        return not was_known and not (over and _before(record.valid_to, known_at))
    ended = record.valid_to is not None and record.valid_to <= as_of
    if known_at is not None:
        ended = ended and (was_known or record.known_to is None)
    return not ended


def _before(end: datetime | None, moment: datetime | None) -> bool:
    return end is not None and moment is not None and end <= moment
