"""PDFs: their pages and headings, and files that are broken, locked or made to harm."""

import time

import pytest

from holdfast.errors import InvalidInput, TooLarge
from holdfast.records.documents.pdf import read_pdf
from holdfast.records.documents.values import (
    MIB,
    Deadline,
    ReadDocument,
    ReadLimits,
    Section,
)
from tests.records.documents import pdfs

#: Left out of `make check`: each opens a memory, or takes its time.
pytestmark = pytest.mark.slow

TWO = pdfs.pdf(["Hello world\nSecond line", "Install\nRun pip\nUse it\nImport it"], title="Guide")


def found(data: bytes, *, seconds: float = 60.0, **limits: int) -> ReadDocument:
    return read_pdf(data, "a.pdf", ReadLimits(**limits), Deadline(seconds, "a.pdf"))


def test_the_pages_are_the_sections() -> None:
    assert found(TWO) == ReadDocument(
        "Guide",
        (
            Section((), "Hello world\nSecond line", 1),
            Section((), "Install\nRun pip\nUse it\nImport it", 2),
        ),
    )


def test_an_outline_gives_headings_where_they_stand_on_the_page() -> None:
    data = pdfs.with_outline(TWO, [("Intro", 0, None), ("Install", 1, None), ("Use it", 1, 1)])
    assert found(data).sections == (
        Section(("Intro",), "Hello world\nSecond line", 1),
        Section(("Install",), "Install\nRun pip", 2),
        Section(("Install", "Use it"), "Use it\nImport it", 2),
    )


def test_a_heading_holds_until_the_next_and_one_that_is_on_no_line_begins_with_its_page() -> None:
    pages = pdfs.pdf(["one", "two", "three"])
    data = pdfs.with_outline(pages, [("First", 0, None), ("Third", 2, None)])
    sections = found(data).sections
    assert [each.headings for each in sections] == [("First",), ("First",), ("Third",)]


def test_one_that_needs_a_password_says_so() -> None:
    with pytest.raises(InvalidInput, match="encrypted"):
        found(pdfs.encrypted(TWO, "secret"))


def test_one_that_only_forbids_to_print_is_read() -> None:
    assert found(pdfs.encrypted(TWO, "")).sections == found(TWO).sections


@pytest.mark.parametrize(
    "data",
    [TWO[: len(TWO) // 2], b"%PDF-1.4\n", b"%PDF-1.4\n" + bytes(range(256)) * 100],
    ids=["half", "nothing", "rubbish"],
)
def test_a_broken_one_says_so(data: bytes) -> None:
    with pytest.raises(InvalidInput, match="broken PDF"):
        found(data)


def test_what_is_called_a_pdf_and_is_none() -> None:
    with pytest.raises(InvalidInput, match="no PDF"):
        found(b"Hello world")


def test_one_without_text_says_what_it_needs() -> None:
    with pytest.raises(InvalidInput, match="no text on 2 pages"):
        found(pdfs.pdf(["", ""]))


def test_a_page_that_cannot_be_read_costs_that_page_alone() -> None:
    strange = b"<< /Filter /Nonsense /Length 3 >>\nstream\nabc\nendstream"
    bad = pdfs.from_streams([strange, pdfs.packed(b"BT /F1 12 Tf (Hello) Tj ET")])
    read = found(bad)
    assert [(each.text, each.page) for each in read.sections] == [("Hello", 2)]
    assert read.warnings == ("a.pdf: page 1 cannot be read",)


def test_too_many_pages_are_refused_by_what_the_file_says_of_itself() -> None:
    hello = pdfs.packed(b"BT /F1 12 Tf (Hello) Tj ET")
    many = pdfs.from_streams([hello], times=100_000)
    began = time.monotonic()
    with pytest.raises(TooLarge, match="more than 5000 pages"):
        found(many)
    assert time.monotonic() - began < 30
    lying = pdfs.from_streams([hello], times=20).replace(b"/Count 20", b"/Count 01")
    with pytest.raises(TooLarge, match="more than 10 pages"):
        found(lying, pages=10)


@pytest.mark.parametrize("times", [1, 2])
def test_what_unpacks_without_end_is_refused(times: int) -> None:
    bomb = pdfs.from_streams([pdfs.packed(b" " * (100 * MIB), times=times)])
    assert len(bomb) < MIB
    with pytest.raises(TooLarge, match="unpacks to more"):
        found(bomb)


def test_memory_is_bounded() -> None:
    bomb = pdfs.from_streams([pdfs.packed(b"BT (a) Tj ET " * 3_000_000)])
    with pytest.raises(TooLarge, match="memory than the limit of 96 MiB"):
        found(bomb, memory_bytes=96 * MIB)


def test_time_is_bounded() -> None:
    slow = pdfs.from_streams([pdfs.packed(b"BT (a) Tj ET " * 200_000)], times=100)
    began = time.monotonic()
    with pytest.raises(TooLarge, match="the limit of 1 seconds"):
        found(slow, seconds=1.0)
    assert time.monotonic() - began < 30


def test_the_text_is_bounded() -> None:
    page = pdfs.pdf(["x" * 600])
    with pytest.raises(TooLarge, match="more than 500 characters"):
        found(page, bytes=500)
