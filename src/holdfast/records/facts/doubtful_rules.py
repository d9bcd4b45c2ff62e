"""Rules that may be another's: they stood in a turn that hands over a text, and wait for an answer.

They are asked back beside the facts that are unclear. "new" makes one a rule of the user, as if it
were given now: it ends what it changes. "old" is no: it was part of the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from holdfast.errors import InvalidInput
from holdfast.language.instructions.rules import data
from holdfast.language.instructions.supersede import ended_rules, repeated_rule
from holdfast.language.statements.values import Clarification, Fact
from holdfast.records.facts.follow import ANSWERED, is_shown, to_fact
from holdfast.records.facts.plan import LOUD, answer_id, to_derived
from holdfast.records.rules import DOUBTFUL, kind_of, rule_of, to_known_rule
from holdfast.store.protocols import Derived, Store
from holdfast.types import Record, Scope

TIER = "procedure"
_REASON = "handed-over"


def rules(store: Store, scope: Scope) -> list[Clarification]:
    """What waits for an answer, the newest first."""
    listed = store.listed(scope, tier=TIER, kind=DOUBTFUL)
    seen = sorted(
        (each for each in listed if is_shown(each, scope)), key=lambda each: each.known_from
    )
    return [_to_clarification(each) for each in reversed(seen)]


def find(store: Store, scope: Scope, id: str) -> Record | None:
    """The rule in doubt with this id."""
    found = store.get(scope, [id])
    is_one = found and (found[0].tier, found[0].kind) == (TIER, DOUBTFUL)
    return found[0] if is_one and is_shown(found[0], scope) else None


def answer(
    store: Store, scope: Scope, doubted: Record, keep: str, *, made: tuple[datetime, Sequence[str]]
) -> Fact:
    """Make it a rule, or let it go; the same answer again changes nothing."""
    now, steps = made
    confirmed = next(iter(store.get(scope, [answer_id(doubted.id)])), None)
    if doubted.known_to is not None and (confirmed is None) != (keep == "old"):
        raise InvalidInput(f"the rule {doubted.id} waits for no answer", field="id")
    if keep == "old":
        if doubted.known_to is None:
            store.end(scope, [doubted.id], at=now, valid_to=now, reason="it is no rule of the user")
        return to_fact(doubted, "invalidated")
    if confirmed is None:
        own = replace(scope, agent=doubted.agent)
        store.put(own, [_confirmed(store, own, doubted, now)], known_at=now, steps=steps)
        (confirmed,) = store.get(own, [answer_id(doubted.id)])
    return to_fact(confirmed, "active")


def _confirmed(store: Store, scope: Scope, doubted: Record, now: datetime) -> Derived:
    whose = (doubted.agent, doubted.visibility)
    listed = store.listed(scope, tier=TIER, kind="instruction")
    current = [to_known_rule(each) for each in listed if (each.agent, each.visibility) == whose]
    rule = replace(rule_of(doubted), own=True)
    repeated = repeated_rule(rule, current)
    ended = (repeated,) if repeated else ended_rules(rule, current)
    return replace(
        to_derived(doubted),
        id=answer_id(doubted.id),
        kind=kind_of(rule),
        data=data(rule),
        valid_from=now,
        supersedes=(doubted.id, *ended),
        quiet=LOUD,
        reason=ANSWERED,
    )


def _to_clarification(record: Record) -> Clarification:
    return Clarification(
        id=record.id,
        question=f"Did you mean this as a rule for me: {record.content}",
        new=to_fact(record, "unclear"),
        known=(),
        reason=_REASON,
        at=record.known_from,
    )
