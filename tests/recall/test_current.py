"""Current-state ranking: the latest of near equals for "now", the first for history."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.recall.current import BAND, GAINS, current
from recollect.recall.stage import Candidate
from tests.recall.moments import a_moment, scored

DAYS = ["2020-01-01", "2021-01-01", "2023-01-01"]
NOW_QUESTION = "Where does Ann live now?"
NOW = GAINS["now"]
THEN_QUESTION = "When did Ann move to Rome?"


def docs(found: list[Candidate]) -> list[int]:
    return [each.doc for each in found]


def test_the_latest_of_equals_wins_for_now() -> None:
    found = current(scored(0.5, 0.5, 0.5), a_moment(NOW_QUESTION, DAYS))
    assert docs(found) == [2, 1, 0]
    assert [each.score for each in found] == pytest.approx(
        [0.5 * (1 + NOW), 0.5 * (1 + NOW / 2), 0.5]
    )


def test_the_first_of_equals_wins_for_history_and_nothing_is_dropped() -> None:
    found = current(scored(0.5, 0.5, 0.5), a_moment(THEN_QUESTION, DAYS))
    assert docs(found) == [0, 1, 2]
    assert found[0].score == pytest.approx(0.5 * (1 + GAINS["history"]))
    assert found[2].score == 0.5


def test_the_latest_passes_what_is_a_little_better_but_not_what_is_much_better() -> None:
    moment = a_moment(NOW_QUESTION, DAYS[:2])
    assert docs(current(scored(0.50, 0.46), moment)) == [1, 0]
    assert docs(current(scored(0.50, 0.44), moment)) == [0, 1]


def test_the_formula() -> None:
    older, newer = current(scored(0.5, 0.4), a_moment(NOW_QUESTION, DAYS[:2]))
    assert older.score == 0.5
    assert newer.score == pytest.approx(0.4 * (1 + NOW * (0.4 / 0.5 - BAND) / (1 - BAND)))


def test_below_the_band_nothing_moves() -> None:
    found = current(scored(0.5, 0.34, 0.1), a_moment(NOW_QUESTION, DAYS))
    assert found == scored(0.5, 0.34, 0.1)


def test_what_gains_is_told_why() -> None:
    first, second = current(scored(0.5, 0.5), a_moment(NOW_QUESTION, DAYS[:2]))
    assert first.notes == {"current": {"state": "now", "place": 1.0}}
    assert second.notes == {}


def test_of_one_moment_the_later_turn_is_the_newer() -> None:
    moment = a_moment(NOW_QUESTION, ["2020-01-01", "2020-01-01"])
    assert docs(current(scored(0.5, 0.5), moment)) == [1, 0]


def test_an_old_store_ranks_as_before() -> None:
    old = current(scored(0.5, 0.49, 0.48), a_moment(NOW_QUESTION, ["1999-01-01", *DAYS[:2]]))
    new = current(scored(0.5, 0.49, 0.48), a_moment(NOW_QUESTION, DAYS))
    assert old == new


@pytest.mark.parametrize("text", ["Where does Ann live?", "我现在住在哪里？", ""])
def test_other_questions_change_nothing(text: str) -> None:
    candidates = scored(0.5, 0.5)
    assert current(candidates, a_moment(text, DAYS)) is candidates


def test_nothing_found_and_nothing_relevant_change_nothing() -> None:
    assert current([], a_moment(NOW_QUESTION, [])) == []
    assert current(scored(0.0, 0.0), a_moment(NOW_QUESTION, DAYS)) == scored(0.0, 0.0)
    assert current(scored(0.7), a_moment(NOW_QUESTION, DAYS)) == scored(0.7)


@given(
    st.lists(st.floats(0, 1), max_size=12),
    st.permutations(range(12)),
    st.sampled_from([NOW_QUESTION, THEN_QUESTION]),
)
def test_all_stay_on_the_scale_best_first(scores: list[float], years: list[int], text: str) -> None:
    ordered = sorted(scores, reverse=True)
    moment = a_moment(text, [f"20{10 + year}-01-01" for year in years])
    found = current(scored(*ordered), moment)
    assert sorted(docs(found)) == list(range(len(scores)))
    assert [each.score for each in found] == sorted((e.score for e in found), reverse=True)
    assert all(0 <= each.score <= 1 for each in found)
