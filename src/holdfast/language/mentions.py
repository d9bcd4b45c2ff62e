"""Names in a text, found by their capitals: where they begin and end, and what kind they are.

No list of names is used. A word with a capital inside a sentence is a name or part of one; at the
start of a sentence it is one only if something else says so: it stands inside a sentence
elsewhere, a speaker bears it, or it is followed as a name is. This module knows nothing about
spaCy; what it tidies may come from anywhere.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple, Protocol, TypeVar

from holdfast.language.lexicon import (
    GRANDPARENTS,
    KIN,
    MONTHS,
    SEASONS,
    SHORT_MONTHS,
    TITLES,
    WEEKDAYS,
    any_of,
    plural,
    word_set,
)
from holdfast.language.names import CALLED
from holdfast.language.regex import regex
from holdfast.language.sentences import STOPS
from holdfast.language.terms import STOP_WORDS, fold

# ----------------------------------------------------------------------
# Words that are no names although they may bear a capital: closed classes and ways to open.
#
# Nothing here names a person, a place or a thing.
# ----------------------------------------------------------------------

# Greetings, interjections, praise: how people begin a sentence when they talk.
_SPOKEN = """
absolutely ah aha alas alright amazing anytime anyway anyways aw awesome aww beautiful best bet
bravo btw bye cheers congrats congratulations cool correct dang darn dear definitely duh enjoy
exactly excellent excited fair fantastic fine fingers fyi gee gg gladly glad goodbye good gosh
gotcha great guess haha hahaha happy hello hey hi hmm hooray hope hopefully huh hurray hurrah
imo impressive incredible indeed interesting kudos later lately lol looking looks lovely lucky
man maybe meanwhile mhm morning nah neat nice nope oh ok okay omg oof oops ouch perfect perhaps
phew please possibly pretty probably really respect right sad same seems sorry sounds splendid
sure surely sweet talk tbh thank thanks tho though too totally tough true truly ugh uh um
unbelievable unfortunately welcome well whoa woah wonderful woo woohoo wow wowza ya yay yea yeah
yep yes yikes yo yum yummy yup
"""
# Function words beyond the stop words, and common verbs that ask or tell.
OPENERS = (
    frozenset(_SPOKEN.split())
    | word_set("""
according across actually add afterwards ago all allow almost along already although always among
amid and another anybody anyone anything apart appreciate around ask aside at away back basically
because become been before begin behind believe below beside besides between beyond both bring
build but buy by call can check choose clearly click come consider count couldn create despite did
do does don done due during each earlier early easy eat eight either eleven else especially even
eventually ever every everybody everyone everything except fast feel few fifteen fifth finally find
first five following for former four fourth from full fun get getting give given go going gonna got
gotta had half hang has hasn have haven having he hence her here hers herself high him himself his
hold how however hundred i if imagine in including indeed initially inside instead into it its
itself join just keep kind know large last late latter learn least leave less let like likewise
listen little live long look lots love made mainly make many may me mean mention might mine more
moreover most mostly move much must my myself near nearly need neither never nevertheless new next
nine no nobody none nor not note nothing notably now nowadays occasionally of off often old on once
one only onto open or original originally other others otherwise our ours out outside over overall
own part people perhaps pick play plenty plus prior put quite rather read recently regarding
relax remember remind run save say second see seven several shall share she short show similarly
simply since single six small so some somebody someday somehow someone something sometimes
somewhere soon speak speaking start stay still stop subsequently such suddenly surprisingly take
taking tell ten than that the their theirs them then there thereafter therefore these they thing
things think third this those thousand three through throughout thus till time to today together
tomorrow tonight took toward towards traditionally try turn turns twelve twenty two typically
ultimately under unless unlike until up upon us use used using usually various very via wait wanna
want was watch we went were what whatever when whenever where whereas wherever whether which
whichever while who whoever whole whom whose why will with within without won wonder work would
write yesterday yet you young your yours yourself zero
""")
    | STOP_WORDS
)
_DATE_WORDS = word_set(f"""
{MONTHS} {SHORT_MONTHS} {WEEKDAYS} {plural(WEEKDAYS)} mon tue tues wed thu thur thurs fri {SEASONS}
am pm bc ad bce ce
""")
# Written with capitals, but shorthand and not names.
_NO_NAMES = (
    _DATE_WORDS
    | word_set("""
aka asap ama atm brb btw diy dj eta faq fyi gps id idk imo irl lol mvp nsfw omg ok pc pdf pr qa rn
rip rsvp so tba tbd tbh tgif tldr tv url vip vs wfh wip ii iii er cv hr pt ps
""")
    | {"i"}
)
#: Never the first word of a name, wherever it stands: "Hey Jon", "Thanks Gina".
NEVER_FIRST = frozenset(_SPOKEN.split()) | {"i"}
#: Forms of verbs and adverbs that open a sentence far more often than names have them.
SUFFIX = regex(r"(?:.{3}ing|.{3}ly|n['’]t|['’](?:ll|ve|re|d|m|s))\Z")
SMALL_IN_TITLES = word_set(
    "a an the of and or in on at to for from with by de la le del du der die das und et y"
)


_CONTRACTED = regex(r"(?:n['’]t|['’](?:ll|ve|re|d|m|s))\Z", re.IGNORECASE)


def bare(word: str) -> str:
    """A word in small letters, without what is contracted to it: "it" of "It's"."""
    return _CONTRACTED.sub("", word).lower()


def is_date(word: str) -> bool:
    """Whether a word names a month, a weekday or a season."""
    return word.lower() in _DATE_WORDS


def is_no_name(word: str) -> bool:
    """Whether a word by itself is a date, a pronoun, a number or shorthand."""
    return bare(word) in _NO_NAMES or not any(c.isalpha() for c in word)


# ----------------------------------------------------------------------
# What kind of thing a name stands for, told by the words around it and by its own last word.
#
# Every place where a name stands in a group of turns may give evidence; the strongest wins, so
# that "Max" is a person everywhere once "my son Max" was said. A label that a model gave is weak
# evidence: it decides only where the text says nothing.
# ----------------------------------------------------------------------

#: What nothing better is known of.
ANY_TYPE = "concept"

_LAST_WORDS = {
    "place": "city town village lake river sea ocean bay beach island islands mountain mountains"
    " hill hills valley park street road avenue square bridge county province state region desert"
    " forest airport station castle museum cathedral church hotel restaurant pub cafe north south",
    "organization": "inc ltd llc corp gmbh ag company university college school institute academy"
    " labs laboratories bank foundation association society agency ministry department council"
    " committee commission government parliament party union hospital clinic studio studios records"
    " books press times group holdings airlines motors entertainment church army",
    "team": "fc afc united rockets team squad club band orchestra choir tigers lions eagles bears",
    "event": "olympics festival summit conference cup championship championships war battle games"
    " marathon party tournament election ceremony award awards tour expo fair day week wedding"
    " finals competition camp concert",
    "document": "report act treaty constitution magazine journal newspaper bible novel song album"
    " paper book manual policy agreement contract",
    "market": "index exchange stock stocks futures etf bond bonds",
}
_BY_LAST_WORD = {word: kind for kind, words in _LAST_WORDS.items() for word in words.split()}
_PLACES = ("Lake", "Mount", "Mt", "Cape", "Fort", "Port", "Gulf", "Isle")
_PEOPLE = (*plural(TITLES, ".").split(), "Coach", "Aunt", "Uncle", "Professor")
_BY_FIRST_WORD = dict.fromkeys(_PLACES, "place") | dict.fromkeys(_PEOPLE, "person")

_COMPANIONS = """
friend buddy neighbou?r colleague boss manager coach teacher doctor roommate classmate teammate
mentor dog cat puppy kitten pet
"""
_KIN = any_of(KIN, GRANDPARENTS, _COMPANIONS)
_BEFORE: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("person", regex(rf"\b(?:{_KIN})(?:,| named| called|'s name is)? \Z", re.I)),
    ("person", regex(rf"\b(?:{any_of(TITLES)}|Professor|President|Coach|Aunt|Uncle)\.? \Z")),
    (
        "person",
        regex(r"\b(?:hey|hi|hello|thanks|bye|dear|congrats|sorry|yeah|wow),? \Z", re.I),
    ),
    (
        "person",
        regex(r"\b(?:met|told|asked|married|marry|hugged|dating|married to|thank) \Z", re.I),
    ),
    (
        "document",
        regex(
            r"\b(?:book|novel|film|movie|song|album|article|paper|magazine|series|show)"
            r"(?: called| named| titled)? [\"“]?\Z",
            re.I,
        ),
    ),
    ("document", regex(r"\b(?:reading|read|watched|watching|wrote) [\"“]?\Z", re.I)),
    ("team", regex(r"\b(?:plays?|played|playing|scored|signed) for (?:the )?\Z", re.I)),
    (
        "organization",
        regex(
            r"\b(?:works?|worked|working|employed|job|intern(?:ed|ing)?|studies|studied|studying)"
            r" (?:at|for|by|with) (?:the )?\Z",
            re.I,
        ),
    ),
    (
        "place",
        regex(
            r"\b(?:(?:moved|moving|move|went|going|go|fl(?:y|ew|ying)|travell?(?:ed|ing)?|drove"
            r"|trip|trips|flight|back|been|tickets) (?:back )?to|(?:lives?|lived|living|born|stay"
            r"(?:ed|ing)?|grew up|based|located) (?:in|near)|visit(?:ed|ing)?|capital of) (?:the )?"
            r"\Z",
            re.I,
        ),
    ),
)
_AFTER_PERSON = regex(
    r"(?:,? you\b| (?:said|says|told|asked|loves|likes|thinks|wants|feels|wrote|and I\b|called"
    r"|emailed|texted|phoned|smiled|laughed|was born|and (?:he|she)\b)|, who\b"
    r"|['’]s (?:mother|father|mom|dad|wife|husband|birthday|house|family|brother|sister))"
)
# What is used, run and depended on is no person, whatever it is named after.
_TOOL_BEFORE = regex(
    r"\b(?:us(?:e|es|ed|ing)|install(?:s|ed|ing)?|deploy(?:s|ed|ing)?|configur(?:e|es|ed|ing)"
    r"|upgrad(?:e|es|ed|ing)|debugg?(?:s|ed|ing)?|migrat(?:e|es|ed|ing) (?:\w+ )?(?:from|to|off)"
    r"|switch(?:es|ed|ing)? (?:from|to)|(?:buil[dt]|running|runs?|based|written|hosted|deployed)"
    r" (?:on|with|in)|powered by|needs?|requires?|via|through|into|onto) (?:the )?\Z",
    re.I,
)
_TOOL_AFTER = regex(
    r"['’]?s? (?:(?:cluster|topic|queue|broker|consumer|server|database|api|sdk|cli|library"
    r"|framework|plugin|container|image|pipeline|instance|repo|script|app|driver|client|config|schema)s?\b"
    r"|v?\d|crash(?:es|ed)\b|is down\b|runs? on\b|returns?\b|times? out\b|throws?\b|scales\b"
    r"|keeps? (?:failing|crashing|falling|timing)\b)",
    re.I,
)
_IN = regex(r"\b(?:in|near|across|around|outside) (?:the )?\Z")

#: How much each kind of evidence counts; a model's label least.
#: By hand; tests/language/locomo_spans.jsonl holds them to account.
_STRONG, _SHAPE, _SOFT, _LABEL = 8, 3, 2, 1
#: Words of a person's full name.
_FULL_NAME = 3


class Kinds:
    """Evidence about names, gathered over a group of turns."""

    def __init__(self, people: Iterable[str] = ()) -> None:
        self._people = frozenset(people)
        self._votes: dict[str, Counter[str]] = defaultdict(Counter)
        #: Names of what is used as tools are.
        self._tools: set[str] = set()
        #: A first or last word -> the full names that have it.
        self._fuller: dict[str, set[str]] = defaultdict(set)

    def see(self, text: str, start: int, end: int, label: str | None = None) -> None:
        """Take note of a name where it stands; `label` is what a model takes it for."""
        name = text[start:end]
        votes = self._votes[name]
        before = text[max(0, start - 40) : start]
        if _TOOL_BEFORE.search(before) or _TOOL_AFTER.match(text, end):
            self._tools.add(name)
        if 1 < len(parts := name.split()) <= _FULL_NAME:
            self._fuller[parts[0]].add(name)
            self._fuller[parts[-1]].add(name)
        for kind, pattern in _BEFORE:
            if pattern.search(before):
                votes[kind] += _STRONG
                break
        else:
            if _IN.search(before):
                votes["place"] += _SOFT
            elif _AFTER_PERSON.match(text, end):
                votes["person"] += _SOFT
        if label:
            votes[label] += _LABEL

    def of(self, name: str) -> str:
        """The kind with the most evidence; of "Bob" and "Bob Smith" what is known of either."""
        kind = self._told(name)
        if kind is not None or name in self._tools:
            return kind or ANY_TYPE
        parts = name.split()
        others = self._fuller.get(name, ()) if len(parts) == 1 else (parts[0], parts[-1])
        spoken = [other for other in others if other in self._votes]
        if not spoken or len(parts) > _FULL_NAME:
            return ANY_TYPE
        is_given = fold(parts[0]) in CALLED
        is_person = is_given or any(self._told(other) == "person" for other in spoken)
        return "person" if is_person else ANY_TYPE

    def _told(self, name: str) -> str | None:
        """The kind that the places where a name stands tell; None where they tell nothing."""
        if name in self._people:
            return "person"
        if name not in self._votes:
            return None
        votes = Counter(self._votes[name])
        parts = name.split()
        if name in self._tools and votes["person"] < _STRONG:
            del votes["person"]
        if len(parts) > 1:
            shape = _BY_FIRST_WORD.get(parts[0]) or _BY_LAST_WORD.get(parts[-1].lower())
            votes[shape or ANY_TYPE] += _SHAPE if shape else 0
        best = votes.most_common(1)
        return best[0][0] if best and best[0][1] > 0 else None


@dataclass(frozen=True, slots=True)
class Turn:
    """What one speaker said at one time."""

    speaker: str
    role: str
    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Mention:
    """A name as it stands in a text."""

    text: str
    start: int
    end: int
    type: str


class Word(NamedTuple):
    """A word of a text; `opens` says that it begins a sentence."""

    text: str
    start: int
    end: int
    opens: bool


class Placed(Protocol):
    """Something that stands somewhere in a text."""

    @property
    def start(self) -> int:
        """Where it begins."""


P = TypeVar("P", bound=Placed)
Span = tuple[int, int]

_WORD = regex(
    r"(?:[A-Z]\.){2,}|(?:Dr|Mr|Mrs|Ms|St|Prof|Jr|Sr)\.(?=\s+[A-Z])"
    r"|[^\W_]+(?:(?:['’](?!s\b)|[&:+./-])[^\W_]+)*"
)
# What may stand between two words of one name.
_GAP = regex(r" |-| & |\. (?=[A-Z])")
_CONNECTORS = word_set("of the de la del von van der den di da du le el al y &")
_MOST_CONNECTORS = 2
#: So many characters before a word tell whether it opens a sentence.
_BEHIND = 8
_SENTENCE_END = regex(
    rf"(?:^|[{STOPS}…\n]|[{STOPS}]['\"”’)]|(?:^|\s)[-–—*•:]|—|\()\s{{0,8}}+(?:['\"“‘(]\s{{0,8}}+)?\Z"
)
_NUMBER = regex(r"\d{1,3}|[IVX]{1,4}")
_QUOTED = regex(r"[\"“]\s?([^\"“”\n]{2,60}?)\s?[\"”]")
# How a name goes on at the start of a sentence: with a verb, another name, a possessive.
_LIKE_A_NAME = regex(
    r"\s?['’]s\s+(?!(?:a|an|the|my|your|our|so|not|been|got|just|gonna|too|very|more|how|what|why"
    r"|like|all|no|still|\w+ing|\w+ly)\b)[\w-]{3,}"
    r"|\s+(?:was|is|has|had|will|would|also|then|never|later|first|who|\w{2,}ed|became|began|won"
    r"|wrote|made|took|said|says|told|went|got|plays|lives|works|wants|loves|likes|called|gave"
    r"|came|left)\b|\s+and (?:I\b|[A-Z][a-z])|\s+\(|,\s+(?:[A-Z]|(?:my|our|who)\b)"
)
#: What a name begins with. A longer name than this is none.
_FIRST = regex(r"\w+|\W")
_LONGEST_NAME = 200
_POSSESSIVE = regex(r"\s?['’]s?\Z")
_LEADING = regex(
    r"(?:(?:the|a|an|my|your|his|her|its|our|their|this|that)\s+|[\"“”'‘’(\[,.;:/-]+\s*)+",
    re.IGNORECASE,
)
_TRAILING = regex(
    r"(?:\s{0,8}+[\"“”'‘’)\],;:!?/-]{1,8}+|\s{1,8}+(?:and|of|the|or|in|for)|(?<=\w\w) ?\.){1,8}+\Z",
    re.IGNORECASE,
)
#: So many characters at the end of a name are looked at, again and again while something is cut.
_TAIL = 64


@lru_cache(maxsize=64)
def words(text: str) -> tuple[Word, ...]:
    """The words of a text, each with whether it opens a sentence."""
    return tuple(
        Word(found.group(), found.start(), found.end(), _opens(text, found.start()))
        for found in _WORD.finditer(text)
    )


def starting_between(placed: Sequence[P], start: int, end: int) -> Sequence[P]:
    """Those that begin there, of things in the order of their text."""
    first = bisect_left(placed, start, key=lambda each: each.start)
    return placed[first : bisect_left(placed, end, lo=first, key=lambda each: each.start)]


def tidy(text: str, start: int, end: int) -> Span | None:
    """A span without articles, quotation marks and possessive endings; None if nothing is left.

    A capital "The" stays inside a sentence or a quotation: there it belongs to a title.
    """
    lead = _LEADING.match(text, start, end)
    if lead and not _is_title(text, start, lead.end()):
        start = lead.end()
    while end > start:
        tail = max(start, end - _TAIL)
        cut = _POSSESSIVE.search(text, tail, end) or _TRAILING.search(text, tail, end)
        if cut is None or cut.start() == end:
            break
        end = cut.start()
    return (start, end) if end - start > 1 and any(c.isalnum() for c in text[start:end]) else None


def _is_title(text: str, start: int, end: int) -> bool:
    return text[start:end] in ("The ", "A ") and not _opens(text, start)


class Names:
    """What a group of texts shows about its words: which of them are names.

    Built once for all turns of a group: "Max" at the start of one turn is a name because another
    speaks of "my dog Max".
    """

    def __init__(self, texts: Iterable[str], known: Iterable[str] = ()) -> None:
        self._inside: Counter[str] = Counter()
        self._small: set[str] = set()
        for text in texts:
            for word in words(text):
                if not _is_capital(word.text):
                    self._small.add(word.text)
                elif not word.opens:
                    self._inside[word.text] += 1
        self._known = {part for name in known for part in name.split()}

    def runs(self, text: str) -> list[Span]:
        """The names of a text: titles in quotation marks, and runs of words with capitals."""
        titles = [found.span(1) for found in _QUOTED.finditer(text) if _is_title_quoted(found[1])]
        found = list(titles)
        for run in _capital_runs(text, words(text)):
            kept = self._without_opening(text, run)
            if not kept or all(is_no_name(word.text) for word in kept):
                continue
            if span := tidy(text, kept[0].start, kept[-1].end):
                found.append(span)
        return sorted(apart(found))

    def stands_inside(self, word: str) -> bool:
        """Whether a word bears its capital inside a sentence, or a speaker bears it."""
        return word in self._known or self._inside[word] > 0

    def trim(self, text: str, span: Span) -> Span | None:
        """A span found by other means, without the words that open its sentence."""
        found = words(text)
        first = bisect_left(found, span[0], key=lambda word: word.start)
        last = bisect_right(found, span[1], key=lambda word: word.end)
        run = list(found[first:last])
        while run and self._is_opener(run):
            run = run[1:]
        if not run or all(is_no_name(word.text) for word in run):
            return None
        return tidy(text, run[0].start, span[1])

    def _without_opening(self, text: str, run: list[Word]) -> list[Word]:
        while run and self._is_opening(text, run):
            run = run[1:]
        while run and bare(run[0].text) in NEVER_FIRST:
            run = run[1:]
        while run and is_date(run[-1].text):
            run = run[:-1]
        return run

    def _is_opening(self, text: str, run: list[Word]) -> bool:
        """Whether a run begins with a word that has its capital only from its place."""
        first = run[0]
        if self._is_opener(run):
            return True
        if not first.opens or self.stands_inside(first.text):
            return False
        if len(run) > 1 or _is_shouted(first.text):
            return False
        return _LIKE_A_NAME.match(text, first.end) is None

    def _is_opener(self, run: list[Word]) -> bool:
        """Whether the first word of a run is an ordinary one, whatever comes after it."""
        first = run[0]
        low = bare(first.text)
        if first.text in self._known:
            return False
        if low in OPENERS or is_no_name(first.text):
            return first.opens or len(run) == 1 or low in NEVER_FIRST
        if not first.opens or self._inside[first.text]:
            return False
        return low in self._small or SUFFIX.search(first.text) is not None


class KnownNames:
    """Names that are known, to be looked for in many texts: each is read once, however many."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(name for name in names if 0 < len(name) <= _LONGEST_NAME)
        #: By the first word of a name, how long such names are.
        lengths: defaultdict[str, set[int]] = defaultdict(set)
        for name in self._names:
            lengths[_FIRST.match(name)[0]].add(len(name))  # type: ignore[index]  # One character.
        self._lengths = {first: sorted(some, reverse=True) for first, some in lengths.items()}

    def spread(self, text: str, taken: Sequence[Span]) -> list[Span]:
        """Where they stand in a text, outside what is taken already; the longest first."""
        found = sorted(self._places(text), key=lambda span: (span[0] - span[1], span))
        return apart([*taken, *found])[len(taken) :]

    def _places(self, text: str) -> Iterator[Span]:
        """Where a name stands as whole words."""
        for word in _FIRST.finditer(text):
            start = word.start()
            before = text[start - 1 : start]
            if before.isalnum() or before in ("_", "@", "#"):
                continue
            for length in self._lengths.get(word[0], ()):
                end = start + length
                if text[start:end] in self._names and not _goes_on(text[end : end + 1]):
                    yield start, end


def apart(spans: Iterable[Span]) -> list[Span]:
    """The spans without those that share a character with one before them."""
    taken: set[int] = set()
    kept: list[Span] = []
    for start, end in spans:
        if taken.isdisjoint(range(start, end)):
            taken.update(range(start, end))
            kept.append((start, end))
    return kept


def _goes_on(after: str) -> bool:
    return after.isalnum() or after == "_"


def _opens(text: str, start: int) -> bool:
    return _SENTENCE_END.search(text, max(0, start - _BEHIND), start) is not None


def _is_capital(word: str) -> bool:
    return any(c.isupper() for c in word) and bare(word) != "i"


def _is_shouted(word: str) -> bool:
    return len(word) > 1 and any(c.isupper() for c in word[1:])


def _is_title_quoted(quotation: str) -> bool:
    """Whether a quotation is written like a title: capitals on all words that can bear one."""
    if quotation[-1] in ".,!?" or not quotation[0].isalnum():
        return False
    parts = quotation.split()
    small = [part for part in parts[1:] if part[0].islower()]
    return (
        _is_capital(parts[0])
        and len(parts) <= 8
        and all(part in SMALL_IN_TITLES for part in small)
        and not (len(parts) == 1 and parts[0].lower() in OPENERS)
        and not all(map(is_no_name, parts))
    )


def _capital_runs(text: str, found: Sequence[Word]) -> Iterator[list[Word]]:
    """Words with capitals that stand side by side, with the small words that join them."""
    run: list[Word] = []
    joints: list[Word] = []
    for word in found:
        last = (joints or run or [word])[-1]
        adjoins = run and _GAP.fullmatch(text, last.end, word.start)
        if adjoins and (_is_capital(word.text) or (not joints and _NUMBER.fullmatch(word.text))):
            run += [*joints, word]
            joints = []
        elif adjoins and word.text in _CONNECTORS and len(joints) < _MOST_CONNECTORS:
            joints.append(word)
        else:
            if run:
                yield run
            run, joints = [word] if _is_capital(word.text) else [], []
    if run:
        yield run
