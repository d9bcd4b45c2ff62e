"""What was recalled is not learned again when it comes back; what is new is, to the letter."""

import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.language.echo import digests, without_recalled
from holdfast.recall.context.astra import AstraItem
from holdfast.recall.context.astra import render as render_astra
from holdfast.recall.context.safe import Item, render

LISBON = "I moved to Lisbon last spring."
RULE = "Always cite sources when I ask about history."
RECALLED = digests(f"{LISBON} {RULE}")
DAY = datetime(2026, 3, 1, tzinfo=UTC).date()
BLOCK = render(
    [
        Item(None, DAY, "Ann", RULE, "instructions"),
        Item(2, DAY, "Ann", LISBON),
        Item(1, DAY, "assistant", "Noted: you live in Lisbon now.\nHow is it there?"),
    ]
)


@pytest.mark.parametrize(
    "text",
    [
        LISBON,
        "i moved to  Lisbon last spring",
        "I moved to Lisbon last spring!!",
        f'"{LISBON}"',
        "\u201cI moved to Lisbon last spring\u201d.",
        f"> {LISBON}",
        f"- {LISBON}",
        f"  \u2022 {LISBON}",
        f"You said: {LISBON}",
        f'You said: "{LISBON}"',
        "You told me that I moved to Lisbon last spring.",
        f"Ann: {LISBON}",
        f"{LISBON}\n\n{RULE}",
        f"- {LISBON} {RULE}",
    ],
)
def test_a_recalled_sentence_is_taken_out_however_it_is_quoted(text: str) -> None:
    assert without_recalled(text, RECALLED) == ""


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"{LISBON} Now I live in Porto.", "Now I live in Porto."),
        (f"Is it true? {LISBON}", "Is it true?"),
        (f"You said:\n> {LISBON}\nThat is wrong.", "You said:\nThat is wrong."),
        (f"1. {RULE}\n2. Never use emojis in emails.", "2. Never use emojis in emails."),
    ],
)
def test_what_is_new_stays(text: str, left: str) -> None:
    assert without_recalled(text, RECALLED) == left


@pytest.mark.parametrize(
    "text",
    [
        "I moved to Porto last spring.",
        "I moved to Lisbon last spring and love it.",
        "Never cite sources when I ask about history.",
        f"You said {LISBON[:-1]}, but it was Porto.",
        "Lisbon!",
        "",
        " \n",
    ],
)
def test_a_text_with_nothing_recalled_is_the_same_object(text: str) -> None:
    assert without_recalled(text, RECALLED) is text
    assert without_recalled(text, set()) is text


def test_a_label_before_what_was_told_is_that_of_the_whole_line() -> None:
    told = digests("The price of the boat was agreed in May.")
    for mark in ("You said: ", "> ", "Ann: "):
        line = f"{mark}The price of the boat was agreed in May. My name is Bo and I live in Oslo."
        assert without_recalled(line, told) == ""
    for own in ("", "Note: ", "One more thing: "):
        line = f"{own}The price of the boat was agreed in May. Be brief."
        assert without_recalled(line, told) == "Be brief."


def test_short_sentences_are_nobodys() -> None:
    assert digests("Yes, I do. No. Thank you!") == set()
    assert len(digests("Yes, I really do. No.")) == 1
    assert all(len(each) == 8 for each in RECALLED)


def test_scripts_without_spaces() -> None:
    recalled = digests("我去年春天搬到了里斯本。以后请用中文回答。")
    assert without_recalled("我去年春天搬到了里斯本！", recalled) == ""
    assert without_recalled("「以后请用中文回答」", recalled) == ""
    assert without_recalled("我去年春天搬到了里斯本。现在我住在波尔图。", recalled) == (
        "现在我住在波尔图。"
    )
    other = "我去年春天搬到了波尔图。"
    assert without_recalled(other, recalled) is other


def test_accents_and_forms_do_not_matter() -> None:
    recalled = digests("Meine Frau heißt Zoë und mag Café au lait.")
    assert without_recalled("meine frau heisst Zoe\u0308 und mag CAFE au lait", recalled) == ""


def test_a_block_is_taken_out_whole() -> None:
    text = f"Here is what you know:\n{BLOCK}\nPlease always answer in Dutch."
    assert without_recalled(text, set()) == (
        "Here is what you know:\nPlease always answer in Dutch."
    )
    assert without_recalled(BLOCK, set()) == ""
    quoted = "\n".join(f"> {line}" for line in BLOCK.splitlines())
    assert without_recalled(f"{quoted}\nRight?", set()) == "Right?"


def test_text_between_two_copies_of_a_block_stays() -> None:
    assert without_recalled(f"{BLOCK}\nMine.\n{BLOCK}\nAlso mine.", set()) == "Mine.\nAlso mine."


def test_text_on_the_lines_of_a_block_stays() -> None:
    assert without_recalled(f"Look: {BLOCK} What now?", set()) == "Look:\nWhat now?"


@pytest.mark.parametrize("cut", range(1, len(BLOCK.splitlines())))
def test_a_block_cut_between_two_lines_leaves_nothing(cut: int) -> None:
    lines = BLOCK.splitlines()
    assert without_recalled("\n".join([*lines[:cut], "Thanks, bye."]), set()) == "Thanks, bye."
    assert without_recalled("\n".join(["Hello there.", *lines[cut:]]), set()) == "Hello there."


def test_a_block_cut_in_a_line_leaves_nothing_that_was_recalled() -> None:
    start = BLOCK.index("moved")
    assert without_recalled(BLOCK[:start], RECALLED) == ""
    rest = without_recalled(BLOCK[start:], RECALLED)
    assert "Noted" not in rest
    assert rest == "moved to Lisbon last spring."  # Half a sentence is not known.


def test_the_other_formats_are_known_too() -> None:
    items = [AstraItem("turn", str(DAY), LISBON, 1.0), AstraItem("turn", str(DAY), RULE, 0.9)]
    assert without_recalled(f"{render_astra(items)}\n\nWhy?", set()) == "Why?"
    facts = "Facts:\n- [preference | 0.80] Likes tea\n- [goal | 0.90] Wants to learn Go"
    assert without_recalled(facts, set()) == "Facts:"
    assert without_recalled("- [ ] buy milk\n- [x] call Ben", set()).startswith("- [ ]")


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_text_is_gone_after_its_digests_are_known(text: str, more: str) -> None:
    left = without_recalled(text, digests(text))
    assert len(left) <= len(text)
    assert without_recalled(text, set()) == text or "emory" in text or "- [" in text
    if digests(more).isdisjoint(digests(text)) and "emory" not in more and "- [" not in more:
        assert without_recalled(more, digests(text)) is more


@pytest.mark.parametrize(
    "unit",
    [
        *("a", "a. ", "\n", '"', ": ", "不要", "</memory 123456789>\n", "1 a: b\n"),
        *("<memory 123456789>\n", "[Memory: x | 2026-01-01]\n", "you said "),
    ],
)
def test_time_grows_with_the_length_alone(unit: str) -> None:
    text = (unit * 2**18)[: 2**18] + "</memory 987654321>"
    began = time.thread_time()
    without_recalled(text, RECALLED)
    assert time.thread_time() - began < 5
