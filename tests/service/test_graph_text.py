"""A graph as text: whatever a name holds, it is well-formed, and what it shows is there."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.language.vocabulary import ENTITY_TYPES
from holdfast.service.graph_text import COLOURS, as_json, mermaid, short, table
from holdfast.types import Edge, Event, Node, Subgraph

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)

LABEL = r"(?:[^\W_]|[ ,'-]|#\d+;)+"
COLOUR = "#[0-9a-f]{6}"
GRAMMAR = re.compile(
    "|".join(
        [
            "flowchart LR",
            f"  classDef [a-z]+ fill:{COLOUR},stroke:{COLOUR},color:{COLOUR}",
            rf'  n\d+\["{LABEL}"\]:::[a-z]+',
            rf'  n\d+ -->\|"{LABEL}"\| n\d+',
            r"  %% \d+ more left out: too much for one drawing",
        ]
    )
)

NASTY = [
    'a"]',
    "<script>alert(1)</script>",
    'a\nclick n0 href "javascript:alert(1)"',
    "%%{init: {}}%%",
    "`**bold**`",
    "1. first",
    "- item",
    "]]>",
    "<!-- -->",
    "&amp;&#0;",
    "#quot; #9829;",
    "style x:#fff;",
    "ﬂ°°34¶ß",
    "\u202egnp.exe",
    "\x00\x1b[31m\ud800\ufffe",
    "שלום עולם",
    "🏳️‍🌈🎉",
    "東京都の大きな図書館",
    "end",
    "_",
    " ",
    "",
    "x" * 200,
    '"' * 200,
]


def an_id(number: int) -> str:
    return f"{number:032x}"


def a_graph(*names: str, edges: str = "", **given: str) -> Subgraph:
    """Entities, and edges between them as "01 12": numbers of their ends."""
    nodes = [Node(an_id(n), name, given.get("type", "person")) for n, name in enumerate(names)]
    told = [
        Edge(
            an_id(1000 + n),
            an_id(int(a)),
            "related_to",
            an_id(int(b)),
            original=given.get("said", "knows"),
            valid_from=NOON,
        )
        for n, (a, b) in enumerate(map(tuple, edges.split()))
    ]
    return Subgraph(tuple(nodes), tuple(told))


def decoded(line: str) -> str:
    """The label of a line of Mermaid."""
    inside = line[line.index('"') + 1 : line.rindex('"')]
    return re.sub(r"#(\d+);", lambda match: chr(int(match[1])), inside)


# Mermaid


@given(st.lists(st.text(max_size=200), min_size=2, max_size=4), st.text(max_size=64))
@settings(max_examples=300, deadline=None)
def test_no_name_breaks_mermaid(names: list[str], said: str) -> None:
    check_mermaid(names, said)


@pytest.mark.parametrize("name", NASTY)
def test_no_nasty_name_breaks_mermaid(name: str) -> None:
    check_mermaid([name, "Ann"], name)


def check_mermaid(names: list[str], said: str) -> None:
    lines = mermaid(a_graph(*names, edges="01 11", said=said)).split("\n")
    assert lines.pop() == ""
    assert len(lines) == 1 + 1 + len(names) + 2
    for each in lines:
        assert GRAMMAR.fullmatch(each), each
    for name, each in zip(names, lines[2:], strict=False):
        assert decoded(each) == short(name, 40)


def test_mermaid_of_a_small_graph() -> None:
    graph = a_graph("Ann", "Bob & Sons", edges="01", said="works_for")
    nodes = (graph.nodes[0], replace(graph.nodes[1], type="organization"))
    assert mermaid(replace(graph, nodes=nodes)) == (
        "flowchart LR\n"
        "  classDef person fill:#e0ecf9,stroke:#1f5fa8,color:#1b1f24\n"
        "  classDef organization fill:#fdecd8,stroke:#c06a12,color:#1b1f24\n"
        '  n0["Ann"]:::person\n'
        '  n1["Bob #38; Sons"]:::organization\n'
        '  n0 -->|"works for"| n1\n'
    )


def test_mermaid_keeps_to_what_mermaid_draws() -> None:
    nodes = a_graph(*['"' * 200] * 300).nodes
    edges = [Edge(an_id(5000 + n), an_id(n % 100), "part_of", an_id(n % 99)) for n in range(900)]
    drawn = mermaid(Subgraph(nodes, tuple(edges)))
    assert len(drawn) <= 50_000
    assert all(GRAMMAR.fullmatch(each) for each in drawn.splitlines())
    assert drawn.count("-->") <= 500
    left = re.search(r"%% (\d+) more", drawn)
    assert left
    assert int(left[1]) == 1200 - drawn.count(":::") - drawn.count("-->")
    # An edge never names what was left out: Mermaid would make a box of it.
    shown = set(re.findall(r"^  (n\d+)\[", drawn, re.MULTILINE))
    assert set(re.findall(r"n\d+(?= -->)|(?<=\| )n\d+", drawn)) <= shown


def test_a_flowchart_of_nothing_is_empty() -> None:
    assert mermaid(Subgraph()) == "flowchart LR\n"


def test_edges_without_both_ends_are_left_out() -> None:
    graph = replace(a_graph("Ann", "Bob", edges="01"), nodes=a_graph("Ann").nodes)
    assert "-->" not in mermaid(graph)


def test_every_type_has_colours() -> None:
    assert set(COLOURS) == set(ENTITY_TYPES)


# Table and JSON


def a_turn(number: int, content: str) -> Event:
    return Event(an_id(number), number, "user", content, NOON, NOON, "user", name="Ann")


def test_a_table_tells_where_it_was_learned() -> None:
    graph = a_graph("Ann", "Falcons", edges="01", said="plays_for")
    said = tuple(an_id(n) for n in (7, 8, 9))
    nodes = (
        replace(graph.nodes[0], aliases=("Annie",), sources=said, strength=0.7),
        replace(graph.nodes[1], type="team", subtype="club"),
    )
    edges = (replace(graph.edges[0], sources=said, confidence=0.9),)
    turns = {each: a_turn(n, f"I play,\nday {n}.") for n, each in enumerate(said)}
    assert table(Subgraph(nodes, edges), turns, width=130) == (
        "2 entities, 1 relation\n"
        "\n"
        "entity   type         also called  strength  turns  first said\n"
        "Ann      person       Annie            0.70      3  2026-03-01 Ann: I play, day 0.\n"
        "Falcons  team (club)                   1.00\n"
        "\n"
        "from  relation   to       sure  since       said\n"
        "Ann   plays for  Falcons  0.90  2026-03-01  2026-03-01 Ann: I play, day 0.\n"
        "                                            2026-03-01 Ann: I play, day 1.\n"
        "                                            and 1 more\n"
    )


def test_a_long_turn_is_quoted_briefly() -> None:
    graph = a_graph("Ann")
    node = replace(graph.nodes[0], sources=(an_id(7),))
    told = table(Subgraph((node,)), {an_id(7): a_turn(7, "word " * 100)}, width=500)
    assert told.endswith(" " + "word " * 17 + "word…\n")


def test_a_table_without_turns_needs_no_columns_for_them() -> None:
    told = table(a_graph("Ann", "Bob", edges="01"), {})
    assert "said" not in told
    assert "turns" not in told
    assert "also called" not in told


@pytest.mark.parametrize("name", NASTY)
@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_table_keeps_its_shape(name: str, width: int) -> None:
    told = table(a_graph(name, "Ann", edges="01"), {}, width=width)
    assert re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", told) is None
    assert len(told.splitlines()[0]) == len("2 entities, 1 relation")
    assert max(map(len, told.splitlines())) <= width


def test_json_holds_everything() -> None:
    graph = replace(a_graph("Ann", 'B"ob', edges="01"), truncated=True)
    told = json.loads(as_json(graph))
    assert [node["name"] for node in told["nodes"]] == ["Ann", 'B"ob']
    assert told["edges"][0]["valid_from"] == "2026-03-01T12:00:00Z"
    assert told["truncated"] is True
    assert set(told) == {"nodes", "edges", "paths", "truncated"}


def test_what_is_cut_short_is_marked_so() -> None:
    assert table(replace(a_graph("Ann"), truncated=True), {}).startswith(
        "1 entity, 0 relations (there are more)\n"
    )
