"""The best of many values, and of most of which nothing is said."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.recall.candidates import border

VALUES = st.lists(st.sampled_from([-1.0, 0.0, 0.0, 0.0, 0.25, 0.5, 1.0]), max_size=40)


@given(VALUES, st.integers(1, 12))
def test_the_highest_are_found_and_all_that_equal_the_last(values: list[float], most: int) -> None:
    found = border(np.array(values, dtype=np.float32), most).tolist()
    least = sorted(values, reverse=True)[:most]
    assert found == [at for at, value in enumerate(values) if value >= min(least, default=0)]


@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 1.0])
def test_of_many_values_those_are_found_that_sorting_finds(share: float) -> None:
    random = np.random.default_rng(7)
    values = (random.random(20_000) * (random.random(20_000) < share)).astype(np.float32)
    found = border(values, 50)
    assert values[found].min() == np.sort(values)[-50]
    assert len(found) == np.count_nonzero(values >= np.sort(values)[-50])
