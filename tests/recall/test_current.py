"""Current-state ranking: the latest of near equals for "now", the first for history."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from holdfast.language.terms import terms
from holdfast.recall.candidates import Candidate, Moment
from holdfast.recall.stages.times import BAND, GAINS, ONLY, OTHER, STATES, TOLD, current
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


BUDGET = "What is my budget for the garden?"
#: Said on DAYS: the oldest is the best match.
OLD, REPEAT, NEW = (
    "The garden budget is $500.",
    "I gave the garden $500.",
    "The garden budget is $800.",
)
#: How alike the turns are to the first: of one matter, by their words, too.
ALIKE = (1.0, 0.65, 0.65)


def a_talk(*texts: str, text: str = BUDGET, **given: Any) -> Moment:
    """Turns of the user on DAYS with these texts, all of one matter unless `alike` says."""
    n = len(texts)
    moment = a_moment(text, DAYS[:n])
    roles = given.get("roles", ["user"] * n)
    codes = {"user": 1, "session": 2, "assistant": 3, "fact": 4, "Ann": 5, "Bob": 6}
    names = given.get("names", ["Ann"] * n)
    tiers = given.get("tiers", ["session"] * n)
    view = replace(
        moment.view,
        codes=codes,
        roles=np.array([codes[each] for each in roles], dtype=np.int32),
        names=np.array([codes[each] for each in names], dtype=np.int32),
        tiers=np.array([codes[each] for each in tiers], dtype=np.int32),
        vectors=cast(Any, Rows(given.get("alike", ALIKE[:n]))),
    )
    return replace(
        moment,
        view=view,
        content=lambda docs: {doc: texts[doc] for doc in docs},
        holders={},
    )


class Rows:
    """Unit vectors at given cosines to the first."""

    def __init__(self, cosines: Sequence[float]) -> None:
        self._rows = np.array([(each, (1 - each**2) ** 0.5) for each in cosines])

    def first_of(self, docs: NDArray[np.intp]) -> NDArray[np.floating[Any]]:
        rows: NDArray[np.floating[Any]] = self._rows[docs]
        return rows


def order(candidates: list[Candidate], moment: Moment) -> list[int]:
    return docs(current(candidates, moment))


def test_who_asks_for_a_figure_gets_turns_that_state_one() -> None:
    talk = a_talk("I like the garden.", "My garden is green.", OLD, alike=(1.0, 0.1, 0.1))
    found = current(scored(0.5, 0.48, 0.47), talk)
    assert docs(found) == [2, 0, 1]
    assert found[0].score == pytest.approx(0.47 * (1 + STATES))
    assert found[0].notes == {"current": {"states": True}}
    assert [each.score for each in found[1:]] == [0.5, 0.48]


@pytest.mark.parametrize(
    "given", [{"roles": ["user", "assistant"]}, {"tiers": ["session", "fact"]}]
)
def test_only_turns_of_people_gain_for_a_figure(given: dict[str, Any]) -> None:
    candidates = scored(0.5, 0.48)
    assert current(candidates, a_talk("I like it.", OLD, **given)) is candidates


def test_a_figure_of_another_occasion_is_not_what_was_asked_for() -> None:
    text = "How long is the rehearsal?"
    known = "The rehearsal is on May 3 in the hall."
    other = "The rehearsal on June 9 lasts 2 hours."
    same = "The rehearsal of May 3 lasts 2 hours."
    assert order(scored(0.5, 0.48), a_talk(known, other, text=text)) == [0, 1]
    assert order(scored(0.5, 0.48), a_talk(known, same, text=text)) == [1, 0]
    assert order(scored(0.5, 0.48), a_talk("It is a rehearsal.", other, text=text)) == [1, 0]
    # A turn before it names the day as well.
    talk = a_talk(known, "The rehearsal of June 9?", other, text=text, alike=(1, 0.1, 0.1))
    assert order(scored(0.5, 0.49, 0.48), talk) == [2, 0, 1]


def test_the_turn_with_the_newer_figure_comes_before_the_best() -> None:
    found = current(scored(0.6, 0.55, 0.52), a_talk(OLD, REPEAT, NEW))
    assert docs(found) == [2, 0, 1]
    best = 0.6 * (1 + STATES)
    assert found[0].score == pytest.approx(0.52 * (1 + STATES) * (1 + OTHER))
    assert found[0].notes == {"current": {"states": True, "update_of": "r0"}}
    assert found[1].score == pytest.approx(best)
    assert found[1].notes == {"current": {"states": True}}


def test_a_second_update_comes_along_if_it_tells_another_change() -> None:
    told = "The garden budget was raised to $900."
    assert order(scored(0.6, 0.55, 0.54), a_talk(OLD, NEW, "The garden budget is $900.")) == [
        1,
        0,
        2,
    ]
    assert order(scored(0.6, 0.55, 0.47), a_talk(OLD, NEW, told)) == [1, 2, 0]
    same = "The garden budget was raised to $800."
    assert order(scored(0.6, 0.55, 0.47), a_talk(OLD, NEW, same)) == [1, 0, 2]


def test_what_tells_the_change_may_score_less_and_need_not_give_the_figure() -> None:
    told = "The garden budget was raised to $800."
    enough = 0.6 / (1 + TOLD) + 0.001
    assert order(scored(0.6, enough), a_talk(OLD, told)) == [1, 0]
    assert order(scored(0.6, enough), a_talk(OLD, NEW)) == [0, 1]
    assert order(scored(0.6, enough - 0.002), a_talk(OLD, told)) == [0, 1]
    assert order(scored(0.6, 0.52), a_talk(OLD, "My garden budget changed.")) == [1, 0]


def test_a_changed_figure_need_not_repeat_the_words() -> None:
    # Not very alike, and one word of the question is shared.
    for text, expected in (("The budget was raised to $800.", [1, 0]), ("Budget: $800.", [0, 1])):
        talk = a_talk("The garden and flower budget is $500.", text, alike=(1.0, 0.5))
        assert order(scored(0.6, 0.55), talk) == expected
    strange = a_talk(OLD, "The fee was raised to $800.", alike=(1.0, 0.9))
    assert order(scored(0.6, 0.55), strange) == [0, 1]


def test_a_rare_word_weighs_more_than_a_common_one() -> None:
    moment = a_talk(OLD, "The budget is $800.", alike=(1.0, 0.6))
    common, rare = np.arange(3, dtype=np.int32), np.arange(1, dtype=np.int32)
    budget, garden = terms("budget garden")
    is_rare = replace(moment, holders={budget: rare, garden: common})
    assert order(scored(0.6, 0.55), is_rare) == [1, 0]
    is_common = replace(moment, holders={budget: common, garden: rare})
    assert order(scored(0.6, 0.55), is_common) == [0, 1]


def test_the_only_figure_comes_first_where_the_best_turn_states_none() -> None:
    text = "When was the roof repaired?"
    talk = ("I had the roof repaired.", "The roof: they repaired it on May 3.")
    enough = 0.6 / (1 + STATES) / (1 + ONLY) + 0.001
    # The question counts what is older a little more.
    history = 0.6 * (1 + GAINS["history"]) / 0.6
    assert order(scored(0.6, enough * history), a_talk(*talk, text=text)) == [1, 0]
    assert order(scored(0.6, enough - 0.01), a_talk(*talk, text=text)) == [0, 1]


def test_what_is_over_changes_only_if_somebody_says_so() -> None:
    text = "How many guests did I invite?"
    plain = ("I invited 40 guests.", "I invited 46 guests.")
    told = ("I invited 40 guests.", "The guests I invited have grown to 46.")
    assert order(scored(0.6, 0.55), a_talk(*plain, text=text)) == [0, 1]
    assert order(scored(0.6, 0.55), a_talk(*told, text=text)) == [1, 0]


@pytest.mark.parametrize(
    ("texts", "given"),
    [
        ((OLD, REPEAT), {}),  # Says the same.
        ((OLD, "I like the garden."), {}),
        ((OLD, NEW), {"alike": (1.0, 0.4)}),
        ((OLD, NEW), {"roles": ["user", "assistant"]}),
        ((OLD, NEW), {"roles": ["assistant", "user"], "scores": (0.6, 0.5)}),
        ((OLD, NEW), {"names": ["Ann", "Bob"]}),
        ((OLD, NEW), {"tiers": ["session", "fact"]}),
        ((OLD, NEW), {"text": "Where is the garden budget?"}),
        ((OLD, NEW), {"text": "What was my original budget for the garden?"}),
        # Counts less than the other.
        (("We are 40 active members.", "It has 46 members."), {"text": "How many active members?"}),
    ],
)
def test_what_is_no_update_changes_no_order(texts: tuple[str, ...], given: dict[str, Any]) -> None:
    scores = given.pop("scores", (0.6, 0.55))
    assert order(scored(*scores), a_talk(*texts, **given)) == [0, 1]


def test_what_is_older_is_no_update() -> None:
    # The best is the newest of the two.
    candidates = [Candidate(1, 0.6), Candidate(0, 0.55)]
    assert order(candidates, a_talk(OLD, NEW)) == [1, 0]


def test_another_figure_of_somebody_else_is_no_update() -> None:
    text = "What time is my call with Amy?"
    old = "I call Amy at 7 PM."
    for new, expected in (
        ("The call with Amy ends at 8 PM.", [1, 0]),
        ("The call ends at 8 PM.", [0, 1]),
        ("The call was moved to 8 PM.", [1, 0]),
    ):
        assert order(scored(0.6, 0.55), a_talk(old, new, text=text)) == expected


def test_without_vectors_no_turn_is_taken_for_an_update() -> None:
    moment = a_talk(OLD, NEW)
    bare = replace(moment, view=replace(moment.view, vectors=None))
    assert order(scored(0.6, 0.55), bare) == [0, 1]


def test_only_the_first_are_looked_at() -> None:
    texts = [OLD, *["I like the garden."] * 11, NEW]
    moment = a_moment(BUDGET, ["2020-01-01"] * 13)
    asked_for: list[int] = []
    codes = {"user": -1, "session": -1}

    def content(wanted: Sequence[int]) -> dict[int, str]:
        asked_for.extend(wanted)
        return {doc: texts[doc] for doc in wanted}

    view = replace(moment.view, codes=codes, vectors=cast(Any, Rows([1.0] * 13)))
    after = current(scored(*[0.6] * 13), replace(moment, view=view, content=content))
    assert docs(after) == list(range(13))
    assert asked_for == list(range(12))


@given(
    st.lists(
        st.tuples(st.floats(0, 1), st.sampled_from([OLD, REPEAT, NEW, "It grew."])), max_size=3
    ),
    st.sampled_from([BUDGET, f"{BUDGET[:-1]} now?", "When was my garden budget cut?"]),
)
def test_figures_drop_nothing_and_keep_the_scale(turns: list[tuple[float, str]], text: str) -> None:
    scores = sorted((score for score, _ in turns), reverse=True)
    found = current(scored(*scores), a_talk(*(said for _, said in turns), text=text))
    assert sorted(docs(found)) == list(range(len(turns)))
    assert [each.score for each in found] == sorted((e.score for e in found), reverse=True)
    assert all(0 <= each.score <= 1 for each in found)
