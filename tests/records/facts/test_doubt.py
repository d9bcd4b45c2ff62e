"""What a judge is asked about, and what it sees."""

from __future__ import annotations

from dataclasses import replace

import pytest

from holdfast.language.claims.claim import read_claim
from holdfast.language.claims.relate import Thresholds
from holdfast.language.claims.slots import USER
from holdfast.records.facts.judge import apply_opinion, facts_for_judge
from holdfast.records.facts.reconcile import KnownFact, New, Outcome
from holdfast.testing.store_suite import NOON

LIMITS = Thresholds()
SAID = New(read_claim("The flat on the hill was sold.", USER, ""), NOON)
FLAT = KnownFact("f", read_claim("I adore my old flat on the hill.", USER, ""), NOON)
IS_NEW = Outcome("add", "new")


def seen(outcome: Outcome, new: New, *known: KnownFact, like: float | None = 0.7) -> list[str]:
    return [each.id for each in facts_for_judge(outcome, new, known, lambda _: like, LIMITS)]


@pytest.mark.parametrize(
    ("outcome", "asked"),
    [
        (IS_NEW, True),
        (Outcome("add", "contradiction", contradicts=("f",)), True),
        (Outcome("add", "partly", contradicts=("f",)), True),
        (Outcome("noop", "same", ("f",)), False),
        (Outcome("supersede", "later", ("f",)), False),
        (Outcome("supersede", "correction", ("f",)), False),
        (Outcome("update", "more-detail", ("f",)), False),
        (Outcome("add", "told-late"), False),
        # Somebody is to be asked, and that is no judge.
        (Outcome("clarify", "critical", ("f",)), False),
        (Outcome("clarify", "less-trusted", ("f",)), False),
    ],
)
def test_a_judge_is_asked_in_doubt_only(outcome: Outcome, asked: bool) -> None:
    assert bool(seen(outcome, SAID, FLAT)) == asked


@pytest.mark.parametrize(("like", "is_near"), [(0.44, False), (0.46, True), (1.0, True)])
def test_what_is_far_off_is_no_doubt(like: float, is_near: bool) -> None:
    assert bool(seen(IS_NEW, SAID, FLAT, like=like)) == is_near


def test_without_vectors_the_words_tell() -> None:
    one_word = KnownFact("w", read_claim("My flat is old.", USER, ""), NOON)
    assert seen(IS_NEW, SAID, FLAT, one_word, like=None) == ["f"]


def test_what_contradicts_is_shown_first_however_far_off() -> None:
    others = [replace(FLAT, id=f"o{number}") for number in range(20)]
    outcome = Outcome("add", "contradiction", contradicts=("f",))
    assert seen(outcome, SAID, *others, FLAT)[0] == "f"
    assert seen(outcome, SAID, *others, FLAT, like=0.1) == ["f"]
    assert len(seen(outcome, SAID, *others, FLAT)) == 8


def test_nobody_elses_facts_are_shown() -> None:
    agents = replace(FLAT, agent="coder")
    somebodys = replace(FLAT, claim=read_claim("I adore my old flat on the hill.", "bob", ""))
    assert seen(IS_NEW, SAID, agents, somebodys) == []
    assert seen(IS_NEW, replace(SAID, agent="coder"), agents, FLAT) == ["f"]


def test_what_is_less_trusted_is_not_shown() -> None:
    """Its text would be read beside the user's own words."""
    page = replace(FLAT, id="w", origin="web")
    assert seen(IS_NEW, SAID, page, FLAT) == ["f"]
    assert seen(IS_NEW, replace(SAID, origin="web"), page, FLAT) == ["w", "f"]


def test_two_attributes_or_two_people_are_two_things() -> None:
    anna, boris = (read_claim(f"{name} works at Acme.", USER, "") for name in ("Anna", "Boris"))
    assert anna.slot != boris.slot
    assert seen(IS_NEW, New(boris, NOON), KnownFact("a", anna, NOON)) == []
    assert seen(IS_NEW, New(boris, NOON), KnownFact("b", boris, NOON)) == ["b"]


def test_what_denies_something_is_no_repeat_of_it() -> None:
    outcome = Outcome("add", "contradiction", contradicts=("f",))
    told = Outcome("noop", "judged", ("f",))
    for rules, expected in ((outcome, outcome), (IS_NEW, told)):
        left = apply_opinion(
            (told, 1.0), rules, SAID, [FLAT], likeness=lambda _: 1.0, limits=LIMITS
        )
        assert left == expected


def test_what_a_judge_leaves_as_it_is_still_contradicts() -> None:
    outcome = Outcome("add", "contradiction", contradicts=("f",), disputes=("d",))
    told = Outcome("add", "judged")
    found = apply_opinion((told, 1.0), outcome, SAID, [FLAT], likeness=lambda _: 1.0, limits=LIMITS)
    assert found == replace(outcome, reason="judged")
