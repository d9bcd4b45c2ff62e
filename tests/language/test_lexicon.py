"""Words are listed once, and everybody reads the same list."""

import ast
import re
from pathlib import Path

import pytest

import holdfast
from holdfast.language.lexicon import (
    KIN,
    KIN_BY_GENDER,
    MONTH,
    MONTH_STARTS,
    SURE_MONTHS,
    WEEKDAY,
    WEEKDAY_STARTS,
    WEEKDAYS,
    any_of,
    plural,
    word_set,
)

SRC = Path(holdfast.__file__).parent


def test_a_list_becomes_a_set_or_a_pattern() -> None:
    assert word_set("tea milk", "milk") == {"tea", "milk"}
    assert any_of("tea milk", "water") == "tea|milk|water"
    assert plural("cat dog") == "cats dogs"
    assert plural("cat dog", "s?") == "cats? dogs?"


@pytest.mark.parametrize("word", ["january", "jan", "sept", "sep", "may", "december"])
def test_a_month_is_known_by_its_name_and_in_short(word: str) -> None:
    assert re.fullmatch(MONTH, word)
    assert word[:3] in MONTH_STARTS


def test_months_and_weekdays_are_in_their_order() -> None:
    assert (len(MONTH_STARTS), MONTH_STARTS[4]) == (12, "may")
    assert (len(WEEKDAY_STARTS), WEEKDAY_STARTS[0]) == (7, "mon")
    assert all(re.fullmatch(WEEKDAY, day) for day in WEEKDAYS.split())
    assert "may" not in SURE_MONTHS.split()


def test_kin_of_either_gender_are_kin() -> None:
    assert set(" ".join(KIN_BY_GENDER).replace("/", " ").split()) <= word_set(KIN)


@pytest.mark.parametrize(
    "words", [("january", "october", "november"), ("mother", "brother", "sister", "daughter")]
)
def test_nobody_else_lists_them(words: tuple[str, ...]) -> None:
    naming = []
    for file in SRC.rglob("*.py"):
        strings = (
            node.value.lower()
            for node in ast.walk(ast.parse(file.read_text("utf-8")))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        )
        text = " ".join(strings)
        if all(re.search(rf"\b{word}\b", text) for word in words):
            naming.append(str(file.relative_to(SRC)))
    assert naming == ["language/lexicon.py"]
