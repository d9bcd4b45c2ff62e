"""How what is said is cut into clauses, and what of it is quoted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.language.statements.facts import clauses, sentences


def cut(text: str) -> list[str]:
    return [each.text for _, sentence in sentences(text) for each in clauses(sentence)]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("email please, I hate phoning", ["email please", "I hate phoning"]),
        (
            "I sold the van and my son plays chess",
            ["I sold the van", "my son plays chess"],
        ),
        ("I live with my wife and my son", ["I live with my wife and my son"]),
        ("Jonas and I bought a flat", ["Jonas and I bought a flat"]),
        (
            "Tom lives in Rome, he's 12, and Bea works at Acme",
            ["Tom lives in Rome", "he's 12", "Bea works at Acme"],
        ),
        ("if it rains, I stay with my aunt", ["if it rains, I stay with my aunt"]),
        ("when I was small, I lived in Bonn", ["when I was small, I lived in Bonn"]),
        ("Actually, my surname is Bratt", ["Actually, my surname is Bratt"]),
        ("short intro: I'm Ann, a nurse", ["short intro", "I'm Ann, a nurse"]),
        (
            "the van moves to Monday, otherwise we'd have no truck",
            ["the van moves to Monday", "otherwise we'd have no truck"],
        ),
        (
            "I live in Ghent, but as of May, I'm in Bruges",
            ["I live in Ghent", "as of May, I'm in Bruges"],
        ),
        ("we kept it because I hate waste", ["we kept it because I hate waste"]),
        ("bit tight bc on the 18th I fly to Oslo", ["bit tight", "on the 18th I fly to Oslo"]),
        ("I saw Dr. Holm, can you call her?", ["I saw Dr. Holm", "can you call her?"]),
        ("", []),
    ],
)
def test_where_a_clause_ends(text: str, parts: list[str]) -> None:
    assert cut(text) == parts


@given(st.text(alphabet="aI my's,.;: andtheGrwo(?", max_size=120))
def test_clauses_are_parts_of_what_is_said_in_their_order(text: str) -> None:
    end = 0
    for line, sentence in sentences(text):
        for each in clauses(sentence):
            assert each.start >= end
            assert text[each.start : each.end] == each.text
            assert line.span(each, each) == each
            end = each.end
