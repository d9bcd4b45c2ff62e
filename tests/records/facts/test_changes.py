"""What a person says of one thing that changed, through the verbs: the later one holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.records.facts.stating import Stated

CHANGES = [
    ("My office is in Delft.", "My office is in Schiedam now."),
    ("The deadline for the kitchen is 20 April.", "The deadline for the kitchen is now 11 May."),
    ("demolition starts 20 April", "Ruben moves demolition to 11 May"),
    ("Fjeldhjort it is", "forget Fjeldhjort. going with Kadewerk after all"),
    ("the cabinets take 6 weeks", "it's 14 weeks now instead of 6"),
    ("We use SQLite for the logger.", "We switched the logger to Postgres."),
    ("My phone number is 0612.", "My new phone number is 0699."),
    ("I take the tablet every evening.", "I now take the tablet every other evening."),
    ("Our meeting is on Tuesdays.", "Our meeting moved to Thursdays."),
    ("I'm vegetarian.", "I eat meat again."),
    ("I have two cats.", "We have three cats now."),
    ("My budget is 18k.", "My budget is 20k now."),
    ("I'm reading the book", "I finished the book"),
    ("I don't eat fish.", "I eat fish again."),
    ("The budget for the garden is 4,000 euros.", "The budget for the garden went up to 5k euros."),
    ("My savings account is at ING.", "I moved my savings account to Triodos."),
    ("The launch is planned for March 9.", "The launch has been pushed back to March 23."),
]
BOTH_HOLD = [
    # A plan, a wish, a question, a condition, a denial.
    ("We use Jira.", "I want to switch from Jira to Linear."),
    ("The meeting is on Tuesday.", "We should move the meeting to Thursday."),
    ("The meeting is on Tuesday.", "If Tom is ill, we move the meeting to Thursday."),
    ("The meeting is on Tuesday.", "The meeting was not moved to Thursday."),
    ("The meeting is on Tuesday.", "They almost moved the meeting to Thursday."),
    ("I don't eat fish.", "I want to eat fish again."),
    ("I'm vegetarian.", "I will never eat meat again."),
    # A single time, or a time long ago.
    ("Our meeting is on Tuesdays.", "This week our meeting moved to Thursday."),
    ("My office is in Delft.", "My office is in Schiedam today."),
    ("My office is in Delft.", "My office is in Schiedam this month."),
    ("My office is in Delft.", "For now my office is in Schiedam."),
    ("My office is in Delft.", "My office is in Schiedam now and then."),
    ("I live in Lisbon.", "We moved to Delft when I was nine."),
    ("I live in Lisbon.", "I moved to Delft in 1999."),
    ("I don't eat fish.", "I ate fish again yesterday."),
    # Another thing, another person, one more.
    ("My office is in Delft.", "My sister's office is in Schiedam now."),
    ("My class has 20 kids.", "My other class has 25 kids now."),
    ("The meeting is on Tuesday.", "The meeting about pensions moved to Thursday."),
    ("I take the pill every morning.", "I take the pill every evening too now."),
    ("I run every morning.", "I run every evening."),
    ("My wife is vegetarian.", "I eat meat again."),
    ("I'm reading Dune.", "I finished the first chapter of Dune."),
    ("I'm writing a book.", "I finished the book."),
    ("I love Oslo.", "Forget Oslo."),
    # Numbers, codes, letters and names that tell two things apart.
    ("Hall 3 has a grand piano.", "Hall 5 has a grand piano."),
    ("The heater in cabin 4 is broken.", "The heater in cabin 7 is broken now."),
    ("Case 8812 was closed.", "Case 8813 was closed."),
    ("Release 4.1 ships in May.", "Release 4.2 ships in June."),
    ("Squad C meets on Mondays.", "Squad D meets on Tuesdays now."),
    ("Nora's train is at 9.", "Emil's train is at 10 now."),
    # Of another kind.
    ("My team is in Dublin.", "My team is in the lead now."),
    ("My song is on Spotify.", "My song is on Bandcamp now."),
    ("My brother is in Sales.", "My brother is in Madrid now."),
    ("The sale starts on Monday.", "The sale is on Friday."),
    ("My flight leaves at 9:40.", "My flight lands at 11:15 now."),
    ("My laptop is Lenovo.", "I switched my laptop to Linux."),
    ("The course is in Dutch.", "The course is in Utrecht now."),
    ("My account is with ING.", "My account is in Rotterdam now."),
    ("Our goal is 500 signups.", "We raised our goal to 800 words."),
    ("The price is 20 euros.", "The price is 30 euros on weekends now."),
    ("Chapter 3 is 20 pages.", "Chapter 4 is 30 pages."),
    ("I also joined a chess club.", "I joined a reading group."),
    ("I've been using Git for the docs.", "I plan to use Git for the docs of the shop."),
]


@pytest.mark.parametrize(("known", "said"), CHANGES)
def test_a_change_of_one_thing_ends_what_was(tmp_path: Path, known: str, said: str) -> None:
    stated = Stated(tmp_path / "m.db")
    old = stated.add(known)
    stated.later()
    new = stated.add(said)
    assert (new.outcome, new.replaces) == ("supersede", (old.id,))
    assert stated.texts() == [said]
    assert stated.texts(status="superseded") == [known]


@pytest.mark.parametrize(("known", "said"), BOTH_HOLD)
def test_what_only_looks_like_a_change_ends_nothing(tmp_path: Path, known: str, said: str) -> None:
    stated = Stated(tmp_path / "m.db")
    stated.add(known)
    stated.later()
    assert stated.add(said).outcome in ("add", "clarify")
    assert known in stated.texts()


@pytest.mark.parametrize(("known", "said"), CHANGES[:4])
def test_a_change_that_is_told_late_does_not_end_what_came_after(
    tmp_path: Path, known: str, said: str
) -> None:
    stated = Stated(tmp_path / "m.db")
    before = stated.now
    stated.later()
    stated.add(known)
    stated.add(said, at=before)
    assert known in stated.texts()


def test_two_places_of_one_thing_without_words_of_change_are_linked(tmp_path: Path) -> None:
    stated = Stated(tmp_path / "m.db")
    old = stated.add("My office is in Delft.")
    stated.later()
    new = stated.add("My office is in Schiedam.")
    assert (new.outcome, new.contradicts) == ("add", (old.id,))


def test_thousands_are_read_in_figures_too(tmp_path: Path) -> None:
    stated = Stated(tmp_path / "m.db")
    stated.add("My budget is 18k euros.")
    stated.later()
    assert stated.add("My budget is 18,000 euros.").outcome == "noop"


def test_what_used_to_be_is_not_what_is(tmp_path: Path) -> None:
    stated = Stated(tmp_path / "m.db")
    stated.add("I used to take the train.")
    stated.later()
    assert stated.add("I take the train again.").outcome == "add"


def test_how_often_is_not_the_same_however_alike(tmp_path: Path) -> None:
    stated = Stated(tmp_path / "m.db")
    stated.add("I take the tablet every evening.")
    stated.later()
    assert stated.add("I take the tablet every other evening.").outcome == "add"


def test_a_chain_of_changes_is_one_claim(tmp_path: Path) -> None:
    stated = Stated(tmp_path / "m.db")
    first = stated.add("Our meeting is on Tuesdays.")
    stated.later()
    stated.add("Our meeting moved to Thursdays.")
    stated.later()
    last = stated.add("Our meeting is on Fridays now.")
    assert (last.outcome, last.claim) == ("supersede", first.id)
    assert stated.texts() == ["Our meeting is on Fridays now."]
