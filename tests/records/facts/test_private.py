"""What one agent keeps to itself and what others know: neither ends or hides the other."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path

import pytest

import holdfast
from holdfast.memory.memory import Memory
from holdfast.testing import HashEmbedder
from holdfast.testing.store_suite import NOON
from tests.records.facts.stating import ANN, Stated

Span = tuple[str, datetime | None]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    ticks = count()
    with holdfast.open(
        tmp_path / "m.db",
        embedder=HashEmbedder(16),
        config={"extraction": {"provider": "rules"}},
        worker=False,
        clock=lambda: NOON + timedelta(seconds=next(ticks)),
    ) as opened:
        yield opened


@pytest.fixture
def stated(tmp_path: Path) -> Iterator[Stated]:
    made = Stated(tmp_path / "facts.db")
    yield made
    made.store.close()


def day(number: int) -> datetime:
    return NOON - timedelta(days=100 - 10 * number)


def say(memory: Memory, text: str, number: int, agent: str | None = "a") -> str:
    told = {"content": text, "at": day(number).isoformat()}
    (turn,) = memory.remember(told, user="ann", agent=agent).events
    memory.drain()
    return turn


def whisper(memory: Memory, text: str, number: int, agent: str = "a") -> str:
    told = {"content": text, "at": day(number).isoformat()}
    (turn,) = memory.remember(told, user="ann", agent=agent, visibility="agent_only").events
    memory.drain()
    return turn


def spans(memory: Memory) -> list[Span]:
    """What everybody sees."""
    found = memory.facts.list(user="ann", status="all")
    return [(fact.content, fact.valid_to) for fact in found][::-1]


def test_what_is_told_late_is_not_over_for_a_secret(memory: Memory) -> None:
    whisper(memory, "I live in Lisbon.", 5)
    say(memory, "I live in Porto.", 3)
    assert spans(memory) == [("I live in Porto.", None)]
    assert memory.profile(user="ann").fields["home"].value == "Porto"


def test_a_secret_shortens_nothing(memory: Memory) -> None:
    say(memory, "I live in Porto.", 1)
    say(memory, "I live in Berlin now.", 5)
    before = spans(memory)
    whisper(memory, "I live in Lisbon.", 3)
    assert (
        spans(memory) == before == [("I live in Porto.", day(5)), ("I live in Berlin now.", None)]
    )
    own = memory.facts.list(user="ann", agent="a")
    assert [fact.content for fact in own] == ["I live in Berlin now.", "I live in Lisbon."]


def test_a_secret_that_goes_and_comes_back_changes_nothing(memory: Memory) -> None:
    say(memory, "I live in Porto.", 1)
    whisper(memory, "I live in Lisbon.", 3)
    secret = whisper(memory, "I live in Rome now.", 5)
    for act in (memory.forget, memory.restore):
        act(secret, user="ann")
        assert spans(memory) == [("I live in Porto.", None)]
    own = memory.facts.list(user="ann", agent="a")
    assert [fact.content for fact in own] == ["I live in Rome now.", "I live in Porto."]


def test_nor_does_what_others_know_that_goes_and_comes_back(memory: Memory) -> None:
    shared = say(memory, "I live in Porto.", 3)
    whisper(memory, "I live in Lisbon.", 1)
    memory.forget(shared, user="ann")
    memory.restore(shared, user="ann")
    own = memory.facts.list(user="ann", agent="a")
    assert [fact.content for fact in own] == ["I live in Porto.", "I live in Lisbon."]


def test_secrets_of_other_agents_do_not_stand_before_what_is_changed(memory: Memory) -> None:
    say(memory, "I live in Porto.", 1, agent=None)
    for number in range(25):
        whisper(memory, f"I live in Town{number}.", 2, agent=f"agent{number}")
    say(memory, "I live in Rome now.", 5, agent=None)
    found = memory.facts.list(user="ann")
    assert [fact.content for fact in found] == ["I live in Rome now."]


def test_nor_does_what_other_agents_were_told(stated: Stated) -> None:
    stated.add("I live in Porto.")
    for number in range(100):
        stated.add(f"I live in Town{number}.", agent=f"agent{number}")
    stated.later()
    stated.add("I live in Rome now.")
    own = [fact for fact in stated.facts.list(user="ann") if fact.agent is None]
    assert [fact.content for fact in own] == ["I live in Rome now."]


def test_in_one_reading_a_secret_does_not_end_what_all_may_know(stated: Stated) -> None:
    shared = stated.draft("I live in Porto.", at=day(1))
    secret = stated.draft("I live in Rome now.", at=day(5), visibility="agent_only")
    stated.learn([shared, secret])
    found = stated.store.listed(ANN, tier="fact", current=False)
    assert {(each.content, each.valid_to) for each in found} == {
        ("I live in Porto.", None),
        ("I live in Rome now.", None),
    }
