"""From drafts to records: which entities and relations are known, which are new.

Two names are one entity when they are the same but for case, accents and spaces, or when one is an
alias of the other; nothing is merged by likeness here. Ids follow from names, so that writing twice
is harmless. What was forgotten is not brought back by writing it again: it begins anew, under an id
of its own, without the edges it once had.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from itertools import count
from typing import Any

from recollect.graph.adjacency import Adjacency, aliases
from recollect.graph.check import MOST_ALIASES, ORIGINS, EntityDraft, RelationDraft
from recollect.graph.names import same
from recollect.graph.vocabulary import ANY_ENTITY, Typed, key, sentence
from recollect.index.postings import packed
from recollect.store.base import Derived
from recollect.text import terms
from recollect.types import Record

_ID_BYTES = 16
#: How sure we are of what the caller gave no number for: what the user said, and the rest.
_SAID, _TOLD = 1.0, 0.8
#: Aliases that an entity may gather over time.
_MOST_GATHERED = 4 * MOST_ALIASES
_IMPORTANCE = 0.5
#: Who speaks in a record of this origin.
_ROLES = {"user": "user", "user_confirmed": "user", "agent": "assistant"}


@dataclass(slots=True)
class _Entity:
    """An entity as this call leaves it."""

    name: str
    type: Typed
    aliases: list[str]
    summary: str
    since: datetime
    before: Record | None = None


@dataclass(slots=True)
class _Relation:
    """A relation as this call leaves it."""

    source: str
    type: Typed
    target: str
    confidence: float
    #: When it began, if that was said.
    at: datetime | None
    before: Record | None = None


@dataclass(frozen=True, slots=True)
class Planned:
    """A record to store, and the one it is a new version of."""

    record: Derived
    before: Record | None


@dataclass(slots=True)
class Plan:
    """One call of `graph.write`, worked out before anything is stored."""

    graph: Adjacency
    #: The records with these ids, by id; forgotten ones are left out.
    read: Callable[[Sequence[str]], dict[str, Record]]
    #: Whether an id is taken by a record that was forgotten.
    hidden: Callable[[str], bool]
    now: datetime
    origin: str
    agent: str | None = None
    entities: dict[str, _Entity] = field(default_factory=dict)
    relations: dict[str, _Relation] = field(default_factory=dict)
    #: A name as it is compared -> the entity this call gave it to.
    _called: dict[str, str] = field(default_factory=dict)
    _known: dict[str, Record] = field(default_factory=dict)

    def add_entities(self, drafts: Sequence[EntityDraft]) -> list[str]:
        """The ids of these entities, in order."""
        called = [[same(name) for name in (draft.name, *draft.aliases)] for draft in drafts]
        found = {
            name: self.graph.called[name]
            for names in called
            for name in names
            if name in self.graph.called
        }
        self._known |= self.read([self.graph.ids[number] for number in set(found.values())])
        return [self._entity(draft, names) for draft, names in zip(drafts, called, strict=True)]

    def add_relations(self, drafts: Sequence[RelationDraft]) -> list[str]:
        """The ids of these relations, in order. An end that nobody knows becomes a concept."""
        ends = [
            (self._end(draft.source, draft), self._end(draft.target, draft)) for draft in drafts
        ]
        ids = [self._edge_id(*both, d) for both, d in zip(ends, drafts, strict=True)]
        known = self.read([each for each in set(ids) if each in self.graph.edge_numbers])
        for each, (source, target), draft in zip(ids, ends, drafts, strict=True):
            self._relation(each, source, target, draft, known.get(each))
        return ids

    def records(self) -> list[Planned]:
        """What is to be stored, entities first."""
        names = {each: entity.name for each, entity in self.entities.items()}

        def name(each: str) -> str:
            return names.get(each) or self.graph.entities[self.graph.numbers[each]].name

        made = [self._entity_record(*each) for each in self.entities.items()]
        for each, edge in self.relations.items():
            content = sentence(name(edge.source), *edge.type, name(edge.target))
            made.append(self._relation_record(each, edge, content))
        return made

    def _entity(self, draft: EntityDraft, called: Sequence[str]) -> str:
        each = self._resolved(called) or self._entity_id(called[0])
        entity = self.entities.get(each)
        if entity is None:
            entity = self.entities[each] = self._opened(draft, self._known.get(each))
        _join(entity, draft)
        for name in called:
            self._called.setdefault(name, each)
        return each

    def _resolved(self, called: Sequence[str]) -> str | None:
        """The entity that is called so, by its name, else by an alias."""
        for name in called:
            if name in self._called:
                return self._called[name]
            number = self.graph.called.get(name)
            # A record that vanished since is no longer known.
            if number is not None and self.graph.ids[number] in self._known:
                return self.graph.ids[number]
        return None

    def _opened(self, draft: EntityDraft, before: Record | None) -> _Entity:
        if before is None:
            return _Entity(draft.name, draft.type, [], "", self.now)
        data = before.data
        type = Typed(data["type"], data.get("subtype"))
        summary = str(data.get("summary", ""))
        return _Entity(
            data["name"], type, list(aliases(before)), summary, before.valid_from, before
        )

    def _end(self, name: str, draft: RelationDraft) -> str:
        """The entity at an end of a relation."""
        each = self._called.get(same(name))
        if each is None and (number := self.graph.find(name)) is not None:
            each = self.graph.ids[number]
        if each is None:
            each = self._entity(EntityDraft(name, Typed(ANY_ENTITY)), [same(name)])
        entity = self.entities.get(each)
        # What is new has been there as long as what is told of it.
        if entity is not None and entity.before is None and draft.at is not None:
            entity.since = min(entity.since, draft.at)
        return each

    def _relation(
        self, each: str, source: str, target: str, draft: RelationDraft, before: Record | None
    ) -> None:
        usual = _SAID if self.origin in ("user", "user_confirmed") else _TOLD
        sure = usual if draft.confidence is None else draft.confidence
        edge = self.relations.get(each)
        if edge is None:
            told = None if before is None else before.data.get("since")
            at = datetime.fromisoformat(told) if isinstance(told, str) else None
            floor = 0.0 if before is None else before.confidence
            edge = _Relation(source, draft.type, target, floor, at, before)
            self.relations[each] = edge
        edge.confidence = max(edge.confidence, sure)
        if draft.at is not None:
            edge.at = draft.at if edge.at is None else min(edge.at, draft.at)

    def _entity_id(self, called: str) -> str:
        ids = (_digest("entity", called, str(round)) for round in count())
        return next(
            each
            for each in ids
            if each not in self.entities
            and each not in self.graph.numbers
            and each not in self.graph.missing
            and not self.hidden(each)
        )

    def _edge_id(self, source: str, target: str, draft: RelationDraft) -> str:
        """The edge that says the same and has not ended, or a new one."""
        said = key(draft.type.original or draft.type.type)
        ids = (_digest("relation", source, said, target, str(round)) for round in count())
        return next(each for each in ids if self._is_free(each))

    def _is_free(self, each: str) -> bool:
        if each in self.relations:
            return True
        number = self.graph.edge_numbers.get(each)
        return not self.hidden(each) if number is None else self.graph.is_open(number)

    def _entity_record(self, each: str, entity: _Entity) -> Planned:
        data: dict[str, Any] = {"name": entity.name, "type": entity.type.type}
        if entity.type.original is not None:
            data["subtype"] = entity.type.original
        data |= {"aliases": entity.aliases, "summary": entity.summary}
        also = f", also {', '.join(entity.aliases)}" if entity.aliases else ""
        told = f": {entity.summary}" if entity.summary else ""
        content = f"{entity.name} ({entity.type.original or entity.type.type}){also}{told}"
        usual = _SAID if self.origin in ("user", "user_confirmed") else _TOLD
        sure = max(usual, entity.before.confidence if entity.before else 0.0)
        return self._planned(each, "entity", content, data, sure, entity.since, entity.before)

    def _relation_record(self, each: str, edge: _Relation, content: str) -> Planned:
        data: dict[str, Any] = {
            "source": edge.source,
            "target": edge.target,
            "type": edge.type.type,
        }
        if edge.type.original is not None:
            # One edge, however its type is spelled: the first spelling stays.
            old = edge.before.data.get("original") if edge.before else None
            data["original"] = old or edge.type.original
        if edge.at is not None:
            data["since"] = edge.at.isoformat()
        since = edge.at or (edge.before.valid_from if edge.before else self.now)
        return self._planned(each, "relation", content, data, edge.confidence, since, edge.before)

    def _planned(  # noqa: PLR0917 (the parts of a record)
        self, each: str, kind: str, content: str, data: dict[str, Any], confidence: float,
        since: datetime, before: Record | None,
    ) -> Planned:  # fmt: skip
        row, length = packed(terms(content))
        origin = self.origin
        if before is not None:
            # What several have told is trusted as far as the least of them.
            origin = max(before.origin, origin, key=ORIGINS.index)
            # What two agents have told is nobody's own.
            if before.agent not in (None, self.agent) or before.data.get("shared"):
                data["shared"] = True
        made = Derived(
            id=each,
            tier="graph",
            kind=kind,
            content=content,
            data=data,
            confidence=confidence,
            importance=before.importance if before else _IMPORTANCE,
            origin=origin,
            terms=row,
            length=length,
            valid_from=since,
            sources=(),
            role=_ROLES.get(origin, "tool"),
        )
        return Planned(made, before)


def _join(entity: _Entity, draft: EntityDraft) -> None:
    """What a draft adds to an entity."""
    if entity.type.type == ANY_ENTITY and entity.type.original is None:
        entity.type = draft.type  # Nothing better was known.
    entity.summary = draft.summary or entity.summary
    there = {same(entity.name), *map(same, entity.aliases)}
    for name in (draft.name, *draft.aliases):
        if same(name) not in there and len(entity.aliases) < _MOST_GATHERED:
            entity.aliases.append(name)
            there.add(same(name))


def _digest(*parts: str) -> str:
    joined = "\x00".join(parts)
    return blake2b(joined.encode(), digest_size=_ID_BYTES).hexdigest()
