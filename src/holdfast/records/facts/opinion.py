"""A judge's opinions on the facts of one group of turns: few questions, each answer kept.

A plan never waits for a judge. It is given up at the first question that nobody has answered, the
judge is asked while nothing is locked and no transaction is open, and the plan is made anew of
what is known then: see `settled`. An answer holds for a later plan, too, unless what it is about
has changed. After a few questions, a failure or too long a time the rules decide the rest.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from holdfast.errors import ModelError
from holdfast.records.facts.doubt import JUDGED, Opinion, nobody
from holdfast.records.facts.judge import Judge, Verdict
from holdfast.records.facts.reconcile import Known, New, Outcome

log = logging.getLogger(__name__)
T = TypeVar("T")

#: Questions for one group of turns.
MOST_QUESTIONS = 4


@dataclass(frozen=True, slots=True)
class Question:
    """A claim, and what is known beside it."""

    #: The claim's text and speaker: what answers are kept by.
    about: tuple[str, str]
    ids: tuple[str, ...]
    texts: tuple[str, ...]


class Unanswered(Exception):
    """A plan has a question that nobody has answered: ask, and make the plan anew."""

    def __init__(self, question: Question) -> None:
        super().__init__()
        self.question = question


@dataclass(frozen=True, slots=True)
class _Answer:
    shown: frozenset[str]
    #: The opinion and how sure it is; None: there is none.
    opinion: tuple[Outcome, float] | None

    def holds(self, ids: Sequence[str]) -> bool:
        """Whether it answers a question about these: what it names must still hold, and where it
        names nothing, nothing may have come that was not shown."""
        if self.opinion is None:
            return True
        targets = self.opinion[0].targets
        return set(targets) <= set(ids) if targets else set(ids) <= self.shown


class Opinions:
    """What a judge says, `patience_s` seconds long; for one thread."""

    def __init__(
        self,
        judge: Judge,
        *,
        patience_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._judge = judge
        self._left = MOST_QUESTIONS
        self._seconds_left = patience_s
        self._clock = clock
        self._answers: dict[tuple[str, str], _Answer] = {}

    def of(self, new: New, known: Sequence[Known]) -> tuple[Outcome, float] | None:
        """The opinion on a claim; `Unanswered` where the judge is to be asked first."""
        ids = tuple(each.id for each in known)
        about = (new.claim.text, new.claim.speaker)
        answer = self._answers.get(about)
        if answer is not None and answer.holds(ids):
            return answer.opinion
        if self._left <= 0 or self._seconds_left <= 0:
            return None
        raise Unanswered(Question(about, ids, tuple(each.claim.text for each in known)))

    def ask(self, question: Question) -> None:
        """Ask the judge; whatever it does, the question counts. One that fails is left alone."""
        self._left -= 1
        began = self._clock()
        told: Verdict | None = None
        try:
            told = self._judge.judge(question.about[0], question.texts)
        except ModelError as error:
            self._left = 0
            # Its kind alone: its text may quote what was said.
            log.warning("facts: no judge was heard, rules decide: %s", type(error).__name__)
        self._seconds_left -= self._clock() - began
        opinion = None if told is None else _opinion(told, question.ids)
        self._answers[question.about] = _Answer(frozenset(question.ids), opinion)


def settled(plan: Callable[[Opinion], T], opinions: Opinions | None) -> T:
    """What `plan` makes, asked again as often as it has a question; without a judge at once."""
    if opinions is None:
        return plan(nobody)
    while True:  # Each round takes one of few questions.
        try:
            return plan(opinions.of)
        except Unanswered as unanswered:
            opinions.ask(unanswered.question)


def _opinion(told: Verdict, ids: Sequence[str]) -> tuple[Outcome, float]:
    """What a judge says, by ids. One that names what it was not shown names nothing."""
    named = all(0 <= each < len(ids) for each in told.targets)
    targets = tuple(ids[each] for each in told.targets) if named else ()
    return Outcome(told.action, JUDGED, tuple(dict.fromkeys(targets))), told.confidence
