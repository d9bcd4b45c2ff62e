"""Whose turn it is: owners who wait are served in a ring, however much one of them waits for.

The ring is walked over an index that begins with the owner, from one owner to the next, so a step
costs the same beside one job of another owner and beside a hundred thousand.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice

from holdfast.store.sql.engine import Connection

#: So many owners are looked at for one whose jobs are due: then goes who waits longest, and the
#: next look begins where this one ended.
_MOST_OWNERS = 500
_LAST = 1 << 62

_WAITING = "FROM jobs INDEXED BY {index} WHERE state = 'ready'{which} AND step = :step"
_RING = (
    "WITH RECURSIVE ring (owner, place) AS ("
    f" SELECT (SELECT owner {_WAITING} AND owner > :after ORDER BY owner LIMIT 1), 1 UNION ALL"
    f" SELECT (SELECT owner {_WAITING} AND owner > ring.owner ORDER BY owner LIMIT 1), place + 1"
    f" FROM ring WHERE ring.owner <= :until AND place < {_MOST_OWNERS})"
    " SELECT owner, EXISTS"
    f" (SELECT 1 {_WAITING} AND owner = ring.owner AND due <= :latest{{only}})"
    " FROM ring WHERE owner <= :until"
)
#: Owners, and whether a job of theirs is due that may be claimed with others.
TOGETHER = _RING.format(index="jobs_turn", which="", only=" AND alone = 0")
#: Owners, and whether a job of a conversation is due.
TOLD = _RING.format(index="jobs_turn", which="", only=" AND at IS NOT NULL")
#: Owners of jobs that failed, and whether one of a conversation is due again.
AGAIN = _RING.format(index="jobs_again", which=" AND attempts > 0", only=" AND at IS NOT NULL")


@dataclass(frozen=True, slots=True)
class Ring:
    """What was seen on a walk from an owner on."""

    #: Those whose turn it is, in its order.
    owners: list[int]
    #: Whom the walk came to.
    end: int


@dataclass(slots=True)
class Turns:
    """Who had the last turn, by step, in this process; for the store's writer."""

    _last: dict[str, int] = field(default_factory=dict)
    _alone: set[str] = field(default_factory=set)

    def last(self, step: str) -> int:
        """The owner; 0 before the first turn."""
        return self._last.get(step, 0)

    def was_alone(self, step: str) -> bool:
        """Whether a job took it that must be claimed by itself."""
        return step in self._alone

    def note(self, step: str, owner: int, *, alone: bool = False) -> None:
        """It is the turn of the next one."""
        self._last[step] = owner
        (self._alone.add if alone else self._alone.discard)(step)


def walk(
    connection: Connection, sql: str, step: str, *, after: int, latest: int, most: int = 1
) -> Ring:
    """The next owners after one with jobs that are due by `latest`."""
    found: list[int] = []
    end = after
    left = _MOST_OWNERS
    for begin, until in ((after, _LAST), (-1, after)):
        asked = {"step": step, "after": begin, "until": until, "latest": latest}
        for owner, is_due in islice(connection.execute(sql, asked), left):
            end, left = owner, left - 1
            if is_due:
                found.append(owner)
            if len(found) == most:
                return Ring(found, end)
    return Ring(found, end)


def nearest(owners: list[int], after: int) -> int:
    """Whose turn it is first."""
    return min(owners, key=lambda owner: (owner <= after, owner))
