"""Corrections: what was wrong, and what only sounds like one."""

import pytest

from holdfast.language.statements.facts import find_correction, objection_end


@pytest.mark.parametrize(
    ("text", "avoid"),
    [
        ("No, it's the 14th, not the 15th.", "the 15th"),
        ("It's Tuesday, not Monday.", "Monday"),
        ("I said Vienna, not Venice.", "Venice"),
        ("Not Berlin, Bern.", "Berlin"),
        ("No, not Anna but Hannah.", "Anna"),
        ("Actually it's my brother Tom who lives there, not my cousin.", "my cousin"),
        ("My sister lives in Porto, not Lisbon.", "Lisbon"),
        ("Actually, it's 14 Mill Road.", ""),
        ("No, my surname is Brandt.", ""),
        ("我不是北京人，是上海人。", "北京人"),
        ("会议在周五，不是周四。", "周四"),
        ("It's the journey, not the destination.", None),
        ("Actually, it's been hard.", None),
        ("Nope, not yet!", None),
        ("No, it's fine.", None),
        ("I must not lift anything heavy until June.", None),
        ("Not only Rome but Paris.", None),
        ("I live in Rome.", None),
        ("No, " + "it's the 14th and so on " * 30 + ", not the 15th.", None),
        ("", None),
    ],
)
def test_what_was_wrong(text: str, avoid: str | None) -> None:
    assert find_correction(text, text.lower()) == avoid


def test_an_objection_ends_where_the_right_thing_begins() -> None:
    low = "that's wrong, my flight lands at seven."
    assert low[objection_end(low) :] == ", my flight lands at seven."
    assert objection_end("my flight lands at seven.") == 0
    assert objection_end("i said vienna") == 0
