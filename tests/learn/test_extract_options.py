"""Turns that are to be read otherwise than the rest: quick ones, and those with settings of their
own; with a language model that is a server process."""

import io
import json
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest
from numpy.typing import NDArray

import holdfast
from holdfast.errors import Closed, ConfigError, InvalidInput, ModelError
from holdfast.language.extraction import Extracted
from holdfast.language.mentions import Turn
from holdfast.memory.memory import Memory
from holdfast.testing import HashEmbedder
from holdfast.transfer import export_to, import_from
from tests.learn.chatting import Model
from tests.learn.stepping import RULES, Recorder, Stepping
from tests.learn.test_extract_llm import a_talk, turns_of

NLP = {"extraction.provider": "nlp"}
TEA = "My favourite drink is black tea with milk in the morning."
MORE_TEA = TEA.replace("milk", "much milk")
NURSE, GOOGLE = "I work as a nurse at Mercy Hospital.", "Clara works at Google."


class Doing(Recorder):
    """Does something while it reads."""

    def __init__(self, action: Callable[[], object]) -> None:
        super().__init__()
        self._action = action

    def extract(self, turns: Sequence[Turn]) -> list[Extracted]:
        self._action()
        return super().extract(turns)


class Watched:
    """An embedder that does something before it answers; how much milk is all the same to it."""

    model_id, dim = "hash-16", 16
    is_stand_in = True

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.action: Callable[[list[str]], object] = self.asked.append

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        self.action(texts)
        return HashEmbedder(16).embed([text.replace("much milk", "milk") for text in texts])


def watched(path: Path, embedder: Watched) -> Memory:
    rules = {"extraction": {"provider": "rules"}}
    return holdfast.open(path / "m.db", embedder=embedder, worker=False, config=rules)


def facts(memory: Memory, user: str = "ann") -> list[str]:
    return [each.content for each in memory.facts.list(user=user)]


def shown(model: Model) -> set[str]:
    """The turns that the model was asked to read."""
    return {text for lines in model.shown() for text in turns_of(lines)}


def test_quick_turns_are_read_when_remember_returns_and_by_no_model(
    tmp_path: Path, model: Model
) -> None:
    made = a_talk(tmp_path, model)
    with made.memory as memory:
        event = made.say(NURSE, quick=True)
        assert facts(memory) == [NURSE]
        assert memory.status(event, user="ann").pending == ("embed",)
        memory.drain()
        assert model.asked() == []


def test_a_model_reads_the_rest_of_the_talk_and_in_its_own_time(
    tmp_path: Path, model: Model
) -> None:
    made = a_talk(tmp_path, model)
    with made.memory as memory:
        made.say(GOOGLE)
        made.say(NURSE, quick=True)
        made.work()
        assert model.asked() == [], "the talk has not come to rest"
        memory.drain()
        assert shown(model) == {GOOGLE}


def test_quick_does_not_wait_for_a_model_that_is_away(tmp_path: Path, model: Model) -> None:
    made = a_talk(tmp_path, model)
    with made.memory as memory:
        model.is_("down")
        made.say(GOOGLE)
        made.later(60)
        made.work()
        made.say(NURSE, quick=True)
        assert NURSE in facts(memory)


def test_many_quick_turns_are_read_in_the_background_without_waiting(tmp_path: Path) -> None:
    made = Stepping(tmp_path / "m.db")
    with made.memory as memory:
        turns = [{"content": f"I work at Shop{number}."} for number in range(65)]
        memory.remember(turns, user="ann", quick=True)
        assert facts(memory) == []
        made.work()
        assert len(memory.facts.list(user="ann", status="all", limit=200)) > 1
        assert made.jobs() == []


def test_a_quick_turn_that_cannot_be_read_is_left_to_the_queue(tmp_path: Path) -> None:
    made = Stepping(tmp_path / "m.db", Recorder())
    with made.memory as memory:
        reader = Recorder(ModelError("nonsense"))
        broken = holdfast.open(
            tmp_path / "m.db", embedder=HashEmbedder(16), worker=False, extractor=reader,
            clock=lambda: made.now, config={"extraction": {"provider": "rules"}},
        )  # fmt: skip
        with broken:
            given: dict[str, Any] = {"overrides": {"extraction.provider": "nlp"}}
            broken.remember(NURSE, user="ann", quick=True, **given)
            assert reader.groups == [[NURSE]]
            assert facts(broken) == []
        (job,) = [job for job in made.jobs() if job.step == "extract"]
        assert (job.state, job.attempts) == ("ready", 0)
        memory.drain()
        assert facts(memory) == [NURSE]


def test_a_quick_write_that_is_stored_does_not_fail(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever goes wrong with the reading, also before anything is claimed: here it is the clock,
    which gives up after it was asked for the time of the write."""
    made = Stepping(tmp_path / "m.db", RULES)
    ticks = iter([made.now, made.now])
    with holdfast.open(
        tmp_path / "m.db", embedder=HashEmbedder(16), worker=False, clock=lambda: next(ticks),
        config={"extraction": {"provider": "rules"}},
    ) as broken:  # fmt: skip
        for turns in (1, 65):
            with caplog.at_level(logging.WARNING):
                given = [{"content": NURSE}] * turns
                assert len(broken.remember(given, user="ann", quick=True).events) == turns
            ticks = iter([made.now])
    assert "not read at once: StopIteration" in caplog.text
    assert "nurse" not in caplog.text
    with made.memory as memory:
        assert {(job.state, job.attempts) for job in made.jobs()} == {("ready", 0)}
        memory.drain()
        assert facts(memory) == [NURSE]


def test_a_quick_write_does_not_fail_when_the_memory_is_closed_meanwhile(tmp_path: Path) -> None:
    def close() -> None:
        made.memory.close()

    made = Stepping(tmp_path / "m.db", Doing(close))
    made.memory.remember(NURSE, user="ann", quick=True, overrides=NLP)
    with pytest.raises(Closed):
        made.memory.drain()
    again = Stepping(tmp_path / "m.db", RULES)
    with again.memory as memory:
        again.later(3600)
        memory.drain()
        assert facts(memory) == [NURSE]


def test_a_quick_write_waits_for_another_process_only_so_long(tmp_path: Path) -> None:
    other = apsw.Connection(str(tmp_path / "m.db"))
    made = Stepping(tmp_path / "m.db", Doing(lambda: other.execute("BEGIN IMMEDIATE")))
    with made.memory as memory:
        memory.worker.quick.patience_s = 0.1
        memory.remember(NURSE, user="ann", quick=True, overrides=NLP)
        assert facts(memory) == []
        other.execute("ROLLBACK")
        other.close()
        memory.worker.quick.join()
        assert facts(memory) == [NURSE], "it goes on when nobody waits any more"
        assert made.jobs() == []


def test_quick_asks_no_embedding_model(tmp_path: Path) -> None:
    embedder = Watched()
    with watched(tmp_path, embedder) as memory:
        memory.remember(TEA, user="ann", quick=True)
        memory.drain()
        embedder.asked.clear()
        memory.remember(MORE_TEA, user="ann", quick=True)
        assert embedder.asked == []
        assert set(facts(memory)) == {TEA, MORE_TEA}, "by words alone they are two"


def test_quick_does_not_wait_for_a_model_that_is_asked_about_facts_of_others(
    tmp_path: Path,
) -> None:
    embedder, found = Watched(), list[str]()
    with watched(tmp_path, embedder) as memory:
        memory.remember(TEA, user="ann")
        memory.drain()
        memory.remember(MORE_TEA, user="ann")

        def write(texts: list[str]) -> None:
            if {TEA, MORE_TEA} <= set(texts):
                memory.remember(NURSE, user="bob", quick=True)
                found.extend(facts(memory, "bob"))

        embedder.action = write
        memory.drain()
        assert found == [NURSE]
        assert facts(memory) == [MORE_TEA], "with the model they are one"


@pytest.mark.parametrize(
    "how",
    [
        {"quick": True},
        {"overrides": {"extraction.provider": "rules"}},
        {"overrides": {"extraction.provider": "nlp"}},
        {"overrides": {"extraction.enabled": False}},
        {"extract": False},
    ],
)
def test_what_is_kept_from_a_model_is_not_shown_as_what_was_said_before(
    tmp_path: Path, model: Model, how: dict[str, Any]
) -> None:
    made = a_talk(tmp_path, model)
    with made.memory as memory:
        made.say("Boris lives in Porto.")
        for _ in range(4):
            made.say(NURSE, **how)
        memory.drain()
        made.say(GOOGLE)
        memory.drain()
        asked = json.dumps(model.asked()[-1])
        assert "Google" in asked
        assert "lives in Porto" in asked, "what a model may know it is told"
        assert "as a nurse" not in json.dumps(model.asked())


def test_what_nothing_is_to_be_drawn_from_stays_so_in_a_copy(tmp_path: Path) -> None:
    lines = io.BytesIO()
    made = Stepping(tmp_path / "m.db")
    with made.memory as memory:
        made.say(NURSE, extract=False)
        made.say(TEA)
        memory.drain()
        export_to(memory.store, lines)
    lines.seek(0)
    copy = Stepping(tmp_path / "copy.db")
    with copy.memory as memory:
        assert import_from(memory, lines).failed == 0
        memory.drain()
        assert facts(memory) == [TEA]
        assert copy.jobs() == []


def test_an_override_holds_for_whoever_reads_the_turn(tmp_path: Path, model: Model) -> None:
    """It is kept with the event: the worker is another one than the writer's."""
    made = a_talk(tmp_path, model)
    with made.memory as writer:
        made.say(NURSE, overrides={"extraction.provider": "rules"})
        made.say(GOOGLE, overrides={"extraction.provider": "llm"})
        made.say("Boris lives in Porto.", overrides={"extraction.enabled": False})
        assert facts(writer) == []
    other = a_talk(tmp_path, model)
    with other.memory as worker:
        other.later(60)
        worker.drain()
        assert shown(model) == {GOOGLE}
        assert set(facts(worker)) == {NURSE, GOOGLE}
        assert "Boris" not in other.nodes()


def test_a_retry_with_a_key_must_say_the_same_quick_or_not(tmp_path: Path) -> None:
    made = Stepping(tmp_path / "m.db", RULES)
    with made.memory as memory:
        who: dict[str, Any] = {"user": "ann", "agent": "a", "key": "k"}
        first = memory.remember(NURSE, **who, quick=True)
        for quick in (True, False):
            assert memory.remember(NURSE, **who, quick=quick).events == first.events
        for more in ({"extract": False}, {"quick": True, "visibility": "agent_only"}):
            with pytest.raises(holdfast.errors.Conflict):
                memory.remember(NURSE, **who, **more)


def test_nothing_is_stored_where_too_much_is_asked_for(tmp_path: Path) -> None:
    made = Stepping(tmp_path / "m.db", RULES)
    with made.memory as memory:
        with pytest.raises(ConfigError, match="asks no language model"):
            memory.remember("x", user="ann", overrides={"extraction.provider": "llm"})
        with pytest.raises(InvalidInput, match="needs an agent"):
            memory.remember("x", user="ann", visibility="agent_only")
        assert memory.list(user="ann").memories == ()
