"""The values in a clause that can be measured: numbers, times, days, dates, sums of money.

They are taken out of the text, so that two statements can be compared without them: what is left
of "my rent is 800 pounds" and "my rent is 875 pounds" is the same.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from holdfast.language.claims.words import (
    CURRENCIES,
    DAYS,
    LABELLED,
    MONTHS,
    NUMBERS,
    ORDINALS,
    RANKED,
)

_WORDS = "|".join(NUMBERS)
_ORDERED = "|".join(ORDINALS)
_NO_LABEL = "".join(rf"(?<!\b{each} )" for each in sorted(LABELLED))
_FIGURE = r"\d+(?:[.,]\d+)*(?:k\b)?"
_PART = r"(?:day|night|morning|evening|afternoon|noon|week|weekend|weekday|month|year|hour)"
_MEASURE = re.compile(
    rf"(?P<often>\bevery (?:(?:other|second|third|\d+|two|three|four|six) )?{_PART}s?\b"
    rf"|\b(?:once|twice|(?:\d+|{_WORDS}) times) (?:a|per|each|every) {_PART}\b)"
    rf"|(?P<date>\b\d{{4}}-\d\d-\d\d\b"
    rf"|\b{MONTHS} \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?\b"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{MONTHS}(?: \d{{4}})?\b)"
    rf"|(?P<time>\b\d{{1,2}}:\d\d(?: ?[ap]\.?m\b)?|\b\d{{1,2}} ?[ap]\.?m\b|\bnoon\b|\bmidnight\b"
    rf"|(?<=\bat )\d{{1,2}}(?![\w.:,-]*\d| \w))"
    rf"|(?P<money>[$€£¥] ?{_FIGURE}|(?<![\w-]){_FIGURE} ?(?:{CURRENCIES}\b|[€£¥]))"
    rf"|(?P<day>\b{DAYS}\b|\btomorrow\b)"
    rf"|(?P<year>(?<![\w-])(?:19|20)\d\d(?![\w-]))"
    rf"|(?P<number>{_NO_LABEL}(?<![\w-]){_FIGURE}(?:st|nd|rd|th|%)?(?![\w-])"
    rf"|(?<!the )(?<!that )(?<!this )(?<!no )(?<!another )\b(?:{_WORDS})\b(?!-)"
    rf"|(?<!my )(?<!our )\b(?:{_ORDERED})\b(?! (?!{RANKED}\b)\w))",
    re.I,
)
_SPLIT = re.compile(r"[\s,.;:!?-]+")
_DAY_NAMES = frozenset(
    f"{day}day{ending}"
    for day in ("mon", "tues", "wednes", "thurs", "fri", "satur", "sun")
    for ending in ("", "s")
)
_TELLING = frozenset(
    {*NUMBERS, *ORDINALS, *_DAY_NAMES, "noon", "midnight", "tomorrow", "every", "once", "twice"}
)
_DIGIT = re.compile(r"\d")
_DIGITS = re.compile(r"[^\w:%]")
_THOUSANDS = re.compile(r"(?<![\d.,])(\d+(?:\.\d+)?)k\b")


class Measure(NamedTuple):
    """One value: its kind and how it is compared."""

    kind: str
    value: str


def measured(text: str) -> tuple[tuple[Measure, ...], str]:
    """The values of a text in order, and the text without them."""
    if not _DIGIT.search(text) and _TELLING.isdisjoint(_SPLIT.split(text.lower())):
        return (), text  # Most texts: the pattern below takes its time.
    found = tuple(_measure(match) for match in _MEASURE.finditer(text))
    return found, _MEASURE.sub(" ", text)


def _measure(match: re.Match[str]) -> Measure:
    kind, value = str(match.lastgroup), match.group().lower()
    if kind == "number":
        value = NUMBERS.get(value) or ORDINALS.get(value) or re.sub("(?:st|nd|rd|th)$", "", value)
    if kind == "money":
        value = re.sub(rf" ?{CURRENCIES}$", "", value)
    if kind == "day":
        value = value.removesuffix("s")
    if (thousands := _THOUSANDS.search(value)) and kind in ("number", "money"):
        return Measure(kind, f"{float(thousands[1]) * 1000:.0f}")
    return Measure(kind, _DIGITS.sub("", value))
