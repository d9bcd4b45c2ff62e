"""The values that go in and out of a store. They know nothing about how they are kept."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.types import TEAM, ApiKey, Event, Metadata, Record, Role, Scope

if TYPE_CHECKING:
    from holdfast.store.protocols import LargeReader

# ----------------------------------------------------------------------
# What happens to an owner's memories, as it is told to others: values that go in and out of a
# store. No word of any memory is in them.
# ----------------------------------------------------------------------


class Mark(NamedTuple):
    """How far an owner's happenings were told."""

    #: As `Head` has them.
    epoch: int
    change: int
    #: When that was, in microseconds since 1970.
    at_us: int


class Happened(NamedTuple):
    """One thing that happened to one memory."""

    change: int
    #: The memory.
    id: str
    tier: str
    kind: str
    #: "stored", "used", or what its history calls it: changed, confirmed, forgotten, ...
    action: str
    at_us: int


@dataclass(frozen=True, slots=True)
class Webhook:
    """An address that is told what happens."""

    id: str
    workspace: str
    #: None: what happens to every user of the workspace.
    user: str | None
    url: str
    #: Names of events; () is all of them.
    events: tuple[str, ...]
    created_at: datetime
    #: Deliveries that failed since the last that did not, and since when.
    failures: int = 0
    failing_since: datetime | None = None
    #: When it is called again.
    due: datetime | None = None
    #: Why the last delivery failed.
    error: str | None = None
    disabled_at: datetime | None = None
    #: What signs its deliveries; shown to nobody.
    secret: bytes = field(default=b"", repr=False)


class Verified(NamedTuple):
    """What a look at every line of a chain of the audit log gave."""

    #: The first number that is missing or whose line is not what was written.
    broken_at: int | None
    #: How many lines hold.
    lines: int
    #: The hash of the newest; None if there is none, if it breaks, or of several chains.
    head: str | None


@dataclass(frozen=True, slots=True)
class News:
    """An owner of whom a webhook was not told everything."""

    scope: Scope
    #: None: it was told nothing yet.
    told: Mark | None


#: The end of what has no end, in microseconds since 1970.
FOREVER_US = 1 << 62
#: Idempotency keys that begin with it are names that the caller gave: they are kept. No header can
#: carry the control character, and no door takes it: a caller's own key is never one of them.
EXTERNAL = "\x01external:"
#: So quiet that it is never searched.
LISTED = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """A record of another tier than `session`, ready to be stored: what was understood."""

    id: str
    tier: str
    kind: str
    content: str
    #: System fields, such as rule, condition, source and target.
    data: Metadata
    confidence: float
    importance: float
    origin: str
    #: As for `LogEntry`.
    terms: bytes
    length: int
    valid_from: datetime
    valid_to: datetime | None = None
    #: Ids of events of the same owner, most relevant first; others are left out. A record all of
    #: whose sources are unknown is not stored: they were wiped since.
    sources: tuple[str, ...]
    role: str
    name: str | None = None
    #: Records that hold no longer because of this one.
    supersedes: tuple[str, ...] = ()
    #: Records that had ended already, and held no longer than until this one began.
    shortens: tuple[str, ...] = ()
    #: Told by several: kept without the agent and the session of the one that writes it now.
    shared: bool = False
    #: 0: searched. 1: only when its tier is named. 2: listed, never searched, so never embedded.
    quiet: int = 0
    #: The caller's own, for what has no turn; None: that of its first source is shown.
    metadata: Metadata | None = None
    #: None, or "agent_only": for the agent that writes it and nobody else.
    visibility: str | None = None
    #: What the history of those it supersedes says: why, and the act.
    reason: str = ""
    ends: str = "superseded"  # or "invalidated"
    #: Of what is told again and fades: its strength from now on; None: as it is born.
    strength: float | None = None


def is_heard(tier: str, data: Metadata) -> bool:
    """Whether a record was only heard of in passing: part of the graph, no document of the search.

    It has neither terms nor vectors; who looks for it finds the turns it was heard in.
    """
    return tier == "graph" and data.get("heard") is True


def is_document(tier: str, data: Metadata, quiet: int) -> bool:
    """Whether a record is searched at all: what is only heard, or only listed, has no vectors."""
    return quiet < LISTED and not is_heard(tier, data)


def claim_of(record: Record | Derived) -> str | None:
    """What a record is a version of: the id of the first version, of a document its name and of an
    entry of the knowledge base its key. Turns and the graph have no versions."""
    if record.tier in ("session", "graph"):
        return None
    data = record.data
    if record.tier == "knowledge" and record.kind == "document":
        return claim_of_document(data.get("name", record.content))
    if record.tier == "knowledge" and record.kind == "entry":
        return claim_of_entry(data.get("key", ""))
    first = data.get("claim")
    return first if isinstance(first, str) and first else record.id


def claim_of_document(name: str) -> str:
    """What the versions of a document are versions of."""
    return f"document:{name}"


def claim_of_entry(key: str) -> str:
    """What the versions of an entry of the knowledge base are versions of."""
    return f"entry:{key}"


class IndexedRow(NamedTuple):
    """What a text gives: its index row, its kind, and for an event the records that follow."""

    terms: bytes
    length: int
    kind: str
    derived: tuple[Derived, ...] = ()


@dataclass(frozen=True, slots=True)
class LogEntry:
    """A message ready to be appended."""

    id: str
    role: str
    content: str
    at: datetime
    origin: str
    #: Term ids and counts of the indexed text, as `index.view.packed` makes them.
    terms: bytes
    #: Number of terms, with repeats.
    length: int
    name: str | None = None
    metadata: Metadata | None = None
    #: How the turn is treated: the system's own, kept with the event.
    data: Metadata = field(default_factory=dict)
    #: None, or "agent_only": for the agent that it is said to and nobody else.
    visibility: str | None = None
    #: "turn", or "instruction" when the turn holds a standing rule of the user.
    kind: str = "turn"
    #: What was understood at once; stored in the same transaction.
    derived: tuple[Derived, ...] = ()


@dataclass(frozen=True, slots=True)
class KeyUse:
    """An idempotency key and a digest of the body it came with."""

    key: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Appended:
    """What `append` did: new ids, or those of the first use of the key."""

    events: tuple[str, ...]
    duplicate: bool


@dataclass(frozen=True, slots=True)
class Head:
    """Where an owner's feed of changes stands."""

    #: Grows when rows were physically removed: a reader's copy must be thrown away.
    epoch: int
    #: Number of the last change.
    change: int
    #: Grows when a replica has taken the place of the server: changes that were seen may not be
    #: there. Known to this process alone.
    history: int = 0


class Change(NamedTuple):
    """The searchable side of one record, as it is now. A tuple: an index loads 100,000 at once."""

    change: int
    id: str
    kind: str
    forgotten: bool
    #: Arrival number: stable order for ties, newer is higher.
    order: int
    at_us: int
    #: Since when we know what it says now.
    known_us: int
    role: str
    name: str | None
    agent: str | None
    session: str | None
    origin: str
    length: int
    terms: bytes
    tier: str
    #: Ends of the valid and the known time, FOREVER_US when open.
    until_us: int
    known_until_us: int
    confidence: float
    #: The first source of a derived record.
    source: str | None
    #: When it was last seen or used, else when it was learned.
    seen_us: int
    #: As it was then; -1.0: never touched.
    strength: float
    quiet: int
    archived: bool
    #: Only for its agent (`visibility`).
    private: bool


@dataclass(frozen=True, slots=True)
class Space:
    """A vector space: one model, one dimension, one way to cut text into passages."""

    id: int
    model: str
    dim: int
    recipe: int
    state: str  # building | active | retired


class Vector(NamedTuple):
    """The embedding of one passage, float32 little-endian, unit length."""

    change: int
    record: str
    passage: int
    #: Digest of the passage's text: the same text of the same owner is not embedded twice.
    digest: bytes
    data: bytes


class VectorRows(NamedTuple):
    """Vectors one after another, all up to a change number."""

    #: Of each the record, 16 bytes, and its float32 numbers.
    records: bytes
    data: bytes
    until: int


_MOST_SPANS = 200


def spans(begin: int, end: int, width: int) -> list[tuple[int, int]]:
    """Change numbers cut into spans of at least this width, and not too many; one at least."""
    step = max(width, -(-(end - begin) // _MOST_SPANS))
    starts = [*range(begin, end, step)] or [begin]
    return [*zip(starts, [*starts[1:], end], strict=True)]


def without_words(data: Metadata) -> Metadata:
    """What the system keeps with a record, but for words of its turn beside its own."""
    return {name: value for name, value in data.items() if name != "before"}


#: What an index may write down: the feed of an owner as arrays, or sketches of its documents. Each
#: has its own, by the number of its first piece.
KEPT_FEED, KEPT_SKETCHES = 0, 1 << 20


class KeptIndex(NamedTuple):
    """What an index wrote down of an owner's feed up to a change number, in pieces."""

    change: int
    pieces: list[bytes]


# ----------------------------------------------------------------------
# Owners who are too large to be held in memory: the store names documents that may answer.
# ----------------------------------------------------------------------


class Counted(NamedTuple):
    """How many documents there are of a making, and their words in all."""

    documents: int
    words: float


class Frequency(NamedTuple):
    """How many documents, documents of people, windows of turns and sessions hold a term."""

    documents: int = 0
    people: int = 0
    windows: int = 0
    sessions: int = 0


@dataclass(frozen=True, slots=True)
class LargeOwner:
    """How far the documents of a large owner can be named, what there is of them, and how they are
    named."""

    change: int
    vector_change: int
    every: Counted
    people: Counted
    windows: Counted
    sessions: Counted
    #: For as long as it is open it sees one moment.
    reader: Callable[[], AbstractContextManager[LargeReader]] = field(repr=False, compare=False)


class Spot(NamedTuple):
    """Where a document of a large owner stands."""

    record: bytes
    session: str
    arrival: int
    length: int


class SignRows(NamedTuple):
    """The signs of vectors: of which documents, 16 bytes each, and a row of packed bits each, 1
    where a dimension is above zero."""

    records: bytes
    bits: NDArray[np.uint8]


class DocumentRows(NamedTuple):
    """Documents of a large owner, with a place in each array."""

    #: 16 bytes each.
    records: bytes
    #: A number made of the name of its session.
    sessions: NDArray[np.int64]
    arrivals: NDArray[np.int64]
    lengths: NDArray[np.int32]
    #: What it is: 1 a turn, 2 of a machine, 4 of the knowledge graph, 8 it only quotes one.
    kinds: NDArray[np.uint8]
    #: How many bytes of the terms are its own.
    sizes: NDArray[np.int32]
    terms: bytes


@dataclass(frozen=True, slots=True)
class Narrowed:
    """Which documents are asked for; nothing: all of them."""

    tiers: tuple[str, ...] = ()
    #: Column -> what it must be.
    texts: tuple[tuple[str, str], ...] = ()
    #: Said by then.
    until_us: int | None = None
    #: Said within one of these spans.
    within_us: tuple[tuple[int, int], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.tiers or self.texts or self.until_us is not None or self.within_us)


@dataclass(frozen=True, slots=True)
class QueueCounts:
    """How much there is to do."""

    ready: int = 0
    running: int = 0
    dead: int = 0
    #: Since when the job that waits longest could have been taken; None when none waits.
    oldest: datetime | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Trouble:
    """What is wrong with a store, for the operator."""

    words: str
    #: What is stored now would be lost.
    is_lost: bool = False


@dataclass(frozen=True, slots=True)
class ServerState:
    """How one of several servers fares that answer reads."""

    name: str
    #: How many it has answered to this process.
    reads: int
    #: How much of the log it had not replayed when it was last asked.
    behind_bytes: int = 0
    #: Why it answers none now; "" if it does.
    words: str = ""


class Health(NamedTuple):
    """How a store is."""

    #: Why nothing can be stored just now, or not all can be read; None: nothing is known to be
    #: wrong.
    trouble: Trouble | None = None
    #: Those that answer reads, as they last were, the one that takes writes first; none where that
    #: is the only one.
    servers: tuple[ServerState, ...] = ()


#: Who pays: all keys together.
ALL_KEYS = "*"


@dataclass(frozen=True, slots=True)
class Spent:
    """What models have cost an owner, or a key, on one day."""

    calls: int = 0
    prompt_tokens: int = 0
    answer_tokens: int = 0
    cost: float = 0.0

    @property
    def tokens(self) -> int:
        """Both kinds."""
        return self.prompt_tokens + self.answer_tokens


class Growth(NamedTuple):
    """How many records of a tier were learned on a day."""

    day: date
    tier: str
    learned: int
    #: How many of them hold: neither ended nor put aside.
    holding: int


class StoredKey(NamedTuple):
    """A key of the service and the digest of its secret."""

    key: ApiKey
    digest: bytes


@dataclass(frozen=True, slots=True)
class Share:
    """What an owner lets the users of another workspace see."""

    id: str
    #: Who granted it.
    scope: Scope
    #: The workspace that it was granted to.
    to: str
    segments: tuple[str, ...]
    permission: Role
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ContextNote:
    """What is kept of one context that was handed out."""

    id: str
    at: datetime
    query: str
    digest: bytes
    #: Compressed by the caller; a store does not look inside.
    body: bytes
    #: The owner's last change number when it was written; the store fills it in.
    change: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Lived:
    """What became of a turn after it was stored; for the fields see `Record`."""

    valid_to: datetime | None = None
    known_to: datetime | None = None
    seen_at: datetime | None = None
    archived_at: datetime | None = None
    strength: float | None = None
    uses: int = 0
    #: The day of the last use that was counted.
    used_on: date | None = None


@dataclass(frozen=True, slots=True)
class DumpedEvent:
    """An event with what was decided about it."""

    scope: Scope
    event: Event
    forgotten_at: datetime | None
    lived: Lived = Lived()


@dataclass(frozen=True, slots=True)
class DumpedRecord:
    """A derived record; metadata of its first source is left out, its own is not."""

    scope: Scope
    record: Record
    forgotten_at: datetime | None
    #: Hidden because every source is forgotten, not for its own sake.
    along: bool = False
    #: When its present text was learned, if it had another one before.
    said_from: datetime | None = None
    #: The day of the last use that was counted.
    used_on: date | None = None
    #: Stored without any turn, so it stands without one.
    written: bool = False


@dataclass(frozen=True, slots=True)
class DumpedAct:
    """A line of a record's history."""

    scope: Scope
    record: str
    #: Counts up from 1 per record: the same act is not loaded twice.
    number: int
    action: str
    at: datetime
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """What was answered to a request with an idempotency key."""

    #: A digest of what was asked.
    body: bytes
    status: int
    answer: bytes


@dataclass(frozen=True, slots=True)
class AuditLine:
    """One thing that was done, or refused, through the service."""

    at: datetime
    workspace: str
    #: The id of the key, or what acted without one.
    actor: str
    action: str
    #: "done" or "refused".
    outcome: str
    #: A digest of the user under the store's secret: no name is ever written.
    owner: str | None = None
    #: An id.
    subject: str | None = None
    seq: int = 0
    #: Of this line and, through the hash before it, of all that came before.
    hash: str = ""


@dataclass(frozen=True, slots=True)
class DumpedKey:
    """An idempotency key in use."""

    scope: Scope
    key: KeyUse
    events: tuple[str, ...]
    used_at: datetime


@dataclass(frozen=True, slots=True)
class DumpedVectors:
    """All passages of one record in one vector space, in order: (digest, data)."""

    scope: Scope
    model: str
    dim: int
    recipe: int
    record: str
    passages: tuple[tuple[bytes, bytes], ...]


@dataclass(frozen=True, slots=True)
class DumpedShare:
    """A share that was granted."""

    share: Share

    @property
    def scope(self) -> Scope:
        return self.share.scope


@dataclass(frozen=True, slots=True)
class DumpedTrust:
    """How much an agent of a workspace is trusted."""

    workspace: str
    agent: str
    trust: float
    at: datetime

    @property
    def scope(self) -> Scope:
        return Scope(self.workspace, TEAM)


Dumped = (
    DumpedEvent | DumpedRecord | DumpedAct | DumpedKey | DumpedVectors | DumpedShare | DumpedTrust
)
#: What a record keeps for search and what follows from it: of an event, or of a derived record.
Derive = Callable[[Event | Record], IndexedRow]
Progress = Callable[[int, int], None]
