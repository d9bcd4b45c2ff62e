"""A graph in memory: who is next to whom, as arrays.

Entities and edges are numbered from 0. The ways out of entity i are `ways[first[i]:first[i + 1]]`;
an edge is a way out of both of its ends. This module knows nothing about stores.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.graph.names import Bearers, Borne, borne, same
from recollect.graph.vocabulary import ENTITY_TYPES, RELATION_TYPES, key
from recollect.store.base import FOREVER_US
from recollect.types import Record

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Ints = NDArray[np.int32]
#: A type of ours, and the one that was given.
_Types = tuple[str, str | None]


class Span(NamedTuple):
    """When a record holds and since when it is known, and whose it is."""

    from_us: int
    until_us: int
    known_us: int
    known_until_us: int
    agent: str | None


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


class Relation(NamedTuple):
    """A relation between the ids of two entities, without its own."""

    source: str
    type: str
    target: str
    original: str | None
    confidence: float
    origin: str
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
    )


def aliases(record: Record) -> tuple[str, ...]:
    """The other names of an entity."""
    listed = record.data.get("aliases")
    return tuple(e for e in listed if isinstance(e, str)) if isinstance(listed, list) else ()


def relation(record: Record) -> Relation | None:
    """A relation from its record; None for one that we did not write."""
    source, type, target, original = map(record.data.get, ("source", "type", "target", "original"))
    ends = isinstance(source, str) and isinstance(target, str)
    if record.kind != "relation" or not ends or type not in RELATION_TYPES:
        return None
    original = original if isinstance(original, str) else None
    return Relation(
        str(source), type, str(target), original, record.confidence, record.origin, _span(record)
    )


@dataclass(frozen=True, slots=True)
class When:
    """Which time is asked about, and by whom."""

    now: datetime
    as_of: datetime | None = None
    known_at: datetime | None = None
    #: The code of the agent that asks; None = everything of the user.
    agent: int | None = None


@dataclass(frozen=True, slots=True)
class Spans:
    """The spans of many records."""

    from_us: NDArray[np.int64]
    until_us: NDArray[np.int64]
    known_us: NDArray[np.int64]
    known_until_us: NDArray[np.int64]
    agents: NDArray[np.int32]

    def open(self, when: When) -> NDArray[np.bool_]:
        """Those that the asker can know of and that had not ended, begun or not. The same rules as
        for every memory, see recall/search.py."""
        ended: NDArray[np.bool_] = self.until_us <= _us(when.as_of or when.now)
        was_known = self.known_until_us <= _us(when.known_at or when.now)
        if when.as_of is None:
            ended = was_known if when.known_at is not None else ended | was_known
        elif when.known_at is not None:
            ended &= was_known | (self.known_until_us == FOREVER_US)
        seen = ~ended
        if when.known_at is not None:
            seen &= self.known_us <= _us(when.known_at)
        if when.agent is not None:
            seen &= (self.agents == when.agent) | (self.agents == -1)
        return seen

    def begun(self, when: When) -> NDArray[np.bool_]:
        """Those that held already at `as_of`."""
        if when.as_of is None:
            return np.ones(len(self.from_us), dtype=np.bool_)
        return self.from_us <= _us(when.as_of)


@dataclass(frozen=True, slots=True)
class Adjacency:
    """One owner's graph at one moment."""

    #: Id of an entity -> its number; and by number its id and what it is.
    numbers: Mapping[str, int]
    ids: Sequence[str]
    entities: Sequence[Entity]
    #: A name or alias as it is compared -> the entity; names before aliases, then the elder.
    called: Mapping[str, int]
    bearers: Bearers
    entity_spans: Spans
    #: Codes of the types of each entity and edge, and what the codes stand for.
    entity_types: Ints
    edge_types: Ints
    type_pairs: Sequence[_Types]
    edge_ids: Sequence[str]
    edge_numbers: Mapping[str, int]
    relations: Sequence[Relation]
    confidence: NDArray[np.float32]
    source: Ints
    target: Ints
    edge_spans: Spans
    #: Ids that edges name but that are no entities (any more), and the ids of those edges.
    missing: frozenset[str]
    loose: frozenset[str]
    agents: Mapping[str, int]
    first: NDArray[np.int64]
    #: The edges out of each entity, and the entities they lead to.
    ways: Ints
    ends: Ints
    #: What is derived from this moment once and used by many searches.
    kept: dict[str, Any] = field(default_factory=dict)

    def find(self, name: str) -> int | None:
        """The entity with this name, alias or id."""
        found = self.called.get(same(name))
        return self.numbers.get(name) if found is None else found

    def is_open(self, edge: int) -> bool:
        """Whether no end of an edge is known."""
        spans = self.edge_spans
        return bool(min(spans.until_us[edge], spans.known_until_us[edge]) == FOREVER_US)

    def typed(self, codes: Ints, wanted: frozenset[str] | None) -> NDArray[np.bool_] | None:
        """Which of them have one of the types; None = all."""
        if wanted is None:
            return None
        has = [type in wanted or key(given or "") in wanted for type, given in self.type_pairs]
        return np.array([*has, False])[codes]

    def agent(self, name: str | None) -> int | None:
        """The code of an agent; -2, which nobody has, for one that wrote nothing."""
        return None if name is None else self.agents.get(name, -2)


def adjacency(entities: Mapping[str, Entity], relations: Mapping[str, Relation]) -> Adjacency:
    """The arrays of a graph. Edges without both ends are left out.

    The numbers do not depend on the order of what is given: those learned first first, by name
    where several were learned at once.
    """
    things = dict(
        sorted(entities.items(), key=lambda pair: (pair[1].span.known_us, pair[1].name, pair[0]))
    )
    numbers = {each: number for number, each in enumerate(things)}
    edges = _sorted_edges(relations, numbers)
    claims = list(edges.values())
    agents: dict[str, int] = {}
    codes: dict[_Types, int] = {}
    source = _ints(map(numbers.__getitem__, [edge.source for edge in claims]))
    target = _ints(map(numbers.__getitem__, [edge.target for edge in claims]))
    confidence = np.array([edge.confidence for edge in claims], dtype=np.float32)
    first, ways, others = _ways(source, target, confidence, len(numbers))
    called, bearers = _called(list(things.values()))
    ends = {edge.source for edge in relations.values()}
    ends |= {edge.target for edge in relations.values()}
    return Adjacency(
        numbers=numbers,
        ids=list(numbers),
        entities=list(things.values()),
        called=called,
        bearers=bearers,
        entity_spans=_spans([each.span for each in things.values()], agents),
        entity_types=_coded([(each.type, each.subtype) for each in things.values()], codes),
        edge_types=_coded([(edge.type, edge.original) for edge in claims], codes),
        type_pairs=list(codes),
        edge_ids=list(edges),
        edge_numbers={each: number for number, each in enumerate(edges)},
        relations=claims,
        confidence=confidence,
        source=source,
        target=target,
        edge_spans=_spans([edge.span for edge in claims], agents),
        missing=frozenset(ends - numbers.keys()),
        loose=frozenset(relations.keys() - edges.keys()),
        agents=agents,
        first=first,
        ways=ways,
        ends=others,
    )


def _sorted_edges(
    relations: Mapping[str, Relation], numbers: Mapping[str, int]
) -> dict[str, Relation]:
    """The edges with both ends, those learned first first, then by their ends and their ids."""
    ids = [
        each
        for each, edge in relations.items()
        if edge.source in numbers and edge.target in numbers
    ]
    edges = [relations[each] for each in ids]
    keys = np.empty((4, len(ids)), dtype=np.int64)
    keys[0] = [int(each[:15], 16) for each in ids]
    keys[1] = [numbers[edge.target] for edge in edges]
    keys[2] = [numbers[edge.source] for edge in edges]
    keys[3] = [edge.span.known_us for edge in edges]
    return {ids[place]: edges[place] for place in np.lexsort(keys).tolist()}


def _ways(
    source: Ints, target: Ints, confidence: NDArray[np.float32], count: int
) -> tuple[NDArray[np.int64], Ints, Ints]:
    """The ways out of each entity, the surest first."""
    begins = np.concatenate([source, target])
    order = np.lexsort((-np.tile(confidence, 2), begins))
    edges = np.tile(np.arange(len(source), dtype=np.int32), 2)[order]
    first = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(np.bincount(begins, minlength=count), out=first[1:])
    return first, edges, np.concatenate([target, source])[order]


def _called(entities: Sequence[Entity]) -> tuple[dict[str, int], dict[Any, list[Borne]]]:
    called: dict[str, int] = {}
    bearers: dict[Any, list[Borne]] = {}
    names = [(each.name, number) for number, each in enumerate(entities)]
    aliases = [(alias, number) for number, each in enumerate(entities) for alias in each.aliases]
    for name, number in names + aliases:
        called.setdefault(same(name), number)
        if found := borne(name):
            bearers.setdefault(found.words, []).append(Borne(number, found.exactly))
    return called, bearers


def _coded(types: Sequence[_Types], codes: dict[_Types, int]) -> Ints:
    for each in set(types) - codes.keys():
        codes[each] = len(codes)
    return _ints(map(codes.__getitem__, types))


def _spans(spans: Sequence[Span], agents: dict[str, int]) -> Spans:
    whose = [each.agent for each in spans]
    codes: dict[str | None, int] = {None: -1}
    for name in set(whose) - {None}:
        codes[name] = agents.setdefault(str(name), len(agents))
    times = np.array([each[:4] for each in spans], dtype=np.int64).reshape(-1, 4).T.copy()
    return Spans(times[0], times[1], times[2], times[3], _ints(map(codes.__getitem__, whose)))


def _ints(values: Iterable[int]) -> Ints:
    return np.fromiter(values, dtype=np.int32)


def _span(record: Record) -> Span:
    return Span(
        _us(record.valid_from),
        FOREVER_US if record.valid_to is None else _us(record.valid_to),
        _us(record.known_from),
        FOREVER_US if record.known_to is None else _us(record.known_to),
        record.agent,
    )


def moment(us: int) -> datetime | None:
    """A time of a span; None for the end of what has none."""
    return None if us == FOREVER_US else _EPOCH + timedelta(microseconds=us)


def _us(moment: datetime) -> int:
    return round(moment.timestamp() * 1_000_000)
