"""The conciseness penalty: the formula, its borders, and what must follow from them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from holdfast.recall.candidates import Candidate, by_score
from holdfast.recall.stages.small import LEAST, MOST, concise

LENGTHS = st.lists(st.integers(0, 500), min_size=1, max_size=12)


def candidates(*scores: float) -> list[Candidate]:
    return [Candidate(doc, score) for doc, score in enumerate(scores)]


def terms(*lengths: float) -> NDArray[np.float32]:
    return np.array(lengths, dtype=np.float32)


def test_the_penalty_is_the_formula() -> None:
    found = concise(candidates(0.95, 0.8, 0.7), lengths=terms(80, 20, 20))
    # Median 20; document 0 is four times as long: 15 % of 3/4 is taken.
    assert found[0].score == pytest.approx(0.95 * (1 - 0.15 * 0.75))
    assert found[0].notes == {"concise": {"cut": pytest.approx(0.1125)}}
    assert [each.score for each in found[1:]] == [0.8, 0.7]


def test_a_short_text_overtakes_a_long_one_of_nearly_the_same_score() -> None:
    found = concise(candidates(0.82, 0.80, 0.1), lengths=terms(200, 20, 20))
    assert [each.doc for each in found] == [1, 0, 2]


@pytest.mark.parametrize("length", [1.0, LEAST - 1, LEAST])
def test_up_to_150_characters_or_so_nothing_is_taken(length: float) -> None:
    listed = candidates(0.9, 0.8, 0.7)
    assert concise(listed, lengths=terms(length, 1, 1)) is listed


def test_a_term_more_is_the_first_to_cost_something() -> None:
    (first, *_) = concise(candidates(0.9, 0.8, 0.7), lengths=terms(LEAST + 1, 1, 1))
    assert first.score == pytest.approx(0.9 * (1 - MOST * (1 - LEAST / (LEAST + 1))))


def test_where_all_are_long_alike_nothing_is_taken() -> None:
    listed = candidates(0.9, 0.8, 0.7)
    assert concise(listed, lengths=terms(300, 300, 300)) is listed


@pytest.mark.parametrize("listed", [candidates(), candidates(0.5)])
def test_none_and_one_come_back_themselves(listed: list[Candidate]) -> None:
    assert concise(listed, lengths=terms(500)) is listed


def test_a_protected_text_may_be_long() -> None:
    listed = candidates(0.9, 0.8, 0.7)
    assert concise(listed, lengths=terms(400, 20, 20), protected={0}) is listed


def test_no_penalty_asked_for_is_no_penalty() -> None:
    listed = candidates(0.9, 0.8, 0.7)
    assert concise(listed, lengths=terms(400, 20, 20), most=0.0) is listed


def test_equal_scores_stay_in_order_where_nothing_is_taken() -> None:
    found = concise(candidates(0.5, 0.5, 0.5, 0.5), lengths=terms(20, 90, 20, 20))
    assert [each.doc for each in found] == [0, 2, 3, 1]


@given(LENGTHS, st.data())
def test_never_more_than_the_most_and_never_invented(
    lengths: list[int], data: st.DataObject
) -> None:
    scores = data.draw(st.lists(st.floats(0.0, 1.0), min_size=len(lengths), max_size=len(lengths)))
    listed = by_score(candidates(*scores))
    found = concise(listed, lengths=terms(*lengths))
    assert sorted(each.doc for each in found) == list(range(len(lengths)))
    assert by_score(found) == found
    for each in found:
        assert scores[each.doc] * (1 - MOST) <= each.score <= scores[each.doc]


@given(LENGTHS)
def test_of_equal_scores_a_longer_text_never_goes_first(lengths: list[int]) -> None:
    found = concise(candidates(*[0.5] * len(lengths)), lengths=terms(*lengths))
    border = max(float(np.median(lengths)), LEAST)
    long = [max(lengths[each.doc], border) for each in found]
    assert long == sorted(long)
