"""What people say every day ends nothing that it does not change."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast.memory.memory import Memory
from holdfast.testing import HashEmbedder

WORK, HOME = "I work at Google.", "I live in Paris."
UNCHANGED = [
    (WORK, "I joined a gym last week."),
    (WORK, "I joined Anna for dinner yesterday."),
    (WORK, "I joined Netflix to watch one show."),
    (WORK, "I also work at Starbucks on Saturdays."),
    (WORK, "I work for the cloud team there."),
    (WORK, "I work at the Zurich office."),
    (WORK, "I work for peace."),
    (HOME, "I moved to Finance last week."),
    (HOME, "I moved to Python 3.12 at work."),
    (HOME, "I moved to Slack from Teams."),
    (HOME, "I'm staying in Rome until Friday."),
    (HOME, "I am living in Rome this week."),
    (HOME, "I live in Rome for two weeks in May."),
    (HOME, "I live in Ikea, just kidding."),
    (HOME, "We live in Rome in my novel."),
    (HOME, "I live in sneakers."),
    (HOME, "For this exercise, I live in Rome."),
    (HOME, "Starting next year, I live in Rome."),
    ("My manager is Anna.", "At my old job, my manager is Bob."),
    ("My car is a Toyota.", "My other car is a Honda."),
    ("My parents live in Rome.", "My parents live in Oslo in winter."),
    ("My friend lives in Paris.", "My friend lives in Rome."),
    ("My colleague lives in Paris.", "My colleague lives in Rome."),
    ("My son is 7.", "My son is 4."),
    ("My dog is 12.", "My dog is 3."),
    ("My flight is at 9:00.", "My flight is at 17:00."),
    ("My appointment is on Monday.", "My appointment is on Thursday."),
]
CHANGED = [
    (WORK, "I work at Amazon now."),
    (WORK, "I joined Amazon as an engineer."),
    (HOME, "I moved to Lisbon."),
    (HOME, "I live in Lisbon now."),
    ("My car is a Toyota.", "My car is a Honda now."),
    ("My manager is Anna.", "My new manager is Bob."),
]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with holdfast.open(tmp_path / "m.db", embedder=HashEmbedder(16), worker=False) as opened:
        yield opened


def told(memory: Memory, first: str, second: str) -> list[str]:
    """What holds of two statements, two months apart."""
    for session, at, text in (
        ("a", "2026-01-05T09:00Z", first),
        ("b", "2026-03-05T09:00Z", second),
    ):
        memory.remember({"content": text, "at": at}, user="ann", session=session)
        memory.drain()
    return [fact.content for fact in memory.facts.list(user="ann")]


@pytest.mark.parametrize(("first", "second"), UNCHANGED)
def test_it_ends_nothing(memory: Memory, first: str, second: str) -> None:
    assert first in told(memory, first, second)


@pytest.mark.parametrize(("first", "second"), CHANGED)
def test_a_change_is_still_seen(memory: Memory, first: str, second: str) -> None:
    assert told(memory, first, second) == [second]
