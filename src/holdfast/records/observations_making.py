"""From entities, relations and observations to the records of one call: what is known, what is new.

Ids follow from names, so that writing twice is harmless.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from holdfast.errors import NotFound, TooLarge
from holdfast.language.vocabulary import entity_type, relation_type, sentence
from holdfast.records import parts
from holdfast.records.graph.elements import Entity
from holdfast.records.observations_values import Added, Link, Observed
from holdfast.store.base import Derived, Store
from holdfast.types import Scope

KIND = "observation"
TIER = "graph"
_TICK = timedelta(microseconds=1)
#: A memory has a text: this one stands for an observation that has none.
_BLANK = "(empty)"
#: What one call may store.
MOST_RECORDS = 20_000


@dataclass(slots=True)
class Seen:
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


class Making:
    """The records of one call, worked out before anything is stored."""

    def __init__(self, store: Store, scope: Scope, seen: Seen, now: datetime, origin: str) -> None:
        self.records: list[Derived] = []
        self._store = store
        self._scope = scope
        self._seen = seen
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
