"""What stages share."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.recall.candidates import raise_scores
from tests.recall.moments import scored


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=20),
    st.lists(st.floats(0, 5), min_size=20, max_size=20),
)
def test_raised_scores_keep_the_order_of_the_formula(
    scores: list[float], gains: list[float]
) -> None:
    candidates = scored(*scores)
    each_gain = np.array(gains[: len(scores)])
    found = raise_scores(candidates, each_gain, "stage", gains[: len(scores)])
    assert sorted([each.doc for each in found]) == list(range(len(scores)))
    assert all(0 <= each.score <= 1 for each in found)
    formula = [scores[each.doc] * (1 + gains[each.doc]) for each in found]
    assert formula == pytest.approx(sorted(formula, reverse=True))
