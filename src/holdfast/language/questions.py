"""What a question asks for: how much it needs, whose words, the latest or the first, which figures.

The class says how many memories an answer needs, and with it the limit of a caller who names none:

    simple       one fact, asked for in one short clause: "Where does Ann work?"
    medium       one fact or request in more words, and all that fits nowhere else
    complex      a reason, a judgement, a development, or several things asked at once
    multi-hop    two memories must be joined: a comparison, the time between two events, something
                 known only through something else ("the friend who gave me the guitar")
    aggregation  every mention counts: numbers of things, totals, lists, summaries, orders

The rules look at the small words of English; they know no topic. A text in another language is
`medium` and not `understood`, so that an answer can say what it did without.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

from holdfast.language.lexicon import (
    CARDINALS,
    MONTH,
    MONTHS,
    NEAREST_KIN,
    SHORT_MONTHS,
    WEEKDAYS,
    any_of,
    word_set,
)
from holdfast.language.regex import regex
from holdfast.language.terms import fold, terms

# ----------------------------------------------------------------------
# Whose words a question asks for: those of people, the assistant's, or both.
#
# Most questions are about what people said, and a person says it better than the answers do. But
# "what did you recommend?" asks for the assistant's own words, and a summary needs both sides.
# English; in other languages people's words are preferred.
# ----------------------------------------------------------------------

Whose = Literal["people", "machine", "both"]

_SAY = (
    "recommend|suggest|advise|propose|explain|describe|outline|mention|say|tell|give|offer|provide"
    "|list|show|cover|lay out|walk me through|help|guide|instruct|answer|write|draft|come up with"
    "|share|point out"
)
_SAID = (
    "recommended|suggested|advised|proposed|explained|described|outlined|mentioned|said|told|gave"
    "|given|offered|provided|listed|showed|shown|covered|laid out|walked|helped|guided|instructed"
    "|answered|wrote|written|drafted|came up with|shared|pointed out"
)
_MACHINE = regex(
    rf"\b(?:did|had) you (?:\w+ly )?(?:{_SAY}|{_SAID})\b"
    rf"|\bhave you (?:\w+ly )?(?:{_SAID})\b"
    rf"|\byou(?:['\u2019](?:ve|d)| have| had)? (?:\w+ly )?(?:{_SAID})\b"
    r"|\byour (?:\w+ )?(?:recommendation|suggestion|advice|explanation|answer|proposal|response"
    r"|reply|tip|guidance)s?\b",
    re.IGNORECASE,
)
_BOTH = regex(r"\b(?:summar(?:y|ies|i[sz]e[sd]?|i[sz]ing)|overview|recap)\b", re.IGNORECASE)


@lru_cache(maxsize=512)
def whose(text: str) -> Whose:
    """Whose words are asked for."""
    if _BOTH.search(text):
        return "both"
    return "machine" if _MACHINE.search(text) else "people"


# ----------------------------------------------------------------------
# Which parts of recall do not understand a question's language: the answer says so.
#
# Keywords work in every script (terms.py). Word forms, times, query classes, whose words are
# asked for, tastes and task profiles are English (times and rules also know some Chinese), and so
# is the shipped embedding model. A question counts as English unless it shows that it is not: by
# letters beyond ASCII without any common English word, or by common words of its own language.
# ----------------------------------------------------------------------

NOTE = (
    "language: the question does not look English; keywords are matched as they are written, and"
    " times, query classes and task profiles may not be understood"
)

_LETTERS = regex(r"[^\W\d_]+")
#: Words that tell German, Spanish, French, Italian, Portuguese and Dutch from English.
_COMMON = frozenset(
    """
    wo wer wie wann und der ist nicht ich habe mein meine wohnt hat
    donde cuando quien como que mi mis vive tiene es el los las una
    ou qui quand est elle mon ma mes habite les des une je
    dove quando chi che mio mia abita sono il gli della
    onde quem meu minha mora tem nao uma os
    waar wanneer het een mijn woont heeft ik niet
    """.split()  # noqa: SIM905 (rows by language)
)
_ENOUGH = 2


@lru_cache(maxsize=512)
def english_only(text: str) -> str | None:
    """What to say of a question in another language; None for an English one."""
    if not text.isascii() and not classify(text).understood and _foreign_letters(text):
        return NOTE
    words = _LETTERS.findall(fold(text))
    return NOTE if sum(word in _COMMON for word in words) >= _ENOUGH else None


def _foreign_letters(text: str) -> bool:
    return any(each.isalpha() and not each.isascii() for each in text)


Name = Literal["simple", "medium", "complex", "multi-hop", "aggregation"]
State = Literal["now", "history"]

#: Memories per class, for a caller who does not say how many.
USUAL_LIMIT = 10
LIMITS: dict[Name, int] = {
    "simple": 5,
    "medium": 5,
    "complex": 8,
    "multi-hop": 12,
    "aggregation": 25,
}
#: A question of one clause up to this many words is simple.
_SHORT_WORDS = 10
#: No question needs more text than this to be told apart; a pasted document is not read to its end.
_READ = 2_000


@dataclass(frozen=True, slots=True)
class QueryClass:
    """What kind of question it is."""

    name: Name = "medium"
    #: "now": the latest statement counts. "history": the earlier ones count, too.
    state: State | None = None
    #: Asks which standing instructions there are.
    asks_rules: bool = False
    #: Whether the text reads like English at all.
    understood: bool = True

    @property
    def limit(self) -> int:
        """How many memories to give to a caller who does not say."""
        return LIMITS[self.name]


@lru_cache(maxsize=1024)
def classify(text: str) -> QueryClass:
    """The class of a question; the neutral one where the text is not English."""
    words = " ".join(text[:_READ].lower().replace("’", "'").split())
    if not _ENGLISH.search(words):
        return QueryClass(understood=False)
    return QueryClass(_name(words), _state(words), _RULES.search(words) is not None)


def _name(words: str) -> Name:
    if _BETWEEN.search(words):
        return "multi-hop"
    if _EVERY.search(words):
        return "aggregation"
    if _JOINS.search(words):
        return "multi-hop"
    if words.count("?") > 1 or _REASONS.search(words):
        return "complex"
    short = words.count(" ") < _SHORT_WORDS
    return "simple" if short and _ASKS.match(words) else "medium"


def _state(words: str) -> State | None:
    """What tells a development is history even beside "now"; "when did" is not, beside "last"."""
    if _DEVELOPMENT.search(words):
        return "history"
    if _NOW.search(words):
        return "now"
    return "history" if _ONCE.search(words) else None


def _any(*patterns: str) -> re.Pattern[str]:
    # One boundary for all: what cannot start a word is passed over at once.
    return regex(rf"\b(?:{'|'.join(patterns)})", re.ASCII)


# Words that English has and most of its neighbours do not ("was" is German, too).
_ENGLISH = _any(
    r"(?:the|what|what's|which|when|where|who|who's|whom|whose|why|how|how's|did|does|don't|didn't"
    r"|doesn't|is|are|was(?! (?:ist|sind|war|hat|habe|haben|soll|macht)\b)|were|have|my|your|his"
    r"|our|their|i'm|i've|you|she|they|and|with|about|that|this|these|those|should|would|could|please"
    r"|tell|list|give|show|remind)\b"
)
_ASKS = regex(
    r"(?:and |so |but |hey |now,? )?(?:what|which|when|where|who|whom|whose|how|is|are|was|were|am"
    r"|do|does|did|has|have|had|can|will)\b"
)

# The time or the amount between two things.
_BETWEEN = _any(
    r"how (?:many|much|long)\b[^?]{0,200}\b(?:between|passed|elapsed|apart)\b",
    r"how (?:many (?:days|weeks|months|years|hours)|long|soon)\b[^?]{0,200}"
    r"\b(?:after|before|from|until|since)\b",
    r"how (?:many|much) (?:more|fewer|less|longer|older|younger|higher|lower)\b",
)
_EVERY = _any(
    r"how (?:many|often)\b",
    r"how much\b[^?]{0,200}\b(?:total|altogether|overall|so far|combined)\b",
    r"(?:in|the|my|a) total\b|altogether\b|average\b|sum of\b|number of times\b",
    r"^(?:(?:please|can you|could you) )?(?:list|name|enumerate|count|outline)\b",
    r"(?:summari[sz]e|summary|recap|overview|timeline|rundown)\b",
    r"(?:what|which) (?:are|were) all\b|all (?:of )?(?:the|my|our|his|her|their|these|those)\b",
    r"(?:every|each|everything|everyone)\b",
    r"(?:what|which|right|correct) (?:order|sequence)\b|in order\b(?! to\b)|chronolog",
    r"(?:the )?(?:whole|entire|full) (?:story|history)\b|history of\b",
    r"(?:across|throughout) (?:all|our|my|the|these|those)\b",
)
_JOINS = _any(
    r"between\b[^?]{0,200}\band\b|in common\b|both\b|compar(?:e|ed|ison|ing)\b",
    r"differ(?:ent|ence|ences|s)?\b|before or after\b|after or before\b",
    r"(?:older|younger|earlier|later|bigger|smaller|cheaper|faster|longer|shorter|more|less|first"
    r"|last|better|worse),? [^?]{0,200}\bor\b|(?:more|less|\w+er) than\b",
    r"(?:the|a|an) (?!one\b|time\b)\w+ (?:who|whom|whose|where|that (?:gave|told|sold|met))\b",
    rf"\w+'s (?:\w+'s|(?:{any_of(NEAREST_KIN, 'partner boss friend')})'?s?\b(?= \w))",
    r"(?:while|at the time|when) (?:i|we|he|she|they|it|(?:my|our|his|her|their|the) \w+|[a-z]+)"
    r" (?:was|were|had|met|moved|started|left|came|got|\w+ed)\b",
    r"how old (?:was|were)\b[^?]{0,200}\bwhen\b",
)
_REASONS = _any(
    r"why\b|how come\b|reasons?\b|made \w+ (?:change|decide|leave|stop|want)\b|caused?\b",
    r"explain\b|pros and cons\b|advantages?\b|trade-?offs?\b|based on\b|given\b",
    r"how (?:did|does|do|has|have|can|could|should|would|might|will|is|are|was|were)\b",
    r"^(?:should|would|could|might)\b(?! you)|if\b|(?:what|who|which|where|how) would\b",
    r"(?:(?<=, )|(?<=and )|(?<=or )|(?<=; ))(?:what|why|how|who|where|when|which|whether)\b",
)

_DEVELOPMENT = _any(
    r"how (?:has|have|had|did|does)\b[^?]{0,200}"
    r"\b(?:chang\w+|evolv\w+|develop(?:ed)?|progressed|shifted|improved)\b",
    r"over time\b|over the (?:years|months|weeks|past|last)\b",
    r"(?:what|where|how|^) ?did \w+ use to\b",
    r"(?<!is )(?<!are )(?<!am )(?<!was )used to\b(?! (?:it|the|a|my|this|that|\w+ing)\b)",
    r"original(?:ly)?\b|initial(?:ly)?\b|at first\b|in the beginning\b|former(?:ly)?\b",
    r"previous(?:ly)?\b|back then\b|history of\b|timeline\b|chronolog|earliest\b",
    r"(?:what|which|right|correct) (?:order|sequence)\b|in order\b(?! to\b)|came first\b",
    r"before or after\b",
)
_NOW = _any(
    r"(?<!from )(?<!until )(?<!till )(?<!by )now\b(?!,| on\b)",
    r"current(?:ly)?\b|still\b|latest\b|newest\b|most recent(?:ly)?\b|these days\b|nowadays\b",
    r"at the moment\b|at present\b|presently\b|any ?more\b|no longer\b|up[- ]to[- ]date\b",
    r"the last time\b|(?:did|have|has|was|were) \w+ last\b(?! \w+day| (?:week|month|year|night))",
    r"as of today\b|updated\b",
)
_ONCE = _any(
    r"when (?:did|was|were|had)\b|(?:what|which) (?:day|date|year|month|week) did\b",
    r"(?:did|was|were|had)\b[^?]{0,200}\bfirst\b(?! (?:name|aid|class|floor|of all)\b)",
    r"for the first\b",
    r"(?:did|was|were|had|used)\b[^?]{0,200}\bbefore (?!the end\b|tomorrow\b|next\b)",
    r"in the past\b|earlier\b|long ago\b",
)

_WRITES = r"(?:answer|reply|replies|respond|format|write|talk|speak|address|call)\w*\b"
_MUST = (
    r"(?:(?:should|must|shall) (?:i|you|we)|(?:am i|are you|are we) (?:supposed|meant|expected) to)"
)
_HEEDS = r"(?:do|avoid|follow|observe|obey|remember|forget|heed|keep in mind|bear in mind|respect)"
_RULES = _any(
    r"(?:instructions?|rules|guidelines) (?:did|do|have|had) i\b[^?]{0,200}"
    r"\b(?:give|given|gave|set|have|tell|told)\b[^?]{0,200}\byou\b",
    r"(?:rules|instructions|guidelines) (?:that )?i (?:gave|set|have given|have set|told)\b",
    r"(?:my|your) (?:current |standing |own )?(?:instructions|rules|guidelines)(?: for you)?\W*$",
    r"how (?:should|must|do|are|did) (?:you|i (?:want|ask|like|prefer|tell) you)\b[^?]{0,200}\b"
    + _WRITES,
    r"(?:did i|have i|i) (?:ask|asked|tell|told|instruct|instructed) you to\b",
    r"preferences (?:for|about|on) (?:how you|your)\b",
    # "What should I always do?", "what must you never do?": whoever has such rules speaks of them.
    rf"what {_MUST} (?:always|never|not|ever) {_HEEDS}\W*$",
    rf"what {_MUST} {_HEEDS} (?:always|every time|each time|in (?:the )?future|going forward"
    r"|from now on)\W*$",
    r"(?:which|what)(?: of (?:the|my))? (?:standing |current )?(?:rules|instructions|orders)"
    r" (?:apply|hold|are there|are (?:in (?:force|effect)|active)|do i have|have i(?: got)?)\b",
    r"(?:my|your) standing (?:orders|requests)\b",
)


def usual_limit(text: str, *, adaptive: bool) -> int:
    """How many hits a question gets when nobody says: ten, or more for a broad one.

    The seed gives a plain question five; a caller who can show ten would miss half of them.
    """
    return max(USUAL_LIMIT, classify(text).limit) if adaptive else USUAL_LIMIT


# ----------------------------------------------------------------------
# Figures that a question asks for, and what a text says of them: counts, prices, dates, ...
#
# "How many guests are coming?" asks for a count of guests. "I invited 40 guests" states one, "it
# grew to 46" another, and tells that something changed. Who asks how things stand wants that.
# English only, by the small words; in other languages nothing is asked for and nothing changes.
# ----------------------------------------------------------------------

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
_FIGURES_READ = 1_000

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
_FIGURE = regex(
    r"[\d$€£](?:(?P<money>(?<=\D)\s?\d[\d,.]*(?:k|m)?\b|(?<=\d)[\d,.]{0,20}\s(?=(?:dollars|euros"
    r"|pounds)\b))|(?P<percent>(?<=\d)[\d,.]{0,20}\s?(?:%|percent\b))"
    r"|(?P<clock>(?<=\d)\d?(?::\d\d)?\s?[ap]\.?m\b)|(?P<date>(?<=\d)\d?(?:/\d{1,2}(?:/\d{2,4})?"
    rf"|(?:st|nd|rd|th)?\s(?:of\s)?(?:{MONTH})\b))|(?P<count>(?<=\d)[\d,]*(?:\.\d+)?))"
)
_WORD = regex(r"[a-z][a-z'’]*")
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
    (regex(r"\bhow (?:many|often|far|old|tall|big|large)\b"), ("count",)),
    (regex(r"\bhow long\b"), ("time",)),
    (regex(r"\bhow much\b"), ("money", "count")),
    (regex(r"\bwhat time\b"), ("clock",)),
)
# ... and what else it may name.
_NAMED: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = (
    (
        regex(r"^when\b|^(?:what|which) (?:day|date)\b|\b(?:deadline|date)\b"),
        tuple(sorted(_DATED)),
    ),
    (
        regex(r"\b(?:budget|cost|price|salary|rent|fee|amount|fund|savings|money)s?\b"),
        ("money",),
    ),
    (regex(r"\b(?:percent\w*|rate|accuracy|score)\b|%"), ("percent",)),
    (
        regex(
            r"\b(?:size|speed|limit|setting|threshold|capacity|length|weight|height|distance"
            r"|duration|latency|temperature|(?:response|load|run|lead|wait\w*) time)s?\b"
        ),
        ("measure", "percent"),
    ),
)
_COUNTED = regex(rf"\bhow (?:many|often|much)((?:\s+[\w'’-]+){{1,{_ASKED_WORDS}}})")
#: A word with a capital letter that does not begin the question.
_NAME = regex(r"(?<=\s)[A-Z]\w+")
_ASKS_FIGURE = regex(r"(?:how (?:many|much|long|often|far|old|tall|big|large)|what|when|which)\b")
# What is over, what was said at one time, and what is asked of several things or asks for advice.
_OVER = regex(r"\b(?:did|was|were|had)\b")
_SAID_ONCE = regex(
    r"\b(?:did i (?:say|mention|tell)|i (?:said|mentioned|told)|had i|at the start|by the time"
    r"|in the beginning|first)\b"
)
_SEVERAL = regex(
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
    words = " ".join(text[:_FIGURES_READ].lower().replace("’", "'").split())
    if not _ASKS_FIGURE.match(words) or classify(text).name in ("multi-hop", "complex"):
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
    return "none" if _SAID_ONCE.search(words) else "told"


def stated_quantities(text: str, asked: AskedQuantities) -> StatedQuantities:
    """What a text says of what was asked for."""
    tokens = _tokens(text[:_FIGURES_READ], _starts(asked))
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
