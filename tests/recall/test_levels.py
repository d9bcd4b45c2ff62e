"""Levels: short memories in full, long ones by what is asked."""

import pytest

from holdfast.language.tokens import count_tokens
from holdfast.recall.context.pack import (
    HEADLINE_TOKENS,
    LEVELS,
    OVERVIEW_TOKENS,
    SHORT_TOKENS,
    Level,
    at_level,
    headline,
    is_whole,
    overview,
)

SHORT = "I moved to Lisbon in March and I like it."
LONG = "Hello there! The boat leaves at nine. " + "The cook makes soup for all of us. " * 30
SIZES = {"headline": HEADLINE_TOKENS, "overview": OVERVIEW_TOKENS}


@pytest.mark.parametrize("level", LEVELS)
def test_a_short_memory_is_told_in_full(level: Level) -> None:
    assert at_level(SHORT, level) == SHORT
    assert is_whole(SHORT, level)


@pytest.mark.parametrize("level", ["headline", "overview"])
def test_a_long_memory_is_told_within_the_size_of_its_level(level: Level) -> None:
    text = at_level(LONG, level, ["boat"])
    assert "The boat leaves at nine." in text
    assert count_tokens(text) <= SIZES[level]
    assert not is_whole(LONG, level)


def test_full_is_everything() -> None:
    assert at_level(LONG, "full") == LONG


def test_a_headline_is_one_sentence_and_an_overview_several() -> None:
    assert headline(LONG) == "[…] The boat leaves at nine. […]"
    assert overview(LONG).count(".") > 3


def test_short_ends_at_its_border() -> None:
    border = "tea " * (SHORT_TOKENS - 1) + "tea"
    assert count_tokens(border) == SHORT_TOKENS
    assert is_whole(border, "headline")
    assert not is_whole(border + " tea", "headline")
    assert is_whole(border + " tea", "overview")


def test_a_caller_may_remember_the_counts() -> None:
    asked: list[str] = []

    def remembered(text: str) -> int:
        asked.append(text)
        return 1000

    assert not is_whole(SHORT, "overview", remembered)
    assert asked == [SHORT]
