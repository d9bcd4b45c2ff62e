"""One question, asked of an open memory: by every method, inside every budget, in every variation.

This module knows nothing about sets, means or reports.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from holdfast.bench.data import Question
from holdfast.bench.methods import Method, Overrides, Variation
from holdfast.bench.metrics import (
    BUDGETS_TOKENS,
    ScoredHit,
    Scores,
    covered,
    fitting,
    judged,
    newest_first,
    turns_best_first,
)
from holdfast.language.tokens import count_tokens
from holdfast.memory.memory import Memory
from holdfast.recall.context.safe import item, line
from holdfast.types import Hit

#: What is timed: a call as most make it. It is the first, so that the question is new to it.
TIMED_LIMIT = 10
#: What is judged: the deepest cut.
LIMIT = 20
#: As many as `context` looks at, for what a plain method would put into a budget.
CONTEXT_HITS = 50
USER = "bench"


@dataclass(frozen=True, slots=True)
class MethodAnswer:
    """What one method found for one question."""

    question: Question
    #: Best first, each once.
    turns: tuple[str, ...]
    #: The turns inside a context of so many tokens; empty where nobody looked.
    inside: Mapping[int, frozenset[str]] = field(default_factory=dict)
    #: Those of them that are told in full; empty where nothing else is possible.
    in_full: Mapping[int, frozenset[str]] = field(default_factory=dict)

    @property
    def newest_first(self) -> bool | None:
        """Whether the newest evidence comes first; None where none of it was found, or where there
        are not several turns of it."""
        newest = self.question.newest
        return None if newest is None else newest_first(self.turns, self.question.evidence, newest)

    @property
    def scores(self) -> Scores:
        evidence = self.question.evidence
        return {
            **judged(self.turns, evidence),
            **covered(self.inside, evidence),
            **covered(self.in_full, evidence, name="full"),
        }


@dataclass(frozen=True, slots=True)
class PackedContext:
    """One context: how large, of how many memories, how many of them told in full, how fast."""

    tokens: int
    hits: int
    full: int
    seconds: float


def timed(memory: Memory, question: Question) -> float:
    """Seconds of a plain call of `recall`."""
    began = time.perf_counter()
    memory.recall(question.text, user=USER, limit=TIMED_LIMIT, now=question.at)
    return time.perf_counter() - began


def by_holdfast(
    memory: Memory, question: Question
) -> tuple[MethodAnswer, dict[int, PackedContext]]:
    """What `recall` and `context` give, and what the contexts were like."""
    inside, in_full, packed = {}, {}, {}
    for budget in BUDGETS_TOKENS:
        began = time.perf_counter()
        context = memory.context(
            question.text, user=USER, budget_tokens=budget, now=question.at, record=False
        )
        seconds = time.perf_counter() - began
        inside[budget] = frozenset(turns_best_first(map(turns_of, context.hits)))
        levels = zip(context.hits, context.levels, strict=True)
        full = [turns_of(hit) for hit, level in levels if level == "full"]
        in_full[budget] = frozenset(turns_best_first(full))
        packed[budget] = PackedContext(context.tokens, len(context.hits), len(full), seconds)
    return MethodAnswer(question, _turns(memory, question, {}), inside, in_full), packed


def by_plain(
    memory: Memory, question: Question, method: Method, costs: dict[str, int]
) -> MethodAnswer:
    """What a plain method finds; its context is whole turns in order, while they fit.

    `costs` remembers the tokens of a hit's line by its id.
    """
    hits = memory.recall(
        question.text,
        user=USER,
        limit=CONTEXT_HITS,
        now=question.at,
        tiers=("session",),  # What was said: what was derived from it is not plain.
        overrides=method.overrides,
    )
    for hit in hits:
        if hit.id not in costs:
            costs[hit.id] = count_tokens(line(item(hit, 1)) + "\n")
    found = [ScoredHit(tuple(turns_of(hit)), costs[hit.id]) for hit in hits]
    inside = {each: frozenset(fitting(found, budget_tokens=each)) for each in BUDGETS_TOKENS}
    return MethodAnswer(question, turns_best_first(each.turns for each in found), inside)


def by_variation(memory: Memory, question: Question, variation: Variation) -> MethodAnswer:
    """What `recall` gives with one part changed."""
    return MethodAnswer(question, _turns(memory, question, variation.overrides))


def turns_of(hit: Hit) -> Sequence[str]:
    """The turns behind a hit: those of its sources, else its own."""
    named = [str(each["turn"]) for each in hit.source_metadata if "turn" in each]
    return named or [str(hit.metadata[key]) for key in ("turn",) if key in hit.metadata]


def _turns(memory: Memory, question: Question, overrides: Overrides) -> tuple[str, ...]:
    hits = memory.recall(
        question.text, user=USER, limit=LIMIT, now=question.at, overrides=overrides
    )
    return turns_best_first(map(turns_of, hits))
