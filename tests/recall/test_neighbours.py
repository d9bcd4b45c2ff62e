"""Neighbour context: short answers bring their question, and nothing is pushed out for it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from holdfast.recall.candidates import Candidate, by_score
from holdfast.recall.stages.small import SHORT, with_turn_before

SIZE = 20
#: Two sessions, 0..9 and 10..19, in order.
BEFORE = np.array([SIZE, *range(9), SIZE, *range(10, 19)], dtype=np.int32)


def lengths(**longer: float) -> NDArray[np.float32]:
    """All are of two terms but those named, for example d3=40."""
    found = np.full(SIZE, 2.0, dtype=np.float32)
    for name, length in longer.items():
        found[int(name.removeprefix("d"))] = length
    return found


def listed(*pairs: tuple[int, float]) -> list[Candidate]:
    return [Candidate(doc, score) for doc, score in pairs]


def test_a_short_answer_brings_the_turn_before_it() -> None:
    found = with_turn_before(
        listed((5, 0.8), (12, 0.4)), before=BEFORE, lengths=lengths(d12=40), limit=10
    )
    assert [(each.doc, each.score) for each in found] == [
        (5, 0.8),
        (4, pytest.approx(0.6)),
        (12, 0.4),
    ]
    assert found[1].notes == {"neighbours": {"rank": 1}}


def test_the_last_one_lends_half_its_score() -> None:
    found = with_turn_before(listed((5, 0.8)), before=BEFORE, lengths=lengths(), limit=10)
    assert [(each.doc, each.score) for each in found] == [(5, 0.8), (4, 0.4)]


def test_a_long_text_stands_for_itself() -> None:
    at, above = listed((5, 0.8)), listed((6, 0.8))
    assert len(with_turn_before(at, before=BEFORE, lengths=lengths(d5=SHORT), limit=10)) == 2
    assert with_turn_before(above, before=BEFORE, lengths=lengths(d6=SHORT + 1), limit=10) is above


def test_a_full_list_is_left_alone() -> None:
    full = listed((5, 0.8), (7, 0.6), (12, 0.4))
    for limit in (1, 2, 3):
        assert with_turn_before(full, before=BEFORE, lengths=lengths(), limit=limit) is full
    assert len(with_turn_before(full, before=BEFORE, lengths=lengths(), limit=4)) == 4


def test_the_best_is_served_first_when_places_are_few() -> None:
    found = with_turn_before(
        listed((5, 0.8), (7, 0.6), (12, 0.4)), before=BEFORE, lengths=lengths(), limit=4
    )
    assert [each.doc for each in found] == [5, 4, 7, 12]


def test_no_more_than_asked_for() -> None:
    few = listed((5, 0.8), (7, 0.6), (12, 0.4))
    found = with_turn_before(few, before=BEFORE, lengths=lengths(), limit=20, count=2)
    assert [each.doc for each in found] == [5, 4, 7, 6, 12]
    assert found[3].notes == {"neighbours": {"rank": 3}}
    assert with_turn_before(few, before=BEFORE, lengths=lengths(), limit=20, count=0) is few


def test_what_was_found_by_itself_is_not_added_again() -> None:
    both = listed((5, 0.8), (4, 0.7))
    found = with_turn_before(both, before=BEFORE, lengths=lengths(d4=40), limit=10)
    assert found is both


def test_two_answers_to_one_question_bring_it_once() -> None:
    before = BEFORE.copy()
    before[7] = 4
    found = with_turn_before(listed((5, 0.8), (7, 0.6)), before=before, lengths=lengths(), limit=10)
    assert [each.doc for each in found] == [5, 4, 7]


def test_a_turn_that_is_added_brings_no_other() -> None:
    found = with_turn_before(listed((5, 0.8)), before=BEFORE, lengths=lengths(), limit=10)
    assert 3 not in {each.doc for each in found}


def test_the_first_turn_of_a_session_has_none_before_it() -> None:
    first = listed((0, 0.8), (10, 0.7))
    assert with_turn_before(first, before=BEFORE, lengths=lengths(), limit=10) is first


def test_what_the_caller_does_not_want_is_not_added() -> None:
    wanted = np.ones(SIZE, dtype=np.bool_)
    wanted[4] = False
    one = listed((5, 0.8))
    assert with_turn_before(one, before=BEFORE, lengths=lengths(), wanted=wanted, limit=10) is one


def test_nothing_found_is_nothing_added() -> None:
    none: list[Candidate] = []
    assert with_turn_before(none, before=BEFORE, lengths=lengths(), limit=10) is none


@given(
    st.lists(st.tuples(st.integers(0, SIZE - 1), st.floats(0.0, 1.0)), unique_by=lambda p: p[0]),
    st.integers(1, 15),
    st.integers(0, 5),
)
def test_nothing_goes_nothing_is_doubled_and_the_order_holds(
    pairs: list[tuple[int, float]], limit: int, count: int
) -> None:
    given_list = by_score(listed(*pairs))
    found = with_turn_before(given_list, before=BEFORE, lengths=lengths(), limit=limit, count=count)
    assert [each for each in found if "neighbours" not in each.notes] == given_list
    docs = [each.doc for each in found]
    assert len(set(docs)) == len(docs)
    assert by_score(found) == found
    assert len(found) <= max(limit, len(given_list))
    assert len(found) - len(given_list) <= count
    for place, each in enumerate(found):
        if "neighbours" in each.notes:
            assert BEFORE[found[place - 1].doc] == each.doc
            assert each.notes["neighbours"]["rank"] == place
