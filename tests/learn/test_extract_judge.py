"""The step `extract` with a judge of facts: paid for, heard in doubt, never waited for in vain."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from holdfast.learn.extract import JUDGE_TIMEOUTS
from holdfast.records.facts.judge import MOST_QUESTIONS
from tests.learn.chatting import Model, queue_again
from tests.learn.stepping import ANN, RULES, START, Stepping

#: Left out of `make check`: each opens a memory, or takes its time.
pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
FLAT, SOLD = "I rent a small flat on the hill.", "The small flat on the hill was sold."
OTHER = "I rent a small flat by the river."
THINGS = ("balconies", "rats", "a cellar", "thin walls", "no lift", "a stove", "ghosts", "ivy")
DEADLINE_S = 60.0


def a_talk(path: Path, model: Model, **more: Any) -> Stepping:
    extraction = {name: more.pop(name) for name in ("judge",) if name in more}
    given = {"url": model.url, "model": "m", "timeoutSeconds": 5, **more}
    jobs = {"maxAttempts": 3, "backoffSeconds": 1}
    return Stepping(path / "m.db", RULES, provider="llm", llm=given, jobs=jobs, **extraction)


def judged(model: Model) -> list[list[dict[str, Any]]]:
    """The lines of each prompt of the judge."""
    return [lines for lines in model.shown() if any("new" in line for line in lines)]


def held(made: Stepping) -> list[str]:
    return [each.content for each in made.memory.facts.list(user="ann")]


def calls(made: Stepping) -> int:
    return made.memory.store.spent(ANN, START.date()).calls


def test_an_opinion_decides_what_the_rules_leave_in_doubt(tmp_path: Path, model: Model) -> None:
    model.is_("judging-supersede")
    made = a_talk(tmp_path, model)
    with made.memory as memory:
        first, second = made.understand(FLAT), made.understand(SOLD)
        (new,) = memory.facts.list(user="ann")
        assert (new.content, new.sources) == (SOLD, (second,))
        (old,) = [each for each in memory.facts.list(user="ann", status="all") if each != new]
        assert (old.content, old.status, old.sources) == (FLAT, "superseded", (first,))
        assert memory.facts.get(new.id, user="ann").replaces == (old.id,)
        # Charged as the extraction itself, and nobody saw an id.
        spent = memory.store.spent(ANN, START.date())
        assert (spent.calls, spent.prompt_tokens, spent.answer_tokens) == (3, 2_700, 180)
        assert judged(model) == [[{"alias": "f1", "known": FLAT}, {"new": SOLD}]]
        ids = (old.id, new.id, first, second)
        assert not [each for each in ids if each in json.dumps(model.asked())]
        assert made.unclean() == []


@pytest.mark.parametrize(
    ("mode", "settings", "asked"),
    [
        ("chatty", {}, 1),
        ("broken", {}, 1),
        ("hanging", {"timeoutSeconds": 0.5}, 1),
        ("no_json", {}, 1),
        ("unauthorised", {}, 1),
        ("stray", {}, 1),
        ("supersede", {"dailyCalls": 2}, 0),
        ("supersede", {"judge": False}, 0),
    ],
)
def test_without_an_opinion_the_rules_decide_and_nothing_waits(
    tmp_path: Path, model: Model, mode: str, settings: dict[str, Any], asked: int
) -> None:
    model.is_(f"judging-{mode}")
    made = a_talk(tmp_path, model, **settings)
    with made.memory as memory:
        events = [made.understand(text) for text in (FLAT, SOLD)]
        assert sorted(held(made)) == sorted([FLAT, SOLD])
        assert len(judged(model)) == asked
        assert calls(made) == 2 + asked
        assert made.jobs() == []
        assert [memory.status(each, user="ann").state for each in events] == ["done"] * 2
        assert made.unclean() == []


def test_a_judge_that_is_left_alone_is_not_asked(tmp_path: Path, model: Model) -> None:
    """One breaker for both: who refuses the judge refuses the extraction."""
    model.is_("judging-unauthorised")
    made = a_talk(tmp_path, model)
    with made.memory:
        made.understand(FLAT)
        made.understand(SOLD)
        before = len(model.asked())
        made.later(60)
        made.say("The canoe was sold.")
        made.later(60)
        made.work()
        assert len(model.asked()) == before
        assert [(job.attempts, job.state) for job in made.jobs()] == [(0, "ready")]


def test_one_group_asks_few_questions(tmp_path: Path, model: Model) -> None:
    model.is_("judging-add")
    made = a_talk(tmp_path, model)
    with made.memory as memory:
        made.understand(FLAT)
        said = [f"The small flat on the hill has {thing}." for thing in THINGS]
        memory.remember([{"content": each} for each in said], user="ann", session="two")
        memory.drain()
        assert len(judged(model)) == MOST_QUESTIONS
        assert calls(made) == 2 + MOST_QUESTIONS
        assert sorted(held(made)) == sorted([FLAT, *said])


def test_reading_the_same_again_changes_nothing_and_asks_no_judge(
    tmp_path: Path, model: Model
) -> None:
    model.is_("judging-supersede")
    made = a_talk(tmp_path, model)
    with made.memory as memory:
        for text in (FLAT, SOLD):
            made.understand(text)
        before = made.stored()
    model.is_("judging-delete")
    again = a_talk(tmp_path, model)
    with again.memory as memory:
        queue_again(tmp_path / "m.db")
        again.later(3_600)
        assert memory.drain().done == 2
        assert judged(model) == []
        assert again.stored() == before


def test_a_claim_outlives_the_calls_of_its_judge(tmp_path: Path, model: Model) -> None:
    lasts = {}
    for judge in (True, False):
        (tmp_path / str(judge)).mkdir()
        made = a_talk(tmp_path / str(judge), model, judge=judge, timeoutSeconds=100)
        with made.memory as memory:
            made.say(FLAT)
            reader = memory.worker.reader
            assert reader is not None
            assert reader.claim(ignore_backoff=True)
            while not reader.claim(ignore_backoff=True):
                made.later(10)
            lasts[judge] = (made.now - START).total_seconds()
    assert lasts[False] >= 100
    assert lasts[True] >= lasts[False] + JUDGE_TIMEOUTS * 100


# While a judge thinks

DRAIN = """
import sys
from pathlib import Path
from tests.learn.stepping import RULES
from tests.learn.stepping import Stepping

path, url, seconds = Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])
llm = {"url": url, "model": "m", "timeoutSeconds": 60}
made = Stepping(path / "m.db", RULES, provider="llm", llm=llm)
made.later(seconds)
with made.memory as memory:
    print(memory.drain().done)
"""


def wait_for_judge(model: Model, count: int) -> None:
    """Until so many questions have come to the judge."""
    deadline = time.monotonic() + DEADLINE_S
    while len(judged(model)) < count:
        assert time.monotonic() < deadline, "no question came"
        time.sleep(0.02)


def start_drain(path: Path, model: Model, made: Stepping) -> subprocess.Popen[str]:
    """Another process that understands what was said, and stands before its judge."""
    seconds = (made.now - START).total_seconds() + 1
    command = [sys.executable, "-c", DRAIN, str(path), model.url, str(seconds)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    wait_for_judge(model, 1)
    return process


def finish(process: subprocess.Popen[str], model: Model) -> None:
    model.release()
    out, _ = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 0
    assert int(out) > 0


def test_another_process_changes_the_fact_that_is_being_judged(
    tmp_path: Path, model: Model
) -> None:
    """Neither change is lost: the judge is asked about what is known then."""
    model.is_("judging-held")
    made = a_talk(tmp_path, model)
    with made.memory as memory:
        made.understand(FLAT)
        (flat,) = memory.facts.list(user="ann")
        made.later(60)
        made.say(SOLD)
        process = start_drain(tmp_path, model, made)
        larger = memory.facts.update(
            flat.id, "I rent the small flat on the green hill.", user="ann"
        )
        finish(process, model)
        assert [lines[0]["known"] for lines in judged(model)] == [FLAT, larger.content]
        assert held(made) == [SOLD]
        (sold,) = memory.facts.list(user="ann")
        status = {each.content: each for each in memory.facts.list(user="ann", status="all")}
        assert set(status) == {FLAT, larger.content, SOLD}
        assert status[SOLD].claim == status[FLAT].claim == flat.id
        assert memory.facts.get(larger.id, user="ann").replaces == (flat.id,)
        assert memory.facts.get(sold.id, user="ann").replaces == (larger.id,)
        assert all(
            each.known_to is None or each.known_to >= each.known_from for each in status.values()
        )
        assert made.unclean() == []


def test_another_process_takes_back_the_fact_that_is_being_judged(
    tmp_path: Path, model: Model
) -> None:
    model.is_("judging-held")
    made = a_talk(tmp_path, model)
    with made.memory as memory:
        made.understand(FLAT)
        (flat,) = memory.facts.list(user="ann")
        made.later(60)
        made.say(SOLD)
        process = start_drain(tmp_path, model, made)
        memory.facts.invalidate(flat.id, user="ann")
        finish(process, model)
        assert len(judged(model)) == 1
        assert held(made) == [SOLD]
        assert memory.facts.get(flat.id, user="ann").status == "invalidated"
        (sold,) = memory.facts.list(user="ann")
        assert memory.facts.get(sold.id, user="ann").replaces == ()


def test_what_is_added_meanwhile_stays_and_is_not_paid_for_again(
    tmp_path: Path, model: Model
) -> None:
    model.is_("judging-held")
    made = a_talk(tmp_path, model)
    with made.memory as memory:
        made.understand(FLAT)
        made.later(60)
        made.say(SOLD)
        process = start_drain(tmp_path, model, made)
        memory.facts.add(OTHER, user="ann")
        finish(process, model)
        assert len(judged(model)) == 1
        assert sorted(held(made)) == sorted([OTHER, SOLD])


def test_nobody_waits_for_a_judge(tmp_path: Path, model: Model) -> None:
    """In the same process, too: no lock is held and no transaction open while it thinks."""
    model.is_("judging-held")
    made = a_talk(tmp_path, model, timeoutSeconds=60)
    with made.memory as memory:
        made.understand(FLAT)
        made.later(60)
        made.say(SOLD)
        draining = threading.Thread(target=memory.drain)
        draining.start()
        wait_for_judge(model, 1)
        memory.graph.write([{"name": "Northwind", "type": "organization"}], user="ann")
        memory.facts.add("I play the cello.", user="ann")
        made.say("I sing.", session="three")
        assert sorted(held(made)) == sorted([FLAT, "I play the cello."]), "it still thinks"
        model.release()
        draining.join(DEADLINE_S)
        assert sorted(held(made)) == sorted(["I play the cello.", "I sing.", SOLD])
