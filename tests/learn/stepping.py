"""A memory that reads its turns when it is told to, with a clock that is moved by hand."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import holdfast
from holdfast.language.extraction import Extracted, Extractor, RulesExtractor
from holdfast.language.mentions import Turn
from holdfast.memory.memory import Memory
from holdfast.store.protocols import Dumped
from holdfast.testing import HashEmbedder
from holdfast.types import Edge, Job, Node, Scope

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
ANN = Scope("default", "ann")
RULES = RulesExtractor()


class Recorder:
    """Reads as the rules do, and notes what it was given; `error` is raised while it is set."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.groups: list[list[str]] = []
        self.error = error

    def extract(self, turns: Sequence[Turn]) -> list[Extracted]:
        self.groups.append([turn.text for turn in turns])
        if self.error is not None:
            raise self.error
        return RULES.extract(turns)


class Stepping:
    """A memory of one user, ann, unless somebody else is named."""

    def __init__(
        self,
        path: Path,
        extractor: Extractor | None = None,
        *,
        worker: bool = False,
        jobs: dict[str, Any] | None = None,
        **extraction: Any,
    ) -> None:
        self.now = START
        self.memory: Memory = holdfast.open(
            path,
            embedder=HashEmbedder(16),
            extractor=extractor,
            worker=worker,
            clock=lambda: self.now,
            config={"extraction": {"provider": "rules", **extraction}, "jobs": jobs or {}},
        )

    def say(self, text: str, **more: Any) -> str:
        """One turn of a talk; its id."""
        turn = {"content": text, "role": more.pop("role", "user")}
        (event,) = self.memory.remember([turn], **{"user": "ann", "session": "s", **more}).events
        return event

    def later(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def work(self) -> int:
        """What a worker in the background does now; how many jobs."""
        done = 0
        while claimed := self.memory.worker.step():
            done += claimed
        return done

    def understand(self, text: str, **more: Any) -> str:
        """A turn that is read by itself, a minute after what was said before."""
        self.later(60)
        event = self.say(text, **more)
        self.memory.drain()
        return event

    def put_by(self) -> int:
        """Read what waits, but keep the jobs as dead letters, so that they can be replayed."""
        worker = self.memory.worker
        assert worker.reader is not None
        kept = 0
        while jobs := worker.reader.claim(ignore_backoff=True):
            kept += worker.reader.give_up(jobs, worker.steps, error="put by", transient=False)
        return kept

    def nodes(self, **asked: Any) -> dict[str, Node]:
        found = self.memory.graph.entities(**{"user": "ann", **asked})
        return {node.name: node for node in found}

    def edges(self, **asked: Any) -> dict[str, Edge]:
        found = self.memory.graph.overview(**{"user": "ann", "limit": 1000, **asked}).edges
        return {edge.content: edge for edge in found}

    def jobs(self, step: str = "extract") -> list[Job]:
        return [job for job in self.memory.store.jobs(limit=10_000) if job.step == step]

    def stored(self, scope: Scope = ANN) -> tuple[list[Dumped], object]:
        """Everything but jobs, to the last bit, and where the feed of changes stands."""
        return list(self.memory.store.dump()), self.memory.store.head(scope)

    def unclean(self) -> list[str]:
        return [f"{each.check}: {each.detail}" for each in self.memory.check() if not each.ok]
