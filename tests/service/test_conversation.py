"""A conversation is split where it is one, and left alone where it is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.service.dialects.atomic_ingest import messages_of


def split(text: str) -> list[tuple[str, str]]:
    """(name or role, content) of each message."""
    return [(each.get("name") or each["role"], each["content"]) for each in messages_of(text)]


ONE_MESSAGE = {
    "plain text": "Always cite sources for every claim.",
    "a note with a label": "Note: buy milk",
    "two labels": "Note: buy milk\nTODO: call the bank",
    "text, then a name once": "I met someone.\nAnn: she is a doctor",
    "a name once": "Lisbon: the best city I have seen",
    "addresses": "http://example.org/a\nhttps://example.org/b",
    "times of day": "12:30 lunch\n13:45 call\n14:00: nap",
    "a drive": "C:\\temp\nD:\\data",
    "code": "std::vector<int> v;\nFoo::bar();",
    "a form": "Fruit: apple\nColour: red\nWeight: 120 g",
    "a form with known labels": "Name: Ann Lee\nCity: Lisbon",
    "a mail": "From: Ann\nTo: Bob\nSubject: lunch\n\nSee you at noon.",
    "lower-case keys": "host: localhost\nport: 3050\nhost: other",
    "a configuration below a sentence": "My settings are\nuser: root\npassword: none",
    "one role word that is a noun": "System: Windows 11",
    "two role words that are nouns": "System: Windows 11\nTool: hammer",
    "a role word inside a line": "I said user: hello to the prompt",
    "a role word as a part": "user123: hi\nend-user: hello",
    "a fenced block": "Look at this:\n```\nuser: root\nassistant: none\n```",
    "a sentence that ends in a colon": "Things I like about Ann and Bob today: all\nOnly that: yes",
    "nothing but a prefix": "user:",
    "nothing but prefixes": "user:\nassistant:\n",
    "weekdays": "Monday: gym\nTuesday: swim",
    "a quotation": 'He said: "yes"\nShe said: "no"',
    "no space after the colon": "Ann:hello\nBob:hi",
}


@pytest.mark.parametrize("text", ONE_MESSAGE.values(), ids=ONE_MESSAGE)
def test_what_is_no_dialogue_is_one_user_message_as_it_stands(text: str) -> None:
    assert messages_of(text) == [{"role": "user", "content": text}]


def test_roles_in_any_case() -> None:
    text = "user: I moved to Lisbon.\nASSISTANT: Noted.\nUser: Thanks!"
    assert split(text) == [
        ("user", "I moved to Lisbon."),
        ("assistant", "Noted."),
        ("user", "Thanks!"),
    ]


def test_one_known_role_at_the_start_is_enough() -> None:
    assert split("User: I moved to Lisbon.") == [("user", "I moved to Lisbon.")]
    assert split("\n  assistant: Noted.") == [("assistant", "Noted.")]


def test_other_words_for_the_roles_count_together() -> None:
    assert split("Human: hi\nAI: hello") == [("user", "hi"), ("assistant", "hello")]
    text = "system: Be brief.\nuser: hi\ntool: 42\nassistant: hello"
    assert [who for who, _ in split(text)] == ["system", "user", "tool", "assistant"]


def test_names_become_users_of_that_name() -> None:
    assert messages_of("Ann: I moved to Lisbon.\nBob: Nice!") == [
        {"role": "user", "name": "Ann", "content": "I moved to Lisbon."},
        {"role": "user", "name": "Bob", "content": "Nice!"},
    ]


@pytest.mark.parametrize(
    "name", ["Ann", "Mary-Jane O'Neil", "Dr. Smith", "José", "李雷", "Ann B.", "X Æ", "R2 D2"]
)
def test_what_a_name_may_look_like(name: str) -> None:
    assert split(f"{name}: hi\nBob: hello\n{name}: bye") == [
        (name, "hi"),
        ("Bob", "hello"),
        (name, "bye"),
    ]


def test_a_wide_colon_needs_no_space() -> None:
    assert split("李雷：你好\n韩梅梅：你好吗") == [("李雷", "你好"), ("韩梅梅", "你好吗")]


def test_three_speakers_of_whom_one_speaks_again() -> None:
    text = "Ann: Who comes?\nBob: I do.\nCara: Me too.\nAnn: Good."
    assert [who for who, _ in split(text)] == ["Ann", "Bob", "Cara", "Ann"]


def test_a_label_inside_a_turn_is_text() -> None:
    text = "Ann: My list.\nNote: bring milk\nBob: Fine."
    assert split(text) == [("Ann", "My list.\nNote: bring milk"), ("Bob", "Fine.")]


def test_where_the_human_is_called_user_names_are_text() -> None:
    text = "user: I need\nMilk: 2 litres\nEggs: 12\nMilk: sour\nassistant: ok"
    assert split(text) == [("user", "I need\nMilk: 2 litres\nEggs: 12\nMilk: sour"),
                           ("assistant", "ok")]  # fmt: skip


def test_a_name_speaks_with_the_assistant() -> None:
    text = "Ann: I moved.\nassistant: Where to?\nAnn: Lisbon."
    assert split(text) == [("Ann", "I moved."), ("assistant", "Where to?"), ("Ann", "Lisbon.")]


def test_turns_keep_their_lines() -> None:
    text = "user: first\n\n  second: indented\nthird 12:30\r\nassistant:\nbelow\n"
    assert split(text) == [
        ("user", "first\n\n  second: indented\nthird 12:30"),
        ("assistant", "below"),
    ]


def test_a_fenced_block_stays_in_its_turn() -> None:
    text = "user: why?\n```yaml\nuser: root\nassistant: x\n```\nassistant: because"
    assert split(text) == [
        ("user", "why?\n```yaml\nuser: root\nassistant: x\n```"),
        ("assistant", "because"),
    ]


def test_a_fence_that_never_closes_fences_nothing() -> None:
    assert len(split("user: look\n```\ncode\nassistant: you forgot the fence")) == 2


def test_bold_prefixes() -> None:
    assert split("**User:** hi\n**Assistant**: hello") == [("user", "hi"), ("assistant", "hello")]


def test_what_stands_before_the_first_turn_is_kept() -> None:
    text = "A talk in May.\nuser: hi\nassistant: hello"
    assert split(text) == [("user", "A talk in May."), ("user", "hi"), ("assistant", "hello")]


def test_blank_turns_are_left_out() -> None:
    assert split("user:   \nassistant: hello\nuser:") == [("assistant", "hello")]


PIECES = st.sampled_from(
    ["user:", "Ann:", "Note:", " ", "\n", "\r\n", "hi", "12:30", "```", "**", "：", "\u2028", "é"]
)


@given(st.lists(PIECES | st.text(max_size=5), max_size=40).map("".join))
def test_no_word_is_lost_and_none_is_made_up(text: str) -> None:
    messages = messages_of(text)
    assert messages
    place = 0
    for message in messages:  # Each content stands in the text, one after the other.
        place = text.index(message["content"], place) + len(message["content"])
    if len(messages) > 1:
        assert all(message["content"].strip() for message in messages)


def test_a_large_text_is_split_in_time() -> None:
    text = "user: " + "a " * 200_000 + "\n" + "Ann " * 100_000 + "\nassistant: b" * 20_000
    assert len(messages_of(text)) == 20_001


# Session headers


def test_a_session_header_sets_the_time_of_what_follows() -> None:
    text = (
        "[Session date: 2024-03-15]\nuser: I moved to Leeds.\nassistant: Congratulations!\n"
        "[session date: 2024-05-02T18:30:00+02:00]\nuser: I moved to York.\n"
    )
    assert [(each["content"], each["at"]) for each in messages_of(text)] == [
        ("I moved to Leeds.", "2024-03-15T00:00:00+00:00"),
        ("Congratulations!", "2024-03-15T00:00:00+00:00"),
        ("I moved to York.", "2024-05-02T16:30:00+00:00"),
    ]


def test_what_stands_before_the_first_header_has_no_time_of_its_own() -> None:
    first, second = messages_of("I like tea.\n[Session date: 2024-03-15]\nNow I like coffee.")
    assert (first, second["content"]) == (
        {"role": "user", "content": "I like tea."}, "Now I like coffee.",
    )  # fmt: skip
    assert second["at"].startswith("2024-03-15")


@pytest.mark.parametrize(
    "text",
    [
        "[Session date: the day after]\nI like tea.",
        "[Session date: 0001-01-01]\nI like tea.",
        "I wrote [Session date: 2024-03-15] at the top.",
        "```\n[Session date: 2024-03-15]\n```\nWhat is this?",
        "[Session date: 2024-03-15]",
    ],
)
def test_what_is_no_header_stays_text(text: str) -> None:
    assert messages_of(text) == [{"role": "user", "content": text}]
