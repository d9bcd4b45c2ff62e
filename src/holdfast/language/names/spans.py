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

from holdfast.language.names import words as vocabulary


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

_WORD = re.compile(
    r"(?:[A-Z]\.){2,}|(?:Dr|Mr|Mrs|Ms|St|Prof|Jr|Sr)\.(?=\s+[A-Z])"
    r"|[^\W_]+(?:(?:['’](?!s\b)|[&:+./-])[^\W_]+)*"
)
# What may stand between two words of one name.
_GAP = re.compile(r" |-| & |\. (?=[A-Z])")
_JOINTS = "of the de la del von van der den di da du le el al y &"
_CONNECTORS = frozenset(_JOINTS.split())
_MOST_CONNECTORS = 2
#: So many characters before a word tell whether it opens a sentence.
_BEHIND = 8
_SENTENCE_END = re.compile(
    r"(?:^|[.!?…\n]|[.!?]['\"”’)]|(?:^|\s)[-–—*•:]|—|\()\s{0,8}+(?:['\"“‘(]\s{0,8}+)?\Z"
)
_NUMBER = re.compile(r"\d{1,3}|[IVX]{1,4}")
_QUOTED = re.compile(r"[\"“]\s?([^\"“”\n]{2,60}?)\s?[\"”]")
# How a name goes on at the start of a sentence: with a verb, another name, a possessive.
_LIKE_A_NAME = re.compile(
    r"\s?['’]s\s+(?!(?:a|an|the|my|your|our|so|not|been|got|just|gonna|too|very|more|how|what|why"
    r"|like|all|no|still|\w+ing|\w+ly)\b)[\w-]{3,}"
    r"|\s+(?:was|is|has|had|will|would|also|then|never|later|first|who|\w{2,}ed|became|began|won"
    r"|wrote|made|took|said|says|told|went|got|plays|lives|works|wants|loves|likes|called|gave"
    r"|came|left)\b|\s+and (?:I\b|[A-Z][a-z])|\s+\(|,\s+(?:[A-Z]|(?:my|our|who)\b)"
)
#: What a name begins with. A longer name than this is none.
_FIRST = re.compile(r"\w+|\W")
_LONGEST_NAME = 200
_POSSESSIVE = re.compile(r"\s?['’]s?\Z")
_LEADING = re.compile(
    r"(?:(?:the|a|an|my|your|his|her|its|our|their|this|that)\s+|[\"“”'‘’(\[,.;:/-]+\s*)+",
    re.IGNORECASE,
)
_TRAILING = re.compile(
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


def between(placed: Sequence[P], start: int, end: int) -> Sequence[P]:
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
        titles = [found.span(1) for found in _QUOTED.finditer(text) if _titled(found[1])]
        found = list(titles)
        for run in _capital_runs(text, words(text)):
            kept = self._without_opening(text, run)
            if not kept or all(vocabulary.is_no_name(word.text) for word in kept):
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
        if not run or all(vocabulary.is_no_name(word.text) for word in run):
            return None
        return tidy(text, run[0].start, span[1])

    def _without_opening(self, text: str, run: list[Word]) -> list[Word]:
        while run and self._is_opening(text, run):
            run = run[1:]
        while run and vocabulary.bare(run[0].text) in vocabulary.NEVER_FIRST:
            run = run[1:]
        while run and vocabulary.is_date(run[-1].text):
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
        low = vocabulary.bare(first.text)
        if first.text in self._known:
            return False
        if low in vocabulary.OPENERS or vocabulary.is_no_name(first.text):
            return first.opens or len(run) == 1 or low in vocabulary.NEVER_FIRST
        if not first.opens or self._inside[first.text]:
            return False
        return low in self._small or vocabulary.SUFFIX.search(first.text) is not None


class Known:
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
    return any(c.isupper() for c in word) and vocabulary.bare(word) != "i"


def _is_shouted(word: str) -> bool:
    return len(word) > 1 and any(c.isupper() for c in word[1:])


def _titled(quotation: str) -> bool:
    """Whether a quotation is written like a title: capitals on all words that can bear one."""
    if quotation[-1] in ".,!?" or not quotation[0].isalnum():
        return False
    parts = quotation.split()
    small = [part for part in parts[1:] if part[0].islower()]
    return (
        _is_capital(parts[0])
        and len(parts) <= 8
        and all(part in vocabulary.SMALL_IN_TITLES for part in small)
        and not (len(parts) == 1 and parts[0].lower() in vocabulary.OPENERS)
        and not all(map(vocabulary.is_no_name, parts))
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
