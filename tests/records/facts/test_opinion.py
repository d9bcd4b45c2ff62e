"""Opinions on the facts of one group of turns: few questions, none twice, never for ever."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from holdfast.errors import ModelUnavailable
from holdfast.language.claims.claim import read_claim
from holdfast.language.claims.slots import USER
from holdfast.records.facts.judge import MOST_QUESTIONS, Opinions, Verdict
from holdfast.records.facts.reconcile import KnownFact, New, Outcome
from holdfast.testing.store_suite import NOON

SUPERSEDE = Verdict("supersede", (0,), 0.9)
ADD = Verdict("add", (), 1.0)


class Bench:
    """A judge who says what is written down, each answer a minute long; an error is raised."""

    def __init__(self, *says: Verdict | Exception | None) -> None:
        self.says = list(says)
        self.asked: list[tuple[str, list[str]]] = []
        self.seconds = 0.0

    def judge(self, new: str, known: Sequence[str]) -> Verdict | None:
        self.asked.append((new, list(known)))
        self.seconds += 60
        said = self.says.pop(0)
        if isinstance(said, Exception):
            raise said
        return said

    def opinions(self, patience_s: float = 3_600) -> Opinions:
        return Opinions(self, patience_s=patience_s, clock=lambda: self.seconds)


def new(text: str) -> New:
    return New(read_claim(text, USER, ""), NOON)


def known(*ids: str) -> list[KnownFact]:
    return [KnownFact(each, read_claim(f"I like {each}.", USER, ""), NOON) for each in ids]


def opinion(opinions: Opinions, text: str, *ids: str) -> tuple[Outcome, float] | None:
    """What a plan hears in the end."""
    found = opinions.of(new(text), known(*ids))
    while opinions.open is not None:
        opinions.ask(opinions.open)
        found = opinions.of(new(text), known(*ids))
    return found


def test_the_first_question_of_a_plan_is_open_until_it_is_asked() -> None:
    bench = Bench(SUPERSEDE)
    opinions = bench.opinions()
    assert opinions.of(new("I like tea."), known("a", "b")) is None
    assert opinions.of(new("I like milk."), known("a")) is None
    assert opinions.open is not None
    assert opinions.open.ids == ("a", "b")
    opinions.ask(opinions.open)
    assert bench.asked == [("I like tea.", ["I like a.", "I like b."])]
    assert opinions.open is None
    assert opinions.of(new("I like tea."), known("a", "b")) is not None


@pytest.mark.parametrize(
    ("says", "then", "again"),
    [
        (SUPERSEDE, ("a", "b"), False),
        (SUPERSEDE, ("a", "c"), False),  # What it names holds, whatever came.
        (SUPERSEDE, ("b",), True),  # What it names is gone.
        (ADD, ("b",), False),
        (ADD, ("a", "b", "c"), True),  # That it is new was said of others.
        (None, ("c",), False),  # Who had no opinion is not asked again.
    ],
)
def test_an_answer_is_paid_for_again_only_if_what_it_is_about_changed(
    says: Verdict | None, then: tuple[str, ...], again: bool
) -> None:
    bench = Bench(says, None)
    opinions = bench.opinions()
    first = opinion(opinions, "I like tea.", "a", "b")
    assert (first is None) == (says is None)
    second = opinion(opinions, "I like tea.", *then)
    assert len(bench.asked) == 1 + again
    assert second == (None if again else first)


def test_few_questions_are_asked() -> None:
    bench = Bench(*[ADD] * 100)
    opinions = bench.opinions()
    found = [opinion(opinions, f"I like tea {number}.", "a") for number in range(20)]
    assert len(bench.asked) == MOST_QUESTIONS
    assert [each is not None for each in found] == [True] * 4 + [False] * 16


def test_a_judge_that_fails_is_left_alone() -> None:
    bench = Bench(ADD, ModelUnavailable("away"))
    opinions = bench.opinions()
    found = [opinion(opinions, f"I like tea {number}.", "a") for number in range(20)]
    assert len(bench.asked) == 2
    assert [each is not None for each in found] == [True] + [False] * 19


def test_a_slow_judge_is_asked_no_more_when_the_time_is_over() -> None:
    bench = Bench(*[ADD] * 100)
    opinions = bench.opinions(patience_s=90)
    for number in range(20):
        opinion(opinions, f"I like tea {number}.", "a")
    assert len(bench.asked) == 2


def test_what_was_not_shown_names_nothing() -> None:
    bench = Bench(Verdict("delete", (0, -1), 1.0))
    assert opinion(bench.opinions(), "I like tea.", "a") == (Outcome("delete", "judged"), 1.0)


def test_another_error_is_not_taken_for_an_opinion() -> None:
    with pytest.raises(ZeroDivisionError):
        opinion(Bench(ZeroDivisionError()).opinions(), "I like tea.", "a")
