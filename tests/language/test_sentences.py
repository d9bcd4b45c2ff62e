"""Where sentences end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.language import sentences
from holdfast.language.sentences import cut_sentences, parts_of


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("I like tea. Do you? Yes!", ["I like tea.", "Do you?", "Yes!"]),
        ('He said "Go." Then he left.', ['He said "Go.', "Then he left."]),
        # A title, an initial, a number: the sentence goes on.
        ("Ask Dr. Bell or J. Ode.", ["Ask Dr. Bell or J. Ode."]),
        ("Take bus no. 5 home.", ["Take bus no. 5 home."]),
        ("No. Use tabs.", ["No.", "Use tabs."]),
        # Scripts without spaces need none.
        ("我住在里斯本。我喜欢茶！", ["我住在里斯本。", "我喜欢茶！"]),
        ("one - two", ["one - two"]),
        ("", []),
    ],
)
def test_a_line_is_cut_into_sentences(line: str, wanted: list[str]) -> None:
    assert [line[a:b] for a, b in cut_sentences(line) if line[a:b]] == wanted


def test_a_dash_ends_a_clause_where_it_is_asked_for() -> None:
    line = "I moved - the old flat was damp"
    assert [line[a:b] for a, b in cut_sentences(line, dashes=True)] == [
        "I moved",
        "the old flat was damp",
    ]


@pytest.mark.parametrize(
    ("statement", "parts"),
    [
        (
            "I share a flat with Pilar, my share is 540 and the cellar is damp.",
            ["I share a flat with Pilar", "my share is 540", "and the cellar is damp"],
        ),
        ("Our vet (the one in Hove) - Dr. Okafor", ["Our vet", "the one in Hove", "Dr. Okafor"]),
        ("I live in Leeds", ["I live in Leeds"]),
        # A comma in a number, and a dash in a word, join.
        ("1,200 a month for check-ups", ["1,200 a month for check-ups"]),
        ("我住在里斯本，我喜欢茶", ["我住在里斯本", "我喜欢茶"]),
        (", , .", []),
    ],
)
def test_a_statement_has_parts(statement: str, parts: list[str]) -> None:
    found = [statement[a:b].strip(" .") for a, b in parts_of(statement)]
    assert found == parts


@given(st.text(alphabet=".!?。；\"') \nno5Dr", max_size=30))
def test_a_line_is_cut_where_one_pattern_would_cut_it(line: str) -> None:
    by_pattern = [each.span() for each in sentences._END.finditer(line)]
    assert [each.span() for each in sentences._ends(line)] == by_pattern
