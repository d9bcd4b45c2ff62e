"""Figures that a question asks for, and what a text says of them: counts, prices, dates, ...

"How many guests are coming?" asks for a count of guests. "I invited 40 guests" states one, "it grew
to 46" another, and tells that something changed. Who asks how things stand wants that.
English only, by the small words; in other languages nothing is asked for and nothing changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

from holdfast.language.lexicon import CARDINALS, MONTH, MONTHS, SHORT_MONTHS, WEEKDAYS, word_set
from holdfast.language.questions.classes import classify
from holdfast.language.terms import terms

#: Whether what was said later may take the place of what was said before: "told" means only if it
#: says that something changed.
Updates = Literal["any", "told", "none"]
#: The kind of a figure and what it counts.
Key = tuple[str, str]
#: What a text states of what was asked for: the values by their keys.
Stated = dict[Key, set[str]]

#: A figure stands for what was asked for when a word of the question is this near, and has changed
#: when a word of change is.
_NEAR_WORDS = 8
#: Without a figure, a word of change this near to a word of the question tells of the matter.
_MATTER_WORDS = 10
#: "Increased to just 7": the figure is this near after "to".
_TO_WORDS = 3
#: The thing that is counted is among so many words after its number, and after "how many".
_UNIT_WORDS, _ASKED_WORDS = 3, 4
#: Letters at the beginning of a word that its term keeps.
_START = 3
#: No more of a text is read: who changes a figure says so at once.
_READ = 1_000

_NUMBERS = {word: str(number) for number, word in enumerate(CARDINALS.split(), 1)} | {
    "twenty": "20"
}
_CHANGED = """
now anymore instead new latest current currently recently cut grew grown growth growing rose risen
moved moving delayed improved dropped upgrade upgraded upgrading update updated updating change
changed changing increased increasing decreased decreasing reduced reducing raised raising revised
revising rescheduled rescheduling postponed postponing lowered lowering extended extending expanded
expanding adjusted adjusting switched switching shortened shortening
"""
#: Words that are more than words: figures, and what tells a change.
_KIND_OF = {
    **dict.fromkeys(_NUMBERS, "count"),
    **dict.fromkeys(WEEKDAYS.split(), "weekday"),
    **dict.fromkeys(_CHANGED.split(), "change"),
}
_IS_MONTH = word_set(MONTHS, SHORT_MONTHS)
# Of a text in small letters. Figures begin with a sign, so that the words between are passed over
# at once; a number right after a month is a date.
_FIGURE = re.compile(
    r"[\d$€£](?:"
    r"(?P<money>(?<=\D)\s?\d[\d,.]*(?:k|m)?\b|(?<=\d)[\d,.]{0,20}\s(?=(?:dollars|euros|pounds)\b))"
    r"|(?P<percent>(?<=\d)[\d,.]{0,20}\s?(?:%|percent\b))"
    r"|(?P<clock>(?<=\d)\d?(?::\d\d)?\s?[ap]\.?m\b)"
    r"|(?P<date>(?<=\d)\d?(?:/\d{1,2}(?:/\d{2,4})?"
    rf"|(?:st|nd|rd|th)?\s(?:of\s)?(?:{MONTH})\b))"
    r"|(?P<count>(?<=\d)[\d,]*(?:\.\d+)?))"
)
_WORD = re.compile(r"[a-z][a-z'’]*")
_WORDS = ("word", "change")
_TIMES = frozenset(terms("second minute hour day week month year"))
#: Units that are mostly written short.
_SHORT = {
    "km": "kilometer", "cm": "centimeter", "mm": "millimeter", "kg": "kilogram", "lb": "pound",
    "lbs": "pound", "hr": "hour", "hrs": "hour", "min": "minute", "sec": "second",
}  # fmt: skip
_UNITS = {terms(short)[0]: terms(unit)[0] for short, unit in _SHORT.items()}
#: What is measured, by the unit.
_MEASURES = {
    **dict.fromkeys((*_TIMES, "ms"), "time"),
    **dict.fromkeys(("kb", "mb", "gb", "tb"), "data"),
    **dict.fromkeys(("kbps", "mbps", "gbps"), "speed"),
    **dict.fromkeys(terms("millimeter centimeter meter metre kilometer mile feet inch"), "length"),
    **dict.fromkeys(terms("gram kilogram pound ounce"), "weight"),
    **dict.fromkeys(terms("degree celsius fahrenheit"), "heat"),
}
_DATED = frozenset(("date", "clock", "weekday"))

# Which kinds of figures a question asks for, the first that fits.
_KINDS: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = (
    (re.compile(r"\bhow (?:many|often|far|old|tall|big|large)\b"), ("count",)),
    (re.compile(r"\bhow long\b"), ("time",)),
    (re.compile(r"\bhow much\b"), ("money", "count")),
    (re.compile(r"\bwhat time\b"), ("clock",)),
)
# ... and what else it may name.
_NAMED: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = (
    (
        re.compile(r"^when\b|^(?:what|which) (?:day|date)\b|\b(?:deadline|date)\b"),
        tuple(sorted(_DATED)),
    ),
    (
        re.compile(r"\b(?:budget|cost|price|salary|rent|fee|amount|fund|savings|money)s?\b"),
        ("money",),
    ),
    (re.compile(r"\b(?:percent\w*|rate|accuracy|score)\b|%"), ("percent",)),
    (
        re.compile(
            r"\b(?:size|speed|limit|setting|threshold|capacity|length|weight|height|distance"
            r"|duration|latency|temperature|(?:response|load|run|lead|wait\w*) time)s?\b"
        ),
        ("measure", "percent"),
    ),
)
_COUNTED = re.compile(rf"\bhow (?:many|often|much)((?:\s+[\w'’-]+){{1,{_ASKED_WORDS}}})")
#: A word with a capital letter that does not begin the question.
_NAME = re.compile(r"(?<=\s)[A-Z]\w+")
_ASKS = re.compile(r"(?:how (?:many|much|long|often|far|old|tall|big|large)|what|when|which)\b")
# What is over, what was said at one time, and what is asked of several things or asks for advice.
_OVER = re.compile(r"\b(?:did|was|were|had)\b")
_SAID = re.compile(
    r"\b(?:did i (?:say|mention|tell)|i (?:said|mentioned|told)|had i|at the start|by the time"
    r"|in the beginning|first)\b"
)
_SEVERAL = re.compile(
    r"\b(?:between|across|different|combin\w+|summar\w+|recommend|suggest|some|ways|best|ever)\b"
)
#: Words that say nothing about the matter.
_SMALL = frozenset(terms("many much long often time day date hour week month year total number"))
#: What a number counts that a thing grew or fell to: the thing itself.
_ANYTHING = "*"


@dataclass(frozen=True, slots=True)
class AskedQuantities:
    """Figures that a question asks for."""

    kinds: frozenset[str]
    #: The words of the question, and those among which the thing is that is to be counted.
    terms: frozenset[str]
    units: frozenset[str]
    #: Those of them that are written as names.
    names: frozenset[str] = frozenset()
    updates: Updates = "any"


@dataclass(frozen=True, slots=True)
class StatedQuantities:
    """What a text says of what was asked for."""

    stated: Stated
    #: Those of the stated values to which something changed: "from 40 to 46".
    became: Stated
    #: The words of the question that it holds, and the days that it names.
    terms: frozenset[str]
    days: frozenset[str]
    #: Whether it says of anything, of the figure, or of the matter that it is not as it was.
    tells_change: bool
    of_figure: bool
    of_matter: bool

    @property
    def is_exact(self) -> bool:
        """Whether it states a figure; a day of the week may be any."""
        return any(kind != "weekday" for kind, _ in self.stated)

    def updates(self, old: StatedQuantities) -> bool:
        """Whether both state the same thing, and this one something else of it."""
        return any(
            _differ(values, before) or _differ(self.became.get(key, set()), before)
            for key, values in self.stated.items()
            if (before := _values(old.stated, key))
        )


class _Token(NamedTuple):
    #: "word", "change", or the kind of the figure.
    kind: str
    #: The figure as it is compared, or the word as it is searched.
    value: str
    #: The word as it is written.
    said: str = ""


@lru_cache(maxsize=256)
def asked_quantities(text: str) -> AskedQuantities | None:
    """The figures that a question asks for; None for any other question."""
    words = " ".join(text[:_READ].lower().replace("’", "'").split())
    if not _ASKS.match(words) or classify(text).name in ("multi-hop", "complex"):
        return None
    kinds = next((kinds for pattern, kinds in _KINDS if pattern.search(words)), ())
    for pattern, more in () if kinds else _NAMED:
        kinds += more if pattern.search(words) else ()
    if not kinds:
        return None
    matter = frozenset(terms(words)) - _SMALL
    counted = _COUNTED.search(words)
    units = frozenset(terms(counted[1])) if counted else matter
    names = frozenset(terms(" ".join(_NAME.findall(text))))
    return AskedQuantities(frozenset(kinds), matter, units, names, _updates(text, words))


def _updates(text: str, words: str) -> Updates:
    """What is over changes only if somebody says so; what was said at one time does not."""
    present = _OVER.sub("is", words)
    if _SEVERAL.search(words) or classify(present).state == "history":
        return "none"
    if present == words or classify(text).state == "now":
        return "any"
    return "none" if _SAID.search(words) else "told"


def stated_quantities(text: str, asked: AskedQuantities) -> StatedQuantities:
    """What a text says of what was asked for."""
    tokens = _tokens(text[:_READ], _starts(asked))
    near = [at for at, each in enumerate(tokens) if each.value in asked.terms]
    changes = [at for at, each in enumerate(tokens) if each.kind == "change"]
    stated, became = dict[Key, set[str]](), dict[Key, set[str]]()
    of_figure = False
    for at, each in enumerate(tokens):
        if each.kind in _WORDS:
            continue
        is_new = _is_after_to(at, tokens, changes)
        is_near = is_new or _is_near(at, near, _NEAR_WORDS)
        for key, value in _figures(at, tokens, asked, is_new=is_new, is_near=is_near):
            stated.setdefault(key, set()).add(value)
            if is_new:
                became.setdefault(key, set()).add(value)
            of_figure = of_figure or _is_near(at, changes, _NEAR_WORDS)
    return StatedQuantities(
        stated,
        became,
        terms=frozenset(tokens[at].value for at in near),
        days=frozenset(each.value for each in tokens if each.kind == "date"),
        tells_change=bool(changes),
        of_figure=of_figure,
        of_matter=any(_is_near(at, near, _MATTER_WORDS) for at in changes),
    )


def _figures(
    at: int, tokens: Sequence[_Token], asked: AskedQuantities, *, is_new: bool, is_near: bool
) -> Iterator[tuple[Key, str]]:
    """What a figure stands for, as far as it was asked for, and its value."""
    each = tokens[at]
    if each.kind != "count":
        if each.kind in asked.kinds and is_near:
            yield (each.kind, ""), each.value
        return
    units = [_UNITS.get(word.value, word.value) for word in tokens[at + 1 : at + 1 + _UNIT_WORDS]]
    if "measure" in asked.kinds and is_near and units and units[0] in _MEASURES:
        yield ("measure", _MEASURES[units[0]]), each.value + units[0]
    keys = list(_counted(units, asked, is_near=is_near))
    if is_new and not keys and "count" in asked.kinds:
        # "It grew to 46": the unit goes without saying, unless it is a time.
        keys = [] if units[:1] and units[0] in _TIMES - asked.units else [("count", _ANYTHING)]
    for key in keys:
        yield key, each.value


def _counted(units: Sequence[str], asked: AskedQuantities, *, is_near: bool) -> Iterator[Key]:
    """What a number counts, as far as it was asked for."""
    for unit in units:
        if "count" in asked.kinds and unit in asked.units:
            yield "count", unit
        if "time" in asked.kinds and unit in _TIMES and is_near:
            yield "time", ""


def _is_after_to(at: int, tokens: Sequence[_Token], changes: Sequence[int]) -> bool:
    """Whether something changed to this figure: "extended to", "moved from Monday to"."""
    start = at - _NEAR_WORDS
    return any(
        tokens[to].said == "to" and any(start <= change < to for change in changes)
        for to in range(max(at - _TO_WORDS, 0), at)
    )


def _is_near(at: int, others: Sequence[int], most: int) -> bool:
    return any(abs(at - other) <= most for other in others)


def _values(stated: Stated, key: Key) -> set[str]:
    """What is stated under a key; what counts anything counts the same thing as any other."""
    kind, unit = key
    if kind != "count":
        return stated.get(key, set())
    return {
        value
        for (other, counted), values in stated.items()
        if other == kind and (_ANYTHING in (unit, counted) or unit == counted)
        for value in values
    }


def _differ(new: set[str], old: set[str]) -> bool:
    return bool(new) and new.isdisjoint(old)


@lru_cache(maxsize=256)
def _starts(asked: AskedQuantities) -> frozenset[str]:
    """How the words begin that matter: no other is worth the time to find its term."""
    wanted = asked.terms | asked.units | _TIMES
    if "measure" in asked.kinds or "count" in asked.kinds:
        wanted |= _MEASURES.keys() | _UNITS.keys()
    return frozenset(each[:_START] for each in wanted)


def _tokens(text: str, starts: frozenset[str]) -> list[_Token]:
    small = text.lower().replace("no longer", "anymore").replace("any more", "anymore")
    tokens: list[_Token] = []
    end = 0
    for match in _FIGURE.finditer(small):
        tokens += _words(small[end : match.start()], starts)
        figure = _figure(str(match.lastgroup), match[0])
        if tokens and _is_day(figure, tokens[-1], small[max(match.start() - 2, 0) : match.start()]):
            figure = _Token("date", tokens.pop().said[:3] + figure.value)
        tokens.append(figure)
        end = match.end()
    return tokens + _words(small[end:], starts)


def _words(text: str, starts: frozenset[str]) -> list[_Token]:
    return [
        _known(word) if word[:_START] in starts else _other(word) for word in _WORD.findall(text)
    ]


def _is_day(figure: _Token, before: _Token, between: str) -> bool:
    """Whether a number is that of a day: right after the name of a month, as in "Sept. 3"."""
    if figure.kind != "count" or len(figure.value) > 2 or before.said not in _IS_MONTH:
        return False
    return between[-1:].isspace() and (between[0].isalpha() or between[0] == ".")


@lru_cache(maxsize=50_000)
def _known(word: str) -> _Token:
    other = _other(word)
    return other if other.value else _Token(other.kind, next(iter(terms(word)), ""), word)


@lru_cache(maxsize=50_000)
def _other(word: str) -> _Token:
    kind = _KIND_OF.get(word, "word")
    return _Token(kind, "" if kind in _WORDS else _NUMBERS.get(word, word), word)


def _figure(kind: str, said: str) -> _Token:
    """A figure as it is compared: 3 PM is 3pm, 1,200 is 1200, the 3rd of March is mar3."""
    if kind == "date" and (month := _WORD.findall(said)):
        return _Token(kind, month[-1][:3] + said[:2].strip("snrt "))
    return _Token(kind, re.sub(r"[\s,]", "", said).strip("."))
