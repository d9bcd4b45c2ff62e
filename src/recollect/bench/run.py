"""Every conversation into a store of its own, every question through `recall`.

This module knows nothing about how the answers are shown.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from recollect.bench.data import Conversation, LabelledSet, Question, Turn
from recollect.bench.methods import RECOLLECT, Method, offered
from recollect.bench.metrics import Found, Row, Scores, by_category, judged, ranked
from recollect.config import Config
from recollect.memory import Memory
from recollect.models.base import Embedder
from recollect.recall.safe import item, line
from recollect.tokens import count_tokens
from recollect.types import Hit
from recollect.wiring import open as open_memory

#: The most that `recall` gives: enough for the largest budget.
DEPTH = 200
#: What is timed: a call as most make it. Before the deep one, so that the question is new to it.
TIMED_LIMIT = 10
USER = "bench"

Step = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Answer:
    """What one method found for one question."""

    question: Question
    found: tuple[Found, ...]

    @property
    def scores(self) -> Scores:
        return judged(self.found, self.question.evidence)

    @property
    def turns(self) -> list[str]:
        return ranked(self.found)


@dataclass(slots=True)
class SetResult:
    """What came out of one set."""

    name: str
    conversations: int = 0
    turns: int = 0
    characters: int = 0
    #: From the first `remember` to a drained queue.
    ingest_seconds: float = 0.0
    #: Turns that could not be embedded.
    dead: int = 0
    #: Questions without evidence: asked of nobody.
    not_scored: int = 0
    answers: dict[str, list[Answer]] = field(default_factory=dict)
    recall_seconds: list[float] = field(default_factory=list)

    @property
    def characters_per_second(self) -> float:
        return self.characters / self.ingest_seconds if self.ingest_seconds else 0.0

    def rows(self, method: str) -> list[Row]:
        """The means of a method, overall and by category."""
        return by_category((each.question.category, each.scores) for each in self.answers[method])


def run_set(
    labelled: LabelledSet,
    *,
    embedder: Embedder,
    config: Config,
    progress: Step = lambda _done, _total: None,
) -> SetResult:
    """Ingest and ask; `progress(done, total)` counts turns and questions."""
    methods = offered(config)
    asked: dict[str, list[Question]] = {}
    for question in labelled.questions:
        if question.evidence:
            asked.setdefault(question.conversation, []).append(question)
    wanted = [each for each in labelled.conversations if each.id in asked]
    result = SetResult(labelled.name, answers={method.name: [] for method in methods})
    result.not_scored = sum(not each.evidence for each in labelled.questions)
    bar = _Bar(progress, [(len(each.turns), len(asked[each.id])) for each in wanted])
    for conversation in wanted:
        with (
            tempfile.TemporaryDirectory(prefix="recollect-bench-") as folder,
            open_memory(
                Path(folder) / "memory.db", config=config, embedder=embedder, worker=False
            ) as memory,
        ):
            _ingest(memory, conversation, result, bar)
            _ask(memory, asked[conversation.id], methods, result, bar)
    return result


def _ingest(memory: Memory, conversation: Conversation, result: SetResult, bar: _Bar) -> None:
    turns = conversation.turns
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
    result.conversations += 1
    result.turns += len(turns)
    result.characters += sum(len(turn.content) for turn in turns)


def _message(turn: Turn) -> dict[str, Any]:
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
        began = time.perf_counter()
        memory.recall(question.text, user=USER, limit=TIMED_LIMIT, now=question.at)
        result.recall_seconds.append(time.perf_counter() - began)
        for method in methods:
            found = _found(memory, question, method, costs)
            result.answers[method.name].append(Answer(question, found))
        bar.advance(1)


def _found(
    memory: Memory, question: Question, method: Method, costs: dict[str, int]
) -> tuple[Found, ...]:
    """What a method finds; `costs` remembers the tokens of a hit's line by its id."""
    hits = memory.recall(
        question.text,
        user=USER,
        limit=DEPTH,
        now=question.at,
        overrides=None if method is RECOLLECT else method.overrides,
    )
    for hit in hits:
        if hit.id not in costs:
            costs[hit.id] = count_tokens(line(item(hit, 1)) + "\n")
    return tuple(Found(tuple(_turns(hit)), costs[hit.id]) for hit in hits)


def _turns(hit: Hit) -> list[str]:
    """The turns behind a hit: those of its sources, else its own."""
    named = [str(each["turn"]) for each in hit.source_metadata if "turn" in each]
    return named or [str(hit.metadata[key]) for key in ("turn",) if key in hit.metadata]


class _Bar:
    """Progress over conversations of known sizes."""

    def __init__(self, step: Step, sizes: Sequence[tuple[int, int]]) -> None:
        self._step = step
        self._total = sum(turns + questions for turns, questions in sizes)
        self._done = 0

    def advance(self, by: int) -> None:
        self._done += by
        self._step(self._done, self._total)
