"""The forecast: how many turns are left before a conversation is to be summed up."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InvalidInput
from holdfast.records.stats import stats, turns_until_compaction


@pytest.mark.parametrize(
    ("window", "tokens", "messages", "left"),
    [
        (10_000, 1_000, 10, 30),  # (7000 - 1000) / (1000 / 5)
        (10_000, 6_000, 20, 1),  # 1000 / 600 = 1.67: the last turn that fits
        (10_000, 7_000, 20, 0),
        (10_000, 9_000, 20, 0),  # Beyond the threshold already, never a negative number.
        (10_000, 500, 1, 13),  # One message counts as a whole turn: 6500 / 500
        (10_000, 500, 0, 13),
        (1_000, 100, 3, 9),  # A turn and a half: 600 / 66.7, exactly 9
    ],
)
def test_turns_left_are_the_room_over_the_average(
    window: int, tokens: int, messages: int, left: int
) -> None:
    assert turns_until_compaction(window, tokens, messages) == left


def test_nothing_is_foretold_of_nothing() -> None:
    assert turns_until_compaction(10_000, 0, 0) is None


def test_the_threshold_can_be_another() -> None:
    assert turns_until_compaction(10_000, 1_000, 10, threshold=0.85) == 37


@given(
    window=st.integers(1, 2_000_000),
    tokens=st.integers(1, 2_000_000),
    messages=st.integers(0, 10_000),
)
def test_it_is_the_formula_without_rounding_errors(window: int, tokens: int, messages: int) -> None:
    average = Fraction(tokens) / max(Fraction(1), Fraction(messages, 2))
    exact = math.floor((Fraction(7, 10) * window - tokens) / average)
    assert turns_until_compaction(window, tokens, messages) == max(0, exact)


@pytest.mark.parametrize(("left", "now"), [(0, False), (1, True), (5, True), (6, False)])
def test_it_is_time_to_save_with_one_to_five_turns_left(left: int, now: bool) -> None:
    # 100 tokens a turn, so that the room decides.
    found = stats(
        "s", tokens=1_000, messages=20, max_context_tokens=2_000,
        threshold=(1_000 + 100 * left) / 2_000,
    )  # fmt: skip
    assert (found.turns_left, found.save_now, found.average) == (left, now, 100.0)


@pytest.mark.parametrize(
    ("field", "given"),
    [
        ("max_context_tokens", (0, 1, 1)),
        ("max_context_tokens", (True, 1, 1)),
        ("current_tokens", (1, -1, 1)),
        ("messages", (1, 1, -1)),
        ("threshold", (1, 1, 1, 0)),
        ("threshold", (1, 1, 1, 1.01)),
        ("threshold", (1, 1, 1, math.nan)),
        ("threshold", (1, 1, 1, "0.7")),
    ],
)
def test_what_is_no_number_in_its_bounds_is_refused(field: str, given: tuple[int, ...]) -> None:
    with pytest.raises(InvalidInput) as refused:
        turns_until_compaction(*given)
    assert refused.value.field == field
