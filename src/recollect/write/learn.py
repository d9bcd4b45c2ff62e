"""What is understood at once, inside `remember`: the standing rules of the user.

A rule becomes a record of its own (tier `procedure`, kind `instruction`) beside the turn it was
given in, in the same transaction. A rule that is said again stands for the earlier one; one that
changes an earlier rule ends it; "forget the rule about tables" ends one and is kept as a `release`.
Only users give rules, and text that came out of a context is not learned from again: its record is
an `echo`, which nobody obeys.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from recollect.index.postings import packed
from recollect.store.base import Derived
from recollect.text import terms
from recollect.types import ORIGIN_OF_ROLE, Event, Record
from recollect.write.echo import without_recalled
from recollect.write.rules import Rule, data, rule_id, rules_in
from recollect.write.supersede import Known, releases, same, superseded

#: A rule matters whatever else is said.
IMPORTANCE = 0.95


@dataclass(slots=True)
class Learner:
    """The rules of one batch, in order. What is known is read when a rule turns up, not before."""

    #: The rules in force.
    current: Callable[[], Sequence[Known]] = tuple
    #: Digests of what recent contexts told.
    recalled: Callable[[], Collection[bytes]] = tuple
    _known: list[Known] | None = field(default=None, init=False)
    _recalled: Collection[bytes] | None = field(default=None, init=False)

    def learn(self, event: Event) -> tuple[str, tuple[Derived, ...]]:
        """The kind of a turn and the records that follow from it, one for each rule."""
        if not is_authority(event) or not (rules := rules_in(event.content)):
            return "turn", ()
        if self._recalled is None:
            self._recalled = self.recalled()
        own = {rule.sentence for rule in rules}
        if (fresh := without_recalled(event.content, self._recalled)) is not event.content:
            own = {rule.sentence for rule in rules_in(fresh)}
        return "instruction", tuple(self._made(event, rule, rule.sentence in own) for rule in rules)

    def _made(self, event: Event, rule: Rule, own: bool) -> Derived:
        if not own:
            return derived(event, rule, kind="echo")
        if self._known is None:
            self._known = list(self.current())
        before = same(rule, self._known)
        ended = (before,) if before else superseded(rule, self._known)
        new = derived(event, rule, supersedes=ended)
        self._known = [one for one in self._known if one.id not in ended]
        if new.kind == "instruction":
            self._known.append(Known(new.id, rule.rule, rule.condition, new.content))
        return new


def is_authority(event: Event) -> bool:
    """Only what a user said can be an instruction, whatever a text claims to be."""
    return ORIGIN_OF_ROLE[event.role] == "user" and event.origin == "user"


def derived(
    event: Event, rule: Rule, *, supersedes: Sequence[str] = (), kind: str | None = None
) -> Derived:
    """The record of a rule."""
    row, length = packed(terms(rule.sentence))
    usual = "release" if releases(rule) else "instruction"
    return Derived(
        id=rule_id(event.id, rule.ordinal),
        tier="procedure",
        kind=kind or usual,
        content=rule.sentence,
        data=data(rule),
        confidence=1.0,
        importance=IMPORTANCE,
        origin=event.origin,
        terms=row,
        length=length,
        valid_from=event.at,
        sources=(event.id,),
        role=event.role,
        supersedes=tuple(supersedes),
    )


def derived_again(event: Event) -> tuple[str, tuple[Derived, ...]]:
    """The kind and the records of a stored event, for an index that is made anew: what was learned
    from it alone, without the rules it may have ended."""
    if not is_authority(event) or not (rules := rules_in(event.content)):
        return "turn", ()
    return "instruction", tuple(derived(event, rule) for rule in rules)


def known(record: Record) -> Known:
    """A stored rule as the rules of supersession see it."""
    rule = record.data.get("rule") or record.content
    return Known(record.id, rule, record.data.get("condition"), record.content)
