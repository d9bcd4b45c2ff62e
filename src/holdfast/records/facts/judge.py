"""A language model's opinion on a new fact: better than rules at paraphrase, never in charge.

The model sees statements under aliases (f1, f2, ...), never an id, so it can name nothing that it
was not shown. What it answers is weighed like everything else (`reconcile.weigh_opinion`). An
answer that cannot be read is no opinion, and the rules decide. Who asks it, and who pays, is not
known here: see `models/budget.py`.
"""

from __future__ import annotations

import json
import logging
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any, Protocol

from holdfast.errors import ModelError
from holdfast.language.claims.relate import Thresholds, count_shared_terms
from holdfast.language.regex import regex
from holdfast.records.facts.reconcile import (
    ACTIONS,
    Action,
    KnownFact,
    Likeness,
    New,
    Outcome,
    weigh_opinion,
)
from holdfast.records.graph.check import distrust

# ----------------------------------------------------------------------
# Which outcomes of the rules are in doubt, what a judge is shown then, and how far it is
# followed.
#
# Certain is what the words themselves say, and what the guards want to be asked about: no judge
# takes a question back that is meant for a person. In doubt are
#
#     new            though something known is about the same, as far as vectors tell
#     contradiction  both hold because nobody can tell which one does
#     partly         it ends a part of something known, which stays whole
# ----------------------------------------------------------------------

#: Why an outcome that follows an opinion is what it is.
JUDGED = "judged"
#: Another opinion on a new claim beside known ones, and how sure it is; None: there is none.
Opinion = Callable[[New, Sequence[KnownFact]], tuple[Outcome, float] | None]

DOUBTFUL = frozenset({"new", "contradiction", "partly"})
_MOST_SHOWN = 8


def nobody(_new: New, _known: Sequence[KnownFact]) -> None:
    """The opinion where no judge is asked."""


def facts_for_judge(
    outcome: Outcome, new: New, known: Sequence[KnownFact], likeness: Likeness, limits: Thresholds
) -> list[KnownFact]:
    """What a judge sees of the known facts, in their order; nothing where it is not asked.

    Not what another agent was told, nor what somebody else said in the first person. And nothing
    that is less trusted than the claim: its text might talk a judge into ending something else.
    """
    if outcome.reason not in DOUBTFUL:
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


def _is_near(new: New, known: KnownFact, likeness: Likeness, limits: Thresholds) -> bool:
    """Whether a known fact may be about the same; without vectors the words tell. Two attributes
    are two things, and so is one attribute of two people."""
    slots = {new.claim.slot, known.claim.slot} - {None}
    if len(slots) == 2:
        return False
    like = likeness(known)
    if like is None:
        return count_shared_terms(new.claim, known.claim) >= limits.shared
    return like >= limits.doubtful


def apply_opinion(
    opinion: tuple[Outcome, float],
    outcome: Outcome,
    new: New,
    seen: Sequence[KnownFact],
    *,
    likeness: Likeness,
    limits: Thresholds,
) -> Outcome:
    """What becomes of a claim by an opinion, as far as the rules allow it, and by their outcome."""
    told, sure = opinion
    as_sure = replace(new, confidence=min(new.confidence, sure))
    judged = weigh_opinion(told, as_sure, seen, likeness, limits)
    if judged.action == "noop" and not set(judged.targets).isdisjoint(outcome.contradicts):
        return outcome  # What denies something is no repeat of it.
    if judged.action == "add" and judged.until is None:
        # What both say otherwise stays known, also where a judge sees no reason to act.
        judged = replace(judged, contradicts=outcome.contradicts)
    return judged if judged.action == "noop" else replace(judged, disputes=outcome.disputes)


# ----------------------------------------------------------------------
# A judge's opinions on the facts of one group of turns: few questions, each answer kept.
#
# A plan never waits for a judge. The first question that nobody has answered is noted, the judge
# is asked while nothing is locked and no transaction is open, and the plan is made anew of what is
# known then: see learn/commit.py. An answer holds for a later plan, too, unless what it is about
# has changed. After a few questions, a failure or too long a time the rules decide the rest.
# ----------------------------------------------------------------------

log = logging.getLogger(__name__)

#: Questions for one group of turns.
MOST_QUESTIONS = 4


@dataclass(frozen=True, slots=True)
class JudgeQuestion:
    """A claim, and what is known beside it."""

    #: The claim's text and speaker: what answers are kept by.
    about: tuple[str, str]
    ids: tuple[str, ...]
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _JudgeReply:
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
        self._answers: dict[tuple[str, str], _JudgeReply] = {}
        #: The first question of a plan that the judge has not answered.
        self.open: JudgeQuestion | None = None

    def of(self, new: New, known: Sequence[KnownFact]) -> tuple[Outcome, float] | None:
        """The opinion on a claim; None: there is none, or the judge is to be asked: `open`."""
        ids = tuple(each.id for each in known)
        about = (new.claim.text, new.claim.speaker)
        answer = self._answers.get(about)
        if answer is not None and answer.holds(ids):
            return answer.opinion
        if self.open is None and self._left > 0 and self._seconds_left > 0:
            self.open = JudgeQuestion(about, ids, tuple(each.claim.text for each in known))
        return None

    def ask(self, question: JudgeQuestion) -> None:
        """Ask the judge; whatever it does, the question counts. One that fails is left alone."""
        self.open = None
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
        self._answers[question.about] = _JudgeReply(frozenset(question.ids), opinion)


def _opinion(told: Verdict, ids: Sequence[str]) -> tuple[Outcome, float]:
    """What a judge says, by ids. One that names what it was not shown names nothing."""
    named = all(0 <= each < len(ids) for each in told.targets)
    targets = tuple(ids[each] for each in told.targets) if named else ()
    return Outcome(told.action, JUDGED, tuple(dict.fromkeys(targets))), told.confidence


#: Instructions, a text and the form of its answer to what a language model writes; ModelError.
Ask = Callable[[str, str, Mapping[str, Any]], str]

#: Characters of a statement that are shown: facts are shorter, but what was added by hand may not.
_LONGEST = 600
_MOST_STARTS = 50
_THOUGHT = regex(r"^.*</(?:think|thinking|reasoning)>", re.S | re.I)
_UNSAFE = regex(r"[<>\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
_ALIAS = regex(r"f(\d{1,3})")
_CUT = regex(r"[\"'](?:action|decision)[\"']\s*:\s*[\"'](\w+)[\"']", re.I)
#: What models call the parts of an answer, and the actions.
_ACTION = ("action", "decision", "operation", "op", "event")
_TARGETS = ("targets", "target", "ids", "id", "facts", "fact")
_CALLED: Mapping[str, Action] = {
    **{each: each for each in ACTIONS},
    **{"insert": "add", "new": "add", "store": "add", "keep": "add"},
    **{"none": "noop", "skip": "noop", "duplicate": "noop", "no_op": "noop", "same": "noop"},
    **{"refine": "update", "merge": "update", "extend": "update"},
    **{"replace": "supersede", "superseded": "supersede", "overwrite": "supersede"},
    **{"remove": "delete", "invalidate": "delete", "retract": "delete"},
    **{"ask": "clarify", "unclear": "clarify", "conflict": "clarify", "contradiction": "clarify"},
}
_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "action": {"type": "string", "enum": list(ACTIONS)},
        "targets": {"type": "array", "items": {"type": "string"}},
        "confidence": {"type": "number"},
        "reason": {"type": "string"},
    },
    "required": ["action", "targets", "confidence"],
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge says."""

    action: Action
    #: Which of the known statements, counted from 0; one that was not shown is kept as -1.
    targets: tuple[int, ...] = ()
    confidence: float = 1.0


class Judge(Protocol):
    """Says what is to be done with a statement beside known ones; None when it cannot say."""

    def judge(self, new: str, known: Sequence[str]) -> Verdict | None:
        """The opinion on `new`; ModelError when it cannot be asked."""


class LlmJudge:
    """Asks a language model. Threads may share it."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def judge(self, new: str, known: Sequence[str]) -> Verdict | None:
        """The model's opinion; None when its answer cannot be read."""
        return verdict(self._ask(_system(), prompt(new, known), _SCHEMA), len(known))


def prompt(new: str, known: Sequence[str]) -> str:
    """The statements as lines of JSON; no text can end its line or forge another."""
    lines = [
        json.dumps({"alias": f"f{number}", "known": _safe(text)}, ensure_ascii=False)
        for number, text in enumerate(known, 1)
    ]
    return "\n".join([*lines, json.dumps({"new": _safe(new)}, ensure_ascii=False)])


def verdict(answer: str, shown: int) -> Verdict | None:
    """What an answer says; None for one that says nothing that can be read."""
    text = _THOUGHT.sub("", answer) or answer
    for value in _objects(text):
        if (read := _to_verdict(value, shown)) is not None:
            return read
    cut = _CUT.search(text)
    action = _CALLED.get(cut[1].lower()) if cut else None
    # Half an answer names its action but not for certain what it means by it.
    return Verdict("add") if action == "add" else None


def _to_verdict(value: Mapping[str, Any], shown: int) -> Verdict | None:
    named = {str(name).lower(): each for name, each in value.items()}
    told = next((named[name] for name in _ACTION if name in named), None)
    action = _CALLED.get(str(told).strip().lower().replace("-", "_"))
    if action is None:
        return None
    targets = next((named[name] for name in _TARGETS if name in named), ())
    listed = targets if isinstance(targets, list) else [targets] if targets else []
    numbers = tuple(_number(each, shown) for each in listed)
    return Verdict(action, numbers, _confidence(named.get("confidence")))


def _number(alias: object, shown: int) -> int:
    found = _ALIAS.fullmatch(str(alias).strip().lower())
    number = int(found[1]) if found else 0
    return number - 1 if 1 <= number <= shown else -1


def _confidence(value: object) -> float:
    """0..1; one that is missing or no number makes the judge unsure."""
    try:
        number = float(str(value).strip().rstrip("%"))
    except ValueError:
        return 0.5
    if not math.isfinite(number):
        return 0.5
    return min(max(number / 100 if number > 1 else number, 0.0), 1.0)


def _objects(text: str) -> Iterator[Mapping[str, Any]]:
    """The JSON objects in a text, whatever stands around them."""
    decoder = json.JSONDecoder()
    for start in list(re.finditer(r"\{", text))[:_MOST_STARTS]:
        try:
            value, _ = decoder.raw_decode(text, start.start())
        except ValueError:
            continue
        except RecursionError:
            return
        if isinstance(value, dict):
            yield value


def _safe(text: str) -> str:
    return " ".join(_UNSAFE.sub(" ", text[:_LONGEST]).split())


@cache
def _system() -> str:
    return files("holdfast.records.facts").joinpath("prompts/judge.md").read_text(encoding="utf-8")
