"""Diversity: the formula on three vectors one can draw, and what must follow from it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from holdfast.recall.candidates import Candidate, by_score
from holdfast.recall.stages.variety import diverse

EAST, NORTH, WEST = (1.0, 0.0), (0.0, 1.0), (-1.0, 0.0)
NOWHERE = (float("nan"), float("nan"))


def candidates(*scores: float) -> list[Candidate]:
    return [Candidate(doc, score) for doc, score in enumerate(scores)]


def rows(*vectors: tuple[float, float]) -> NDArray[np.float32]:
    return np.array(vectors, dtype=np.float32)


def docs(found: list[Candidate]) -> list[int]:
    return [each.doc for each in found]


def test_the_order_is_the_formula() -> None:
    # Second place: 1 has 0.85 * 0.80 - 0.15 * 1 = 0.53, 2 has 0.85 * 0.65 = 0.5525.
    found = diverse(candidates(0.9, 0.8, 0.65), rows=rows(EAST, EAST, NORTH), limit=3)
    assert docs(found) == [0, 2, 1]
    # and with 0.60 it has 0.51.
    listed = candidates(0.9, 0.8, 0.60)
    assert diverse(listed, rows=rows(EAST, EAST, NORTH), limit=3) is listed


def test_places_keep_their_scores_and_who_moved_says_so() -> None:
    found = diverse(candidates(0.9, 0.8, 0.65), rows=rows(EAST, EAST, NORTH), limit=3)
    assert [each.score for each in found] == [0.9, 0.8, 0.65]
    assert found[0].notes == {}
    assert found[1].notes == {"diverse": {"before": 3, "score": 0.65}}


def test_the_opposite_is_not_better_than_the_unrelated() -> None:
    listed = candidates(0.9, 0.5, 0.499)
    assert diverse(listed, rows=rows(EAST, NORTH, WEST), limit=3) is listed


def test_a_protected_candidate_stays_where_it_is_and_counts_as_said() -> None:
    vectors = rows(EAST, EAST, NORTH, NORTH, WEST)
    scores = (0.9, 0.89, 0.88, 0.87, 0.86)
    found = diverse(candidates(*scores), rows=vectors, limit=5, protected={1})
    assert docs(found)[1] == 1
    assert (found[1].score, found[1].notes) == (0.89, {})
    assert docs(found) == [0, 1, 2, 4, 3]
    listed = candidates(*scores)
    assert diverse(listed, rows=vectors, limit=5, protected=range(5)) is listed


def test_a_protected_candidate_beyond_the_limit_stays_too() -> None:
    found = diverse(
        candidates(0.9, 0.8, 0.7, 0.6), rows=rows(EAST, EAST, EAST, NORTH), limit=2, protected={2}
    )
    assert docs(found) == [0, 1, 2, 3]
    found = diverse(
        candidates(0.9, 0.8, 0.79, 0.78), rows=rows(EAST, EAST, EAST, NORTH), limit=2, protected={2}
    )
    assert docs(found) == [0, 3, 2, 1]


def test_only_twice_the_limit_is_looked_at() -> None:
    scores = (0.9, 0.89, 0.88, 0.87, 0.86)
    listed = candidates(*scores)
    assert diverse(listed, rows=rows(EAST, EAST, EAST, EAST, NORTH), limit=2) is listed
    found = diverse(listed, rows=rows(EAST, EAST, EAST, NORTH, NORTH), limit=2)
    assert docs(found) == [0, 3, 1, 2, 4]
    # Vectors of those that are not looked at are not needed.
    assert found == diverse(listed, rows=rows(EAST, EAST, EAST, NORTH), limit=2)


def test_the_same_list_comes_back_where_there_is_nothing_to_do() -> None:
    listed = candidates(0.9, 0.89, 0.88)
    vectors = rows(EAST, EAST, NORTH)
    assert docs(diverse(listed, rows=vectors, limit=3)) == [0, 2, 1]  # So there is something to do
    assert diverse(listed, rows=vectors, limit=3, balance=1.0) is listed
    assert diverse(listed, rows=None, limit=3) is listed
    assert diverse(listed, rows=vectors, limit=1) is listed
    for few in (candidates(), candidates(0.5), candidates(0.5, 0.5)):
        assert diverse(few, rows=vectors[: len(few)], limit=10) is few


def test_without_a_vector_a_candidate_is_like_no_other() -> None:
    found = diverse(candidates(0.9, 0.8, 0.65), rows=rows(EAST, EAST, NOWHERE), limit=3)
    assert docs(found) == [0, 2, 1]
    listed = candidates(0.9, 0.8, 0.65)
    assert diverse(listed, rows=rows(NOWHERE, NOWHERE, NOWHERE), limit=3) is listed
    weak = candidates(0.9, 0.8, 0.1)
    assert diverse(weak, rows=rows(EAST, NORTH, NOWHERE), limit=3) is weak


def test_at_the_same_score_all_are_told_apart_by_novelty() -> None:
    found = diverse(candidates(0.5, 0.5, 0.5, 0.5), rows=rows(EAST, EAST, NORTH, WEST), limit=4)
    assert docs(found) == [0, 2, 3, 1]


ANGLES = st.lists(
    st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 6.3) | st.none()), min_size=0, max_size=14
)


@given(ANGLES, st.integers(1, 8), st.floats(0.0, 1.0), st.sets(st.integers(0, 13)))
def test_a_permutation_with_protected_places_and_scores_in_order(
    pairs: list[tuple[float, float | None]], limit: int, balance: float, protected: set[int]
) -> None:
    listed = by_score(candidates(*(score for score, _ in pairs)))
    vectors = np.array(
        [NOWHERE if at is None else (np.cos(at), np.sin(at)) for _, at in pairs], dtype=np.float32
    ).reshape(-1, 2)
    found = diverse(listed, rows=vectors, limit=limit, protected=protected, balance=balance)
    assert sorted(docs(found)) == sorted(docs(listed))
    assert [each.score for each in found] == [each.score for each in listed]
    assert docs(found)[2 * limit :] == docs(listed)[2 * limit :]
    for place, each in enumerate(listed):
        if each.doc in protected:
            assert found[place] == each


@given(ANGLES, st.integers(1, 8))
def test_the_best_stays_first(pairs: list[tuple[float, float | None]], limit: int) -> None:
    listed = by_score(candidates(*(score for score, _ in pairs)))
    vectors = np.array([(np.cos(at or 0), np.sin(at or 0)) for _, at in pairs], dtype=np.float32)
    found = diverse(listed, rows=vectors.reshape(-1, 2), limit=limit)
    assert found[:1] == listed[:1]


def test_what_is_listedis_not_changed() -> None:
    vectors = rows(EAST, NOWHERE, NORTH)
    listed = candidates(0.9, 0.8, 0.65)
    diverse(listed, rows=vectors, limit=3)
    assert docs(listed) == [0, 1, 2]
    assert np.isnan(vectors[1]).all()
    assert vectors[0].tolist() == pytest.approx([1.0, 0.0])
