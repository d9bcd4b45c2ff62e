"""Turns that are to be treated otherwise than the rest of their conversation
(border/write_options.py).

What is read together is treated alike, so nothing that is drawn from turns that one agent keeps to
itself is mixed with what everybody may see.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from holdfast.border.write_options import NOBODY, provider_of, treatment, visibility_of
from holdfast.learn.drafts_from_llm import Drafted
from holdfast.store.base import Store
from holdfast.types import Event, Job, Metadata

_BY_MODEL = (None, "auto", "llm")
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


def of_one_kind(store: Store, jobs: list[Job]) -> tuple[list[Job], Metadata]:
    """Those that are treated as the one that is due first, and how; the others go back, untried."""
    if not jobs:
        return [], {}
    turns = store.events(jobs[0].scope, [job.subject for job in jobs])
    data = {turn.id: how for turn in turns if (how := treatment(turn.data))}
    if not data:
        return jobs, {}
    first = min(jobs, key=lambda job: (job.due or _LONG_AGO, job.id))
    kind = data.get(first.subject, {})
    rest = [job for job in jobs if data.get(job.subject, {}) != kind]
    if rest:
        store.release(rest)
    return [job for job in jobs if data.get(job.subject, {}) == kind], kind


def may_ask(data: Metadata) -> bool:
    """Whether a language model, if there is one, may be shown such turns."""
    return provider_of(data) in _BY_MODEL


def to_be_read(turns: Sequence[Event]) -> list[Event]:
    """Those that something may be drawn from."""
    return [turn for turn in turns if provider_of(turn.data) != NOBODY]


def for_the_same(turns: Sequence[Event], data: Metadata) -> list[Event]:
    """Those that everybody may know of who will see what is drawn now."""
    whose = (None, visibility_of(data))
    return [turn for turn in to_be_read(turns) if visibility_of(turn.data) in whose]


def kept_within(drafted: Drafted, data: Metadata) -> Drafted:
    """What may be stored of it. The graph has no place for what one agent keeps to itself: entities
    are everybody's."""
    visibility = visibility_of(data)
    if visibility is None:
        return drafted
    facts = tuple(replace(each, visibility=visibility) for each in drafted.facts)
    return replace(drafted, entities=(), relations=(), facts=facts)
