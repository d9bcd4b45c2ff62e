"""Names are found by their capitals, and only names."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.language.mentions import Kinds, KnownNames, Names, apart, tidy

HERE = Path(__file__).parent


def names_in(text: str, *others: str, known: tuple[str, ...] = ()) -> list[str]:
    names = Names([text, *others], known)
    return [text[start:end] for start, end in names.runs(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("we went to Lake Garda with Marta", ["Lake Garda", "Marta"]),
        ("I read The Quiet Harbour", ["The Quiet Harbour"]),  # A title keeps its article.
        ("The Danube was high", ["Danube"]),  # A sentence does not give it one.
        ("he joined the Bank of the West", ["Bank of the West"]),
        ("they play Chrono Quest 3 and CS:GO", ["Chrono Quest 3", "CS:GO"]),
        ("ask Dr. Okafor about it", ["Dr. Okafor"]),
        ('we saw "Home and Away" again', ["Home and Away"]),
        ("it was Petra's idea", ["Petra"]),
        ("see you on Monday in May", []),  # Dates are no names.
        ("well, I'm fine, I’ve slept", []),
        ("OMG this TV", []),
    ],
)
def test_a_name_is_a_run_of_capitals(text: str, found: list[str]) -> None:
    assert names_in(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "Awesome! Congrats on that.",
        "Learning takes time.",
        "Wow, that looks great. Keep going!",
        "It's raining. Let's go. Don't wait.",
        "Money talks",  # Nothing says that it is a name.
    ],
)
def test_a_capital_at_the_start_of_a_sentence_makes_no_name(text: str) -> None:
    assert names_in(text) == []


def test_a_first_word_is_a_name_when_it_stands_inside_a_sentence_elsewhere() -> None:
    assert names_in("Biscuit, come!") == []
    assert names_in("Biscuit, come!", "my dog Biscuit is old") == ["Biscuit"]


def test_a_first_word_is_a_name_when_a_speaker_bears_it() -> None:
    assert names_in("Ruth?", known=("Ruth",)) == ["Ruth"]


def test_a_first_word_that_stands_small_elsewhere_is_no_name() -> None:
    assert names_in("Nature was kind", "i love nature") == []


def test_an_interjection_is_never_part_of_the_name_after_it() -> None:
    assert names_in("Hey Ruth, thanks Ben") == ["Ruth", "Ben"]


def test_tidy_takes_off_articles_marks_and_possessives() -> None:
    text = 'on the "White Sea"\'s coast'
    span = tidy(text, 3, 18 + 2)
    assert span is not None
    assert text[slice(*span)] == "White Sea"
    assert tidy('the " "', 0, 7) is None


def test_known_names_are_found_as_whole_words_the_longest_first() -> None:
    text = "Ann Bell and Ann; Anna and @Ann"
    found = KnownNames({"Ann", "Ann Bell"}).spread(text, [])
    assert [text[a:b] for a, b in found] == ["Ann Bell", "Ann"]
    assert KnownNames({"Ann"}).spread(text, [(0, 8)]) == [(13, 16)]


def test_of_spans_that_share_a_character_the_first_is_kept() -> None:
    assert apart([(0, 5), (4, 6), (5, 7), (0, 1)]) == [(0, 5), (5, 7)]


@given(st.text(max_size=200))
def test_every_name_is_a_part_of_the_text_in_order_and_apart(text: str) -> None:
    found = Names([text]).runs(text)
    assert found == sorted(found)
    assert apart(found) == found
    assert all(0 <= start < end <= len(text) for start, end in found)


@pytest.mark.parametrize(
    ("text", "name", "kind"),
    [
        ("my sister Clara is here", "Clara", "person"),
        ("I moved to Tartu", "Tartu", "place"),
        ("she works at Novatech", "Novatech", "organization"),
        ("he plays for the Harriers", "Harriers", "team"),
        ("the Alpine Summit was fun", "Alpine Summit", "event"),
        ("I'm reading Middlemarch", "Middlemarch", "document"),
        ("Lake Garda", "Lake Garda", "place"),
        ("so Zephyr it is", "Zephyr", "concept"),
    ],
)
def test_the_words_around_a_name_tell_its_kind(text: str, name: str, kind: str) -> None:
    kinds = Kinds()
    kinds.see(text, text.index(name), text.index(name) + len(name))
    assert kinds.of(name) == kind


def test_a_label_decides_only_where_the_text_says_nothing() -> None:
    kinds = Kinds(people=["Ann"])
    kinds.see("my son Max", 7, 10, "organization")
    kinds.see("so Zephyr it is", 3, 9, "organization")
    assert (kinds.of("Max"), kinds.of("Zephyr"), kinds.of("Ann")) == (
        "person",
        "organization",
        "person",
    )


def test_the_annotations_hold_offsets_and_no_text() -> None:
    rows = [json.loads(line) for line in (HERE / "locomo_spans.jsonl").read_text().splitlines()]
    assert sum(row["set"] == "random" for row in rows) == 200
    assert all(set(row) == {"conversation", "turn", "set", "spans"} for row in rows)
    assert len({(row["conversation"], row["turn"]) for row in rows}) == len(rows)


@pytest.mark.parametrize(
    "text", ["We use Kepler for that.", "The Kepler cluster is full.", "We moved it into Kepler."]
)
def test_what_is_used_is_no_person_whatever_a_model_says(text: str) -> None:
    kinds = Kinds()
    start = text.index("Kepler")
    kinds.see(text, start, start + 6, "person")
    assert kinds.of("Kepler") == "concept"
    kinds.see("my son Kepler", 7, 13)
    assert kinds.of("Kepler") == "person"
