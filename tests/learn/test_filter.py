"""What is learned from: speech, not traffic."""

import time
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.language.echo import without_recalled
from holdfast.learn.filter import is_acknowledgement, speech, turns_to_learn_from
from holdfast.types import Event

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def turn(role: str, content: str, **metadata: Any) -> Event:
    origin = "user" if role == "user" else "agent"
    return Event("e" * 32, 1, role, content, NOW, NOW, origin, metadata=metadata)


def texts(*turns: Event) -> list[str]:
    return [kept.content for kept in turns_to_learn_from(turns)]


def test_user_turns_and_final_answers_are_kept_in_order() -> None:
    said = [turn("user", "I moved to Lisbon."), turn("assistant", "How do you like it?")]
    assert turns_to_learn_from(said) == said


def test_system_and_tool_turns_are_dropped() -> None:
    assert texts(turn("system", "You are kind."), turn("tool", "rows: 3")) == []


def test_what_an_assistant_says_on_the_way_to_a_tool_is_dropped() -> None:
    assert texts(
        turn("user", "When is the Oslo train?"),
        turn("assistant", "Let me look that up."),
        turn("tool", "08:15"),
        turn("assistant", "It leaves at 08:15."),
    ) == ["When is the Oslo train?", "It leaves at 08:15."]


@pytest.mark.parametrize("key", ["tool_calls", "function_call", "tool_call_id"])
def test_a_turn_that_carries_a_tool_call_is_dropped(key: str) -> None:
    assert texts(turn("assistant", "Looking.", **{key: [{"id": "1"}]})) == []
    assert texts(turn("assistant", "Done.", **{key: []})) == ["Done."]


def test_hidden_turns_are_dropped_with_their_reply() -> None:
    assert texts(
        turn("user", "Reminder: summarise.", hide_from_ui=True),
        turn("assistant", "Summary."),
        turn("user", "I like jazz."),
    ) == ["I like jazz."]


@pytest.mark.parametrize(
    "text",
    [
        *("ok", "OK!", "Thanks", "thank you so much!!", "ok, thanks :)", "Great, got it.", "👍"),
        *(
            "Thanks a lot",
            "haha",
            "sounds good",
            "好的",
            "好的，谢谢！",
            "嗯嗯",
            "明白了",
            "收到。",
        ),
        *("k", "no problem", "you\u2019re welcome", "Perfect, thanks again.", "谢谢你", "行吧"),
    ],
)
def test_an_acknowledgement_is_dropped_with_its_reply(text: str) -> None:
    assert is_acknowledgement(text)
    assert texts(turn("user", text), turn("assistant", "You're welcome, Ann!")) == []


@pytest.mark.parametrize(
    "text",
    [
        *("yes", "no", "Thanks, I will take the blue one.", "OK computer is my favourite album"),
        *("right, it was Ann", "好的，我住在上海", "cool, my name is Bo", "42", "Ann", "不"),
        "thanks " * 40,
    ],
)
def test_what_says_anything_more_is_kept(text: str) -> None:
    assert texts(turn("user", text)) == [text.strip()]


def test_the_reply_to_the_next_real_turn_is_kept() -> None:
    assert texts(
        turn("user", "thanks"),
        turn("assistant", "Any time."),
        turn("user", "I have a dog."),
        turn("assistant", "What is it called?"),
    ) == ["I have a dog.", "What is it called?"]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<uploaded_files>\n- a.pdf (3 kB)\n</uploaded_files>\nIs this mine?", "Is this mine?"),
        ("Look.\n<ATTACHMENT name='x'>secret</ATTACHMENT>", "Look."),
        ("a <file>b <file>c</file> d</file> e", "a  e"),
        ("<file>one</file> two <file>three</file> four", "two  four"),
        ("<uploaded_files>\n- a.pdf\n- b.pdf\n\nWhat is in them?", "What is in them?"),
        ("Hm. <uploaded_files>\n- a.pdf", "Hm."),
        ("tail</attachment> of a paste", "tail of a paste"),
        ("[Attachment: plan.docx]\nPlease read it.", "Please read it."),
        ("[图片]\n这是我家的猫。", "这是我家的猫。"),
        ("![shot](data:image/png;base64,AAAA)\nSee?", "See?"),
        ("see data:image/png;base64,iVBORw0KGgo= here", "see  here"),
        ("Uploaded files: a.csv, b.csv", ""),
        ("I uploaded my CV yesterday to their page.", "I uploaded my CV yesterday to their page."),
        ("if a < b and b > c", "if a < b and b > c"),
        ("<b>bold</b> claim", "<b>bold</b> claim"),
    ],
)
def test_uploads_are_taken_out(text: str, left: str) -> None:
    assert speech(text) == left


def test_a_turn_that_was_only_an_upload_goes_with_its_reply() -> None:
    assert (
        texts(
            turn("user", "<uploaded_files>\n- cv.pdf\n</uploaded_files>"),
            turn("assistant", "This is a CV of a nurse from Leeds."),
        )
        == []
    )


def test_our_own_memory_blocks_are_taken_out_by_the_function_that_knows_them() -> None:
    pasted = "[Memory: fact | 2026-03-01]\nAnn lives in Lisbon.\nconfidence: 0.90\n\nIs this true?"
    kept = turns_to_learn_from(
        [turn("user", pasted)], own=lambda text: without_recalled(text, set())
    )
    assert [each.content for each in kept] == ["Is this true?"]


def test_the_events_themselves_are_not_changed() -> None:
    event = turn("user", "[File: a.txt]\nHello Bo", source="web")
    (kept,) = turns_to_learn_from([event])
    assert event.content == "[File: a.txt]\nHello Bo"
    assert (kept.id, kept.metadata) == (event.id, event.metadata)


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool", "system"]), st.text())))
def test_nothing_is_invented_and_no_order_is_changed(said: list[tuple[str, str]]) -> None:
    turns = [turn(role, content) for role, content in said]
    kept = turns_to_learn_from(turns)
    left = iter(turns)
    for each in kept:
        assert any(each.role == one.role and len(each.content) <= len(one.content) for one in left)


@pytest.mark.parametrize(
    "hostile",
    ["<file>" * 40_000, "<file>\n\n" * 30_000, "</file>" * 40_000, "ok " * 80_000, "![" * 100_000],
)
def test_a_hostile_text_costs_no_more_than_a_long_one(hostile: str) -> None:
    started = time.thread_time()
    turns_to_learn_from([turn("user", hostile)])
    assert time.thread_time() - started < 2
