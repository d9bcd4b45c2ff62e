"""Context: hits packed into a token budget, as many as possible, the best in most detail.

0. What says nothing or is far from relevant is left out (the gate). If all the rest fits, it is
   told in full.
1. Standing instructions have a reserve, then the guaranteed categories have one: at most
   `RESERVE_SHARE` of the budget and `RESERVE_TOKENS` each. What they leave is there for all.
2. Every hit is let in as a headline (excerpt.py), best first; before the ninth, the first
   `READABLE` become overviews. One that does not fit is skipped and listed, as is a copy.
3. What is left makes them longer, best first: the first `FULL_FIRST` in full if none takes more
   than `FULL_SHARE`, then headlines become overviews, then overviews become full. What is much
   less relevant than the best becomes longer only where that takes at most `BRIEF_SHARE`.

So short memories are all in full, and of long ones a budget holds many, of which the first can be
read. The formats differ in what a memory costs and in how it is written (safe.py, astra.py,
recall/deerflow.py), not in what is chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol, get_args

from holdfast.errors import InvalidInput
from holdfast.language.filler import says_nothing
from holdfast.language.questions import classify
from holdfast.language.terms import terms
from holdfast.language.tokens import count_tokens
from holdfast.recall.context.astra import AstraLayout
from holdfast.recall.context.excerpt import CHARACTERS_PER_TOKEN, excerpt
from holdfast.recall.context.safe import SafeLayout
from holdfast.recall.deerflow import DeerLayout, Talk
from holdfast.recall.stages.small import PLAIN
from holdfast.types import Dropped, Hit

# ----------------------------------------------------------------------
# Levels: how much of a memory is told. A headline, an overview, or all of it.
#
# A headline is one sentence, or the beginning of one; an overview the sentences that the question
# is about (excerpt.py). A short memory is always told in full: a headline would save nothing.
# ----------------------------------------------------------------------

Level = Literal["full", "overview", "headline"]
#: The most detailed first.
LEVELS: tuple[Level, ...] = get_args(Level)

#: By hand, not measured; `make eval` prints the figures by tokens.
HEADLINE_TOKENS = 16
OVERVIEW_TOKENS = 100
#: Up to here a memory is short.
SHORT_TOKENS = 40
#: A memory of so many tokens is told in full at a level, too.
_WHOLE = {"overview": OVERVIEW_TOKENS, "headline": SHORT_TOKENS}


def at_level(text: str, level: Level, query_terms: Collection[str] = ()) -> str:
    """The text at a level; the whole text where that is about as short."""
    if level == "full" or is_whole(text, level):
        return text
    return headline(text, query_terms) if level == "headline" else overview(text, query_terms)


def is_whole(text: str, level: Level, tokens: Callable[[str], int] = count_tokens) -> bool:
    """Whether a level tells all of a text. `tokens` counts them, for a caller that remembers."""
    if level == "full":
        return True
    most = _WHOLE[level]
    return len(text) <= most * CHARACTERS_PER_TOKEN and tokens(text) <= most


def headline(text: str, query_terms: Collection[str] = ()) -> str:
    """One sentence: what the question is about, else the first that says something."""
    return excerpt(text, query_terms, most_tokens=HEADLINE_TOKENS, most_pieces=1)


def overview(text: str, query_terms: Collection[str] = ()) -> str:
    """A few sentences."""
    return excerpt(text, query_terms, most_tokens=OVERVIEW_TOKENS)


Format = Literal["safe", "astra", "deerflow"]
#: "auto" gives each memory the detail its rank deserves; a level gives all of them that much.
Packaging = Literal["auto", "full", "overview", "headline"]

#: By hand, not measured; `make eval` prints the figures by tokens.
RESERVE_SHARE = 0.15
RESERVE_TOKENS = 400
#: Categories (or kinds) that have a reserve unless the caller names others.
GUARANTEED = ("correction",)
#: Why a hit is left out: it does not fit, or another one says the very same (`why["similar"]`).
OVER_BUDGET, COPY = "over budget", "copy"
#: An overview of the first eight and headlines of forty more fit into 2,000 tokens.
READABLE = 8
FULL_FIRST = 5
FULL_SHARE = 0.1
#: Of the grid of the gate.
BRIEF_SHARE = 0.01


class Layout(Protocol):
    """What a format says about its costs, and how it writes what was chosen.

    The text of chosen hits takes at most the frame, the tokens of each, and each shared part once.
    """

    @property
    def frame_tokens(self) -> int:
        """Tokens of a text with nothing in it."""

    def tokens(self, hit: Hit, text: str) -> int:
        """Tokens of one memory, of which `text` is told."""

    def shared_parts(self, hit: Hit) -> list[tuple[Hashable, int]]:
        """Parts that the memory needs and others may need, too, with their tokens."""

    def render(self, chosen: Sequence[tuple[Hit, str]]) -> str:
        """The text of these hits, given best first, and of what is told of them."""


# ----------------------------------------------------------------------
# The gate: what says nothing stays out, and so does what is far from relevant.
#
# A ranking has fifty places whether or not there are fifty memories for the question, and a budget
# would be filled with them. Here a hit is measured by its score as a share of the best hit's:
#
# - Below the gate (the setting `relevanceGate`) it is left out, unless it is among the first
#   `SURE`: they cost little, and what contradicts the best hit often scores low. Only plain
#   questions are gated: the parts of an answer to a broad one need not look like the question.
# - Below the middle between the gate and the best it is told shortly: it is lengthened only
#   where that costs next to nothing.
#
# A turn without content ("Noted.") is left out while anything else is there. Rules, guaranteed
# categories and what holds a literal of the question always pass.
#
# `SURE` and the default of the setting are of a grid over LoCoMo and BEAM-100K, chosen so that the
# recall in 1,000 and 2,000 tokens stays within half a point. As a signal, the share of the best
# score was better than the rank, the cosine, the drop to the last hit, and a logistic regression of
# all of them. A higher gate, or none for the first hits, shortens blocks further and loses recall.
# ----------------------------------------------------------------------

#: So many of the first are never too far from relevant.
SURE = 15
SAYS_NOTHING = "says nothing"
NOT_RELEVANT = "not relevant"


@dataclass(frozen=True, slots=True)
class GatedHits:
    """What a context does without, by place in the ranking, and what it tells shortly."""

    left_out: dict[int, str]
    brief: frozenset[int]


def gated(hits: Sequence[Hit], query: str, spared: Collection[int], *, bar: float) -> GatedHits:
    """Which hits pass. The places in `spared` do; `bar` is a share of the best score, 0 = any."""
    left_out = _without_content(hits, spared)
    if bar <= 0:
        return GatedHits(left_out, frozenset())
    judged = [
        place
        for place, hit in enumerate(hits)
        if place not in left_out and place not in spared and "literal" not in hit.why
    ]
    best = max((hits[place].score for place in judged), default=0.0)
    if classify(query).name in PLAIN:
        far = [place for place in judged[SURE:] if hits[place].score < bar * best]
        left_out |= dict.fromkeys(far, NOT_RELEVANT)
    middle = (1.0 + bar) / 2.0 * best
    return GatedHits(left_out, frozenset(place for place in judged if hits[place].score < middle))


def _without_content(hits: Sequence[Hit], spared: Collection[int]) -> dict[int, str]:
    empty = [
        place for place, hit in enumerate(hits) if place not in spared and says_nothing(hit.content)
    ]
    return dict.fromkeys(empty, SAYS_NOTHING) if len(empty) < len(hits) else {}


# ----------------------------------------------------------------------
# Packing.
# ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Packed:
    """A text, what is in it and what is not."""

    text: str
    tokens: int
    #: Best first; each is in the text.
    hits: tuple[Hit, ...]
    #: How much of each hit is told.
    levels: tuple[Level, ...]
    dropped: tuple[Dropped, ...]
    #: Tokens of each hit, without the parts that it shares with others.
    hit_tokens: tuple[int, ...] = ()


def pack(  # noqa: PLR0913 (what a context may ask for)
    hits: Sequence[Hit],
    *,
    budget_tokens: int,
    query: str = "",
    format: str = "safe",
    packaging: str = "auto",
    guaranteed: Collection[str] = GUARANTEED,
    relevance_gate: float = 0.0,
    talk: Talk | None = None,
    summaries: Callable[[], Mapping[str, str]] | None = None,
) -> Packed:
    """Hits, best first, as a text of at most `budget_tokens`.

    `query` decides which sentences of a long memory are told; `relevance_gate` is the share of the
    best score below which a hit is left out; `talk`, the conversation before it, orders the facts
    of the deerflow format, and `summaries` of the user stand in front of them.
    """
    copies = [hit for hit in hits if hit.why.get("similar") == COPY]
    hits = [hit for hit in hits if hit.why.get("similar") != COPY] if copies else hits
    _check_choice(packaging, "packaging", get_args(Packaging))
    layout = _layout(format, budget_tokens, len(hits), talk, summaries)
    instructions = [place for place, hit in enumerate(hits) if hit.is_rule]
    corrections = [place for place, hit in enumerate(hits) if _is_one_of(hit, guaranteed)]
    gate = gated(hits, query, {*instructions, *corrections}, bar=relevance_gate)
    filling = _Filling(hits, layout, budget_tokens, list(dict.fromkeys(terms(query))), gate)
    done = _fill(filling, instructions, corrections, packaging, budget_tokens)
    said = tuple(Dropped(hit.id, layout.tokens(hit, hit.content), COPY) for hit in copies)
    return replace(done, dropped=done.dropped + said) if said else done


def _fill(
    filling: _Filling,
    instructions: Sequence[int],
    corrections: Sequence[int],
    packaging: str,
    budget_tokens: int,
) -> Packed:
    """What passed the gate, best first, in the budget; rules and corrections before the rest."""
    fixed: Level | None = next((level for level in LEVELS if level == packaging), None)
    if fixed in (None, "full") and filling.hold_all():
        return filling.result()
    filling.reserve(instructions, fixed or "overview")
    filling.reserve(corrections, fixed or "overview")
    places = filling.passed
    filling.let_in(places[:READABLE], fixed or "headline")
    if fixed is None:
        filling.tell_more(places[:READABLE], "overview")
    filling.let_in(places[READABLE:], fixed or "headline")
    if fixed is None:
        filling.tell_more(places[:FULL_FIRST], "full", most=int(FULL_SHARE * budget_tokens))
        filling.tell_more(places, "overview")
        filling.tell_more(places, "full")
    return filling.result()


def _layout(
    format: str,
    budget_tokens: int,
    count: int,
    talk: Talk | None,
    summaries: Callable[[], Mapping[str, str]] | None,
) -> Layout:
    match _check_choice(format, "format", get_args(Format)):
        case "astra":
            return AstraLayout()
        case "deerflow":
            return DeerLayout(budget_tokens, talk, summaries() if summaries else None)
        case _:
            return SafeLayout(count)


def _check_choice(value: str, field: str, allowed: Sequence[str]) -> str:
    if value not in allowed:
        names = ", ".join(f'"{each}"' for each in allowed)
        raise InvalidInput(f"{field} must be one of {names}, not {value!r}", field=field)
    return value


def _is_one_of(hit: Hit, categories: Collection[str]) -> bool:
    category = hit.metadata.get("category")
    return hit.kind in categories or (isinstance(category, str) and category in categories)


@dataclass(frozen=True, slots=True)
class _PackedItem:
    level: Level
    text: str
    tokens: int


class _Filling:
    """A budget being filled: hits are known by their place in the ranking."""

    def __init__(
        self,
        hits: Sequence[Hit],
        layout: Layout,
        budget: int,
        query_terms: Sequence[str],
        gate: GatedHits,
    ) -> None:
        self._hits = hits
        self._layout = layout
        self._budget = budget
        self._terms = query_terms
        self._gate = gate
        self._left = budget - layout.frame_tokens
        self._inside: dict[int, _PackedItem] = {}
        self._paid: set[Hashable] = set()
        # Counting is most of the work: what is counted is remembered.
        self._content_tokens: dict[str, int] = {}
        self._whole_tokens: dict[int, int] = {}

    @property
    def passed(self) -> list[int]:
        """The places of the hits that passed the gate."""
        return [place for place in range(len(self._hits)) if place not in self._gate.left_out]

    def hold_all(self) -> bool:
        """Let every hit in in full that passed the gate, if all fit: nothing is to be chosen."""
        places = [place for place in range(len(self._hits)) if place not in self._gate.left_out]
        passed = [self._hits[place] for place in places]
        if sum(len(hit.content) for hit in passed) > self._left * CHARACTERS_PER_TOKEN:
            return False
        parts = dict(part for hit in passed for part in self._layout.shared_parts(hit))
        if sum(map(self._whole, places)) + sum(parts.values()) > self._left:
            return False
        self._inside = {
            place: _PackedItem("full", hit.content, self._whole(place))
            for place, hit in zip(places, passed, strict=True)
        }
        return True

    def reserve(self, places: Sequence[int], level: Level) -> None:
        """Let these in before all others, within a reserve."""
        left = min(RESERVE_TOKENS, int(RESERVE_SHARE * self._budget))
        for place in places:
            before = self._left
            if place not in self._inside and self._put(place, level, most=left):
                left -= before - self._left

    def let_in(self, places: Sequence[int], level: Level) -> None:
        """Those of the hits that fit."""
        for place in places:
            if place not in self._inside:
                self._put(place, level)

    def tell_more(self, places: Sequence[int], level: Level, *, most: int | None = None) -> None:
        """Lengthen those that are in, where it fits and takes no more than `most`."""
        little = int(BRIEF_SHARE * self._budget)
        for place in places:
            now = self._inside.get(place)
            if now and LEVELS.index(level) < LEVELS.index(now.level):
                self._put(place, level, most=little if place in self._gate.brief else most)

    def result(self) -> Packed:
        """The text, its exact tokens, and what is in it."""
        places = sorted(self._inside)
        text, tokens = self._write(places)
        while places and tokens > self._budget:  # Should the sum of the parts underestimate.
            places.pop()
            text, tokens = self._write(places)
        there = set(places)
        return Packed(
            text,
            tokens,
            tuple(self._hits[place] for place in places),
            tuple(self._inside[place].level for place in places),
            tuple(
                Dropped(hit.id, self._whole(place), self._reason(place))
                for place, hit in enumerate(self._hits)
                if place not in there
            ),
            tuple(self._inside[place].tokens for place in places),
        )

    def _reason(self, place: int) -> str:
        return self._gate.left_out.get(place, OVER_BUDGET)

    def _put(self, place: int, level: Level, *, most: int | None = None) -> bool:
        """Tell a hit at a level, more than before, if that fits; whether it does."""
        hit, now = self._hits[place], self._inside.get(place)
        had = now.tokens if now else 0
        most = self._left if most is None else min(most, self._left)
        if level == "full" and len(hit.content) > (most + had) * CHARACTERS_PER_TOKEN:
            return False
        new = self._at_level(place, level)
        unpaid = (
            [] if now else [p for p in self._layout.shared_parts(hit) if p[0] not in self._paid]
        )
        cost = new.tokens - had + sum(tokens for _, tokens in unpaid)
        if cost > most:
            return False
        self._left -= cost
        self._paid.update(key for key, _ in unpaid)
        self._inside[place] = new
        return True

    def _at_level(self, place: int, level: Level) -> _PackedItem:
        hit = self._hits[place]
        if is_whole(hit.content, level, self._count):
            return _PackedItem("full", hit.content, self._whole(place))
        text = at_level(hit.content, level, self._terms_for(hit))
        return _PackedItem(level, text, self._layout.tokens(hit, text))

    def _count(self, content: str) -> int:
        if content not in self._content_tokens:
            self._content_tokens[content] = count_tokens(content)
        return self._content_tokens[content]

    def _terms_for(self, hit: Hit) -> Sequence[str]:
        """An instruction is told by its rule, whatever is asked: so it repeats."""
        rule = hit.metadata.get("rule") if hit.is_rule else None
        return terms(rule) if isinstance(rule, str) else self._terms

    def _whole(self, place: int) -> int:
        """Tokens of a hit in full, without shared parts."""
        if place not in self._whole_tokens:
            hit = self._hits[place]
            self._whole_tokens[place] = self._layout.tokens(hit, hit.content)
        return self._whole_tokens[place]

    def _write(self, places: Sequence[int]) -> tuple[str, int]:
        text = self._layout.render([(self._hits[p], self._inside[p].text) for p in places])
        return text, count_tokens(text)
