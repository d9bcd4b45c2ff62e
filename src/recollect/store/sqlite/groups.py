"""Jobs that are done together: the turns of one conversation, claimed and learned as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import apsw

from recollect.store.base import FOREVER_US, Derived
from recollect.store.sqlite.derived import Writing, is_stale, put_one
from recollect.store.sqlite.jobs import bring_back, claimed_jobs, is_ahead, still_mine
from recollect.store.sqlite.log import all_current
from recollect.store.sqlite.rows import Part, chunks, known_ids, marks, owner_of, to_us
from recollect.types import Job, Scope

#: Attempts beyond the last one, for a worker that then does without a model.
_MORE_ATTEMPTS = 2

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
            is_due = bool(_due(connection, asked))
            if not is_due and not is_ahead(connection, [step], moment):
                if "jobs" in self._pool.unread:
                    self._writer.run(_bury_unread)
                return []

        def work(connection: apsw.Connection) -> list[Job]:
            bring_back(connection, [step], moment)
            _bury(connection, asked, max_attempts + _MORE_ATTEMPTS)
            return _claimed(connection, _due(connection, asked), moment + int(lease_s * 1e6))

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
                    f" AND attempts = 0 AND at IS NOT NULL AND subject IN ({marks(len(some))})",
                    (owner, step, *some),
                )
            return _claimed(
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


def _claimed(connection: apsw.Connection, ids: Sequence[int], lease: int) -> list[Job]:
    """Take these jobs until `lease`: the attempt is counted."""
    # A number that no other claim has; what it says does not matter.
    claim = connection.execute("SELECT random()").get
    connection.executemany(
        "UPDATE jobs SET state = 'running', attempts = attempts + 1, lease_until = ?,"
        " claim = ? WHERE id = ?",
        ((lease, claim, each) for each in ids),
    )
    return claimed_jobs(connection, ids)


def _due(connection: apsw.Connection, asked: _Asked) -> list[int]:
    """The jobs of one conversation that may run now, in the order in which they were said."""
    left = _left_behind(connection, asked)
    if left:
        return left
    oldest: Any = connection.execute(
        "SELECT owner, session, agent, due, attempts FROM jobs WHERE state = 'ready' AND step = ?"
        " AND due <= ? AND at IS NOT NULL ORDER BY due, owner, id",
        (asked.step, asked.latest),
    ).fetchone()
    if oldest is None:
        return []
    jobs = _of(connection, asked, oldest[:3])
    is_due = asked.at_once or oldest[3] <= asked.waiting_since or oldest[4]
    if is_due or len(jobs) == asked.most:
        return jobs
    other = _again(connection, asked) or _complete(connection, asked)
    return _of(connection, asked, other) if other else []


def _of(connection: apsw.Connection, asked: _Asked, conversation: _Conversation) -> list[int]:
    # Jobs are numbered in the order of arrival.
    rows = connection.execute(
        "SELECT id FROM jobs INDEXED BY jobs_group WHERE state = 'ready' AND at IS NOT NULL"
        " AND step = ? AND owner = ? AND session IS ? AND agent IS ? AND due <= ?"
        " ORDER BY at, id LIMIT ?",
        (asked.step, *conversation, asked.latest, asked.most),
    )
    return [row[0] for row in rows]


def _left_behind(connection: apsw.Connection, asked: _Asked) -> list[int]:
    """Jobs that were claimed together and whose worker let the lease run out."""
    first: Any = connection.execute(
        "SELECT claim, owner, session, agent FROM jobs WHERE state = 'running' AND step = ?"
        " AND lease_until < ? AND at IS NOT NULL ORDER BY id",
        (asked.step, asked.now),
    ).fetchone()
    if first is None:
        return []
    rows = connection.execute(
        "SELECT id FROM jobs WHERE state = 'running' AND step = ? AND lease_until < ?"
        " AND claim IS ? AND owner = ? AND session IS ? AND agent IS ? ORDER BY at, id",
        (asked.step, asked.now, *first),
    )
    return [row[0] for row in rows]


def _again(connection: apsw.Connection, asked: _Asked) -> _Conversation | None:
    """The conversation of a job that is due again after a failure."""
    row: Any = connection.execute(
        "SELECT owner, session, agent FROM jobs INDEXED BY jobs_again WHERE state = 'ready'"
        " AND attempts > 0 AND step = ? AND due <= ? AND at IS NOT NULL ORDER BY due",
        (asked.step, asked.latest),
    ).fetchone()
    return row and (row[0], row[1], row[2])


def _complete(connection: apsw.Connection, asked: _Asked) -> _Conversation | None:
    """A conversation with jobs enough, or to which nothing was added for a while.

    One that has few jobs is looked at as a whole, one that has many is due: so this is quick.
    """
    row: Any = connection.execute(
        "SELECT owner, session, agent FROM jobs INDEXED BY jobs_group WHERE state = 'ready'"
        " AND at IS NOT NULL AND step = ? AND due <= ? GROUP BY owner, session, agent"
        " HAVING count(*) >= ? OR max(due) <= ?",
        (asked.step, asked.latest, asked.most, asked.quiet_since),
    ).fetchone()
    return row and (row[0], row[1], row[2])


def _bury_unread(connection: apsw.Connection) -> None:
    """A job of a conversation that cannot be read is a dead letter: everybody would wait for it."""
    rows = connection.execute(
        "SELECT id, CAST(session AS BLOB), CAST(agent AS BLOB) FROM jobs WHERE state != 'dead'"
    )
    bad = [(row[0],) for row in rows if not all(map(_is_text, row[1:]))]
    connection.executemany(
        "UPDATE jobs SET state = 'dead', lease_until = NULL,"
        " error = 'the job cannot be read: see `recollect doctor`' WHERE id = ?",
        bad,
    )


def _is_text(raw: bytes | None) -> bool:
    try:
        (raw or b"").decode()
    except UnicodeDecodeError:
        return False
    return True


def _bury(connection: apsw.Connection, asked: _Asked, most_attempts: int) -> None:
    """A job that killed its worker even without a model is a dead letter."""
    connection.execute(
        "UPDATE jobs SET state = 'dead', lease_until = NULL, error = coalesce(error,"
        " 'the worker died in each of ' || attempts || ' attempts')"
        " WHERE state = 'running' AND step = ? AND lease_until < ? AND attempts >= ?"
        " AND at IS NOT NULL",
        (asked.step, asked.now, most_attempts),
    )
