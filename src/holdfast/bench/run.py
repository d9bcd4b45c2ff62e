"""Every conversation into a store of its own, every question through `recall` and `context`.

A conversation is ingested and embedded once; all methods and variations ask the same open memory.
This module knows nothing about how the answers are shown.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from holdfast.bench.cache import CachedEmbedder
from holdfast.bench.data import Conversation, LabelledSet, LabelledTurn, Question
from holdfast.bench.methods import (
    HOLDFAST,
    Method,
    Overrides,
    Variation,
    methods_for,
    variations_for,
)
from holdfast.bench.metrics import (
    ADVERSARIAL,
    BUDGETS_TOKENS,
    CategoryMeans,
    Latest,
    ScoredHit,
    Scores,
    by_category,
    coverage,
    latest,
    newest_first,
    ranking_scores,
    turns_best_first,
    turns_that_fit,
)
from holdfast.config import Config
from holdfast.language.tokens import count_tokens
from holdfast.memory.memory import Memory
from holdfast.models.base import Embedder
from holdfast.recall.context.safe import item, line
from holdfast.types import Hit
from holdfast.wiring import open as open_memory

# One question, asked of an open memory: by every method, inside every budget, in every variation.

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
            **ranking_scores(self.turns, evidence),
            **coverage(self.inside, evidence),
            **coverage(self.in_full, evidence, name="full"),
        }


@dataclass(frozen=True, slots=True)
class PackedContext:
    """One context: how large, of how many memories, how many of them told in full, how fast."""

    tokens: int
    hits: int
    full: int
    seconds: float


def recall_seconds(memory: Memory, question: Question) -> float:
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
    inside = {each: frozenset(turns_that_fit(found, budget_tokens=each)) for each in BUDGETS_TOKENS}
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


#: Each variation asks so many questions of a set, evenly spread: enough to see what a part does.
ABLATED = 200

Step = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Ablation:
    """What the variations were asked, and what they found."""

    variations: Sequence[Variation]
    #: One of so many questions was asked.
    every: int
    questions: Sequence[Question]
    #: By the name of the variation, in the order of the questions.
    answers: dict[str, list[MethodAnswer]]


@dataclass(slots=True)
class SetResult:
    """What came out of one set."""

    name: str
    conversations: int = 0
    turns: int = 0
    characters: int = 0
    #: From the first `remember` to a drained queue.
    ingest_seconds: float = 0.0
    #: Texts that ingest embedded, and that it had from the cache; None: there was no cache.
    ingest_texts: tuple[int, int] | None = None
    #: Turns that could not be embedded.
    dead: int = 0
    #: Questions without evidence: asked of nobody.
    not_scored: int = 0
    #: By method, in the order asked.
    answers: dict[str, list[MethodAnswer]] = field(default_factory=dict)
    #: Of `recall`, in the order asked.
    recall_seconds: list[float] = field(default_factory=list)
    #: By budget, in the order asked.
    packed: dict[int, list[PackedContext]] = field(default_factory=dict)
    ablation: Ablation | None = None

    @property
    def characters_per_second(self) -> float:
        return self.characters / self.ingest_seconds if self.ingest_seconds else 0.0

    def rows(self, method: str) -> list[CategoryMeans]:
        """The means of a method, overall and by category."""
        return by_category((each.question.category, each.scores) for each in self.answers[method])

    def latest(self, method: str) -> list[Latest]:
        """How often the newest evidence came first, by category."""
        several = (each for each in self.answers[method] if each.question.newest is not None)
        return latest((each.question.category, each.newest_first) for each in several)


def run_set(
    labelled: LabelledSet,
    *,
    embedder: Embedder,
    config: Config,
    ablated: int = ABLATED,
    progress: Step = lambda _done, _total: None,
) -> SetResult:
    """Ingest and ask; `progress(done, total)` counts turns and questions.

    Each variation is asked about `ablated` questions; 0 = no ablation. What is measured is how
    turns are found, so they are read by the patterns alone, which takes a tenth of the time.
    """
    config = replace(config, extraction=replace(config.extraction, reader="rules"))
    asked: dict[str, list[Question]] = {}
    for question in labelled.questions:
        if question.evidence:
            asked.setdefault(question.conversation, []).append(question)
    wanted = [each for each in labelled.conversations if each.id in asked]
    methods = methods_for(config)
    result = SetResult(labelled.name, answers={method.name: [] for method in methods})
    result.packed = {budget: [] for budget in BUDGETS_TOKENS}
    result.not_scored = sum(not each.evidence for each in labelled.questions)
    if ablated:
        result.ablation = _ablation(labelled.questions, config, ablated)
    bar = _Bar(progress, result.ablation)
    bar.total += sum(len(each.turns) + len(asked[each.id]) for each in wanted)
    for conversation in wanted:
        with (
            tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder,
            open_memory(
                Path(folder) / "memory.db", config=config, embedder=embedder, worker=False
            ) as memory,
        ):
            _ingest(memory, embedder, conversation, result, bar)
            _ask(memory, asked[conversation.id], methods, result, bar)
            if result.ablation:
                _ablate(memory, conversation, result.ablation, bar)
    return result


def _ablation(questions: Sequence[Question], config: Config, most: int) -> Ablation:
    """Which questions the variations are asked: every n-th of those that count."""
    scored = [each for each in questions if each.evidence and each.category != ADVERSARIAL]
    every = max(math.ceil(len(scored) / most), 1)
    variations = variations_for(config)
    return Ablation(variations, every, scored[::every], {each.name: [] for each in variations})


def _ingest(
    memory: Memory, embedder: Embedder, conversation: Conversation, result: SetResult, bar: _Bar
) -> None:
    turns = conversation.turns
    texts = _texts(embedder)
    began = time.perf_counter()
    for session, group in groupby(turns, key=lambda turn: turn.session):
        memory.remember([_message(turn) for turn in group], user=USER, session=session)
    pending = len(turns)
    while pending:
        part = memory.drain(timeout=0)
        result.dead += part.dead
        bar.advance(max(pending - part.pending, 0))
        pending = min(part.pending, pending)
    result.dead += memory.drain().dead
    result.ingest_seconds += time.perf_counter() - began
    if texts is not None and (now := _texts(embedder)) is not None:
        made, kept = result.ingest_texts or (0, 0)
        result.ingest_texts = (made + now[0] - texts[0], kept + now[1] - texts[1])
    result.conversations += 1
    result.turns += len(turns)
    result.characters += sum(len(turn.content) for turn in turns)


def _texts(embedder: Embedder) -> tuple[int, int] | None:
    return (embedder.made, embedder.kept) if isinstance(embedder, CachedEmbedder) else None


def _message(turn: LabelledTurn) -> dict[str, Any]:
    message: dict[str, Any] = {
        "role": turn.role,
        "content": turn.content,
        "metadata": {"turn": turn.id},
    }
    if turn.name is not None:
        message["name"] = turn.name
    if turn.at is not None:
        message["at"] = turn.at
    return message


def _ask(
    memory: Memory,
    questions: Sequence[Question],
    methods: Sequence[Method],
    result: SetResult,
    bar: _Bar,
) -> None:
    memory.recall("warm up", user=USER)  # Loads the model and the index: not what is timed.
    costs: dict[str, int] = {}
    for question in questions:
        result.recall_seconds.append(recall_seconds(memory, question))
        answer, packed = by_holdfast(memory, question)
        result.answers[HOLDFAST.name].append(answer)
        for budget, each in packed.items():
            result.packed[budget].append(each)
        for method in methods:
            if method is not HOLDFAST:
                result.answers[method.name].append(by_plain(memory, question, method, costs))
        bar.advance(1)


def _ablate(memory: Memory, conversation: Conversation, ablation: Ablation, bar: _Bar) -> None:
    for question in ablation.questions:
        if question.conversation == conversation.id:
            for variation in ablation.variations:
                answer = by_variation(memory, question, variation)
                ablation.answers[variation.name].append(answer)
            bar.advance(1)


class _Bar:
    """Progress over turns and questions; a question of the ablation is one more."""

    def __init__(self, step: Step, ablation: Ablation | None) -> None:
        self._step = step
        self.total = len(ablation.questions) if ablation else 0
        self._done = 0

    def advance(self, by: int) -> None:
        self._done += by
        self._step(self._done, self.total)
