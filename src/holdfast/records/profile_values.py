"""The user profile as a value, and as a DeerFlow memory document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from holdfast.language.statements.values import BY_USER, CATEGORIES, USERS_OWN
from holdfast.records.versions import first_id
from holdfast.types import Record

#: The six summaries, by the part of the document they stand in.
USER_SECTIONS: tuple[str, ...] = ("workContext", "personalContext", "topOfMind")
HISTORY_SECTIONS: tuple[str, ...] = ("recentMonths", "earlierContext", "longTermBackground")
SECTIONS = USER_SECTIONS + HISTORY_SECTIONS


@dataclass(frozen=True, slots=True)
class Field:
    """One thing that is known of the user."""

    name: str
    #: One, or several where there can be several: the newest first.
    values: tuple[str, ...]
    #: Event ids of the turns it was said in, and ids of the facts it was read from.
    sources: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    confidence: float = 1.0
    updated_at: datetime | None = None
    #: Set by hand: it stands whatever facts say, until it is cleared.
    is_set: bool = False

    @property
    def value(self) -> str:
        """The values on one line."""
        return ", ".join(self.values)


@dataclass(frozen=True, slots=True)
class Summary:
    """One of the six summaries."""

    text: str = ""
    updated_at: datetime | None = None
    #: Event ids of the turns it rests on.
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Profile:
    """What is known of a user, as one document."""

    user: str
    fields: Mapping[str, Field] = field(default_factory=dict)
    #: By name: workContext, personalContext, topOfMind, recentMonths, earlierContext,
    #: longTermBackground. All six are there, empty where there is nothing to tell.
    summaries: Mapping[str, Summary] = field(default_factory=dict)
    #: The facts that hold, those learned first first.
    facts: tuple[Record, ...] = ()
    #: Counts what was learned for this document, also what does not hold any more.
    revision: int = 0
    updated_at: datetime | None = None
    #: How often each claim was told anew, by its id.
    versions: Mapping[str, int] = field(default_factory=dict)
    agent: str | None = None

    @property
    def is_private(self) -> bool:
        """Whether there is something in it that its agent alone sees."""
        return any(record.visibility is not None for record in self.facts)

    def as_deerflow(self) -> dict[str, Any]:
        """The memory document as DeerFlow keeps it."""
        return {
            "version": "1.0",
            "revision": self.revision,
            "lastUpdated": _time(self.updated_at),
            "user": {name: self._section(name) for name in USER_SECTIONS},
            "history": {name: self._section(name) for name in HISTORY_SECTIONS},
            "facts": [self._fact(record) for record in self.facts],
        }

    def _section(self, name: str) -> dict[str, str]:
        summary = self.summaries.get(name, Summary())
        section = {"summary": summary.text, "updatedAt": _time(summary.updated_at)}
        # It may be made of any of the facts.
        if summary.text and self.is_private:
            section["visibility"] = "agent_only"
        return section

    def _fact(self, record: Record) -> dict[str, Any]:
        data = record.data
        fact: dict[str, Any] = {
            "id": record.id,
            "content": record.content,
            "category": category(record),
            "confidence": record.confidence,
            "createdAt": _time(record.valid_from),
            "updatedAt": _time(record.known_from),
            "source": record.session or ("unknown" if record.sources else "manual"),
            "topics": list(data.get("keywords") or ()),
            "schemaVersion": 2,
            "status": "active",
            "scope": {"userId": self.user, "agentName": record.agent or "__default__"},
            "revision": self.versions.get(first_id(record), 1),
        }
        if data.get("avoid"):
            fact["sourceError"] = data["avoid"]
        if record.visibility is not None:
            fact["visibility"] = record.visibility
        return fact


def category(record: Record) -> str:
    """What a fact is about. What only users can say of themselves is data from anybody else."""
    if record.kind not in CATEGORIES or (record.kind in USERS_OWN and record.origin not in BY_USER):
        return "other"
    return record.kind


def versions_by_claim(records: list[Record]) -> dict[str, int]:
    """How many versions there are of each claim."""
    return dict(Counter(map(first_id, records)))


def _time(at: datetime | None) -> str:
    return "" if at is None else at.isoformat().replace("+00:00", "Z")
