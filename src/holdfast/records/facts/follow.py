"""The facts of the owners in use, kept in memory and following the store's feed.

Before each look one tiny read tells whether anything changed; of what changed only the facts are
read again. So a new fact is compared with ten thousand known ones without reading them. Those that
ended are kept, too: a fact that is learned again from the same turn is known by them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from datetime import datetime
from heapq import nlargest
from typing import TypeVar

from holdfast.index.look import Owner, owner_of
from holdfast.index.resident import Follower, InUse
from holdfast.language.claims.claim import Claim, comparable_terms, read_claim
from holdfast.language.claims.slots import USER
from holdfast.language.statements.values import Fact
from holdfast.records import parts
from holdfast.records.facts.reconcile import KnownFact
from holdfast.records.versions import first_id, last_end
from holdfast.store.protocols import Change, Derived, Store
from holdfast.types import Record, Scope

TIER = "fact"
#: The kind of a record that two agents disagree; no fact itself.
CONFLICT = "conflict"
#: Records of one owner that are read, and of all owners that are kept.
_MOST_READ = 2_000_000
_MOST_KEPT = 500_000
#: Facts that a new one is compared with.
MOST_CANDIDATES = 20
#: Facts that are looked at for one new one, those with its rarest words first.
_MOST_SEEN = 4_000
#: Of whom something is told: the attribute, the agent that was told, and who may see it.
Place = tuple[str, str | None, str | None]
_Key = TypeVar("_Key", bound=Hashable)


def claim_of(record: Record, own: str = "") -> Claim:
    """What a stored fact claims."""
    return read_claim(record.content, str(record.data.get("speaker") or USER), own)


def known_of(record: Record, own: str = "") -> KnownFact:
    """A stored fact as it is compared."""
    return KnownFact(
        id=record.id,
        claim=claim_of(record, own),
        at=record.valid_from,
        importance=record.importance,
        origin=record.origin,
        agent=record.agent,
    )


#: The reason of a version that somebody's answer made: what it contradicts then holds beside it.
ANSWERED = "answered"


def is_unclear(record: Record) -> bool:
    """Whether a fact waits for an answer: it neither holds nor ended."""
    return record.data.get("outcome") == "clarify"


def is_contradicting(record: Record) -> bool:
    """Whether a fact contradicts others, and nobody said that both are so."""
    return bool(record.data.get("contradicts")) and record.data.get("reason") != ANSWERED


def is_compared(record: Record) -> bool:
    """Whether a fact holds, so that a new one is compared with it."""
    is_open = record.known_to is None and record.valid_to is None
    outcome = record.data.get("outcome")
    return is_open and record.kind != CONFLICT and outcome not in ("clarify", "delete")


def likest(claim: Claim, known: Sequence[KnownFact]) -> list[KnownFact]:
    """Those that a claim is compared with, in their order: of its slot, and with most of its
    words."""
    said = claim.terms | claim.left

    def near(each: KnownFact) -> tuple[bool, int, datetime]:
        is_of_slot = claim.slot is not None and each.claim.slot == claim.slot
        return is_of_slot, len(each.claim.terms & said), each.at

    best = {each.id for each in nlargest(MOST_CANDIDATES, known, key=near)}
    return [each for each in known if each.id in best]


def is_of_one(fact: Record | Derived) -> bool:
    """Whether a fact tells the value of an attribute that has one at a time, and holds at some; one
    that only says what the value is not tells none."""
    slot = str(fact.data.get("slot") or "")
    if not slot or slot.endswith(":age") or fact.kind == CONFLICT or fact.data.get("contradicts"):
        return False
    if fact.data.get("outcome") in ("clarify", "delete"):
        return False
    claim = read_claim(fact.content, str(fact.data.get("speaker") or USER))
    return claim.hold == "changing" and claim.polarity > 0


class OwnerFacts(Follower):
    """All facts of one owner."""

    def __init__(self) -> None:
        super().__init__()
        self._empty()

    def _empty(self) -> None:
        self.records: dict[str, Record] = {}
        self._slots: dict[str, set[str]] = defaultdict(set)
        self._terms: dict[str, set[str]] = defaultdict(set)
        #: What is compared, with its terms; what is in here is in the two above.
        self._held: dict[str, tuple[str | None, frozenset[str]]] = {}
        self._by_source: dict[str, set[str]] = defaultdict(set)
        #: All of a slot, ended ones too; and those that tell its one value, where that was asked.
        self._by_slot: dict[Place, set[str]] = defaultdict(set)
        self._of_one: dict[Place, dict[str, Record]] = {}
        #: By what they replaced, and by what they may have replaced.
        self._instead: dict[str, set[str]] = defaultdict(set)
        self._revised: dict[str, set[str]] = defaultdict(set)

    def read_all(self, store: Store, scope: Scope) -> None:
        self._empty()
        listed = store.listed(scope, tier=TIER, current=False, archived=True, limit=_MOST_READ)
        for record in listed:
            self._take(record.id, record)

    def read_changes(self, store: Store, scope: Scope, changes: Sequence[Change]) -> None:
        ids = [each.id for each in changes if each.tier == TIER]
        there = {record.id: record for record in store.get(scope, ids)} if ids else {}
        for id in ids:
            self._take(id, there.get(id))

    def near(
        self,
        claim: Claim,
        *,
        agent: str | None = None,
        visibility: str | None = None,
        but: Collection[str] = (),
    ) -> list[Record]:
        """The facts that a claim may repeat, change or deny, the likeliest first: what this agent
        was told, then what others were. What others may not see meets nothing that they may.

        Those of its slot, then those that share two of its terms, or half of all.
        """
        own: list[Record] = []
        others: list[Record] = []
        with self.lock:
            found = dict.fromkeys(sorted(self._slots.get(claim.slot or "", ())))
            found.update(dict.fromkeys(self._alike(claim.terms | claim.left)))
            for id in found:
                record = self.records[id]
                if record.visibility == visibility and id not in but:
                    (own if record.agent == agent else others).append(record)
        if visibility is not None:
            others = []
        return own[:MOST_CANDIDATES] + others[:MOST_CANDIDATES]

    def latest(
        self,
        most: int,
        *,
        agent: str | None = None,
        visibility: str | None = None,
        but: Collection[str] = (),
    ) -> list[Record]:
        """The facts that an agent was told last, of those that hold."""
        with self.lock:
            held = [self.records[id] for id in self._held if id not in but]
        own = [each for each in held if (each.agent, each.visibility) == (agent, visibility)]
        return nlargest(most, own, key=lambda each: (each.valid_from, each.id))

    def of_source(self, source: str) -> list[Record]:
        """The facts that were drawn from a turn, ended ones too."""
        if source not in self._by_source:
            return []
        with self.lock:
            return [self.records[id] for id in sorted(self._by_source.get(source, ()))]

    def of_slot(self, slot: str, agent: str | None, visibility: str | None) -> list[Record]:
        """What an agent was told of an attribute that has one value at a time, ended ones too."""
        place = (slot, agent, visibility)
        with self.lock:
            if place not in self._of_one:
                every = [self.records[id] for id in self._by_slot.get(place, ())]
                self._of_one[place] = {each.id: each for each in every if is_of_one(each)}
            return [*self._of_one[place].values()]

    def instead_of(self, id: str) -> list[Record]:
        """The facts that took the place of one."""
        with self.lock:
            return [self.records[each] for each in sorted(self._instead.get(id, ()))]

    def revised_by(self, id: str) -> list[Record]:
        """The facts that may have taken the place of one; nobody is sure."""
        with self.lock:
            return [self.records[each] for each in sorted(self._revised.get(id, ()))]

    def is_replaced(self, record: Record) -> bool:
        """Whether its agent holds another fact of its attribute that was told after it."""
        with self.lock:
            held = self._slots.get(str(record.data.get("slot") or ""), ())
            others = [self.records[id] for id in held if id != record.id]
        return any(
            _place(each) == _place(record) and each.valid_from >= record.valid_from
            for each in others
        )

    def __len__(self) -> int:
        return 1 + len(self.records)

    def _take(self, id: str, record: Record | None) -> None:
        self._drop(id)
        if record is None:
            return
        self.records[id] = record
        for source in record.sources:
            self._by_source[source].add(id)
        for kept, earlier in self._successions(record):
            kept[earlier].add(id)
        if slot := record.data.get("slot"):
            self._by_slot[_place(record)].add(id)
            if (ones := self._of_one.get(_place(record))) is not None and is_of_one(record):
                ones[id] = record
        if is_compared(record):
            terms = comparable_terms(record.content)
            self._held[id] = (slot, terms)
            for kept, key in self._places(slot, terms):
                kept[key].add(id)

    def _drop(self, id: str) -> None:
        record = self.records.pop(id, None)
        for source in record.sources if record else ():
            _remove(self._by_source, source, id)
        for kept, earlier in self._successions(record) if record else ():
            _remove(kept, earlier, id)
        if record and record.data.get("slot"):
            _remove(self._by_slot, _place(record), id)
            self._of_one.get(_place(record), {}).pop(id, None)
        if id in self._held:
            for kept, key in self._places(*self._held.pop(id)):
                _remove(kept, key, id)

    def _successions(self, record: Record) -> Iterator[tuple[dict[str, set[str]], str]]:
        """What a fact replaced, and what it may have replaced."""
        for name, kept in (("replaces", self._instead), ("revises", self._revised)):
            for earlier in record.data.get(name) or ():
                yield kept, str(earlier)

    def _places(
        self, slot: str | None, terms: Iterable[str]
    ) -> Iterator[tuple[dict[str, set[str]], str]]:
        if slot:
            yield self._slots, slot
        for term in terms:
            yield self._terms, term

    def _alike(self, terms: frozenset[str]) -> list[str]:
        """Facts by how many terms they share, those of rare terms first."""
        shared: Counter[str] = Counter()
        postings = [self._terms[each] for each in terms if each in self._terms]
        for ids in sorted(postings, key=len):
            if len(shared) + len(ids) > _MOST_SEEN and shared:
                # Too common to find anything new by; it still tells those found apart.
                shared.update(ids & shared.keys())
            else:
                shared.update(ids)
        alike = [
            id
            for id, count in shared.items()
            if count >= 2 or 2 * count >= min(len(terms), len(self._held[id][1]))
        ]
        return sorted(alike, key=lambda id: (-shared[id], id))


class FactCache:
    """The facts of the owners in use, the least used dropped when there are too many."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._owners: InUse[Owner, OwnerFacts] = InUse(len, most=_MOST_KEPT)

    def of(self, scope: Scope) -> OwnerFacts:
        """The owner's facts as the store is now."""
        facts = self._owners.get(owner_of(scope), OwnerFacts)
        before = facts.seen
        facts.follow(self._store, scope)
        if facts.seen is not before:
            self._owners.make_room()
        return facts


def _place(record: Record) -> Place:
    return str(record.data.get("slot") or ""), record.agent, record.visibility


def _remove(kept: dict[_Key, set[str]], key: _Key, id: str) -> None:
    kept[key].discard(id)
    if not kept[key]:
        del kept[key]


# ----------------------------------------------------------------------
# Facts as a caller is shown them: their state, and what of them a caller may see at a time.
# ----------------------------------------------------------------------

#: What `list` can be asked for.
STATUSES: tuple[str, ...] = (
    "active", "superseded", "invalidated", "unclear", "archived", "all",
)  # fmt: skip


def to_fact(record: Record, status: str) -> Fact:
    """A stored fact for a caller."""
    data = record.data
    due = data.get("due")
    return Fact(
        id=record.id,
        content=record.content,
        category=record.kind,
        headline=data.get("headline") or "",
        status=status,
        confidence=record.confidence,
        importance=record.importance,
        origin=record.origin,
        valid_from=record.valid_from,
        valid_to=record.valid_to,
        known_from=record.known_from,
        known_to=record.known_to,
        keywords=tuple(data.get("keywords") or ()),
        entities=tuple(data.get("entities") or ()),
        sources=record.sources,
        avoid=data.get("avoid") or "",
        due=None if not due else datetime.fromisoformat(due),
        claim=first_id(record),
        contradicts=tuple(data.get("contradicts") or ()),
        agent=record.agent,
        session=record.session,
        metadata=record.metadata,
        outcome=data.get("outcome") or "",
        reason=data.get("reason") or "",
        replaces=tuple(data.get("replaces") or ()),
        before=parts.before_of(record),
    )


def status(store: Store, scope: Scope, record: Record, now: datetime) -> str:
    """The state of a fact: active, superseded, invalidated, unclear or archived."""
    if record.known_to is not None:
        return last_end(store, scope, record)
    if record.archived_at is not None:
        return "archived"
    if record.data.get("outcome") == "delete":
        return "invalidated"
    if is_unclear(record):
        return "unclear"
    return "superseded" if record.valid_to is not None and record.valid_to <= now else "active"


def is_shown(record: Record, scope: Scope) -> bool:
    """Whether a caller may see a record: an agent sees its own and what no agent wrote."""
    return record.kind != CONFLICT and parts.is_seen(record, scope.agent)


def held_then(
    record: Record, *, now: datetime, as_of: datetime | None, known_at: datetime | None
) -> bool:
    """Whether a fact held at `as_of`, as was known at `known_at`; one of both is given."""
    if record.data.get("outcome") in ("clarify", "delete"):
        return False
    return parts.holds(record, now=now, as_of=as_of, known_at=known_at)
