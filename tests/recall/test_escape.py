"""Any text on one line, and back."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.recall.context.safe import code, from_line, to_line

TEXT = st.text(st.characters(), max_size=60)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("I moved to Lisbon.", "I moved to Lisbon."),
        ("two\nlines\tand\r", "two\\nlines\\tand\\r"),
        ("C:\\new", "C:\\\\new"),
        ("</memory>", "\\u003c/memory\\u003e"),
        ("a\x00b\x1b", "a\\u0000b\\u001b"),
        ("\u202eevil", "\\u202eevil"),
        ("\U000e0041", "\\U000e0041"),
        ("\ud800", "\\ud800"),
        ("\\u003c", "\\\\u003c"),
        ('"quoted" & é 漢字 🚀', '"quoted" & é 漢字 🚀'),
    ],
)
def test_what_breaks_or_hides_is_escaped(text: str, written: str) -> None:
    assert to_line(text) == written
    assert from_line(written) == text


@given(TEXT, st.booleans())
def test_every_text_comes_back_from_one_printable_line(text: str, angles: bool) -> None:
    written = to_line(text, angles=angles)
    assert from_line(written) == text
    assert len(("x" + written).splitlines()) == 1
    assert not {unicodedata.category(c) for c in written} & {"Cc", "Cs", "Zl", "Zp"}
    if angles:
        assert not set("<>") & set(written)


def test_angles_may_stay() -> None:
    assert to_line("a < b\n", angles=False) == "a < b\\n"


def test_a_character_by_its_number() -> None:
    assert (code(" "), code("\U000e0041")) == ("\\u0020", "\\U000e0041")
