"""The durable queue: leases, attempts counted before the call, whose turn it is, dead letters.

Owners who wait are served in a ring, however much one of them waits for. It is walked over an index
that begins with the owner, from one owner to the next, so a step costs the same beside one job of
another owner and beside a hundred thousand.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice, takewhile, zip_longest
from typing import Any

from holdfast.store.protocols import FOREVER_US, Derived, QueueCounts, Vector
from holdfast.store.sql.derived import Writing, is_stale, put_one
from holdfast.store.sql.engine import (
    JOB_NUMBER,
    Connection,
    StorePart,
    chunks,
    from_us,
    known_ids,
    marks,
    maybe_from_us,
    maybe_us,
    next_changes,
    owner_of,
    readable,
    to_id,
    to_us,
)
from holdfast.store.sql.log import all_current
from holdfast.types import Job, Scope

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


# ----------------------------------------------------------------------
# Jobs that are done together: the turns of one conversation, claimed and learned as one.
# ----------------------------------------------------------------------

#: Attempts beyond the last one, for a worker that then does without a model.
_MORE_ATTEMPTS = 2

#: Jobs looked at for a conversation that is complete.
_MOST_LOOKED = 2_000

#: Owner and number of a job, and the claim in which it is held.
_JobKey = tuple[int, int]
_HeldKey = tuple[int, int, int | None]
#: SQL: one job that is held.
_THIS = "owner = ? AND id = ? AND claim = ?"
#: Owner, session and agent.
_Conversation = tuple[int, str | None, str | None]


@dataclass(frozen=True, slots=True)
class _ClaimRequest:
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


class SqlGroups(StorePart):
    """The half of `Queue` that works on conversations, and whose turn it is."""

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
        asked = _ClaimRequest(step, most, moment, latest, quiet, waiting)
        # Looking costs nothing; only a due group is worth a write transaction.
        with self._pool.snapshot() as connection:
            is_due = is_lost(connection, step, moment) or is_ahead(connection, [step], moment)
            if not is_due and _next(connection, asked, self._turns.last(step))[0] is None:
                if "jobs" in self._pool.unread:
                    self._writer.run(_bury_unread)
                return []

        def work(connection: Connection) -> list[Job]:
            connection.lock("queue")
            bring_back(connection, [step], moment)
            hand_back(connection, step, moment, max_attempts + _MORE_ATTEMPTS)
            conversation, owner = _next(connection, asked, self._turns.last(step))
            self._turns.note(step, owner)
            jobs = [] if conversation is None else _of(connection, asked, conversation)
            return take_jobs(connection, jobs, moment + int(lease_s * 1e6))

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
        def work(connection: Connection) -> int | None:
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
                _delete(connection, mine)
            else:
                connection.executemany(
                    "UPDATE jobs SET state = 'dead', lease_until = NULL, error = ?, transient = ?"
                    f" WHERE {_THIS}",
                    ((error, int(transient), *job.key) for job in mine),
                )
            return len(mine)

        return self._writer.run(work)


def _next(
    connection: Connection, asked: _ClaimRequest, after: int
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
        return _oldest_group(connection, asked, None, waiting), waited.end
    owner = nearest(owners, after)
    if owner in waited.owners:
        return _oldest_group(connection, asked, owner, waiting), owner
    return (_again(connection, asked, owner) if owner in failed.owners else complete), owner


def _of(connection: Connection, asked: _ClaimRequest, conversation: _Conversation) -> list[_JobKey]:
    """Its jobs that may run now, in the order in which they were said, up to one that must run
    alone; or one of those."""
    # Jobs are numbered in the order of arrival.
    rows: list[Any] = connection.execute(
        "SELECT id, alone, deaths FROM jobs INDEXED BY jobs_group WHERE state = 'ready'"
        " AND at IS NOT NULL AND step = ? AND owner = ? AND session IS NOT DISTINCT FROM ?"
        " AND agent IS NOT DISTINCT FROM ?"
        " AND due <= ? ORDER BY at, id LIMIT ?",
        (asked.step, *conversation, asked.latest, asked.most),
    ).fetchall()
    owner = conversation[0]
    together = [(owner, id) for id, *_ in takewhile(lambda row: not row[1], rows)]
    if together:
        return together
    # Not always the same: a worker that is killed when it starts would always hold that one.
    alone = [(deaths, place, id) for place, (id, alone, deaths) in enumerate(rows) if alone]
    return [(owner, min(alone)[2])] if alone else []


def _oldest_group(
    connection: Connection, asked: _ClaimRequest, owner: int | None, latest: int
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


def _again(connection: Connection, asked: _ClaimRequest, owner: int) -> _Conversation | None:
    """The conversation of an owner's job that is due again after a failure."""
    row: Any = connection.execute(
        "SELECT owner, session, agent FROM jobs INDEXED BY jobs_again WHERE state = 'ready'"
        " AND attempts > 0 AND step = ? AND owner = ? AND due <= ? AND at IS NOT NULL"
        " ORDER BY due LIMIT 1",
        (asked.step, owner, asked.latest),
    ).fetchone()
    return row and (row[0], row[1], row[2])


def _complete(
    connection: Connection, asked: _ClaimRequest, after: int, until: int
) -> _Conversation | None:
    """A conversation with jobs enough, or to which nothing was added for a while, of the next owner
    that has one. What is far behind many that still go on is found when it has waited for long."""
    found: Any = connection.execute(
        "SELECT owner, session, agent, count(*) FROM (SELECT owner, session, agent, due"
        " FROM jobs INDEXED BY jobs_group WHERE state = 'ready' AND at IS NOT NULL AND step = ?"
        " AND owner > ? AND owner <= ? AND due <= ? ORDER BY owner, session, agent LIMIT ?) AS seen"
        " GROUP BY owner, session, agent HAVING count(*) >= ? OR max(due) <= ?"
        " ORDER BY owner, session, agent LIMIT 1",
        (asked.step, after, until, asked.latest, _MOST_LOOKED, asked.most, asked.quiet_since),
    ).fetchone()
    if found is None or (found[3] < asked.most and _is_going_on(connection, asked, found[:3])):
        return None
    return found[0], found[1], found[2]


def _is_going_on(connection: Connection, asked: _ClaimRequest, conversation: _Conversation) -> bool:
    """Whether something was just added to one of which perhaps only a part was seen."""
    found = connection.execute(
        "SELECT 1 FROM jobs INDEXED BY jobs_group WHERE state = 'ready' AND at IS NOT NULL"
        " AND step = ? AND owner = ? AND session IS NOT DISTINCT FROM ?"
        " AND agent IS NOT DISTINCT FROM ? AND due <= ? AND due > ?"
        " LIMIT 1",
        (asked.step, *conversation, asked.latest, asked.quiet_since),
    )
    return found.get is not None


def _bury_unread(connection: Connection) -> None:
    """A job of a conversation that cannot be read is a dead letter: everybody would wait for it."""
    session, agent = connection.as_bytes("session"), connection.as_bytes("agent")
    rows = connection.execute(f"SELECT id, {session}, {agent} FROM jobs WHERE state != 'dead'")
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


_JOB = (
    "j.id, o.workspace, o.user, j.agent, j.session, j.subject, j.step, j.attempts, j.state, j.due,"
    " j.error, j.transient"
)
#: No job is stored to be done so much later, in microseconds, and no lease is so long.
_A_DAY = 86_400_000_000
_UNTRIED = f"state = 'ready' AND step = ? AND due > ? + {_A_DAY} AND attempts = 0"
_LEASED = f"state = 'running' AND step = ? AND lease_until > ? + {_A_DAY}"


@dataclass(frozen=True, slots=True)
class _HeldJob(Job):
    """A job, and the claim in which it is held: by this alone one can tell whose it is."""

    claim: int | None = None
    #: The number of its owner: others may have a job with its number.
    owner: int = 0

    @property
    def key(self) -> _HeldKey:
        return self.owner, self.id, self.claim


class SqlQueue(StorePart):
    """`Queue`."""

    def claim(
        self,
        steps: Sequence[str],
        *,
        limit: int,
        now: datetime,
        lease_s: float,
        max_attempts: int,
        ignore_backoff: bool = False,
        turns: tuple[Scope, Sequence[str]] | None = None,
    ) -> list[Job]:
        moment = to_us(now)
        if turns is not None:
            return self._writer.run(
                lambda c: take_jobs(
                    c, _untried_jobs(c, steps, turns)[:limit], moment + int(lease_s * 1e6)
                )
            )
        latest = FOREVER_US if ignore_backoff else moment
        # Looking costs nothing; only a due job is worth a write transaction.
        with self._pool.reader() as connection:
            is_due = any(
                _oldest(connection, step, latest) or is_lost(connection, step, moment)
                for step in steps
            )
            if not is_due and not is_ahead(connection, steps, moment):
                return []

        def work(connection: Connection) -> list[Job]:
            connection.lock("queue")
            bring_back(connection, steps, moment)
            ids: list[_JobKey] = []
            for step in steps:
                hand_back(connection, step, moment, max_attempts)
                if len(ids) < limit:
                    ids += self._in_turn(connection, step, limit - len(ids), latest)
            return take_jobs(connection, ids, moment + int(lease_s * 1e6))

        return self._writer.run(work)

    def _in_turn(self, connection: Connection, step: str, limit: int, latest: int) -> list[_JobKey]:
        """Jobs that may run now: of every owner one, then of every owner the next. One that must
        run alone takes its turn with them: it may kill its worker, and must not cost others theirs.
        """
        alone: _JobKey | None = connection.execute(
            "SELECT owner, id FROM jobs INDEXED BY jobs_alone WHERE state = 'ready' AND alone = 1"
            " AND step = ? AND due <= ? ORDER BY deaths, id LIMIT 1",
            (step, latest),
        ).get
        after = self._turns.last(step)
        ring = walk(connection, TOGETHER, step, after=after, latest=latest, most=limit)
        owners = ring.owners
        if not owners and alone is None and (oldest := _oldest(connection, step, latest)):
            owners = [oldest]
        if alone is not None and not (owners and self._turns.was_alone(step)):
            self._turns.note(step, after, alone=True)
            return [alone]
        self._turns.note(step, ring.end)
        return _deal(connection, step, owners, limit, latest)

    def finish(self, jobs: Sequence[Job], *, space: int = 0, vectors: Sequence[Vector] = ()) -> int:
        def work(connection: Connection) -> int:
            owners = _lock_owners(connection, jobs)
            mine = still_mine(connection, jobs)
            subjects: dict[str, int] = {}
            for job in mine:
                owner = owners.get((job.scope.workspace, job.scope.user))
                if owner is None:
                    continue
                if subjects.setdefault(job.subject, owner) != owner and vectors:
                    raise ValueError("two owners have a record with this id: finish them apart")
            _write_vectors(
                connection, space, [v for v in vectors if v.record in subjects], subjects
            )
            _delete(connection, mine)
            return len(mine)

        return self._writer.run(work)

    def release(
        self,
        jobs: Sequence[Job],
        *,
        error: str | None = None,
        due: datetime | None = None,
        transient: bool = False,
        alone: bool = False,
    ) -> None:
        state = "dead" if error is not None and due is None else "ready"
        failed = ", error = ?, transient = ?" if error is not None else ", attempts = attempts - 1"
        values = [state, maybe_us(due), int(alone)]
        values += [] if error is None else [error, int(transient)]

        def work(connection: Connection) -> None:
            connection.executemany(
                "UPDATE jobs SET state = ?, due = coalesce(CAST(? AS BIGINT), due),"
                f" alone = max(alone, ?), lease_until = NULL{failed} WHERE {_THIS}",
                ((*values, *job.key) for job in still_mine(connection, jobs)),
            )

        self._writer.run(work)

    def jobs(
        self,
        *,
        states: Sequence[str] = ("ready", "running", "dead"),
        scope: Scope | None = None,
        subject: str | None = None,
        limit: int = 100,
    ) -> list[Job]:
        with self._pool.snapshot() as connection:
            which, whose = "", list[Any]()
            if scope is not None:
                which, whose = " AND j.owner = ?", [owner_of(connection, scope)]
            if subject is not None:
                which, whose = which + " AND j.subject = ?", [*whose, to_id(subject)]
            rows = connection.execute(
                f"SELECT {_JOB} FROM jobs j{' INDEXED BY jobs_subject' if which else ''}"
                f" JOIN owners o USING (owner) WHERE j.state IN ({marks(len(states))}){which}"
                " ORDER BY j.id LIMIT ?",
                (*states, *whose, limit),
            )
            return list(readable(lambda row: Job(*_fields(row)), rows))

    def counts(self, *, steps: Sequence[str] | None = None) -> QueueCounts:
        which = "TRUE" if steps is None else f"step IN ({marks(len(steps))})"
        with self._pool.snapshot() as connection:
            # Due at 0 says nothing of its age: somebody was in a hurry.
            rows: list[Any] = connection.execute(
                "SELECT state, count(*), min(iif(due > 0, due, NULL)) FROM jobs"
                f" WHERE {which} GROUP BY state",
                steps or (),
            ).fetchall()
        oldest = next((due for state, _, due in rows if state == "ready"), None)
        counts = {state: count for state, count, _ in rows}
        return QueueCounts(**counts, oldest=maybe_from_us(oldest))

    def hurry(self, scope: Scope, subjects: Sequence[str]) -> int:
        def work(connection: Connection) -> int:
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
            # Whenever a store is opened, and nearly never is there one: no transaction for that.
            with self._pool.reader() as connection:
                dead = f"SELECT 1 FROM jobs WHERE state = 'dead'{which} LIMIT 1"
                if connection.execute(dead, tuple(ids or ())).get is None:
                    return 0

        def work(connection: Connection) -> int:
            connection.execute(
                "UPDATE jobs SET state = 'ready', attempts = 0, deaths = 0, due = 0,"
                " lease_until = NULL"
                f" WHERE state = 'dead'{which}",
                tuple(ids or ()),
            )
            return connection.changes()

        return self._writer.run(work)

    def queue_turns(self, step: str, *, now: datetime, workspace: str | None = None) -> int:
        which = "" if workspace is None else " AND o.workspace = ?"

        def work(connection: Connection) -> int:
            connection.execute(
                "INSERT INTO jobs (id, owner, subject, step, due, session, agent, at) SELECT"
                f" {JOB_NUMBER.format(order='e.owner, e.arrival')}, e.owner, e.id, CAST(? AS TEXT),"
                " CAST(? AS BIGINT), e.session, e.agent, e.at FROM events e"
                " JOIN records r ON r.owner = e.owner AND r.id = e.id"
                " JOIN owners o ON o.owner = e.owner"
                " WHERE r.forgotten_at IS NULL AND NOT EXISTS (SELECT 1 FROM provenance p"
                " JOIN records d ON d.owner = p.owner AND d.id = p.record"
                " WHERE p.owner = e.owner AND p.event = e.id"
                " AND (d.forgotten_at IS NOT NULL"
                " OR (d.kind = 'doubtful' AND d.valid_to IS NOT NULL)))"
                f"{which} ORDER BY e.owner, e.arrival"
                " ON CONFLICT (owner, subject, step) DO NOTHING",
                (
                    *connection.job_ids(1),
                    step,
                    to_us(now),
                    *(() if workspace is None else (workspace,)),
                ),
            )
            return connection.changes()

        return self._writer.run(work, alone=True)


def _lock_owners(connection: Connection, jobs: Sequence[Job]) -> dict[tuple[str, str], int | None]:
    """The numbers of the owners of jobs, taken in one order by everybody: else two who finish jobs
    of the same owners would wait for each other."""
    scopes = {(job.scope.workspace, job.scope.user): job.scope for job in jobs}
    in_order = sorted(scopes.items(), key=lambda each: connection.new_owner(each[1]) or 0)
    return {name: connection.find_owner(scope) for name, scope in in_order}


def _untried_jobs(
    connection: Connection, steps: Sequence[str], turns: tuple[Scope, Sequence[str]]
) -> list[_JobKey]:
    """The untried jobs of some turns, in the order in which they were said."""
    owner, rows = owner_of(connection, turns[0]), list[Any]()
    for some in chunks(known_ids(turns[1])):
        rows += connection.execute(
            f"SELECT at, id, owner FROM jobs WHERE owner = ? AND step IN ({marks(len(steps))})"
            " AND state = 'ready' AND attempts = 0 AND alone = 0 AND at IS NOT NULL"
            f" AND subject IN ({marks(len(some))})",
            (owner, *steps, *some),
        )
    return [(owner, id) for _, id, owner in sorted(rows)]


def _oldest(connection: Connection, step: str, latest: int) -> int | None:
    """Whose job, if any is due, waits longest."""
    found: int | None = connection.execute(
        "SELECT owner FROM jobs WHERE state = 'ready' AND step = ? AND due <= ?"
        " ORDER BY due, owner, id LIMIT 1",
        (step, latest),
    ).get
    return found


def _deal(
    connection: Connection, step: str, owners: Sequence[int], limit: int, latest: int
) -> list[_JobKey]:
    """The jobs of some owners, dealt like cards: to each its oldest, then to each the next."""
    hands: list[list[_JobKey]] = []
    for place, owner in enumerate(owners):
        # Whoever has fewer leaves its share to the rest: no more than this can come to one.
        most = limit - (len(owners) - 1 - place) if len(owners) < limit else 1
        rows = connection.execute(
            "SELECT id FROM jobs INDEXED BY jobs_turn WHERE state = 'ready' AND step = ?"
            " AND owner = ? AND due <= ? AND alone = 0 ORDER BY due, id LIMIT ?",
            (step, owner, latest, most),
        )
        hands.append([(owner, row[0]) for row in rows])
    dealt = (job for cards in zip_longest(*hands) for job in cards if job is not None)
    return list(islice(dealt, limit))


def take_jobs(connection: Connection, ids: Sequence[_JobKey], lease: int) -> list[Job]:
    """Take these jobs together until `lease`: the attempt is counted. One that cannot be read, or
    whose owner cannot, is a dead letter: nobody could ever do it, and everybody would wait for it.
    """
    # A number that no other claim has; what it says does not matter.
    claim = secrets.randbits(62)
    connection.executemany(
        "UPDATE jobs SET state = 'running', attempts = attempts + 1, lease_until = ?,"
        " claim = ? WHERE owner = ? AND id = ? AND state = 'ready'",
        ((lease, claim, *each) for each in ids),
    )
    keys = [(*each, claim) for each in ids]
    jobs = _held_jobs(connection, set(keys))
    connection.executemany(
        f"UPDATE jobs SET state = 'dead', lease_until = NULL, error = ? WHERE {_THIS}",
        (
            ("the job or its owner cannot be read: see `holdfast doctor`", *key)
            for key in keys
            if key not in jobs
        ),
    )
    return [jobs[key] for key in keys if key in jobs]


def is_lost(connection: Connection, step: str, moment: int) -> bool:
    """Whether a worker let the lease of a job run out."""
    found = connection.execute(
        "SELECT 1 FROM jobs WHERE state = 'running' AND step = ? AND lease_until < ? LIMIT 1",
        (step, moment),
    )
    return found.get is not None


def hand_back(connection: Connection, step: str, moment: int, most_deaths: int) -> None:
    """Let jobs whose worker never answered be taken again, each by itself.

    A worker may be killed by anything. So what it held together with others costs no attempt: only
    of a job that it held alone one can say that it was there each time. One that was there
    `most_deaths` times is a dead letter.
    """
    if not is_lost(connection, step, moment):
        return
    rows: list[Any] = connection.execute(
        "SELECT owner, id, claim, lease_until < ? FROM jobs j"
        f" WHERE state = 'running' AND step = ?{connection.for_update}",
        (moment, step),
    ).fetchall()
    held = Counter(claim for *_, claim, _ in rows)
    lost = [
        (owner, id, int(claim is not None and held[claim] == 1))
        for owner, id, claim, over in rows
        if over
    ]
    connection.executemany(
        "UPDATE jobs SET state = 'ready', lease_until = NULL, alone = 1, deaths = deaths + ?,"
        " attempts = max(0, attempts - 1 + ?), due = iif(due > ?, 0, due)"
        " WHERE owner = ? AND id = ?",
        ((alone, alone, moment, owner, id) for owner, id, alone in lost),
    )
    connection.executemany(
        "UPDATE jobs SET state = 'dead',"
        " error = 'the worker died in each of ' || deaths || ' attempts'"
        " WHERE owner = ? AND id = ? AND deaths >= ?",
        ((owner, id, most_deaths) for owner, id, _ in lost),
    )


def is_ahead(connection: Connection, steps: Sequence[str], moment: int) -> bool:
    """Whether a job waits for a time that only a clock that ran ahead can have named."""
    for step in steps:  # One after another: the indexes are by step.
        waiting = connection.execute(f"SELECT 1 FROM jobs WHERE {_UNTRIED} LIMIT 1", (step, moment))
        leased = connection.execute(f"SELECT 1 FROM jobs WHERE {_LEASED} LIMIT 1", (step, moment))
        if waiting.get or leased.get:
            return True
    return False


def bring_back(connection: Connection, steps: Sequence[str], moment: int) -> None:
    """Let such jobs be taken now: the clock may never get there again."""
    values = [(step, moment) for step in steps]
    connection.executemany(f"UPDATE jobs SET due = 0 WHERE {_UNTRIED}", values)
    connection.executemany(f"UPDATE jobs SET lease_until = 0 WHERE {_LEASED}", values)


def _held_jobs(connection: Connection, keys: Collection[_HeldKey]) -> dict[_HeldKey, _HeldJob]:
    """Those of these jobs that are there, held in these claims."""
    found: dict[_HeldKey, _HeldJob] = {}
    for some in chunks(sorted({id for _, id, _ in keys})):
        rows = connection.execute(
            f"SELECT {_JOB}, j.claim, j.owner FROM jobs j JOIN owners o USING (owner)"
            f" WHERE j.id IN ({marks(len(some))}) ORDER BY j.owner, j.id{connection.for_update}",
            some,
        )
        held = {job.key: job for job in readable(_to_held_job, rows)}
        found |= {key: job for key, job in held.items() if key in keys}
    return found


def still_mine(connection: Connection, jobs: Sequence[Job]) -> list[_HeldJob]:
    """Those that nobody took over: another claim has another number."""
    keys = {job.key: None for job in jobs if isinstance(job, _HeldJob)}
    now = _held_jobs(connection, keys)
    return [now[key] for key in keys if key in now and now[key].state == "running"]


def _delete(connection: Connection, jobs: Sequence[_HeldJob]) -> None:
    connection.executemany(f"DELETE FROM jobs WHERE {_THIS}", (job.key for job in jobs))


def _write_vectors(
    connection: Connection, space: int, vectors: Sequence[Vector], owners: dict[str, int]
) -> None:
    first: dict[int, int] = {}
    for owner in sorted(set(owners.values())):  # In order, or two could wait for each other.
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


def _to_held_job(row: Sequence[Any]) -> _HeldJob:
    *fields, claim, owner = row
    return replace(_HeldJob(*_fields(fields)), claim=claim, owner=owner)


def _fields(row: Sequence[Any]) -> tuple[Any, ...]:
    """The fields of a job, in their order."""
    id, workspace, user, agent, session, subject, step, attempts, state, due, *rest = row
    scope = Scope(workspace, user, agent, session)
    error, transient = rest
    return (
        id, scope, subject.hex(), step, attempts, state, from_us(due), error, bool(transient),
    )  # fmt: skip
