"""Which statements are clear alone, and how one reads with the line before it."""

import pytest

from holdfast.language.statements.clear import explaining, is_clear, with_before


@pytest.mark.parametrize(
    "text",
    ["35 each", "She moved there in may", "ponemos 35 cada uno", "我们每人付35", "I'm on the GPS"],
)
def test_what_is_short_and_names_nothing_is_not_clear(text: str) -> None:
    assert not is_clear(text)
    assert explaining("we split the gas", text) == "we split the gas"


@pytest.mark.parametrize(
    "text",
    ["My brother lives in Ghent", "we pay 35 each for the gas " * 3, "им занимается Ольга"],
)
def test_what_is_long_or_names_something_is_clear(text: str) -> None:
    assert is_clear(text)
    assert not explaining("we split the gas", text)


def test_a_long_line_explains_nothing() -> None:
    assert not explaining("we split the gas and so on " * 10, "35 each")


def test_it_reads_as_what_stood_before() -> None:
    assert with_before("35 each", "we split the gas") == '35 each (after: "we split the gas")'
    assert with_before("35 each", "") == "35 each"
    assert with_before("35", 'a "b") c') == "35 (after: \"a 'b') c\")"
