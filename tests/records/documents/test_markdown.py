"""Markdown: which lines are headings, and that nothing else is."""

import time

import pytest

from holdfast.errors import TooLarge
from holdfast.records.documents.reading import read_markdown
from holdfast.records.documents.values import Deadline, ReadDocument, Section


def found(text: str) -> ReadDocument:
    return read_markdown(text, Deadline(30, "a.md"))


def test_text_stands_under_the_headings_around_it() -> None:
    text = "before\n\n# Guide\n\nHello.\n\n## Install ##\nRun it.\n### Linux {#tux}\nx\n## Use\ny\n"
    assert found(text).sections == (
        Section((), "before"),
        Section(("Guide",), "Hello."),
        Section(("Guide", "Install"), "Run it."),
        Section(("Guide", "Install", "Linux"), "x"),
        Section(("Guide", "Use"), "y"),
    )


def test_underlined_headings() -> None:
    sections = found("Guide\n=====\n\nHello\nyou.\n\nInstall\n---\n\nRun it.").sections
    assert sections == (
        Section(("Guide",), "Hello\nyou."),
        Section(("Guide", "Install"), "Run it."),
    )


@pytest.mark.parametrize(
    "text",
    [
        "#hashtag",
        "####### seven",
        "    # code",
        "- item\n---",
        "| a |\n---",
        "> said\n===",
        "```\n# comment\n```",
        "~~~~\n# comment\n~~~\n~~~~",
        "# " + "long " * 100,
        "C# is a language",
    ],
)
def test_what_looks_like_a_heading_and_is_none(text: str) -> None:
    assert [each.headings for each in found(text).sections] == [()]


def test_code_stays_whole_and_open_code_goes_to_the_end() -> None:
    code = "```python\nx = 1\n\n# no heading\n```"
    assert found(f"# A\n{code}\ntext").sections == (Section(("A",), f"{code}\n\ntext"),)
    assert found("```\na\n\n# b").sections == (Section((), "```\na\n\n# b"),)
    inner = "````\n```\ninner\n```\n````"
    assert found(inner).sections == (Section((), inner),)


def test_lists_and_tables_stay_as_they_are() -> None:
    text = "| a | b |\n|---|---|\n| 1 | 2 |\n\n- one\n- two\n  - three"
    assert found(text).sections == (Section((), text),)


def test_a_line_across_the_page_is_no_text() -> None:
    assert found("a\n\n---\n\nb\n\n* * *\n\nc").sections == (Section((), "a\n\nb\n\nc"),)


def test_a_heading_with_nothing_under_it_is_text() -> None:
    assert found("# Guide\n\n## Empty\n\n## Full\n\nx\n\n## Last").sections == (
        Section(("Guide",), "Empty"),
        Section(("Guide", "Full"), "x"),
        Section(("Guide",), "Last"),
    )
    assert found("# A\n\n## B\n\nx\n\n# C\n").sections[-1] == Section((), "C")


def test_front_matter_is_about_the_document() -> None:
    read = found('---\ntitle: "My guide"\nAuthor: Ann\ntags:\n  - a\n---\n# Guide\n\nHello.')
    assert read.title == "My guide"
    assert read.about == {"title": "My guide", "author": "Ann"}
    assert read.sections == (Section(("Guide",), "Hello."),)
    assert found("---\nno end\n\ntext").about == {}
    assert "text" in found("---\nno end\n\ntext").sections[0].text


def test_one_line_of_5_megabytes() -> None:
    for line in ("word " * 1_000_000, "#" * 5_000_000, "- " * 2_500_000, " " * 5_000_000 + "x"):
        began = time.thread_time()
        assert len(found(line).sections) == 1
        assert time.thread_time() - began < 5


def test_time_is_bounded() -> None:
    with pytest.raises(TooLarge, match="the limit of 0 seconds"):
        read_markdown("a\n" * 100_000, Deadline(0, "a.md"))
