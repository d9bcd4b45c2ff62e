"""HTML: what a reader sees, in order, also of pages that are not well made."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import TooLarge
from holdfast.records.documents.html import read_html
from holdfast.records.documents.values import Deadline, ReadDocument, Section

#: Left out of `make check`: each opens a memory, or takes its time.
pytestmark = pytest.mark.slow


def found(text: str) -> ReadDocument:
    return read_html(text, Deadline(60, "a.html"))


def texts(page: str) -> str:
    return "\n\n".join(section.text for section in found(page).sections)


def test_a_page_becomes_sections() -> None:
    page = """<!doctype html><html><head><title> My
      page </title><style>p {}</style></head><body><nav><a>Home</a></nav>
      <h1>Guide</h1><p>Hello <b>you</b>&nbsp;&amp; me.<br>Bye.</p>
      <h2>Install <i>it</i></h2><ul><li>one<li>two <b>x</b></ul><p>then</p>
      <table><tr><th>a</th><th>b</th></tr><tr><td>1<td>2 | 3</table>
      <pre>x = 1\n\n  y</pre></body></html>"""
    assert found(page) == ReadDocument(
        "My page",
        (
            Section(("Guide",), "Hello you & me.\nBye."),
            Section(
                ("Guide", "Install it"),
                "- one\n- two x\n\nthen\n\n| a | b |\n| 1 | 2 \\| 3 |\n\n```\nx = 1\n\n  y\n```",
            ),
        ),
    )


@pytest.mark.parametrize(
    "hidden",
    [
        "<script>secret</script>",
        "<style>secret</style>",
        "<nav><ul><li>secret</ul></nav>",
        "<p hidden>secret</p>",
        '<div aria-hidden="true"><p>secret</div>',
        '<div style="color: red; DISPLAY : none"><p>secret</p></div>',
        "<template><p>secret</p></template>",
        "<!-- secret -->",
        "<svg><title>secret</title></svg>",
        "<li hidden>secret<li>",
        "<table hidden><tr><td>secret</table>",
        "<pre hidden>secret</pre>",
        "<h1 hidden>secret</h1>",
    ],
)
def test_what_a_reader_never_sees_is_dropped(hidden: str) -> None:
    read = found(f"<body><p>before</p>{hidden}<p>after</p>")
    assert "secret" not in str(read)
    assert "before" in str(read)
    assert "after" in str(read)


@pytest.mark.parametrize(
    "page",
    [
        "<p>one<p>two",
        "</b></div><p>one</p></p></p>two",
        "<div><p>one</div>two",
        "one<br><br>two",
        "<h1><p>one</h1>two",
        "<b>one</i></b> two",
        "<p>one</p><p>two<unknown attr='",
        "<table><td>one<td>two",
        "<ul><li><p>one</p><li><p>two</p>",
        "<head><title>x</title><body>one two",
        "<p>one</p>\x00<p>two &unknown; &#xfffffff;",
    ],
)
def test_pages_that_are_not_well_made_keep_their_words(page: str) -> None:
    said = " ".join(str((each.headings, each.text)) for each in found(page).sections)
    assert said.index("one") < said.index("two")


def test_code_that_holds_a_fence() -> None:
    assert texts("<pre>```\nx\n```</pre>") == "````\n```\nx\n```\n````"


def test_headings_open_one_another() -> None:
    assert [each.headings for each in found("<h1>A<h2>B</h2><p>x").sections] == [("A", "B")]


@pytest.mark.parametrize(
    "page",
    [
        "<div>" * 100_000 + "deep",
        "<div>" * 100_000 + "deep" + "</div>" * 100_000,
        "<b>" * 100_000 + "</i>" * 100_000 + "deep",
        "<ul><li>" * 50_000 + "deep",
        "<table><tr><td>" * 30_000 + "deep",
    ],
    ids=["open", "closed", "mismatched", "lists", "tables"],
)
def test_depth_costs_nothing(page: str) -> None:
    began = time.thread_time()
    assert texts(page).strip("-| ") == "deep"
    assert time.thread_time() - began < 10


@pytest.mark.parametrize(
    "piece",
    [
        "<!--",
        "<a ",
        "<![CDATA[",
        "&#",
        "<",
        "</",
        "<a b='",
        "<a b=\"'>",
        "<script>",
        "<title>",
        "<!",
    ],
)
def test_what_never_ends_ends(piece: str) -> None:
    began = time.thread_time()
    assert "text" in texts("<p>text</p>" + piece * 200_000)
    assert time.thread_time() - began < 10


def test_a_quote_in_a_tag_hides_its_bracket_only_if_it_ends() -> None:
    assert texts("<a title='a > b'>one</a> <a title=it's>two</a>") == "one two"
    assert texts('<a href="x>one</a> two') == "one two"


def test_character_references() -> None:
    assert texts("&lt;b&gt; &eacute; &#233; &#x20AC; &nope; AT&T") == "<b> é é € &nope; AT&T"
    assert texts("a &#" + "9" * 10_000 + "; b") == "a \ufffd b"


def test_time_is_bounded() -> None:
    with pytest.raises(TooLarge, match="the limit of 0 seconds"):
        read_html("<p>x" * 100_000, Deadline(0, "a.html"))


_TAGS = st.sampled_from(
    "p div li ul table tr td h1 h2 b pre br nav script title head body".split()  # noqa: SIM905
)
_PIECES = st.one_of(
    _TAGS.map(lambda tag: f"<{tag}>"),
    _TAGS.map(lambda tag: f"</{tag}>"),
    st.sampled_from(["<p hidden>", "&lt;", "<", " "]),
    st.text("abc \n", max_size=5),
)


@given(st.lists(_PIECES, max_size=60))
def test_any_soup_is_read(pieces: list[str]) -> None:
    for section in found("".join(pieces)).sections:
        assert section.text.strip()


@given(st.lists(st.sampled_from(["p", "div", "li", "h2", "td", "pre", "b"]), max_size=30))
def test_no_shown_word_is_lost_or_doubled(tags: list[str]) -> None:
    page = "".join(f"<{tag}>w{i}x</{tag}>" for i, tag in enumerate(tags))
    sections = found(page).sections
    said = " ".join([*(each.text for each in sections), *(str(each.headings) for each in sections)])
    for i in range(len(tags)):
        assert f"w{i}x" in said
    body = " ".join(each.text for each in sections)
    assert all(body.count(f"w{i}x") <= 1 for i in range(len(tags)))
