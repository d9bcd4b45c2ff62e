"""Which outcomes of the rules are in doubt, what a judge is shown then, and how far it is followed.

Certain is what the words themselves say, and what the guards want to be asked about: no judge
takes a question back that is meant for a person. In doubt are

    new            though something known is about the same, as far as vectors tell
    contradiction  both hold because nobody can tell which one does
    partly         it ends a part of something known, which stays whole
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from holdfast.language.claims.relate import Thresholds, shared
from holdfast.records.facts.reconcile import Known, Likeness, New, Outcome, weighed
from holdfast.records.graph.check import distrust

#: Why an outcome that follows an opinion is what it is.
JUDGED = "judged"
#: Another opinion on a new claim beside known ones, and how sure it is; None: there is none.
Opinion = Callable[[New, Sequence[Known]], tuple[Outcome, float] | None]

_DOUBTFUL = frozenset({"new", "contradiction", "partly"})
_MOST_SHOWN = 8


def nobody(_new: New, _known: Sequence[Known]) -> None:
    """The opinion where no judge is asked."""


def shown(
    outcome: Outcome, new: New, known: Sequence[Known], likeness: Likeness, limits: Thresholds
) -> list[Known]:
    """What a judge sees of the known facts, in their order; nothing where it is not asked.

    Not what another agent was told, nor what somebody else said in the first person. And nothing
    that is less trusted than the claim: its text might talk a judge into ending something else.
    """
    if outcome.reason not in _DOUBTFUL:
        return []
    near = [
        each
        for each in known
        if each.agent == new.agent
        and each.claim.speaker == new.claim.speaker
        and distrust(each.origin) <= distrust(new.origin)
    ]
    near.sort(key=lambda each: each.id not in outcome.contradicts)
    return [
        each
        for each in near[:_MOST_SHOWN]
        if each.id in outcome.contradicts or _is_near(new, each, likeness, limits)
    ]


def _is_near(new: New, known: Known, likeness: Likeness, limits: Thresholds) -> bool:
    """Whether a known fact may be about the same; without vectors the words tell. Two attributes
    are two things, and so is one attribute of two people."""
    slots = {new.claim.slot, known.claim.slot} - {None}
    if len(slots) == 2:
        return False
    like = likeness(known)
    if like is None:
        return shared(new.claim, known.claim) >= limits.shared
    return like >= limits.doubtful


def followed(
    opinion: tuple[Outcome, float],
    outcome: Outcome,
    new: New,
    seen: Sequence[Known],
    *,
    likeness: Likeness,
    limits: Thresholds,
) -> Outcome:
    """What becomes of a claim by an opinion, as far as the rules allow it, and by their outcome."""
    told, sure = opinion
    as_sure = replace(new, confidence=min(new.confidence, sure))
    judged = weighed(told, as_sure, seen, likeness, limits)
    if judged.action == "noop" and not set(judged.targets).isdisjoint(outcome.contradicts):
        return outcome  # What denies something is no repeat of it.
    if judged.action == "add" and judged.until is None:
        # What both say otherwise stays known, also where a judge sees no reason to act.
        judged = replace(judged, contradicts=outcome.contradicts)
    return judged if judged.action == "noop" else replace(judged, disputes=outcome.disputes)
