"""Records as hits: what a caller is told of a memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from holdfast.border.validate import RESERVED_METADATA, SYSTEM
from holdfast.errors import NotFound
from holdfast.index.view import ViewPart
from holdfast.language.statements.clear import with_before
from holdfast.records.parts import before_of
from holdfast.records.rules import importance_of, is_tagged
from holdfast.store.protocols import Records
from holdfast.store.values import without_words
from holdfast.types import Event, Hit, Metadata, Record, Scope

# ----------------------------------------------------------------------
# A memory as it is kept, for those who look through them: also what holds no longer.
# ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Kept:
    """One memory of any tier, with its times."""

    id: str
    content: str
    tier: str
    kind: str
    #: Whose word it is: user, agent, tool, document, ...
    origin: str
    role: str
    name: str | None
    agent: str | None
    session: str | None
    confidence: float
    importance: float
    #: Since when and until when it holds; None: without an end.
    created_at: datetime
    valid_to: datetime | None
    #: When it was learned, and when it was learned that it holds no longer.
    known_from: datetime
    known_to: datetime | None
    #: Since when it is put aside.
    archived_at: datetime | None = None
    #: Event ids, most relevant first.
    sources: tuple[str, ...] = ()
    metadata: Metadata = field(default_factory=dict)
    #: Of `metadata`, the names that a door put there, not the caller: where it came from.
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Forgotten:
    """A memory that was forgotten and can be restored. What it says is withheld meanwhile."""

    id: str
    tier: str
    kind: str
    role: str
    session: str | None
    created_at: datetime
    forgotten_at: datetime
    #: When it is wiped, if nobody restores it until then.
    until: datetime


@dataclass(frozen=True, slots=True)
class Page:
    """Memories, and where the next ones begin."""

    memories: tuple[Kept, ...]
    #: What `list` takes as `cursor`; None: there are no more.
    next: str | None = None


def to_kept(record: Record, part: ViewPart | None = None) -> Kept:
    """What a caller is shown of a record; `part` says whose it is, where it is not their own."""
    shown = hit(record, score=1.0, part=part)
    is_lent = part is not None and bool(part.shares) and not part.is_team
    return Kept(
        id=record.id,
        content=record.content,
        tier=record.tier,
        kind=record.kind,
        origin=record.origin,
        role=record.role,
        name=shown.name,
        agent=None if is_lent else record.agent,
        session=shown.session,
        confidence=record.confidence,
        importance=importance_of(record),
        created_at=record.valid_from,
        valid_to=record.valid_to,
        known_from=record.known_from,
        known_to=record.known_to,
        archived_at=record.archived_at,
        sources=shown.sources,
        metadata=shown.metadata,
        labels=() if is_lent else record.labels,
    )


# ----------------------------------------------------------------------
# Expand: the whole memory behind an id, for a context that told only a headline of it.
# ----------------------------------------------------------------------


def expand(
    store: Records, scope: Scope, ids: Sequence[str], *, also: Sequence[ViewPart] = ()
) -> list[Hit]:
    """The memories with these ids, in that order; NotFound for one that the asker cannot see.

    `also`: what they see beside what is their own, as for a search.
    """
    found = visible_records(store, scope, ids, also=also)
    for each in ids:
        if each not in found:
            raise NotFound(f"there is no memory {each!r} in this scope")
    # Asked for by name: nothing fits better.
    return [hit(record, score=1.0, part=part) for record, part in (found[each] for each in ids)]


def visible_records(
    store: Records, scope: Scope, ids: Sequence[str], *, also: Sequence[ViewPart] = ()
) -> dict[str, tuple[Record, ViewPart]]:
    """Those of these memories that the asker can see, and whose each is; their own first."""
    found: dict[str, tuple[Record, ViewPart]] = {}
    for part in (ViewPart(scope), *also):
        wanted = [each for each in ids if each not in found]
        for record in store.get(part.scope, wanted) if wanted else ():
            if _is_seen(record, scope, part):
                found[record.id] = (record, part)
    return found


def _is_seen(record: Record, scope: Scope, part: ViewPart) -> bool:
    is_private = record.visibility == "agent_only"
    if not part.shows(tier=record.tier, kind=record.kind, private=is_private, quiet=record.quiet):
        return False
    if is_private and record.agent != scope.agent:
        return False
    # An agent of another workspace is another one, also if it is called as ours.
    known = (None,) if part.shares else (None, scope.agent)
    return scope.agent is None or record.agent in known


def as_told(hit: Hit, text: str) -> str:
    """What is told of a hit, behind what stood before it in its turn where that is kept."""
    known = hit.metadata.get(SYSTEM) if hit.tier == "fact" else None
    before = known.get("before") if isinstance(known, Mapping) else None
    return with_before(text, before) if isinstance(before, str) else text


_PLAIN_TIERS = frozenset({"graph", "workspace"})


def hit(
    record: Record,
    *,
    score: float,
    why: Mapping[str, Any] | None = None,
    sources: Mapping[str, Event] | None = None,
    part: ViewPart | None = None,
) -> Hit:
    """The hit for a record. `sources` are events by id, for records that have several; `part` says
    whose it is, where it is not the asker's own.

    What the system knows of a derived record stands beside what the caller gave with its source,
    under keys that no caller can use. `why` names the share that shows what belongs to another
    workspace, and says so of what belongs to the team.
    """
    if part is not None and part.is_team:
        why = {**(why or {}), "team": True}
    elif part is not None and part.shares:
        why = {**(why or {}), "share": part.share_of(record.tier)}
        record = _as_lent(record, part.scope.user)
    return Hit(
        id=record.id,
        content=record.content,
        tier=record.tier,
        kind=record.kind,
        score=score,
        confidence=record.confidence,
        created_at=record.valid_from,
        metadata=_caller_metadata(record, raised="boost" in (why or {})),
        sources=record.sources,
        source_metadata=_source_metadata(record, sources or {}),
        why=why or {},
        role=record.role,
        name=record.name,
        session=record.session,
        origin=record.origin,
    )


def _caller_metadata(record: Record, *, raised: bool) -> Metadata:
    """What the caller gave, and what the system knows: reserved keys as they are, the rest under
    one of them. In the graph and in the team's tier nobody gives metadata: there it is plain.
    What is a rule, or was raised as one, has the seed's tag."""
    data = record.data
    if "before" in data and not before_of(record):
        data = without_words(data)
    if raised or is_tagged(record):
        data = {"fact_role": "instruction", **data}
    if not data:
        return record.metadata
    if record.tier in _PLAIN_TIERS:
        return {**record.metadata, **data}
    known = {key: value for key, value in data.items() if key in RESERVED_METADATA}
    rest = {key: value for key, value in data.items() if key not in RESERVED_METADATA}
    return {**record.metadata, **known, **({SYSTEM: rest} if rest else {})}


def _as_lent(record: Record, owner: str) -> Record:
    """A record as another workspace is shown it: what it says, not the turns it comes from, nor
    what the caller gave with them. It has a name: without one it would read as the asker's word."""
    metadata = {} if record.sources else record.metadata
    name = record.name or owner or None
    return replace(record, sources=(), metadata=metadata, session=None, name=name)


def _source_metadata(record: Record, sources: Mapping[str, Event]) -> tuple[Metadata, ...]:
    if len(record.sources) <= 1:
        return (record.metadata,) * len(record.sources)
    return tuple(sources[each].metadata if each in sources else {} for each in record.sources)
