"""The times a question names, as half-open UTC intervals relative to now.

Two steps. First the expressions that stand for a time of their own are found ("March",
"8 May 2023", "two weeks ago") and what each stands for. Then the words before each
are looked at: they narrow it ("early"), open it to one side ("since", "before"), move it ("the day
after") or join two ("between ... and ..."). A bare month or year is weak: without such a word it
may be a verb, a name or a number.

English, ISO dates in any language, and common Chinese ones. This module knows nothing about
documents.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta

from holdfast.language.lexicon import (
    CARDINALS,
    MONTH,
    MONTH_STARTS,
    SEASONS,
    WEEKDAY,
    WEEKDAY_STARTS,
    any_of,
)
from holdfast.language.regex import regex
from holdfast.language.sentences import STOPS

# ----------------------------------------------------------------------
# What an expression of time stands for: "8 May 2023", "last week", "two months ago".
#
# Each public function reads one kind of expression, found by the patterns below,
# relative to now; it gives None where the words are no time after all, and raises ValueError or
# OverflowError where there is no such time. A week starts on Monday; the seasons are those of the
# north; intervals are half-open and in UTC.
# ----------------------------------------------------------------------

#: Nothing outside these years is understood.
FIRST = datetime(1900, 1, 1, tzinfo=UTC)
LAST = datetime(2200, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)

Interval = tuple[datetime, datetime]
Reader = Callable[[re.Match[str], datetime], "Time | None"]

_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_MONTHS_IN = {"month": 1, "year": 12, "decade": 120}
_LENGTHS = {
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": DAY,
    "week": 7 * DAY,
}
_SHORT = ("minute", "hour")
#: Half of what "a week ago" leaves open.
_AROUND = {
    "minute": timedelta(minutes=5),
    "hour": timedelta(minutes=30),
    "day": timedelta(),
    "week": 3 * DAY,
    "month": 15 * DAY,
    "year": 183 * DAY,
    "decade": 731 * DAY,
}
NUMBERS = {word: value for value, word in enumerate(CARDINALS.split(), 1)} | {
    **{"a": 1, "an": 1, "the": 1},
    **{"twenty": 20, "thirty": 30, "sixty": 60, "ninety": 90, "hundred": 100},
}
#: By hand, not measured.
_VAGUE = (("couple", 1, 3), ("few", 2, 6), ("several", 3, 8))
_SAME = {"past": "last", "previous": "last", "coming": "next", "上": "last", "去": "last"} | {
    **{"下": "next", "明": "next", "本": "this", "这": "this", "今": "this"}
}
_RELATIVE = {
    **{"the day before yesterday": -2, "day before yesterday": -2, "yesterday": -1},
    **{"today": 0, "tonight": 0, "this morning": 0, "this afternoon": 0, "this evening": 0},
    **{"tomorrow": 1, "the day after tomorrow": 2, "day after tomorrow": 2},
    **{"前天": -2, "昨天": -1, "昨日": -1, "今天": 0, "今日": 0, "明天": 1, "后天": 2},
}
_CHINESE_UNITS = {
    **{"天": "day", "周": "week", "星期": "week", "个星期": "week", "月": "month"},
    **{"个月": "month", "年": "year", "两": "two", "几": "few"},
    **dict(zip("一二三四五六七八九十", CARDINALS.split(), strict=False)),
}

_ENDS = regex(rf"\s*(?:[{STOPS},;:)]|$)")
_VERB = regex(
    r"\s+(?:be|have|not|also|well|i|you|he|she|it|we|they|never|only)\b", re.IGNORECASE | re.ASCII
)
# "The spring" is a season before these, in "the spring water" it is not.
_GOES_ON = regex(
    r"\s+(?:and|or|with|when|for|to|at|in|before|after|did|do|does|was|were|is|are|i|you|he|she|we"
    r"|they|my|our|the)\b",
    re.IGNORECASE | re.ASCII,
)
_PREPOSITION = regex(
    r"\b(?:in|on|of|by|since|before|after|until|till|during|early|mid|late|between|from|to|and"
    r"|around)[\s-]+$",
    re.IGNORECASE | re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Time:
    """An expression found in a text, and what it stands for."""

    interval: Interval
    #: False where the words are vague: "a few weeks ago".
    exact: bool = True
    #: Perhaps a verb, a name or a number: needs a word before it that makes a time of it.
    weak: bool = False
    #: The same in another year, where the text does not say which.
    in_year: Callable[[int], Interval] | None = None
    #: Where in the text it is.
    begin: int = 0
    end: int = 0


def number(words: str) -> tuple[int, int]:
    """A number, or the range that a vague one stands for."""
    word = words.lower()
    for vague, low, high in _VAGUE:
        if vague in word:
            return low, high
    exact = int(word) if word.isdecimal() else NUMBERS[word]
    return exact, exact


def ahead(moment: datetime, unit: str, count: int) -> datetime:
    """So many units later; where the month is too short for the day, its last one."""
    if unit not in _MONTHS_IN:
        return moment + count * _LENGTHS[unit]
    year, month = divmod(moment.year * 12 + moment.month - 1 + count * _MONTHS_IN[unit], 12)
    if not FIRST.year <= year <= LAST.year:
        raise OverflowError("outside the years that are understood")
    last = monthrange(year, month + 1)[1]
    return moment.replace(year=year, month=month + 1, day=min(moment.day, last))


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _month(year: int, month: int) -> Interval:
    start = datetime(year, month, 1, tzinfo=UTC)
    return start, ahead(start, "month", 1)


def _year(year: int) -> Interval:
    return _month(year, 1)[0], _month(year, 12)[1]


def _day(year: int, month: int, day: int, last: int | None = None) -> Interval:
    start = datetime(year, month, day, tzinfo=UTC)
    return start, datetime(year, month, last or day, tzinfo=UTC) + DAY


def _recurring(in_year: Callable[[int], Interval], now: datetime, which: str = "") -> Interval:
    """Of what comes back every year the last, this or the next one; else the most recent."""
    known = []
    for year in range(now.year - 9, now.year + 10):
        try:
            known.append(in_year(year))
        except ValueError:  # No 29th of February.
            continue
    if which == "last":
        return max(each for each in known if each[1] <= now)
    if which == "next":
        return min(each for each in known if each[0] > now)
    if which == "this":
        around = [each for each in known if each[0] <= now < each[1]]
        return around[0] if around else in_year(now.year)
    return max(each for each in known if each[0] <= now)


# The readers: a match and now -> what it stands for, None if it is no time after all.


def _which(match: re.Match[str]) -> str:
    """`last`, `this`, `next` or nothing, whatever the word."""
    words = (match.groupdict().get("which") or "").lower().split()
    return _SAME.get(words[-1], words[-1]) if words else ""


def figures(match: re.Match[str], now: datetime) -> Time | None:
    """Year, month and day in figures, some of them missing."""
    parts = match.groupdict()
    year, month, day = (int(parts.get(each) or 0) for each in ("year", "m", "d"))
    if not month:
        return Time(_year(year))

    def in_year(year: int) -> Interval:
        return _day(year, month, day) if day else _month(year, month)

    return Time(in_year(year)) if year else Time(_recurring(in_year, now), in_year=in_year)


def slashes(match: re.Match[str], now: datetime) -> Time | None:
    """Month/day/year or day/month/year, where only one of the two is possible."""
    one, two, year = int(match["one"]), int(match["two"]), int(match["year"])
    if one <= 12 and two <= 12 and one != two:
        return None
    return Time(_day(year, one, two) if one <= 12 else _day(year, two, one))


def named_month(match: re.Match[str], now: datetime) -> Time | None:
    """A month by name: with a day, a year or both; with "last" and the like; or alone."""
    parts = match.groupdict()
    year, day, last = (int(parts.get(each) or 0) for each in ("year", "day", "last"))
    if not year and not _is_month(match, sure=bool(parts.get("th")), alone=not day):
        return None
    month = MONTH_STARTS.index(match["month"][:3].lower()) + 1

    def in_year(year: int) -> Interval:
        return _day(year, month, day, last) if day else _month(year, month)

    if year:
        return Time(in_year(year))
    which = _which(match)
    weak = not day and not which
    return Time(_recurring(in_year, now, which), weak=weak, in_year=in_year)


def _is_month(match: re.Match[str], *, sure: bool, alone: bool) -> bool:
    """Whether "may" and "march" are months here, and "Jan" is not somebody."""
    word, text = match["month"], match.string
    if len(word) == 3 and word.lower() != "may":
        return word[0].isupper() or not alone
    if word.lower() not in ("may", "march"):
        return True
    if _VERB.match(text, match.end("month")):
        return False
    before = text[max(0, match.start() - 12) : match.start()]
    chosen = sure or bool(_which(match))
    if word[0].islower():
        ends = _ENDS.match(text, match.end()) is not None
        return (
            sure or _PREPOSITION.search(before) is not None or (ends and not (alone and not chosen))
        )
    starts = not before.strip() or before.rstrip()[-1] in ".?!"
    return chosen or not starts or _ENDS.match(text, match.end()) is not None


def season(match: re.Match[str], now: datetime) -> Time | None:
    """A season of a year; "last summer"; "the summer", which is weak."""
    first = _SEASONS[match["season"].lower()]

    def in_year(year: int) -> Interval:
        start = datetime(year, first, 1, tzinfo=UTC)
        return start, ahead(start, "month", 3)

    if match["year"]:
        return Time(in_year(int(match["year"])))
    which = _which(match)
    ends = _ENDS.match(match.string, match.end()) or _GOES_ON.match(match.string, match.end())
    if not which and not (match["the"] and ends):
        return None
    return Time(_recurring(in_year, now, which), weak=not which, in_year=in_year)


def bare_year(match: re.Match[str], now: datetime) -> Time:
    """A year, perhaps: any number of four figures looks like one."""
    return Time(_year(int(match["year"])), weak=True)


def calendar(match: re.Match[str], now: datetime) -> Time:
    """The last, this or the next week, weekend, month, year; "the week before last"."""
    unit = _CHINESE_UNITS.get(match["unit"], match["unit"].lower())
    parts = match.groupdict()
    steps = -2 if parts.get("twice") else {"last": -1, "this": 0, "next": 1}[_which(match)]
    today = _midnight(now)
    monday = today - today.weekday() * DAY + 7 * steps * DAY
    if unit == "week":
        return Time((monday, monday + 7 * DAY))
    if unit == "weekend":
        return Time((monday + 5 * DAY, monday + 7 * DAY))
    start = today.replace(day=1) if unit == "month" else today.replace(day=1, month=1)
    return Time((ahead(start, unit, steps), ahead(start, unit, steps + 1)))


def rolling(match: re.Match[str], now: datetime) -> Time:
    """As in "the past two weeks", up to the end of today; or the next ones, from its start."""
    low, high = number(match.groupdict().get("number") or "one")
    unit = match["unit"].lower()
    start = now if unit in _SHORT else _midnight(now)
    if _which(match) == "next":
        return Time((start, ahead(start, unit, high)), low == high)
    end = now + _LENGTHS["minute"] if unit in _SHORT else start + DAY
    return Time((ahead(start, unit, -high), end), low == high)


def ago(match: re.Match[str], now: datetime) -> Time:
    """A day ago is that day; a week, month or year ago is as much time around that day."""
    unit = _CHINESE_UNITS.get(match["unit"], match["unit"].lower())
    low, high = number(_CHINESE_UNITS.get(match["number"], match["number"]))
    sign = 1 if match.groupdict().get("hence") else -1
    start = now if unit in _SHORT else _midnight(now)
    ends = sorted((ahead(start, unit, sign * low), ahead(start, unit, sign * high)))
    half = _AROUND[unit] if low == high else timedelta()
    whole = timedelta() if unit in _SHORT else DAY
    return Time((ends[0] - half, ends[1] + half + whole), exact=unit == "day" and low == high)


def relative_day(match: re.Match[str], now: datetime) -> Time:
    """Today, the days beside it, and those beside them."""
    day = _midnight(now) + _RELATIVE[" ".join(match["days"].lower().split())] * DAY
    return Time((day, day + DAY))


def last_night(match: re.Match[str], now: datetime) -> Time:
    """From six to six."""
    evening = _midnight(now) - timedelta(hours=6)
    return Time((evening, evening + timedelta(hours=12)))


def weekday(match: re.Match[str], now: datetime) -> Time:
    """The last Friday is before today, this one is of this week, any other may be today."""
    today = _midnight(now)
    back = (today.weekday() - WEEKDAY_STARTS.index(match["weekday"][:3].lower())) % 7
    which = _which(match)
    if which == "this":
        back = today.weekday() - WEEKDAY_STARTS.index(match["weekday"][:3].lower())
    elif which == "next":
        back -= 7
    elif which == "last":
        back = back or 7
    day = today - back * DAY
    return Time((day, day + DAY), exact=bool(which))


#: A question names its times early; what follows is pasted. Characters.
_LONGEST = 2000
#: A question that names more times than this singles none out; the first ones are taken.
_MOST = 8
#: So many characters before an expression are looked at.
_BEHIND = 48
# ASCII: a Chinese character beside a figure is no part of its word, and no odd letter an "s".
_FLAGS = re.IGNORECASE | re.ASCII

_YEAR = r"(?P<year>(?:19|20|21)\d\d)(?![\w%]|[-.,/]\d)"
_MONTH = rf"(?P<month>{MONTH})\b"
_DATE = r"(?P<day>[0-3]?\d)(?P<th>st|nd|rd|th)?(?![\w%]|[:.]\d)"
_LAST_DATE = r"(?P<last>[0-3]?\d)(?:st|nd|rd|th)?(?![\w%]|[:.]\d)"
# Not "sat" and "sun": they are words of their own.
_WEEKDAY = rf"(?P<weekday>{WEEKDAY}|mon|tues?|wed|thu(?:rs?)?|fri)\b"
_SEASON = rf"(?P<season>{any_of(SEASONS)})\b"
_UNIT = r"(?P<unit>minute|hour|day|week|month|year|decade)s?\b"
_NUMBER = (
    rf"(?P<number>(?:a )?couple(?: of)?|(?:a )?few|several|{'|'.join(NUMBERS)}"
    r"|\d{1,4})"
)
_WHICH = r"(?P<which>this (?:past|coming)|last|this|next|past|previous|coming)"
_ROLLS = r"(?:(?:the|this)\s+)?(?P<which>past|last|previous|next|coming)"
# "In 2000 words", "in 2000 km": a number that counts something is no year.
_COUNTS = (
    r"(?!\s+(?-i:(?!(?:was|is|has|does|his|this|as|us|its|always)\b)[a-z]+s\b))(?!\s*(?:%|(?:km|m"
    r"|cm|mm|kg|g|mg|ml|l|kb|mb|gb|usd|eur|dollar|people|men|women|feet|percent|rpm|kcal)\b))"
)

_ENGLISH: tuple[tuple[str, Reader], ...] = (
    (
        rf"(?<![\w$€£.,/:-]){_DATE}\s+(?:of\s+)?{_MONTH}\.?(?:,?\s+(?:of\s+)?{_YEAR})?",
        named_month,
    ),
    (
        rf"\b{_MONTH}\.?[\s-]+(?:the\s+)?{_DATE}(?:\s*(?:-|–|to|through|and)\s*{_LAST_DATE})?"
        rf"(?:(?:,\s*|\s+|-){_YEAR})?",
        named_month,
    ),
    (rf"\b{_MONTH}\.?,?\s+(?:of\s+)?{_YEAR}", named_month),
    (rf"(?<!the )\b{_WHICH}\s+{_MONTH}", named_month),
    (rf"\b{_MONTH}", named_month),
    (
        rf"(?P<the>\bthe\s+)?(?:\b{_WHICH}\s+)?\b{_SEASON}(?:\s+(?:of\s+)?{_YEAR})?(?!\s+of\b)",
        season,
    ),
    (
        r"\b(?P<days>(?:(?:the\s+)?day\s+before\s+)?yesterday|(?:(?:the\s+)?day\s+after\s+)?tomorrow"
        r"|today|tonight|this\s+(?:morning|afternoon|evening))\b",
        relative_day,
    ),
    (r"\blast\s+night\b", last_night),
    (
        rf"\b{_NUMBER}\s+{_UNIT}\s+(?:ago\b|back\b(?!\s+(?:to|and|in)\b)|(?P<hence>from\s+now\b))",
        ago,
    ),
    (
        r"\b(?:the\s+)?(?P<unit>week|weekend|month|year)\s+(?P<twice>before\s+last)\b",
        calendar,
    ),
    (rf"\b{_ROLLS}\s+{_NUMBER}\s+{_UNIT}(?!\s+of\b)", rolling),
    (
        r"\b(?:(?:the|this)\s+(?:past|last(?!\s+day))|past)\s+(?P<unit>day|week|month|year)\b"
        r"(?!\s+of\b)",
        rolling,
    ),
    (rf"\b{_WHICH}\s+(?P<unit>week(?:end)?|month|year)\b(?!\s+of\b)", calendar),
    (rf"\b(?:{_WHICH}|on)\s+{_WEEKDAY}(?!\s+(?:\w+ings|and\s+\w+day)\b)", weekday),
    (rf"(?<![\w$€£#.,/:-]){_YEAR}{_COUNTS}", bare_year),
)
_ANYWHERE: tuple[tuple[str, Reader], ...] = (
    (
        r"(?<![\w./-])(?P<year>\d{4})(?P<by>[-/])(?P<m>\d\d?)(?P=by)(?P<d>\d\d?)"
        r"(?:[T ]\d\d?:\d\d[\d:.]*Z?)?(?![\w/-])",
        figures,
    ),
    (r"(?<![\w./-])(?P<one>\d\d?)/(?P<two>\d\d?)/(?P<year>\d{4})(?![\w/-])", slashes),
)
_CHINESE: tuple[tuple[str, Reader], ...] = (
    (
        r"(?P<number>\d{1,3}|[一二两三四五六七八九十几])(?P<unit>天|周|个?星期|个月|年)[之以]?前",
        ago,
    ),
    (r"(?<!\d)(?P<year>\d{4})年(?:(?P<m>\d\d?)月(?:(?P<d>\d\d?)[日号])?)?", figures),
    (r"(?<!\d)(?P<m>\d\d?)月(?:(?P<d>\d\d?)[日号])?", figures),
    (r"(?P<days>(?<!以)前天(?!气)|昨[天日]|今[天日](?!气)|明天|后天)", relative_day),
    (r"(?P<which>[上下本这])个?(?P<unit>周|星期|月)", calendar),
    (r"(?P<which>[去今明])(?P<unit>年)", calendar),
)


def _compile(
    rules: tuple[tuple[str, Reader], ...],
) -> tuple[tuple[re.Pattern[str], Reader], ...]:
    return tuple((regex(pattern, _FLAGS), read) for pattern, read in rules)


_RULES = _compile(_ANYWHERE + _ENGLISH)
#: A text of ASCII without any of these names no time: most questions are settled by it.
_HINT = regex(
    rf"\d|\b(?:{'|'.join(MONTH_STARTS)}|{any_of(SEASONS)}|{'|'.join(WEEKDAY_STARTS)}|yesterday|today"
    r"|tonight|tomorrow|day|this|last|past|previous|next|coming|ago|back|now)",
    _FLAGS,
)
_RULES_BEYOND_ASCII = _compile(_ANYWHERE + _CHINESE + _ENGLISH)

_PART = regex(
    r"\b(?:(?P<early>early|(?:the\s+)?(?:beginning|start|first\s+(?:week|days|half))\s+of)"
    r"|(?P<mid>mid|(?:the\s+)?middle\s+of)|(?:late|(?:the\s+)?(?:end|last\s+(?:week|days)"
    r"|second\s+half)\s+of))[\s-]+(?:in\s+)?(?:the\s+)?\Z",
    _FLAGS,
)
_MOVED = regex(
    rf"\b{_NUMBER}\s+(?P<unit>day|week|month|year)s?\s+(?P<side>before|after)\s+\Z", _FLAGS
)
_BOUND = regex(
    r"\b(?P<word>since|after|before|prior\s+to|until|till|up\s+to|by|as\s+of|around|in|during"
    r"|throughout|over|within)\s+(?:the\s+)?\Z",
    _FLAGS,
)
_OPENING = regex(r"\b(?P<word>between|from|in|during)\s+(?:the\s+)?\Z", _FLAGS)
_LINK = regex(
    r"\s*(?:\b(?P<and>and)\b|(?P<to>\b(?:to|until|till|through)\b|[-–]))\s*(?:the\s+)?",
    _FLAGS,
)


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """A time a question names: from `start` up to but not including `end`."""

    start: datetime
    end: datetime
    #: The words that name it.
    phrase: str
    #: False where the words are vague: "a few weeks ago", "around", "early".
    exact: bool


def spans(text: str, now: datetime) -> tuple[TimeSpan, ...]:
    """The times the text names, in its order. An open end is `FIRST` or `LAST`. Never raises."""
    if not FIRST.year + 10 <= now.year < LAST.year - 10:
        return ()
    now = now.replace(tzinfo=UTC) if now.tzinfo is None else now.astimezone(UTC)
    text = text[:_LONGEST]
    kept: dict[Interval, TimeSpan] = {}
    for time in _join_ranges(text, _times(text, now)):
        start, end = time.interval
        if FIRST <= start < end <= LAST:
            phrase = text[time.begin : time.end]
            kept.setdefault(time.interval, TimeSpan(start, end, phrase, time.exact))
    return tuple(kept.values())[:_MOST]


def _times(text: str, now: datetime) -> list[Time]:
    """Every expression in the order of the text; where two overlap, the one of the earlier rule."""
    if text.isascii() and not _HINT.search(text):
        return []
    taken: set[int] = set()
    found: list[Time] = []
    for pattern, read in _RULES if text.isascii() else _RULES_BEYOND_ASCII:
        for match in pattern.finditer(text):
            if match.start() in taken or match.end() - 1 in taken:
                continue
            time = _possible(read, match, now)
            if time is not None:
                taken.update(range(match.start(), match.end()))
                found.append(replace(time, begin=match.start(), end=match.end()))
    return sorted(found, key=lambda time: time.begin)


def _possible(read: Reader, match: re.Match[str], now: datetime) -> Time | None:
    try:
        return read(match, now)
    except (ValueError, OverflowError):  # The 30th of February; 9,999 years ago.
        return None


def _join_ranges(text: str, found: list[Time]) -> Iterator[Time]:
    """The expressions with the words that qualify them; two that name one range as one."""
    place = 0
    while place < len(found):
        both = _range(text, found[place], found[place + 1]) if place + 1 < len(found) else None
        time = both or _qualify(text, found[place])
        place += 2 if both else 1
        if time is not None:
            yield time


def _range(text: str, one: Time, two: Time) -> Time | None:
    """As in "between March and May 2023", "from 2019 to 2021", "May 8 to June 2"."""
    link = _LINK.fullmatch(text, one.end, two.begin)
    opening = _OPENING.search(text, max(0, one.begin - _BEHIND), one.begin)
    word = opening["word"].lower() if opening else ""
    if not link or (link["and"] and word != "between") or (not word and (one.weak or two.weak)):
        return None
    begin = opening.start() if opening else one.begin
    try:
        interval = _from_to(one, two)
    except (ValueError, OverflowError):
        return None
    return Time(interval, one.exact and two.exact, begin=begin, end=two.end)


def _from_to(one: Time, two: Time) -> Interval:
    """From the start of one to the end of the other; the year that one says holds for both."""
    start, end = one.interval[0], two.interval[1]
    if one.in_year and not two.in_year:
        start = one.in_year(two.interval[0].year)[0]
    elif two.in_year and not one.in_year:
        end = two.in_year(start.year)[1]
        end = end if end > start else two.in_year(start.year + 1)[1]
    if start >= end and one.in_year:
        start = one.in_year(start.year - 1)[0]
    return start, end


def _qualify(text: str, time: Time) -> Time | None:
    """The expression as the words before it narrow, move or open it; None if it is none at all."""
    part = _PART.search(text, max(0, time.begin - _BEHIND), time.begin)
    if part:
        time = _narrow(time, part)
    behind = max(0, time.begin - _BEHIND)
    moved = _MOVED.search(text, behind, time.begin)
    if moved:
        return _move(time, moved)
    bound = _BOUND.search(text, behind, time.begin)
    if bound:
        return _open_side(time, bound)
    return None if time.weak else time


def _narrow(time: Time, match: re.Match[str]) -> Time:
    """A third of it: "early March", "the end of 2023"."""
    start, end = time.interval
    third = (end - start) // 3 // DAY * DAY
    if not third:  # "Late yesterday" is yesterday.
        return time
    if match["early"]:
        end = start + third
    elif match["mid"]:
        start, end = start + third, end - third
    else:
        start = end - third
    return Time((start, end), exact=False, begin=match.start(), end=time.end)


def _move(time: Time, match: re.Match[str]) -> Time | None:
    """As in "two days after May 8", "the week before last Friday"."""
    low, high = number(match["number"])
    start, end = time.interval
    unit = match["unit"].lower()
    try:
        if match["side"].lower() == "before":
            interval = (
                ahead(start, unit, -high),
                ahead(start, unit, 1 - low),
            )
        else:
            interval = ahead(end, unit, low - 1), ahead(end, unit, high)
    except (ValueError, OverflowError):
        return None
    return Time(interval, low == high, begin=match.start(), end=time.end)


def _open_side(time: Time, match: re.Match[str]) -> Time:
    """As in "since March" or "by June"; "in" and the like only make a time of a weak one."""
    word = match["word"].lower().split()[0]
    start, end = time.interval
    opened: dict[str, Interval] = {
        "since": (start, LAST),
        "after": (end, LAST),
        **dict.fromkeys(("before", "prior"), (FIRST, start)),
        **dict.fromkeys(("until", "till", "up", "by", "as"), (FIRST, end)),
    }
    if word in opened:
        return replace(time, interval=opened[word], begin=match.start())
    if word == "around":
        slack = max(DAY, (end - start) // 2)
        around = max(FIRST, start - slack), min(LAST, end + slack)
        return Time(around, exact=False, begin=match.start(), end=time.end)
    return time


# ----------------------------------------------------------------------
# By when a plan is to be done: the day and the time that a sentence about the future names.
#
# The reader of dates takes "March 3" for the last one, as questions mean it. Who plans means the
# next one: a date without a year that is over is moved on by a year, "Friday" is the coming one,
# and "in two weeks" is counted from when it was said. A sentence about the past has no due time.
# ----------------------------------------------------------------------

_FAR = 2_199  # The reader's open end; what has it names no day.
_PAST = regex(
    r"\b(?:was|were|did|went|had|got|came|moved|started|bought|met|visited|finished|ended|left|last"
    r"|ago|yesterday|since|born|used to|been|said|told|mentioned)\b"
    r"|\bafter \w+ \w+ed\b|\b(?:i|we)(?:'ve| have)?(?: already| just| finally)? (?!need|feed"
    r"|indeed)\w+ed\b(?! (?:for|to)\b)"
)
_AHEAD = regex(
    r"\b(?:will|going to|gonna|is|are|am|leaves?|starts?|ends?|runs|lands?|until|till|by|before|due"
    r"|deadline|plan|planning|planned|scheduled|booked|have to|has to|need to|must|want to|hope"
    r"|flying|moving|leaving|starting|expires?|appointment|not|can't|fly|flies|moves?|gets?|wants?"
    r"|comes?|takes?|picks?|says|delivery|back|begins?|opens?|closes?|arrives?|leave|travel|go|have"
    r"|has|present|return|returns)\b|'(?:ll|s|m|re)\b"
)
#: Told in the past, and yet ahead.
_SHIFTED = regex(
    r"\b(?:moved|pushed|postponed|rescheduled|shifted|delayed|booked|brought forward)\b[^.;]{0,60}?"
    r" (?:to|until|till|for) "
)
_SAYS_YEAR = regex(r"\b(?:19|20|21)\d\d\b")
_SAYS_MONTH = regex(rf"\b(?:{any_of(*MONTH_STARTS)})", re.IGNORECASE)
_COMING_DAY = regex(
    rf"\b(?:on|by|until|till|before|this|for|due) (?:this )?(?P<day>{WEEKDAY})\b"
    r"(?! (?:night|morning)s)"
)
#: A day of a month that is not named: the next one.
_ORDINAL = regex(
    r"(?:\b(?:on|by|until|till|before|from|to)|day) (?:the )?(?P<day>[1-9]|[12]\d|3[01])(?:st|nd"
    r"|rd|th)\b(?! (?:of|floor|grade|century|time|anniversary|birthday|place|street|year"
    rf"|{any_of(*MONTH_STARTS)}))"
)
_IN = regex(
    rf"\b(?:in|within) (?P<number>\d{{1,3}}|a couple of|an?|{any_of(CARDINALS)})"
    r" (?P<unit>day|week|month|year)s?\b(?!'? time\w)"
)
_END_OF = regex(r"\b(?:end of (?:the|this) |this )(?P<unit>week|month|year)\b")
_CLOCK = regex(
    r"(?:\bat |(?<=\w), )(?P<hour>[01]?\d|2[0-3])(?:[:.](?P<minute>[0-5]\d))?"
    r" ?(?P<half>[ap])?\.?(?:m\b)?(?![\d%])"
)
#: "March 3" said on March 10 is that of this year.
_JUST_OVER = timedelta(days=60)
_NOON = 12


@dataclass(frozen=True, slots=True)
class Date:
    """A time as a text names it, and the half-open interval that it stands for."""

    text: str
    start: int
    end: int
    from_: datetime
    to: datetime
    exact: bool


@dataclass(frozen=True, slots=True)
class PlanDates:
    """The day that a sentence is about, and when what it plans is over; None for neither."""

    on: date | None = None
    due: datetime | None = None


def plan_dates(low: str, dates: Sequence[Date], at: datetime) -> PlanDates:
    """The times of one sentence (in lower case), said `at`; `dates` are those that stand in it."""
    if _SHIFTED.search(low) or (_AHEAD.search(low) and not _PAST.search(low)):
        try:
            interval = _coming(low, dates, at)
        except (ValueError, OverflowError):  # "In 900 years", said near the end of all calendars.
            interval = None
        if interval is not None:
            return _until(*interval, low)
    exact = [each for each in dates if each.exact and each.to - each.from_ <= DAY]
    return PlanDates(on=exact[0].from_.date()) if len(dates) == len(exact) == 1 else PlanDates()


def _coming(
    low: str, dates: Sequence[Date], at: datetime
) -> tuple[datetime | None, datetime] | None:
    """The one time ahead that a sentence names: where it begins, if it is one day, and its end."""
    weekday = _COMING_DAY.search(low)
    if (ordinal := _ORDINAL.search(low)) and all(_is_vague(each) for each in dates):
        begin = _next(_midnight(at), int(ordinal["day"]))
        return begin, begin + DAY
    if len(dates) == 1 and not weekday:
        return _next_of(dates[0], at)
    midnight = _midnight(at)
    if weekday:
        days = (WEEKDAY_STARTS.index(weekday["day"][:3]) - at.weekday()) % 7 or 7
        begin = midnight + days * DAY
        return begin, begin + DAY
    if found := _IN.search(low):
        count = 2 if found["number"] == "a couple of" else number(found["number"])[0]
        return None, ahead(midnight, found["unit"], count) + DAY
    if (found := _END_OF.search(low)) and not dates:
        return None, _end_of(midnight, found["unit"])
    return None


def _is_vague(named: Date) -> bool:
    """Whether it is a month or more, or a weekday that says of a day only which one it is."""
    return named.to - named.from_ > DAY or _SAYS_MONTH.search(named.text) is None


def _next(midnight: datetime, day: int) -> datetime:
    """The next day of a month that has this number."""
    first = midnight.replace(day=1)
    if day < midnight.day:
        first = ahead(first, "month", 1)
    while day > monthrange(first.year, first.month)[1]:
        first = ahead(first, "month", 1)
    return first.replace(day=day)


def _next_of(named: Date, at: datetime) -> tuple[datetime | None, datetime] | None:
    begin, end = named.from_, named.to
    if at - _JUST_OVER < end <= at:
        return None
    if end <= at and _SAYS_MONTH.search(named.text) and not _SAYS_YEAR.search(named.text):
        years = at.year - end.year
        years += end.replace(year=at.year, day=min(end.day, 28)) <= at
        begin, end = ahead(begin, "month", 12 * years), ahead(end, "month", 12 * years)
    if end <= at or end.year > _FAR:
        return None
    is_day = end - begin <= DAY
    return begin if is_day else None, end


def _until(begin: datetime | None, end: datetime, low: str) -> PlanDates:
    clock = _CLOCK.search(low) if begin is not None else None
    if begin is None or clock is None:
        return PlanDates(on=None if begin is None else begin.date(), due=end)
    hour = int(clock["hour"])
    if clock["half"] == "p" and hour < _NOON:
        hour += _NOON
    due = begin.replace(hour=hour, minute=int(clock["minute"] or 0), second=0, microsecond=0)
    return PlanDates(on=begin.date(), due=due)


def _end_of(midnight: datetime, unit: str) -> datetime:
    if unit == "week":
        return midnight + (7 - midnight.weekday()) * DAY
    first = midnight.replace(day=1) if unit == "month" else midnight.replace(month=1, day=1)
    return ahead(first, unit, 1)
