"""Temporal matching: what was said at the time that the question names goes further up."""

from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.language.dates import spans
from holdfast.recall.stages.times import NAMED_GAIN, lifts_of, named_times, raise_named
from tests.recall.moments import NOW, a_moment, a_view


def lifts(text: str, *days: str) -> list[float]:
    return [round(float(each), 4) for each in lifts_of(a_view(days), spans(text, NOW))]


def raised_by(text: str, days: list[str], *scores: float) -> list[float]:
    moment = a_moment(text, days)
    named = named_times(moment.query)
    return [float(each) for each in raise_named(np.array(scores), lifts_of(moment.view, named))]


def test_what_was_said_at_the_named_time_goes_first() -> None:
    days = ["2022-07-01", "2023-03-10", "2024-01-01"]
    found = raised_by("What did I cook in March 2023?", days, 0.6, 0.5, 0.4)
    assert found == pytest.approx([0.6, 0.5 * (1 + NAMED_GAIN), 0.4])
    assert found[1] > found[0]


def test_relevance_still_counts() -> None:
    days = ["2022-07-01", "2023-03-10"]
    one, other = raised_by("What did I cook in March 2023?", days, 0.9, 0.3)
    assert one > other


def test_what_has_no_score_is_not_lifted() -> None:
    days = ["2023-03-09", "2023-03-10"]
    assert raised_by("What did I cook in March 2023?", days, 0.5, 0.0)[1] == 0.0


def test_a_question_without_a_time_changes_nothing() -> None:
    days = ["2022-07-01", "2023-03-10"]
    assert raised_by("What did I cook?", days, 0.6, 0.5) == [0.6, 0.5]
    assert raised_by("What did I cook in March?", []) == []


def test_scores_stay_on_their_scale_and_in_order() -> None:
    days = ["2023-03-10", "2023-03-11", "2022-07-01"]
    found = raised_by("What about March 2023?", days, 1.0, 0.9, 0.8)
    assert found == pytest.approx([1.0, 0.9, 0.8 / (1 + NAMED_GAIN)])


def test_inside_is_one_and_far_away_is_none() -> None:
    days = ["2023-01-01", "2023-03-01", "2023-03-31T23:59:59.999999", "2023-06-01"]
    assert lifts("in March 2023", *days) == [0.0, 1.0, 1.0, 0.0]


def test_a_near_miss_loses_smoothly_on_both_sides() -> None:
    # A day: the slopes are a week. Half of the lift is lost three and a half days away.
    days = ["2023-05-01", "2023-05-04T12:00", "2023-05-08", "2023-05-12T12:00", "2023-05-16"]
    assert lifts("on May 8, 2023", *days) == [0.0, 0.5, 1.0, 0.5, 0.0]


def test_a_longer_time_has_longer_slopes_up_to_a_limit() -> None:
    # March is 31 days: half of it is lost 15.5 days later. A year's slope is 45 days.
    assert lifts("in March 2023", "2023-04-16T12:00") == [0.5]
    assert lifts("in 2022", "2023-01-23T12:00", "2023-02-15") == [0.5, 0.0]


def test_open_ends_reach_as_far_as_there_is_anything() -> None:
    days = ["1990-01-01", "2023-05-31", "2023-12-01", "2030-01-01"]
    assert lifts("before June 2023", *days) == [1.0, 1.0, 0.0, 0.0]
    assert lifts("after June 2023", *days) == [0.0, pytest.approx(1 - 31 / 45, abs=1e-3), 1.0, 1.0]
    assert lifts("between May and June 2023", *days) == [0.0, 1.0, 0.0, 0.0]


def test_of_several_times_the_nearest_counts() -> None:
    assert lifts("May 8, 2023 or July 20, 2023", "2023-05-08", "2023-07-20", "2023-06-15") == [
        1.0, 1.0, 0.0,
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text", ["What is due tomorrow?", "What do I read in the next few weeks?", "What is next year?"]
)
def test_nothing_was_said_in_the_future(text: str) -> None:
    assert raised_by(text, ["2024-05-14", "2024-05-15"], 0.6, 0.5) == [0.6, 0.5]


@pytest.mark.parametrize("text", ["What did I say today?", "What is on this week?"])
def test_today_and_what_has_begun_are_not_the_future(text: str) -> None:
    before, today = raised_by(text, ["2023-05-14", "2024-05-15"], 0.6, 0.5)
    assert today > before


def test_no_time_lifts_nothing() -> None:
    values = lifts_of(a_view(["2023-05-08"]), ())
    assert values.tolist() == [0.0]
    assert values.dtype == np.float32


@given(
    st.datetimes(datetime(1900, 1, 1), datetime(2199, 12, 31)),  # noqa: DTZ001
    st.sampled_from(["yesterday", "in March", "since 2020", "a few years ago", "before May 8"]),
)
def test_a_lift_is_a_share(said: datetime, text: str) -> None:
    (value,) = lifts_of(a_view([said.isoformat()]), spans(text, NOW))
    assert 0.0 <= value <= 1.0
    (span,) = spans(text, NOW)
    if span.start <= said.replace(tzinfo=UTC) < span.end:
        assert value == 1.0
