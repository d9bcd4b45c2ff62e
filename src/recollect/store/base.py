"""What every backend promises. `recollect.testing.StoreSuite` is these promises, executable.

Holds for every method of every part:
- A write that returned is on stable storage; a write that raised left nothing behind.
- No method that takes a scope returns, counts or changes anything of another (workspace, user).
- An id that is not in the scope is treated as an id that does not exist.
- Reads see every write that was acknowledged before they began, by any process.
- Lists are in a stated order; nothing found is an empty list, never None and never an error.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, Protocol

from recollect.types import ApiKey, Event, Finding, Job, Metadata, Record, Scope, Status, Version


@dataclass(frozen=True, slots=True)
class Entry:
    """A message ready to be appended."""

    id: str
    role: str
    content: str
    at: datetime
    origin: str
    #: Term ids and counts of the indexed text, as `index.postings.packed` makes them.
    terms: bytes
    #: Number of terms, with repeats.
    length: int
    name: str | None = None
    metadata: Metadata | None = None
    #: "turn", or "instruction" when the turn holds a standing rule of the user.
    kind: str = "turn"


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


class Change(NamedTuple):
    """The searchable side of one record, as it is now. A tuple: an index loads 100,000 at once."""

    change: int
    id: str
    kind: str
    forgotten: bool
    #: Arrival number: stable order for ties, newer is higher.
    order: int
    at_us: int
    known_us: int
    role: str
    name: str | None
    agent: str | None
    session: str | None
    length: int
    terms: bytes


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


@dataclass(frozen=True, slots=True)
class QueueCounts:
    """How much there is to do."""

    ready: int = 0
    running: int = 0
    dead: int = 0


@dataclass(frozen=True, slots=True)
class DumpedEvent:
    """An event with what was decided about it."""

    scope: Scope
    event: Event
    forgotten_at: datetime | None


@dataclass(frozen=True, slots=True)
class DumpedAct:
    """A line of a record's history."""

    scope: Scope
    record: str
    #: Counts up from 1 per record: the same act is not loaded twice.
    number: int
    action: str
    at: datetime


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


Dumped = DumpedEvent | DumpedAct | DumpedKey | DumpedVectors
#: Derives from an event what its record keeps for search: packed terms, their number, its kind.
MakeTerms = Callable[[Event], tuple[bytes, int, str]]
Progress = Callable[[int, int], None]


class Log(Protocol):
    """The append-only log of what was said."""

    def append(
        self,
        scope: Scope,
        entries: Sequence[Entry],
        *,
        known_at: datetime,
        steps: Sequence[str],
        key: KeyUse | None = None,
    ) -> Appended:
        """Store entries, their index rows and one job per entry and step: all of it or nothing.

        With a key that was used before: same body gives the ids of the first use and stores
        nothing; another body raises Conflict.
        """

    def events(self, scope: Scope, ids: Sequence[str]) -> list[Event]:
        """The events with these ids, in the order of `ids`; unknown and forgotten ones left out."""

    def scan(self, scope: Scope, *, after: int = 0, limit: int = 1000) -> list[Event]:
        """Events in order of arrival, after an arrival number; forgotten ones left out."""

    def status(self, scope: Scope, event: str) -> Status:
        """How far an event has come; NotFound for an unknown id."""

    def forget_keys(self, before: datetime) -> int:
        """Drop idempotency keys used before a time; how many."""


class Records(Protocol):
    """Memories, their visibility and their history."""

    def get(self, scope: Scope, ids: Sequence[str]) -> list[Record]:
        """The records with these ids, in that order; unknown and forgotten ones left out."""

    def forget(self, scope: Scope, record: str, *, at: datetime) -> bool:
        """Hide a record from every read; False when it was hidden already."""

    def restore(self, scope: Scope, record: str, *, at: datetime) -> bool:
        """Undo `forget`; False when it was not hidden."""

    def history(self, scope: Scope, record: str) -> list[Version]:
        """What happened to a record, oldest first; contents are withheld while it is forgotten."""

    def wipe(self, *, forgotten_before: datetime) -> int:
        """Physically remove what was forgotten before a time, with its events and vectors."""


class Feed(Protocol):
    """What a search index needs to follow an owner's records."""

    def head(self, scope: Scope) -> Head:
        """Where the feed stands; Head(0, 0) for an owner never seen."""

    def changes(self, scope: Scope, *, after: int) -> list[Change]:
        """Records changed after a change number, oldest change first, each once, as it is now."""

    def vectors(self, scope: Scope, space: int, *, after: int) -> list[Vector]:
        """Vectors written after a change number, oldest first."""

    def known_vectors(
        self, scope: Scope, space: int, digests: Collection[bytes]
    ) -> dict[bytes, bytes]:
        """Vectors this owner already has for passages with these digests."""

    def spaces(self) -> list[Space]:
        """All vector spaces, oldest first; at most one is active."""

    def use_space(self, model: str, dim: int, recipe: int) -> Space:
        """The space for a model, made when new: active if it is the first, else building, with
        one embed job for every record that has no vector there. dim 0 = not known yet: the space
        of that model whatever its dimension; naming the dimension later settles it."""

    def promote(self, space: int) -> bool:
        """Make a building space the active one if none of its embed jobs is left; True if it is
        active afterwards. The vectors of the space it replaces are removed."""


class Queue(Protocol):
    """Jobs. They carry ids, never content; the queue belongs to the operator, not to a user."""

    def claim(
        self,
        steps: Sequence[str],
        *,
        limit: int,
        now: datetime,
        lease_s: float,
        max_attempts: int,
        ignore_backoff: bool = False,
    ) -> list[Job]:
        """Take due jobs, oldest first. The attempt is counted durably before this returns. A job
        whose lease ran out is due again; one that used up its attempts becomes a dead letter."""

    def finish(self, jobs: Sequence[Job], *, space: int = 0, vectors: Sequence[Vector] = ()) -> int:
        """Write what the jobs made and remove them, in one transaction; how many were still ours.
        Writing the same output twice changes nothing."""

    def fail(self, job: Job, *, error: str, due: datetime | None, transient: bool = False) -> None:
        """Put a job back for a later try, or (due=None) among the dead letters."""

    def subjects(self, jobs: Sequence[Job]) -> dict[int, Event]:
        """The event of each job by the job's id, forgotten ones too; for the worker alone."""

    def release(self, jobs: Sequence[Job]) -> None:
        """Hand jobs back untried: the attempt is not counted."""

    def jobs(
        self, *, states: Sequence[str] = ("ready", "running", "dead"), limit: int = 100
    ) -> list[Job]:
        """Jobs in the order they were made."""

    def counts(
        self, *, subject: tuple[Scope, str] | None = None, steps: Sequence[str] | None = None
    ) -> QueueCounts:
        """How many jobs there are: of all or of one event, of all steps or of some."""

    def replay(self, ids: Collection[int] | None = None, *, transient_only: bool = False) -> int:
        """Make dead letters ready again with fresh attempts; how many."""


class Keys(Protocol):
    """Keys of the service; only a digest of the secret is kept."""

    def add_key(self, key: ApiKey, digest: bytes) -> None:
        """Store a key."""

    def find_key(self, digest: bytes) -> ApiKey | None:
        """The key with this digest, also if expired or revoked."""

    def api_keys(self) -> list[ApiKey]:
        """All keys, oldest first."""

    def revoke_key(self, key_id: str, *, at: datetime) -> bool:
        """Revoke a key; False when there is none or it was revoked before."""


class Upkeep(Protocol):
    """The operator's view of a whole store."""

    def check(self, make_terms: MakeTerms) -> list[Finding]:
        """Look at every invariant."""

    def use_terms(self, version: int, make_terms: MakeTerms) -> int:
        """Make index rows anew if another version of the recipe made them; how many changed."""

    def rebuild(self, make_terms: MakeTerms, *, steps: Sequence[str]) -> int:
        """Derive records and index rows anew from the events, drop derived rows without a source,
        and queue the steps that are missing; how many rows were mended."""

    def backup(self, path: Path, *, progress: Progress | None = None) -> None:
        """Copy the store to a new file while it is in use, then verify the copy."""

    def dump(self, *, vectors: bool = True) -> Iterator[Dumped]:
        """Everything but jobs and API keys, in a fixed order, from one snapshot."""

    def load(
        self, rows: Sequence[Dumped], make_terms: MakeTerms, *, steps: Sequence[str]
    ) -> list[bool]:
        """Store rows of `dump`, all or nothing; for each whether it was new."""

    def stats(self) -> dict[str, int]:
        """Counts: owners, events, forgotten, vectors, ready, running, dead."""

    def close(self) -> None:
        """Release everything; calling it twice is fine."""


class Store(Log, Records, Feed, Queue, Keys, Upkeep, Protocol):
    """A backend: all parts over one connection pool."""
