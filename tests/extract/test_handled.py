"""Turns that are to be read otherwise than the rest: quick ones, and those with settings of their
own; with a language model that is a server process."""

from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.errors import ConfigError, InvalidInput, ModelError
from recollect.memory import Memory
from recollect.testing import HashEmbedder
from tests.extract.chatting import Model
from tests.extract.stepping import RULES, Recorder, Stepping
from tests.extract.test_step_llm import a_talk, turns_of

NURSE, GOOGLE = "I work as a nurse at Mercy Hospital.", "Clara works at Google."


def facts(memory: Memory) -> list[str]:
    return [each.content for each in memory.facts.list(user="ann")]


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
        broken = recollect.open(
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


def test_a_retry_with_a_key_must_ask_for_the_same(tmp_path: Path) -> None:
    made = Stepping(tmp_path / "m.db", RULES)
    with made.memory as memory:
        who: dict[str, Any] = {"user": "ann", "agent": "a", "key": "k"}
        first = memory.remember(NURSE, **who, quick=True)
        assert memory.remember(NURSE, **who, quick=True).events == first.events
        for more in ({}, {"quick": True, "visibility": "agent_only"}):
            with pytest.raises(recollect.errors.Conflict):
                memory.remember(NURSE, **who, **more)


def test_nothing_is_stored_where_too_much_is_asked_for(tmp_path: Path) -> None:
    made = Stepping(tmp_path / "m.db", RULES)
    with made.memory as memory:
        with pytest.raises(ConfigError, match="asks no language model"):
            memory.remember("x", user="ann", overrides={"extraction.provider": "llm"})
        with pytest.raises(InvalidInput, match="needs an agent"):
            memory.remember("x", user="ann", visibility="agent_only")
        assert memory.list(user="ann").memories == ()
