"""Reading facts: one, those that hold or held, what happened to one, what waits for an answer."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from holdfast.border import validate
from holdfast.errors import NotFound
from holdfast.language.statements.values import CATEGORIES, Clarification, Contradiction, Fact
from holdfast.records.facts import doubtful_rules
from holdfast.records.facts.follow import (
    ANSWERED,
    CONFLICT,
    STATUSES,
    TIER,
    FactCache,
    held_then,
    is_shown,
    is_unclear,
    status,
    to_fact,
)
from holdfast.records.graph import check
from holdfast.records.versions import first_id, history_of
from holdfast.store.protocols import Store
from holdfast.types import Record, Scope, Version

MOST_LISTED = 10_000


class FactQueries:
    """The verbs that change nothing."""

    def __init__(self, store: Store, shelf: FactCache, now: Callable[[], datetime]) -> None:
        self._store = store
        self._shelf = shelf
        self._now = now

    def get(
        self,
        id: str,
        *,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
    ) -> Fact:
        """One fact; NotFound when there is none with this id."""
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        return self._shown(scope, self._record(scope, id))

    def list(
        self,
        *,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
        category: str | None = None,
        status: str = "active",
        as_of: datetime | str | None = None,
        known_at: datetime | str | None = None,
        limit: int = 100,
    ) -> builtins.list[Fact]:
        """The facts of a user, newest first: those that hold, or held at a time.

        With `as_of` or `known_at` the status is not looked at: what is given held then.
        """
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        check.choice(status, "status", STATUSES)
        most = validate.whole_number(limit, "limit", 1, MOST_LISTED)
        if category is not None:
            check.choice(category, "category", CATEGORIES)
        then = None if as_of is None else validate.moment(as_of, "as_of")
        known = None if known_at is None else validate.moment(known_at, "known_at")
        found = self._seen(scope, category)
        if then is None and known is None:
            if status in ("active", "unclear", "archived"):
                found = [each for each in found if each.known_to is None]
            shown = (self._shown(scope, each) for each in found)
            wanted = (each for each in shown if status in ("all", each.status))
        else:
            when: dict[str, Any] = {"now": self._now(), "as_of": then, "known_at": known}
            wanted = (self._shown(scope, each) for each in found if held_then(each, **when))
        return [each for each, _ in zip(wanted, range(most), strict=False)]

    def history(
        self,
        id: str,
        *,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
    ) -> builtins.list[Version]:
        """What happened to a fact in all its versions, oldest first, each line with its text."""
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        record = self._record(scope, id)
        versions = [each for each in self._versions(scope, record) if is_shown(each, scope)]
        return history_of(self._store, scope, versions)

    def clarifications(
        self,
        *,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
        limit: int = 100,
    ) -> builtins.list[Clarification]:
        """What waits for an answer, newest first: facts that would end others, and rules that may
        be part of a text that was handed over."""
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        most = validate.whole_number(limit, "limit", 1, MOST_LISTED)
        waiting = [
            each for each in self._seen(scope, None) if is_unclear(each) and each.known_to is None
        ]
        facts = [self._clarification(scope, each) for each in waiting[:most]]
        both = [*facts, *doubtful_rules.rules(self._store, scope)]
        return sorted(both, key=lambda each: each.at, reverse=True)[:most]

    def drawn_from(self, scope: Scope, turns: Iterable[str]) -> builtins.list[Fact]:
        """The facts that were drawn from some turns, in any state; one that was known before is
        among them if a turn said it again."""
        facts = self._shelf.of(scope)
        found = {each.id: each for turn in turns for each in facts.of_source(turn)}
        return [
            self._shown(scope, each)
            for each in found.values()
            if each.kind != CONFLICT and is_shown(each, scope)
        ]

    def contradictions(
        self,
        *,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
        limit: int = 100,
    ) -> builtins.list[Contradiction]:
        """Pairs of facts that cannot both be so and both hold, newest first; not those of which
        somebody said that both are so (`answer`)."""
        most = validate.whole_number(limit, "limit", 1, MOST_LISTED)
        active = self.list(user=user, workspace=workspace, agent=agent, limit=MOST_LISTED)
        # An answer makes a new version of the same words: it stands for the one asked about.
        holding = {
            id: each
            for each in active
            for id in (each.id, *(each.replaces[:1] if each.reason == ANSWERED else ()))
        }
        pairs = [
            Contradiction(holding[other], each)
            for each in active
            for other in each.contradicts
            if other in holding and each.reason != ANSWERED
        ]
        return pairs[:most]

    def _shown(self, scope: Scope, record: Record) -> Fact:
        return to_fact(record, status(self._store, scope, record, self._now()))

    def _seen(self, scope: Scope, category: str | None) -> builtins.list[Record]:
        """The facts that a caller may see, in any state, those said last first."""
        found = [
            each
            for each in builtins.list(self._shelf.of(scope).records.values())
            if is_shown(each, scope) and category in (None, each.kind)
        ]
        return sorted(found, key=lambda each: (each.valid_from, each.known_from, each.id))[::-1]

    def _record(self, scope: Scope, id: str) -> Record:
        found = self._store.get(scope, [validate.word(id, "id")])
        if not found or found[0].tier != TIER or not is_shown(found[0], scope):
            raise NotFound(f"there is no fact {id!r} in this scope")
        return found[0]

    def _versions(self, scope: Scope, fact: Record | str) -> builtins.list[Record]:
        """All versions of a fact, or of the one with this first id, those learned first first."""
        claim = fact if isinstance(fact, str) else first_id(fact)
        found = self._store.listed(scope, claim=claim, current=False, archived=True)
        return sorted(found, key=lambda each: (each.known_from, each.valid_from, each.id))

    def _clarification(self, scope: Scope, record: Record) -> Clarification:
        known = self._store.get(scope, [str(each) for each in record.data["about"]])
        old = " / ".join(each.content for each in known)
        return Clarification(
            id=record.id,
            question=f"Known: {old} New: {record.content} Which one holds?",
            new=self._shown(scope, record),
            known=tuple(self._shown(scope, each) for each in known if is_shown(each, scope)),
            reason=str(record.data.get("reason") or ""),
            at=record.known_from,
        )
