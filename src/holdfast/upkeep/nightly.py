"""The nightly round: over all owners in turn, one job after another, each a plan and then the acts.

In shadow mode, which is the default, the plans are only told. Otherwise every act is in the history
of the records it changed, with the run as its reason, and can be undone: what was put aside comes
back, what was put together stands apart again. Nothing is deleted, at most one record in a hundred
of an owner is put aside in a day, and what somebody brought back is left alone from then on. Run
twice it does what it does once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType

from holdfast.errors import InvalidInput, StoreError
from holdfast.index.packed import keep_grown
from holdfast.records.versions import exists
from holdfast.store.protocols import Derived, Store
from holdfast.types import Record, Scope
from holdfast.upkeep import consolidate
from holdfast.upkeep.plans import (
    CAPACITY,
    LIMIT,
    RETENTION,
    STALENESS,
    TIERS,
    Act,
    Done,
    plan_capacity,
    plan_retention,
    plan_staleness,
    quota,
    standing,
)

log = logging.getLogger("holdfast.worker")

#: In this order.
JOBS: tuple[str, ...] = (
    "conflicts", consolidate.JOB, STALENESS, CAPACITY, RETENTION,
)  # fmt: skip
_OWNERS_AT_ONCE = 1000
_BROUGHT_BACK = frozenset({"unarchived", "reopened"})

#: Settles what agents disagree about, for one owner at a time and in the name of a run; the ids
#: it changed. And opens again what a run settled; the ids that came back.
Settle = Callable[[Scope, str], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Rules:
    """How the round is kept."""

    shadow: bool = True
    every_seconds: float = 86_400.0
    #: How many records of a tier an owner may have.
    limits: Mapping[str, int] = field(
        default_factory=lambda: MappingProxyType(dict.fromkeys(TIERS, LIMIT))
    )
    policy: str = "hybrid-v1"


class NightlyRound:
    """The round over a store."""

    def __init__(
        self,
        store: Store,
        *,
        rules: Rules | None = None,
        steps: Callable[[], Sequence[str]] = tuple,
        settle: Settle | None = None,
        unsettle: Settle | None = None,
    ) -> None:
        self._store = store
        self._rules = rules or Rules()
        self._steps = steps
        self._settle = settle
        self._unsettle = unsettle

    def run(
        self,
        *,
        now: datetime,
        names: Collection[str] | None = None,
        scope: Scope | None = None,
        shadow: bool | None = None,
    ) -> list[Done]:
        """The jobs that are due, or those named, for all owners or one; what each did.

        Only what is due by itself is noted as begun: to name a job is to run it now.
        """
        jobs = self._due(now) if names is None else _check_jobs(names)
        rules = self._rules if shadow is None else replace(self._rules, shadow=shadow)
        done = []
        for owner in self._owners() if scope is None else [scope]:
            for job in jobs:
                one = self._try_job(job, _owner(owner), now, rules)
                if one.acts or one.changed:
                    log.info("%s: %d planned, %d changed", job, len(one.acts), len(one.changed))
                    done.append(one)
        if names is None and scope is None:
            self._keep_indexes(now)
        return done

    def _keep_indexes(self, now: datetime) -> None:
        """Have the indexes of large owners written down that have grown: those of a process that
        runs for months are never loaded."""
        every = self._rules.every_seconds
        if self._store.begin_chore("nightly indexes", now=now, every_s=every):
            for owner in self._owners():
                keep_grown(self._store, _owner(owner))

    def undo(self, scope: Scope, run: str, *, now: datetime) -> list[str]:
        """Bring back what a run changed, given as `Done.run`; the ids that came back. What agents
        disagreed about is open again, for somebody to resolve: see `facts.conflicts`."""
        back = [] if self._unsettle is None else list(self._unsettle(scope, run))
        for record in self._records(scope):
            if record.archived_at is not None and _was_by(self._store, scope, record.id, run):
                back += self._store.archive(
                    scope, [record.id], at=now, reason=f"undo {run}", undo=True
                )
            made_of = record.data.get("consolidated_from")
            if isinstance(made_of, list) and record.known_to is None:
                back += self._split(scope, record.id, made_of, run, now)
        return back

    def restore(self, scope: Scope, ids: Sequence[str], *, now: datetime) -> list[str]:
        """Bring back single records that were put aside or that another one stands for."""
        back = self._store.archive(scope, ids, at=now, reason="by hand", undo=True)
        return back + self._store.end(scope, ids, valid_to=None, at=now, reason="by hand")

    def _split(
        self, scope: Scope, id: str, members: Sequence[str], run: str, now: datetime
    ) -> list[str]:
        if not any(_was_by(self._store, scope, each, run) for each in members):
            return []
        reason = f"undo {run}"
        self._store.end(scope, [id], at=now, valid_to=now, reason=reason)
        return self._store.end(scope, members, valid_to=None, at=now, reason=reason)

    def _due(self, now: datetime) -> list[str]:
        every = self._rules.every_seconds
        return [
            job for job in JOBS if self._store.begin_chore(f"nightly {job}", now=now, every_s=every)
        ]

    def _owners(self) -> Iterator[Scope]:
        last = None
        while found := self._store.owners(after=last, limit=_OWNERS_AT_ONCE):
            yield from found
            last = found[-1]

    def _try_job(self, job: str, scope: Scope, now: datetime, rules: Rules) -> Done:
        """One job for one owner. Whatever goes wrong with it is logged, and the next owner has
        their turn: a record that nobody can read must not keep the others from theirs."""
        try:
            return self._run_job(job, scope, now, rules)
        except StoreError:
            raise
        except Exception:
            log.exception("%s: stopped for one owner", job)
            return Done(_run(job, now), job, scope, now, (), shadow=rules.shadow)

    def _run_job(self, job: str, scope: Scope, now: datetime, rules: Rules) -> Done:
        done = Done(_run(job, now), job, scope, now, (), shadow=rules.shadow)
        if job == "conflicts":
            if self._settle is None or rules.shadow:
                return done
            return replace(done, changed=tuple(self._settle(scope, done.run)))
        records = self._records(scope)
        if not records:
            return done
        acts = self._plan(job, scope, records, now, rules)
        changed = [] if rules.shadow else self._apply(done, acts)
        return replace(done, acts=tuple(acts), changed=tuple(changed))

    def _plan(
        self, job: str, scope: Scope, records: list[Record], now: datetime, rules: Rules
    ) -> list[Act]:
        """What a job would do, cut to what may be done today."""
        left, every = quota(records, now=now), len(records)
        if job == consolidate.JOB:
            newest = consolidate.candidates(records)
            vectors = consolidate.vectors_of(self._store, scope, newest)
            return [
                act
                for act in consolidate.plan(newest, vectors)
                if act.record is not None and not exists(self._store, scope, act.record.id)
            ]
        if job == CAPACITY:
            acts = [
                act
                for tier, limit in rules.limits.items()
                for act in plan_capacity(
                    records, tier, now=now, most=every, limit=limit, policy=rules.policy
                )
            ]
        elif job == STALENESS:
            acts = plan_staleness(records, now=now, most=every)
        else:
            acts = plan_retention(records, now=now, most=every)
        return list(self._within_quota(scope, acts, left))

    def _within_quota(self, scope: Scope, acts: Sequence[Act], left: int) -> Iterator[Act]:
        """Reviews, and as many others as may be; not what somebody brought back before."""
        for act in acts:
            if act.deed != "archive":
                yield act
            elif left and not self._came_back(scope, act.ids):
                left -= 1
                yield act

    def _came_back(self, scope: Scope, ids: Sequence[str]) -> bool:
        lines = [line for id in ids for line in self._store.history(scope, id)]
        return any(line.action in _BROUGHT_BACK for line in lines)

    def _apply(self, done: Done, acts: Sequence[Act]) -> list[str]:
        changed: list[str] = []
        for act in acts:
            reason = f"{done.run}: {act.reason}"
            if act.deed == "archive":
                changed += self._store.archive(done.scope, act.ids, at=done.at, reason=reason)
            elif act.record is not None:
                changed += self._merge(done, act.record, reason)
        return changed

    def _merge(self, done: Done, record: Derived, reason: str) -> list[str]:
        """Let one record stand for others; what changed meanwhile is left for another night."""
        since = self._store.head(done.scope).change
        members = standing(self._store.get(done.scope, record.supersedes))
        if len(members) < len(record.supersedes):
            return []
        whose = replace(done.scope, agent=members[0].agent, session=members[0].session)
        stored = self._store.put(
            whose,
            [replace(record, reason=reason)],
            known_at=done.at,
            steps=self._steps(),
            since=since,
            tiers=TIERS,
        )
        return list(record.supersedes) if stored else []

    def _records(self, scope: Scope) -> list[Record]:
        """All that upkeep looks after, archived ones too."""
        return [
            record
            for tier in TIERS
            for record in self._store.listed(scope, tier=tier, archived=True)
        ]


def _run(job: str, now: datetime) -> str:
    return f"nightly {job} {now:%Y-%m-%dT%H:%M}"


def _check_jobs(names: Collection[str]) -> list[str]:
    for name in names:
        if name not in JOBS:
            raise InvalidInput(
                f"names: {name!r:.64} is not a job; known: {', '.join(JOBS)}", field="names"
            )
    return [job for job in JOBS if job in names]


def _owner(scope: Scope) -> Scope:
    return Scope(scope.workspace, scope.user)


def _was_by(store: Store, scope: Scope, id: str, run: str) -> bool:
    """Whether the last thing that happened to a record was done by a run."""
    lines = [line for line in store.history(scope, id) if line.note]
    return bool(lines) and str(lines[-1].note).startswith(f"{run}: ")
