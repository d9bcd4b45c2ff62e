"""Figures: what a question asks for, what a text says of it, what tells a change."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.language.questions import (
    StatedQuantities,
    asked_quantities,
    stated_quantities,
)
from holdfast.language.terms import terms


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("How many guests are coming?", {"count"}),
        ("How often do I water the ferns?", {"count"}),
        ("How long is the drive to the lake?", {"time"}),
        ("How much do I pay for the garage?", {"money", "count"}),
        ("What time does the choir meet?", {"clock"}),
        ("When is the dentist's appointment?", {"date", "clock", "weekday"}),
        ("What is the deadline of the grant?", {"date", "clock", "weekday"}),
        ("What is my rent?", {"money"}),
        ("Which interest rate do I pay on the loan?", {"percent"}),
        ("What is the size of the cache?", {"measure", "percent"}),
    ],
)
def test_what_a_question_asks_for(text: str, kinds: set[str]) -> None:
    found = asked_quantities(text)
    assert found is not None
    assert found.kinds == kinds


@pytest.mark.parametrize(
    "text",
    [
        "Who is my dentist?",  # No figure.
        "How many days are there between the two exams?",  # Two memories, joined.
        "Why is my rent so high, and what is it?",
        "My rent is 900 euros.",
        "Wie viele Gäste kommen?",
        "",
    ],
)
def test_other_questions_ask_for_none(text: str) -> None:
    assert asked_quantities(text) is None


@pytest.mark.parametrize(
    ("text", "updates"),
    [
        ("How many guests are coming?", "any"),
        ("How many guests did I invite?", "told"),  # Over: nobody invites more, but one may err.
        ("When was the roof repaired?", "told"),
        ("What was my latest rent?", "any"),
        ("What was my rent at first?", "none"),
        ("How many guests did I say are coming?", "none"),
        ("How many guests had I invited by the time I moved?", "none"),
        ("How many different ferns do I have?", "none"),  # Of several things.
        ("What budget do you recommend?", "none"),  # Advice.
        ("What was my original rent?", "none"),
    ],
)
def test_whether_later_figures_count(text: str, updates: str) -> None:
    found = asked_quantities(text)
    assert found is not None
    assert found.updates == updates


def test_a_question_knows_who_is_named_in_it() -> None:
    found = asked_quantities("When is the call with Amy?")
    assert found is not None
    assert found.names == frozenset(terms("Amy"))


def said(question: str, text: str) -> StatedQuantities:
    figures = asked_quantities(question)
    assert figures is not None
    return stated_quantities(text, figures)


def values(stated: dict[tuple[str, str], set[str]]) -> set[str]:
    return {value for found in stated.values() for value in found}


GUESTS = "How many guests are coming?"
RENT = "What is my rent?"
VISIT = "When is the visit?"


@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        (GUESTS, "I invited 40 guests for 8 courses.", {"40"}),
        (GUESTS, "It will be twelve guests.", {"12"}),
        (GUESTS, "40 days are left.", set()),
        (GUESTS, "The list grew from 40 to 46.", {"46"}),  # The unit goes without saying.
        (GUESTS, "It was moved to 8 weeks from today.", set()),
        ("How many kilometers is the run?", "The run is 6 km.", {"6"}),
        ("How long is the drive?", "The drive takes 90 minutes, we are 4.", {"90"}),
        ("What time is the choir?", "The choir meets at 7 PM.", {"7pm"}),
        ("What time is the choir?", "Choir: 7:30pm", {"7:30pm"}),
        (VISIT, "The visit is on March 3rd, then on 4 May.", {"mar3", "may4"}),
        (VISIT, "The visit: Sept. 3, or the 12th of June.", {"sep3", "jun12"}),
        (VISIT, "The visit is on Friday.", {"friday"}),
        (VISIT, "The visit is in March, 5 come.", set()),
        (RENT, "The rent is $1,200 since 2020.", {"$1200"}),
        (RENT, "The rent is 900 euros.", {"900"}),
        (RENT, "We ate for $30." + " And so on." * 20 + " The rent is due.", set()),
        ("What is my loan's rate?", "The loan is at 3.5 percent, or 3.5%.", {"3.5percent", "3.5%"}),
        ("What is the size of the cache?", "The cache is 512MB, see line 7.", {"512mb"}),
        (RENT, "", set()),
    ],
)
def test_what_a_text_states(question: str, text: str, expected: set[str]) -> None:
    assert values(said(question, text).stated) == expected


def test_a_day_of_the_week_is_no_exact_date() -> None:
    assert not said(VISIT, "The visit is on Friday.").is_exact
    assert said(VISIT, "The visit is on Friday, May 3.").is_exact


def test_what_a_text_names() -> None:
    found = said("When is the visit of the dentist?", "The visit is on 3 May, not on May 5.")
    assert found.terms == frozenset(terms("visit"))
    assert found.days == {"may3", "may5"}


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        ("It is 46 guests.", "I invited 40 guests.", True),
        ("It is 40 guests.", "I invited 40 guests.", False),
        ("Of 40 guests 6 guests are ill.", "I invited 40 guests.", False),
        ("It is 46 chairs.", "I invited 40 guests.", False),
        ("The list has grown to 46.", "I invited 40 guests.", True),
        ("The list has grown from 40 guests to 46 guests.", "I invited 40 guests.", True),
        ("The list was cut from 46 guests to 40 guests.", "I invited 40 guests.", False),
        ("", "I invited 40 guests.", False),
    ],
)
def test_what_updates_an_older_text(new: str, old: str, expected: bool) -> None:
    assert said(GUESTS, new).updates(said(GUESTS, old)) is expected


@pytest.mark.parametrize(
    ("text", "tells"),
    [
        # Of anything, of the figure, of the matter.
        ("The rent was raised to $900.", (True, True, True)),
        ("The rent is $900." + " It is fine." * 4 + " I moved.", (True, False, False)),
        ("The rent was raised.", (True, False, True)),
        ("We no longer pay rent.", (True, False, True)),
        ("We were delayed.", (True, False, False)),
        ("The rent is $900.", (False, False, False)),
        ("I know the news, we renew it.", (False, False, False)),
        ("", (False, False, False)),
    ],
)
def test_what_tells_a_change(text: str, tells: tuple[bool, bool, bool]) -> None:
    found = said(RENT, text)
    assert (found.tells_change, found.of_figure, found.of_matter) == tells


@given(st.text(max_size=300))
def test_any_text_can_be_read(text: str) -> None:
    for question in (GUESTS, RENT, VISIT, "What is the size of the cache?"):
        found = said(question, text)
        assert all(found.stated.values())
        assert all(values <= found.stated[key] for key, values in found.became.items())
        assert not found.updates(found) or found.became
    asked_quantities(text)


def test_a_long_text_is_not_read_to_its_end() -> None:
    for text in ("1,1." * 500_000, "rent $5 " * 200_000, "a" * 1_000_000, "now to 5 " * 200_000):
        started = time.thread_time()
        said(RENT, text)
        said(GUESTS, text)
        assert time.thread_time() - started < 1.0
