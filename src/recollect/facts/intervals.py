"""When facts of one attribute held: each until the next began, also where one is told late.

A plan compares what is new with what holds. What ended before, or was over when it was told, holds
for a time all the same: a fact that falls into it ends it there, and one that was said before it
ends where it begins. So at no time two of them held. Left alone is what contradicts another, which
holds beside it on purpose, and ages, which are somebody's each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from recollect.facts.claim import read
from recollect.facts.follow import CONFLICT, Facts, chain
from recollect.facts.slots import USER
from recollect.store.base import Derived
from recollect.types import Record

_LATE = "told-late"


def placed(
    records: Iterable[Derived],
    facts: Facts,
    agent: str | None,
    taken_back: Callable[[Record], bool],
) -> list[Derived]:
    """The records of a plan, each with the time for which it held beside what is known."""
    made = {each.id: each for each in records}
    for id in [*made]:
        if id not in facts.records and is_of_one(made[id]):
            slot = str(made[id].data["slot"])
            known = [each for each in facts.of_slot(slot, agent) if is_of_one(each)]
            beside = [each for each in made.values() if each.data.get("slot") == slot]
            later = [each for each in known if each.valid_from > made[id].valid_from]
            # One that was taken back by hand says nothing of what was so before it.
            wrong = {each.id for each in later if taken_back(each)}
            there = [each for each in known if each.id not in wrong]
            _place(made, id, there, [each for each in beside if is_of_one(each)])
    return list(made.values())


def is_of_one(fact: Record | Derived) -> bool:
    """Whether a fact tells an attribute that has one value at a time, and does hold at some."""
    slot = str(fact.data.get("slot") or "")
    if not slot or slot.endswith(":age") or fact.kind == CONFLICT or fact.data.get("contradicts"):
        return False
    if fact.data.get("outcome") in ("clarify", "delete"):
        return False
    return read(fact.content, str(fact.data.get("speaker") or USER)).hold == "changing"


def _place(
    made: dict[str, Derived], id: str, known: Sequence[Record], beside: Sequence[Derived]
) -> None:
    new = made[id]
    replaced = {each for fact in beside for each in fact.data.get("replaces") or ()}
    every: list[Record | Derived] = [*known, *beside]
    later = [each for each in every if each.valid_from > new.valid_from]
    if later and new.data.get("outcome") == "add":
        new = _before(new, min(later, key=lambda each: (each.valid_from, each.id)))
    ended = [
        each.id
        for each in known
        if each.valid_to is not None and each.valid_from < new.valid_from < each.valid_to
    ]
    made[id] = replace(new, shortens=(*new.shortens, *ended))
    for each in beside:
        is_over = each.valid_to is not None or each.id in replaced
        if is_over and each.valid_from < new.valid_from and each.id != id:
            until = min(each.valid_to or new.valid_from, new.valid_from)
            made[each.id] = replace(made[each.id], valid_to=until)


def _before(new: Derived, bound: Record | Derived) -> Derived:
    """A fact that was over when another one began: a version of the same claim."""
    until = bound.valid_from if new.valid_to is None else min(new.valid_to, bound.valid_from)
    claim = chain(bound) if isinstance(bound, Record) else str(bound.data["claim"])
    return replace(
        new, valid_to=until, reason=_LATE, data={**new.data, "claim": claim, "reason": _LATE}
    )
