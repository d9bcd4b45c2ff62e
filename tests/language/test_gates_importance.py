"""Importance: the formula, and each part on statements one can check by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.language.statements.gates import (
    Importance,
    actionability,
    entity_density,
    importance,
    specificity,
)


def test_the_formula() -> None:
    assert Importance(1, 0, 0, 0).score == pytest.approx(0.35)
    assert Importance(0, 1, 0, 0).score == pytest.approx(0.25)
    assert Importance(0, 0, 1, 0).score == pytest.approx(0.25)
    assert Importance(0, 0, 0, 1).score == pytest.approx(0.15)
    assert Importance(0.2, 0.4, 0.6, 0.8).score == pytest.approx(0.07 + 0.1 + 0.15 + 0.12)


def test_all_parts_of_one_statement() -> None:
    parts = importance("Ann must file the report by 14 May.", novelty=0.6, entities=1)
    # One particular (14 May), a duty, and the terms ann, file, report and 14: the rest stops.
    assert parts.specificity == pytest.approx(0.25)
    assert parts.actionability == 1.0
    assert parts.density == pytest.approx(2 / 4)
    assert parts.score == pytest.approx(0.35 * 0.6 + 0.25 * 0.25 + 0.25 + 0.15 * parts.density)


@pytest.mark.parametrize(
    ("text", "particulars"),
    [
        ("The user likes music.", 0),
        ("The user met Bo Finch.", 1),
        ("The user met Bo Finch in Bern.", 2),
        ("The flight costs $420.", 1),
        ("The flight costs $420 and leaves at 08:15.", 2),
        ('The user read "The Dig".', 1),
        ("Write to ann@example.org.", 1),
        ("用户今年34岁。", 1),
        ("会议定在周五，地点在Bern。", 2),
        ("Ann met Bo in Bern on 3 May at 10:30 for 2 hours.", 4),
        ("Bo met Bo, and Bo met Bo.", 1),
    ],
)
def test_specificity_counts_distinct_particulars(text: str, particulars: int) -> None:
    assert specificity(text) == particulars / 4


def test_a_hedge_halves_specificity() -> None:
    assert (
        specificity("Maybe the user met Bo Finch in Bern.") == specificity("I met Bo in Bern.") / 2
    )


@pytest.mark.parametrize(
    ("text", "weight"),
    [
        ("The user is allergic to nuts.", 1.0),
        ("The form is due by Friday.", 1.0),
        ("用户必须在周五之前完成。", 1.0),
        ("The user decided to move.", 0.8),
        ("The user no longer eats meat.", 0.8),
        ("用户决定卖车。", 0.8),
        ("The user wants to learn Spanish.", 0.6),
        ("Ann prefers tea.", 0.6),
        ("用户喜欢爵士乐。", 0.6),
        ("Ann lives in Oslo.", 0.3),
        ("Ann has two brothers.", 0.0),
    ],
)
def test_actionability_is_the_strongest_cue(text: str, weight: float) -> None:
    assert actionability(text) == weight


def test_density_is_entities_for_every_two_content_words() -> None:
    assert entity_density("Ann moved to Lisbon.", 2) == 1.0  # ann, move, lisbon
    assert entity_density("My dog likes long walks near the Thames.", 1) == pytest.approx(2 / 6)
    assert entity_density("of the", 3) == 0.0
    assert entity_density("Ann sleeps.", 0) == 0.0
    assert entity_density("Ann sleeps.", -4) == 0.0


def test_what_is_new_particular_and_binding_matters_more() -> None:
    dull = importance("The user likes music.", novelty=0.1, entities=0)
    vital = importance("Bo must take 20 mg of Lenoxin at 8 am.", novelty=0.9, entities=2)
    assert vital.score > 0.75
    assert dull.score < 0.25


@given(st.text(), st.floats(allow_nan=False), st.integers(-5, 1_000_000))
def test_every_part_and_the_sum_lie_in_0_to_1(text: str, novelty: float, entities: int) -> None:
    parts = importance(text, novelty=novelty, entities=entities)
    for part in (parts.novelty, parts.specificity, parts.actionability, parts.density):
        assert 0 <= part <= 1
    assert 0 <= parts.score <= 1
