"""What becomes of a new claim beside those that are known: a pure function, the same each time.

    add        it is new; `contradicts` names those that say otherwise and hold all the same
    noop       it is known: the known one is confirmed
    update     the known one with more detail: it takes the place of the known one
    supersede  the known one holds no longer, or was wrong
    delete     the known one is taken back and nothing comes in its place; only a judge says so
    clarify    it would end something, but not for certain: it waits for an answer

In doubt both stay. A fact that is ended by mistake is lost to whoever asks; of two that differ the
later is still seen to be later. `relation` says how two claims stand to each other, `reconcile`
what follows from that, and `guard_outcome` what may follow at all, also from a judge's answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from holdfast.border.validate import ORIGINS
from holdfast.language.claims.claim import Claim
from holdfast.language.claims.relate import (
    Relation,
    Thresholds,
    count_shared_terms,
    disputes,
    holds_literals,
    is_single,
    relation,
    says_much_more,
)

Action = Literal["add", "noop", "update", "supersede", "delete", "clarify"]
ACTIONS: tuple[Action, ...] = ("add", "noop", "update", "supersede", "delete", "clarify")
#: What ends something known.
ENDS = frozenset({"update", "supersede", "delete"})


@dataclass(frozen=True, slots=True)
class KnownFact:
    """A fact that holds, as it is compared."""

    id: str
    claim: Claim
    at: datetime
    importance: float = 0.5
    origin: str = "user"
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class New:
    """A claim that comes in."""

    claim: Claim
    at: datetime
    confidence: float = 1.0
    origin: str = "user"
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is to be done, and why."""

    action: Action
    reason: str
    #: Ids of known facts that it confirms, ends or asks about.
    targets: tuple[str, ...] = ()
    #: Ids of those that say otherwise and hold all the same.
    contradicts: tuple[str, ...] = ()
    #: Ids of those of other agents that say otherwise.
    disputes: tuple[str, ...] = ()
    #: When what is told late was over already.
    until: datetime | None = None
    #: Ids of those that it may replace, though not for certain: both hold, the later is told first.
    revises: tuple[str, ...] = ()


#: The cosine of a known fact with the new one; None where nobody can tell.
Likeness = Callable[[KnownFact], float | None]


def reconcile(
    new: New,
    known: Sequence[KnownFact],
    likeness: Likeness = lambda _: None,
    limits: Thresholds | None = None,
) -> Outcome:
    """What becomes of a new claim.

    What another agent was told is never ended. What was told to no agent everybody sees: it need
    not be stored for one of them again.
    """
    limits = limits or Thresholds()

    def related(some: Sequence[KnownFact]) -> list[tuple[Relation, KnownFact]]:
        return [
            (relation(new.claim, each.claim, likeness_of(likeness, each), limits), each)
            for each in some
        ]

    own = [each for each in known if each.agent == new.agent]
    others = [each for each in known if each.agent != new.agent]
    outcome = guard_outcome(
        _outcome_by_rules(new, related(own), likeness, limits), new, own, limits
    )
    if outcome.reason == "new":
        seen = related([each for each in others if each.agent is None])
        same = [each.id for how, each in seen if how == "same"]
        outcome = Outcome("noop", "same", (same[-1],)) if same else outcome
    if outcome.action == "noop":
        return outcome
    disputed = tuple(each.id for each in others if disputes(new.claim, each.claim))
    return replace(outcome, disputes=disputed)


def likeness_of(likeness: Likeness, known: KnownFact) -> Callable[[], float]:
    """The cosine, looked up only when it matters; unknown is not alike."""
    return lambda: likeness(known) or 0.0


def guard_outcome(
    outcome: Outcome, new: New, known: Sequence[KnownFact], limits: Thresholds
) -> Outcome:
    """The outcome, or what may be done in its place where it would end something.

    What names none of the known is stored beside them. A claim that says that it replaces what it
    asks about is not asked about.
    """
    if outcome.action == "add":
        return outcome
    targets = [each for each in known if each.id in outcome.targets]
    if not targets:
        return Outcome("add", "invalid-target-fallback", contradicts=outcome.contradicts)
    if outcome.action == "noop":
        return outcome
    if (doubt := _doubt(outcome.action, new, targets, limits)) is not None:
        return replace(outcome, action="clarify", reason=doubt)
    if outcome.action == "clarify" and new.claim.is_explicit:
        return replace(outcome, action="supersede", reason="explicit")
    return outcome


def weigh_opinion(
    told: Outcome,
    new: New,
    known: Sequence[KnownFact],
    likeness: Likeness,
    limits: Thresholds | None = None,
) -> Outcome:
    """What a judge says of a claim, as far as it may be followed.

    What says the same or more must be as alike as that; what was said later is not ended; what
    would end something must be as sure as by any other way. A word of a judge ends one fact at
    most, and only what is denied is taken back without anything in its place: otherwise a person
    is asked.
    """
    limits = limits or Thresholds()
    own = {each.id: each for each in known if each.agent == new.agent}
    targets = [own[each] for each in told.targets if each in own]
    if told.action in ("noop", "update") and targets:
        opposed = any(each.claim.polarity != new.claim.polarity for each in targets)
        if told.action == "update" and opposed:
            told = replace(told, action="supersede")
        elif not all(
            _within_bounds(told.action, new.claim, each, likeness, limits) for each in targets
        ):
            return Outcome("add", "boundary")
    late = [each.at for each in targets if each.at > new.at]
    if told.action in ENDS and late:
        return Outcome("add", "told-late", until=min(late))
    told = replace(told, targets=tuple(each.id for each in targets))
    outcome = guard_outcome(told, new, known, limits)
    if outcome.action in ENDS and len(outcome.targets) > 1:
        return replace(outcome, action="clarify", reason="several")
    if outcome.action == "delete" and new.claim.polarity > 0:
        return replace(outcome, action="clarify", reason="not-denied")
    return outcome


def _within_bounds(
    action: Action, new: Claim, old: KnownFact, likeness: Likeness, limits: Thresholds
) -> bool:
    if action == "update":
        return _may_update(new, old, likeness, limits)
    return may_repeat(new, old, likeness, limits)


def may_repeat(new: Claim, old: KnownFact, likeness: Likeness, limits: Thresholds) -> bool:
    """Whether a claim is alike enough to say the same as a known one, if somebody says so."""
    if new.polarity != old.claim.polarity or count_shared_terms(new, old.claim) < limits.shared:
        return False
    return holds_literals(new, old.claim) and (likeness(old) or 0.0) >= limits.same


def _doubt(
    action: Action, new: New, targets: Sequence[KnownFact], limits: Thresholds
) -> str | None:
    """Why something should not be ended before somebody was asked."""
    if any(_trust(new.origin) > _trust(each.origin) for each in targets):
        return "less-trusted"
    if new.confidence < (limits.sure_to_delete if action == "delete" else limits.sure):
        return "low-confidence"
    if new.claim.uncertain:
        return "uncertain-wording"
    is_critical = any(each.importance >= limits.critical for each in targets)
    if is_critical and not new.claim.is_explicit and action in ("supersede", "delete"):
        return "critical"
    return None


def importance(new: float, ended: Sequence[KnownFact], limits: Thresholds) -> float:
    """The importance of what takes the place of others: what is at the floor does not fall."""
    return max([new, *(each.importance for each in ended if each.importance >= limits.floor)])


def _outcome_by_rules(
    new: New,
    related: Sequence[tuple[Relation, KnownFact]],
    likeness: Likeness,
    limits: Thresholds,
) -> Outcome:
    same = [each for how, each in related if how == "same"]
    if same:
        latest = max(same, key=lambda each: (each.at, each.id))
        return Outcome("noop", "same", (latest.id,))
    later = [each.at for how, each in related if how == "other" and each.at > new.at
             and _is_changing(new.claim, each.claim)]  # fmt: skip
    found = _find_ended(new, related)
    ended = tuple(each.id for each in found if not says_much_more(each.claim, new.claim))
    partly = [each for each in found if each.id not in ended]
    denied = tuple(each.id for each in [*_find_contradicting(new, related), *partly])
    if ended:
        why = "correction" if new.claim.corrects else "replaced" if new.claim.replaces else "later"
        return Outcome("supersede", why, ended, tuple(x for x in denied if x not in ended))
    if later:
        return Outcome("add", "told-late", until=min(later))
    if denied:
        return Outcome("add", "partly" if partly else "contradiction", contradicts=denied)
    for how, each in related:
        if how == "more" and _may_update(new.claim, each, likeness, limits):
            return Outcome("update", "more-detail", (each.id,))
    return Outcome("add", "new")


def _find_ended(new: New, related: Sequence[tuple[Relation, KnownFact]]) -> list[KnownFact]:
    """Those that the new claim ends, in their order."""
    found = [each for how, each in related if _ends(how, new, each)]
    loose = [each for how, each in related if how == "corrected" and each.at <= new.at]
    if not found and loose:
        # Corrected is one of them: the one that has most in common, then the latest.
        best = max(
            loose, key=lambda each: (count_shared_terms(new.claim, each.claim), each.at, each.id)
        )
        found.append(best)
    return found


def _ends(how: Relation, new: New, old: KnownFact) -> bool:
    """Whether the new claim ends the old one; what was said after it it never does."""
    if old.at > new.at or how not in ("over", "other"):
        return False
    if how == "over":
        return True
    if new.claim.hold == "loose":
        # There may be several: words that can mean nothing else, or one that is now otherwise.
        is_now = new.claim.lately and old.at < new.at and _one_kind(new.claim, old.claim)
        return new.claim.surely or is_now
    if new.claim.hold == "stable":
        return new.claim.corrects
    if new.claim.hold == "noted" or old.claim.hold == "noted":
        # One of its kind, as far as anybody can tell: only words of change end it.
        return old.at < new.at and (new.claim.renewed or new.claim.surely)
    is_later = old.at < new.at and _is_changing(new.claim, old.claim) and _has_aged(new, old)
    return is_later or new.claim.is_explicit


def _find_contradicting(new: New, related: Sequence[tuple[Relation, KnownFact]]) -> list[KnownFact]:
    found = []
    for how, each in related:
        at_once = how == "other" and new.at == each.at and is_single(new.claim, each.claim)
        stable = how == "other" and new.claim.hold == "stable"
        placed = how == "other" and _is_placed(new.claim, each.claim)
        if how == "denied" or at_once or stable or placed:
            found.append(each)
    return found


def _may_update(new: Claim, old: KnownFact, likeness: Likeness, limits: Thresholds) -> bool:
    return (
        len(new.text) <= limits.growth * len(old.claim.text)
        and count_shared_terms(new, old.claim) >= limits.shared
        and (likeness(old) or 0.0) >= limits.same
    )


def _is_changing(new: Claim, old: Claim) -> bool:
    return new.hold == old.hold == "changing"


def _is_placed(new: Claim, old: Claim) -> bool:
    """Whether both say where one thing is."""
    return new.hold == old.hold == "noted" and bool(new.form)


def _has_aged(new: New, old: KnownFact) -> bool:
    """Nobody grows younger, nor older than time passes: that is somebody else's age."""
    if new.claim.slot is None or not new.claim.slot.endswith(":age"):
        return True
    years = int(new.claim.value) - int(old.claim.value)
    return 0 <= years <= (new.at - old.at).days / 365 + 1


def _one_kind(new: Claim, old: Claim) -> bool:
    """Where there may be several only what is of one kind takes the other's place: a senior
    developer that of a junior developer, but a father not that of a nurse."""
    is_vehicle = new.slot is not None and new.slot.endswith(":vehicle")
    return is_vehicle or bool(new.value_terms & old.value_terms)


def _trust(origin: str) -> int:
    return ORIGINS.index(origin) if origin in ORIGINS else len(ORIGINS)
