"""From drafts to records: which entities and relations are known, which are new.

Two names are one entity when they are the same but for case, accents and spaces, or when one is an
alias of the other. A name that nobody bears yet may be another name of somebody known; then it gets
an entity of its own all the same, and a merge that says so and can be undone. Ids follow from
names, so that writing twice is harmless. What was forgotten is not brought back by writing it
again: it begins anew, under an id of its own, without the edges it once had; and what is heard in
turns from before it was forgotten is not learned again at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import datetime, timedelta
from itertools import count
from types import MappingProxyType
from typing import Any, NamedTuple

from holdfast.border.validate import least
from holdfast.language.names import Name, same
from holdfast.language.vocabulary import ANY_ENTITY, Typed, key, sentence
from holdfast.records.graph.adjacency import (
    Adjacency,
    aliases,
    fullness,
    moment,
    strengthened,
)
from holdfast.records.graph.check import MOST_ALIASES, EntityDraft, RelationDraft, own_name
from holdfast.records.graph.follow import Graphs
from holdfast.records.graph.resolve import Resolution, ResolvableEntity, Resolver
from holdfast.records.parts import IMPORTANCE, derived, digest
from holdfast.records.versions import exists
from holdfast.store.protocols import Derived, Store, is_heard
from holdfast.types import Record, Scope

# ----------------------------------------------------------------------
# What a call leaves of entities, relations and merges, and the records that this makes.
#
# What was only heard is marked so and is no document of the search: recall finds the turns it was
# heard in. What somebody wrote stays as written, however often it is heard of.
# ----------------------------------------------------------------------

#: How sure we are of what the caller gave no number for: what the user said, and the rest.
#: By hand, not measured.
_SAID, _TOLD = 1.0, 0.8
#: Aliases that an entity may gather over time.
_MOST_GATHERED = 4 * MOST_ALIASES
#: Whose word a draft is that does not say.
_UNTOLD = "import"
#: Turns that are kept as sources of one record; from then on one a day, which keeps it present.
_MOST_SOURCES = 1_000
_DAY = timedelta(days=1)
#: What is no document has no words to be searched by.
_UNSEARCHED: Mapping[str, Any] = MappingProxyType({"terms": b"", "length": 0})


@dataclass(frozen=True, slots=True)
class Planned:
    """A record to store, and the one it is a new version of."""

    record: Derived
    before: Record | None


@dataclass(frozen=True, slots=True)
class WriteCall:
    """What all records of one call share."""

    now: datetime
    origin: str
    agent: str | None
    heard: bool


@dataclass(slots=True)
class DraftGroup:
    """What the drafts of one call have in common that speak of one thing."""

    origins: list[str] = field(default_factory=list)
    sources: dict[str, None] = field(default_factory=dict)
    importance: float = 0.0

    def add(self, draft: EntityDraft | RelationDraft, sources: tuple[str, ...], usual: str) -> None:
        """One more draft, as far as it was heard in these turns."""
        self.origins.append(draft.origin or usual)
        self.sources.update(dict.fromkeys(sources))
        given = IMPORTANCE if draft.importance is None else draft.importance
        self.importance = max(self.importance, given)

    def sources_beside(self, before: Record | None, now: datetime) -> tuple[str, ...]:
        """The turns to add to those that a record has already."""
        if before is None or len(before.sources) < _MOST_SOURCES:
            return tuple(self.sources)
        if now - (before.seen_at or before.known_from) < _DAY:
            return ()
        known = set(before.sources)
        return tuple(each for each in self.sources if each not in known)[:1]


@dataclass(slots=True)
class PlannedEntity:
    """An entity as this call leaves it."""

    name: str
    type: Typed
    aliases: list[str]
    summary: str
    since: datetime
    before: Record | None = None
    told: DraftGroup = field(default_factory=DraftGroup)

    def join(self, draft: EntityDraft, *, heard: bool) -> None:
        """What a draft adds to an entity."""
        if heard and is_written(self.before):
            return
        if self.type.type == ANY_ENTITY and self.type.original is None:
            self.type = draft.type  # Nothing better was known.
        first, second = (self.summary, draft.summary) if heard else (draft.summary, self.summary)
        self.summary = first or second
        there = {same(self.name), *map(same, self.aliases)}
        for name in (draft.name, *draft.aliases):
            if same(name) not in there and len(self.aliases) < _MOST_GATHERED:
                self.aliases.append(name)
                there.add(same(name))

    def record(self, id: str, call: WriteCall) -> Planned:
        """The record of this entity."""
        if call.heard and self.before is not None and is_written(self.before):
            return Planned(
                record_again(self.before, sources=self.told.sources_beside(self.before, call.now)),
                self.before,
            )
        data: dict[str, Any] = {"name": self.name, "type": self.type.type}
        if self.type.original is not None:
            data["subtype"] = self.type.original
        data |= {"aliases": self.aliases, "summary": self.summary}
        also = f", also {', '.join(self.aliases)}" if self.aliases else ""
        told = f": {self.summary}" if self.summary else ""
        content = f"{self.name} ({self.type.original or self.type.type}){also}{told}"
        sure = max(
            usual_confidence(self.told.origins), self.before.confidence if self.before else 0.0
        )
        return _make_planned(
            id, "entity", content, data, sure, self.since, self.before, self.told, call
        )


@dataclass(slots=True)
class PlannedRelation:
    """A relation as this call leaves it."""

    source: str
    type: Typed
    target: str
    confidence: float
    #: When it began, if that was said.
    at: datetime | None
    before: Record | None = None
    told: DraftGroup = field(default_factory=DraftGroup)

    def record(self, id: str, names: tuple[str, str], call: WriteCall) -> Planned:
        """The record of this relation between two that are called so."""
        if call.heard and self.before is not None and is_written(self.before):
            return Planned(
                record_again(self.before, sources=self.told.sources_beside(self.before, call.now)),
                self.before,
            )
        data: dict[str, Any] = {
            "source": self.source,
            "target": self.target,
            "type": self.type.type,
        }
        if self.type.original is not None:
            # One edge, however its type is spelled: the first spelling stays.
            old = self.before.data.get("original") if self.before else None
            data["original"] = old or self.type.original
        if self.at is not None:
            data["since"] = self.at.isoformat()
        since = self.at or (self.before.valid_from if self.before else call.now)
        content = sentence(names[0], *self.type, names[1])
        return _make_planned(
            id, "relation", content, data, self.confidence, since, self.before, self.told, call
        )


@dataclass(frozen=True, slots=True)
class PlannedMerge:
    """Two entities, by id and name, that are taken for one."""

    ids: tuple[str, str]
    names: tuple[str, str]
    score: float
    evidence: tuple[str, ...]
    by: str
    origin: str
    sources: tuple[str, ...] = ()

    def record(self, id: str, call: WriteCall, before: Record | None = None) -> Planned:
        """The record of this merge: never a document, and nobody's own, whoever made it."""
        (a, _), (b, _) = sorted(zip(self.ids, self.names, strict=True))
        data = {
            "a": a,
            "b": b,
            "score": self.score,
            "evidence": list(self.evidence),
            "by": self.by,
            "heard": True,
        }
        made = derived(
            id, "graph", "merge", f"{self.names[0]} is {self.names[1]}",
            origin=self.origin, at=call.now, data=data, sources=self.sources,
            confidence=self.score, shared=True, **_UNSEARCHED,
        )  # fmt: skip
        return Planned(made, before)


def entity_before(draft: EntityDraft, before: Record | None, now: datetime) -> PlannedEntity:
    """An entity as it was before this call; new: as the draft calls it."""
    if before is None:
        return PlannedEntity(draft.name, draft.type, [], "", now)
    data = before.data
    type = Typed(data["type"], data.get("subtype"))
    summary = str(data.get("summary", ""))
    return PlannedEntity(
        data["name"], type, list(aliases(before)), summary, before.valid_from, before
    )


def usual_confidence(origins: list[str]) -> float:
    """How sure we are of what these have told."""
    return _SAID if least(origins) in ("user", "user_confirmed") else _TOLD


def is_written(record: Record | None) -> bool:
    """Whether somebody wrote it, so that hearing of it changes nothing but its sources."""
    return record is not None and not is_heard(record.tier, record.data)


def record_again(
    record: Record, *, sources: tuple[str, ...] = (), valid_to: datetime | None = None
) -> Derived:
    """A record as it is, to be stored again with more sources or with an end."""
    searched = {} if is_written(record) else _UNSEARCHED
    return derived(
        record.id, record.tier, record.kind, record.content,
        origin=record.origin, at=record.valid_from, data=record.data, sources=sources,
        valid_to=valid_to, confidence=record.confidence, importance=record.importance,
        role=record.role, name=record.name, shared=record.agent is None, **searched,
    )  # fmt: skip


def merge_id(a: str, b: str, round: int = 0) -> str:
    """The id of the merge of two entities; a later round if that of an earlier one is taken."""
    again = (str(round),) if round else ()
    return digest("merge", *sorted((a, b)), *again)


def _make_planned(  # noqa: PLR0913, PLR0917 (the parts of a record)
    id: str, kind: str, content: str, data: dict[str, Any], confidence: float, since: datetime,
    before: Record | None, told: DraftGroup, call: WriteCall,
) -> Planned:  # fmt: skip
    if call.heard:
        data["heard"] = True
    origins, importance = list(told.origins), told.importance
    if before is not None:
        origins.append(before.origin)
        importance = max(importance, before.importance)
        # What two agents have told is nobody's own.
        if before.agent not in (None, call.agent) or before.data.get("shared"):
            data["shared"] = True
    made = derived(
        id, "graph", kind, content,
        origin=least(origins), at=since, data=data,
        sources=told.sources_beside(before, call.now), confidence=confidence,
        importance=importance, shared=before is not None and before.agent != call.agent,
        **(_UNSEARCHED if call.heard else {}),
    )  # fmt: skip
    return Planned(made, before)


class _EdgeClaim(NamedTuple):
    """An edge, its ends, and the turns it was heard in."""

    id: str
    source: str
    target: str
    sources: tuple[str, ...]


@dataclass(slots=True)
class GraphPlan:
    """One call, worked out before anything is stored: written by somebody, or heard in turns."""

    graph: Adjacency
    #: The records with these ids, by id; forgotten ones are left out.
    read: Callable[[Sequence[str]], dict[str, Record]]
    #: Since when a record is forgotten; None for one that is not.
    hidden: Callable[[str], datetime | None]
    now: datetime
    origin: str
    agent: str | None = None
    _: KW_ONLY
    heard: bool = False
    #: The names of the owner's entities, asked for when a name is not known exactly; None: names
    #: that are not the same are two entities.
    resolver: Callable[[], Resolver] | None = None
    #: What the user's own entity is called, as names are compared: nobody is joined with it.
    own: str = ""
    #: When turns became known in which things were heard; those it leaves out are not there.
    turns: Callable[[Sequence[str]], Mapping[str, datetime]] = lambda _: {}
    #: Whether there is a record with this id, in any state.
    exists: Callable[[str], bool] = lambda _: False
    entities: dict[str, PlannedEntity] = field(default_factory=dict)
    relations: dict[str, PlannedRelation] = field(default_factory=dict)
    merges: dict[str, PlannedMerge] = field(default_factory=dict)
    #: A name as it is compared -> the entity this call gave it to.
    _called: dict[str, str] = field(default_factory=dict)
    _known: dict[str, Record] = field(default_factory=dict)
    _names: Resolver | None = None
    #: Entities, as they are shown, that this call is about.
    _near: dict[str, None] = field(default_factory=dict)
    #: An entity -> the one it is shown as because of this call.
    _into: dict[str, str] = field(default_factory=dict)
    #: Known entities, and the turns in which this call heard of them again.
    _again: dict[str, DraftGroup] = field(default_factory=dict)

    def add_entities(self, drafts: Sequence[EntityDraft]) -> list[str | None]:
        """The ids of these entities, in order; None for what is not to be learned again."""
        called = [[same(name) for name in (draft.name, *draft.aliases)] for draft in drafts]
        found = {self.graph.called.get(name) for names in called for name in names} - {None}
        self._known |= self.read([each for each in found if each is not None])
        ids: dict[int, str | None] = {}
        # Whoever is known first, then full names, so that nobody is taken for the first who comes.
        for place in sorted(range(len(drafts)), key=lambda each: self._order(drafts[each])):
            ids[place] = self._entity(drafts[place], called[place])
        return [ids[place] for place in range(len(drafts))]

    def add_relations(self, drafts: Sequence[RelationDraft]) -> list[str | None]:
        """The ids of these relations, in order. An end that nobody knows becomes a concept."""
        claims = [self._claim(draft) for draft in drafts]
        ids = {claim.id for claim in claims if claim is not None}
        known = self.read([each for each in ids if each in self.graph.edge_numbers])
        for claim, draft in zip(claims, drafts, strict=True):
            if claim is not None:
                self._relation(claim, draft, known.get(claim.id))
        return [None if claim is None else claim.id for claim in claims]

    def records(self) -> list[Planned]:
        """What is to be stored: entities, relations, merges."""
        call = WriteCall(self.now, self.origin, self.agent, self.heard)
        made = [
            self._rewritten(entity.record(each, call)) for each, entity in self.entities.items()
        ]
        for each, edge in self.relations.items():
            made.append(edge.record(each, (self._name(edge.source), self._name(edge.target)), call))
        made += [merge.record(each, call) for each, merge in self.merges.items()]
        return made + self._merge_support()

    def _rewritten(self, entity: Planned) -> Planned:
        """What is written again is stronger than it was, as the receipt says; what is heard again
        begins a new life."""
        if self.heard or entity.before is None:
            return entity
        turns = len({*entity.before.sources, *entity.record.sources})
        now = strengthened(entity.before, turns, self.now, decay=self.graph.decay)
        return Planned(replace(entity.record, strength=now), entity.before)

    def shown_id(self, id: str) -> str:
        """The id under which an entity is shown once this call is stored."""
        id = self.graph.shown_id(id)
        while id in self._into:
            id = self._into[id]
        return id

    def _order(self, draft: EntityDraft) -> tuple[bool, int]:
        return same(draft.name) not in self.graph.called, -len(draft.name.split())

    def _entity(self, draft: EntityDraft, called: Sequence[str]) -> str | None:
        if self.heard:  # That somebody is also called so is weighed, not taken for granted.
            called = called[:1]
        known = self._entity_called(called)
        free, forgotten = self._entity_id(called[0], is_known=known is not None)
        sources = self._turns_after(draft.sources, forgotten)
        if sources is None:
            return None
        each = known or free
        entity = self.entities.get(each)
        if entity is None:
            entity = self.entities[each] = entity_before(draft, self._known.get(each), self.now)
        entity.join(draft, heard=self.heard)
        entity.told.add(draft, sources, self.origin)
        for name in called:
            self._called.setdefault(name, each)
        if known is not None and self.heard:
            self._again.setdefault(each, DraftGroup()).add(draft, sources, self.origin)
        if known is None and self.resolver is not None and same(draft.name) != self.own:
            if self._names is None:
                self._names = Resolver(base=self.resolver())
            self._weigh(each, draft, sources, self._names)
        self._near[self.shown_id(each)] = None
        return each

    def _entity_called(self, called: Sequence[str]) -> str | None:
        """The entity that is called so, by its name, else by an alias."""
        for name in called:
            if name in self._called:
                return self._called[name]
            found = self.graph.called.get(name)
            # A record that vanished since is no longer known.
            if found is not None and found in self._known and self._may_name(found, name):
                return found
        return None

    def _may_name(self, each: str, name: str) -> bool:
        """Not by an alias or an id of what another agent keeps to itself: that would tell its name.
        By its name it is shared from now on."""
        record = self.graph.records[each]
        is_foreign = self.agent is not None and record.span.agent not in (None, self.agent)
        return not is_foreign or same(record.name) == same(name)

    def _weigh(
        self, each: str, draft: EntityDraft, sources: tuple[str, ...], names: Resolver
    ) -> None:
        """Whether a new entity is one that is known under another name."""
        new = Name(draft.name, draft.type.type, draft.aliases)
        found = names.resolve(*new, near=self._near, among=self._may_mean)
        if found.id == each:  # Another process made it since the graph was read: nothing is joined.
            return
        other = None if found.id is None else names.name(found.id)
        if found.id is None or other is None or not self._merge(each, draft, found, sources):
            names.add(ResolvableEntity(each, new))
            return
        is_fuller = fullness(new.text) > fullness(other.text)
        shown, goes = (new, other) if is_fuller else (other, new)
        stays, leaves = (each, found.id) if is_fuller else (found.id, each)
        self._into[leaves] = stays
        names.discard(leaves)
        type = new.type if other.type == ANY_ENTITY else other.type
        also = dict.fromkeys((*shown.aliases, goes.text, *goes.aliases))
        names.add(ResolvableEntity(stays, Name(shown.text, type, tuple(also))))

    def _may_mean(self, each: str) -> bool:
        """Only what is as private as what is told now: who is joined is shown to all who see
        either of the two. And never the user: a name alone does not tell that somebody is."""
        number = self.graph.numbers.get(each)
        if number is None and each not in self.entities:
            return False
        if self.own and same(self._name(each)) == self.own:
            return False
        return number is None or self.graph.entities[number].span.agent == self.agent

    def _merge(
        self, each: str, draft: EntityDraft, found: Resolution, sources: tuple[str, ...]
    ) -> bool:
        """Note that a new entity is a known one; what was noted before is never noted again."""
        other = found.id or ""
        id = merge_id(each, other)
        if id in self.graph.merges or self.hidden(id) is not None or self.exists(id):
            return False
        self.merges[id] = PlannedMerge(
            ids=(each, other),
            names=(draft.name, self._name(other)),
            score=round(found.score, 4),
            evidence=found.evidence,
            by="likeness",
            origin=draft.origin or self.origin,
            sources=sources,
        )
        return True

    def _merge_support(self) -> list[Planned]:
        """The merges by likeness of entities that were heard of again, with the turns of that.

        A merge that likeness made rests on the turns that name the newcomer of the two. It stays
        as long as one of them, not only as long as the first.
        """
        if not self._again:
            return []
        merges = {
            id: ends
            for id, merge in self.graph.merges.items()
            if merge.span.is_open
            and (ends := [end for end in (merge.a, merge.b) if end in self._again])
        }
        made = []
        for id, record in self.read(list(merges)).items():
            told = DraftGroup()
            for end in merges[id]:
                entity = self.graph.records.get(end)
                if entity is not None and set(record.sources) <= set(entity.sources):
                    told.sources |= self._again[end].sources
            more = told.sources_beside(record, self.now)
            if record.data.get("by") == "likeness" and not set(more) <= set(record.sources):
                made.append(Planned(record_again(record, sources=more), record))
        return made

    def _name(self, each: str) -> str:
        entity = self.entities.get(each)
        return self.graph.records[each].name if entity is None else entity.name

    def _end(self, name: str, draft: RelationDraft) -> str | None:
        """The entity at an end of a relation."""
        each = self._called.get(same(name)) or self.graph.id_named(name)
        if each is not None and each in self.graph.records and not self._may_name(each, name):
            each = None
        if each is None:
            told = EntityDraft(
                name,
                Typed(ANY_ENTITY),
                sources=draft.sources,
                origin=draft.origin,
                importance=draft.importance,
            )
            each = self._entity(told, [same(name)])
        elif self.heard:
            _, forgotten = self._entity_id(same(name), is_known=True)
            each = None if self._turns_after(draft.sources, forgotten) is None else each
        entity = self.entities.get(each or "")
        # What is new has been there as long as what is told of it.
        if entity is not None and entity.before is None and draft.at is not None:
            entity.since = min(entity.since, draft.at)
        return each

    def _claim(self, draft: RelationDraft) -> _EdgeClaim | None:
        """The edge that says the same and has not ended, or a new one."""
        source, target = self._end(draft.source, draft), self._end(draft.target, draft)
        if source is None or target is None:
            return None
        said = key(draft.type.original or draft.type.type)
        over: datetime | None = None
        for round in count():
            each = digest("relation", source, said, target, str(round))
            at = self._ended_at(each)
            if at is None:
                break
            over = _latest(over, at)
        sources = self._turns_after(draft.sources, over)
        return None if sources is None else _EdgeClaim(each, source, target, sources)

    def _relation(self, claim: _EdgeClaim, draft: RelationDraft, before: Record | None) -> None:
        given = draft.confidence
        sure = usual_confidence([draft.origin or self.origin]) if given is None else given
        edge = self.relations.get(claim.id)
        if edge is None:
            at = None if before is None else _since(before)
            floor = 0.0 if before is None else before.confidence
            edge = PlannedRelation(claim.source, draft.type, claim.target, floor, at, before)
            self.relations[claim.id] = edge
        edge.told.add(draft, claim.sources, self.origin)
        edge.confidence = max(edge.confidence, sure)
        if draft.at is not None:
            edge.at = draft.at if edge.at is None else min(edge.at, draft.at)

    def _entity_id(self, called: str, *, is_known: bool) -> tuple[str, datetime | None]:
        """A free id for a name, and since when the last that had an earlier one is forgotten."""
        forgotten: datetime | None = None
        for round in count():
            each = digest("entity", called, str(round))
            is_there = each in self.entities or each in self.graph.numbers
            at = None if is_there else self.hidden(each)
            is_free = not is_there and each not in self.graph.missing
            if at is None and (is_known or is_free):
                break
            forgotten = forgotten if at is None else _latest(forgotten, at)
        return each, forgotten

    def _ended_at(self, each: str) -> datetime | None:
        """Since when an edge is forgotten or known to have ended; None for one that may be told."""
        if each in self.relations:
            return None
        number = self.graph.edge_numbers.get(each)
        if number is None:
            return self.hidden(each)
        span = self.graph.relations[number].span
        return moment(min(span.until_us, span.known_until_us))

    def _turns_after(
        self, sources: tuple[str, ...], since: datetime | None
    ) -> tuple[str, ...] | None:
        """The turns that became known after something was forgotten; None when it was heard in
        earlier ones alone and is not to be learned again."""
        if since is None or not self.heard:
            return sources
        known = self.turns(sources)
        return tuple(each for each in sources if each in known and known[each] > since) or None


def plan_heard(
    store: Store,
    graphs: Graphs,
    scope: Scope,
    entities: Sequence[EntityDraft],
    relations: Sequence[RelationDraft],
    *,
    now: datetime,
) -> list[Planned]:
    """The records that drafts from turns make of the graph, not stored; hold `graphs.writing`."""
    if not entities and not relations:
        return []
    plan = GraphPlan(
        graphs.of(scope),
        lambda ids: {record.id: record for record in store.get(scope, ids)},
        lambda each: store.forgotten_times(scope, [each]).get(each),
        now,
        _UNTOLD,
        scope.agent,
        heard=True,
        resolver=lambda: graphs.resolver(scope),
        own=same(own_name(scope.user)),
        turns=lambda ids: {event.id: event.known_at for event in store.events(scope, ids)},
        exists=lambda each: exists(store, scope, each),
    )
    plan.add_entities(entities)
    plan.add_relations(relations)
    return plan.records()


def _since(record: Record) -> datetime | None:
    """When a relation began, as its record says; a file that was imported may say anything."""
    told = record.data.get("since")
    try:
        at = datetime.fromisoformat(told) if isinstance(told, str) else None
    except ValueError:
        return None
    return at if at is not None and at.tzinfo is not None else None


def _latest(a: datetime | None, b: datetime) -> datetime:
    return b if a is None else max(a, b)
