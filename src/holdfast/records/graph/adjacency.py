"""A graph in memory: what its records say, who is one with whom, who is next to whom as arrays.

Entities and edges are numbered from 0. The ways out of entity i are `ways[first[i]:first[i + 1]]`;
an edge is a way out of both of its ends. Entities that a merge takes for one have one number.
This module knows nothing about stores.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.border.validate import least
from holdfast.language.names import Bearers, Borne, same, spoken_form
from holdfast.language.vocabulary import ANY_ENTITY, ENTITY_TYPES, RELATION_TYPES, key
from holdfast.settings import DECAY, Decay
from holdfast.store.protocols import FOREVER_US, is_heard
from holdfast.types import Record

# ----------------------------------------------------------------------
# What the records say: entities, relations, merges. Nothing here is joined yet.
# ----------------------------------------------------------------------

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
        _span_of(record),
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
        _span_of(record),
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
    return Merging(a, b, sure, _texts(record.data.get("evidence")), _span_of(record))


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


def _span_of(record: Record) -> Span:
    return Span(
        us(record.valid_from),
        FOREVER_US if record.valid_to is None else us(record.valid_to),
        us(record.known_from),
        FOREVER_US if record.known_to is None else us(record.known_to),
        record.agent,
    )


# ----------------------------------------------------------------------
# How present entities and edges still are: arithmetic on when they were last seen.
#
# Nothing is deleted by fading, and no job does it: asked twice, late or never, the answer is the
# same. Time counts from when something was learned or seen again, never from when it happened:
# imported history is not born faded. What was touched, which is used in a context or judged, has
# a strength of its own from that moment on (`full`); being heard again begins a new life.
# ----------------------------------------------------------------------

DAY_US = 86_400_000_000
#: An entity at first sight, and what each further turn that speaks of it adds.
#: The seed's, as all numbers of fading (docs/decisions/0011); those of `Decay` are settings.
_FIRST, _MORE = 0.5, 0.10
#: An entity of less strength leaves the live graph.
GONE = 0.01

#: Days that no time of ours is away from another.
_AGES = 1_000_000.0

Times = NDArray[np.int64]


def entity_birth(turns: int) -> float:
    """The strength of an entity that so many turns speak of, when the last of them came."""
    return min(1.0, _FIRST + _MORE * max(0, turns - 1))


def strengthened(before: Record, turns: int, now: datetime, *, decay: Decay) -> float | None:
    """What an entity is when somebody writes it again: a step stronger than it was; None where
    that is no more than what the turns that speak of it make it."""
    seen = us(before.seen_at or before.known_from)
    own = of_entity(len(before.sources), seen, us(now), before.strength, decay=decay)
    return min(1.0, own + _MORE) if own + _MORE > entity_birth(turns) else None


def entity_births(turns: NDArray[np.int64]) -> NDArray[np.float64]:
    """The same for many."""
    return np.minimum(1.0, _FIRST + _MORE * np.maximum(0, turns - 1))


def of_entity(
    turns: int, seen_us: int, now_us: int, full: float | None = None, *, decay: Decay = DECAY
) -> float:
    """The strength of an entity that so many turns speak of: it fades once a day has passed
    without one."""
    begun = entity_birth(turns) if full is None else full
    left = decay.stale_factor if decay.enabled else 1.0
    return begun * math.pow(left, max(0.0, (now_us - seen_us) / DAY_US - 1))


def of_edge(seen_us: int, now_us: int, full: float | None = None, *, decay: Decay = DECAY) -> float:
    """The strength of an edge."""
    days = max(0, now_us - seen_us) / DAY_US if decay.enabled else 0
    return (1.0 if full is None else full) * math.pow(0.5, days / decay.half_life_days)


def edges_until(seen_us: Times, full: NDArray[np.float64], *, decay: Decay = DECAY) -> Times:
    """Until when edges are walked; `full` is what each was at its time."""
    if not decay.enabled:
        return _after(seen_us, np.where(full < decay.minimum_weight, -np.inf, np.inf))
    with np.errstate(divide="ignore", invalid="ignore"):
        days = decay.half_life_days * np.log2(full / decay.minimum_weight)
    return _after(seen_us, days)


def entities_until(seen_us: Times, full: NDArray[np.float64], *, decay: Decay = DECAY) -> Times:
    """Until when entities are in the live graph; `full` is what each was at its time."""
    lost = -math.log(decay.stale_factor) if decay.enabled else 0.0
    with np.errstate(divide="ignore"):
        days = 1.0 + np.log(full / GONE) / lost if lost else np.full(len(full), np.inf)
    return _after(seen_us, np.where(full < GONE, -np.inf, days))


def _after(seen_us: Times, days: NDArray[np.float64]) -> Times:
    """So many days after some times; what was never strong enough never was there, and what never
    fades (nor is compared with 0) always is."""
    past, always = days < 0, ~(days < _AGES)
    moved = np.round(np.where(past | always, 0.0, days) * DAY_US).astype(np.int64)
    return np.where(past, -FOREVER_US, np.where(always, FOREVER_US, seen_us + moved))


# ----------------------------------------------------------------------
# Entities that are taken for one: who belongs together, and what is shown of them.
#
# A merge changes no record. It is here that its two entities become one, in memory alone; so a
# merge that is undone leaves nothing behind.
# ----------------------------------------------------------------------


def roots(merges: Iterable[Merging], known: Collection[str]) -> dict[str, str]:
    """For each entity that is one with others, the one that stands for all of them.

    A merge counts while no end of it is known and both of its entities are there.
    """
    parent: dict[str, str] = {}

    def root(each: str) -> str:
        while parent.setdefault(each, each) != each:
            parent[each] = parent[parent[each]]
            each = parent[each]
        return each

    for merge in merges:
        if merge.span.is_open and merge.a in known and merge.b in known:
            low, high = sorted((root(merge.a), root(merge.b)))
            parent[high] = low
    return {each: root(each) for each in parent}


def merge_groups(
    things: Mapping[str, Entity], merges: Iterable[Merging]
) -> tuple[dict[str, list[str]], dict[str, str]]:
    """The members of each joined entity by its root, in the order of `things`; and the roots."""
    root = roots(merges, things.keys())
    groups: dict[str, list[str]] = {}
    if root:
        for each in things:
            if each in root:
                groups.setdefault(root[each], []).append(each)
    return groups, root


def fullness(name: str) -> tuple[int, int]:
    """How much of a name there is: of several, the fullest is shown."""
    return len(name.split()), len(name)


def fullest(members: Sequence[tuple[str, Entity]]) -> str:
    """The id of the member that is shown: the fullest name, then the one learned first."""
    best = min(
        members,
        key=lambda pair: ([-n for n in fullness(pair[1].name)], pair[1].span.known_us, pair[0]),
    )
    return best[0]


def merged_entity(members: Sequence[tuple[str, Entity]]) -> tuple[str, Entity]:
    """What is shown of several entities that are one, those learned first first; and its id."""
    shown = fullest(members)
    each = [entity for _, entity in members]
    own = dict(members)[shown]
    typed = [e for e in each if e.type != ANY_ENTITY] or [e for e in each if e.subtype] or [own]
    names: dict[str, str] = {}
    for entity in each:
        for name in (entity.name, *entity.aliases):
            names.setdefault(same(name), name)
    names.pop(same(own.name))
    return shown, Entity(
        name=own.name,
        type=typed[0].type,
        subtype=typed[0].subtype,
        aliases=tuple(names.values()),
        summary=own.summary or next((e.summary for e in each if e.summary), ""),
        confidence=max(e.confidence for e in each),
        origin=least([e.origin for e in each]),
        span=_joined_span([e.span for e in each]),
        importance=max(e.importance for e in each),
        sources=tuple(dict.fromkeys(source for e in each for source in e.sources)),
        seen_us=max(e.seen_us for e in each),
        strength=max((e.strength for e in each if e.strength is not None), default=None),
    )


def _joined_span(spans: Sequence[Span]) -> Span:
    """From the first beginning to the last end; what several agents told is nobody's own."""
    agents = {span.agent for span in spans}
    return Span(
        min(span.from_us for span in spans),
        max(span.until_us for span in spans),
        min(span.known_us for span in spans),
        max(span.known_until_us for span in spans),
        agents.pop() if len(agents) == 1 else None,
    )


# ----------------------------------------------------------------------
# The arrays.
# ----------------------------------------------------------------------

Ints = NDArray[np.int32]
#: A type of ours, and the one that was given.
_Types = tuple[str, str | None]
_NO_MERGES: Mapping[str, Merging] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class When:
    """Which time is asked about, and by whom."""

    now: datetime
    as_of: datetime | None = None
    known_at: datetime | None = None
    #: The code of the agent that asks; None = everything of the user.
    agent: int | None = None
    #: What has faded is wanted, too.
    faded: bool = False


@dataclass(frozen=True, slots=True)
class Spans:
    """The spans of many records."""

    from_us: NDArray[np.int64]
    until_us: NDArray[np.int64]
    known_us: NDArray[np.int64]
    known_until_us: NDArray[np.int64]
    agents: NDArray[np.int32]
    #: Until when they are present, and until when they were had they never been seen again.
    present_us: Times
    born_us: Times

    def open(self, when: When) -> NDArray[np.bool_]:
        """Those that the asker can know of, that had not ended, begun or not, and not faded. The
        same rules as for every memory, see recall/candidates.py."""
        ended: NDArray[np.bool_] = self.until_us <= us(when.as_of or when.now)
        was_known = self.known_until_us <= us(when.known_at or when.now)
        if when.as_of is None:
            ended = was_known if when.known_at is not None else ended | was_known
        elif when.known_at is not None:
            ended &= was_known | (self.known_until_us == FOREVER_US)
        seen = ~ended
        if when.known_at is not None:
            seen &= self.known_us <= us(when.known_at)
        if when.agent is not None:
            seen &= (self.agents == when.agent) | (self.agents == -1)
        return seen if when.faded else seen & self._present(when)

    def _present(self, when: When) -> NDArray[np.bool_]:
        """What was seen after `known_at` was not known then: only births count, so that the same
        question has the same answer."""
        if when.known_at is not None:
            return self.born_us >= us(when.known_at)
        return self.present_us >= us(when.as_of or when.now)

    def begun(self, when: When) -> NDArray[np.bool_]:
        """Those that held already at `as_of`."""
        if when.as_of is None:
            return np.ones(len(self.from_us), dtype=np.bool_)
        return self.from_us <= us(when.as_of)


@dataclass(frozen=True, slots=True)
class Adjacency:
    """One owner's graph at one moment.

    Merges count as they are now, whatever time is asked about and whoever asks: who two names stand
    for is no matter of the time that a question is about.
    """

    #: Id of an entity, joined or not, -> its number; by number the id and what is shown of it.
    numbers: Mapping[str, int]
    ids: Sequence[str]
    entities: Sequence[Entity]
    #: Each entity by itself, by id, and all merges, undone ones too.
    records: Mapping[str, Entity]
    merges: Mapping[str, Merging]
    #: By number the ids of several that are one, those learned first first.
    members: Mapping[int, Sequence[str]]
    #: A name or alias as it is compared -> the id that bears it; names before aliases, then the
    #: elder.
    called: Mapping[str, str]
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
    #: Equal for edges that say the same since their ends were joined, -1 for all others; None when
    #: nothing is joined.
    twins: Ints | None
    #: Ids that edges name but that are no entities (any more), and the ids of those edges.
    missing: frozenset[str]
    loose: frozenset[str]
    agents: Mapping[str, int]
    first: NDArray[np.int64]
    #: The edges out of each entity, and the entities they lead to.
    ways: Ints
    ends: Ints
    #: What searches keep with a graph and hand on to the next one.
    kept: dict[str, Any] = field(default_factory=dict)
    #: How it fades.
    decay: Decay = DECAY

    def heard_in(self, turns: Iterable[str]) -> list[str]:
        """The ids of entities that nobody wrote down, and that were heard in one of these turns."""
        records, by_turn = self.kept.get("heard in", (None, {}))
        if records is not self.records:
            by_turn = {}
            for id, each in self.records.items():
                for turn in each.sources if each.heard else ():
                    by_turn.setdefault(turn, []).append(id)
            self.kept["heard in"] = (self.records, by_turn)
        return list(dict.fromkeys(id for turn in turns for id in by_turn.get(turn, ())))

    def find(self, name: str) -> int | None:
        """The entity with this name, alias or id."""
        found = self.id_named(name)
        return None if found is None else self.numbers[found]

    def id_named(self, name: str) -> str | None:
        """The id that bears this name or alias, or is it; of a joined entity that of the member."""
        return self.called.get(same(name)) or (name if name in self.numbers else None)

    def shown_id(self, id: str) -> str:
        """The id under which an entity is shown."""
        return self.ids[self.numbers[id]] if id in self.numbers else id

    def is_open(self, edge: int) -> bool:
        """Whether no end of an edge is known."""
        return self.relations[edge].span.is_open

    def held(self, when: When, *, faded: bool = False) -> NDArray[np.bool_]:
        """The edges that the asker can know of and that held then; `faded` ones only if wanted."""
        asked = replace(when, faded=faded or when.faded)
        return self.edge_spans.open(asked) & self.edge_spans.begun(when)

    def typed(self, codes: Ints, wanted: frozenset[str] | None) -> NDArray[np.bool_] | None:
        """Which of them have one of the types; None = all."""
        if wanted is None:
            return None
        has = [type in wanted or key(given or "") in wanted for type, given in self.type_pairs]
        return np.array([*has, False])[codes]

    def agent(self, name: str | None) -> int | None:
        """The code of an agent; -2, which nobody has, for one that wrote nothing."""
        return None if name is None else self.agents.get(name, -2)


def adjacency(
    entities: Mapping[str, Entity],
    relations: Mapping[str, Relation],
    merges: Mapping[str, Merging] = _NO_MERGES,
    *,
    decay: Decay = DECAY,
) -> Adjacency:
    """The arrays of a graph. Edges without both ends are left out. The numbers do not depend on the
    order of what is given."""
    records = _by_age(entities)
    people = _join_entities(records, merges)
    ids, claims, source, target = _edges(relations, people.numbers)
    agents: dict[str, int] = {}
    codes: dict[_Types, int] = {}
    confidence = np.array([edge.confidence for edge in claims], dtype=np.float32)
    entity_types = _type_codes([(each.type, each.subtype) for each in people.shown], codes)
    edge_types = _type_codes([(edge.type, edge.original) for edge in claims], codes)
    loops = _made_loops(people, source, target, claims)
    first, ways, ends = _ways(source, target, confidence, len(people.ids), loops)
    called, bearers = _names_of(records, people.numbers)
    edge_numbers = dict(zip(ids, range(len(ids)), strict=True))
    loose, missing = _loose(relations, edge_numbers, people.numbers)
    edge_spans = _edge_spans(claims, agents, decay)
    return Adjacency(
        numbers=people.numbers,
        ids=people.ids,
        entities=people.shown,
        records=records,
        merges=merges,
        members=people.members,
        called=called,
        bearers=bearers,
        entity_spans=_entity_spans(people.shown, agents, edge_spans, (source, target), decay),
        entity_types=entity_types,
        edge_types=edge_types,
        type_pairs=list(codes),
        edge_ids=ids,
        edge_numbers=edge_numbers,
        relations=claims,
        confidence=confidence,
        source=source,
        target=target,
        edge_spans=edge_spans,
        twins=_twins(source, target, edge_types, codes) if people.members else None,
        missing=missing,
        loose=loose,
        agents=agents,
        first=first, ways=ways, ends=ends, decay=decay,
    )  # fmt: skip


def _by_age(entities: Mapping[str, Entity]) -> dict[str, Entity]:
    """Those learned first first, by name where several were learned at once."""
    return dict(sorted(entities.items(), key=lambda e: (e[1].span.known_us, e[1].name, e[0])))


def _loose(
    relations: Mapping[str, Relation], edges: Mapping[str, int], numbers: Mapping[str, int]
) -> tuple[frozenset[str], frozenset[str]]:
    """The relations that are no edges, and the ends they want."""
    if len(edges) == len(relations):
        return frozenset(), frozenset()
    loose = frozenset(relations.keys() - edges.keys())
    ends = {end for each in loose for end in (relations[each].source, relations[each].target)}
    return loose, frozenset(ends - numbers.keys())


class _JoinedEntities(NamedTuple):
    """Entities with one number for those that are one."""

    numbers: dict[str, int]
    ids: list[str]
    shown: list[Entity]
    members: dict[int, Sequence[str]]


def _join_entities(records: Mapping[str, Entity], merges: Mapping[str, Merging]) -> _JoinedEntities:
    groups, root = merge_groups(records, merges.values())
    if not groups:
        numbers = {each: number for number, each in enumerate(records)}
        return _JoinedEntities(numbers, list(records), list(records.values()), {})
    made = _JoinedEntities({}, [], [], {})
    for each, alone in records.items():
        if each in made.numbers:
            continue
        number, id, shown = len(made.ids), each, alone
        if each in root:
            members = groups[root[each]]
            made.members[number] = members
            made.numbers.update(dict.fromkeys(members, number))
            id, shown = merged_entity([(member, records[member]) for member in members])
        made.numbers[each] = number
        made.ids.append(id)
        made.shown.append(shown)
    return made


def _made_loops(
    people: _JoinedEntities, source: Ints, target: Ints, claims: Sequence[Relation]
) -> NDArray[np.bool_]:
    """Edges whose two ends became one: they say nothing any more and lead nowhere."""
    loops: NDArray[np.bool_] = source == target
    for edge in np.flatnonzero(loops).tolist() if people.members else ():
        loops[edge] = claims[edge].source != claims[edge].target
    return loops if people.members else np.zeros_like(loops)


def _twins(source: Ints, target: Ints, types: Ints, codes: Mapping[_Types, int]) -> Ints:
    said = {each: key(given or type) for (type, given), each in codes.items()}
    words = {word: number for number, word in enumerate(dict.fromkeys(said.values()))}
    word = np.array([words[said[each]] for each in range(len(codes))], dtype=np.int64)
    size = 1 + int(max(source.max(initial=0), target.max(initial=0)))
    claim = (source.astype(np.int64) * size + target) * len(words) + word[types]
    _, place, counts = np.unique(claim, return_inverse=True, return_counts=True)
    return np.where(counts[place] > 1, place, -1).astype(np.int32)


def _edges(
    relations: Mapping[str, Relation], numbers: Mapping[str, int]
) -> tuple[list[str], list[Relation], Ints, Ints]:
    """Ids, claims and ends of the edges with both ends: those learned first first, then by their
    ends and their ids."""
    ids, claims = list(relations), list(relations.values())
    source = _ints([numbers.get(edge.source, -1) for edge in claims])
    target = _ints([numbers.get(edge.target, -1) for edge in claims])
    known = np.array([edge.span.known_us for edge in claims], dtype=np.int64)
    # Ids are 32 hex digits: sixteen of them as two numbers sort as the texts do.
    digits = np.frombuffer("".join(ids).encode(), dtype=">u8").reshape(-1, 4)
    order = np.lexsort((digits[:, 1], digits[:, 0], target, source, known))
    order = order[(source[order] >= 0) & (target[order] >= 0)]
    places = order.tolist()
    return [ids[i] for i in places], [claims[i] for i in places], source[order], target[order]


def _ways(
    source: Ints,
    target: Ints,
    confidence: NDArray[np.float32],
    count: int,
    left_out: NDArray[np.bool_],
) -> tuple[NDArray[np.int64], Ints, Ints]:
    """The ways out of each entity, the surest first."""
    begins = np.concatenate([source, target])
    order = np.lexsort((-np.tile(confidence, 2), begins))
    if left_out.any():
        order = order[~np.tile(left_out, 2)[order]]
    edges = np.tile(np.arange(len(source), dtype=np.int32), 2)[order]
    first = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(np.bincount(begins[order], minlength=count), out=first[1:])
    return first, edges, np.concatenate([target, source])[order]


def _names_of(
    records: Mapping[str, Entity], numbers: Mapping[str, int]
) -> tuple[dict[str, str], dict[Any, list[Borne]]]:
    called: dict[str, str] = {}
    bearers: dict[Any, list[Borne]] = {}
    names = [(each.name, id) for id, each in records.items()]
    aliases = [(alias, id) for id, each in records.items() for alias in each.aliases]
    for name, id in names + aliases:
        called.setdefault(same(name), id)
        if found := spoken_form(name, heard=records[id].heard):
            bearers.setdefault(found.words, []).append(Borne(numbers[id], found.exactly))
    return called, bearers


def _type_codes(types: Sequence[_Types], codes: dict[_Types, int]) -> Ints:
    for each in set(types) - codes.keys():
        codes[each] = len(codes)
    return _ints(map(codes.__getitem__, types))


def _edge_spans(claims: Sequence[Relation], agents: dict[str, int], decay: Decay) -> Spans:
    spans = _spans([edge.span for edge in claims], agents)
    seen = np.array([edge.seen_us for edge in claims], dtype=np.int64)
    births = np.ones(len(claims))
    full = _full_strengths(births, [edge.strength for edge in claims])
    return replace(
        spans,
        present_us=edges_until(seen, full, decay=decay),
        born_us=edges_until(spans.known_us, births, decay=decay),
    )


def _full_strengths(
    births: NDArray[np.float64], touched: list[float | None]
) -> NDArray[np.float64]:
    """What each was when it was last seen: as it was born, or as a touch left it."""
    if touched.count(None) == len(touched):
        return births
    return np.array([b if t is None else t for b, t in zip(births, touched, strict=True)])


def _entity_spans(
    shown: Sequence[Entity],
    agents: dict[str, int],
    edges: Spans,
    ends: tuple[Ints, Ints],
    decay: Decay,
) -> Spans:
    """An entity is present as long as an edge of it is, whatever its own strength."""
    spans = _spans([each.span for each in shown], agents)
    seen = np.array([each.seen_us for each in shown], dtype=np.int64)
    births = entity_births(np.array([len(each.sources) for each in shown], dtype=np.int64))
    full = _full_strengths(births, [each.strength for each in shown])
    present = entities_until(seen, full, decay=decay)
    born = entities_until(spans.known_us, births, decay=decay)
    for end in ends:
        np.maximum.at(present, end, edges.present_us)
        np.maximum.at(born, end, edges.born_us)
    return replace(spans, present_us=present, born_us=born)


def _spans(spans: Sequence[Span], agents: dict[str, int]) -> Spans:
    whose = [each.agent for each in spans]
    codes: dict[str | None, int] = {None: -1}
    for name in set(whose) - {None}:
        codes[name] = agents.setdefault(str(name), len(agents))
    known = np.array([each.known_us for each in spans], dtype=np.int64)
    return Spans(
        np.array([each.from_us for each in spans], dtype=np.int64),
        np.array([each.until_us for each in spans], dtype=np.int64),
        known,
        np.array([each.known_until_us for each in spans], dtype=np.int64),
        _ints(map(codes.__getitem__, whose)),
        present_us=known,
        born_us=known,
    )


def _ints(values: Iterable[int]) -> Ints:
    return np.fromiter(values, dtype=np.int32)
