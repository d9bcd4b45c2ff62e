"""The rules read preferences, decisions and dates, and no text makes them fail."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.language.extraction import Extracted, RulesExtractor, is_read
from holdfast.language.mentions import Turn

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)


def read(text: str, speaker: str = "Ann") -> Extracted:
    (one,) = RulesExtractor().extract([Turn(speaker, "user", text, NOW)])
    return one


@pytest.mark.parametrize(
    ("text", "target", "likes"),
    [
        ("I love spicy food, it wakes me up.", "spicy food", True),
        ("Honestly, I really enjoy long walks because they calm me.", "long walks", True),
        ("I'm passionate about old maps.", "old maps", True),
        ("My favourite city is Bologna.", "Bologna", True),
        ("I can't stand loud music.", "loud music", False),
        ("I don't like olives.", "olives", False),
        ("I'm allergic to peanuts!", "peanuts", False),
    ],
)
def test_what_the_speaker_likes_and_dislikes(text: str, target: str, likes: bool) -> None:
    (found,) = read(text).preferences
    assert (found.holder, found.target, found.likes) == ("Ann", target, likes)
    assert text[found.start : found.end].strip() == found.text


@pytest.mark.parametrize(
    "text",
    [
        "I'd love to see Kyoto.",  # A wish.
        "Do you like jazz?",
        "I love it!",
        "I love how you did that.",
        "She loves jazz.",  # Another's taste.
    ],
)
def test_a_wish_a_question_or_praise_is_no_preference(text: str) -> None:
    assert read(text).preferences == ()


@pytest.mark.parametrize(
    "text",
    [
        "We decided to cancel the trip.",
        "I've finally settled on the blue one.",
        "Let's go with Postgres.",
        "We're going with plan B.",
    ],
)
def test_a_decision_is_its_sentence(text: str) -> None:
    (found,) = read(f"Hello there. {text} Bye now.").decisions
    assert (found.holder, found.text) == ("Ann", text)


@pytest.mark.parametrize(
    "text",
    ["We haven't decided yet.", "Have you decided?", "If I decided to go, I would call."],
)
def test_what_is_open_is_no_decision(text: str) -> None:
    assert read(text).decisions == ()


def test_a_date_has_its_place_and_its_interval() -> None:
    text = "I saw him yesterday, and in March 2023."
    first, second = read(text).dates
    assert text[first.start : first.end] == first.text == "yesterday"
    assert first.from_ == datetime(2024, 4, 30, tzinfo=UTC)
    assert first.to == datetime(2024, 5, 1, tzinfo=UTC)
    assert text[second.start : second.end] == second.text
    assert second.from_ == datetime(2023, 3, 1, tzinfo=UTC)


def test_nobody_holds_what_no_named_speaker_said() -> None:
    one = read("I love jazz. We decided to go to Oslo.", speaker="")
    assert (one.preferences, one.decisions, one.relations) == ((), (), ())


def test_names_spread_over_the_turns_and_have_one_type() -> None:
    turns = [
        Turn("Ann", "user", "Biscuit!", NOW),
        Turn("Ben", "user", "is that your dog Biscuit?", NOW),
    ]
    first, second = RulesExtractor().extract(turns)
    assert [(one.text, one.type) for one in first.mentions] == [("Biscuit", "person")]
    assert [(one.text, one.type) for one in second.mentions] == [("Biscuit", "person")]


def test_no_turns_give_no_results() -> None:
    assert RulesExtractor().extract([]) == []


_PIECES = st.sampled_from(
    [
        "Ann",
        "I",
        "my",
        "you",
        "and",
        "love",
        "moved to",
        "Oslo",
        ".",
        ",",
        '"',
        "'s",
        "?",
        "!",
        "\n",
    ]
)


@given(st.lists(st.lists(_PIECES | st.text(max_size=5), max_size=12), max_size=4))
def test_offsets_are_into_the_turn_and_twice_gives_the_same(pieces: list[list[str]]) -> None:
    turns = [Turn("Ann", "user", " ".join(each), NOW) for each in pieces]
    extractor = RulesExtractor()
    results = extractor.extract(turns)
    assert len(results) == len(turns)
    assert extractor.extract(turns) == results
    for turn, one in zip(turns, results, strict=True):
        for mention in one.mentions:
            assert turn.text[mention.start : mention.end] == mention.text
        for kind in (one.relations, one.preferences, one.decisions, one.dates):
            for found in kind:
                assert 0 <= found.start < found.end <= len(turn.text)


@pytest.mark.parametrize(
    "text", ["Anna met Carl in Rome. " * 1000, '"' * 20_000, "A and " * 4000, "I love " * 3000]
)
@pytest.mark.timeout(10)
def test_a_long_or_odd_text_takes_no_long_time(text: str) -> None:
    assert len(RulesExtractor().extract([Turn("Ann", "user", text, NOW)])) == 1


@pytest.mark.parametrize(
    ("text", "verb"),
    [
        ("I adore rhubarb.", "likes"),
        ("I can't bear rhubarb.", "dislikes"),
        ("I am allergic to rhubarb.", "is allergic to"),
        ("I avoid rhubarb.", "avoids"),
        ("I don't eat rhubarb.", "does not eat"),
        ("I never drink rhubarb juice.", "does not drink"),
        ("I don't believe I enjoy rhubarb.", ""),  # Denied, and nothing said instead.
        ("It is not that I love rhubarb.", ""),
    ],
)
def test_what_is_not_liked_not_eaten_and_not_borne_are_told_apart(text: str, verb: str) -> None:
    (found,) = read(text).preferences
    assert (found.verb, found.likes) == (verb, verb == "likes")


def test_which_thing_is_meant_is_no_taste() -> None:
    assert read("The songs I love make noise.").preferences == ()
    assert read("Last summer I really enjoyed it, and I love Fado.").preferences


def test_a_choice_that_is_denied_is_no_decision() -> None:
    assert read("I don't recall that we agreed on a price.").decisions == ()


@pytest.mark.parametrize(
    "text",
    [
        "Wir fahren morgen mit dem Zug nach Köln und Greta wartet am Dom.",
        "Ma cousine Odile habite à Nantes avec son frère.",
        "Mañana viajo con Lucía para ver a mi madre en Sevilla.",
        "Zítra pojedeme vlakem do Brna navštívit tetu Hanu.",
        "Завтра мы едем в Казань к Марине.",
        "明天我们去北京看王芳。",
    ],
)
def test_another_language_is_told(text: str) -> None:
    assert not is_read(text)


@pytest.mark.parametrize(
    "text",
    [
        "Tomorrow we take the train to Köln, Greta waits at the Dom.",
        "Odile Garnier, Nantes",
        "ok",
        "",
        "I read Der Spiegel and Le Monde.",
        "def main(): return 0",
    ],
)
def test_english_and_what_is_too_short_to_tell_is_read(text: str) -> None:
    assert is_read(text)
