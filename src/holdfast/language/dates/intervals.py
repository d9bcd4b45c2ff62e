"""The times a question names, as half-open UTC intervals relative to now.

Two steps. First the expressions that stand for a time of their own are found ("March",
"8 May 2023", "two weeks ago"); what they stand for is in expressions.py. Then the words before each
are looked at: they narrow it ("early"), open it to one side ("since", "before"), move it ("the day
after") or join two ("between ... and ..."). A bare month or year is weak: without such a word it
may be a verb, a name or a number.

English, ISO dates in any language, and common Chinese ones. This module knows nothing about
documents.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from holdfast.language.dates import expressions
from holdfast.language.dates.expressions import DAY, FIRST, LAST, Interval, Time

#: A question names its times early; what follows is pasted. Characters.
_LONGEST = 2000
#: A question that names more times than this singles none out; the first ones are taken.
_MOST = 8
#: So many characters before an expression are looked at.
_BEHIND = 48
# ASCII: a Chinese character beside a figure is no part of its word, and no odd letter an "s".
_FLAGS = re.IGNORECASE | re.ASCII

_YEAR = r"(?P<year>(?:19|20|21)\d\d)(?![\w%]|[-.,/]\d)"
_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b"
)
_DATE = r"(?P<day>[0-3]?\d)(?P<th>st|nd|rd|th)?(?![\w%]|[:.]\d)"
_LAST_DATE = r"(?P<last>[0-3]?\d)(?:st|nd|rd|th)?(?![\w%]|[:.]\d)"
# Not "sat" and "sun": they are words of their own.
_WEEKDAY = (
    r"(?P<weekday>(?:mon|tues|wednes|thurs|fri|satur|sun)day|mon|tues?|wed|thu(?:rs?)?|fri)\b"
)
_SEASON = r"(?P<season>spring|summer|autumn|fall|winter)\b"
_UNIT = r"(?P<unit>minute|hour|day|week|month|year|decade)s?\b"
_NUMBER = (
    rf"(?P<number>(?:a )?couple(?: of)?|(?:a )?few|several|{'|'.join(expressions.NUMBERS)}"
    r"|\d{1,4})"
)
_WHICH = r"(?P<which>this (?:past|coming)|last|this|next|past|previous|coming)"
_ROLLS = r"(?:(?:the|this)\s+)?(?P<which>past|last|previous|next|coming)"
# "In 2000 words", "in 2000 km": a number that counts something is no year.
_COUNTS = (
    r"(?!\s+(?-i:(?!(?:was|is|has|does|his|this|as|us|its|always)\b)[a-z]+s\b))"
    r"(?!\s*(?:%|(?:km|m|cm|mm|kg|g|mg|ml|l|kb|mb|gb|usd|eur|dollar|people|men|women|feet"
    r"|percent|rpm|kcal)\b))"
)

_ENGLISH: tuple[tuple[str, expressions.Reader], ...] = (
    (
        rf"(?<![\w$€£.,/:-]){_DATE}\s+(?:of\s+)?{_MONTH}\.?(?:,?\s+(?:of\s+)?{_YEAR})?",
        expressions.named,
    ),
    (
        rf"\b{_MONTH}\.?[\s-]+(?:the\s+)?{_DATE}(?:\s*(?:-|–|to|through|and)\s*{_LAST_DATE})?"
        rf"(?:(?:,\s*|\s+|-){_YEAR})?",
        expressions.named,
    ),
    (rf"\b{_MONTH}\.?,?\s+(?:of\s+)?{_YEAR}", expressions.named),
    (rf"(?<!the )\b{_WHICH}\s+{_MONTH}", expressions.named),
    (rf"\b{_MONTH}", expressions.named),
    (
        rf"(?P<the>\bthe\s+)?(?:\b{_WHICH}\s+)?\b{_SEASON}(?:\s+(?:of\s+)?{_YEAR})?(?!\s+of\b)",
        expressions.season,
    ),
    (
        r"\b(?P<days>(?:(?:the\s+)?day\s+before\s+)?yesterday|(?:(?:the\s+)?day\s+after\s+)?tomorrow"
        r"|today|tonight|this\s+(?:morning|afternoon|evening))\b",
        expressions.relative_day,
    ),
    (r"\blast\s+night\b", expressions.last_night),
    (
        rf"\b{_NUMBER}\s+{_UNIT}\s+(?:ago\b|back\b(?!\s+(?:to|and|in)\b)|(?P<hence>from\s+now\b))",
        expressions.ago,
    ),
    (
        r"\b(?:the\s+)?(?P<unit>week|weekend|month|year)\s+(?P<twice>before\s+last)\b",
        expressions.calendar,
    ),
    (rf"\b{_ROLLS}\s+{_NUMBER}\s+{_UNIT}(?!\s+of\b)", expressions.rolling),
    (
        r"\b(?:(?:the|this)\s+(?:past|last(?!\s+day))|past)\s+(?P<unit>day|week|month|year)\b"
        r"(?!\s+of\b)",
        expressions.rolling,
    ),
    (rf"\b{_WHICH}\s+(?P<unit>week(?:end)?|month|year)\b(?!\s+of\b)", expressions.calendar),
    (rf"\b(?:{_WHICH}|on)\s+{_WEEKDAY}(?!\s+(?:\w+ings|and\s+\w+day)\b)", expressions.weekday),
    (rf"(?<![\w$€£#.,/:-]){_YEAR}{_COUNTS}", expressions.bare_year),
)
_ANYWHERE: tuple[tuple[str, expressions.Reader], ...] = (
    (
        r"(?<![\w./-])(?P<year>\d{4})(?P<by>[-/])(?P<m>\d\d?)(?P=by)(?P<d>\d\d?)"
        r"(?:[T ]\d\d?:\d\d[\d:.]*Z?)?(?![\w/-])",
        expressions.figures,
    ),
    (r"(?<![\w./-])(?P<one>\d\d?)/(?P<two>\d\d?)/(?P<year>\d{4})(?![\w/-])", expressions.slashes),
)
_CHINESE: tuple[tuple[str, expressions.Reader], ...] = (
    (
        r"(?P<number>\d{1,3}|[一二两三四五六七八九十几])(?P<unit>天|周|个?星期|个月|年)[之以]?前",
        expressions.ago,
    ),
    (r"(?<!\d)(?P<year>\d{4})年(?:(?P<m>\d\d?)月(?:(?P<d>\d\d?)[日号])?)?", expressions.figures),
    (r"(?<!\d)(?P<m>\d\d?)月(?:(?P<d>\d\d?)[日号])?", expressions.figures),
    (r"(?P<days>(?<!以)前天(?!气)|昨[天日]|今[天日](?!气)|明天|后天)", expressions.relative_day),
    (r"(?P<which>[上下本这])个?(?P<unit>周|星期|月)", expressions.calendar),
    (r"(?P<which>[去今明])(?P<unit>年)", expressions.calendar),
)


def _compiled(
    rules: tuple[tuple[str, expressions.Reader], ...],
) -> tuple[tuple[re.Pattern[str], expressions.Reader], ...]:
    return tuple((re.compile(pattern, _FLAGS), read) for pattern, read in rules)


_RULES = _compiled(_ANYWHERE + _ENGLISH)
_RULES_BEYOND_ASCII = _compiled(_ANYWHERE + _CHINESE + _ENGLISH)

_PART = re.compile(
    r"\b(?:(?P<early>early|(?:the\s+)?(?:beginning|start|first\s+(?:week|days|half))\s+of)"
    r"|(?P<mid>mid|(?:the\s+)?middle\s+of)"
    r"|(?:late|(?:the\s+)?(?:end|last\s+(?:week|days)|second\s+half)\s+of))"
    r"[\s-]+(?:in\s+)?(?:the\s+)?\Z",
    _FLAGS,
)
_MOVED = re.compile(
    rf"\b{_NUMBER}\s+(?P<unit>day|week|month|year)s?\s+(?P<side>before|after)\s+\Z", _FLAGS
)
_BOUND = re.compile(
    r"\b(?P<word>since|after|before|prior\s+to|until|till|up\s+to|by|as\s+of|around|in|during"
    r"|throughout|over|within)\s+(?:the\s+)?\Z",
    _FLAGS,
)
_OPENING = re.compile(r"\b(?P<word>between|from|in|during)\s+(?:the\s+)?\Z", _FLAGS)
_LINK = re.compile(
    r"\s*(?:\b(?P<and>and)\b|(?P<to>\b(?:to|until|till|through)\b|[-–]))\s*(?:the\s+)?",
    _FLAGS,
)


@dataclass(frozen=True, slots=True)
class Span:
    """A time a question names: from `start` up to but not including `end`."""

    start: datetime
    end: datetime
    #: The words that name it.
    phrase: str
    #: False where the words are vague: "a few weeks ago", "around", "early".
    exact: bool


def spans(text: str, now: datetime) -> tuple[Span, ...]:
    """The times the text names, in its order. An open end is `FIRST` or `LAST`. Never raises."""
    if not FIRST.year + 10 <= now.year < LAST.year - 10:
        return ()
    now = now.replace(tzinfo=UTC) if now.tzinfo is None else now.astimezone(UTC)
    text = text[:_LONGEST]
    kept: dict[Interval, Span] = {}
    for time in _joined(text, _times(text, now)):
        start, end = time.interval
        if FIRST <= start < end <= LAST:
            phrase = text[time.begin : time.end]
            kept.setdefault(time.interval, Span(start, end, phrase, time.exact))
    return tuple(kept.values())[:_MOST]


def _times(text: str, now: datetime) -> list[Time]:
    """Every expression in the order of the text; where two overlap, the one of the earlier rule."""
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


def _possible(read: expressions.Reader, match: re.Match[str], now: datetime) -> Time | None:
    try:
        return read(match, now)
    except (ValueError, OverflowError):  # The 30th of February; 9,999 years ago.
        return None


def _joined(text: str, found: list[Time]) -> Iterator[Time]:
    """The expressions with the words that qualify them; two that name one range as one."""
    place = 0
    while place < len(found):
        both = _range(text, found[place], found[place + 1]) if place + 1 < len(found) else None
        time = both or _qualified(text, found[place])
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


def _qualified(text: str, time: Time) -> Time | None:
    """The expression as the words before it narrow, move or open it; None if it is none at all."""
    part = _PART.search(text, max(0, time.begin - _BEHIND), time.begin)
    if part:
        time = _narrowed(time, part)
    behind = max(0, time.begin - _BEHIND)
    moved = _MOVED.search(text, behind, time.begin)
    if moved:
        return _moved(time, moved)
    bound = _BOUND.search(text, behind, time.begin)
    if bound:
        return _bound(time, bound)
    return None if time.weak else time


def _narrowed(time: Time, match: re.Match[str]) -> Time:
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


def _moved(time: Time, match: re.Match[str]) -> Time | None:
    """As in "two days after May 8", "the week before last Friday"."""
    low, high = expressions.number(match["number"])
    start, end = time.interval
    unit = match["unit"].lower()
    try:
        if match["side"].lower() == "before":
            interval = (
                expressions.ahead(start, unit, -high),
                expressions.ahead(start, unit, 1 - low),
            )
        else:
            interval = expressions.ahead(end, unit, low - 1), expressions.ahead(end, unit, high)
    except (ValueError, OverflowError):
        return None
    return Time(interval, low == high, begin=match.start(), end=time.end)


def _bound(time: Time, match: re.Match[str]) -> Time:
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
