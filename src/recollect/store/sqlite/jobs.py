"""The durable queue: leases, attempts counted before the call, dead letters."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

import apsw

from recollect.store.base import QueueCounts, Vector
from recollect.store.sqlite.log import EVENT, to_event
from recollect.store.sqlite.reading import readable
from recollect.store.sqlite.records import EVENT_OF, RECORD, to_record
from recollect.store.sqlite.rows import (
    Part,
    chunks,
    from_us,
    marks,
    next_changes,
    owner_of,
    to_id,
    to_us,
)
from recollect.types import Event, Job, Record, Scope

_JOB = (
    "j.id, o.workspace, o.user, j.agent, j.session, j.subject, j.step, j.attempts, j.state, j.due,"
    " j.error, j.transient"
)
#: No job is stored to be done so much later, in microseconds, and no lease is so long.
_A_DAY = 86_400_000_000
_UNTRIED = f"state = 'ready' AND step = ? AND due > ? + {_A_DAY} AND attempts = 0"
_LEASED = f"state = 'running' AND step = ? AND lease_until > ? + {_A_DAY}"


class SqliteQueue(Part):
    """`Queue` on SQLite."""

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
        moment = to_us(now)
        latest = (1 << 62) if ignore_backoff else moment
        # Looking costs nothing; only a due job is worth a write transaction.
        with self._pool.reader() as connection:
            is_due = _due(connection, steps, 1, moment, latest)
            if not is_due and not is_ahead(connection, steps, moment):
                return []

        def work(connection: apsw.Connection) -> list[Job]:
            bring_back(connection, steps, moment)
            _bury(connection, steps, moment, max_attempts)
            ids = _due(connection, steps, limit, moment, latest)
            lease = moment + int(lease_s * 1e6)
            connection.executemany(
                "UPDATE jobs SET state = 'running', attempts = attempts + 1, lease_until = ?"
                " WHERE id = ?",
                ((lease, each) for each in ids),
            )
            return claimed_jobs(connection, ids)

        return self._writer.run(work)

    def finish(self, jobs: Sequence[Job], *, space: int = 0, vectors: Sequence[Vector] = ()) -> int:
        def work(connection: apsw.Connection) -> int:
            mine = still_mine(connection, jobs)
            subjects: dict[str, int] = {}
            for job in mine:
                owner = owner_of(connection, job.scope)
                if owner is None:
                    continue
                if subjects.setdefault(job.subject, owner) != owner and vectors:
                    raise ValueError("two owners have a record with this id: finish them apart")
            _write_vectors(
                connection, space, [v for v in vectors if v.record in subjects], subjects
            )
            connection.executemany("DELETE FROM jobs WHERE id = ?", ((job.id,) for job in mine))
            return len(mine)

        return self._writer.run(work)

    def fail(self, job: Job, *, error: str, due: datetime | None, transient: bool = False) -> None:
        def work(connection: apsw.Connection) -> None:
            if still_mine(connection, [job]):
                connection.execute(
                    "UPDATE jobs SET state = ?, due = coalesce(?, due), lease_until = NULL,"
                    " error = ?, transient = ? WHERE id = ?",
                    (
                        "ready" if due else "dead",
                        to_us(due) if due else None,
                        error,
                        int(transient),
                        job.id,
                    ),
                )

        self._writer.run(work)

    def subjects(self, jobs: Sequence[Job]) -> dict[int, Event | Record]:
        columns = ", ".join("e." + column for column in EVENT.split(", "))
        found: dict[int, Event | Record] = {}
        with self._pool.snapshot() as connection:
            for some in chunks([job.id for job in jobs]):
                rows = connection.execute(
                    f"SELECT j.id, {columns} FROM jobs j"
                    " JOIN events e ON e.owner = j.owner AND e.id = j.subject"
                    f" WHERE j.id IN ({marks(len(some))})",
                    some,
                )
                found |= dict(readable(lambda row: (row[0], to_event(row[1:])), rows))
            for some in chunks([job.id for job in jobs if job.id not in found]):
                rows = connection.execute(
                    f"SELECT j.id, {RECORD} FROM jobs j"
                    f" JOIN records r ON r.owner = j.owner AND r.id = j.subject{EVENT_OF}"
                    f" WHERE j.id IN ({marks(len(some))}) AND r.tier != 'session'",
                    some,
                )
                found |= dict(readable(lambda row: (row[0], to_record(row[1:])), rows))
        return found

    def release(self, jobs: Sequence[Job], *, due: datetime | None = None) -> None:
        later = None if due is None else to_us(due)

        def work(connection: apsw.Connection) -> None:
            connection.executemany(
                "UPDATE jobs SET state = 'ready', attempts = attempts - 1, lease_until = NULL,"
                " due = coalesce(?, due) WHERE id = ?",
                ((later, job.id) for job in still_mine(connection, jobs)),
            )

        self._writer.run(work)

    def jobs(
        self, *, states: Sequence[str] = ("ready", "running", "dead"), limit: int = 100
    ) -> list[Job]:
        with self._pool.snapshot() as connection:
            rows = connection.execute(
                f"SELECT {_JOB} FROM jobs j JOIN owners o USING (owner)"
                f" WHERE j.state IN ({marks(len(states))}) ORDER BY j.id LIMIT ?",
                (*states, limit),
            )
            return list(readable(_to_job, rows))

    def counts(
        self, *, subject: tuple[Scope, str] | None = None, steps: Sequence[str] | None = None
    ) -> QueueCounts:
        which, values = "", []
        if steps is not None:
            which, values = f" AND step IN ({marks(len(steps))})", list[Any](steps)
        with self._pool.snapshot() as connection:
            if subject is not None:
                which += " AND owner = ? AND subject = ?"
                values += [owner_of(connection, subject[0]), to_id(subject[1])]
            counts: list[Any] = connection.execute(
                f"SELECT state, count(*) FROM jobs WHERE TRUE{which} GROUP BY state", values
            ).fetchall()
        return QueueCounts(**dict(counts))

    def hurry(self, scope: Scope, subjects: Sequence[str]) -> int:
        def work(connection: apsw.Connection) -> int:
            owner = owner_of(connection, scope)
            before = connection.total_changes()
            connection.executemany(
                "UPDATE jobs SET due = 0 WHERE owner = ? AND subject = ? AND state = 'ready'"
                " AND attempts = 0 AND due > 0",
                ((owner, to_id(each)) for each in subjects),
            )
            return connection.total_changes() - before

        return self._writer.run(work)

    def replay(self, ids: Collection[int] | None = None, *, transient_only: bool = False) -> int:
        which = "" if ids is None else f" AND id IN ({marks(len(ids))})"
        if transient_only:
            which += " AND transient = 1"

        def work(connection: apsw.Connection) -> int:
            connection.execute(
                "UPDATE jobs SET state = 'ready', attempts = 0, due = 0, lease_until = NULL"
                f" WHERE state = 'dead'{which}",
                tuple(ids or ()),
            )
            return connection.changes()

        return self._writer.run(work)


def _due(
    connection: apsw.Connection, steps: Sequence[str], limit: int, moment: int, latest: int
) -> list[int]:
    """Jobs that may run now: one whose worker let its lease run out, else those that are due.

    The one comes alone: it may have killed its worker, and must not cost others their attempts.
    """
    rows: list[Any] = connection.execute(
        "SELECT id FROM jobs WHERE state = 'running' AND lease_until < ?"
        f" AND step IN ({marks(len(steps))}) ORDER BY id LIMIT 1",
        (moment, *steps),
    ).fetchall()
    if rows:
        return [rows[0][0]]
    for step in steps:  # One after another: the index is by step.
        rows += connection.execute(
            "SELECT due, owner, id FROM jobs WHERE state = 'ready' AND step = ? AND due <= ?"
            " ORDER BY due, owner, id LIMIT ?",
            (step, latest, limit),
        ).fetchall()
    return [row[2] for row in sorted(rows)[:limit]]


def is_ahead(connection: apsw.Connection, steps: Sequence[str], moment: int) -> bool:
    """Whether a job waits for a time that only a clock that ran ahead can have named."""
    for step in steps:  # One after another: the indexes are by step.
        waiting = connection.execute(f"SELECT 1 FROM jobs WHERE {_UNTRIED} LIMIT 1", (step, moment))
        leased = connection.execute(f"SELECT 1 FROM jobs WHERE {_LEASED} LIMIT 1", (step, moment))
        if waiting.get or leased.get:
            return True
    return False


def bring_back(connection: apsw.Connection, steps: Sequence[str], moment: int) -> None:
    """Let such jobs be taken now: the clock may never get there again."""
    values = [(step, moment) for step in steps]
    connection.executemany(f"UPDATE jobs SET due = 0 WHERE {_UNTRIED}", values)
    connection.executemany(f"UPDATE jobs SET lease_until = 0 WHERE {_LEASED}", values)


def _bury(
    connection: apsw.Connection, steps: Sequence[str], moment: int, max_attempts: int
) -> None:
    """A job that used up its attempts and whose worker never answered is a dead letter."""
    connection.execute(
        "UPDATE jobs SET state = 'dead', lease_until = NULL, error = coalesce(error,"
        " 'the worker died in each of ' || attempts || ' attempts')"
        " WHERE state = 'running' AND lease_until < ? AND attempts >= ?"
        f" AND step IN ({marks(len(steps))})",
        (moment, max_attempts, *steps),
    )


def jobs_with(connection: apsw.Connection, ids: Sequence[int]) -> list[Job]:
    """The jobs with these ids, in that order."""
    found: dict[int, Job] = {}
    for some in chunks(ids):
        rows = connection.execute(
            f"SELECT {_JOB} FROM jobs j JOIN owners o USING (owner)"
            f" WHERE j.id IN ({marks(len(some))})",
            some,
        )
        found |= {job.id: job for job in readable(_to_job, rows)}
    return [found[each] for each in ids if each in found]


def claimed_jobs(connection: apsw.Connection, ids: Sequence[int]) -> list[Job]:
    """The jobs that were just claimed. One that cannot be read, or whose owner cannot, is a dead
    letter: nobody could ever do it, and everybody would wait for it."""
    jobs = jobs_with(connection, ids)
    unread = set(ids) - {job.id for job in jobs}
    connection.executemany(
        "UPDATE jobs SET state = 'dead', lease_until = NULL, error = ? WHERE id = ?",
        (("the job or its owner cannot be read: see `recollect doctor`", each) for each in unread),
    )
    return jobs


def still_mine(connection: apsw.Connection, jobs: Sequence[Job]) -> list[Job]:
    """Those that nobody took over: a claim by another worker has counted one attempt more."""
    tries = {job.id: job.attempts for job in jobs}
    now = jobs_with(connection, list(tries))
    return [job for job in now if job.state == "running" and job.attempts == tries[job.id]]


def _write_vectors(
    connection: apsw.Connection, space: int, vectors: Sequence[Vector], owners: dict[str, int]
) -> None:
    first: dict[int, int] = {}
    for owner in set(owners.values()):
        count = sum(1 for vector in vectors if owners[vector.record] == owner)
        first[owner] = next_changes(connection, owner, count) if count else 0
    for vector in vectors:
        owner = owners[vector.record]
        connection.execute(
            "INSERT INTO vectors (owner, space, record, passage, change, digest, data)"
            " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (owner, space, record, passage) DO NOTHING",
            (
                owner, space, bytes.fromhex(vector.record), vector.passage, first[owner],
                vector.digest, vector.data,
            ),
        )  # fmt: skip
        first[owner] += 1


def _to_job(row: Sequence[Any]) -> Job:
    return Job(
        id=row[0],
        scope=Scope(*row[1:5]),
        subject=row[5].hex(),
        step=row[6],
        attempts=row[7],
        state=row[8],
        due=from_us(row[9]),
        error=row[10],
        transient=bool(row[11]),
    )
