"""What the records of the graph say: entities, relations, merges. Nothing here is joined yet."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.language.vocabulary import ENTITY_TYPES, RELATION_TYPES
from holdfast.store.protocols import FOREVER_US, is_heard
from holdfast.types import Record

# ----------------------------------------------------------------------
# How present entities and edges still are: arithmetic on when they were last seen.
#
# Nothing is deleted by fading, and no job does it: asked twice, late or never, the answer is the
# same. Time counts from when something was learned or seen again, never from when it happened:
# imported history is not born faded. What was touched, which is used in a context or judged, has
# a strength of its own from that moment on (`full`); being heard again begins a new life.
# ----------------------------------------------------------------------

DAY_US = 86_400_000_000
#: An entity at first sight, what each further turn that speaks of it adds, and what is left of it
#: per day once a day has passed without one.
#: The seed's, as all numbers of fading (docs/decisions/0011).
_FIRST, _MORE, _LEFT_A_DAY = 0.5, 0.10, 0.97
_HALF_LIFE_DAYS = 90
#: An edge of less strength is left out of walks.
FADED = 0.10
#: An entity of less strength leaves the live graph.
GONE = 0.01

Times = NDArray[np.int64]


def entity_birth(turns: int) -> float:
    """The strength of an entity that so many turns speak of, when the last of them came."""
    return min(1.0, _FIRST + _MORE * max(0, turns - 1))


def entity_births(turns: NDArray[np.int64]) -> NDArray[np.float64]:
    """The same for many."""
    return np.minimum(1.0, _FIRST + _MORE * np.maximum(0, turns - 1))


def of_entity(turns: int, seen_us: int, now_us: int, full: float | None = None) -> float:
    """The strength of an entity that so many turns speak of."""
    begun = entity_birth(turns) if full is None else full
    return begun * math.pow(_LEFT_A_DAY, max(0.0, (now_us - seen_us) / DAY_US - 1))


def of_edge(seen_us: int, now_us: int, full: float | None = None) -> float:
    """The strength of an edge."""
    days = max(0, now_us - seen_us) / DAY_US
    return (1.0 if full is None else full) * math.pow(0.5, days / _HALF_LIFE_DAYS)


def edges_until(seen_us: Times, full: NDArray[np.float64]) -> Times:
    """Until when edges are walked; `full` is what each was at its time."""
    with np.errstate(divide="ignore"):
        days = _HALF_LIFE_DAYS * np.log2(full / FADED)
    return _after(seen_us, days)


def entities_until(seen_us: Times, full: NDArray[np.float64]) -> Times:
    """Until when entities are in the live graph; `full` is what each was at its time."""
    with np.errstate(divide="ignore"):
        days = 1.0 + np.log(full / GONE) / -math.log(_LEFT_A_DAY)
    return _after(seen_us, np.where(full < GONE, -np.inf, days))


def _after(seen_us: Times, days: NDArray[np.float64]) -> Times:
    """So many days after some times; what was never strong enough never was there."""
    past = days < 0
    moved = np.round(np.where(past, 0.0, days) * DAY_US).astype(np.int64)
    return np.where(past, -FOREVER_US, seen_us + moved)


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
