"""Jobs that are done together: the turns of one conversation, claimed and learned as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from typing import Any

import apsw

from holdfast.store.base import FOREVER_US, Derived
from holdfast.store.sqlite.derived import Writing, is_stale, put_one
from holdfast.store.sqlite.jobs import (
    bring_back,
    claimed,
    hand_back,
    is_ahead,
    is_lost,
    still_mine,
)
from holdfast.store.sqlite.log import all_current
from holdfast.store.sqlite.rows import Part, chunks, known_ids, marks, owner_of, to_us
from holdfast.store.sqlite.turns import AGAIN, TOLD, nearest, walk
from holdfast.types import Job, Scope

#: Attempts beyond the last one, for a worker that then does without a model.
_MORE_ATTEMPTS = 2

#: Jobs looked at for a conversation that is complete.
_MOST_LOOKED = 2_000

#: Owner, session and agent.
_Conversation = tuple[int, str | None, str | None]


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a worker asks for; times in microseconds."""

    step: str
    most: int
    now: int
    #: Jobs that are due later stay where they are.
    latest: int
    #: A conversation is due when its newest job is older than this, or its oldest than that.
    quiet_since: int
    waiting_since: int

    @property
    def at_once(self) -> bool:
        return self.latest > self.now


class SqliteGroups(Part):
    """The half of `Queue` that works on conversations, on SQLite."""

    def claim_group(
        self,
        step: str,
        *,
        most: int,
        now: datetime,
        lease_s: float,
        max_attempts: int,
        quiet_s: float,
        wait_s: float,
        ignore_backoff: bool = False,
    ) -> list[Job]:
        moment = to_us(now)
        latest = FOREVER_US if ignore_backoff else moment
        quiet, waiting = moment - int(quiet_s * 1e6), moment - int(wait_s * 1e6)
        asked = _Asked(step, most, moment, latest, quiet, waiting)
        # Looking costs nothing; only a due group is worth a write transaction.
        with self._pool.snapshot() as connection:
            is_due = is_lost(connection, step, moment) or is_ahead(connection, [step], moment)
            if not is_due and _next(connection, asked, self._turns.last(step))[0] is None:
                if "jobs" in self._pool.unread:
                    self._writer.run(_bury_unread)
                return []

        def work(connection: apsw.Connection) -> list[Job]:
            bring_back(connection, [step], moment)
            hand_back(connection, step, moment, max_attempts + _MORE_ATTEMPTS)
            conversation, owner = _next(connection, asked, self._turns.last(step))
            self._turns.note(step, owner)
            jobs = [] if conversation is None else _of(connection, asked, conversation)
            return claimed(connection, jobs, moment + int(lease_s * 1e6))

        return self._writer.run(work)

    def claim_turns(
        self, scope: Scope, step: str, turns: Sequence[str], *, now: datetime, lease_s: float
    ) -> list[Job]:
        def work(connection: apsw.Connection) -> list[Job]:
            owner = owner_of(connection, scope)
            rows: list[Any] = []
            for some in chunks(known_ids(turns)):
                rows += connection.execute(
                    "SELECT at, id FROM jobs WHERE owner = ? AND step = ? AND state = 'ready'"
                    " AND attempts = 0 AND alone = 0 AND at IS NOT NULL"
                    f" AND subject IN ({marks(len(some))})",
                    (owner, step, *some),
                )
            return claimed(
                connection, [id for _, id in sorted(rows)], to_us(now) + int(lease_s * 1e6)
            )

        return self._writer.run(work)

    def learn(  # noqa: PLR0913 (the contract)
        self,
        scope: Scope,
        jobs: Sequence[Job],
        records: Sequence[Derived],
        *,
        known_at: datetime,
        steps: Sequence[str],
        error: str | None = None,
        transient: bool = False,
        since: int | None = None,
        tiers: Sequence[str] = ("graph",),
    ) -> int | None:
        def work(connection: apsw.Connection) -> int | None:
            owner = owner_of(connection, scope)
            mine = [
                job
                for job in still_mine(connection, jobs)
                if (job.scope.workspace, job.scope.user) == (scope.workspace, scope.user)
            ]
            if owner is None or not mine:
                return 0
            if is_stale(connection, owner, since, tiers):
                return None
            current = all_current(connection, steps)
            known = to_us(known_at)
            writing = Writing(owner, scope.agent, scope.session, known, current, learning=True)
            for derived in records:
                put_one(connection, writing, derived)
            if error is None:
                connection.executemany("DELETE FROM jobs WHERE id = ?", ((j.id,) for j in mine))
            else:
                connection.executemany(
                    "UPDATE jobs SET state = 'dead', lease_until = NULL, error = ?, transient = ?"
                    " WHERE id = ?",
                    ((error, int(transient), job.id) for job in mine),
                )
            return len(mine)

        return self._writer.run(work)


def _next(
    connection: apsw.Connection, asked: _Asked, after: int
) -> tuple[_Conversation | None, int]:
    """A conversation that may be read now, of the owner whose turn it is; and who had it then."""
    step, waiting = asked.step, asked.latest if asked.at_once else asked.waiting_since
    waited = walk(connection, TOLD, step, after=after, latest=waiting)
    failed = walk(connection, AGAIN, step, after=after, latest=asked.latest)
    complete = _complete(connection, asked, after, FOREVER_US) or _complete(
        connection, asked, -1, after
    )
    owners = [*waited.owners, *failed.owners, *(complete or ())[:1]]
    if not owners:
        return _oldest(connection, asked, None, waiting), waited.end
    owner = nearest(owners, after)
    if owner in waited.owners:
        return _oldest(connection, asked, owner, waiting), owner
    return (_again(connection, asked, owner) if owner in failed.owners else complete), owner


def _of(connection: apsw.Connection, asked: _Asked, conversation: _Conversation) -> list[int]:
    """Its jobs that may run now, in the order in which they were said, up to one that must run
    alone; or one of those."""
    # Jobs are numbered in the order of arrival.
    rows: list[Any] = connection.execute(
        "SELECT id, alone, deaths FROM jobs INDEXED BY jobs_group WHERE state = 'ready'"
        " AND at IS NOT NULL AND step = ? AND owner = ? AND session IS ? AND agent IS ?"
        " AND due <= ? ORDER BY at, id LIMIT ?",
        (asked.step, *conversation, asked.latest, asked.most),
    ).fetchall()
    together = [id for id, *_ in takewhile(lambda row: not row[1], rows)]
    if together:
        return together
    # Not always the same: a worker that is killed when it starts would always hold that one.
    alone = [(deaths, place, id) for place, (id, alone, deaths) in enumerate(rows) if alone]
    return [min(alone)[2]] if alone else []


def _oldest(
    connection: apsw.Connection, asked: _Asked, owner: int | None, latest: int
) -> _Conversation | None:
    """The conversation of the job that waits longest: of an owner, or of all."""
    whose = "" if owner is None else " INDEXED BY jobs_turn"
    which = "" if owner is None else " AND owner = ?"
    row: Any = connection.execute(
        f"SELECT owner, session, agent FROM jobs{whose} WHERE state = 'ready' AND step = ?{which}"
        " AND due <= ? AND at IS NOT NULL ORDER BY due, owner, id LIMIT 1",
        (asked.step, *(() if owner is None else (owner,)), latest),
    ).fetchone()
    return row and (row[0], row[1], row[2])


def _again(connection: apsw.Connection, asked: _Asked, owner: int) -> _Conversation | None:
    """The conversation of an owner's job that is due again after a failure."""
    row: Any = connection.execute(
        "SELECT owner, session, agent FROM jobs INDEXED BY jobs_again WHERE state = 'ready'"
        " AND attempts > 0 AND step = ? AND owner = ? AND due <= ? AND at IS NOT NULL"
        " ORDER BY due LIMIT 1",
        (asked.step, owner, asked.latest),
    ).fetchone()
    return row and (row[0], row[1], row[2])


def _complete(
    connection: apsw.Connection, asked: _Asked, after: int, until: int
) -> _Conversation | None:
    """A conversation with jobs enough, or to which nothing was added for a while, of the next owner
    that has one. What is far behind many that still go on is found when it has waited for long."""
    found: Any = connection.execute(
        "SELECT owner, session, agent, count(*) FROM (SELECT owner, session, agent, due"
        " FROM jobs INDEXED BY jobs_group WHERE state = 'ready' AND at IS NOT NULL AND step = ?"
        " AND owner > ? AND owner <= ? AND due <= ? ORDER BY owner, session, agent LIMIT ?)"
        " GROUP BY owner, session, agent HAVING count(*) >= ? OR max(due) <= ? LIMIT 1",
        (asked.step, after, until, asked.latest, _MOST_LOOKED, asked.most, asked.quiet_since),
    ).fetchone()
    if found is None or (found[3] < asked.most and _is_going_on(connection, asked, found[:3])):
        return None
    return found[0], found[1], found[2]


def _is_going_on(connection: apsw.Connection, asked: _Asked, conversation: _Conversation) -> bool:
    """Whether something was just added to one of which perhaps only a part was seen."""
    found = connection.execute(
        "SELECT 1 FROM jobs INDEXED BY jobs_group WHERE state = 'ready' AND at IS NOT NULL"
        " AND step = ? AND owner = ? AND session IS ? AND agent IS ? AND due <= ? AND due > ?"
        " LIMIT 1",
        (asked.step, *conversation, asked.latest, asked.quiet_since),
    )
    return found.get is not None


def _bury_unread(connection: apsw.Connection) -> None:
    """A job of a conversation that cannot be read is a dead letter: everybody would wait for it."""
    rows = connection.execute(
        "SELECT id, CAST(session AS BLOB), CAST(agent AS BLOB) FROM jobs WHERE state != 'dead'"
    )
    bad = [(row[0],) for row in rows if not all(map(_is_text, row[1:]))]
    connection.executemany(
        "UPDATE jobs SET state = 'dead', lease_until = NULL,"
        " error = 'the job cannot be read: see `holdfast doctor`' WHERE id = ?",
        bad,
    )


def _is_text(raw: bytes | None) -> bool:
    try:
        (raw or b"").decode()
    except UnicodeDecodeError:
        return False
    return True
