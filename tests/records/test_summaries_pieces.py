"""What is told of a conversation: never too much, nothing made up, the same each time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.language.tokens import count_tokens
from holdfast.records.summaries import sentences, summarize
from holdfast.testing.store_suite import NOON
from holdfast.types import Event

WORDS = [
    "boat",
    "Lisbon",
    "decided",
    "42",
    "never",
    "jam",
    "。",
    "?",
    ".",
    "\n",
    "```",
    "> x",
    "船",
]


def talk(texts: list[str], roles: list[str]) -> list[Event]:
    return [
        Event(f"e{n}", n, role, text, NOON, NOON, "user")
        for n, (text, role) in enumerate(zip(texts, roles, strict=False))
    ]


@given(
    texts=st.lists(
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=40).map(" ".join), max_size=8
    ),
    roles=st.lists(st.sampled_from(["user", "assistant", "tool"]), min_size=8, max_size=8),
    most=st.integers(0, 200),
)
def test_it_fits_quotes_and_repeats(texts: list[str], roles: list[str], most: int) -> None:
    turns = talk(texts, roles)
    text = summarize(turns, most_tokens=most, facts={})
    assert count_tokens(text) <= most
    assert summarize(turns, most_tokens=most, facts={}) == text
    said = {
        who: {word for turn in turns if turn.role == role for word in turn.content.split()}
        for role, who in (("user", "User"), ("assistant", "Assistant"))
    }
    for line in text.splitlines():
        who, _, quoted = line.partition(": ")
        assert set(quoted.split()) <= said[who] | {"船", "。"} | {
            part for word in said[who] for part in word.split("。")
        }


@given(text=st.text(max_size=300), most=st.integers(0, 60))
def test_any_text_can_be_told(text: str, most: int) -> None:
    assert count_tokens(summarize(talk([text], ["user"]), most_tokens=most, facts={})) <= most


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("One here. Two there! Three?", 3),
        ("Dr. Lee came at 5. She left.", 2),
        ("我住在里斯本。我喜欢猫！", 2),
        ("It costs 3.50 euros, e.g. for two.", 1),
        ('She said "yes." Then she left.', 2),
        ("first line\nsecond line", 2),
    ],
)
def test_sentences_end_where_they_end(text: str, pieces: int) -> None:
    assert len(sentences(text)) == pieces


def test_what_was_said_twice_is_told_once() -> None:
    turns = talk(
        ["I sold the old boat in Lisbon."] * 2 + ["Clara must never eat nuts."], ["user"] * 3
    )
    assert summarize(turns, most_tokens=100, facts={}).splitlines() == [
        "User: I sold the old boat in Lisbon.", "User: Clara must never eat nuts.",
    ]  # fmt: skip


def test_the_user_has_the_say_where_there_is_little_room() -> None:
    text = "The boat in Lisbon was sold for 42 euros."
    turns = talk([text, "The barn in Porto was sold for 17 euros."], ["assistant", "user"])
    assert (
        summarize(turns, most_tokens=16, facts={})
        == "User: The barn in Porto was sold for 17 euros."
    )


def test_a_list_and_stress_marks_are_told_as_plain_sentences() -> None:
    (line,) = summarize(
        talk(["1. **Pay** the rent of 300 euros before May."], ["assistant"]),
        most_tokens=60, facts={},
    ).splitlines()  # fmt: skip
    assert line == "Assistant: Pay the rent of 300 euros before May."
