"""What becomes of facts when turns, and facts, are forgotten or come back.

Of an attribute that has one value at a time the last fact that is there holds, whoever told it
first; of other facts the last version of the claim. Nothing holds again that another fact has
replaced which is there, and what was taken back by hand stays so. Facts that held beside each
other do so again: what comes back ends only what it had replaced, and what it has not met.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from holdfast.records.facts.follow import (
    CONFLICT,
    TIER,
    OwnerFacts,
    is_compared,
    is_of_one,
    is_unclear,
)
from holdfast.records.facts.plan import leaves_no_room, own_name
from holdfast.records.facts.queries import FactQueries
from holdfast.records.versions import first_id, is_open, line_up, was_taken_back
from holdfast.types import Record, Scope

_OVER = "what replaces it is there"
_Asked = Callable[[Record], bool]


class FactGroup(NamedTuple):
    """Facts of which one holds: those of an attribute, or the versions of a claim."""

    claim: str
    slot: str = ""
    agent: str | None = None
    visibility: str | None = None
    #: Those of them that came back, and nothing happened to them since.
    back: tuple[str, ...] = ()


class FactsAfterForget(FactQueries):
    """Facts whose versions may go and come back."""

    def groups_of(self, scope: Scope, id: str) -> builtins.list[FactGroup]:
        """What a turn, or a fact, that came back has told of."""
        facts = self._shelf.of(scope)
        mine = [facts.records[id]] if id in facts.records else facts.of_source(id)
        found: dict[FactGroup, list[str]] = {}
        for each in mine:
            if _can_hold(each):
                lines = self._store.history(scope, each.id)
                back = [each.id] if lines[-1].action == "restored" else []
                found.setdefault(_group(each), []).extend(back)
        return [group._replace(back=tuple(ids)) for group, ids in found.items()]

    def recast(self, scope: Scope, groups: Sequence[FactGroup]) -> None:
        """In each group let the last fact that is there hold: others were forgotten, or came back.
        Once more changes nothing."""
        for group in groups:
            facts = self._shelf.of(scope)
            versions = self._of_claim(scope, facts, group)
            told = {each.id for each in _of_slot(facts, group)}
            if any(each.id not in told for each in versions):
                self._settle(scope, facts, versions, group.back)
            if group.slot:
                facts = self._shelf.of(scope)
                self._settle(scope, facts, _of_slot(facts, group), group.back)

    def _of_claim(self, scope: Scope, facts: OwnerFacts, group: FactGroup) -> builtins.list[Record]:
        """The versions of a claim, with what those of them replaced that came back."""
        found = {each.id: each for each in self._versions(scope, group.claim)}
        back = [found[id] for id in group.back if id in found]
        for id in [id for each in back for id in each.data.get("replaces") or ()]:
            if (replaced := facts.records.get(id)) is not None:
                found[id] = replaced
        return [each for each in found.values() if _can_hold(each)]

    def _settle(
        self, scope: Scope, facts: OwnerFacts, versions: Iterable[Record], back: Collection[str]
    ) -> None:
        known: dict[str, bool] = {}

        def taken_back(record: Record) -> bool:
            if record.id not in known:
                known[record.id] = was_taken_back(self._store, scope, record)
            return known[record.id]

        there = in_order(versions)
        places = [place for place, each in enumerate(there) if each.id in back]
        for place, this in enumerate(there):
            after = [each for each in places if each > place]
            later = there[place + 1 :] if this.id in back else [there[each] for each in after]
            self._end(scope, this, later, taken_back)
        self._open(scope, facts, there, taken_back)

    def _end(self, scope: Scope, this: Record, later: Iterable[Record], taken_back: _Asked) -> None:
        """End a fact where the first of some later ones began that leaves no room for it."""
        for each in later:
            if this.valid_to is not None and this.valid_to <= each.valid_from:
                continue
            if taken_back(each) or taken_back(this) or not self._takes(scope, each, this):
                continue
            ids, now, until = [this.id], self._now(), each.valid_from
            if is_open(this):
                self._store.end(
                    scope, ids, at=now, valid_to=until, action="superseded", reason=_OVER
                )
            else:
                self._store.end(scope, ids, at=now, valid_to=until, reason=_OVER, ended=True)
            return

    def _takes(self, scope: Scope, later: Record, earlier: Record) -> bool:
        """Whether one of two facts, of which one came back, takes the place of the other."""
        if earlier.id in (later.data.get("replaces") or ()) or first_id(earlier) == first_id(later):
            return True
        if is_open(later) and is_open(earlier) and self._have_met(scope, later, earlier):
            return False
        return leaves_no_room(later, earlier, own_name(scope.user))

    def _have_met(self, scope: Scope, one: Record, other: Record) -> bool:
        """Whether nothing was heard of one of two facts while the other one was forgotten: so both
        held beside each other before that, or do since."""
        lines = [self._store.history(scope, each.id) for each in (one, other)]
        for mine, others in (lines, lines[::-1]):
            gone = [line.at for line in mine if line.action == "forgotten"]
            back = [line.at for line in mine if line.action == "restored"]
            if gone and back and any(gone[-1] <= line.at <= back[-1] for line in others):
                return False
        return True

    def _open(
        self, scope: Scope, facts: OwnerFacts, there: Sequence[Record], taken_back: _Asked
    ) -> None:
        """Let the last fact hold again, if it may."""
        ends = set[datetime]()
        left = builtins.list(there)
        while left and taken_back(left[-1]):
            ends.add(left.pop().valid_from)
        if not left or is_open(left[-1]):
            return
        last = left.pop()
        is_late = last.known_to is None and first_id(last) == last.id
        if last.valid_to in ends or (is_late and all(map(taken_back, left))):
            return  # Over since what was taken back began, or before it was told.
        if facts.instead_of(last.id) or self._is_passed(scope, facts, last, taken_back):
            return
        line_up(self._store, scope, [last], now=self._now())

    def _is_passed(self, scope: Scope, facts: OwnerFacts, fact: Record, taken_back: _Asked) -> bool:
        """Whether a later fact of its attribute leaves no room for it."""
        if not is_of_one(fact):
            return False
        return any(
            each.valid_from > fact.valid_from
            and leaves_no_room(each, fact, own_name(scope.user))
            and not taken_back(each)
            for each in _of_slot(facts, _group(fact))
        )


def groups_of_gone(hidden: Iterable[Record]) -> list[FactGroup]:
    """What those told of that held until they were forgotten: there another one may hold again."""
    held = (each for each in hidden if each.tier == TIER and is_compared(each))
    return list(dict.fromkeys(map(_group, held)))


def in_order(versions: Iterable[Record]) -> list[Record]:
    """Versions in the order in which they hold: as they were said, each after what it replaced."""
    every = [*versions]
    said = {each.id: each.valid_from for each in every}

    def place(record: Record) -> tuple[datetime, datetime, str]:
        replaced = [said[each] for each in record.data.get("replaces") or () if each in said]
        return max([record.valid_from, *replaced]), record.known_from, record.id

    return sorted(every, key=place)


def _group(fact: Record) -> FactGroup:
    if not is_of_one(fact):
        return FactGroup(first_id(fact))
    return FactGroup(first_id(fact), str(fact.data["slot"]), fact.agent, fact.visibility)


def _of_slot(facts: OwnerFacts, group: FactGroup) -> list[Record]:
    return facts.of_slot(group.slot, group.agent, group.visibility) if group.slot else []


def _can_hold(record: Record) -> bool:
    """Whether a record is a version that can hold: no question, and not the news of an end."""
    if record.kind == CONFLICT or is_unclear(record):
        return False
    return record.data.get("outcome") != "delete"
