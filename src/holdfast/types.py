"""The nouns. Frozen values; this module imports nothing of ours.

Ids are 128 bits, shown as 32 hex digits. Times are aware datetimes in UTC.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

Metadata = Mapping[str, Any]

#: Where a record lives. `session` holds what was said; the others hold what was derived from it.
ALL_TIERS: tuple[str, ...] = (
    "session", "fact", "note", "profile", "graph", "procedure", "knowledge", "workspace",
)  # fmt: skip

#: Who may speak, and the origin that the channel gives to what was said.
ORIGIN_OF_ROLE: Mapping[str, str] = {
    "user": "user", "assistant": "agent", "system": "agent", "tool": "tool",
}  # fmt: skip
ROLES: tuple[str, ...] = tuple(ORIGIN_OF_ROLE)

TEAM = ""  # The owner of what everybody in a workspace shares.

Action = Literal[
    "stored", "forgotten", "restored", "superseded", "changed", "confirmed",
    "invalidated", "reopened", "archived", "unarchived", "praised", "blamed",
]  # fmt: skip
State = Literal["stored", "processing", "done", "failed", "dead"]
Role = Literal["read", "write", "admin"]


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose memory is meant. Every store call takes one first; there is no "all"."""

    workspace: str
    user: str
    #: On a read: see what this agent wrote and what no agent wrote; None sees everything.
    agent: str | None = None
    #: A label on a write; on a read the session under way. It hides nothing.
    session: str | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """What was said, raw and append-only: the source of truth."""

    id: str
    #: Counts up per owner; the order inside a session is (at, arrival).
    arrival: int
    role: str
    content: str
    #: When it was said (valid time).
    at: datetime
    #: When we learned of it (known time).
    known_at: datetime
    origin: str
    name: str | None = None
    agent: str | None = None
    session: str | None = None
    metadata: Metadata = field(default_factory=dict)
    data: Metadata = field(default_factory=dict)  # How it is treated; see border/write_options.py.


@dataclass(frozen=True, slots=True)
class Record:
    """One memory: a view of its content with its times, its scalars and its sources."""

    id: str
    tier: str
    kind: str
    content: str
    valid_from: datetime
    valid_to: datetime | None
    known_from: datetime
    known_to: datetime | None
    origin: str
    confidence: float
    #: Event ids, most relevant first.
    sources: tuple[str, ...]
    role: str
    name: str | None = None
    agent: str | None = None
    session: str | None = None
    #: What the caller gave with it; of a derived record: with its first source.
    metadata: Metadata = field(default_factory=dict)
    importance: float = 0.5
    #: What the system keeps with a derived record: its rule, its condition, its entity, ...
    data: Metadata = field(default_factory=dict)
    #: When it was last seen, told or used again (known time); None = not since `known_from`.
    seen_at: datetime | None = None
    #: 0: searched. 1: only when its tier is named (it quotes its turn). 2: listed, never searched.
    quiet: int = 0
    #: Put aside by upkeep or by hand: in no search, restorable.
    archived_at: datetime | None = None
    #: How present it was at `seen_at` or, if it was never touched, None: as its tier is born.
    strength: float | None = None
    uses: int = 0  # In how many contexts it was told, counted once a day.
    visibility: str | None = None  # "agent_only": for the agent that wrote it
    labels: tuple[str, ...] = ()  # Names in `metadata` that a door put there, not the caller.


@dataclass(frozen=True, slots=True)
class Receipt:
    """What `remember` promises: these events are on disk."""

    #: In message order.
    events: tuple[str, ...]
    key: str | None = None
    #: True when this key had been used before with the same body: nothing was stored again.
    duplicate: bool = False
    state: State = "stored"
    #: What was changed on the way in, for example a NUL that became U+FFFD.
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Status:
    """How far one event has come."""

    event: str
    state: State
    #: Steps still to do, for example ("embed",).
    pending: tuple[str, ...] = ()
    #: The reason of the last failure.
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """A found record, its score, and why."""

    id: str
    content: str
    tier: str
    kind: str
    #: 0..1, comparable within one call.
    score: float
    confidence: float
    created_at: datetime
    metadata: Metadata = field(default_factory=dict)
    #: Event ids, most relevant first.
    sources: tuple[str, ...] = ()
    #: The metadata of each source, in the same order.
    source_metadata: tuple[Metadata, ...] = ()
    why: Mapping[str, Any] = field(default_factory=dict)
    role: str = "user"
    name: str | None = None
    session: str | None = None
    origin: str = "user"

    @property
    def is_rule(self) -> bool:
        """A standing instruction of the user, as a record of its own."""
        by_user = self.role == "user" and self.origin in ("user", "user_confirmed")
        return self.tier == "procedure" and self.kind == "instruction" and by_user


class Hits(list[Hit]):
    """Found memories, best first; `degraded` says which part of the search could not be asked."""

    degraded: tuple[str, ...] = ()
    #: What the caller asked for and did not get: settings of the call that do nothing.
    warnings: tuple[str, ...] = ()
    #: The task profile that weighed the tiers.
    task_profile: str = "general"


@dataclass(frozen=True, slots=True)
class Dropped:
    """A hit that is not in the context, and why: over budget, not relevant, says nothing, copy."""

    id: str
    tokens: int
    reason: str


@dataclass(frozen=True, slots=True)
class Context:
    """The packed block for the model, with what went in and what did not."""

    id: str
    text: str
    #: Exact cl100k_base tokens of `text`; never above the budget.
    tokens: int
    hits: tuple[Hit, ...]
    dropped: tuple[Dropped, ...] = ()
    task_profile: str = "general"
    #: How much of each hit the text tells: full, overview or headline.
    levels: tuple[str, ...] = ()
    #: Settings of the call that do nothing.
    warnings: tuple[str, ...] = ()
    #: Tokens of each hit in the text; headings, dates and the frame are beside them.
    hit_tokens: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Considered:
    """A hit as the ledger keeps it: what spoke for it and what became of it, not its text."""

    id: str
    tier: str
    kind: str
    #: Whose word it is: user, agent, tool, ...
    origin: str
    score: float
    why: Mapping[str, Any]
    #: How much of it was told: full, overview or headline; None when it was left out.
    level: str | None = None
    #: Why it was left out, and the tokens it would have taken in full.
    reason: str | None = None
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Explained:
    """A context that was handed out, as the ledger keeps it."""

    id: str
    #: When it was made.
    at: datetime
    query: str
    #: SHA-256 of its text in UTF-8, in hex.
    digest: str
    #: Everything that was found, best first.
    candidates: tuple[Considered, ...]
    format: str
    packaging: str
    budget_tokens: int
    tokens: int
    task_profile: str
    #: The settings that were changed for this call.
    overrides: Mapping[str, Any]
    #: Which part of the search could not be asked.
    degraded: tuple[str, ...]
    limit: int
    filters: Mapping[str, str | bool]
    tiers: tuple[str, ...] | None
    now: datetime
    as_of: datetime | None
    known_at: datetime | None
    agent: str | None
    session: str | None


@dataclass(frozen=True, slots=True)
class Node:
    """An entity of the knowledge graph."""

    id: str
    name: str
    type: str
    #: The type it was given as, where that is none of ours.
    subtype: str | None = None
    aliases: tuple[str, ...] = ()
    summary: str = ""
    confidence: float = 1.0
    origin: str = "agent"
    #: Steps from the start of a walk.
    depth: int = 0
    #: How much it matters, 0..1; see the glossary.
    importance: float = 0.5
    #: How present it still is, 0..1: it fades when nobody speaks of it.
    strength: float = 1.0
    #: Ids of the turns it was learned from, the first first.
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Edge:
    """A relation between two entities, given by their ids."""

    id: str
    source: str
    type: str
    target: str
    #: The type it was given as, where that is none of ours.
    original: str | None = None
    #: The relation as a sentence.
    content: str = ""
    confidence: float = 1.0
    origin: str = "agent"
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    #: As of a node.
    importance: float = 0.5
    strength: float = 1.0
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Merge:
    """Two names that were taken for one entity. Undone, both stand as if it had never been."""

    id: str
    #: The entity that is shown, and the one that went into it; by id and by name.
    into: str
    into_name: str
    merged: str
    merged_name: str
    #: How alike they are, 0..1, and what spoke for it; 1 and "by hand" for one that a person made.
    score: float
    evidence: tuple[str, ...]
    at: datetime
    undone_at: datetime | None = None  # None while it holds.


@dataclass(frozen=True, slots=True)
class Subgraph:
    """What a walk found, nearest first."""

    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    #: For each node but the start the shortest way to it: names, and between them relations; one
    #: that is walked against its direction begins with an arrow.
    paths: tuple[tuple[str, ...], ...] = ()
    #: True when there was more than the limit.
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class GraphReceipt:
    """What `graph.write` promises: these records are on disk."""

    #: In the order given, then those that only relations named.
    entities: tuple[str, ...]
    #: In the order given.
    edges: tuple[str, ...]
    #: How many of both are new, and how many were known before.
    created: int = 0
    reinforced: int = 0
    #: What was changed on the way in, for example a NUL that became U+FFFD.
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Drained:
    """What one `drain` did."""

    done: int
    dead: int
    seconds: float
    #: Jobs left because the timeout came first.
    pending: int = 0


@dataclass(frozen=True, slots=True)
class Version:
    """One line of a record's history."""

    action: Action
    at: datetime
    #: None while the record is forgotten, and before its last change in place.
    content: str | None = None
    note: str | None = None  # Why.
    #: The record it belongs to: a claim that was changed has one for each version.
    record: str | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """One step to do for one record, durable until done."""

    id: int
    scope: Scope
    #: The event or the derived record it is about.
    subject: str
    step: str
    attempts: int
    state: Literal["ready", "running", "dead"] = "ready"
    #: Not before this time.
    due: datetime | None = None
    error: str | None = None
    #: True when the last failure may go away by itself.
    transient: bool = False


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key of the service, without its secret."""

    id: str
    workspace: str
    user: str | None  # None: every user of the workspace.
    role: Role
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    label: str | None = None
    tools: tuple[str, ...] | None = None  # Of the MCP server; None: all of them.
    tokens_a_day: int | None = None  # Of language models; None: what the service allows.


@dataclass(frozen=True, slots=True)
class Finding:
    """One invariant that `doctor` looked at."""

    check: str
    ok: bool
    detail: str
    #: True when `doctor --rebuild` can mend it.
    repairable: bool = False
