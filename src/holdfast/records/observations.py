"""Entities with what was observed of them, to the letter: the graph as MCP clients know it.

Entities and relations are those of the graph, so what conversations told is there as well. What is
written here keeps its spelling: names count with their case ("Bob" and "bob" are two), types are
kept as given, and a relation may name an entity that nobody made yet. Each observation is a record
of its own: searched like every memory, and deleted by its exact text.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any

from holdfast.border import validate
from holdfast.errors import InvalidInput, NotFound, TooLarge
from holdfast.language.vocabulary import entity_type, relation_type, sentence
from holdfast.records import parts
from holdfast.records.graph.adjacency import Entity, Span, us
from holdfast.records.graph.follow import Graphs
from holdfast.records.parts import Background
from holdfast.records.versions import attempts, once
from holdfast.store.protocols import Derived, Store
from holdfast.types import Record, Scope

# ----------------------------------------------------------------------
# What is observed of entities, as values, and what a caller may send of them.
# ----------------------------------------------------------------------

MOST_ENTITIES = 1_000
MOST_RELATIONS = 5_000
MOST_OBSERVATIONS = 5_000
MOST_NAMES = 5_000
QUERY_CHARS = 8_000
_NAME_CHARS = 500
_TYPE_CHARS = 200
_OBSERVATION_CHARS = 16_000


@dataclass(frozen=True, slots=True)
class Observed:
    """An entity and what was observed of it, in the order in which it was."""

    name: str
    type: str
    observations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Link:
    """A relation between two names."""

    source: str
    type: str
    target: str


@dataclass(frozen=True, slots=True)
class Known:
    """Entities and relations, those learned first first."""

    entities: tuple[Observed, ...] = ()
    relations: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True)
class Added:
    """What was new of the observations of one entity."""

    entity: str
    observations: tuple[str, ...]


def things(sent: object) -> list[Observed]:
    """The entities of one call."""
    fields = ("name", "type", "observations")
    return [
        Observed(
            exact(each.get("name"), f"{place}.name", _NAME_CHARS),
            exact(each.get("type"), f"{place}.type", _TYPE_CHARS),
            _texts(each.get("observations", ()), f"{place}.observations"),
        )
        for place, each in _each(sent, "entities", fields, MOST_ENTITIES)
    ]


def links(sent: object) -> list[Link]:
    """The relations of one call."""
    fields = ("source", "type", "target")
    return [
        Link(
            exact(each.get("source"), f"{place}.source", _NAME_CHARS),
            exact(each.get("type"), f"{place}.type", _TYPE_CHARS),
            exact(each.get("target"), f"{place}.target", _NAME_CHARS),
        )
        for place, each in _each(sent, "relations", fields, MOST_RELATIONS)
    ]


def contents(sent: object, name: str) -> list[tuple[str, tuple[str, ...]]]:
    """Names of entities, each with texts."""
    fields = ("entity", "contents")
    return [
        (
            exact(each.get("entity"), f"{place}.entity", _NAME_CHARS),
            _texts(each.get("contents"), f"{place}.contents"),
        )
        for place, each in _each(sent, name, fields, MOST_ENTITIES)
    ]


def _each(
    sent: object, name: str, fields: Sequence[str], most: int
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, each in enumerate(_list(sent, name, most)):
        place = f"{name}[{number}]"
        if not isinstance(each, Mapping):
            raise InvalidInput(f"{place} must be a mapping", field=place)
        for given in each:
            if given not in fields:
                shown = validate.storable(str(given)[:64], place, [])
                raise InvalidInput(
                    f"{place}.{shown} is not a field; known: {', '.join(fields)}", field=place
                )
        yield place, each


def _list(sent: object, name: str, most: int) -> Sequence[Any]:
    if not isinstance(sent, Sequence) or isinstance(sent, str | bytes | bytearray):
        raise InvalidInput(f"{name} must be a list", field=name)
    if len(sent) > most:
        raise TooLarge(f"{name} are {len(sent)}, the limit is {most}", field=name)
    return sent


def names_of(sent: object, name: str) -> frozenset[str]:
    """Names of entities."""
    listed = _list(sent, name, MOST_NAMES)
    return frozenset(exact(e, f"{name}[{i}]", _NAME_CHARS) for i, e in enumerate(listed))


def _texts(sent: object, name: str) -> tuple[str, ...]:
    listed = _list(sent, name, MOST_OBSERVATIONS)
    return tuple(exact(e, f"{name}[{i}]", _OBSERVATION_CHARS) for i, e in enumerate(listed))


def exact(value: object, name: str, most: int) -> str:
    """A text as it was given, spaces and all; it may be empty."""
    if not isinstance(value, str):
        kind = "nothing" if value is None else value.__class__.__name__
        raise InvalidInput(f"{name} must be a text, not {kind}", field=name)
    if len(value) > most:
        raise TooLarge(f"{name} has {len(value)} characters, the limit is {most}", field=name)
    return validate.storable(value, name, [])


def receipt_text(new: Known | Sequence[Added]) -> str:
    """What was new as a text, to be told again."""
    return json.dumps(asdict(new) if isinstance(new, Known) else [asdict(each) for each in new])


def known_before(text: str) -> Known:
    """What was new when it was created, as it was noted."""
    told = json.loads(text)
    return Known(
        tuple(Observed(e["name"], e["type"], tuple(e["observations"])) for e in told["entities"]),
        tuple(Link(**each) for each in told["relations"]),
    )


def added_before(text: str) -> list[Added]:
    """What was new when it was added, as it was noted."""
    return [Added(each["entity"], tuple(each["observations"])) for each in json.loads(text)]


# ----------------------------------------------------------------------
# From entities, relations and observations to the records of one call: what is known, what is
# new.
#
# Ids follow from names, so that writing twice is harmless.
# ----------------------------------------------------------------------

KIND = "observation"
TIER = "graph"
_TICK = timedelta(microseconds=1)
#: A memory has a text: this one stands for an observation that has none.
_BLANK = "(empty)"
#: What one call may store.
MOST_RECORDS = 20_000


@dataclass(slots=True)
class VisibleGraph:
    """What an asker sees of a graph, by the names that are shown."""

    #: Every entity by its id; by its name the one that is meant: rather written than heard.
    entities: dict[str, Entity] = field(default_factory=dict)
    named: dict[str, str] = field(default_factory=dict)
    relations: dict[str, Link] = field(default_factory=dict)

    def take(self, id: str, entity: Entity) -> None:
        """One more entity, younger than those before."""
        self.entities[id] = entity
        meant = self.named.setdefault(entity.name, id)
        if self.entities[meant].heard and not entity.heard:
            self.named[entity.name] = id

    def called(self, names: Collection[str]) -> list[str]:
        """The ids of all that bear one of these names."""
        return [id for id, each in self.entities.items() if each.name in names]


class ObservationPlan:
    """The records of one call, worked out before anything is stored."""

    def __init__(
        self, store: Store, scope: Scope, seen: VisibleGraph, now: datetime, origin: str
    ) -> None:
        self.records: list[Derived] = []
        self._store = store
        self._scope = scope
        self._seen = seen
        self.now = now
        self._at = now - _TICK * MOST_RECORDS
        self._origin = origin
        self._ids: dict[str, str] = {}
        self._told: dict[str, set[str]] = {}

    def entities(self, things: Sequence[Observed]) -> tuple[Observed, ...]:
        """Those that do not exist yet, with their observations."""
        made = []
        for each in things:
            known = self._seen.named.get(each.name)
            if each.name in self._ids or (known and not self._seen.entities[known].heard):
                continue
            id = self._ids[each.name] = known or self._free("exact entity", each.name)
            heard = self._seen.entities[known] if known else None
            self._entity(id, each, heard)
            added = self._observed(id, each.name, each.observations, ())
            made.append(Observed(each.name, each.type, added))
        return tuple(made)

    def relations(self, links: Sequence[Link]) -> tuple[Link, ...]:
        """Those that do not exist yet."""
        known = set(self._seen.relations.values())
        new = tuple(each for each in dict.fromkeys(links) if each not in known)
        for each in new:
            self._relation(each)
        return new

    def observations(
        self, name: str, texts: Sequence[str], known: Mapping[str, Mapping[str, str]]
    ) -> Added:
        """What is new of the observations of an entity that exists."""
        id = self._seen.named.get(name)
        if id is None:
            raise NotFound(f"Entity with name {name} not found")
        return Added(name, self._observed(id, name, texts, known.get(id, ())))

    def _observed(
        self, id: str, name: str, texts: Sequence[str], known: Collection[str]
    ) -> tuple[str, ...]:
        told = self._told.setdefault(id, set(known))
        new = tuple(each for each in dict.fromkeys(texts) if each not in told)
        told.update(new)
        for text in new:
            data = {"entity": id} if text.strip() else {"entity": id, "text": text}
            content = text if text.strip() else _BLANK
            self._add(self._free(KIND, id, text), KIND, content, data, name=name)
        return new

    def _add(self, id: str, kind: str, content: str, data: Mapping[str, Any], **more: Any) -> None:
        if len(self.records) == MOST_RECORDS:
            raise TooLarge(f"one call stores at most {MOST_RECORDS} memories")
        # Each a tick after the one before, and none in the future.
        self._at += _TICK
        self.records.append(
            parts.derived(
                id, TIER, kind, content, origin=self._origin, at=self._at, data=data, **more
            )
        )

    def _entity(self, id: str, thing: Observed, heard: Entity | None) -> None:
        type, _ = entity_type(thing.type)
        data: dict[str, Any] = {"name": thing.name, "type": type}
        if thing.type != type:
            data["subtype"] = thing.type
        data |= {
            "aliases": [*heard.aliases] if heard else [],
            "summary": heard.summary if heard else "",
        }
        self._add(id, "entity", f"{thing.name} ({thing.type})", data)

    def _relation(self, link: Link) -> None:
        type, _ = relation_type(link.type)
        source, target = self._end(link.source), self._end(link.target)
        data = {"source": source, "target": target, "type": type}
        if link.type != type:
            data["original"] = link.type
        # The names as well: an end need not be there.
        data |= {"from": link.source, "to": link.target}
        content = sentence(link.source, type, data.get("original"), link.target)
        self._add(
            self._free("exact relation", source, link.type, target), "relation", content, data
        )

    def _end(self, name: str) -> str:
        if name not in self._ids:
            known = self._seen.named.get(name)
            self._ids[name] = known or self._free("exact entity", name)
        return self._ids[name]

    def _free(self, *what: str) -> str:
        # Of each agent its own: an id tells nobody that another has the same.
        return parts.free_id(self._store, self._scope, *what, self._scope.agent or "")[0]


class Observations(parts.Tier):
    """The observations of a memory. Threads may share it."""

    name = TIER

    def __init__(
        self, store: Store, graphs: Graphs, worker: Background, *, now: Callable[[], datetime]
    ) -> None:
        super().__init__(store, worker, now=now)
        self._graphs = graphs
        self._writing = threading.Lock()

    def create(
        self,
        entities: Sequence[Mapping[str, Any]] = (),
        relations: Sequence[Mapping[str, Any]] = (),
        *,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
        origin: str = "agent",
        key: str | None = None,
    ) -> Known:
        """Store entities (name, type, observations) and relations (source, type, target); those
        that are new. A name that exists is left as it is; one that was only heard of is taken over.

        A retry under the same `key` tells what was new the first time.
        """
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        new_things, new_links = things(entities), links(relations)
        sent: dict[str, Any] = {"entities": entities, "relations": relations, "origin": origin}
        with self._writing:
            for since in attempts(self._store, scope):
                new = self._plan(scope, origin)
                made = Known(new.entities(new_things), new.relations(new_links))
                note: dict[str, Any] = {"note": receipt_text(made), "at": new.now, **sent}
                with once(self._store, scope, key, "observations.create", **note) as before:
                    if before is not None:
                        return known_before(before)
                    if not new.records or self._put(scope, new.records, at=new.now, since=since):
                        break
        return made

    def add(
        self,
        observations: Sequence[Mapping[str, Any]],
        *,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
        origin: str = "agent",
        key: str | None = None,
    ) -> list[Added]:
        """Store observations (entity, contents) of entities that exist; for each what was new.

        All or nothing: NotFound names an entity that does not exist. A retry under the same `key`
        tells what was new the first time.
        """
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        told = contents(observations, "observations")
        sent: dict[str, Any] = {"observations": observations, "origin": origin}
        with self._writing:
            for since in attempts(self._store, scope):
                new, known = self._plan(scope, origin), self._texts(scope)
                added = [new.observations(name, texts, known) for name, texts in told]
                note: dict[str, Any] = {"note": receipt_text(added), "at": new.now, **sent}
                with once(self._store, scope, key, "observations.add", **note) as before:
                    if before is not None:
                        return added_before(before)
                    if not new.records or self._put(scope, new.records, at=new.now, since=since):
                        break
        return added

    def delete(
        self,
        entities: Sequence[str] = (),
        observations: Sequence[Mapping[str, Any]] = (),
        relations: Sequence[Mapping[str, Any]] = (),
        *,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
    ) -> int:
        """Forget entities with all that hangs on them, observations (entity, contents) by their
        exact text, relations (source, type, target); how many memories. Unknown ones are passed
        over. Restorable for 30 days, as everything that is forgotten."""
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        called = names_of(entities, "entities")
        told, cut = contents(observations, "observations"), set(links(relations))
        with self._writing:
            seen, known = self._seen(scope), self._texts(scope)
            gone = [
                id
                for id, link in seen.relations.items()
                if link in cut or link.source in called or link.target in called
            ]
            ends = seen.called(called)
            gone += [id for end in ends for id in known.get(end, {}).values()]
            for name, texts in told:
                for end in seen.called([name]):
                    gone += [id for text, id in known.get(end, {}).items() if text in texts]
            # The entity last: what fails half way can be asked for again.
            return sum(self._forgotten(scope, each) for each in dict.fromkeys(gone + ends))

    def read(
        self,
        *,
        query: str | None = None,
        names: Sequence[str] | None = None,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
    ) -> Known:
        """The whole graph; or the entities whose name, type or observations hold the query,
        whatever their case; or those with these names; and the relations that touch them."""
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        wanted = None if names is None else names_of(names, "names")
        part = None if query is None else exact(query, "query", QUERY_CHARS).lower()
        seen, known = self._seen(scope), self._texts(scope)
        found = [
            each
            for each in _group_by_name(seen, known)
            if (wanted is None or each.name in wanted) and (part is None or _holds(each, part))
        ]
        kept = {each.name for each in found}
        is_all = wanted is None and part is None
        near = [e for e in seen.relations.values() if is_all or {e.source, e.target} & kept]
        return Known(tuple(found), tuple(dict.fromkeys(near)))

    # Inside

    def _plan(self, scope: Scope, origin: str) -> ObservationPlan:
        whose = parts.origin(origin)
        return ObservationPlan(self._store, scope, self._seen(scope), self._now(), whose)

    def _seen(self, scope: Scope) -> VisibleGraph:
        graph, seen = self._graphs.of(scope), VisibleGraph()
        there = {id: each for id, each in graph.records.items() if _is_open(each.span, scope)}
        for id in sorted(there, key=lambda each: _age(there[each].span)):
            seen.take(id, there[id])
        links: list[tuple[tuple[int, int], str, Link]] = []
        for id, edge in zip(graph.edge_ids, graph.relations, strict=True):
            if _is_open(edge.span, scope):
                ends = [graph.records[each].name for each in (edge.source, edge.target)]
                link = Link(ends[0], _first(edge.original, edge.type), ends[1])
                links.append((_age(edge.span), id, link))
        for record in parts.seen(self._store.get(scope, sorted(graph.loose)), scope):
            dangling = _dangling(record)
            if record.known_to is None and dangling is not None:
                links.append(((us(record.known_from), us(record.valid_from)), record.id, dangling))
        seen.relations = {id: link for _, id, link in sorted(links, key=lambda each: each[:2])}
        return seen

    def _texts(self, scope: Scope) -> dict[str, dict[str, str]]:
        """By entity the texts of its observations, each with its id."""
        found: dict[str, dict[str, str]] = {}
        listed = parts.seen(self._store.listed(scope, tier=TIER, kind=KIND), scope)
        for each in sorted(listed, key=_moment):
            text = str(each.data.get("text", each.content))
            found.setdefault(str(each.data.get("entity")), {})[text] = each.id
        return found

    def _forgotten(self, scope: Scope, id: str) -> bool:
        return bool(self._store.forget(scope, [id], at=self._now()))


def _is_open(span: Span, scope: Scope) -> bool:
    return span.is_open and (scope.agent is None or span.agent in (None, scope.agent))


def _age(span: Span) -> tuple[int, int]:
    """Those of one call have one known time: in which order they came, their beginnings tell."""
    return span.known_us, span.from_us


def _moment(record: Record) -> tuple[datetime, datetime]:
    return record.known_from, record.valid_from


def _group_by_name(seen: VisibleGraph, known: Mapping[str, Mapping[str, str]]) -> list[Observed]:
    """Each name once, with what was observed of all that bear it."""
    found: dict[str, tuple[str, dict[str, None]]] = {}
    for id, each in seen.entities.items():
        main = seen.entities[seen.named[each.name]]
        _, texts = found.setdefault(each.name, (_first(main.subtype, main.type), {}))
        texts.update(dict.fromkeys(known.get(id, ())))
    return [Observed(name, type, tuple(texts)) for name, (type, texts) in found.items()]


def _first(given: str | None, nearest: str) -> str:
    """A type as it was given: that may be an empty text."""
    return nearest if given is None else given


def _holds(each: Observed, part: str) -> bool:
    return any(part in text.lower() for text in (each.name, each.type, *each.observations))


def _dangling(record: Record) -> Link | None:
    """A relation whose ends are not both there, if it says what they are called."""
    source, target = record.data.get("from"), record.data.get("to")
    type = record.data.get("original", record.data.get("type"))
    if isinstance(source, str) and isinstance(target, str) and isinstance(type, str):
        return Link(source, type, target)
    return None
