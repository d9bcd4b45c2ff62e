"""What was replaced holds again when its successor is forgotten, and ends again when that is back.

Of facts see `facts/after_forget.py`. Here the same for standing rules, the versions of a procedure,
what stands under a key or a name in the knowledge base, and the fields of a profile that were set
by hand. Of several versions that are there the last one holds: who restores one after another was
set finds it in the history.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from datetime import datetime

from holdfast.language.instructions.rules import MOST_RULES, rule_id
from holdfast.language.instructions.supersede import ended_rules, repeated_rule
from holdfast.records.knowledge import CHUNK, chunk_ids
from holdfast.records.procedures import KINDS
from holdfast.records.rules import RuleIndex, rule_of, to_known_rule
from holdfast.records.versions import is_open, line_up, versions_of, was_taken_back
from holdfast.store.protocols import Store
from holdfast.types import Record, Scope

# ----------------------------------------------------------------------
# Which of the rules that are there stand, when one was forgotten or came back.
#
# A rule stands unless one that was given after it ends or repeats it: the same question that is
# asked when a rule is given (language/instructions/supersede.py). Only what the model that reads
# found to be ended is kept with what ended it (`data["withdrawn_rules"]`). Only rules that were
# given under one agent, for the same to see, are asked about one another. To settle what is settled
# already changes nothing.
# ----------------------------------------------------------------------

RULE_KINDS = ("instruction", "release")
_OVER = "what ends it is there"
_Place = tuple[datetime, datetime, str, int]


def rules_of(store: Store, scope: Scope, turn: Record) -> list[Record]:
    """The rules that were given in a turn, and are there."""
    return [
        each
        for kind in RULE_KINDS
        for each in store.listed(scope, tier="procedure", kind=kind, current=False, archived=True)
        if turn.id in each.sources
    ]


def rules_gone(store: Store, scope: Scope, gone: Sequence[Record], now: datetime) -> None:
    """Let stand again what rules ended that were forgotten, or were never the user's, unless
    another one ends it too."""
    ids = {each.id for each in gone}
    for some, listed in _with_others(store, scope, gone):
        there = [each for each in listed if each.id not in ids]
        _settle(store, scope, _Among(there).ended_by(some), there, now)


def rules_back(store: Store, scope: Scope, back: Sequence[Record], now: datetime) -> None:
    """Let rules stand that came back, and end what they ended; what was given since ends them."""
    for some, there in _with_others(store, scope, back):
        own = {each.id for each in some}
        ended = [each for each in _Among(there).ended_by(some) if each.id not in own]
        _settle(store, scope, [*ended, *some], there, now)


def _with_others(
    store: Store, scope: Scope, rules: Sequence[Record]
) -> Iterator[tuple[list[Record], list[Record]]]:
    """Rules by the agent and by who sees them, with all that are there of these, oldest first;
    also those that ended."""
    if not rules:
        return
    groups: defaultdict[Hashable, tuple[list[Record], list[Record]]] = defaultdict(lambda: ([], []))
    for rule in rules:
        groups[rule.agent, rule.visibility][0].append(rule)
    for kind in RULE_KINDS:
        listed = store.listed(scope, tier="procedure", kind=kind, current=False, archived=True)
        for each in listed:
            groups[each.agent, each.visibility][1].append(each)
    for some, there in groups.values():
        if some:
            yield some, sorted(there, key=_place)


def _settle(
    store: Store, scope: Scope, rules: Sequence[Record], there: Sequence[Record], now: datetime
) -> None:
    """Let each of these rules stand, or end with the first one after it that ends it."""
    ends = _Among(rules).first_ends(there)
    over: defaultdict[datetime, list[str]] = defaultdict(list)
    stand = []
    for each in rules:
        if each.id in ends and is_open(each):
            over[ends[each.id]].append(each.id)
        elif each.id not in ends and not is_open(each) and not was_taken_back(store, scope, each):
            stand.append(each.id)
            if each.valid_to is not None and each.known_to is None:  # Over when it was told.
                over[each.valid_to].append(each.id)
    for until, ids in over.items():
        store.end(scope, ids, at=now, valid_to=until, action="superseded", reason=_OVER)
    if stand:
        store.end(scope, stand, valid_to=None, at=now, reason="what ended it was forgotten")


class _Among:
    """Rules that others may end."""

    def __init__(self, rules: Iterable[Record]) -> None:
        self._rules = {each.id: (each, _place(each)) for each in rules if each.kind != "release"}
        self._index = RuleIndex(to_known_rule(each) for each, _ in self._rules.values())

    def ended_by(self, others: Iterable[Record]) -> list[Record]:
        """Which of them some of those end."""
        found = dict.fromkeys(id for each in others for id in self._ended(each))
        return [self._rules[id][0] for id in found]

    def first_ends(self, others: Iterable[Record]) -> dict[str, datetime]:
        """Of those that end, when the first of the others ends them; these are in their order. It
        can be asked once."""
        ends: dict[str, datetime] = {}
        for each in others:
            for id in self._ended(each):
                ends[id] = each.valid_from
                self._index.drop(id)
        return ends

    def _ended(self, by: Record) -> list[str]:
        place = _place(by)
        found = [id for id in by.data.get("withdrawn_rules", ()) if id in self._rules]
        alike = self._index.alike(to_known_rule(by))
        ones = [each for each in alike if self._rules[each.id][1] < place]
        if not ones:
            return found
        rule = rule_of(by)
        ended = {*ended_rules(rule, ones), *found}
        told = [each.id for each in ones if each.id in ended or repeated_rule(rule, [each])]
        return [*dict.fromkeys((*found, *told))]


def _place(rule: Record) -> _Place:
    """Where a rule stands among all: by when it was given, and in which place of its turn."""
    turn = next(iter(rule.sources), "")
    numbers = (each for each in range(MOST_RULES) if rule_id(turn, each) == rule.id)
    return rule.valid_from, rule.known_from, turn, next(numbers, 0)


class AfterForget:
    """Versions and rules that go and come back, in all tiers but that of facts. Threads may share
    it."""

    def __init__(self, store: Store, *, now: Callable[[], datetime]) -> None:
        self._store = store
        self._now = now

    def gone(self, scope: Scope, id: str, hidden: Sequence[Record]) -> None:
        """Let hold again what a memory that was forgotten, or the rules of a turn, had replaced:
        it is among what is hidden. A rule that ended another one may be ended itself; of other
        things only the last has replaced what could hold."""
        rules = [each for each in hidden if _is_rule(each)]
        others = [each for each in hidden if each.id == id and not _is_rule(each) and is_open(each)]
        self._settle(scope, [*rules, *others], rules_gone)

    def back(self, scope: Scope, id: str) -> None:
        """Put a memory, or the rules of a turn, that came back in its place."""
        found = self._store.get(scope, [id])
        if found and found[0].tier == "session":
            found = rules_of(self._store, scope, found[0])
        self._settle(scope, found, rules_back)

    def _settle(
        self,
        scope: Scope,
        records: Sequence[Record],
        rules: Callable[[Store, Scope, Sequence[Record], datetime], None],
    ) -> None:
        now = self._now()
        rules(self._store, scope, [each for each in records if _is_rule(each)], now)
        for record in records:
            versions = self._versions(scope, record)
            taken_back = {
                each.id for each in versions[-1:] if was_taken_back(self._store, scope, each)
            }
            line_up(self._store, scope, versions, now=now, over=taken_back, parts=_parts)

    def _versions(self, scope: Scope, record: Record) -> list[Record]:
        """The versions of a memory that are there, oldest first; none of what has no versions."""
        if record.tier == "knowledge" and record.kind != CHUNK:
            return versions_of(self._store, scope, record)
        if record.tier == "procedure" and record.kind in KINDS:
            return versions_of(self._store, scope, record)
        if record.tier == "profile" and "values" in record.data:
            # Also of those before it was cleared.
            listed = self._store.listed(
                scope, tier="profile", kind=record.kind, current=False, archived=True
            )
            return [each for each in listed if each.agent == record.agent]
        return []


def _is_rule(record: Record) -> bool:
    return record.tier == "procedure" and record.kind in RULE_KINDS


def _parts(version: Record) -> Sequence[str]:
    """What begins and ends with a version."""
    return [version.id, *chunk_ids(version)]
