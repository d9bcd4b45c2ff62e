"""What is understood at once, inside `remember`: the standing rules of the user.

A rule becomes a record of its own (tier `procedure`, kind `instruction`) beside the turn it was
given in, in the same transaction. A rule that is said again stands for the earlier one; one that
changes an earlier rule ends it; "forget the rule about tables" ends one and is kept as a `release`.
Only users give rules, and text that came out of a context is not learned from again: its record is
an `echo`, which nobody obeys. A rule in a turn that hands over a text may be another's: its record
is `doubtful`, which nobody obeys either, until the user says that it was meant (`facts.answer`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import count

from holdfast.border.write_options import visibility_of
from holdfast.index.view import packed
from holdfast.language.echo import without_recalled
from holdfast.language.instructions.rules import Rule, data, rule_id, rules_in
from holdfast.language.instructions.supersede import (
    KnownRule,
    ended_rules,
    releases,
    repeated_rule,
    seeks,
    traits,
)
from holdfast.language.terms import fold, terms
from holdfast.store.protocols import Derived
from holdfast.types import ORIGIN_OF_ROLE, Event, Record

#: A rule matters whatever else is said. The seed's floor.
IMPORTANCE = 0.95
#: The kind of what may be a rule of the user: it waits for an answer.
DOUBTFUL = "doubtful"
_UNSEARCHED = 2


@dataclass(slots=True)
class Learner:
    """The rules of one batch, in order. What is known is read when a rule turns up, not before."""

    #: The rules in force that were given under the same agent, for the same to see: one that the
    #: agent at hand cannot see, or that others see too, is not this one's to end.
    current: Callable[[], Sequence[Record]] = tuple
    #: Digests of what recent contexts told.
    recalled: Callable[[], Collection[bytes]] = tuple
    _known: RuleIndex | None = field(default=None, init=False)
    #: By id, since when a rule holds.
    _since: dict[str, datetime] = field(default_factory=dict, init=False)
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
        made = tuple(self._made(event, rule, rule.sentence in own) for rule in rules)
        return _kind(rules), made

    def _made(self, event: Event, rule: Rule, own: bool) -> Derived:
        if not own:
            return derived(event, rule, kind="echo")
        if not rule.own:
            return derived(event, rule)
        if self._known is None:
            current = self.current()
            self._known = RuleIndex(map(to_known_rule, current))
            self._since = {record.id: record.valid_from for record in current}
        alike = self._known.alike(KnownRule("", rule.rule, rule.condition, rule.sentence))
        before = [one for one in alike if self._since[one.id] <= event.at]
        repeated = repeated_rule(rule, before)
        ended = (repeated,) if repeated else ended_rules(rule, before)
        # One that is told late ends with the first that was given after it and ends it.
        later = [one for one in alike if self._since[one.id] > event.at]
        ends = [one.id for one in later if repeated_rule(rule, [one]) or ended_rules(rule, [one])]
        until = min((self._since[id] for id in ends), default=None)
        new = derived(event, rule, supersedes=ended, until=until)
        if ended:
            new = replace(new, data={**new.data, "ended_rules": list(ended)})
        for id in ended:
            self._known.drop(id)
        if new.kind == "instruction" and new.valid_to is None:
            self._known.add(KnownRule(new.id, rule.rule, rule.condition, new.content))
            self._since[new.id] = event.at
        return new


# ----------------------------------------------------------------------
# Rules, and the end of rules, that the model that reads finds later, in the background.
# ----------------------------------------------------------------------

#: How a line, behind what stood before it, relates to known ones: see models/reader.py.
Relate = Callable[[str, str, Sequence[str]], Sequence[Mapping[str, float]]]
#: How sure it is that a line ends a known rule: by what the model says of the two in the mean of
#: the ways to read the line, of the line and the other rules, and of the line alone. Fitted on the
#: development part of `training/` (153 lines that end one of 409).
_BY_MODEL, _BY_OTHERS, _BY_LINE, _BASE = 0.71, -3.94, 0.16, -0.06
#: From which probability on it does, if it is the likeliest (five folds by conversation, English:
#: precision 0.96, recall 0.94, others 0.91, 0.74).
_ENDS = 0.3
#: What the model must say of the two where a line neither says that it ends a rule nor gives one;
#: where it says so and several are alike; and of one that was said later than what is found late.
_MEANS_END, _ALIKE, _ENDS_LATER = 0.9, 0.6, 0.6
#: Ways in which a line is compared with every rule, and how many of these, the likeliest, in all.
_FIRST_WAYS, _MOST_COMPARED = 2, 8
#: From which on a line that ends no known rule is told as one: the later word, beside the old.
_ENDS_SOMETHING = 0.9
#: From which on it says the same.
_SAME = 0.6
#: From which on a line that ends a rule may give another: it is told in its place.
_GIVES_ONE = 0.1


@dataclass(frozen=True, slots=True)
class RuleDraft:
    """A line that gives a rule, or ends one."""

    event: Event
    rule: Rule
    #: Ways to read it: a text, and what stood before that.
    ways: Sequence[tuple[str, str]]
    #: How likely it ends one.
    ends: float
    #: It gives none itself.
    is_end: bool
    #: The patterns saw it: its rule is there already.
    is_stored: bool
    #: It is surely somebody else's: what the patterns took for the user's rule is none.
    is_disowned: bool = False


def planned_rules(
    drafts: Sequence[RuleDraft], rules: Sequence[Record], relate: Relate
) -> list[Derived]:
    """What lines make of the rules in force, not stored; among `rules` are also the ends of others.
    In doubt the later word is told beside the earlier one. A rule that the patterns were in doubt
    about is so no longer."""
    # One in doubt can be what a later line means, and is no order while it waits.
    known: dict[str, Record | Derived] = {
        record.id: record for record in rules if record.kind != "release"
    }
    in_doubt = [record for record in rules if record.kind == DOUBTFUL]
    made: dict[str, Record | Derived] = {}
    stored: list[Derived] = []
    ending: set[str] = set()
    for draft in sorted(drafts, key=lambda each: (each.event.at, each.rule.ordinal)):
        if draft.is_disowned:
            stored += _disowned(draft, known)
            continue
        before = {
            id: record.content
            for id, record in {**known, **made}.items()
            if record.valid_from <= draft.event.at and draft.event.id not in record.sources
        }
        orders = [id for id in before if id in made or known[id].kind != DOUBTFUL]
        new = _planned(draft, before, orders, relate)
        if new is None or new.id in known:
            continue
        if draft.is_end and not new.supersedes and draft.event.id in ending:
            continue  # It is about what another line of its turn has ended.
        ending |= {draft.event.id} if new.supersedes else set()
        for id in new.supersedes:
            known.pop(id, None)
            made.pop(id, None)
        if new.kind == "instruction":
            settled = [each.id for each in in_doubt if _is_of(each, new)]
            until = _ended_later(new, rules, relate)
            new = replace(new, supersedes=(*new.supersedes, *settled), valid_to=until)
            if until is None:
                made[new.id] = new
        stored.append(new)
    return stored


def _ended_later(rule: Derived, known: Iterable[Record], relate: Relate) -> datetime | None:
    """When the first that was given later ended a rule that is found late: a turn is read again, or
    told after others. One that ended another is about that one."""
    later = [
        one
        for one in known
        if one.valid_from > rule.valid_from
        and one.kind != DOUBTFUL
        and not one.data.get("withdrawn_rules")
    ]
    for one in sorted(later, key=lambda each: each.valid_from):
        (told,) = relate(one.content, "", [rule.content])
        if _ends(told) >= _ENDS_LATER:
            return one.valid_from
    return None


def _disowned(draft: RuleDraft, known: dict[str, Record | Derived]) -> list[Derived]:
    """In place of what the patterns took from a line that is somebody else's: the same in doubt."""
    line = fold(draft.rule.sentence)
    taken = [
        each
        for each in known.values()
        if isinstance(each, Record)
        and draft.event.id in each.sources
        and each.kind == "instruction"
        and is_most_of(line, fold(each.content))
    ]
    for each in taken:
        known.pop(each.id)
    return [
        derived(
            draft.event,
            replace(rule_of(each), own=False, ordinal=draft.rule.ordinal + place),
            supersedes=(each.id,),
        )
        for place, each in enumerate(taken)
    ]


#: A line says what was found if it is so much of it.
_MOST = 0.6


def is_most_of(line: str, found: str) -> bool:
    """Whether what was found stands in a line, or the line is most of it."""
    return found in line or (line in found and len(line) > _MOST * len(found))


def log_odds(probability: float) -> float:
    """The logarithm of the odds; nothing is quite certain."""
    known = min(max(probability, 1e-4), 1 - 1e-4)
    return math.log(known / (1 - known))


def probability(odds: float) -> float:
    """The probability of log odds."""
    return 1 / (1 + math.exp(-odds))


def _is_of(doubtful: Record, rule: Derived) -> bool:
    """Whether a rule in doubt is one that was found in the same turn."""
    one, other = fold(doubtful.content), fold(rule.content)
    return doubtful.sources == rule.sources and (one in other or other in one)


def _planned(
    draft: RuleDraft, before: Mapping[str, str], orders: Collection[str], relate: Relate
) -> Derived | None:
    rule = draft.rule
    if not rule.own:
        return None if draft.is_end or draft.is_stored else derived(draft.event, rule)
    ends, same = _compared(draft, before, relate)
    ended = _ended(draft, ends)
    is_told = draft.ends >= _ENDS_SOMETHING and bool(orders)
    if not ended and draft.is_end and not is_told:
        return None
    if draft.is_stored or (ended and draft.is_end and rule.score < _GIVES_ONE):
        return _read(draft, ended, kind="release") if ended else None
    if not ended and any(same[id] >= _SAME for id in orders):
        return None
    return _read(draft, ended)


def _ended(draft: RuleDraft, ends: Mapping[str, float]) -> list[str]:
    """The rule that a line ends, of those that it may end: the likeliest, or none."""
    likeliest = max(ends, key=ends.__getitem__, default=None)
    if likeliest is None:
        return []
    if draft.is_end and not draft.rule.replaces and ends[likeliest] < _MEANS_END:
        return []
    # A line ends little else beside what it is about.
    others = max((each for id, each in ends.items() if id != likeliest), default=0.0)
    odds = (
        _BASE
        + _BY_LINE * log_odds(draft.ends)
        + _BY_MODEL * log_odds(ends[likeliest])
        + _BY_OTHERS * others
    )
    is_alike = draft.rule.replaces and ends[likeliest] >= _ALIKE
    return [likeliest] if is_alike or probability(odds) >= _ENDS else []


def _compared(
    draft: RuleDraft, known: Mapping[str, str], relate: Relate
) -> tuple[dict[str, float], dict[str, float]]:
    """How likely a line ends each known rule, and says the same: in the mean over the ways to read
    it, as what stands around a line may explain it, or be about something else."""
    told: dict[str, list[Mapping[str, float]]] = {id: [] for id in known}
    for number, (text, before) in enumerate(draft.ways):
        if number == _FIRST_WAYS and len(known) > _MOST_COMPARED:
            likeliest = sorted(told, key=lambda id: _mean_ends(told[id]))[-_MOST_COMPARED:]
            known = {id: known[id] for id in likeliest}
        for id, each in zip(known, relate(text, before, list(known.values())), strict=True):
            told[id].append(each)
    ends = {id: _mean_ends(some) for id, some in told.items()}
    return ends, {id: sum(each["same"] for each in some) / len(some) for id, some in told.items()}


def _mean_ends(told: Sequence[Mapping[str, float]]) -> float:
    """How likely a line ends a rule, by the mean of log odds."""
    return probability(sum(map(log_odds, map(_ends, told))) / len(told))


def _ends(told: Mapping[str, float]) -> float:
    return told["withdraws"] + told["replaces"] + told["corrects"]


def _read(draft: RuleDraft, ended: Sequence[str], *, kind: str | None = None) -> Derived:
    """The record of what the model read. What ends a rule takes its place, and keeps which: the
    patterns may not know. What ends none is as sure as the model is that it gives one."""
    new = derived(draft.event, draft.rule, supersedes=ended, kind=kind)
    if ended:
        return replace(new, data={**new.data, "withdrawn_rules": list(ended)})
    return replace(new, confidence=round(draft.rule.score, 3))


class RuleIndex:
    """Rules by their traits: of many rules few are looked at for one that is new."""

    def __init__(self, rules: Iterable[KnownRule]) -> None:
        self._rules: dict[str, KnownRule] = {}
        #: Ids, and their places in the order of the rules.
        self._by_trait: defaultdict[Hashable, list[str]] = defaultdict(list)
        self._number = count()
        self._places: dict[str, int] = {}
        for one in rules:
            self.add(one)

    def add(self, one: KnownRule) -> None:
        """Add a rule after those that are there."""
        self._rules[one.id] = one
        self._places[one.id] = next(self._number)
        for trait in traits(one):
            self._by_trait[trait].append(one.id)

    def drop(self, id: str) -> None:
        """Leave a rule out from now on."""
        self._rules.pop(id, None)

    def alike(self, to: KnownRule) -> list[KnownRule]:
        """Those that a rule may end or repeat, in their order."""
        sought = seeks(to)
        if sought is None:
            return list(self._rules.values())
        found = {id for each in sought for id in self._by_trait.get(each, ()) if id in self._rules}
        return [self._rules[id] for id in sorted(found, key=self._places.__getitem__)]


def is_tagged(record: Record) -> bool:
    """Whether it is a rule of the user, or the turn that one was given in."""
    by_user = record.role == "user" and record.origin in ("user", "user_confirmed")
    return record.kind == "instruction" and record.tier in ("procedure", "session") and by_user


def importance_of(record: Record) -> float:
    """How much a record matters: a turn that gives a rule as much as the rule."""
    return max(record.importance, IMPORTANCE) if is_tagged(record) else record.importance


def is_authority(event: Event) -> bool:
    """Only what a user said can be an instruction, whatever a text claims to be."""
    return ORIGIN_OF_ROLE[event.role] == "user" and event.origin == "user"


def derived(
    event: Event,
    rule: Rule,
    *,
    supersedes: Sequence[str] = (),
    kind: str | None = None,
    until: datetime | None = None,
) -> Derived:
    """The record of a rule."""
    row, length = packed(terms(rule.sentence))
    usual = kind_of(rule) if rule.own else DOUBTFUL
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
        valid_to=until,
        sources=(event.id,),
        role=event.role,
        supersedes=tuple(supersedes),
        visibility=visibility_of(event.data),
        quiet=0 if rule.own else _UNSEARCHED,
    )


def derived_again(event: Event) -> tuple[str, tuple[Derived, ...]]:
    """The kind and the records of a stored event, for an index that is made anew: what was learned
    from it alone, without the rules it may have ended."""
    if not is_authority(event) or not (rules := rules_in(event.content)):
        return "turn", ()
    return _kind(rules), tuple(derived(event, rule) for rule in rules)


def kind_of(rule: Rule) -> str:
    """What a rule of the user is: one to be followed, or the end of another."""
    return "release" if releases(rule) else "instruction"


def _kind(rules: Sequence[Rule]) -> str:
    given = any(rule.own and not releases(rule) for rule in rules)
    return "instruction" if given else "turn"


def to_known_rule(record: Record) -> KnownRule:
    """A stored rule as the rules of supersession see it."""
    rule = record.data.get("rule") or record.content
    return KnownRule(record.id, rule, record.data.get("condition"), record.content)


def rule_of(record: Record) -> Rule:
    """A stored rule as it was given."""
    told, condition = str(record.data.get("rule") or record.content), record.data.get("condition")
    given = [each for each in rules_in(record.content) if each.rule == told]
    return given[0] if given else Rule(record.content, told, condition, 1.0, False, 0)
