"""The instruction boost: the eight cases it was specified with, and what must follow from them."""

import inspect
from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from holdfast.recall.candidates import Candidate, by_score
from holdfast.recall.stages.small import boost

SCORES = st.lists(st.floats(0.0, 1.0), max_size=12)


def candidates(*scores: float) -> list[Candidate]:
    """Documents 0, 1, 2, ... with these scores."""
    return [Candidate(doc, score) for doc, score in enumerate(scores)]


def tags(*docs: int, size: int = 20) -> NDArray[np.bool_]:
    return np.isin(np.arange(size), docs)


def docs(found: list[Candidate]) -> list[int]:
    return [each.doc for each in found]


def test_1_switched_off_gives_the_same_list_back() -> None:
    listed = candidates(0.5, 0.4)
    assert boost(listed, is_instruction=tags(1), weight=0.15, enabled=False) is listed


def test_2_an_empty_list_comes_back_itself() -> None:
    empty: list[Candidate] = []
    assert boost(empty, is_instruction=tags(1), weight=0.15) is empty


def test_3_what_is_listedis_not_changed() -> None:
    listed, mask = candidates(0.5, 0.4), tags(1)
    before, mask_before = deepcopy(listed), mask.copy()
    boost(listed, is_instruction=mask, weight=0.15)
    assert listed == before
    assert mask.tolist() == mask_before.tolist()


def test_4_a_weight_of_zero_does_nothing() -> None:
    listed = candidates(0.5, 0.4)
    assert boost(listed, is_instruction=tags(0, 1), weight=0.0) is listed


def test_5_other_kinds_are_left_alone() -> None:
    listed = candidates(0.5, 0.4, 0.3)
    assert boost(listed, is_instruction=tags(7), weight=0.15) is listed
    (_, second, third) = boost(listed, is_instruction=tags(0), weight=0.15)
    assert (second, third) == (listed[1], listed[2])


def test_6_every_tagged_one_is_raised() -> None:
    found = boost(candidates(0.5, 0.4, 0.3), is_instruction=tags(1, 2), weight=0.15)
    assert {each.doc: each.score for each in found} == pytest.approx({0: 0.5, 1: 0.55, 2: 0.45})
    assert docs(found) == [1, 0, 2]


def test_7_the_weight_is_added_and_equals_stay_in_order() -> None:
    found = boost(candidates(0.75, 0.5, 0.5, 0.25), is_instruction=tags(1, 3), weight=0.25)
    # 1: 0.5 + 0.25 = 0.75 equals 0, which came first; 3: 0.25 + 0.25 = 0.5 equals 2.
    assert [(each.doc, each.score) for each in found] == [(0, 0.75), (1, 0.75), (2, 0.5), (3, 0.5)]
    assert found[1].notes == {"boost": {"added": 0.25, "score": 0.75}}
    assert found[0].notes == {}


def test_8_the_question_plays_no_part() -> None:
    assert list(inspect.signature(boost).parameters) == [
        "candidates",
        "is_instruction",
        "weight",
        "enabled",
    ]


def test_sums_above_one_are_scaled_together_and_do_not_tie() -> None:
    found = boost(candidates(1.0, 0.95, 0.9, 0.85), is_instruction=tags(1, 2, 3), weight=0.15)
    # 1.10 and 1.05 go before 1.0 and 1.0; shown as shares of the largest.
    assert docs(found) == [1, 2, 0, 3]
    assert [each.score for each in found] == pytest.approx([1.0, 1.05 / 1.1, 1 / 1.1, 1 / 1.1])
    assert found[0].notes["boost"]["score"] == pytest.approx(1.10)
    assert by_score(found) == found


def test_a_weight_may_be_larger_than_any_score() -> None:
    found = boost(candidates(0.9, 0.2, 0.1), is_instruction=tags(1, 2), weight=7.0)
    assert docs(found) == [1, 2, 0]
    assert 1.0 == found[0].score > found[1].score > found[2].score > 0


def test_one_candidate_is_raised_too() -> None:
    (found,) = boost(candidates(0.2), is_instruction=tags(0), weight=0.15)
    assert found.score == pytest.approx(0.35)


@given(SCORES, st.sets(st.integers(0, 11)), st.floats(0.01, 2.0))
def test_nothing_is_lost_or_invented_and_the_order_is_that_of_the_sums(
    scores: list[float], tagged: set[int], weight: float
) -> None:
    listed = by_score(candidates(*scores))
    found = boost(listed, is_instruction=tags(*tagged), weight=weight)
    assert sorted(docs(found)) == sorted(docs(listed))
    sums = {each.doc: each.score + weight * (each.doc in tagged) for each in listed}
    assert [sums[doc] for doc in docs(found)] == sorted(sums.values(), reverse=True)
    most = max([1.0, *sums.values()] if docs(found) != docs(listed) or found is not listed else [1])
    assert all(each.score == pytest.approx(sums[each.doc] / most) for each in found)
    assert by_score(found) == found
    for kind in (True, False):  # Among themselves, neither kind changes its order.
        assert [d for d in docs(found) if (d in tagged) is kind] == [
            d for d in docs(listed) if (d in tagged) is kind
        ]


@given(SCORES, st.sets(st.integers(0, 11)), st.floats(0.01, 1.0), st.floats(0.0, 1.0))
def test_a_larger_weight_never_puts_an_instruction_lower(
    scores: list[float], tagged: set[int], weight: float, more: float
) -> None:
    listed = by_score(candidates(*scores))
    low = docs(boost(listed, is_instruction=tags(*tagged), weight=weight))
    high = docs(boost(listed, is_instruction=tags(*tagged), weight=weight + more))
    assert all(high.index(doc) <= low.index(doc) for doc in low if doc in tagged)
