"""When facts of one attribute held: each until the next began, also where one is told late.

A plan compares what is new with what holds. What ended before, or was over when it was told, holds
for a time all the same: a fact that falls into it ends it there, and one that was said before it
ends where it begins. So at no time two of them held that cannot both be so. Left alone is what
contradicts another, which holds beside it on purpose, ages, which are somebody's each, and what
was told to another agent, or is seen by others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from holdfast.language.claims.claim import read
from holdfast.language.claims.relate import Thresholds, relation
from holdfast.language.claims.slots import USER
from holdfast.records.facts.follow import Facts, chain, is_of_one
from holdfast.store.base import Derived
from holdfast.types import Record

_LATE = "told-late"
_LIMITS = Thresholds()


def placed(
    records: Iterable[Derived],
    facts: Facts,
    agent: str | None,
    own: str,
    taken_back: Callable[[Record], bool],
) -> list[Derived]:
    """The records of a plan, each with the time for which it held beside what is known; `own` is
    the name of the memory's owner."""
    made = {each.id: each for each in records}
    for id in [*made]:
        new = made[id]
        if id not in facts.records and is_of_one(new):
            slot = str(new.data["slot"])
            known = facts.of_slot(slot, agent, new.visibility)
            beside = [
                each
                for each in made.values()
                if each.data.get("slot") == slot and each.visibility == new.visibility
            ]
            _place(made, id, known, [each for each in beside if is_of_one(each)], own, taken_back)
    return list(made.values())


def leaves_no_room(later: Record | Derived, earlier: Record | Derived, own: str) -> bool:
    """Whether of two facts of one attribute the earlier held no longer when the later began: not so
    of a country and a town in it, nor where the later one says less of the same."""
    new, old = (
        read(each.content, str(each.data.get("speaker") or USER), own) for each in (later, earlier)
    )
    how = relation(new, old, lambda: 0.0, _LIMITS)
    if how == "same":
        return relation(old, new, lambda: 0.0, _LIMITS) == "same"
    return how in ("other", "over", "corrected")


def _place(  # noqa: PLR0917 (what a fact is placed among)
    made: dict[str, Derived],
    id: str,
    known: Sequence[Record],
    beside: Sequence[Derived],
    own: str,
    taken_back: Callable[[Record], bool],
) -> None:
    new = made[id]
    replaced = {each for fact in beside for each in fact.data.get("replaces") or ()}
    if new.data.get("outcome") == "add":
        every: list[Record | Derived] = [*known, *beside]
        later = [each for each in every if each.valid_from > new.valid_from]
        for each in sorted(later, key=lambda each: (each.valid_from, each.id)):
            # One that was taken back by hand says nothing of what was so before it.
            is_wrong = isinstance(each, Record) and taken_back(each)
            if not is_wrong and leaves_no_room(each, new, own):
                new = _before(new, each)
                break
    ended = [
        each.id
        for each in known
        if each.valid_to is not None
        and each.valid_from < new.valid_from < each.valid_to
        and leaves_no_room(new, each, own)
    ]
    made[id] = replace(new, shortens=(*new.shortens, *ended))
    for each in beside:
        is_over = each.valid_to is not None or each.id in replaced
        is_before = each.valid_from < new.valid_from and each.id != id
        if is_over and is_before and leaves_no_room(new, each, own):
            until = min(each.valid_to or new.valid_from, new.valid_from)
            made[each.id] = replace(made[each.id], valid_to=until)


def _before(new: Derived, bound: Record | Derived) -> Derived:
    """A fact that was over when another one began: a version of the same claim."""
    until = bound.valid_from if new.valid_to is None else min(new.valid_to, bound.valid_from)
    claim = chain(bound) if isinstance(bound, Record) else str(bound.data["claim"])
    return replace(
        new, valid_to=until, reason=_LATE, data={**new.data, "claim": claim, "reason": _LATE}
    )
