"""The values of facts: what a reader finds, what a caller is shown."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime

from holdfast.types import Metadata

#: What a fact can be about.
CATEGORIES: tuple[str, ...] = (
    "preference", "correction", "context", "goal", "behavior", "identity", "constraint", "decision",
    "other",
)  # fmt: skip
#: What only the user can say of themselves: said by anybody else it is `other`.
USERS_OWN = frozenset({"identity", "constraint"})
#: Whose word counts as the user's.
BY_USER = frozenset({"user", "user_confirmed"})


@dataclass(frozen=True, slots=True)
class FactDraft:
    """A statement that a reader found in turns and that passed the gates."""

    text: str
    category: str
    #: Ids of the turns it was drawn from, the most telling first.
    sources: tuple[str, ...]
    #: The least of the origins of its sources.
    origin: str
    #: When it was said.
    at: datetime
    #: At most ten words.
    headline: str = ""
    keywords: tuple[str, ...] = ()
    #: Names of those it is about.
    entities: tuple[str, ...] = ()
    confidence: float = 1.0
    importance: float = 0.5
    #: The day it is about, and the time by which a plan is to be done.
    on: date | None = None
    due: datetime | None = None
    #: Of a correction: what was wrong.
    avoid: str = ""
    #: The words of its turn, not a model's.
    verbatim: bool = True
    #: Who said it: the role, and the name of the speaker if there is one.
    role: str = "user"
    name: str | None = None
    #: None, or "agent_only", as of the turns it was drawn from.
    visibility: str | None = None
    #: What was said just before it in its turn.
    before: str = ""
    #: The same where it is kept: the text is not clear without it, and the user said it.
    shown_before: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact as a caller is shown it."""

    id: str
    content: str
    category: str
    headline: str
    #: active, superseded, invalidated, unclear (it waits for an answer), archived
    status: str
    confidence: float
    importance: float
    origin: str
    valid_from: datetime
    valid_to: datetime | None
    known_from: datetime
    known_to: datetime | None
    keywords: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    #: Event ids, most relevant first.
    sources: tuple[str, ...] = ()
    #: Of a correction: what was wrong.
    avoid: str = ""
    due: datetime | None = None
    #: The id of the first version of this claim: the same for all its versions.
    claim: str = ""
    #: Facts that say otherwise and hold all the same.
    contradicts: tuple[str, ...] = ()
    agent: str | None = None
    session: str | None = None
    metadata: Metadata = field(default_factory=dict)
    #: Of what was just stored: add, noop, update, supersede, delete or clarify, and why.
    outcome: str = ""
    reason: str = ""
    #: Facts whose place it took.
    replaces: tuple[str, ...] = ()
    #: What stood before it in its turn, where it is not clear without that.
    before: str = ""


@dataclass(frozen=True, slots=True)
class Clarification:
    """A fact that would end another one, but not for certain: somebody has to say which holds."""

    #: Of the new fact: what `answer` takes.
    id: str
    question: str
    new: Fact
    #: What it would end.
    known: tuple[Fact, ...]
    reason: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two facts that cannot both be so, and both hold as far as anybody said."""

    earlier: Fact
    later: Fact


@dataclass(frozen=True, slots=True)
class Dispute:
    """Two agents that hold different values of one attribute."""

    id: str
    slot: str
    #: What they say, the earlier first, and which agent says it; None: it was said to no agent.
    facts: tuple[Fact, ...]
    agents: tuple[str | None, ...]
    #: open or resolved
    status: str
    at: datetime
    #: Why it is as it is, once it is resolved.
    note: str = ""
