"""TF-IDF cosine: the formula on texts one can check by hand, and what has no terms."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.recall.deerflow import inverse_frequencies, similarities


def test_the_formula_on_three_short_texts() -> None:
    # Documents: "red boat", "red car", "green tree" and the context "red boat": n = 4.
    red, boat = math.log(5 / 4) + 1, math.log(5 / 3) + 1  # in 3 and in 2 of the 4
    car = math.log(5 / 2) + 1  # in 1
    same, shared, other = similarities(["red boat", "red car", "green tree"], "red boat")
    assert same == pytest.approx(1.0)
    assert shared == pytest.approx(red * red / (math.hypot(red, car) * math.hypot(red, boat)))
    assert shared == pytest.approx(0.3385, abs=0.0001)
    assert other == 0.0


def test_a_repeated_word_weighs_more() -> None:
    # Both terms in text and context: idf is 1, so the cosine is that of (2, 1) and (1, 1).
    assert similarities(["boat boat tree"], "boat tree") == [
        pytest.approx(3 / (math.sqrt(5) * math.sqrt(2)))
    ]


def test_a_rare_word_tells_more_than_a_common_one() -> None:
    texts = ["red boat", "red tree", "red car", "red house"]
    rare, common, *_ = similarities(texts, "boat red")
    assert rare > common > 0


def test_the_idf_is_smoothed() -> None:
    assert inverse_frequencies([{"a": 1}, {"a": 2, "b": 1}]) == {
        "a": pytest.approx(1.0),
        "b": pytest.approx(math.log(3 / 2) + 1),
    }


def test_inflections_and_accents_are_one_term() -> None:
    assert similarities(["Cafés in Lisbon"], "cafe Lisbon") == [pytest.approx(1.0)]


@pytest.mark.parametrize(
    ("text", "context"),
    [("用户喜欢深色模式", "深色模式"), ("Предпочитает тёмную тему", "тёмную тему"), ("🚀", "🚀")],
)
def test_other_scripts_are_compared(text: str, context: str) -> None:
    alike, unlike = similarities([text, "boats"], context)
    assert 0.5 < alike <= 1
    assert unlike == 0


@pytest.mark.parametrize("context", ["", "   ", "the of and", "?!"])
def test_without_terms_nothing_is_alike(context: str) -> None:
    assert similarities(["red boat", "", "the"], context) == [0.0, 0.0, 0.0]


def test_no_texts_are_no_answers() -> None:
    assert similarities([], "red boat") == []


@given(st.lists(st.text(max_size=30), max_size=5), st.text(max_size=30))
def test_always_from_zero_to_one(texts: list[str], context: str) -> None:
    found = similarities(texts, context)
    assert len(found) == len(texts)
    assert all(0 <= cosine <= 1 for cosine in found)
