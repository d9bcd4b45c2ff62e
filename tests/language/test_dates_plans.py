"""By when a plan is to be done, from what is said on Wednesday, 11 February 2026."""

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.language.dates import PlanDates, plan_dates
from holdfast.language.extraction import RulesExtractor
from holdfast.language.mentions import Turn

AT = datetime(2026, 2, 11, 12, tzinfo=UTC)
RULES = RulesExtractor()


def plan(text: str, at: datetime = AT) -> PlanDates:
    (found,) = RULES.extract([Turn("User", "user", text, at)])
    return plan_dates(text.lower(), found.dates, at)


def day(month: int, number: int, hour: int = 0, minute: int = 0, year: int = 2026) -> datetime:
    return datetime(year, month, number, hour, minute, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "on", "due"),
    [
        ("My flight is on March 3.", date(2026, 3, 3), day(3, 4)),
        ("My flight is on March 3 at 9:30.", date(2026, 3, 3), day(3, 3, 9, 30)),
        ("My flight is on March 3 at 5 pm.", date(2026, 3, 3), day(3, 3, 17)),
        ("The exam is on 12 January.", date(2026, 1, 12), None),  # It was last month.
        ("The exam is on 12 November.", date(2026, 11, 12), day(11, 13)),
        ("The exam is on 12 November 2025.", date(2025, 11, 12), None),
        ("The report is due by Friday.", date(2026, 2, 13), day(2, 14)),
        ("My exam is on Wednesday.", date(2026, 2, 18), day(2, 19)),
        ("The deadline is next Friday.", date(2026, 2, 13), day(2, 14)),
        ("My appointment is tomorrow at 8.", date(2026, 2, 12), day(2, 12, 8)),
        ("My exam is in two weeks.", None, day(2, 26)),
        ("I will be back in 3 months.", None, day(5, 12)),
        ("The rent is due by the end of the month.", None, day(3, 1)),
        ("The lease runs until the end of August.", None, day(9, 1)),
        ("I must be done before 12 June 2026.", None, day(6, 12)),
        ("We're moving next year.", None, day(1, 1, year=2028)),
        ("On the 18th I fly to Oslo.", date(2026, 2, 18), day(2, 19)),
        ("On the 9th I fly to Oslo.", date(2026, 3, 9), day(3, 10)),
        ("My flight is on the 30th at 7.", date(2026, 3, 30), day(3, 30, 7)),
        ("We marry on saturday the 21st, it is fixed.", date(2026, 2, 21), day(2, 22)),
        ("The flat is on the 4th floor.", None, None),
        ("They moved the review to 14 May, 10:30.", date(2026, 5, 14), day(5, 14, 10, 30)),
        ("Ole wants the drawings by 27 March.", None, day(3, 28)),
        ("I moved on March 3.", date(2025, 3, 3), None),
        ("I was there yesterday.", date(2026, 2, 10), None),
        ("I have lived here since 2019.", None, None),
        ("I swim every Sunday.", None, None),
        ("I live in Rome.", None, None),
    ],
)
def test_by_when(text: str, on: date | None, due: datetime | None) -> None:
    assert plan(text) == PlanDates(on, due)


def test_the_last_day_of_february_is_moved_to_one_that_there_is() -> None:
    found = plan("My birthday party is on February 29.", datetime(2024, 6, 1, tzinfo=UTC))
    assert found.due is None or found.due.year == 2025


@given(
    st.sampled_from(["in 900 years", "in 12 months", "by friday", "on March 3", "this year"]),
    st.datetimes(timezones=st.just(UTC)),
)
def test_no_time_is_too_early_or_late(words: str, at: datetime) -> None:
    found = plan(f"I will be there {words}.", at)
    assert found.due is None or found.due > at
