"""Where sentences end."""

from __future__ import annotations

import pytest

from holdfast.language.sentences import cut_sentences


@pytest.mark.parametrize(
    ("line", "sentences"),
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
def test_a_line_is_cut_into_sentences(line: str, sentences: list[str]) -> None:
    assert [line[a:b] for a, b in cut_sentences(line) if line[a:b]] == sentences


def test_a_dash_ends_a_clause_where_it_is_asked_for() -> None:
    line = "I moved - the old flat was damp"
    assert [line[a:b] for a, b in cut_sentences(line, dashes=True)] == [
        "I moved",
        "the old flat was damp",
    ]
