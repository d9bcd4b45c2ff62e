"""By when a plan is to be done: the day and the time that a sentence about the future names.

The reader of dates takes "March 3" for the last one, as questions mean it. Who plans means the
next one: a date without a year that is over is moved on by a year, "Friday" is the coming one, and
"in two weeks" is counted from when it was said. A sentence about the past has no due time.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from holdfast.language.extraction import Date

_DAY = timedelta(days=1)
_FAR = 2_199  # The reader's open end; what has it names no day.
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_WORDS = "one two three four five six seven eight nine ten eleven twelve"
_NUMBERS = {word: value for value, word in enumerate(_WORDS.split(), 1)} | {
    **{"a": 1, "an": 1, "a couple of": 2}
}
_PAST = re.compile(
    r"\b(?:was|were|did|went|had|got|came|moved|started|bought|met|visited|finished|ended|left|last"
    r"|ago|yesterday|since|born|used to|been|said|told|mentioned)\b"
    r"|\bafter \w+ \w+ed\b|\b(?:i|we)(?:'ve| have)?(?: already| just| finally)? (?!need|feed"
    r"|indeed)\w+ed\b(?! (?:for|to)\b)"
)
_AHEAD = re.compile(
    r"\b(?:will|going to|gonna|is|are|am|leaves?|starts?|ends?|runs|lands?|until|till|by|before|due"
    r"|deadline|plan|planning|planned|scheduled|booked|have to|has to|need to|must|want to|hope"
    r"|flying|moving|leaving|starting|expires?|appointment|not|can't|fly|flies|moves?|gets?|wants?"
    r"|comes?|takes?|picks?|says|delivery|back|begins?|opens?|closes?|arrives?|leave|travel|go|have"
    r"|has|present|return|returns)\b|'(?:ll|s|m|re)\b"
)
#: Told in the past, and yet ahead.
_SHIFTED = re.compile(
    r"\b(?:moved|pushed|postponed|rescheduled|shifted|delayed|booked|brought forward)\b[^.;]{0,60}?"
    r" (?:to|until|till|for) "
)
_YEAR = re.compile(r"\b(?:19|20|21)\d\d\b")
_MONTH = re.compile(r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)", re.IGNORECASE)
_WEEKDAY = re.compile(
    r"\b(?:on|by|until|till|before|this|for|due) (?:this )?(?P<day>mon|tues|wednes|thurs|fri|satur"
    r"|sun)day\b(?! (?:night|morning)s)"
)
#: A day of a month that is not named: the next one.
_ORDINAL = re.compile(
    r"(?:\b(?:on|by|until|till|before|from|to)|day) (?:the )?(?P<day>[1-9]|[12]\d|3[01])"
    r"(?:st|nd|rd|th)\b"
    r"(?! (?:of|floor|grade|century|time|anniversary|birthday|place|street|year|jan|feb|mar|apr|may"
    r"|jun|jul|aug|sep|oct|nov|dec))"
)
_IN = re.compile(
    r"\b(?:in|within) (?P<number>\d{1,3}|a couple of|an?|one|two|three|four|five|six|seven|eight"
    r"|nine|ten|eleven|twelve) (?P<unit>day|week|month|year)s?\b(?!'? time\w)"
)
_END_OF = re.compile(r"\b(?:end of (?:the|this) |this )(?P<unit>week|month|year)\b")
_CLOCK = re.compile(
    r"(?:\bat |(?<=\w), )(?P<hour>[01]?\d|2[0-3])(?:[:.](?P<minute>[0-5]\d))?"
    r" ?(?P<half>[ap])?\.?(?:m\b)?(?![\d%])"
)
#: "March 3" said on March 10 is that of this year.
_JUST_OVER = timedelta(days=60)
_NOON = 12
_MONTHS = 12


@dataclass(frozen=True, slots=True)
class Planned:
    """The day that a sentence is about, and when what it plans is over; None for neither."""

    on: date | None = None
    due: datetime | None = None


def planned(low: str, dates: Sequence[Date], at: datetime) -> Planned:
    """The times of one sentence (in lower case), said `at`; `dates` are those that stand in it."""
    if _SHIFTED.search(low) or (_AHEAD.search(low) and not _PAST.search(low)):
        try:
            interval = _coming(low, dates, at)
        except (ValueError, OverflowError):  # "In 900 years", said near the end of all calendars.
            interval = None
        if interval is not None:
            return _until(*interval, low)
    exact = [each for each in dates if each.exact and each.to - each.from_ <= _DAY]
    return Planned(on=exact[0].from_.date()) if len(dates) == len(exact) == 1 else Planned()


def _coming(
    low: str, dates: Sequence[Date], at: datetime
) -> tuple[datetime | None, datetime] | None:
    """The one time ahead that a sentence names: where it begins, if it is one day, and its end."""
    weekday = _WEEKDAY.search(low)
    if (ordinal := _ORDINAL.search(low)) and all(_is_vague(each) for each in dates):
        begin = _next(at.replace(hour=0, minute=0, second=0, microsecond=0), int(ordinal["day"]))
        return begin, begin + _DAY
    if len(dates) == 1 and not weekday:
        return _ahead(dates[0], at)
    midnight = at.replace(hour=0, minute=0, second=0, microsecond=0)
    if weekday:
        days = (_WEEKDAYS.index(weekday["day"][:3]) - at.weekday()) % 7 or 7
        begin = midnight + days * _DAY
        return begin, begin + _DAY
    if found := _IN.search(low):
        number = _NUMBERS.get(found["number"]) or int(found["number"])
        return None, _later(midnight, number, found["unit"]) + _DAY
    if (found := _END_OF.search(low)) and not dates:
        return None, _end_of(midnight, found["unit"])
    return None


def _is_vague(named: Date) -> bool:
    """Whether it is a month or more, or a weekday that says of a day only which one it is."""
    return named.to - named.from_ > _DAY or _MONTH.search(named.text) is None


def _next(midnight: datetime, day: int) -> datetime:
    """The next day of a month that has this number."""
    first = midnight.replace(day=1)
    if day < midnight.day:
        first = _later(first, 1, "month")
    while day > monthrange(first.year, first.month)[1]:
        first = _later(first, 1, "month")
    return first.replace(day=day)


def _ahead(named: Date, at: datetime) -> tuple[datetime | None, datetime] | None:
    begin, end = named.from_, named.to
    if at - _JUST_OVER < end <= at:
        return None
    if end <= at and _MONTH.search(named.text) and not _YEAR.search(named.text):
        years = at.year - end.year
        years += end.replace(year=at.year, day=min(end.day, 28)) <= at
        begin, end = _later(begin, years * _MONTHS, "month"), _later(end, years * _MONTHS, "month")
    if end <= at or end.year > _FAR:
        return None
    is_day = end - begin <= _DAY
    return begin if is_day else None, end


def _until(begin: datetime | None, end: datetime, low: str) -> Planned:
    clock = _CLOCK.search(low) if begin is not None else None
    if begin is None or clock is None:
        return Planned(on=None if begin is None else begin.date(), due=end)
    hour = int(clock["hour"])
    if clock["half"] == "p" and hour < _NOON:
        hour += _NOON
    due = begin.replace(hour=hour, minute=int(clock["minute"] or 0), second=0, microsecond=0)
    return Planned(on=begin.date(), due=due)


def _later(at: datetime, number: int, unit: str) -> datetime:
    if unit in ("day", "week"):
        return at + number * (7 if unit == "week" else 1) * _DAY
    months = at.month - 1 + number * (_MONTHS if unit == "year" else 1)
    year, month = at.year + months // _MONTHS, months % _MONTHS + 1
    return at.replace(year=year, month=month, day=min(at.day, monthrange(year, month)[1]))


def _end_of(midnight: datetime, unit: str) -> datetime:
    if unit == "week":
        return midnight + (7 - midnight.weekday()) * _DAY
    first = midnight.replace(day=1) if unit == "month" else midnight.replace(month=1, day=1)
    return _later(first, 1, unit)
