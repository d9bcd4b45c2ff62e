"""Which format a document has, and bytes as text."""

import pytest

from holdfast.errors import InvalidInput
from holdfast.records.documents.reading import format_of, read_document
from holdfast.records.documents.values import Deadline, ReadDocument, ReadLimits, Section


def found(data: bytes | str, name: str = "a.txt", format: str | None = None) -> ReadDocument:
    kind = format_of(data, name, format)
    return read_document(data, name, kind, limits=ReadLimits(), deadline=Deadline(30, name))


@pytest.mark.parametrize(
    ("data", "name", "given", "format"),
    [
        (b"x", "a.md", None, "markdown"),
        (b"x", "A.HTM", None, "html"),
        (b"x", "a.md", "text", "text"),
        (b"%PDF-1.4", "report", None, "pdf"),
        (b"  <!-- made by hand --> <!DOCTYPE HTML><p>x", "page", None, "html"),
        (b"\xef\xbb\xbf<html>", "page", None, "html"),
        ("<html><p>x", "page", None, "html"),
        (b"# x", "notes", None, "text"),
        (b"x", "a.py", None, "text"),
    ],
)
def test_the_format_is_given_or_told_by_the_name_or_the_beginning(
    data: bytes | str, name: str, given: str | None, format: str
) -> None:
    assert format_of(data, name, given) == format


def test_an_unknown_format_is_refused_with_those_there_are() -> None:
    with pytest.raises(InvalidInput, match="text, markdown, html, pdf, not 'docx'") as error:
        format_of(b"x", "a.txt", "docx")
    assert error.value.field == "format"


@pytest.mark.parametrize(
    "data",
    ["Grüße €".encode(), "Grüße €".encode("utf-8-sig"), "Grüße €".encode("utf-16")],
    ids=["utf-8", "mark", "utf-16"],
)
def test_unicode_is_read_without_a_warning(data: bytes) -> None:
    assert found(data) == ReadDocument("", (Section((), "Grüße €"),))


def test_other_bytes_are_read_as_windows_1252_with_a_warning() -> None:
    read = found("“Grüße”".encode("cp1252"))
    assert read.sections[0].text == "“Grüße”"
    assert read.warnings == ("a.txt is not UTF-8: read as Windows-1252 (Latin-1)",)


def test_damaged_utf_16_is_read_with_a_warning() -> None:
    read = found("Hello you".encode("utf-16") + b"\x00")
    assert read.sections[0].text.startswith("Hello you")
    assert "damaged utf-16" in read.warnings[0]


def test_the_charset_of_a_page_counts() -> None:
    page = '<meta charset="koi8-r"><p>Привет'.encode("koi8-r")
    assert found(page, "a.html").sections[0].text == "Привет"
    forged = b'<meta charset="punycode"><p>abc'
    assert found(forged, "a.html").sections[0].text == "abc"


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"PK\x03\x04" + b"word/document.xml" * 10, "zip archive"),
        (b"\x1f\x8b\x08" + b"x" * 100, "gzip"),
        (b"%PDF-1.7 ...", "a PDF"),
        (b"\x89PNG\r\n\x1a\n", "PNG"),
        (bytes(range(256)) * 10, "control characters"),
        ("ab".encode("utf-16-le") * 50, "control characters"),
        (b"\x00" * 5000, "control characters"),
    ],
)
@pytest.mark.parametrize("format", ["text", "markdown", "html"])
def test_what_is_no_text_is_refused_whatever_it_is_called(
    data: bytes, what: str, format: str
) -> None:
    with pytest.raises(InvalidInput, match=what) as error:
        found(data, format=format)
    assert error.value.field == "source"


@pytest.mark.parametrize("data", [b"", "", b" \n\t ", "\ufeff\n", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("format", ["text", "markdown", "html"])
def test_nothing_is_refused(data: bytes | str, format: str) -> None:
    with pytest.raises(InvalidInput, match=r"empty|blank"):
        found(data, format=format)


@pytest.mark.parametrize(
    ("text", "format"),
    [("<p hidden>x</p><script>y</script>", "html"), ("---\ntitle: x\n---\n", "markdown")],
)
def test_a_document_that_shows_nothing_is_refused(text: str, format: str) -> None:
    with pytest.raises(InvalidInput, match="no text"):
        found(text, format=format)


def test_what_no_store_can_hold_is_replaced_with_a_warning() -> None:
    text = "a fine text " * 10
    read = found(f"{text}\x00 and \ud800")
    assert read.sections[0].text == f"{text}\ufffd and \ufffd"
    assert read.warnings == ("a.txt: 2 unstorable characters became U+FFFD",)
    assert found(f"{text}\x00".encode()).warnings


def test_line_ends_and_form_feeds() -> None:
    assert found(b"a\r\nb\rc\fd").sections[0].text == "a\nb\nc\n\nd"


def test_a_pdf_is_not_given_as_a_text() -> None:
    with pytest.raises(InvalidInput, match="bytes"):
        found("%PDF-1.4", format="pdf")
