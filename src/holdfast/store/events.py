"""What happens to an owner's memories, as it is told to others: values that go in and out of a
store. No word of any memory is in them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from holdfast.types import Scope


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


@dataclass(frozen=True, slots=True)
class News:
    """An owner of whom a webhook was not told everything."""

    scope: Scope
    #: None: it was told nothing yet.
    told: Mark | None
