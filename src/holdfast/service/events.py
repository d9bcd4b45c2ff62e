"""What is told of what happens: one shape for the event stream and for webhooks.

`{"type": "memory.stored", "id": ..., "tier": ..., "kind": ..., "action": ..., "at": ...}`: which
memory and what became of it, never what it says. Who may read it asks for it by its id.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from holdfast.errors import InvalidInput
from holdfast.store.values import Happened

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: What may become of a memory; see docs/howto/webhooks.md.
ACTIONS = (
    "stored", "changed", "confirmed", "superseded", "invalidated", "reopened", "forgotten",
    "restored", "archived", "unarchived", "used", "praised", "blamed",
)  # fmt: skip
NAMES = frozenset(f"{noun}.{action}" for noun in ("memory", "fact") for action in ACTIONS)
#: Told by streams alone: no number counts it, so nobody can be told later what was missed.
BURIED = "job.dead"
_MOST_NAMES = 64


def name_of(happened: Happened) -> str:
    """Facts have names of their own: who keeps facts elsewhere wants nothing else."""
    return f"{'fact' if happened.tier == 'fact' else 'memory'}.{happened.action}"


def event(happened: Happened) -> dict[str, Any]:
    """One happening as it travels."""
    return {
        "type": name_of(happened),
        "id": happened.id,
        "tier": happened.tier,
        "kind": happened.kind,
        "action": happened.action,
        "at": moment(happened.at_us),
        "change": happened.change,
    }


def moment(at_us: int) -> str:
    """A time as it travels."""
    return (_EPOCH + timedelta(microseconds=at_us)).isoformat().replace("+00:00", "Z")


def microseconds(at: datetime) -> int:
    """Since 1970."""
    return (at - _EPOCH) // timedelta(microseconds=1)


def wanted(happened: Happened, names: Collection[str]) -> bool:
    """Whether somebody who asked for these names is told; no names are all of them."""
    return not names or name_of(happened) in names


def checked_names(names: Iterable[object], *, also: str = "") -> tuple[str, ...]:
    """Names of events that somebody asks for: `fact.superseded`, or `fact.*` for all of a noun."""
    field = "events"
    found: list[str] = []
    for name in list(names)[: _MOST_NAMES + 1]:
        if name in ("memory.*", "fact.*"):
            found += sorted(each for each in NAMES if each.startswith(str(name)[:-1]))
        elif isinstance(name, str) and (name in NAMES or name == also):
            found.append(name)
        else:
            raise InvalidInput(
                f"{field}: there is no event {str(name)[:64]!r}; there are memory.stored,"
                " memory.forgotten, fact.superseded and others: see docs/howto/webhooks.md",
                field=field,
            )
    return tuple(dict.fromkeys(found))
