"""Entities with what was observed of them, to the letter: the graph as MCP clients know it.

Entities and relations are those of the graph, so what conversations told is there as well. What is
written here keeps its spelling: names count with their case ("Bob" and "bob" are two), types are
kept as given, and a relation may name an entity that nobody made yet. Each observation is a record
of its own: searched like every memory, and deleted by its exact text.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from holdfast.border import validate
from holdfast.errors import NotFound
from holdfast.records import parts
from holdfast.records.graph.elements import Span, us
from holdfast.records.graph.follow import Graphs
from holdfast.records.idempotency import once
from holdfast.records.observations_making import KIND, TIER, Making, Seen
from holdfast.records.observations_values import (
    QUERY_CHARS,
    Added,
    Known,
    Link,
    Observed,
    added_before,
    contents,
    exact,
    known_before,
    links,
    names_of,
    noted,
    things,
)
from holdfast.records.parts import Background
from holdfast.store.base import Derived, Store
from holdfast.types import Record, Scope


class Observations:
    """The observations of a memory. Threads may share it."""

    def __init__(
        self, store: Store, graphs: Graphs, worker: Background, *, now: Callable[[], datetime]
    ) -> None:
        self._store = store
        self._graphs = graphs
        self._worker = worker
        self._now = now
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
        whose = parts.origin(origin)
        with self._writing:
            for since in self._tries(scope):
                now = self._now()
                new = Making(self._store, scope, self._seen(scope), now, whose)
                made = Known(new.entities(new_things), new.relations(new_links))
                with once(
                    self._store, scope, key, "observations.create", note=noted(made), at=now,
                    entities=entities, relations=relations, origin=origin,
                ) as before:  # fmt: skip
                    if before is not None:
                        return known_before(before)
                    if self._stored(scope, new.records, since):
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
        whose = parts.origin(origin)
        with self._writing:
            for since in self._tries(scope):
                seen, known = self._seen(scope), self._texts(scope)
                now = self._now()
                new = Making(self._store, scope, seen, now, whose)
                added = [new.observations(name, texts, known) for name, texts in told]
                with once(
                    self._store, scope, key, "observations.add", note=noted(added), at=now,
                    observations=observations, origin=origin,
                ) as before:  # fmt: skip
                    if before is not None:
                        return added_before(before)
                    if self._stored(scope, new.records, since):
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
            for each in _observed(seen, known)
            if (wanted is None or each.name in wanted) and (part is None or _holds(each, part))
        ]
        kept = {each.name for each in found}
        is_all = wanted is None and part is None
        near = [e for e in seen.relations.values() if is_all or {e.source, e.target} & kept]
        return Known(tuple(found), tuple(dict.fromkeys(near)))

    # Inside

    def _tries(self, scope: Scope) -> Iterator[int | None]:
        for _ in range(parts.MOST_TRIES):
            yield self._store.head(scope).change
        yield None  # Ids follow from names: what two wrote at once is one.

    def _stored(self, scope: Scope, records: Sequence[Derived], since: int | None) -> bool:
        done = not records or self._store.put(
            scope, records, known_at=self._now(), steps=self._worker.steps, since=since
        )
        self._worker.wake()
        return done

    def _seen(self, scope: Scope) -> Seen:
        graph, seen = self._graphs.of(scope), Seen()
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
        try:
            return self._store.forget(scope, id, at=self._now())
        except NotFound:  # Somebody else was faster.
            return False


def _is_open(span: Span, scope: Scope) -> bool:
    return span.is_open and (scope.agent is None or span.agent in (None, scope.agent))


def _age(span: Span) -> tuple[int, int]:
    """Those of one call have one known time: in which order they came, their beginnings tell."""
    return span.known_us, span.from_us


def _moment(record: Record) -> tuple[datetime, datetime]:
    return record.known_from, record.valid_from


def _observed(seen: Seen, known: Mapping[str, Mapping[str, str]]) -> list[Observed]:
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
