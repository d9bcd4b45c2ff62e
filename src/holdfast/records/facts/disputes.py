"""Disputes: two agents that hold different values of one attribute.

A fact of another agent is not this one's to end. So both hold, and a record of its own says so,
until somebody resolves it; what nobody resolves in a day is decided by how far the agents are
trusted. What is not kept is ended, not deleted, and can be opened again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from holdfast.errors import InvalidInput, NotFound
from holdfast.language.statements.values import BY_USER, Dispute
from holdfast.records.facts.follow import CONFLICT, TIER, FactCache, is_shown, status, to_fact
from holdfast.records.graph.check import distrust
from holdfast.records.shares import USUAL_TRUST
from holdfast.store.protocols import Store
from holdfast.types import Record, Scope

#: How long somebody has to resolve a dispute by hand. The seed's.
PATIENCE = timedelta(hours=24)
_RESOLVED = "resolved: "


def winner(
    facts: Sequence[Record],
    trust: Mapping[str, float],
    *,
    since: datetime,
    now: datetime,
    patience: timedelta = PATIENCE,
) -> str | None:
    """The fact that holds by the trust in its agent, of equals the one said later; None while there
    is time, and where neither says more for itself."""
    if now - since < patience or len(facts) < 2:
        return None
    ranked = sorted(
        ((trust.get(each.agent or "", USUAL_TRUST), each.valid_from, each.id) for each in facts),
        reverse=True,
    )
    return None if ranked[0][:2] == ranked[1][:2] else ranked[0][2]


def _settle_by_trust(
    facts: Sequence[Record],
    trust: Mapping[str, float],
    *,
    since: datetime,
    now: datetime,
    patience: timedelta,
) -> str | None:
    """The fact that holds: that of the most trusted origin, among equals that of the more trusted
    agent. Between the user's own words nobody but the user decides."""
    best = min(distrust(each.origin) for each in facts)
    equals = [each for each in facts if distrust(each.origin) == best]
    if len(equals) == 1:
        return equals[0].id if now - since >= patience else None
    if all(each.origin in BY_USER for each in equals):
        return None
    return winner(equals, trust, since=since, now=now, patience=patience)


class Disputes:
    """The disputes of a store."""

    def __init__(self, store: Store, shelf: FactCache) -> None:
        self._store = store
        self._shelf = shelf

    def listed(self, scope: Scope, *, state: str, limit: int, now: datetime) -> list[Dispute]:
        """Disputes between facts that the asker may see, newest first."""
        found = [
            shown
            for record in self._shelf.of(scope).records.values()
            if record.kind == CONFLICT and (shown := self._shown(scope, record, now)) is not None
        ]
        wanted = [each for each in found if state in ("all", each.status)]
        return sorted(wanted, key=lambda each: (each.at, each.id), reverse=True)[:limit]

    def resolve(self, scope: Scope, id: str, keep: str, now: datetime) -> Dispute:
        """Keep one of the facts, or both; what is not kept ends."""
        record = self._found(scope, id)
        facts = [str(each) for each in record.data["facts"]]
        if keep != "both" and keep not in facts:
            raise InvalidInput(f"keep must be both or one of {', '.join(facts)}", field="keep")
        kept = "both were kept" if keep == "both" else f"{keep} was kept"
        if record.known_to is None:
            over = [] if keep == "both" else [each for each in facts if each != keep]
            self._end(scope, record, over, kept, now)
        shown = self._shown(scope, self._store.get(scope, [id])[0], now)
        if shown is None:
            raise NotFound(f"there is no conflict {id!r} in this scope")
        if shown.note != _RESOLVED + kept:  # The same again changes nothing.
            raise InvalidInput(f"the conflict {id} is resolved already", field="id")
        return shown

    def settle(
        self, scope: Scope, now: datetime, patience: timedelta = PATIENCE, *, run: str = ""
    ) -> list[str]:
        """Decide what nobody has resolved in time, by trust; the ids of those that are resolved.

        One of whose facts has ended since is over as well. What somebody opened again is theirs to
        resolve. `run` says in the history by which round it was done.
        """
        by = f"{run}: " if run else ""
        trust = self._store.agent_trust(scope.workspace)
        done = []
        for record in list(self._shelf.of(scope).records.values()):
            if record.kind != CONFLICT or record.known_to is not None:
                continue
            facts = [each for each in self._facts(record, scope) if each.known_to is None]
            if len(facts) < 2:
                self._end(scope, record, [], "one of both holds no longer", now, by)
                done.append(record.id)
                continue
            if self._was_reopened(scope, record):
                continue
            kept = _settle_by_trust(
                facts, trust, since=record.known_from, now=now, patience=patience
            )
            if kept is not None:
                over = [each.id for each in facts if each.id != kept]
                self._end(scope, record, over, f"{kept} was kept by trust", now, by)
                done.append(record.id)
        return done

    def reopened(self, scope: Scope, run: str, now: datetime) -> list[str]:
        """Open again what a round settled: the facts that it ended, and the dispute; their ids.

        Where one of them has changed since, it stays settled.
        """
        facts, back = self._shelf.of(scope), []
        for record in list(facts.records.values()):
            if record.kind != CONFLICT or not self._was_ended_by(scope, record, run):
                continue
            told = self._facts(record, scope)
            over = [each for each in told if self._was_ended_by(scope, each, run)]
            others_hold = all(each.known_to is None for each in told if each not in over)
            if over and others_hold and not any(facts.is_replaced(each) for each in over):
                ids = [*(each.id for each in over), record.id]
                back += self._store.end(scope, ids, valid_to=None, at=now, reason=f"undo {run}")
        return back

    def _was_reopened(self, scope: Scope, record: Record) -> bool:
        lines = self._store.history(scope, record.id)
        return any(line.action == "reopened" for line in lines)

    def _was_ended_by(self, scope: Scope, record: Record, run: str) -> bool:
        if record.known_to is None:
            return False
        notes = [line.note for line in self._store.history(scope, record.id) if line.note]
        return bool(notes) and notes[-1].startswith(f"{run}: ")

    def _end(  # noqa: PLR0917 (the parts of an end)
        self,
        scope: Scope,
        record: Record,
        over: Sequence[str],
        kept: str,
        now: datetime,
        by: str = "",
    ) -> None:
        why = by + _RESOLVED + kept
        if over:
            self._store.end(scope, list(over), at=now, valid_to=now, reason=why)
        self._store.end(scope, [record.id], at=now, valid_to=now, reason=why)

    def _facts(self, record: Record, scope: Scope) -> list[Record]:
        return self._store.get(scope, [str(each) for each in record.data["facts"]])

    def _found(self, scope: Scope, id: str) -> Record:
        found = self._store.get(scope, [id])
        if not found or found[0].tier != TIER or found[0].kind != CONFLICT:
            raise NotFound(f"there is no conflict {id!r} in this scope")
        return found[0]

    def _shown(self, scope: Scope, record: Record, now: datetime) -> Dispute | None:
        facts = self._facts(record, scope)
        if len(facts) < len(record.data["facts"]) or not all(is_shown(x, scope) for x in facts):
            return None
        lines = self._store.history(scope, record.id) if record.known_to is not None else []
        return Dispute(
            id=record.id,
            slot=str(record.data["slot"]),
            facts=tuple(to_fact(each, status(self._store, scope, each, now)) for each in facts),
            agents=tuple(each.agent for each in facts),
            status="open" if record.known_to is None else "resolved",
            at=record.known_from,
            note=next((line.note for line in reversed(lines) if line.note), ""),
        )
