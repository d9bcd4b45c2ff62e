"""Excerpts: the right sentences, whole, marked, and never too long."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.language.terms import terms
from holdfast.language.tokens import count_tokens
from holdfast.recall.context.excerpt import MARK, excerpt

LETTER = (
    "Thanks for the long update. We moved the launch of the harbour app to 3 May. "
    "The weather has been awful all week and nobody wants to go out. "
    "My sister is visiting in June. Ben keeps the books, as he did last year. "
    "Dr. Lind signs the contract on Friday. That is all for today!"
)
TEXT = st.lists(
    st.one_of(
        st.text(max_size=30),
        st.sampled_from([". ", "! ", "? ", "\n", "。", "word ", "harbour ", "a" * 90, " ", "…"]),
    ),
    max_size=30,
).map("".join)


def about(question: str, text: str = LETTER, *, most: int = 30) -> str:
    return excerpt(text, terms(question), most_tokens=most)


def test_a_text_that_fits_is_given_as_it_is() -> None:
    assert about("harbour", " two\nlines \n") == " two\nlines \n"


def test_the_sentence_that_is_asked_for_is_told_with_marks_around() -> None:
    told = excerpt(LETTER, terms("Who signs contracts?"), most_tokens=20, most_pieces=1)
    assert told == "[…] Dr. Lind signs the contract on Friday. […]"


def test_what_follows_the_sentence_asked_for_is_told_next() -> None:
    told = about("When does my sister visit?", most=26)
    assert told == (
        "[…] My sister is visiting in June. Ben keeps the books, as he did last year. […]"
    )


def test_sentences_apart_stay_in_order_with_a_mark_between() -> None:
    told = about("When is the launch, and who signs?", most=40)
    assert told.startswith("[…] We moved the launch of the harbour app to 3 May. […]")
    assert "[…] Dr. Lind signs the contract on Friday." in told


def test_a_word_counts_in_every_form() -> None:
    for question in ("launches", "launched", "HARBOURS"):
        assert "We moved the launch of the harbour app to 3 May." in about(question)


def test_a_word_is_not_found_in_a_longer_one() -> None:
    text = (
        "An apple a day, as they say. " * 9 + "The app is late once more. " + "So be it now. " * 9
    )
    told = excerpt(text, terms("apps"), most_tokens=16, most_pieces=1)
    assert told == "[…] The app is late once more. […]"


def test_accents_do_not_matter() -> None:
    text = "An apple a day, as they say. " * 9 + "The Café is late… " + "So be it now. " * 9
    told = excerpt(text, terms("cafe"), most_tokens=16, most_pieces=1)
    assert told == "[…] The Café is late… […]"


def test_a_rare_word_weighs_more_than_a_frequent_one() -> None:
    text = "Tea again. " * 20 + "Tea with cardamom. " + "More tea now. " * 20
    assert "cardamom" in about("tea cardamom", text, most=14)


def test_without_a_match_the_beginning_is_told_but_no_greeting_alone() -> None:
    assert about("zebra", most=30) == (
        "Thanks for the long update. We moved the launch of the harbour app to 3 May. […]"
    )
    text = "Sure! Of course. " + "The invoice is due on the first of every month. " * 3
    told = excerpt(text, terms("zebra"), most_tokens=16, most_pieces=1)
    assert told == "[…] The invoice is due on the first of every month. […]"


def test_lines_of_code_and_lists_are_pieces() -> None:
    text = "Steps:\n1. Install it\n2. Run `make serve`\n3. Open the page\n" + "# filler line\n" * 40
    told = excerpt(text, terms("serve"), most_tokens=16, most_pieces=1)
    assert told == "[…] 2. Run `make serve` […]"


@pytest.mark.parametrize(
    ("text", "question", "told"),
    [
        ("天気は悪い。" * 20 + "妹は六月に来る。" + "雨が降る。" * 20, "妹", "妹は六月に来る。"),
        ("الجو سيئ؟ " * 20 + "أختي تزورني؟ " + "مطر اليوم؟ " * 20, "أختي", "أختي تزورني؟"),
    ],
)
def test_sentence_marks_of_other_scripts_count(text: str, question: str, told: str) -> None:
    assert excerpt(text, terms(question), most_tokens=24, most_pieces=1) == f"{MARK} {told} {MARK}"


@pytest.mark.parametrize("inside", ["e.g. this one", "Dr. Lind", "J. Smith", "version 3.5 of it"])
def test_what_is_no_end_of_a_sentence_does_not_cut(inside: str) -> None:
    sentence = f"They said that {inside} was the zebra."
    text = "Nothing here at all. " * 20 + sentence + " Nothing there at all." * 20
    told = excerpt(text, ["zebra"], most_tokens=24, most_pieces=1)
    assert told == f"{MARK} {sentence} {MARK}"


def test_a_sentence_too_long_is_cut_between_words_around_the_match() -> None:
    words = [f"word{n}" for n in range(300)]
    words[200] = "zebra"
    told = excerpt(" ".join(words), ["zebra"], most_tokens=20)
    inner = told.removeprefix(f"{MARK} ").removesuffix(f" {MARK}")
    assert "zebra" in inner
    assert set(inner.split()) <= set(words)
    assert told.startswith(MARK)
    assert told.endswith(MARK)


def test_a_text_without_spaces_is_cut_between_characters() -> None:
    told = excerpt("漢" * 5_000, [], most_tokens=30)
    assert told == "漢" * (len(told) - 4) + f" {MARK}"
    assert len(told) > 10


def test_the_end_of_a_very_long_text_is_reached() -> None:
    text = "Nothing to see here. " * 20_000 + "The zebra sleeps in the garden."
    assert excerpt(text, ["zebra"], most_tokens=20, most_pieces=1) == (
        f"{MARK} The zebra sleeps in the garden."
    )


@pytest.mark.parametrize("most", [0, -1])
def test_no_room_gives_nothing(most: int) -> None:
    assert excerpt("some text", [], most_tokens=most) == ""
    assert excerpt("", [], most_tokens=most) == ""


@given(TEXT, st.integers(0, 40), st.sampled_from([None, 1, 2]))
def test_never_longer_than_allowed_and_nothing_made_up(
    text: str, most: int, pieces: int | None
) -> None:
    told = excerpt(text, ["harbour", "word"], most_tokens=most, most_pieces=pieces)
    assert count_tokens(told) <= most
    assert told == excerpt(text, ["harbour", "word"], most_tokens=most, most_pieces=pieces)
    at = 0
    for part in told.split(MARK) if told != text else []:
        at = text.index(part.strip(), at) + len(part.strip())


@pytest.mark.parametrize("piece", ["a", " ", "\n", ". ", "I moved. ", "漢", "harbour ", "a.b"])
def test_a_megabyte_takes_no_longer_than_its_length(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    began = time.thread_time()
    assert count_tokens(excerpt(text, ["harbour", "a", "漢"], most_tokens=50)) <= 50
    assert time.thread_time() - began < 2  # Quadratic work would take minutes.
