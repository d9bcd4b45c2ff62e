"""The thresholds and the chain of policies, at their borders."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.language.claims.claim import read_claim
from holdfast.language.claims.relate import Thresholds
from holdfast.records.facts.reconcile import (
    ENDS,
    KnownFact,
    New,
    Outcome,
    guard_outcome,
    importance,
    reconcile,
    weigh_opinion,
)
from holdfast.testing.store_suite import NOON
from tests.records.facts.pairs import PAIRS

DAY = timedelta(days=1)
LIMITS = Thresholds()
TEXTS = [text for pair in PAIRS for text in (pair.known, pair.said)]


def known(text: str, *, id: str = "k", at: datetime = NOON, **given: Any) -> KnownFact:
    return KnownFact(id, read_claim(text), at, **given)


def new(text: str, *, at: datetime = NOON + DAY, **given: Any) -> New:
    return New(read_claim(text), at, **given)


def outcome(said: str, before: str, alike: float | None = None, **given: Any) -> Outcome:
    return reconcile(new(said, **given), [known(before)], lambda _: alike)


def test_the_defaults_are_those_of_the_specification() -> None:
    assert (LIMITS.same, LIMITS.growth, LIMITS.critical) == (0.95, 1.5, 0.9)
    assert (LIMITS.sure, LIMITS.sure_to_delete, LIMITS.floor) == (0.8, 0.9, 0.95)


def test_alike_enough_and_nothing_new_is_known_already() -> None:
    said, before = "I play cello.", "I play cello, gladly."
    assert outcome(said, before, 0.95).action == "noop"
    assert outcome(said, before, 0.949).action == "add"
    assert outcome(said, before, None).action == "add"


def test_a_quoted_literal_that_is_missing_prevents_it() -> None:
    before = "My password hint is the old school."
    assert outcome('My password hint is the "old school".', before, 1.0).action == "noop"
    assert outcome('My password hint is the "school, old".', before, 1.0).action != "noop"


def test_a_number_or_a_negation_is_never_overlooked() -> None:
    assert (
        outcome("The server runs Debian 12.", "The server runs Debian 11.", 0.99).action != "noop"
    )
    told = outcome("I'm not afraid of heights.", "I'm afraid of heights.", 0.99)
    assert (told.action, told.contradicts) == ("add", ("k",))


def test_an_update_must_be_alike_and_short() -> None:
    said, before = "My laptop is slow after updates.", "My laptop is slow."
    assert outcome(said, before, 0.95).action == "add"  # 1.8 times as long
    said = "My old laptop is slow."
    assert outcome(said, before, 0.95).action == "update"
    assert outcome(said, before, 0.94).action == "add"


def test_a_later_value_takes_the_place_of_an_earlier_one() -> None:
    told = outcome("I live in Lisbon.", "I live in Paris.")
    assert (told.action, told.targets, told.reason) == ("supersede", ("k",), "later")


def test_at_the_same_moment_both_stay_and_are_linked() -> None:
    told = outcome("I live in Lisbon.", "I live in Paris.", at=NOON)
    assert (told.action, told.contradicts) == ("add", ("k",))


def test_told_late_is_history() -> None:
    told = outcome("I live in Lisbon.", "I live in Paris.", at=NOON - DAY)
    assert (told.action, told.targets, told.until) == ("add", (), NOON)


def test_a_correction_that_is_told_late_ends_nothing_newer() -> None:
    told = outcome("Correction: I live in Lisbon.", "I live in Paris.", at=NOON - DAY)
    assert (told.action, told.until) == ("add", NOON)


def test_a_change_of_one_part_does_not_end_the_whole() -> None:
    before = "I live in Paris, I keep bees on the roof and I teach chemistry at night."
    told = outcome("I live in Rome.", before)
    assert (told.action, told.reason, told.contradicts) == ("add", "partly", ("k",))


def test_what_is_stable_is_contradicted_and_not_changed() -> None:
    told = outcome("My birthday is March 15.", "My birthday is March 14.")
    assert (told.action, told.contradicts) == ("add", ("k",))
    told = outcome("Correction: my birthday is March 15.", "My birthday is March 14.")
    assert told.action == "supersede"


def test_never_and_did_contradict() -> None:
    told = outcome("I tried sushi in Osaka.", "I've never tried sushi.")
    assert (told.action, told.contradicts) == ("add", ("k",))
    assert not outcome("I want to try sushi.", "I've never tried sushi.").contradicts
    assert not outcome("My sister tried sushi.", "I've never tried sushi.").contradicts


@pytest.mark.parametrize(
    ("said", "before"),
    [
        ("I live in Porto.", "I live in Portugal."),  # a town in it
        ("My cat is a siamese.", "My dog is a poodle."),
        ("I no longer eat meat.", "My father eats meat."),
        ("I lived in Rome in 2010.", "I live in Paris."),
        ("I want to live in Rome.", "I live in Paris."),
        ("I'm a father now.", "I'm a nurse."),
        ("I have a meeting on Friday.", "I have a meeting on Monday."),
        ("I run 8 km on Thursdays.", "I run 5 km on Tuesdays."),
        ("I switched from physics to law.", "I love physics."),
        ("I no longer work on search.", "I go to work by train."),
        ("My team is great.", "My team is Apollo."),
        ("I work at home on Fridays.", "I work at Acme."),
        ("I live in a small flat.", "I live in Paris."),
        ("My phone is 3 years old.", "My phone is a Pixel 9."),
        ("My wife is German.", "My wife is Ann."),
        ("I'm engaged in research.", "I'm married."),
        ("My laptop is slow now.", "My laptop is blue."),
        ("Actually my laptop is slow.", "My laptop is blue."),
        ("I no longer smoke, I'm a runner.", "I'm a nurse."),
        ("No, I haven't read it yet.", "I haven't read that book."),
        ("I moved my data to a new schema.", "I have designed a schema."),
        ("I no longer work, my knees hurt.", "I go to work by train."),
    ],
)
def test_in_doubt_nothing_is_ended(said: str, before: str) -> None:
    assert outcome(said, before, 0.75).action == "add"


def test_confidence() -> None:
    assert outcome("I live in Lisbon.", "I live in Paris.", confidence=0.8).action == "supersede"
    told = outcome("I live in Lisbon.", "I live in Paris.", confidence=0.79)
    assert (told.action, told.reason, told.targets) == ("clarify", "low-confidence", ("k",))


def test_uncertain_wording() -> None:
    told = outcome("I think I live in Lisbon now.", "I live in Paris.")
    assert (told.action, told.reason) in {("add", "new"), ("clarify", "uncertain-wording")}
    told = outcome("Maybe, I live in Lisbon.", "I live in Paris.")
    assert (told.action, told.reason) == ("clarify", "uncertain-wording")


def test_what_is_critical_ends_only_by_words_that_say_so() -> None:
    before = [known("I live in Paris.", importance=0.9)]
    told = reconcile(new("I live in Lisbon."), before)
    assert (told.action, told.reason) == ("clarify", "critical")
    assert reconcile(new("I moved to Lisbon."), before).action == "supersede"
    before = [known("I live in Paris.", importance=0.89)]
    assert reconcile(new("I live in Lisbon."), before).action == "supersede"


def test_a_less_trusted_word_ends_nothing() -> None:
    before = [known("I live in Paris.")]
    told = reconcile(new("Correction: I live in Lisbon.", origin="web"), before)
    assert (told.action, told.reason) == ("clarify", "less-trusted")
    before = [known("I live in Paris.", origin="web")]
    assert reconcile(new("I live in Lisbon."), before).action == "supersede"


def test_importance_at_the_floor_does_not_fall() -> None:
    assert importance(0.5, [known("x", importance=0.95)], LIMITS) == 0.95
    assert importance(0.5, [known("x", importance=0.94)], LIMITS) == 0.5
    assert importance(1.0, [known("x", importance=0.95)], LIMITS) == 1.0


def test_a_target_that_is_not_known_is_none() -> None:
    told = guard_outcome(Outcome("supersede", "judged", ("zzz",)), new("x"), [known("y")], LIMITS)
    assert (told.action, told.reason) == ("add", "invalid-target-fallback")


def test_a_clarification_that_says_it_replaces_is_not_asked() -> None:
    ask = Outcome("clarify", "judged", ("k",))
    before = [known("I eat meat.")]
    assert guard_outcome(ask, new("I no longer eat meat."), before, LIMITS).action == "supersede"
    assert guard_outcome(ask, new("I eat plants."), before, LIMITS).action == "clarify"


def test_a_judge_is_bound_by_the_same_rules() -> None:
    before = [known("I live in Paris.")]
    said = new("I live in Lyon.")

    def told(action: str, alike: float, **given: Any) -> Outcome:
        opinion = Outcome(action, "judged", ("k",))  # type: ignore[arg-type]
        return weigh_opinion(opinion, new("I live in Lyon.", **given), before, lambda _: alike)

    assert told("noop", 0.94).reason == "boundary"
    assert told("update", 0.94).reason == "boundary"
    assert told("delete", 0.5, confidence=0.89).action == "clarify"
    assert told("delete", 0.5, confidence=0.9).reason == "not-denied"
    taken_back = new("I never lived in Paris.", confidence=0.9)
    opinion = Outcome("delete", "judged", ("k",))
    assert weigh_opinion(opinion, taken_back, before, lambda _: 0.5).action == "delete"
    assert told("supersede", 0.5, at=NOON - DAY).until == NOON
    assert (
        weigh_opinion(Outcome("delete", "judged", ()), said, before, lambda _: 0.5).action == "add"
    )


def test_an_update_that_contradicts_is_a_supersession() -> None:
    before = [known("I like jazz.")]
    told = weigh_opinion(
        Outcome("update", "judged", ("k",)), new("I don't like jazz."), before, lambda _: 1.0
    )
    assert told.action == "supersede"


@given(st.sampled_from(TEXTS), st.lists(st.sampled_from(TEXTS), max_size=4), st.integers(-2, 2))
def test_an_outcome_names_only_what_is_known(said: str, before: list[str], days: int) -> None:
    facts = [known(text, id=str(number)) for number, text in enumerate(before)]
    told = reconcile(new(said, at=NOON + days * DAY), facts)
    ids = {each.id for each in facts}
    assert {*told.targets, *told.contradicts} <= ids
    assert told == reconcile(new(said, at=NOON + days * DAY), facts)
    assert bool(told.targets) == (told.action != "add")
    assert not set(told.targets) & set(told.contradicts)


@given(st.sampled_from(TEXTS), st.lists(st.sampled_from(TEXTS), min_size=1, max_size=4))
def test_nothing_of_another_agent_is_ended(said: str, before: list[str]) -> None:
    facts = [known(text, id=str(n), agent="other") for n, text in enumerate(before)]
    told = reconcile(new(said, agent="this"), facts)
    assert (told.action, told.targets) == ("add", ())


@given(st.sampled_from(TEXTS))
def test_what_is_said_twice_is_known(text: str) -> None:
    assert reconcile(new(text), [known(text)]).action == "noop"


@given(st.sampled_from(TEXTS), st.sampled_from(TEXTS))
def test_without_certainty_nothing_is_ended(said: str, before: str) -> None:
    told = reconcile(new(said, confidence=0.5), [known(before)])
    assert told.action not in ENDS
