"""From drafts to log entries: an id, a time and the index row for each message."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from recollect.index.postings import packed
from recollect.store.base import Entry, Made
from recollect.text import terms
from recollect.types import ORIGIN_OF_ROLE, Event, Record
from recollect.write.tag import detect
from recollect.write.validate import Draft

#: Messages between two calls of the progress callback.
_REPORT_EVERY = 256


def entries(
    drafts: Sequence[Draft],
    ids: Sequence[str],
    *,
    now: datetime,
    progress: Callable[[int, int], None] | None = None,
) -> list[Entry]:
    """What the store appends. A message without a time was said now."""
    made: list[Entry] = []
    for draft, new_id in zip(drafts, ids, strict=True):
        row, length = packed(indexed_terms(draft.name, draft.content))
        made.append(
            Entry(
                id=new_id,
                role=draft.role,
                content=draft.content,
                at=draft.at or now,
                origin=ORIGIN_OF_ROLE[draft.role],
                terms=row,
                length=length,
                name=draft.name,
                metadata=draft.metadata,
                kind=kind_of(draft.role, draft.content),
            )
        )
        if progress and len(made) % _REPORT_EVERY == 0:
            progress(len(made), len(drafts))
    return made


def kind_of(role: str, content: str) -> str:
    """ "instruction" when a user's turn holds a standing rule; only users can give one."""
    if ORIGIN_OF_ROLE[role] == "user" and any(each.kind == "rule" for each in detect(content)):
        return "instruction"
    return "turn"


def index_row(subject: Event | Record) -> Made:
    """The index row and the kind of what is stored: what it was given when it was stored."""
    row, length = packed(indexed_terms(subject.name, subject.content))
    if isinstance(subject, Record):
        return Made(row, length, subject.kind)
    return Made(row, length, kind_of(subject.role, subject.content))


def indexed_terms(name: str | None, content: str) -> list[str]:
    """The speaker's name is searchable with what was said."""
    return (terms(name) if name else []) + terms(content)
