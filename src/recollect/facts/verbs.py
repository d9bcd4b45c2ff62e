"""The verbs of `memory.facts`: add, list, change and take back facts, and settle what is unclear.

A fact never changes: a new version takes the place of the old one, which stays as history. What is
said of a fact is compared with what is known first, so adding the same twice adds nothing.
"""

from __future__ import annotations

import builtins
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, TypeVar

from recollect.config import Limits
from recollect.errors import InvalidInput, NotFound, StoreBusy
from recollect.facts.alike import Alike, Embed
from recollect.facts.disputes import PATIENCE, Disputes
from recollect.facts.follow import TIER, Shelf, chain, is_unclear
from recollect.facts.follow import Facts as Known
from recollect.facts.judge import Judge
from recollect.facts.opinion import Opinions
from recollect.facts.plan import Made, Plan, Tools, hashed
from recollect.facts.reading import MOST_LISTED, Reading
from recollect.facts.relate import Thresholds
from recollect.facts.shown import is_version, status
from recollect.facts.values import (
    CATEGORIES,
    Dispute,
    Fact,
    FactDraft,
)
from recollect.facts.versions import answered, edited
from recollect.graph import check
from recollect.graph.merging import exists
from recollect.store.base import Derived, Store
from recollect.types import Record, Scope
from recollect.write import validate
from recollect.write.origins import ORIGINS
from recollect.write.worker import Worker

#: Tiers whose change makes a plan stale.
TIERS = ("graph", TIER)
_MOST_TRIES = 50
_REASON_CHARS = 500
_IMPORTANCE = 0.5
T = TypeVar("T")

_ROLES = {"user": "user", "user_confirmed": "user", "agent": "assistant"}


class Facts(Reading):
    """The facts of a memory. Threads may share it."""

    def __init__(
        self,
        store: Store,
        worker: Worker,
        *,
        now: Callable[[], datetime],
        embed: Embed | None = None,
        judge: Judge | None = None,
        limits: Limits | None = None,
        thresholds: Thresholds | None = None,
    ) -> None:
        super().__init__(store, Shelf(store), now)
        self._worker = worker
        self._limits = limits or Limits()
        self._thresholds = thresholds or Thresholds()
        self._alike = Alike(embed)
        self._opinions = Opinions(judge)
        self._disputes = Disputes(store, self._shelf)
        # Two writers in one process would only make each other plan again.
        self._writing = threading.Lock()

    # For the step that understands turns

    def planned(self, scope: Scope, drafts: Sequence[FactDraft], *, now: datetime) -> list[Derived]:
        """What drafts make of the facts, not stored: for `store.learn(..., since=, tiers=TIERS)`,
        where `since` was read before this. The same drafts again give nothing."""
        if not drafts:
            return []
        plan = self._plan(scope, now)
        plan.add_all(drafts)
        return plan.records()

    # Writing

    def add(  # noqa: PLR0913 (the public contract)
        self,
        text: str,
        *,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
        category: str = "context",
        confidence: float = 1.0,
        metadata: Mapping[str, Any] | None = None,
        at: datetime | str | None = None,
        origin: str = "user",
    ) -> Fact:
        """Store a fact as far as it is new; `outcome` of the result says what became of it.

        noop: it was known, and that fact is given. clarify: it would end a fact, but not for
        certain; see `clarifications`.
        """
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        now = self._now()
        draft, given = self.checked(
            text, category=category, confidence=confidence, metadata=metadata,
            at=now if at is None else at, origin=origin,
        )  # fmt: skip
        made = self._stored(scope, lambda plan: _added(plan, draft, given, now))
        (record,) = self._store.get(scope, [made.id]) if made.id else [None]
        if record is None:
            raise NotFound("the fact was forgotten while it was being stored")
        shown = self._shown(scope, record)
        return replace(shown, outcome=made.outcome.action, reason=made.outcome.reason)

    def update(
        self,
        id: str,
        text: str,
        *,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
        origin: str = "user",
        category: str | None = None,
        confidence: float | None = None,
    ) -> Fact:
        """Put another text in the place of a fact: a new version, which has its own id. Category
        and confidence stay as they are unless they are given."""
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        said = validate.checked_query(text, self._limits, "text").strip()
        check.choice(origin, "origin", ORIGINS)
        about = None if category is None else check.choice(category, "category", CATEGORIES)
        sure = None if confidence is None else _share(confidence, "confidence")

        def work(plan: Plan) -> str:
            record = self._changeable(scope, id)
            if check.distrust(origin) > check.distrust(record.origin):
                raise InvalidInput(
                    f"origin {origin} cannot change what origin {record.origin} said",
                    field="origin",
                )
            return plan.put(
                edited(record, said, origin=origin, now=plan.now, category=about, confidence=sure)
            )

        return self.get(self._stored(scope, work), user=user, workspace=workspace, agent=agent)

    # For a whole document of facts

    def checked(
        self,
        text: str,
        *,
        category: str,
        confidence: float,
        metadata: Mapping[str, Any] | None,
        at: datetime | str,
        origin: str,
        name: str = "text",
    ) -> tuple[FactDraft, dict[str, Any]]:
        """A fact that may be stored, and its metadata; an error calls the text by this name."""
        draft = FactDraft(
            text=validate.checked_query(text, self._limits, name).strip(),
            category=check.choice(category, "category", CATEGORIES),
            sources=(),
            origin=check.choice(origin, "origin", ORIGINS),
            at=validate.moment(at, "at"),
            confidence=_share(confidence, "confidence"),
            importance=_IMPORTANCE,
            verbatim=False,
            role=_ROLES.get(origin, "tool"),
        )
        return draft, validate.checked_metadata(metadata, "metadata", self._limits, [])

    def anew(
        self, scope: Scope, sent: Sequence[tuple[FactDraft, Mapping[str, Any]]]
    ) -> builtins.list[Fact]:
        """Store facts beside all that is known, at once: they meet each other and nothing else.
        Those of them that hold."""
        now = self._now()
        with self._writing:
            plan = Plan(Known(), scope, now, self._tools(scope))
            # By the state of the store, too: the same document twice is two.
            number = str(self._store.head(scope).change)
            made = [
                plan.add(
                    draft,
                    id=hashed("anew", draft.text, now.isoformat(), number, str(place)),
                    metadata=metadata,
                )
                for place, (draft, metadata) in enumerate(sent)
            ]
            self._store.put(scope, plan.records(), known_at=now, steps=self._worker.steps)
        self._worker.wake()
        ids = dict.fromkeys(each.id for each in made if each.id is not None)
        shown = [self._shown(scope, each) for each in self._store.get(scope, [*ids])]
        return [each for each in shown if each.status == "active"]

    def invalidate(
        self,
        id: str,
        *,
        reason: str = "",
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
    ) -> Fact:
        """Take a fact back: it holds no longer and stays as history. Twice changes nothing."""
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        why: object = reason
        if not isinstance(why, str) or len(why) > _REASON_CHARS:
            raise InvalidInput(
                f"reason must be a text of at most {_REASON_CHARS} characters", field="reason"
            )
        record = self._record(scope, id)
        now = self._now()
        self._store.end(
            scope,
            [record.id],
            at=now,
            valid_to=now,
            reason=validate.storable(reason, "reason", []),
        )
        return self.get(id, user=user, workspace=workspace, agent=agent)

    def answer(
        self,
        id: str,
        *,
        keep: str,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
    ) -> Fact:
        """Settle a clarification: keep the new fact, the old one, or both; what then holds."""
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        check.choice(keep, "keep", ("new", "old", "both"))
        known = self._about(scope, self._unclear(scope, id))
        if keep == "old":
            if not known:
                raise InvalidInput("keep: the known fact is gone; keep new or both", field="keep")
            now = self._now()
            why = "the known one was kept"
            self._store.end(scope, [id], at=now, valid_to=now, reason=why)
            return self.get(known[0], user=user, workspace=workspace, agent=agent)

        def work(plan: Plan) -> str:
            unclear = self._unclear(scope, id)
            return plan.put(answered(unclear, keep=keep, about=self._about(scope, unclear)))

        return self.get(self._stored(scope, work), user=user, workspace=workspace, agent=agent)

    # When turns and facts are forgotten

    def claims_of(self, scope: Scope, id: str) -> builtins.list[str]:
        """The claims that a turn, or a fact, has told a version of."""
        facts = self._shelf.of(scope)
        mine = [facts.records[id]] if id in facts.records else facts.of_source(id)
        return builtins.list(dict.fromkeys(map(chain, mine)))

    def recast(self, scope: Scope, claims: Sequence[str]) -> None:
        """Of each claim let the last version that is there hold, and it alone: others were
        forgotten, or came back."""
        for claim in claims:
            versions = [each for each in self._shelf.of(scope).versions(claim) if is_version(each)]
            ended = [each for each in versions if each.known_to is not None]
            taken_back = {each.id for each in ended if self._status(scope, each) == "invalidated"}
            there = [each for each in versions if each.id not in taken_back]
            if not there:
                continue
            last = max(there, key=lambda each: (each.valid_from, each.known_from, each.id))
            now = self._now()
            if last.known_to is not None:
                why = "what replaced it was forgotten"
                self._store.reopen(scope, [last.id], at=now, reason=why)
            others = [each.id for each in there if each.known_to is None and each is not last]
            self._store.end(
                scope, others, at=now, valid_to=last.valid_from, action="superseded",
                reason="what replaces it was restored",
            )  # fmt: skip

    def _status(self, scope: Scope, record: Record) -> str:
        return status(self._store, scope, record, self._now())

    # Disputes between agents

    def conflicts(
        self,
        *,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
        status: str = "open",
        limit: int = 100,
    ) -> builtins.list[Dispute]:
        """Where two agents hold different values of one attribute, newest first."""
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        check.choice(status, "status", ("open", "resolved", "all"))
        most = validate.whole_number(limit, "limit", 1, MOST_LISTED)
        return self._disputes.listed(scope, state=status, limit=most, now=self._now())

    def resolve(
        self,
        id: str,
        *,
        keep: str,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
    ) -> Dispute:
        """Settle a conflict: keep one of its facts by its id, or "both"."""
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        return self._disputes.resolve(scope, validate.word(id, "id"), str(keep), self._now())

    def settle(self, scope: Scope, *, patience: timedelta = PATIENCE) -> builtins.list[str]:
        """Decide the conflicts of an owner that nobody resolved in time, by trust in the agents;
        the ids of those that are resolved now. For the nightly job."""
        return self._disputes.settle(scope, self._now(), patience)

    # Inside

    def _plan(self, scope: Scope, now: datetime) -> Plan:
        return Plan(self._shelf.of(scope), scope, now, self._tools(scope))

    def _tools(self, scope: Scope) -> Tools:
        return Tools(
            exists=lambda id: exists(self._store, scope, id),
            likeness=self._alike.likeness,
            opinion=self._opinions.of,
            limits=self._thresholds,
        )

    def _tries(self, scope: Scope) -> Iterator[int]:
        """What a plan is made of, read before it is made: if a fact has changed meanwhile, nothing
        is stored and the plan is made again. Each failure is the success of another writer."""
        for _ in range(_MOST_TRIES):
            yield self._store.head(scope).change
        raise StoreBusy(f"other writers were faster {_MOST_TRIES} times; try again")

    def _stored(self, scope: Scope, work: Callable[[Plan], T]) -> T:
        """Store what `work` plans."""
        with self._writing:
            for since in self._tries(scope):
                now = self._now()
                plan = self._plan(scope, now)
                made = work(plan)
                records = plan.records()
                if not records or self._store.put(
                    scope, records, known_at=now, steps=self._worker.steps, since=since, tiers=TIERS
                ):
                    break
        self._worker.wake()
        return made

    def _changeable(self, scope: Scope, id: str) -> Record:
        record = self._record(scope, id)
        if record.known_to is not None or is_unclear(record):
            raise InvalidInput(f"the fact {id} is not in force: change the one that is", field="id")
        return record

    def _about(self, scope: Scope, unclear: Record) -> builtins.list[str]:
        """What an unclear fact would end, in the versions that hold now."""
        facts = self._shelf.of(scope)
        claims = {
            chain(facts.records[each])
            for each in map(str, unclear.data.get("about", ()))
            if each in facts.records
        }
        versions = [each for claim in sorted(claims) for each in facts.versions(claim)]
        return [each.id for each in versions if each.known_to is None and not is_unclear(each)]

    def _unclear(self, scope: Scope, id: str) -> Record:
        record = self._record(scope, id)
        if not is_unclear(record) or record.known_to is not None:
            raise InvalidInput(f"the fact {id} waits for no answer", field="id")
        return record


def _added(plan: Plan, draft: FactDraft, metadata: Mapping[str, Any], now: datetime) -> Made:
    """A fact without a turn: its id is of its text and the moment, so that it can be added again
    after it was taken back."""
    id = hashed("added", draft.text, draft.origin, now.isoformat())
    return plan.add(draft, id=id, metadata=metadata)


def _share(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidInput(f"{name} must be a number in 0..1, not {str(value)[:64]!r}", field=name)
    return float(value)
