"""A worker that dies takes nothing with it: attempts are counted first, leases run out."""

import os
import signal
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import holdfast
from holdfast.config import Config, Extraction, Jobs
from holdfast.errors import ModelUnavailable
from holdfast.memory.memory import Memory
from holdfast.testing import HashEmbedder
from tests.crash.child import ended

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")

MAX_ATTEMPTS = 5
LEASE_SECONDS = 60.0
CONFIG = Config(
    jobs=Jobs(max_attempts=MAX_ATTEMPTS, lease_seconds=LEASE_SECONDS),
    extraction=Extraction(enabled=False),  # One job per turn: to embed it.
)
START = datetime(2026, 11, 15, 12, tzinfo=UTC)


class DeadlyEmbedder(HashEmbedder):
    """Kills its process when it meets a certain text; leaves a mark for every call."""

    def __init__(self, marks: Path) -> None:
        super().__init__()
        self.marks = marks

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        if any("poison" in text for text in texts):
            with self.marks.open("a") as file:
                file.write("x")
            os.kill(os.getpid(), signal.SIGKILL)
        return super().embed(texts)


def at(minutes: float) -> Callable[[], datetime]:
    return lambda: START + timedelta(minutes=minutes)


def opened(path: Path, minutes: float, embedder: HashEmbedder | None = None) -> Memory:
    return holdfast.open(
        path, embedder=embedder or HashEmbedder(), config=CONFIG, worker=False, clock=at(minutes)
    )


def drain_in_child(path: Path, marks: Path, minutes: float) -> str:
    def work() -> None:
        opened(path, minutes, DeadlyEmbedder(marks)).drain(10)

    return ended(work)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    return tmp_path / "marks"


def test_a_text_that_kills_its_worker_is_tried_five_times_then_put_aside(
    path: Path, marks: Path
) -> None:
    with opened(path, 0) as memory:
        event = memory.remember("the poison is in the cup", user="ann").events[0]
    ends = [drain_in_child(path, marks, 2 * n) for n in range(20)]
    assert marks.read_text() == "x" * MAX_ATTEMPTS
    assert ends == ["SIGKILL"] * MAX_ATTEMPTS + ["ok"] * 15
    with opened(path, 100) as memory:
        status = memory.status(event, user="ann")
        assert status.state == "dead"
        assert status.error == "the worker died in each of 5 attempts"
        assert [job.subject for job in memory.store.jobs(states=["dead"])] == [event]
        # It is still found by its words, and a better model can have another go.
        assert [hit.id for hit in memory.recall("cup", user="ann")] == [event]
        assert memory.store.replay() == 1
        assert memory.drain().done == 1
        assert memory.status(event, user="ann").state == "done"


def test_a_deadly_text_takes_no_neighbour_with_it(path: Path, marks: Path) -> None:
    texts = [f"turn {n}" for n in range(10)]
    texts[4] = "poison"
    with opened(path, 0) as memory:
        said = [{"role": "user", "content": text} for text in texts]
        events = memory.remember(said, user="ann").events
    for n in range(100):
        if drain_in_child(path, marks, 2 * n) == "ok":
            break
    with opened(path, 300) as memory:
        states = [memory.status(event, user="ann").state for event in events]
    assert states == ["done"] * 4 + ["dead"] + ["done"] * 5
    assert len(marks.read_text()) == 1 + MAX_ATTEMPTS, "the first time it was not alone"


def test_a_lease_that_ran_out_hands_the_job_over(path: Path, marks: Path) -> None:
    with opened(path, 0) as memory:
        event = memory.remember("poison", user="ann").events[0]
    assert drain_in_child(path, marks, 0) == "SIGKILL"
    with opened(path, 0.9) as memory:
        assert memory.worker.step() == 0, "the lease of the dead worker still runs"
        assert memory.status(event, user="ann").state == "processing"
    with opened(path, 1.1) as memory:
        assert memory.worker.step() == 1
        assert memory.status(event, user="ann").state == "done"


def test_a_worker_that_comes_too_late_changes_nothing(path: Path) -> None:
    with opened(path, 0) as late, opened(path, 2) as quick:
        late.remember("tea at four", user="ann")
        steps = late.worker.steps

        def claim(memory: Memory, minutes: float) -> list[holdfast.types.Job]:
            return memory.store.claim(
                steps,
                limit=9,
                now=at(minutes)(),
                lease_s=LEASE_SECONDS,
                max_attempts=MAX_ATTEMPTS,
            )

        old = claim(late, 0)
        new = claim(quick, 2)
        assert [job.id for job in old] == [job.id for job in new]
        assert late.store.finish(old) == 0
        late.store.release([old[0]], error="too late")
        late.store.release(old)
        assert quick.store.counts().running == 1
        assert quick.store.finish(new) == 1
        assert quick.store.counts().running == 0


def test_a_graceful_stop_hands_back_what_it_holds(path: Path) -> None:
    with opened(path, 0) as memory:
        event = memory.remember("tea at four", user="ann").events[0]
        memory.worker.stop()
        memory.worker.step()
        job = memory.store.jobs()[0]
        assert (job.state, job.attempts, job.subject) == ("ready", 0, event)


class AbsentEmbedder(HashEmbedder):
    """A model that cannot be reached."""

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        raise ModelUnavailable("connection refused")


def test_a_model_that_is_away_for_long_kills_no_job(path: Path) -> None:
    with opened(path, 0) as memory:
        event = memory.remember("tea at four", user="ann").events[0]
    for n in range(1, 3 * MAX_ATTEMPTS):
        with opened(path, 10 * n, AbsentEmbedder()) as memory:
            assert memory.worker.step() == 1
            assert memory.status(event, user="ann").state == "failed"
    with opened(path, 1000) as memory:
        assert memory.worker.step() == 1
        assert memory.status(event, user="ann").state == "done"
