"""Levels: how much of a memory is told. A headline, an overview, or all of it.

A headline is one sentence, or the beginning of one; an overview the sentences that the question is
about (excerpt.py). A short memory is always told in full: a headline would save nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Literal, get_args

from holdfast.language.tokens import count_tokens
from holdfast.recall.context.excerpt import excerpt

Level = Literal["full", "overview", "headline"]
#: The most detailed first.
LEVELS: tuple[Level, ...] = get_args(Level)

HEADLINE_TOKENS = 16
OVERVIEW_TOKENS = 100
#: Up to here a memory is short.
SHORT_TOKENS = 40
#: A memory of so many tokens is told in full at a level, too.
_WHOLE = {"overview": OVERVIEW_TOKENS, "headline": SHORT_TOKENS}
#: A token is seldom longer, so what is longer than this many of them need not be counted.
CHARACTERS_PER_TOKEN = 8


def told(text: str, level: Level, query_terms: Collection[str] = ()) -> str:
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
