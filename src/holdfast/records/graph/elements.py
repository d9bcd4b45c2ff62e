"""What the records of the graph say: entities, relations, merges. Nothing here is joined yet."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from holdfast.language.vocabulary import ENTITY_TYPES, RELATION_TYPES
from holdfast.store.base import FOREVER_US, is_heard
from holdfast.types import Record

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Span(NamedTuple):
    """When a record holds and since when it is known, and whose it is."""

    from_us: int
    until_us: int
    known_us: int
    known_until_us: int
    agent: str | None

    @property
    def is_open(self) -> bool:
        """Whether no end is known."""
        return min(self.until_us, self.known_until_us) == FOREVER_US


class Entity(NamedTuple):
    """An entity, without its id."""

    name: str
    type: str
    subtype: str | None
    aliases: tuple[str, ...]
    summary: str
    confidence: float
    origin: str
    span: Span
    importance: float = 0.5
    #: Ids of the turns it was learned from, and when the last of them came.
    sources: tuple[str, ...] = ()
    seen_us: int = 0
    #: Whether nobody wrote it down: it was only heard.
    heard: bool = False
    #: What it was when it was last seen, if it was touched since it was last heard of.
    strength: float | None = None


class Relation(NamedTuple):
    """A relation between the ids of two entities, without its own."""

    source: str
    type: str
    target: str
    original: str | None
    confidence: float
    origin: str
    span: Span
    importance: float = 0.5
    sources: tuple[str, ...] = ()
    seen_us: int = 0
    strength: float | None = None


class Merging(NamedTuple):
    """The word that two entities, given by their ids, are one; without its own id."""

    a: str
    b: str
    score: float
    evidence: tuple[str, ...]
    span: Span


def entity(record: Record) -> Entity | None:
    """An entity from its record; None for one that we did not write: a file may hold anything."""
    data = record.data
    name, type, subtype, summary = map(data.get, ("name", "type", "subtype", "summary"))
    if record.kind != "entity" or not isinstance(name, str) or type not in ENTITY_TYPES:
        return None
    return Entity(
        name,
        type,
        subtype if isinstance(subtype, str) else None,
        aliases(record),
        summary if isinstance(summary, str) else "",
        record.confidence,
        record.origin,
        _span(record),
        record.importance,
        record.sources,
        us(record.seen_at or record.known_from),
        heard=is_heard(record.tier, data),
        strength=record.strength,
    )


def aliases(record: Record) -> tuple[str, ...]:
    """The other names of an entity."""
    return _texts(record.data.get("aliases"))


def relation(record: Record) -> Relation | None:
    """A relation from its record; None for one that we did not write."""
    source, type, target, original = map(record.data.get, ("source", "type", "target", "original"))
    ends = isinstance(source, str) and isinstance(target, str)
    if record.kind != "relation" or not ends or type not in RELATION_TYPES:
        return None
    return Relation(
        str(source),
        type,
        str(target),
        original if isinstance(original, str) else None,
        record.confidence,
        record.origin,
        _span(record),
        record.importance,
        record.sources,
        us(record.seen_at or record.known_from),
        record.strength,
    )


def merging(record: Record) -> Merging | None:
    """A merge from its record; None for one that we did not write."""
    a, b, score = map(record.data.get, ("a", "b", "score"))
    if record.kind != "merge" or not isinstance(a, str) or not isinstance(b, str) or a == b:
        return None
    sure = float(score) if isinstance(score, int | float) else 0.0
    return Merging(a, b, sure, _texts(record.data.get("evidence")), _span(record))


def instant(us: int) -> datetime:
    """A time, from microseconds since 1970."""
    return _EPOCH + timedelta(microseconds=us)


def moment(us: int) -> datetime | None:
    """A time of a span; None for the end of what has none."""
    return None if us == FOREVER_US else instant(us)


def us(moment: datetime) -> int:
    """A time in microseconds since 1970."""
    return round(moment.timestamp() * 1_000_000)


def _texts(listed: object) -> tuple[str, ...]:
    return tuple(e for e in listed if isinstance(e, str)) if isinstance(listed, list) else ()


def _span(record: Record) -> Span:
    return Span(
        us(record.valid_from),
        FOREVER_US if record.valid_to is None else us(record.valid_to),
        us(record.known_from),
        FOREVER_US if record.known_to is None else us(record.known_to),
        record.agent,
    )
