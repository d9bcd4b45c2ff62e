"""The verbs of `memory.facts`: add, list, change and take back facts, and settle what is unclear.

A fact never changes: a new version takes the place of the old one, which stays as history. What is
said of a fact is compared with what is known first, so adding the same twice adds nothing.
"""

from __future__ import annotations

import builtins
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, TypeVar

from holdfast.border import validate
from holdfast.border.validate import ORIGINS, whose
from holdfast.config import Limits
from holdfast.errors import InvalidInput, NotFound
from holdfast.language.claims.relate import Thresholds
from holdfast.language.statements.values import CATEGORIES, Dispute, Fact, FactDraft
from holdfast.records import parts
from holdfast.records.facts import doubtful_rules
from holdfast.records.facts.after_forget import FactsAfterForget
from holdfast.records.facts.disputes import PATIENCE, Disputes
from holdfast.records.facts.follow import TIER, FactCache, is_contradicting, is_unclear
from holdfast.records.facts.follow import OwnerFacts as Known
from holdfast.records.facts.judge import Opinion, nobody
from holdfast.records.facts.plan import (
    Alike,
    Embed,
    FactPlan,
    Likeness,
    Reading,
    Tools,
    added_id,
    answer_id,
    confirmed_version,
    edited_before,
    edited_version,
    is_answer,
    share,
)
from holdfast.records.facts.queries import MOST_LISTED
from holdfast.records.graph import check
from holdfast.records.parts import Background
from holdfast.records.versions import attempts, exists, first_id, once, was_taken_back
from holdfast.store.protocols import Derived, Store
from holdfast.types import Record, Scope

#: Tiers whose change makes a plan stale.
TIERS = ("graph", TIER)
_REASON_CHARS = 500
#: The seed's.
_IMPORTANCE = 0.5
_OLD_KEPT = "the known one was kept"
T = TypeVar("T")

_ROLES = {"user": "user", "user_confirmed": "user", "agent": "assistant"}


class Facts(FactsAfterForget):
    """The facts of a memory. Threads may share it."""

    def __init__(
        self,
        store: Store,
        worker: Background,
        *,
        now: Callable[[], datetime],
        embed: Embed | None = None,
        limits: Limits | None = None,
        thresholds: Thresholds | None = None,
    ) -> None:
        super().__init__(store, FactCache(store), now)
        self._worker = worker
        self._limits = limits or Limits()
        self._thresholds = thresholds or Thresholds()
        #: How alike texts are by their vectors.
        self.alike = Alike(embed)
        self._disputes = Disputes(store, self._shelf)
        #: All facts of the owners in use: what replaced what.
        self.known = self._shelf
        # Two writers in one process would only make each other plan again.
        self._writing = threading.Lock()

    # For the step that understands turns

    def planned(
        self,
        scope: Scope,
        drafts: Sequence[FactDraft],
        *,
        now: datetime,
        opinion: Opinion = nobody,
        likeness: Likeness | None = None,
        reading: Reading | None = None,
    ) -> list[Derived]:
        """What drafts make of the facts, not stored: for `store.learn(..., since=, tiers=TIERS)`,
        where `since` was read before this. The same again gives nothing; in doubt see `opinion`.
        Without a `likeness` the embedding model is waited for."""
        if not drafts:
            return []
        tools = replace(self._tools(scope, opinion, likeness), reading=reading)
        plan = FactPlan(self._shelf.of(scope), scope, now, tools)
        plan.add_found(drafts)
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
        origin: str | None = None,
        key: str | None = None,
    ) -> Fact:
        """Store a fact as far as it is new; `outcome` of the result says what became of it.

        noop: it was known, and that fact is given. clarify: it would end a fact, but not for
        certain; see `clarifications`. `key` makes a retry harmless.
        """
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        now, by = self._now(), whose(origin, scope.agent)
        draft, given = self.checked(
            text, category=category, confidence=confidence, metadata=metadata,
            at=now if at is None else at, origin=by,
        )  # fmt: skip
        asked = {"text": text, "category": category, "confidence": confidence, "origin": by}
        with once(
            self._store, scope, key, "facts.add",
            note=now.isoformat(), at=now, **asked, metadata=metadata, moment=at,
        ) as before:  # fmt: skip
            id = added_id(draft, now.isoformat() if before is None else before)
            made = self._stored(
                scope, lambda plan: plan.add(draft, id=id, metadata=given), dry=before is not None
            )
        record = next(iter(self._store.get(scope, [made.id] if made.id else [])), None)
        if record is None:
            raise NotFound("the fact that was stored is forgotten")
        outcome, why = made.outcome.action, made.outcome.reason
        if before is not None and made.id == id:
            outcome, why = record.data["outcome"], record.data["reason"]
        return replace(self._shown(scope, record), outcome=outcome, reason=why)

    def update(
        self,
        id: str,
        text: str,
        *,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
        origin: str | None = None,
        category: str | None = None,
        confidence: float | None = None,
    ) -> Fact:
        """Put another text in the place of a fact: a new version, which has its own id. Category
        and confidence stay as they are unless they are given."""
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        said = validate.checked_query(text, self._limits, "text").strip()
        by = check.choice(whose(origin, scope.agent), "origin", ORIGINS)
        about = None if category is None else check.choice(category, "category", CATEGORIES)
        sure = None if confidence is None else share(confidence, "confidence")

        def work(plan: FactPlan) -> str:
            record = self._record(scope, id)
            made = edited_before(
                self._versions(scope, record), record, said,
                origin=by, category=about, confidence=sure,
            )  # fmt: skip
            if made is not None:
                return made
            _check_changeable(record)
            if check.distrust(by) > check.distrust(record.origin):
                raise InvalidInput(
                    f"origin {by} cannot change what origin {record.origin} said",
                    field="origin",
                )
            return plan.put(
                edited_version(
                    record, said, origin=by, now=plan.now, category=about, confidence=sure
                )
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
            confidence=share(confidence, "confidence"),
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
            plan = FactPlan(Known(), scope, now, self._tools(scope))
            # By the state of the store, too: the same document twice is two.
            number = str(self._store.head(scope).change)
            made = [
                plan.add(
                    draft,
                    id=parts.digest("anew", draft.text, now.isoformat(), number, str(place)),
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
        undo: bool = False,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
    ) -> Fact:
        """Take a fact back: it holds no longer and stays as history. Twice changes nothing. `undo`
        lets one hold again that was taken back, unless another was told in its place since."""
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        why: object = reason
        if not isinstance(why, str) or len(why) > _REASON_CHARS:
            raise InvalidInput(
                f"reason must be a text of at most {_REASON_CHARS} characters", field="reason"
            )
        record = self._record(scope, id)
        now = self._now()
        until = None if undo else now
        if not undo or self._was_taken_back(scope, record):
            said = validate.storable(reason, "reason", [])
            self._store.end(scope, [record.id], at=now, valid_to=until, reason=said)
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
        """Settle a clarification: keep the new one (a rule: yes), the old one (no), or both; a
        contradiction by its later fact."""
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        check.choice(keep, "keep", ("new", "old", "both"))
        if (rule := doubtful_rules.find(self._store, scope, validate.word(id, "id"))) is not None:
            made = self._now(), self._worker.steps
            return doubtful_rules.answer(self._store, scope, rule, keep, made=made)
        if (before := self._answered(scope, id, keep)) is not None:
            return self.get(before, user=user, workspace=workspace, agent=agent)
        known = self._about(scope, self._asked(scope, id))
        if keep == "old":
            if not known:
                raise InvalidInput("keep: the known fact is gone; keep new or both", field="keep")
            now = self._now()
            self._store.end(scope, [id], at=now, valid_to=now, reason=_OLD_KEPT)
            return self.get(known[0], user=user, workspace=workspace, agent=agent)

        def work(plan: FactPlan) -> str:
            fact = self._asked(scope, id)
            return plan.put(confirmed_version(fact, keep=keep, about=self._about(scope, fact)))

        return self.get(self._stored(scope, work), user=user, workspace=workspace, agent=agent)

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

    def settle(
        self, scope: Scope, *, patience: timedelta = PATIENCE, run: str = ""
    ) -> builtins.list[str]:
        """Decide the conflicts of an owner that nobody resolved in time, by trust in the agents;
        the ids of those that are resolved now. For the nightly job, which is named by `run`."""
        return self._disputes.settle(scope, self._now(), patience, run=run)

    def unsettle(self, scope: Scope, run: str) -> builtins.list[str]:
        """Open again what a run settled; the ids that hold again."""
        return self._disputes.reopened(scope, run, self._now())

    # Inside

    def _tools(
        self, scope: Scope, opinion: Opinion = nobody, likeness: Likeness | None = None
    ) -> Tools:
        return Tools(
            exists=lambda id: exists(self._store, scope, id),
            taken_back=lambda record: was_taken_back(self._store, scope, record),
            likeness=likeness or self.alike.likeness,
            opinion=opinion,
            limits=self._thresholds,
        )

    def _stored(self, scope: Scope, work: Callable[[FactPlan], T], *, dry: bool = False) -> T:
        """Store what `work` plans; `dry`: plan it, no more."""
        with self._writing:
            for since in attempts(self._store, scope):
                now = self._now()
                plan = FactPlan(self._shelf.of(scope), scope, now, self._tools(scope))
                made = work(plan)
                records = [] if dry else plan.records()
                if not records or self._store.put(
                    scope, records, known_at=now, steps=self._worker.steps, since=since, tiers=TIERS
                ):
                    break
        self._worker.wake()
        return made

    def _about(self, scope: Scope, fact: Record) -> builtins.list[str]:
        """What an unclear fact would end, or another contradicts, in the versions that hold now."""
        facts = self._shelf.of(scope)
        about = fact.data.get("about") or fact.data.get("contradicts") or ()
        claims = {first_id(facts.records[each]) for each in about if each in facts.records}
        versions = [each for claim in sorted(claims) for each in self._versions(scope, claim)]
        return [each.id for each in versions if each.known_to is None and not is_unclear(each)]

    def _was_taken_back(self, scope: Scope, record: Record) -> bool:
        """Whether a fact was taken back and may hold again; False: it holds already."""
        if record.known_to is None:
            return False
        if not was_taken_back(self._store, scope, record):
            raise InvalidInput(f"{record.id} was replaced, not taken back", field="undo")
        if not is_unclear(record) and self._shelf.of(scope).is_replaced(record):
            raise InvalidInput(f"another fact holds in the place of {record.id}", field="undo")
        return True

    def _answered(self, scope: Scope, id: str, keep: str) -> str | None:
        """What holds since this very answer was given before; None: it was not."""
        fact = self._record(scope, id)
        if keep != "old":
            new = self._store.get(scope, [answer_id(id)])
            return new[0].id if new and is_answer(new[0], keep) else None
        lines = self._store.history(scope, id) if fact.known_to is not None else []
        known = self._about(scope, fact) if lines and lines[-1].note == _OLD_KEPT else []
        return known[0] if known else None

    def _asked(self, scope: Scope, id: str) -> Record:
        """The fact that waits for an answer: it is unclear, or contradicts one that holds too."""
        record = self._record(scope, id)
        waits = is_unclear(record) or (is_contradicting(record) and self._about(scope, record))
        if not waits or record.known_to is not None:
            raise InvalidInput(f"the fact {id} waits for no answer", field="id")
        return record


def _check_changeable(record: Record) -> None:
    if record.known_to is not None or is_unclear(record):
        raise InvalidInput(f"{record.id} is not in force: change the fact that is", field="id")
