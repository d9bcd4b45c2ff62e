"""The times a question names: a table one can check with a calendar, and what is no time."""

import re
import string
import time
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.language import dates
from holdfast.language.dates import FIRST, LAST, TimeSpan, spans

# A Wednesday in a leap year.
NOW = datetime(2024, 5, 15, 10, 30, tzinfo=UTC)

# What is asked | first day | the day after the last; ".." is an open end, "~" a vague time.
NAMED = """
What did I eat today? | 2024-05-15 | 2024-05-16
What did we discuss yesterday? | 2024-05-14 | 2024-05-15
What is due tomorrow? | 2024-05-16 | 2024-05-17
Who called the day before yesterday? | 2024-05-13 | 2024-05-14
What happens the day after tomorrow? | 2024-05-17 | 2024-05-18
What did I plan for tonight? | 2024-05-15 | 2024-05-16
What did I say this morning? | 2024-05-15 | 2024-05-16
Yesterday's meeting was about what? | 2024-05-14 | 2024-05-15
What did I do three days ago? | 2024-05-12 | 2024-05-13
What did I do 1 day ago? | 2024-05-14 | 2024-05-15
What did I buy 20 days ago? | 2024-04-25 | 2024-04-26
Where was I a week ago? | 2024-05-05 | 2024-05-12 | ~
Where was I two weeks ago? | 2024-04-28 | 2024-05-05 | ~
What did I write 2 weeks back? | 2024-04-28 | 2024-05-05 | ~
Where was I a month ago? | 2024-03-31 | 2024-05-01 | ~
Where was I two months ago? | 2024-02-29 | 2024-03-31 | ~
Where was I three years ago? | 2020-11-13 | 2021-11-15 | ~
What did I buy a couple of weeks ago? | 2024-04-24 | 2024-05-09 | ~
What did I tell you a few days ago? | 2024-05-09 | 2024-05-14 | ~
Whom did I meet a few months ago? | 2023-11-15 | 2024-03-16 | ~
Whom did I meet several weeks ago? | 2024-03-20 | 2024-04-25 | ~
What is planned two days from now? | 2024-05-17 | 2024-05-18
What did I do last week? | 2024-05-06 | 2024-05-13
What is on this week? | 2024-05-13 | 2024-05-20
What is on next week? | 2024-05-20 | 2024-05-27
What did I do last weekend? | 2024-05-11 | 2024-05-13
What are my plans for this weekend? | 2024-05-18 | 2024-05-20
What are my plans for next weekend? | 2024-05-25 | 2024-05-27
What did I spend last month? | 2024-04-01 | 2024-05-01
What did I spend this month? | 2024-05-01 | 2024-06-01
What will I spend next month? | 2024-06-01 | 2024-07-01
Where did we go last year? | 2023-01-01 | 2024-01-01
Where did we go this year? | 2024-01-01 | 2025-01-01
Where do we go next year? | 2025-01-01 | 2026-01-01
What did I do the week before last? | 2024-04-29 | 2024-05-06
What did I do the year before last? | 2022-01-01 | 2023-01-01
Whom did I see last Friday? | 2024-05-10 | 2024-05-11
Whom did I see last Wednesday? | 2024-05-08 | 2024-05-09
Whom do I see this Friday? | 2024-05-17 | 2024-05-18
Whom do I see next Tuesday? | 2024-05-21 | 2024-05-22
Whom did I see on Monday? | 2024-05-13 | 2024-05-14 | ~
Where was I last March? | 2024-03-01 | 2024-04-01
Where was I last May? | 2023-05-01 | 2023-06-01
Where was I last december? | 2023-12-01 | 2024-01-01
What is planned for this September? | 2024-09-01 | 2024-10-01
What is planned for next March? | 2025-03-01 | 2025-04-01
What did I do in March? | 2024-03-01 | 2024-04-01
What did I do in March for Ann? | 2024-03-01 | 2024-04-01
What did I do in may? | 2024-05-01 | 2024-06-01
What did I do in June? | 2023-06-01 | 2023-07-01
What did I do in Oct? | 2023-10-01 | 2023-11-01
What did I do during February? | 2024-02-01 | 2024-03-01
What did I do in March 2023? | 2023-03-01 | 2023-04-01
My goals for February 2023? | 2023-02-01 | 2023-03-01
The dec 2022 report? | 2022-12-01 | 2023-01-01
What did I do in 2023? | 2023-01-01 | 2024-01-01
In 2019 was I in Rome? | 2019-01-01 | 2020-01-01
What happened on May 8? | 2024-05-08 | 2024-05-09
What happened on May 20? | 2023-05-20 | 2023-05-21
What happened on 8 May 2023? | 2023-05-08 | 2023-05-09
What happened on the 8th of May? | 2024-05-08 | 2024-05-09
What happened on May 8th, 2023? | 2023-05-08 | 2023-05-09
What happened on the 3rd of march 2022? | 2022-03-03 | 2022-03-04
What happened on Sept. 5, 2023? | 2023-09-05 | 2023-09-06
The call of Mar-15-2024? | 2024-03-15 | 2024-03-16
Where was I on May 8-12, 2023? | 2023-05-08 | 2023-05-13
What happened on February 29? | 2024-02-29 | 2024-03-01
What happened on 2023-05-08? | 2023-05-08 | 2023-05-09
Was war am 2023-05-08 los? | 2023-05-08 | 2023-05-09
The log of 2023-12-31T23:59:59Z? | 2023-12-31 | 2024-01-01
What did I sign on 03/23/2023? | 2023-03-23 | 2023-03-24
What did I sign on 23/03/2023? | 2023-03-23 | 2023-03-24
What did I sign on 5/5/2023? | 2023-05-05 | 2023-05-06
What did I do in early March? | 2024-03-01 | 2024-03-11 | ~
What did I do in mid-March? | 2024-03-11 | 2024-03-22 | ~
What did I do late in March 2023? | 2023-03-22 | 2023-04-01 | ~
What did I do at the end of last month? | 2024-04-21 | 2024-05-01 | ~
What did I do in the last week of April? | 2024-04-21 | 2024-05-01 | ~
What did we do in the summer of 2023? | 2023-06-01 | 2023-09-01
What did we do in winter 2022? | 2022-12-01 | 2023-03-01
What did we do last summer? | 2023-06-01 | 2023-09-01
What did we do last winter? | 2023-12-01 | 2024-03-01
What do we do this summer? | 2024-06-01 | 2024-09-01
What did we do in the fall? | 2023-09-01 | 2023-12-01
What did I read in the past two weeks? | 2024-05-01 | 2024-05-16
What did I read in the last 30 days? | 2024-04-15 | 2024-05-16
What did I read over the past year? | 2023-05-15 | 2024-05-16
What did I read in the last few days? | 2024-05-09 | 2024-05-16 | ~
What is due in the next three days? | 2024-05-15 | 2024-05-18
What changed since March? | 2024-03-01 | ..
What changed since last week? | 2024-05-06 | ..
What changed since early 2023? | 2023-01-01 | .. | ~
What changed after May 8, 2023? | 2023-05-09 | ..
What did I own before June 2023? | .. | 2023-06-01
What did I own prior to 2020? | .. | 2020-01-01
What must be done by June 8, 2024? | .. | 2024-06-09
What did I own until March 2023? | .. | 2023-04-01
What happened between March and May 2023? | 2023-03-01 | 2023-06-01
What happened between November and February 2023? | 2022-11-01 | 2023-03-01
What happened from November 2022 to January? | 2022-11-01 | 2023-02-01
What happened between 2019 and 2021? | 2019-01-01 | 2022-01-01
What happened from 8 May to 10 May? | 2024-05-08 | 2024-05-11
What happened from May 8 to May 10? | 2024-05-08 | 2024-05-11
What happened between 2023-05-08 and 2023-06-01? | 2023-05-08 | 2023-06-02
What did I do the day after May 8, 2023? | 2023-05-09 | 2023-05-10
What did I do two days before May 8, 2023? | 2023-05-06 | 2023-05-07
What did I do the week before 9 June 2023? | 2023-06-02 | 2023-06-09
Where was I around May 8, 2023? | 2023-05-07 | 2023-05-10 | ~
昨天我吃了什么？ | 2024-05-14 | 2024-05-15
前天谁打来电话？ | 2024-05-13 | 2024-05-14
上周我们讨论了什么？ | 2024-05-06 | 2024-05-13
上个星期我在哪里？ | 2024-05-06 | 2024-05-13
上个月我花了多少？ | 2024-04-01 | 2024-05-01
去年我们去了哪里？ | 2023-01-01 | 2024-01-01
我2024年3月在做什么？ | 2024-03-01 | 2024-04-01
3月8日发生了什么？ | 2024-03-08 | 2024-03-09
我在2023-05-08说了什么？ | 2023-05-08 | 2023-05-09
三天前我说了什么？ | 2024-05-12 | 2024-05-13
两周前我在哪里？ | 2024-04-28 | 2024-05-05 | ~
"""

NOT_NAMED = """
May I ask you something?
This may be a mistake, is it?
You may march to the square
Why did they march on the capital?
What I do next may change everything
Who may 8 people be?
May 8 people come along?
Did we march 8 miles?
The last march against the war was long
What did May say about April?
Did June call August?
Give me a second
Who came second in the race?
The cat sat in the sun
Did I see the sun on the beach?
Which version is it, 2023.1.2 or 3.11.4?
Is Python 3.12 out?
Summarize it in 2000 words
Did it cost $2023?
Did I run in 2000 metres or less?
How far is 2000 km?
What is my order INV-2026-04-17?
Is the address 192.168.20.23?
What is room 2019 for?
What did I sign on 05/06/2023?
What happened on February 30?
What happened on 2023-13-45?
What happened on 31/31/2023?
Is it open 24/7?
What is my last name?
When was the last time I called?
How long does a week last?
I stayed there for two weeks
How many days did it take?
Did I fall off the bike?
What is in the spring water?
What about the fall of Rome?
Do I swim on Mondays?
Do I swim on Tuesday and Friday?
Do I swim on Tuesday mornings?
What did I do until the last day?
Do we meet every March?
The year 9999 is far away, and 9999 years ago, too
I can do it in 5 minutes
Call 555-2023 or 2023-555
What is 10:30 in Rome?
What happened in the past?
What does ISO 8601 say?
13月 is no month
以前天气怎么样？
3个月够吗？
"""


def rows(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")] for line in table.strip().splitlines()]


def day(text: str, open_end: datetime) -> datetime:
    return open_end if text == ".." else datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize("row", rows(NAMED), ids=lambda row: row[0])
def test_a_time_that_is_named(row: list[str]) -> None:
    text, start, end = row[:3]
    (span,) = spans(text, NOW)
    assert (span.start, span.end) == (day(start, FIRST), day(end, LAST))
    assert span.exact == (row[3:] != ["~"])
    assert span.phrase in text


@pytest.mark.parametrize("text", NOT_NAMED.strip().splitlines())
def test_what_is_no_time(text: str) -> None:
    assert spans(text, NOW) == ()


def test_the_tables_are_large() -> None:
    assert len(rows(NAMED)) >= 80
    assert len(NOT_NAMED.strip().splitlines()) >= 30


def test_hours_are_counted_from_now_and_a_night_lasts_till_six() -> None:
    hour = timedelta(hours=1)
    (span,) = spans("What did I say an hour ago?", NOW)
    assert (span.start, span.end) == (NOW - 1.5 * hour, NOW - 0.5 * hour)
    (night,) = spans("What did I watch last night?", NOW)
    assert (night.start, night.end) == (
        datetime(2024, 5, 14, 18, tzinfo=UTC), datetime(2024, 5, 15, 6, tzinfo=UTC),
    )  # fmt: skip


def test_several_times_are_told_in_order_and_once() -> None:
    found = spans("Compare May 8, 2023 with yesterday, and yesterday with 2023-05-08", NOW)
    assert [span.phrase for span in found] == ["May 8, 2023", "yesterday"]


def test_the_phrase_holds_the_words_that_open_the_span() -> None:
    (span,) = spans("What did I own before the end of 2022?", NOW)
    assert span.phrase == "before the end of 2022"


def test_a_question_full_of_dates_gives_a_few() -> None:
    assert len(spans(" ".join(f"2023-05-{day:02}" for day in range(1, 31)), NOW)) == 8


@pytest.mark.parametrize(
    ("now", "text", "start", "end"),
    [
        # Month ends, year ends, leap days.
        ("2024-03-31", "a month ago", "2024-02-14", "2024-03-16"),
        ("2023-03-31", "a month ago", "2023-02-13", "2023-03-16"),
        ("2024-02-29", "a year ago", "2022-08-29", "2023-08-31"),
        ("2024-01-01", "yesterday", "2023-12-31", "2024-01-01"),
        ("2024-01-01", "last month", "2023-12-01", "2024-01-01"),
        ("2024-01-01", "last week", "2023-12-25", "2024-01-01"),
        ("2023-12-31", "next month", "2024-01-01", "2024-02-01"),
        ("2023-12-31", "next week", "2024-01-01", "2024-01-08"),
        ("2023-05-15", "on February 29", "2020-02-29", "2020-03-01"),
        ("2024-01-10", "this winter", "2023-12-01", "2024-03-01"),
        ("2024-01-10", "last winter", "2022-12-01", "2023-03-01"),
        ("2024-05-12", "last weekend", "2024-05-04", "2024-05-06"),
        ("2024-03-10", "in March", "2024-03-01", "2024-04-01"),
        ("2024-03-10", "last March", "2023-03-01", "2023-04-01"),
    ],
)
def test_the_edges_of_the_calendar(now: str, text: str, start: str, end: str) -> None:
    (span,) = spans(text, day(now, NOW))
    assert (span.start, span.end) == (day(start, NOW), day(end, NOW))


def test_now_is_taken_in_utc() -> None:
    late = datetime(2024, 5, 14, 23, 0, tzinfo=timezone(timedelta(hours=-5)))  # The 15th in UTC.
    assert spans("yesterday", late)[0].start == datetime(2024, 5, 14, tzinfo=UTC)
    assert spans("yesterday", NOW.replace(tzinfo=None)) == spans("yesterday", NOW)


@pytest.mark.parametrize(
    "now",
    [
        datetime(1, 1, 1, tzinfo=UTC),
        datetime(1899, 1, 1, tzinfo=UTC),
        datetime(9999, 12, 31, tzinfo=UTC),
    ],
)
def test_a_now_out_of_reach_names_nothing(now: datetime) -> None:
    assert spans("yesterday, last March and 2023-05-08", now) == ()


@pytest.mark.parametrize("text", ["1899-12-31", "2200-01-01", "in 1899", "300 years ago"])
def test_far_dates_are_no_dates(text: str) -> None:
    assert spans(text, NOW) == ()


VOCABULARY = (
    "in on the last this next early mid late end of since before after between and to from two 31 "
    "29 2023 1900 2199 9999 a few couple days weeks months years decade ago from now May march "
    "February Feb Monday summer winter yesterday day week 2024-02-30 13/13/2013 12/25/1999 上 月 "
    "年 2024年 3月 31日 几 天 前 ſ K"
)
WORDS = st.sampled_from(VOCABULARY.split())
TEXTS = st.one_of(st.text(max_size=60), st.lists(WORDS, max_size=12).map(" ".join))


@given(TEXTS, st.datetimes(timezones=st.just(UTC)))
def test_no_text_and_no_clock_raises_and_no_span_is_empty(text: str, now: datetime) -> None:
    for span in spans(text, now):
        assert isinstance(span, TimeSpan)
        assert FIRST <= span.start < span.end <= LAST
        assert span.phrase in text


@pytest.mark.parametrize("rule", range(len(dates._RULES)))
@given(drawn=st.data())
@settings(max_examples=60)
def test_whatever_names_a_time_holds_one_of_the_hints(rule: int, drawn: st.DataObject) -> None:
    pattern, _ = dates._RULES[rule]
    compiled = re.compile(pattern.pattern, pattern.flags)
    text = drawn.draw(st.from_regex(compiled, alphabet=string.printable))
    assert dates._HINT.search(text)


def test_a_long_question_costs_no_more_than_its_length() -> None:
    started = time.thread_time()
    spans("may " * 8_000, NOW)
    spans("a " * 16_000, NOW)
    spans("2023-05-08 " * 3_000, NOW)
    assert time.thread_time() - started < 5
