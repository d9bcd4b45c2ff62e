"""What becomes of facts when turns, and facts, are forgotten or come back.

Of an attribute that has one value at a time the last fact that is there holds, whoever told it
first; of other facts the last version of the claim. What was taken back by hand stays so, and what
it had replaced is not brought back by it.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from recollect.facts.follow import CONFLICT, Facts, chain, is_unclear
from recollect.facts.intervals import is_of_one
from recollect.facts.reading import Reading
from recollect.types import Record, Scope
from recollect.write.lineup import is_open, line_up, was_taken_back


class Group(NamedTuple):
    """Facts of which one holds: those of an attribute, or the versions of a claim."""

    claim: str
    slot: str = ""
    agent: str | None = None


class Recasting(Reading):
    """Facts whose versions may go and come back."""

    def groups_of(self, scope: Scope, id: str, *, holding: bool = False) -> builtins.list[Group]:
        """What a turn, or a fact, has told of; with `holding` only where that is what holds."""
        facts = self._shelf.of(scope)
        mine = [facts.records[id]] if id in facts.records else facts.of_source(id)
        told = [each for each in mine if _can_hold(each) and (is_open(each) or not holding)]
        return builtins.list(dict.fromkeys(_group(each) for each in told))

    def recast(self, scope: Scope, groups: Sequence[Group]) -> None:
        """In each group let the last fact that is there hold, and it alone: others were forgotten,
        or came back."""
        for group in groups:
            facts = self._shelf.of(scope)
            versions = [each for each in facts.versions(group.claim) if _can_hold(each)]
            if not group.slot or any(_group(each)[1:] != group[1:] for each in versions):
                self._line_up(scope, versions)
            if group.slot:
                self._line_up(scope, _of_slot(self._shelf.of(scope), group))

    def _line_up(self, scope: Scope, versions: Sequence[Record]) -> None:
        taken_back = {each.id for each in versions if was_taken_back(self._store, scope, each)}
        ends = {each.valid_from for each in versions if each.id in taken_back}
        there = in_order([each for each in versions if each.id not in taken_back])
        over = {each.id for each in there if each.valid_to in ends or _is_alone(each, there)}
        line_up(self._store, scope, there, now=self._now(), over=over)


def in_order(versions: Sequence[Record]) -> builtins.list[Record]:
    """Versions in the order in which they hold: as they were said, each after what it replaced."""
    said = {each.id: each.valid_from for each in versions}

    def place(record: Record) -> tuple[datetime, datetime, str]:
        replaced = [said[each] for each in record.data.get("replaces") or () if each in said]
        return max([record.valid_from, *replaced]), record.known_from, record.id

    return sorted(versions, key=place)


def _group(fact: Record) -> Group:
    if not is_of_one(fact):
        return Group(chain(fact))
    return Group(chain(fact), str(fact.data["slot"]), fact.agent)


def _of_slot(facts: Facts, group: Group) -> builtins.list[Record]:
    return [each for each in facts.of_slot(group.slot, group.agent) if is_of_one(each)]


def _can_hold(record: Record) -> bool:
    """Whether a record is a version that can hold: no question, and not the news of an end."""
    if record.kind == CONFLICT or is_unclear(record):
        return False
    return record.data.get("outcome") != "delete"


def _is_alone(record: Record, versions: Sequence[Record]) -> bool:
    """Whether a fact was over when it was told, and nothing is known of what came after it."""
    is_late = record.known_to is None and record.valid_to is not None
    return is_late and len(versions) == 1 and chain(record) == record.id
