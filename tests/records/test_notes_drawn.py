"""Notes that the rules draw: which statements, of whom, and that replay changes nothing."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast.language.statements.values import FactDraft
from holdfast.memory.memory import Memory
from holdfast.records.fading import strength
from holdfast.records.notes import Notes, draw_notes, kind_of
from holdfast.store.protocols import Derived
from holdfast.testing import HashEmbedder
from holdfast.testing.store_suite import NOON
from holdfast.types import Event, Scope

#: What the rules draw from turns by themselves must not mix into what is tested here.
CONFIG = {"extraction": {"enabled": False}}
ANN = Scope("default", "ann", session="s1")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with holdfast.open(
        tmp_path / "m.db",
        embedder=HashEmbedder(16),
        worker=False,
        clock=lambda: NOON,
        config=CONFIG,
    ) as opened:
        yield opened


def draft(text: str, category: str = "context", *sources: str) -> FactDraft:
    return FactDraft(text, category, sources or ("e1",), "user", NOON, importance=0.7)


def turn(content: str, *, role: str = "user", id: str = "e1") -> Event:
    origin = {"user": "user", "assistant": "agent"}.get(role, role)
    return Event(id, 1, role, content, NOON, NOON, origin)


def told(notes: list[Derived]) -> list[tuple[str, str]]:
    return [(note.kind, note.content) for note in notes]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("outcome", "We finally shipped the billing page yesterday."),
        ("outcome", "I passed the driving exam!"),
        ("outcome", "It didn't work with the new router."),
        ("outcome", "Last week my visa was approved."),
        ("outcome", "The interview went fine and I got the job."),
        ("outcome", "Restarting the router helped, it worked."),
        ("strategy", "My plan is to repay the smallest loan first."),
        ("strategy", "The approach for now is to cache whole pages."),
        ("strategy", "I'll start by stripping the old paint."),
        ("strategy", "We're going to test it first on the small site, then roll it out."),
        (None, "I hope we shipped the right version."),
        (None, "If it worked I would be glad."),
        (None, "Did I pass, I wonder, because I passed the desk twice?"),
        (None, "I will have finished the book by May."),
        (None, "I almost got the job."),
        (None, "I won't quit my evening class."),
        (None, "What is the best strategy for chess?"),
        (None, "I live in Lisbon with two cats."),
        (None, "I like my plan."),
        (None, "It worked."),  # Says too little of itself.
    ],
)
def test_what_a_statement_tells(kind: str | None, text: str) -> None:
    assert kind_of(text) == kind


def test_a_decision_of_a_fact_becomes_a_quiet_note() -> None:
    (note,) = draw_notes([draft("I decided to learn the cello.", "decision", "e7", "e9")])
    assert (note.tier, note.kind, note.quiet) == ("note", "decision", 1)
    assert (note.sources, note.origin, note.importance) == (("e7", "e9"), "user", 0.7)


def test_a_turn_gives_what_its_facts_do_not_give_already() -> None:
    text = "My plan is to run a marathon. We shipped the app today. Nice weather."
    notes = draw_notes([draft("My plan is to run a marathon.", "goal")], [turn(text)])
    assert told(notes) == [
        ("strategy", "My plan is to run a marathon."), ("outcome", "We shipped the app today."),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "event",
    [
        turn("We shipped the app today.", role="assistant"),
        turn("We shipped the app today.", role="tool"),
        turn('Translate into French: "We shipped the app today."'),
        turn("Summarise this mail:\n\nFrom: Bob\nWe shipped the app today."),
        turn("> We shipped the app today.\nWhat do you think of that?"),
        turn("```\nWe shipped the app today.\n```"),
    ],
    ids=["assistant", "tool", "quoted", "mail", "cited", "code"],
)
def test_only_what_the_user_says_is_drawn_from(event: Event) -> None:
    assert draw_notes([], [event]) == []


def test_a_long_account_gives_three_notes() -> None:
    text = " ".join(f"We shipped version {number} of it." for number in range(9))
    assert len(draw_notes([], [turn(text)])) == 3


def test_drawn_twice_they_are_stored_once_and_not_searched(memory: Memory) -> None:
    notes = Notes(memory.store, memory.worker, now=lambda: NOON, strength=strength)
    (event,) = memory.remember("We shipped the app today.", user="ann", session="s1").events
    (said,) = memory.store.events(ANN, [event])
    for _ in range(2):
        memory.store.put(ANN, notes.planned(ANN, [], turns=[said]), known_at=NOON, steps=())
    (note,) = notes.list(user="ann")
    assert (note.category, note.sources, note.session) == ("outcome", (event,), "s1")
    memory.drain()
    assert note.id not in [hit.id for hit in memory.recall("shipped app", user="ann")]
    memory.forget(event, user="ann")
    assert notes.list(user="ann") == []
