"""The worker and what understands turns: whatever that does, nothing is lost or asked too often."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.errors import ModelError, ModelUnavailable, NotAsked, Refused
from holdfast.language.extraction import Extracted
from holdfast.language.mentions import Turn
from tests.learn.stepping import RULES, START, Recorder, Stepping

TURNS = ("Clara works at Google.", "Clara lives in Lisbon.")
BUSY = NotAsked("left alone", retry_after=100)


class Failing(Recorder):
    """Fails so many times."""

    def __init__(self, error: Exception, times: int) -> None:
        super().__init__()
        self._error = error
        self._left = times

    def extract(self, turns: Sequence[Turn]) -> list[Extracted]:
        self._left -= 1
        self.error = self._error if self._left >= 0 else None
        return super().extract(turns)


def a_talk(path: Path, extractor: Recorder, attempts: int = 2) -> Stepping:
    return Stepping(path / "m.db", extractor, jobs={"maxAttempts": attempts, "backoffSeconds": 1})


def said(made: Stepping) -> list[str]:
    return [made.say(text) for text in TURNS]


def test_what_was_not_tried_waits_together_and_costs_no_attempt(tmp_path: Path) -> None:
    reader = Failing(BUSY, 3)
    made = a_talk(tmp_path, reader)
    with made.memory as memory:
        events = said(made)
        for _ in range(3):
            made.later(5)
            made.work()
            (due,) = {job.due for job in made.jobs()}
            assert due is not None
            assert due - made.now == timedelta(seconds=100)
            assert [(job.state, job.attempts) for job in made.jobs()] == [("ready", 0)] * 2
            made.later(99)
            assert made.work() == 0
            made.later(1)
        made.later(5)
        assert made.work() == 2
        assert reader.groups == [list(TURNS)] * 4
        assert [memory.status(each, user="ann").state for each in events] == ["done"] * 2


def test_what_failed_is_tried_again_together(tmp_path: Path) -> None:
    reader = Failing(ModelError("nonsense"), 1)
    made = a_talk(tmp_path, reader)
    with made.memory as memory:
        events = said(made)
        made.later(5)
        made.work()
        (due,) = {job.due for job in made.jobs()}
        assert due is not None
        assert timedelta(seconds=0.5) <= due - made.now <= timedelta(seconds=1)
        assert [job.attempts for job in made.jobs()] == [1, 1]
        assert memory.status(events[0], user="ann").state == "failed"
        made.now = due
        assert made.work() == 2, "it has been quiet long enough before"
        assert reader.groups == [list(TURNS)] * 2
        assert made.jobs() == []


def test_the_background_gives_up_on_nonsense_and_keeps_what_can_be_had(tmp_path: Path) -> None:
    made = a_talk(tmp_path, Failing(ModelError("nonsense"), 2))
    with made.memory as memory:
        events = said(made)
        for _ in range(3):
            made.later(60)
            made.work()
        status = memory.status(events[0], user="ann")
        assert (status.state, status.error) == ("dead", "nonsense")
        assert {"Clara", "Google", "Lisbon"} <= set(made.nodes())
        assert [job.transient for job in made.jobs()] == [False] * 2


@pytest.mark.parametrize("error", [ModelUnavailable("away"), Refused(), ConnectionError("gone")])
def test_the_background_never_gives_up_on_what_may_come_back(
    tmp_path: Path, error: Exception
) -> None:
    reader = Failing(error, 9)
    made = a_talk(tmp_path, reader)
    with made.memory as memory:
        (event, _) = said(made)
        for attempt in range(1, 10):
            made.later(600)
            made.work()
            assert len(reader.groups) == attempt
            status = memory.status(event, user="ann")
            assert status.state == "failed"
            assert str(error) in str(status.error)
        made.later(600)
        made.work()
        assert memory.status(event, user="ann").state == "done"
        assert "Clara" in made.nodes()


@pytest.mark.parametrize(
    ("error", "calls"), [(BUSY, 1), (ModelUnavailable("away"), 2), (Refused(), 2)]
)
def test_who_drains_does_not_wait_and_the_next_to_open_tries_again(
    tmp_path: Path, error: Exception, calls: int
) -> None:
    reader = Failing(error, calls)
    made = a_talk(tmp_path, reader)
    with made.memory as memory:
        (event, _) = said(made)
        drained = memory.drain()
        assert (drained.done, drained.dead, drained.pending) == (2, 2, 0)
        assert len(reader.groups) == calls + 1, "and once without the model"
        assert "Clara" in made.nodes()
        status = memory.status(event, user="ann")
        assert (status.state, status.error) == ("dead", str(error))
        before = made.stored()
    again = a_talk(tmp_path, Recorder())
    with again.memory as memory:
        assert memory.drain().done == 2
        assert memory.status(event, user="ann").state == "done"
        assert again.stored() == before, "what it says was known already"


def test_one_talk_that_fails_does_not_hold_up_another(tmp_path: Path) -> None:
    made = a_talk(tmp_path, Failing(ModelUnavailable("away"), 1))
    with made.memory:
        made.say("Bernard lives in Oslo.", session="one")
        made.later(5)
        made.work()
        made.say("Clara lives in Lisbon.", session="two")
        made.later(0.01)
        made.work()
        assert made.nodes() == {}
        made.later(5)
        made.work()
        assert set(made.nodes()) == {"Bernard", "Oslo", "Clara", "Lisbon"}


class Noting:
    """Notes what is done, in its order."""

    model_id = "noting"
    dim = 4
    is_stand_in = True

    def __init__(self) -> None:
        self.done: list[str] = []

    def embed(self, texts: list[str]) -> list[list[float]]:
        self.done += ["embed"] * len(texts)
        return [[1.0] * self.dim for _ in texts]

    def extract(self, turns: Sequence[Turn]) -> list[Extracted]:
        self.done += ["extract"] * len(turns)
        return RULES.extract(turns)


def test_what_was_said_can_be_found_before_it_is_understood(tmp_path: Path) -> None:
    noting: Any = Noting()
    with holdfast.open(
        tmp_path / "m.db", embedder=noting, extractor=noting, worker=False
    ) as memory:
        memory.remember([{"content": text} for text in TURNS], user="ann")
        memory.drain()
        assert noting.done == ["embed"] * 2 + ["extract"] * 2


class Stopping:
    """Is told to stop while it reads."""

    def __init__(self) -> None:
        self.stop: Callable[[], None] = lambda: None

    def extract(self, turns: Sequence[Turn]) -> list[Extracted]:
        self.stop()
        return RULES.extract(turns)


def test_stopping_finishes_the_talk_in_hand_and_begins_no_other(tmp_path: Path) -> None:
    stopping = Stopping()
    made = Stepping(tmp_path / "m.db", stopping)
    with made.memory as memory:
        made.say(TURNS[0], session="one")
        made.say("Bernard lives in Oslo.", session="two")
        stopping.stop = memory.worker.stop
        assert memory.drain().pending == 1
        assert set(made.nodes()) == {"Clara", "Google"}
        assert [(job.state, job.attempts) for job in made.jobs()] == [("ready", 0)]


def test_nothing_is_claimed_for_a_step_that_nobody_does(tmp_path: Path) -> None:
    made = Stepping(tmp_path / "m.db")
    with made.memory:
        made.say(TURNS[0])
    other = Stepping(tmp_path / "m.db", enabled=False)
    with other.memory as memory:
        assert memory.drain().pending == 0
        assert [(job.state, job.attempts) for job in other.jobs()] == [("ready", 0)]
    again = Stepping(tmp_path / "m.db")
    with again.memory as memory:
        again.now = START + timedelta(seconds=5)
        again.work()
        assert "Clara" in again.nodes()
