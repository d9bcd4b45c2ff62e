"""From drafts to log entries: an id, a time, the index row and what was learned at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from holdfast.border.validate import Draft, least
from holdfast.border.write_options import visibility_of
from holdfast.errors import NotFound
from holdfast.index.view import packed
from holdfast.language.terms import terms
from holdfast.records.rules import Learner, derived_again
from holdfast.store.protocols import IndexedRow, LogEntry, Store, is_heard
from holdfast.types import ORIGIN_OF_ROLE, Event, Job, Metadata, Record, Scope, State, Status

#: Of a turn that is treated as any other; see border/write_options.py.
_AS_USUAL: Metadata = {}
#: Messages between two calls of the progress callback.
_REPORT_EVERY = 256


def entries(
    drafts: Sequence[Draft],
    ids: Sequence[str],
    *,
    now: datetime,
    learner: Learner | None = None,
    origin: str | None = None,
    data: Metadata = _AS_USUAL,
    progress: Callable[[int, int], None] | None = None,
) -> list[LogEntry]:
    """What the store appends. A message without a time was said now; of the origin that its role
    has and the one that is given the less trusted holds."""
    learner = learner or Learner()
    made: list[LogEntry] = []
    for draft, new_id in zip(drafts, ids, strict=True):
        row, length = packed(indexed_terms(draft.name, draft.content))
        event = Event(
            id=new_id,
            arrival=0,  # The store counts.
            role=draft.role,
            content=draft.content,
            at=draft.at or now,
            known_at=now,
            origin=least([ORIGIN_OF_ROLE[draft.role], *([origin] if origin else [])]),
            data=data,
        )
        kind, derived = learner.learn(event)
        made.append(
            LogEntry(
                id=new_id,
                role=draft.role,
                content=draft.content,
                at=event.at,
                origin=event.origin,
                terms=row,
                length=length,
                name=draft.name,
                metadata=draft.metadata,
                data=data,
                visibility=visibility_of(data),
                kind=kind,
                derived=derived,
            )
        )
        if progress and len(made) % _REPORT_EVERY == 0:
            progress(len(made), len(drafts))
    return made


def index_row(subject: Event | Record) -> IndexedRow:
    """The index row, the kind and the records of what is stored: what it was given when stored."""
    if isinstance(subject, Record) and is_heard(subject.tier, subject.data):
        return IndexedRow(b"", 0, subject.kind)
    row, length = packed(indexed_terms(subject.name, subject.content))
    if isinstance(subject, Record):
        return IndexedRow(row, length, subject.kind)
    return IndexedRow(row, length, *derived_again(subject))


def indexed_terms(name: str | None, content: str) -> list[str]:
    """The speaker's name is searchable with what was said."""
    return (terms(name) if name else []) + terms(content)


def status_of(store: Store, scope: Scope, event: str) -> Status:
    """How far an event has come, a forgotten one too; NotFound for an unknown id."""
    if not any(each.tier == "session" for each in store.get(scope, [event], hidden=True)):
        raise NotFound(f"there is no memory {event!r} in this scope")
    jobs = store.jobs(scope=scope, subject=event)
    errors = [job.error for job in jobs if job.error]
    pending = tuple(job.step.split(":")[0] for job in jobs)
    return Status(event, _state(jobs), pending, errors[-1] if errors else None)


def _state(jobs: Sequence[Job]) -> State:
    if not jobs:
        return "done"
    states = {job.state for job in jobs}
    if "running" in states:
        return "processing"
    if "ready" in states:
        return "failed" if any(job.error for job in jobs) else "stored"
    return "dead"
