"""The step `extract` with a language model: a server process that does as the address says."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from holdfast.language.tokens import count_tokens
from tests.learn.chatting import Model, queue_again
from tests.learn.stepping import ANN, RULES, START, Stepping

ATTEMPTS = 3
TURNS = ("Anna works at Lumatech.", "Boris works at Lumatech too.", "Clara works at Northwind.")
EDGES = {
    "Anna works at Lumatech",
    "Boris works at Lumatech",
    "Clara works at Northwind",
}


def a_talk(path: Path, model: Model, attempts: int = ATTEMPTS, **llm: Any) -> Stepping:
    given = {"url": model.url, "model": "m", "timeoutSeconds": 5, **llm}
    jobs = {"maxAttempts": attempts, "backoffSeconds": 1}
    return Stepping(path / "m.db", RULES, provider="llm", llm=given, jobs=jobs)


def turns_of(lines: list[dict[str, Any]]) -> list[str]:
    return [line["text"] for line in lines if "turn" in line]


def test_a_talk_is_one_call_and_becomes_a_graph_with_sources(tmp_path: Path, model: Model) -> None:
    made = a_talk(tmp_path, model)
    with made.memory as memory:
        events = [made.say(text) for text in TURNS]
        drained = memory.drain()
        facts = len(memory.facts.list(user="ann"))
        assert facts, "they are embedded, too"
        assert (drained.done, drained.dead, drained.pending) == (6 + facts, 0, 0)
        (lines,) = model.shown()
        assert turns_of(lines) == list(TURNS)
        nodes, edges = made.nodes(), made.edges()
        assert set(nodes) == {"Anna", "Boris", "Clara", "Lumatech", "Northwind"}
        assert nodes["Lumatech"].sources == (events[0], events[1])
        assert nodes["Lumatech"].type == "organization"
        assert set(edges) == EDGES
        assert edges["Anna works at Lumatech"].sources == (events[0],)
        assert edges["Anna works at Lumatech"].origin == "user"
        spent = memory.store.spent(ANN, START.date())
        assert (spent.calls, spent.prompt_tokens, spent.answer_tokens) == (1, 900, 60)
        assert made.unclean() == []


def test_the_model_is_shown_what_is_known_and_no_id(tmp_path: Path, model: Model) -> None:
    made = a_talk(tmp_path, model)
    with made.memory:
        first = made.understand(TURNS[0])
        second = made.understand("Anna works at Northwind now.")
        asked = model.asked()[-1]
        known = {line["name"] for line in model.shown()[-1] if "known" in line}
        assert known == {"Anna", "Lumatech"}
        ids = {first, second, *(node.id for node in made.nodes().values())}
        assert not [each for each in ids if each in json.dumps(asked)]
        assert made.nodes()["Anna"].sources == (first, second), "it is the same Anna"


def test_more_turns_than_one_call_may_show_are_several_calls(tmp_path: Path, model: Model) -> None:
    made = a_talk(tmp_path, model)
    said = [f"Person{number} works at Place{number}." for number in range(45)]
    with made.memory as memory:
        memory.remember([{"content": text} for text in said], user="ann", session="s")
        memory.drain()
        shown = [turns_of(lines) for lines in model.shown()]
        assert [len(turns) for turns in shown] == [20, 20, 5]
        assert [turn for turns in shown for turn in turns] == said, "each once, in order"
        assert len(made.edges()) == 45
        assert made.jobs() == []


def test_as_many_turns_as_one_call_may_show_do_not_wait(tmp_path: Path, model: Model) -> None:
    made = a_talk(tmp_path, model)
    with made.memory as memory:
        turns = [{"content": f"This is sentence {number}."} for number in range(19)]
        memory.remember(turns, user="ann", session="s")
        made.work()
        assert model.asked() == []
        made.say(TURNS[0])
        made.work()
        assert [len(turns_of(lines)) for lines in model.shown()] == [20]


def test_more_tokens_than_one_call_may_show_are_several_calls(tmp_path: Path, model: Model) -> None:
    made = a_talk(tmp_path, model)
    said = [f"Person{n} works at Place{n}. " + "It was a long day. " * 250 for n in range(6)]
    assert 1000 < count_tokens(said[0]) < 2000
    with made.memory as memory:
        memory.remember([{"content": text} for text in said], user="ann", session="s")
        made.later(60)
        made.work()
        shown = [turns_of(lines) for lines in model.shown()]
        assert [turn for turns in shown for turn in turns] == [text.strip() for text in said]
        assert all(sum(map(count_tokens, turns)) <= 4_000 for turns in shown)
        assert len(shown) == 3
        assert len(made.edges()) == 6
        assert made.jobs() == []


def test_a_turn_that_is_too_long_for_a_call_is_not_lost(tmp_path: Path, model: Model) -> None:
    made = a_talk(tmp_path, model)
    with made.memory as memory:
        event = made.say(TURNS[0] + " It was a long day." * 4_000)
        memory.drain()
        assert len(model.asked()) == 1
        assert memory.status(event, user="ann").state == "done"
        assert made.edges()["Anna works at Lumatech"].sources == (event,)


def test_what_waits_in_the_same_talk_has_not_been_tried(tmp_path: Path, model: Model) -> None:
    made = a_talk(tmp_path, model)
    said = "It was a long day. " * 600
    with made.memory as memory:
        memory.remember([{"content": f"{n} {said}"} for n in range(3)], user="ann", session="s")
        reader = memory.worker.reader
        assert reader is not None
        (first,) = reader.claim(ignore_backoff=True)
        rest = [job for job in made.jobs() if job.id != first.id]
        assert [(job.state, job.attempts) for job in rest] == [("ready", 0)] * 2


BROKEN = {
    "an apology": ("chatty", "no JSON"),
    "wrong types": ("mistyped", ""),
    "cut in its first item": ("cut_at-30", "cut off"),
    "no JSON": ("no_json", ""),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_bad_answer_is_asked_for_again_then_the_rules_step_in(
    tmp_path: Path, model: Model, kind: str
) -> None:
    mode, reason = BROKEN[kind]
    model.is_(mode)
    made = a_talk(tmp_path, model)
    with made.memory as memory:
        events = [made.say(text) for text in TURNS]
        drained = memory.drain()
        assert (drained.done, drained.dead) == (3, 3)
        assert len(model.asked()) == ATTEMPTS
        for event in events:
            status = memory.status(event, user="ann")
            assert (status.state, status.pending) == ("dead", ("extract",))
            assert reason in str(status.error)
        assert set(made.edges()) == EDGES, "the rules"
        assert [job.transient for job in made.jobs()] == [False] * 3
        model.is_("good")
        memory.drain()
        assert len(model.asked()) == 0, "a dead letter stays dead until it is replayed"
        assert memory.store.replay() == 3
        facts = len(memory.facts.list(user="ann", status="all"))
        drained = memory.drain()
        more = len(memory.facts.list(user="ann", status="all")) - facts
        assert (drained.done, drained.dead) == (3 + more, 0), "what is new is embedded, too"
        assert len(model.asked()) == 1
        assert made.jobs() == []
        assert set(made.edges()) == EDGES
        assert made.nodes()["Lumatech"].sources == (events[0], events[1])
        assert made.unclean() == []


def test_a_model_that_is_away_is_asked_again_and_nothing_is_lost(
    tmp_path: Path, model: Model
) -> None:
    model.is_("overloaded")
    made = a_talk(tmp_path, model, attempts=2)
    with made.memory as memory:
        event = made.say(TURNS[0])
        for tries in range(1, 4):
            made.later(600)
            made.work()
            assert len(model.asked()) == tries
            assert memory.status(event, user="ann").state == "failed", "it comes back some day"
        model.is_("good")
        made.later(600)
        made.work()
        assert memory.status(event, user="ann").state == "done"
        assert set(made.edges()) == {"Anna works at Lumatech"}


def test_one_who_refuses_the_key_is_left_alone(tmp_path: Path, model: Model) -> None:
    model.is_("unauthorised")
    made = a_talk(tmp_path, model, apiKey="sk-secret")
    with made.memory as memory:
        first = made.say(TURNS[0])
        made.later(5)
        made.work()
        assert len(model.asked()) == 1
        second = made.say(TURNS[2], session="two")
        for _ in range(10):
            made.later(20)
            made.work()
        assert len(model.asked()) == 1, "no call before five minutes are over"
        (tried, untried) = made.jobs()
        assert (tried.subject, tried.attempts, tried.transient) == (first, 1, True)
        assert (untried.subject, untried.attempts) == (second, 0)
        assert untried.due is not None
        assert "sk-secret" not in str(memory.status(first, user="ann").error)
        assert memory.drain().dead == 2
        assert len(model.asked()) == 1
        assert set(made.edges()) == {"Anna works at Lumatech", "Clara works at Northwind"}
        assert all(job.transient for job in made.jobs())
    model.is_("good")
    again = a_talk(tmp_path, model)
    with again.memory as memory:  # The key was mended: nobody has to ask for a replay.
        memory.drain()
        assert again.jobs() == []
        assert memory.status(second, user="ann").state == "done"


def test_over_the_budget_of_a_day_a_talk_waits_for_the_next_and_costs_no_attempt(
    tmp_path: Path, model: Model
) -> None:
    made = a_talk(tmp_path, model, dailyCalls=1)
    midnight = START.replace(hour=0) + timedelta(days=1)
    with made.memory as memory:
        made.say(TURNS[0], session="one")
        made.later(5)
        made.work()
        waiting = [made.say(text, session="two") for text in TURNS[1:]]
        for _ in range(20):
            made.later(600)
            made.work()
        assert len(model.asked()) == 1
        assert [(job.attempts, job.state) for job in made.jobs()] == [(0, "ready")] * 2
        (due,) = {job.due for job in made.jobs()}
        assert due is not None
        assert abs(due - midnight) < timedelta(seconds=2)
        assert memory.status(waiting[0], user="ann").state == "stored"
        assert memory.store.spent(ANN, START.date()).calls == 1
        made.now = midnight + timedelta(seconds=10)
        made.work()
        assert [turns_of(lines) for lines in model.shown()[1:]] == [list(TURNS[1:])]
        assert made.jobs() == []
        assert set(made.edges()) == EDGES
        assert memory.store.spent(ANN, midnight.date()).calls == 1


def test_the_budget_of_one_user_is_not_that_of_another(tmp_path: Path, model: Model) -> None:
    made = a_talk(tmp_path, model, dailyCalls=1)
    with made.memory as memory:
        for user in ("ann", "bo"):
            made.say(TURNS[0], user=user)
        memory.drain()
        assert len(model.asked()) == 2
        assert made.jobs() == []


def test_a_model_that_answers_nonsense_all_day_cannot_spend_more_than_the_day_allows(
    tmp_path: Path, model: Model
) -> None:
    model.is_("chatty")
    made = a_talk(tmp_path, model, attempts=1_000, dailyCalls=7)
    with made.memory as memory:
        event = made.say(TURNS[0])
        while made.now.date() == START.date():
            made.work()
            made.later(300)
        assert len(model.asked()) == 7
        assert memory.store.spent(ANN, START.date()).calls == 7
        assert memory.status(event, user="ann").state == "failed"


def test_what_was_cut_off_is_made_up_for_by_the_rules(tmp_path: Path, model: Model) -> None:
    model.is_("cut_at-420")
    made = a_talk(tmp_path, model)
    with made.memory as memory:
        for text in TURNS:
            made.say(text)
        assert memory.drain().dead == 0
        assert len(model.asked()) == 1
        assert set(made.edges()) == EDGES


def test_reading_the_same_again_changes_nothing(tmp_path: Path, model: Model) -> None:
    made = a_talk(tmp_path, model)
    with made.memory as memory:
        for text in TURNS:
            made.say(text)
        model.is_("chatty")
        memory.drain()
        model.is_("good")
        memory.store.replay()
        memory.drain()
        before = made.stored()
        queue_again(tmp_path / "m.db")
        assert len(made.jobs()) == len(TURNS)
        made.later(86_400)
        assert memory.drain().done == 3
        assert len(model.asked()) == 2
        assert made.stored() == before
