"""Which of the rules that are there stand, when one was forgotten or came back.

A rule stands unless one that was given after it ends or repeats it: the same question that is asked
when a rule is given (`supersede.py`), so nothing needs to be kept of what ended what.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from recollect.store.base import Store
from recollect.types import Record, Scope
from recollect.write.learn import known
from recollect.write.lineup import is_open, was_taken_back
from recollect.write.rules import Rule, rule_id, rules_in
from recollect.write.supersede import same, superseded

KINDS = ("instruction", "release")
#: What comes later in a turn than this is taken for its first rule; it costs nothing but order.
_MOST_IN_A_TURN = 100


def rules_of(store: Store, scope: Scope, turn: Record) -> list[Record]:
    """The rules that were given in a turn, and are there."""
    ids = [rule_id(turn.id, each.ordinal) for each in rules_in(turn.content)]
    return [each for each in store.get(scope, ids) if each.kind in KINDS]


def without(store: Store, scope: Scope, gone: Sequence[Record], now: datetime) -> None:
    """Let stand again what rules ended that were forgotten, unless another one ends it too."""
    for rule in gone:
        there = _given(store, scope, rule.agent)
        for each in _before(rule, there):
            if not is_open(each) and _ends(rule, each):
                _stand_again(store, scope, each, there, now)


def again(store: Store, scope: Scope, back: Sequence[Record], now: datetime) -> None:
    """Let rules stand that came back, and end what they ended; what was given since ends them."""
    for rule in back:
        there = _given(store, scope, rule.agent)
        over = [each.id for each in _before(rule, there) if is_open(each) and _ends(rule, each)]
        _end(store, scope, over, rule, now)
        enders = [each for each in _after(rule, there) if _ends(each, rule)]
        if enders and is_open(rule):
            _end(store, scope, [rule.id], enders[0], now)
        elif not enders and not is_open(rule):
            _stand_again(store, scope, rule, there, now)


def _stand_again(
    store: Store, scope: Scope, rule: Record, there: Sequence[Record], now: datetime
) -> None:
    is_ended = any(_ends(each, rule) for each in _after(rule, there))
    if rule.known_to is not None and not is_ended and not was_taken_back(store, scope, rule):
        store.reopen(scope, [rule.id], at=now, reason="what ended it was forgotten")


def _end(store: Store, scope: Scope, ids: Sequence[str], by: Record, now: datetime) -> None:
    store.end(
        scope, ids, at=now, valid_to=by.valid_from, action="superseded",
        reason="what ends it is there",
    )  # fmt: skip


def _given(store: Store, scope: Scope, agent: str | None) -> list[Record]:
    """All rules given under an agent that are there, also those that ended, oldest first."""
    found = [
        each
        for kind in KINDS
        for each in store.listed(scope, tier="procedure", kind=kind, current=False, archived=True)
        if each.agent == agent
    ]
    return sorted(found, key=_place)


def _place(rule: Record) -> tuple[datetime, datetime, str, int]:
    """Where a rule stands among all: by when it was given, and in which place of its turn."""
    turn = next(iter(rule.sources), "")
    numbers = (each for each in range(_MOST_IN_A_TURN) if rule_id(turn, each) == rule.id)
    return rule.valid_from, rule.known_from, turn, next(numbers, 0)


def _before(rule: Record, there: Sequence[Record]) -> list[Record]:
    return [each for each in there if _place(each) < _place(rule)]


def _after(rule: Record, there: Sequence[Record]) -> list[Record]:
    return [each for each in there if _place(each) > _place(rule)]


def _ends(later: Record, earlier: Record) -> bool:
    if earlier.kind == "release":
        return False
    rule, one = _rule(later), [known(earlier)]
    return same(rule, one) is not None or bool(superseded(rule, one))


def _rule(record: Record) -> Rule:
    """A stored rule as it was given."""
    told, condition = str(record.data.get("rule") or record.content), record.data.get("condition")
    given = [each for each in rules_in(record.content) if each.rule == told]
    return given[0] if given else Rule(record.content, told, condition, 1.0, False, 0)
